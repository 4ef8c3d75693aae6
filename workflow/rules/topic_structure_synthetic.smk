# Li, Li & Risteski (2023) on synthetic documents: trainings, tables, figures.
synthetic = settings.topic_structure.synthetic
trained_with = {
    key: getattr(synthetic, key) for key in ("model", "batch", "chunk", "device", "threads")
}
attention_variants = [variant.name for variant in synthetic.attention.variants]
published_attention = f"{reference}/topic_structure_attention.csv"
published_stages = f"{reference}/topic_structure_stages.csv"
averaged_by = dict(
    evaluated_tokens=synthetic.attention.evaluated_tokens,
    released_steps=synthetic.released_steps,
    authors=[variant.name for variant in synthetic.attention.variants if variant.authors],
    stage_two=[variant.name for variant in synthetic.attention.variants if variant.frozen_value],
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


use rule step as solve_gap_grid with:
    output:
        gaps="results/topic_structure/synthetic/gap_grid.parquet",
        record=record,
    pathvars:
        step="solve_gap_grid",
    resources:
        **asks(1500, minutes=30),
    params:
        **script("solve_gap_grid", model=synthetic.model, gap_grid=synthetic.gap_grid),


use rule step as descend_stage_one with:
    output:
        descent="results/topic_structure/synthetic/descent.parquet",
        record=record,
    pathvars:
        step="descend_stage_one",
    resources:
        **asks(1000, minutes=30),
    params:
        **script(
            "descend_stage_one",
            model=synthetic.model,
            theory=synthetic.theory,
            descent=synthetic.descent,
        ),


use rule step as optimise_attention_over_T with:
    output:
        ratios="results/topic_structure/synthetic/ratio_over_T.parquet",
        record=record,
    pathvars:
        step="optimise_attention_over_T",
    resources:
        **asks(1500, minutes=30),
    params:
        **script(
            "optimise_attention_over_T", model=synthetic.model, ratio_over_T=synthetic.ratio_over_T
        ),


use rule step as measure_stage_gradients with:
    output:
        gradients="results/topic_structure/synthetic/stage_gradients.parquet",
        record=record,
    pathvars:
        step="measure_stage_gradients",
    priority: 1
    threads: synthetic.threads
    resources:
        **asks(1500, minutes=60, device=synthetic.device),
    params:
        **script(
            "measure_stage_gradients",
            **trained_with,
            two_stages=synthetic.two_stages,
            stage_gradients=synthetic.stage_gradients,
        ),


use rule step as train_all_components with:
    output:
        components="results/topic_structure/synthetic/components.parquet",
        record=record,
    pathvars:
        step="train_all_components",
    priority: 1
    threads: synthetic.threads
    resources:
        **asks(1500, minutes=60, device=synthetic.device),
    params:
        **script(
            "train_all_components",
            **trained_with,
            components=synthetic.components,
            components_over_steps=synthetic.components_over_steps,
        ),


use rule step as train_on_brackets with:
    output:
        found="results/topic_structure/synthetic/brackets.parquet",
        norms="results/topic_structure/synthetic/bracket_norms.parquet",
        record=record,
    pathvars:
        step="train_on_brackets",
    threads: synthetic.threads
    resources:
        **asks(1000, minutes=30, device=synthetic.device),
    params:
        **script("train_on_brackets", **trained_with, dyck=synthetic.dyck),


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
        **script("tabulate_theory_gap", model=synthetic.model, theory=synthetic.theory),


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
        published=published_stages,
    output:
        tables=table("topic_structure/two_stage", "Synthetic: tables", "table: two stages"),
        record=record,
    pathvars:
        step="tabulate_two_stage",
    localrule: True
    params:
        **script("tabulate_two_stage", two_stages=synthetic.two_stages),


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


use rule step as tabulate_topic_structure_claims with:
    input:
        matrices=rules.train_uniform_attention.output.matrices,
        gap_grid=rules.solve_gap_grid.output.gaps,
        descent=rules.descend_stage_one.output.descent,
        gradients=rules.measure_stage_gradients.output.gradients,
        ratios=rules.optimise_attention_over_T.output.ratios,
        components=rules.train_all_components.output.components,
        brackets=rules.train_on_brackets.output.found,
        norms=rules.train_on_brackets.output.norms,
        published=published_stages,
    output:
        tables=table(
            "topic_structure/claims",
            "Claims",
            "table: claims",
            target="table_topic_structure_claims",
        ),
        record=record,
    pathvars:
        step="tabulate_topic_structure_claims",
    localrule: True
    params:
        **script(
            "tabulate_topic_structure_claims",
            model=synthetic.model,
            gap_grid=synthetic.gap_grid,
            theory=synthetic.theory,
            two_stages=synthetic.two_stages,
        ),


use rule step as plot_gap_grid with:
    input:
        gaps=rules.solve_gap_grid.output.gaps,
    output:
        figures=figure(
            "topic_structure/gap_grid", "Synthetic: figures", "figure: gap over settings"
        ),
        record=record,
    pathvars:
        step="plot_gap_grid",
    localrule: True
    params:
        **script("plot_gap_grid"),


use rule step as plot_ratio_over_topics with:
    input:
        ratios=rules.optimise_attention_over_T.output.ratios,
    output:
        figures=figure(
            "topic_structure/ratio_over_topics", "Synthetic: figures", "figure: ratio against T"
        ),
        record=record,
    pathvars:
        step="plot_ratio_over_topics",
    localrule: True
    params:
        **script("plot_ratio_over_topics"),


use rule step as plot_components_over_steps with:
    input:
        components=rules.train_all_components.output.components,
        gradients=rules.measure_stage_gradients.output.gradients,
    output:
        figures=[
            *figure(
                "topic_structure/components_over_steps",
                "Synthetic: figures",
                "figure: which comes first",
            ),
            *figure(
                "topic_structure/stage_gradients",
                "Synthetic: figures",
                "figure: gradients in stage 1",
            ),
        ],
        record=record,
    pathvars:
        step="plot_components_over_steps",
    localrule: True
    params:
        **script("plot_components_over_steps"),
