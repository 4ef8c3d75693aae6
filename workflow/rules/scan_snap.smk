# Tian, Wang, Chen & Du (2023), Scan and Snap: simulations, a language model, tables and figures.
scan_snap = settings.scan_snap
trainings = [training.name for training in scan_snap.language_model.trainings]
wikitext = [name for name, corpus in settings.corpora.items() if corpus.parse.format == "wikitext"]


wildcard_constraints:
    simulation="scan|entropy_sweep|phase_map|transition",
    training="|".join(map(re.escape, trainings)),


use rule step as simulate_scan_snap with:
    output:
        attention="results/scan_snap/{simulation}.parquet",
        record=record,
    pathvars:
        step="simulate_scan_snap/{simulation}",
    threads: lambda w: getattr(scan_snap, w.simulation).threads
    resources:
        **asks(1500, minutes=60, device=lambda w: getattr(scan_snap, w.simulation).device),
    params:
        **script("simulate_scan_snap", lambda w: getattr(scan_snap, w.simulation)),


use rule step as simulate_scan_snap_assumptions with:
    output:
        attention="results/scan_snap/assumptions.parquet",
        record=record,
    pathvars:
        step="simulate_scan_snap_assumptions",
    threads: scan_snap.scan.threads
    resources:
        **asks(1500, minutes=60, device=scan_snap.scan.device),
    params:
        **script("simulate_scan_snap_assumptions", scan_snap.changed_assumptions),


use rule step as train_text_model with:
    input:
        articles=lambda w: expand(
            rules.parse_articles.output.articles,
            corpus=scan_snap.language_model.of(w.training).corpus,
        ),
    output:
        measures="results/scan_snap/language_model/{training}.parquet",
        maps="results/scan_snap/language_model/{training}.npz",
        record=record,
    pathvars:
        step="train_text_model/{training}",
    priority: 1
    threads: scan_snap.language_model.threads
    resources:
        **asks(2500, minutes=60, device=scan_snap.language_model.device),
    params:
        **script("train_text_model", lambda w: scan_snap.language_model.of(w.training)),


use rule step as tabulate_entropy_sweep with:
    input:
        attention="results/scan_snap/entropy_sweep.parquet",
        published=f"{reference}/scan_snap_figure6.csv",
    output:
        tables=table("scan_snap/entropy_sweep", "Synthetic", "table: entropy by learning rates"),
        record=record,
    pathvars:
        step="tabulate_entropy_sweep",
    localrule: True
    params:
        **script("tabulate_entropy_sweep", iterations=scan_snap.entropy_sweep.iterations),


use rule step as tabulate_scan_snap_claims with:
    input:
        scan="results/scan_snap/scan.parquet",
        transition="results/scan_snap/transition.parquet",
        assumptions=rules.simulate_scan_snap_assumptions.output.attention,
        sweep="results/scan_snap/entropy_sweep.parquet",
        published=f"{reference}/scan_snap_figure6.csv",
        text=expand(rules.train_text_model.output.measures, training=trainings),
    output:
        tables=table("scan_snap/claims", "Claims", "table: claims", target="table_scan_snap_claims"),
        record=record,
    pathvars:
        step="tabulate_scan_snap_claims",
    localrule: True
    params:
        **script(
            "tabulate_scan_snap_claims",
            scan_iterations=scan_snap.scan.iterations,
            sweep_iterations=scan_snap.entropy_sweep.iterations,
            trainings=scan_snap.language_model.trainings,
            own_text=scan_snap.language_model.of_the_paper(wikitext),
            text_length=scan_snap.language_model.length,
        ),


use rule step as plot_scan with:
    input:
        attention="results/scan_snap/scan.parquet",
    output:
        figures=figure("scan_snap/scan", "Synthetic", "figure: attention over training"),
        record=record,
    pathvars:
        step="plot_scan",
    localrule: True
    params:
        **script("plot_scan", iterations=scan_snap.scan.iterations),


use rule step as plot_entropy_sweep with:
    input:
        attention="results/scan_snap/entropy_sweep.parquet",
        published=f"{reference}/scan_snap_figure6.csv",
    output:
        figures=figure("scan_snap/entropy_sweep", "Synthetic", "figure: entropy by learning rates"),
        record=record,
    pathvars:
        step="plot_entropy_sweep",
    localrule: True
    params:
        **script("plot_entropy_sweep", iterations=scan_snap.entropy_sweep.iterations),


use rule step as plot_phase_map with:
    input:
        attention="results/scan_snap/phase_map.parquet",
        published=f"{reference}/scan_snap_figure6.csv",
    output:
        figures=figure("scan_snap/phase_map", "Synthetic", "figure: map over learning rates"),
        record=record,
    pathvars:
        step="plot_phase_map",
    localrule: True
    params:
        **script("plot_phase_map", iterations=scan_snap.phase_map.iterations),


use rule step as plot_phase_transition with:
    input:
        attention="results/scan_snap/transition.parquet",
    output:
        figures=figure("scan_snap/phase_transition", "Synthetic", "figure: phase transition"),
        record=record,
    pathvars:
        step="plot_phase_transition",
    localrule: True
    params:
        **script("plot_phase_transition"),


use rule step as plot_attention_maps with:
    input:
        maps=expand(rules.train_text_model.output.maps, training=trainings),
    output:
        figures=figure("scan_snap/attention_maps", "Real text", "figure: attention maps"),
        record=record,
    pathvars:
        step="plot_attention_maps",
    localrule: True
    params:
        **script("plot_attention_maps", trainings=trainings, length=scan_snap.language_model.length),


use rule step as plot_attention_over_time with:
    input:
        measures=expand(rules.train_text_model.output.measures, training=trainings),
    output:
        figures=figure("scan_snap/attention_over_time", "Real text", "figure: attention over time"),
        record=record,
    pathvars:
        step="plot_attention_over_time",
    localrule: True
    params:
        **script(
            "plot_attention_over_time", trainings=trainings, length=scan_snap.language_model.length
        ),
