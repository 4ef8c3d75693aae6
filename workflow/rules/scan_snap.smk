# Tian, Wang, Chen & Du (2023), Scan and Snap: simulations, and a language model.
scan_snap, language_model = settings.scan_snap, settings.scan_snap.language_model
text_trainings = [training.name for training in language_model.trainings]


rule simulate_scan_snap:
    output:
        scan="results/scan_snap/scan.parquet",
        rest="results/scan_snap/rest.parquet",
        frozen="results/scan_snap/frozen.parquet",
        entropy_sweep="results/scan_snap/entropy_sweep.parquet",
        transition="results/scan_snap/transition.parquet",
    log:
        "results/logs/simulate_scan_snap.log",
    benchmark:
        "results/benchmarks/simulate_scan_snap.tsv"
    priority: 1
    resources:
        mem_mb=lambda w, attempt: 1500 * attempt,
        runtime=lambda w, attempt: 60 * attempt,
    params:
        settings={k: v for k, v in dump(scan_snap).items() if k != "language_model"},
        code=code("simulate_scan_snap"),
    message:
        "Train one-layer transformers on synthetic sequences"
    script:
        "../../scripts/simulate_scan_snap.py"


rule train_text_model:
    input:
        articles=lambda w: f"results/corpora/{language_model.of(w.training).corpus}/articles.parquet",
    output:
        measures="results/scan_snap/language_model/{training}.parquet",
        maps="results/scan_snap/language_model/{training}.npz",
    log:
        "results/logs/train_text_model/{training}.log",
    benchmark:
        "results/benchmarks/train_text_model/{training}.tsv"
    priority: 1
    threads: language_model.threads
    resources:
        # Logits of all seeds at once grow with the vocabulary.
        mem_mb=lambda w, attempt: attempt * (1500 + language_model.vocabulary // 10),
        runtime=lambda w, attempt: 60 * attempt,
        gpu=gpus(language_model),
    params:
        settings=lambda w: dump(language_model.of(w.training)),
        code=code("train_text_model"),
    message:
        "Train the one-layer causal transformer on articles [{wildcards.training}]"
    script:
        "../../scripts/train_text_model.py"


rule show_scan:
    input:
        expand("results/scan_snap/{name}.parquet", name=["scan", "rest", "frozen"]),
    output:
        table=table("scan_snap/scan"),
        figure=figure("scan_snap/scan"),
    log:
        "results/logs/show_scan.log",
    localrule: True
    params:
        settings=dump(scan_snap),
        code=code("show_scan"),
        caption="Attention of one sequence class over training (Fig. 4): frequent distinct tokens "
        "gain, common tokens lose, then attention rests; beside slower and frozen decoders.",
    script:
        "../../scripts/show_scan.py"


rule show_entropy_sweep:
    input:
        "results/scan_snap/entropy_sweep.parquet",
    output:
        table=table("scan_snap/entropy_sweep"),
        figure=figure("scan_snap/entropy_sweep"),
    log:
        "results/logs/show_entropy_sweep.log",
    localrule: True
    params:
        settings=dump(scan_snap),
        published=repository_file("reference/scan_snap_figure6.csv"),
        code=code("show_entropy_sweep"),
        caption="Entropy of attention on a class's distinct tokens against lr_Y/lr_Z (Fig. 6), "
        "ours and the published values.",
    script:
        "../../scripts/show_entropy_sweep.py"


rule show_phase_transition:
    input:
        "results/scan_snap/transition.parquet",
    output:
        table=table("scan_snap/phase_transition"),
        figure=figure("scan_snap/phase_transition"),
    log:
        "results/logs/show_phase_transition.log",
    localrule: True
    params:
        settings=dump(scan_snap),
        code=code("show_phase_transition"),
        caption="When attention stops gathering speed, against both learning rates, and how that "
        "time scales where they are small.",
    script:
        "../../scripts/show_phase_transition.py"


rule show_text:
    input:
        expand(
            "results/scan_snap/language_model/{training}.{kind}",
            training=text_trainings,
            kind=["parquet", "npz"],
        ),
    output:
        table=table("scan_snap/text"),
        figure=figure("scan_snap/text"),
    log:
        "results/logs/show_text.log",
    localrule: True
    params:
        settings=dump(scan_snap),
        code=code("show_text"),
        caption="Attention of a one-layer transformer trained on text (Fig. 7): maps of one "
        "held-out sequence, entropy over training, and attention by token frequency.",
    script:
        "../../scripts/show_text.py"
