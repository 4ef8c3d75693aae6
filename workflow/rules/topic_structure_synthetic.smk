# Li, Li & Risteski (2023) on synthetic documents: trainings, tables, figures.
synthetic = settings.topic_structure.synthetic
trained_with = {
    key: getattr(synthetic, key) for key in ("model", "batch", "chunk", "device", "threads")
}
attention_variants = [variant.name for variant in synthetic.attention.variants]
published_attention = f"{reference}/topic_structure_attention.csv"
averaged_by = dict(
    evaluated_tokens=synthetic.attention.evaluated_tokens, released_steps=synthetic.released_steps
)
optimizers_over_steps = sorted({row.optimizer for row in synthetic.over_steps_variant.optimizers})


wildcard_constraints:
    variant="|".join(attention_variants),
    optimizer="|".join(optimizers_over_steps),


use rule step as train_uniform_attention with:
    output:
        gaps="results/topic_structure/synthetic/gaps.parquet",
        matrices="results/topic_structure/synthetic/gap_matrices.npz",
        record=record,
    pathvars:
        step="train_uniform_attention",
    threads: synthetic.threads
    resources:
        **asks(1500, minutes=30, device=synthetic.device),
    params:
        **script(
            "train_uniform_attention",
            **trained_with,
            theory=synthetic.theory,
            components=synthetic.components,
        ),


use rule step as train_topic_attention with:
    output:
        averages="results/topic_structure/synthetic/attention/{variant}.parquet",
        matrices="results/topic_structure/synthetic/attention/{variant}.npz",
        record=record,
    pathvars:
        step="train_topic_attention/{variant}",
    priority: 1
    threads: synthetic.threads
    resources:
        **asks(1500, minutes=60, device=synthetic.device),
    params:
        **script(
            "train_topic_attention",
            **trained_with,
            attention=synthetic.attention,
            variant=lambda w: w.variant,
        ),


use rule step as train_attention_over_steps with:
    output:
        averages="results/topic_structure/synthetic/attention_over_steps/{optimizer}.parquet",
        record=record,
    pathvars:
        step="train_attention_over_steps/{optimizer}",
    priority: 1
    threads: synthetic.threads
    resources:
        **asks(1500, minutes=120, device=synthetic.device),
    params:
        **script(
            "train_attention_over_steps",
            **trained_with,
            attention=synthetic.attention,
            attention_over_steps=synthetic.attention_over_steps,
            optimizer=lambda w: w.optimizer,
        ),


use rule step as train_two_stages with:
    output:
        norms="results/topic_structure/synthetic/norms.parquet",
        record=record,
    pathvars:
        step="train_two_stages",
    priority: 1
    threads: synthetic.threads
    resources:
        **asks(1500, minutes=60, device=synthetic.device),
    params:
        **script("train_two_stages", **trained_with, two_stages=synthetic.two_stages),


use rule step as optimise_topic_attention with:
    output:
        ratios="results/topic_structure/synthetic/stage_two.parquet",
        record=record,
    pathvars:
        step="optimise_topic_attention",
    threads: synthetic.threads
    resources:
        **asks(1500, minutes=30, device=synthetic.device),
    params:
        **script("optimise_topic_attention", **trained_with, stage_two=synthetic.stage_two),


use rule step as tabulate_theory_gap with:
    input:
        gaps=rules.train_uniform_attention.output.gaps,
    output:
        tables=table("topic_structure/theory_gap", "Synthetic: tables", "table: theory gap"),
        record=record,
    pathvars:
        step="tabulate_theory_gap",
    localrule: True
    params:
        **script("tabulate_theory_gap"),


use rule step as tabulate_attention_by_optimizer with:
    input:
        averages=expand(rules.train_topic_attention.output.averages, variant=attention_variants),
        over_steps=expand(
            rules.train_attention_over_steps.output.averages, optimizer=optimizers_over_steps
        ),
        published=published_attention,
    output:
        tables=table(
            "topic_structure/attention_by_optimizer",
            "Synthetic: tables",
            "table: attention by optimiser",
        ),
        record=record,
    pathvars:
        step="tabulate_attention_by_optimizer",
    localrule: True
    params:
        **script("tabulate_attention_by_optimizer", **averaged_by),


use rule step as tabulate_two_stage with:
    input:
        norms=rules.train_two_stages.output.norms,
    output:
        tables=table("topic_structure/two_stage", "Synthetic: tables", "table: two stages"),
        record=record,
    pathvars:
        step="tabulate_two_stage",
    localrule: True
    params:
        **script(
            "tabulate_two_stage",
            without_stages=[
                setting.name
                for setting in synthetic.two_stages.settings
                if not setting.two_stages_expected
            ],
        ),


use rule step as tabulate_stage_two_ratio with:
    input:
        ratios=rules.optimise_topic_attention.output.ratios,
    output:
        tables=table(
            "topic_structure/stage_two_ratio", "Synthetic: tables", "table: ratio against tau"
        ),
        record=record,
    pathvars:
        step="tabulate_stage_two_ratio",
    localrule: True
    params:
        **script("tabulate_stage_two_ratio"),


use rule step as plot_theory_gap with:
    input:
        gaps=rules.train_uniform_attention.output.gaps,
        matrices=rules.train_uniform_attention.output.matrices,
    output:
        figures=[
            *figure(
                "topic_structure/topic_blocks", "Synthetic: figures", "figure: blocks of E and W_V"
            ),
            *figure(
                "topic_structure/gap_against_decay",
                "Synthetic: figures",
                "figure: gap and weight decay",
            ),
        ],
        record=record,
    pathvars:
        step="plot_theory_gap",
    localrule: True
    params:
        **script("plot_theory_gap", v=synthetic.model.v),


use rule step as plot_attention_heatmaps with:
    input:
        matrices=expand(rules.train_topic_attention.output.matrices, variant=attention_variants),
    output:
        figures=figure(
            "topic_structure/attention_heatmaps",
            "Synthetic: figures",
            "figure: attention on a document",
        ),
        record=record,
    pathvars:
        step="plot_attention_heatmaps",
    localrule: True
    params:
        **script("plot_attention_heatmaps", v=synthetic.model.v, variants=attention_variants),


use rule step as plot_attention_over_steps with:
    input:
        over_steps=expand(
            rules.train_attention_over_steps.output.averages, optimizer=optimizers_over_steps
        ),
        published=published_attention,
    output:
        figures=figure(
            "topic_structure/attention_over_steps",
            "Synthetic: figures",
            "figure: attention against steps",
        ),
        record=record,
    pathvars:
        step="plot_attention_over_steps",
    localrule: True
    params:
        **script("plot_attention_over_steps", **averaged_by),


use rule step as plot_two_stages with:
    input:
        norms=rules.train_two_stages.output.norms,
    output:
        figures=[
            *figure(
                "topic_structure/two_stage_norms", "Synthetic: figures", "figure: norms and stages"
            ),
            *figure(
                "topic_structure/two_stage_map",
                "Synthetic: figures",
                "figure: where two stages appear",
            ),
        ],
        record=record,
    pathvars:
        step="plot_two_stages",
    localrule: True
    params:
        **script("plot_two_stages"),


use rule step as plot_stage_two_ratio with:
    input:
        ratios=rules.optimise_topic_attention.output.ratios,
    output:
        figures=figure(
            "topic_structure/stage_two_ratio", "Synthetic: figures", "figure: ratio against tau"
        ),
        record=record,
    pathvars:
        step="plot_stage_two_ratio",
    localrule: True
    params:
        **script("plot_stage_two_ratio", T=synthetic.model.T),
