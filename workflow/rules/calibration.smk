# Whether intervals and verdicts are right, measured where the truth is known.
calibration = settings.calibration
calibrated_models = settings.calibrated_models()
named_calibrated_models = named(calibrated_models)
step(
    "calibrate_probe/{corpus}/{checkpoint}",
    (1500, 30),
    {"measures": "results/calibration/{corpus}/{checkpoint}.parquet"},
    reads={"articles": articles, **known_words, **probed_model},
    texts=calibration.texts,
    attention=probing.of(calibration.texts.documents),
    uncertainty=uncertainty,
    seed=calibration.seed,
)
step(
    "calibrate_intervals",
    (1000, 10),
    alike("results/calibration/*.parquet", "coverage", "effects"),
    intervals=calibration.intervals,
    effects=calibration.effects,
    seed=calibration.seed,
)
calibrated_measures = of_first_checkpoints(
    rules.calibrate_probe.output.measures, wikipedia.corpus, calibrated_models
)
