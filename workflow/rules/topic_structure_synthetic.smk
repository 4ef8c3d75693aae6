# Li, Li & Risteski (2023) on synthetic documents: trainings.
synthetic = settings.topic_structure.synthetic
trained_with = {
    key: getattr(synthetic, key) for key in ("model", "batch", "chunk", "device", "threads")
}
attention_variants = [variant.name for variant in synthetic.attention.variants]
optimizers_over_steps = sorted({row.optimizer for row in synthetic.over_steps_variant.optimizers})


wildcard_constraints:
    variant="|".join(attention_variants),
    optimizer="|".join(optimizers_over_steps),


every["variant"] = attention_variants
every["optimizer"] = optimizers_over_steps


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
            longer=synthetic.attention_over_steps,
            released_steps=synthetic.released_steps,
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
        **script("train_two_stages", **trained_with, stages=synthetic.two_stages),


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
        **script("solve_gap_grid", model=synthetic.model, grid=synthetic.gap_grid),


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
            stages=synthetic.two_stages,
            followed=synthetic.stage_gradients,
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
        **script("train_on_brackets", **trained_with, brackets=synthetic.dyck),
