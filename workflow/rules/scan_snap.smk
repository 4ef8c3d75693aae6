# Tian, Wang, Chen & Du (2023), Scan and Snap: simulations, and a language model.
scan_snap = settings.scan_snap
text_trainings = [f"language_model/{one.name}" for one in scan_snap.language_model.trainings]


rule simulate_scan_snap:
    output:
        scan="results/scan_snap/scan.parquet",
        rest="results/scan_snap/rest.parquet",
        entropy_sweep="results/scan_snap/entropy_sweep.parquet",
        transition="results/scan_snap/transition.parquet",
    log:
        "results/logs/simulate_scan_snap.log",
    benchmark:
        "results/benchmarks/simulate_scan_snap.tsv"
    priority: 1
    conda:
        "../../envs/onelayer.yaml"
    threads: 1
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
        articles=lambda w: (
            f"results/corpora/{scan_snap.language_model.of(w.training).corpus}/articles.parquet"
        ),
    output:
        measures="results/scan_snap/language_model/{training}.parquet",
        maps="results/scan_snap/language_model/{training}.npz",
    log:
        "results/logs/train_text_model/{training}.log",
    benchmark:
        "results/benchmarks/train_text_model/{training}.tsv"
    wildcard_constraints:
        training="|".join(one.name for one in scan_snap.language_model.trainings),
    priority: 1
    conda:
        "../../envs/onelayer.yaml"
    threads: scan_snap.language_model.threads
    resources:
        # Logits of all seeds at once grow with the vocabulary.
        mem_mb=lambda w, attempt: (attempt * (1500 + scan_snap.language_model.vocabulary // 10)),
        runtime=lambda w, attempt: 60 * attempt,
        gpu=gpus(scan_snap.language_model),
    params:
        settings=lambda w: dump(scan_snap.language_model.of(w.training)),
        code=code("train_text_model"),
    message:
        "Train the one-layer causal transformer on articles [{wildcards.training}]"
    script:
        "../../scripts/train_text_model.py"


# By table: what it is made of, and the caption of its figure; scripts/show_<table>.py makes both.
SCAN_SNAP = "results/scan_snap/{name}.{kind}"
SHOWN = {
    "scan": expand(SCAN_SNAP, name=["scan", "rest"], kind="parquet"),
    "entropy_sweep": expand(SCAN_SNAP, name="entropy_sweep", kind="parquet"),
    "phase_transition": expand(SCAN_SNAP, name="transition", kind="parquet"),
    "text": expand(SCAN_SNAP, name=text_trainings, kind=["parquet", "npz"]),
}
CAPTIONS = {
    "scan": "Attention of one sequence class over training (Fig. 4): common tokens lose, distinct "
    "tokens gain in the order of their frequency, then attention comes to rest; beside slower and "
    "frozen decoders.",
    "entropy_sweep": "Entropy of attention on a class's distinct tokens against lr_Y/lr_Z (Fig. "
    "6), ours and the published values.",
    "phase_transition": "When attention stops gathering speed, against both learning rates, and "
    "how that time scales where they are small.",
    "text": "Attention of a one-layer transformer trained on text (Fig. 7): maps of one held-out "
    "sequence, entropy over training, and attention by token frequency.",
}


rule show_scan_snap:
    input:
        lambda w: SHOWN[w.shown],
    output:
        table=table("scan_snap/{shown}"),
        figure=figure("scan_snap/{shown}"),
    log:
        "results/logs/show_scan_snap/{shown}.log",
    wildcard_constraints:
        shown="|".join(SHOWN),
    localrule: True
    conda:
        "../../envs/onelayer.yaml"
    params:
        settings=dump(scan_snap),
        published=repository_file("reference/scan_snap_figure6.csv"),
        code=lambda w: code(f"show_{w.shown}"),
        caption=lambda w: CAPTIONS[w.shown],
    script:
        "../../scripts/show_{wildcards.shown}.py"
