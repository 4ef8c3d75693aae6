# Whether intervals and verdicts are right, measured where the truth is known.
calibration = settings.calibration
calibrated_models = settings.calibrated_models()
named_calibrated_models = [{"name": n, "settings": settings.models[n]} for n in calibrated_models]


use rule step as calibrate_probe with:
    input:
        articles=lambda w: articles_of(w.corpus),
        kept_words=rules.filter_ambiguous_words.output.kept_words,
        vocabulary=rules.count_words.output.vocabulary,
        model=multiext("results/models/{checkpoint}/", *CHECKPOINT_FILES),
    output:
        measures="results/calibration/{corpus}/{checkpoint}.parquet",
        record=record,
    pathvars:
        step="calibrate_probe/{corpus}/{checkpoint}",
    threads: probing.threads
    resources:
        **asks(1500, minutes=30, device=probing.device),
    params:
        **script(
            "calibrate_probe",
            texts=calibration.texts,
            attention=probing.of(calibration.texts.documents, parts=1),
            uncertainty=uncertainty,
            seed=calibration.seed,
        ),


from_settings(
    "calibrate_intervals",
    (1000, 10),
    {
        "coverage": "results/calibration/coverage.parquet",
        "effects": "results/calibration/effects.parquet",
    },
    intervals=calibration.intervals,
    effects=calibration.effects,
    seed=calibration.seed,
)
calibrated_measures = [
    rules.calibrate_probe.output.measures.format(corpus=wikipedia.corpus, checkpoint=name)
    for name in (settings.checkpoints(model)[0] for model in calibrated_models)
]
