# Li, Li & Risteski (2023) on synthetic documents: what is solved and trained, and what shows it.
synthetic = settings.topic_structure.synthetic
in_common = synthetic.model_dump(
    mode="json", include={"threads", "device", "model", "batch", "chunk"}
)
VARIANTS = {variant.name: dump(variant) for variant in synthetic.attention.variants}


rule solve_topic_theory:
    output:
        gaps="results/topic_structure/synthetic/gaps.parquet",
        grid="results/topic_structure/synthetic/gap_grid.parquet",
        matrices="results/topic_structure/synthetic/gap_matrices.npz",
        ratios="results/topic_structure/synthetic/stage_two.parquet",
    log:
        "results/logs/solve_topic_theory.log",
    benchmark:
        "results/benchmarks/solve_topic_theory.tsv"
    threads: synthetic.threads
    resources:
        mem_mb=lambda w, attempt: 1500 * attempt,
        runtime=lambda w, attempt: 30 * attempt,
        gpu=gpus(synthetic),
    params:
        settings=synthetic.model_dump(mode="json", exclude={"attention", "two_stages"}),
        code=code("solve_topic_theory"),
    message:
        "Solve what the theorems are about, and train it under uniform attention"
    script:
        "../../scripts/solve_topic_theory.py"


rule train_topic_attention:
    output:
        averages="results/topic_structure/synthetic/attention/{variant}.parquet",
        matrices="results/topic_structure/synthetic/attention/{variant}.npz",
    log:
        "results/logs/train_topic_attention/{variant}.log",
    benchmark:
        "results/benchmarks/train_topic_attention/{variant}.tsv"
    priority: 1
    threads: synthetic.threads
    resources:
        mem_mb=lambda w, attempt: 1500 * attempt,
        runtime=lambda w, attempt: 120 * attempt,
        gpu=gpus(synthetic),
    params:
        settings=lambda w: in_common
        | {"attention": dump(synthetic.attention, variants=[VARIANTS[w.variant]])},
        code=code("train_topic_attention"),
    message:
        "Train the attention of the published table: {wildcards.variant}"
    script:
        "../../scripts/train_topic_attention.py"


rule train_two_stages:
    output:
        norms="results/topic_structure/synthetic/norms.parquet",
    log:
        "results/logs/train_two_stages.log",
    benchmark:
        "results/benchmarks/train_two_stages.tsv"
    priority: 1
    threads: synthetic.threads
    resources:
        mem_mb=lambda w, attempt: 1500 * attempt,
        runtime=lambda w, attempt: 60 * attempt,
        gpu=gpus(synthetic),
    params:
        settings=in_common | {"two_stages": dump(synthetic.two_stages)},
        code=code("train_two_stages"),
    message:
        "Train from near-zero matrices"
    script:
        "../../scripts/train_two_stages.py"


rule show_topic_gaps:
    input:
        gaps=rules.solve_topic_theory.output.gaps,
        grid=rules.solve_topic_theory.output.grid,
        matrices=rules.solve_topic_theory.output.matrices,
    output:
        table=table("topic_structure/theory_gap"),
        figure=figure("topic_structure/topic_blocks"),
    log:
        "results/logs/show_topic_gaps.log",
    localrule: True
    params:
        settings=dict(model=dump(synthetic.model), tau=synthetic.theory.tau),
        code=code("show_topic_gaps"),
        caption="How much more W_V and E = W_E^T W_E hold of words of one topic.",
    message:
        "Table of the gaps of W_V and E, and heat maps"
    script:
        "../../scripts/show_topic_gaps.py"


rule show_optimal_attention:
    input:
        ratios=rules.solve_topic_theory.output.ratios,
    output:
        table=table("topic_structure/stage_two_ratio"),
        figure=figure("topic_structure/stage_two_ratio"),
    log:
        "results/logs/show_optimal_attention.log",
    localrule: True
    params:
        code=code("show_optimal_attention"),
        caption="The optimal ratio of attention to the same topic over that to others.",
    message:
        "Table and figure of the optimal attention of stage 2"
    script:
        "../../scripts/show_optimal_attention.py"


rule show_attention_by_optimizer:
    input:
        averages=expand(rules.train_topic_attention.output.averages, variant=VARIANTS),
        matrices=expand(rules.train_topic_attention.output.matrices, variant=VARIANTS),
    output:
        table=table("topic_structure/attention_by_optimizer"),
        figure=figure("topic_structure/attention_heatmaps"),
    log:
        "results/logs/show_attention_by_optimizer.log",
    localrule: True
    params:
        published=repository_file("reference/topic_structure_attention.csv"),
        settings=dump(synthetic.attention, v=synthetic.model.v),
        code=code("show_attention_by_optimizer"),
        caption="Trained attention between words, sorted by topic.",
    message:
        "Table of attention by optimiser, and heat maps"
    script:
        "../../scripts/show_attention_by_optimizer.py"


rule show_two_stages:
    input:
        norms=rules.train_two_stages.output.norms,
    output:
        table=table("topic_structure/two_stage"),
        figure=figure("topic_structure/two_stage_norms"),
    log:
        "results/logs/show_two_stages.log",
    localrule: True
    params:
        published=repository_file("reference/topic_structure_stages.csv"),
        settings=dump(synthetic.two_stages),
        code=code("show_two_stages"),
        caption="Norms of W_V, W_K and W_Q against step from near-zero matrices, and where W_V is done before W_K begins to grow.",
    message:
        "Table and figure of the two stages"
    script:
        "../../scripts/show_two_stages.py"
