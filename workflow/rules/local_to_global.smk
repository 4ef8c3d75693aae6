# Local to Global (Makkuva et al. 2024): gradient flow, and transformers on Markov chains.
l2g = settings.local_to_global
FLOWS = {
    "maps": "results/local_to_global/maps.safetensors",
    "paths": "results/local_to_global/paths.safetensors",
    "gaussian": "results/local_to_global/gaussian_starts.parquet",
    "neighbours": "results/local_to_global/neighbours.parquet",
}


rule simulate_flow:
    output:
        **FLOWS,
    log:
        "results/logs/simulate_flow.log",
    benchmark:
        "results/benchmarks/simulate_flow.tsv"
    resources:
        mem_mb=lambda w, attempt: 900 * attempt,
        runtime=lambda w, attempt: 10 * attempt,
    params:
        settings=dump(l2g.flow),
        code=code("simulate_flow"),
    message:
        "Follow the gradient flow from grids, Gaussian starts and critical points"
    script:
        "../../scripts/simulate_flow.py"


rule show_flow:
    input:
        **FLOWS,
    output:
        critical_points=table("local_to_global/critical_points"),
        basins=table("local_to_global/basins"),
        gradient_flow=figure("local_to_global/gradient_flow"),
        landscape=figure("local_to_global/landscape"),
        attention_flow=figure("local_to_global/attention_flow"),
    log:
        "results/logs/show_flow.log",
    localrule: True
    params:
        settings=dump(l2g.flow),
        caption="Gradient flow of the canonical model, for p + q below and above 1: of (e, w) along contours of the energy E, its simulated basins (Fig. 1 of the paper), and trajectories on the loss; with the attention scalar, (e, w, a), from starts wide around the origin (Fig. 2) and near it (Fig. 5).",
        code=code("show_flow"),
    message:
        "Tabulate and draw the critical points of the loss, and where the gradient flow ends"
    script:
        "../../scripts/show_flow.py"


rule train_transformers:
    output:
        curves="results/local_to_global/curves.parquet",
        weights="results/local_to_global/weights.safetensors",
    log:
        "results/logs/train_transformers.log",
    benchmark:
        "results/benchmarks/train_transformers.tsv"
    priority: 1
    threads: l2g.transformer.threads
    resources:
        mem_mb=lambda w, attempt: 1500 * attempt,
        runtime=lambda w, attempt: 60 * attempt,
        gpu=gpus(l2g.transformer),
    params:
        settings=dump(l2g.transformer),
        code=code("train_transformers"),
    message:
        "Train transformers on a Markov chain from four starts, then with one change at a time"
    script:
        "../../scripts/train_transformers.py"


rule show_transformers:
    input:
        curves="results/local_to_global/curves.parquet",
        weights="results/local_to_global/weights.safetensors",
    output:
        starts=table("local_to_global/starts"),
        ablation=table("local_to_global/ablation"),
        loss_curves=figure("local_to_global/loss_curves"),
        weights=figure("local_to_global/weights"),
    log:
        "results/logs/show_transformers.log",
    localrule: True
    params:
        published=repository_file("reference/local_to_global_rank_one.csv"),
        settings=dump(l2g.transformer),
        caption="Transformers from the standard, the rank-one and the paper's two starts: the loss over training, beside the entropies of the unigram and the bigram model (Fig. 4 of the paper); and the first MLP matrix and the value matrix of one run (Figs. 3 and 6), and how near to rank one all six matrices come, beside the authors' saved weights.",
        code=code("show_transformers"),
    message:
        "Tabulate and draw what each start learns, and with one change at a time"
    script:
        "../../scripts/show_transformers.py"


rule train_trapped:
    output:
        curves="results/local_to_global/trap.parquet",
    log:
        "results/logs/train_trapped.log",
    benchmark:
        "results/benchmarks/train_trapped.tsv"
    threads: l2g.trap.threads
    resources:
        mem_mb=lambda w, attempt: 1200 * attempt,
        runtime=lambda w, attempt: 60 * attempt,
        gpu=gpus(l2g.trap),
    params:
        settings=dump(l2g.trap),
        code=code("train_trapped"),
    message:
        "Train transformers on chains with a trap, and follow the curvature"
    script:
        "../../scripts/train_trapped.py"


rule show_trap:
    input:
        curves="results/local_to_global/trap.parquet",
    output:
        table=table("local_to_global/trap"),
        figure=figure("local_to_global/trap"),
    log:
        "results/logs/show_trap.log",
    localrule: True
    params:
        settings=dump(l2g.trap),
        caption="The loss, and the least curvature at the unigram model along trainings of the whole transformer, on chains with p + q > 1.",
        code=code("show_trap"),
    message:
        "Tabulate and draw who leaves the unigram model"
    script:
        "../../scripts/show_trap.py"
