# Tian, Wang, Chen & Du (2023), Scan and Snap: simulations, and a language model.
scan_snap = settings.scan_snap
simulations = ["scan", "entropy_sweep", "phase_map", "transition", "rest"]
trainings = [training.name for training in scan_snap.language_model.trainings]
wikitext = [name for name, corpus in settings.corpora.items() if corpus.parse.format == "wikitext"]
own_text = scan_snap.language_model.of_the_paper(wikitext)
every["training"] = trainings


wildcard_constraints:
    simulation="|".join(simulations),
    training=one_of(trainings),


step(
    "simulate_scan_snap/{simulation}",
    (1500, 60, lambda w: getattr(scan_snap, w.simulation).device),
    {"attention": "results/scan_snap/{simulation}.parquet"},
    lambda w: getattr(scan_snap, w.simulation),
    cores=lambda w: getattr(scan_snap, w.simulation).threads,
)


(
    scan_simulation,
    entropy_sweep_simulation,
    phase_map_simulation,
    transition_simulation,
    rest_simulation,
) = expand(rules.simulate_scan_snap.output.attention, simulation=simulations)


step(
    "simulate_scan_snap_assumptions",
    (1500, 60),
    {"attention": "results/scan_snap/assumptions.parquet"},
    scan=scan_snap.changed_scan,
    changes=scan_snap.assumptions,
    device=scan_snap.scan.device,
    threads=scan_snap.scan.threads,
)
step(
    "simulate_slow_transitions",
    (1500, 60),
    {"attention": "results/scan_snap/slow_transitions.parquet"},
    transition=scan_snap.transition,
    slow=scan_snap.slow_transition,
    device=scan_snap.transition.device,
    threads=scan_snap.transition.threads,
)
step(
    "train_text_model/{training}",
    (2500, 60, scan_snap.language_model.device),
    below("results/scan_snap/language_model", measures="{training}.parquet", maps="{training}.npz"),
    lambda w: scan_snap.language_model.of(w.training),
    reads={"articles": lambda w: articles_of(scan_snap.language_model.of(w.training).corpus)},
    cores=scan_snap.language_model.threads,
    priority=1,
)
