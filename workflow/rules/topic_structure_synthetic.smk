# Li, Li & Risteski (2023) on synthetic documents: trainings, which read settings alone.
synthetic = settings.topic_structure.synthetic
trained_with = synthetic.in_common
attention_variants = [variant.name for variant in synthetic.attention.variants]
optimizers_over_steps = sorted({row.optimizer for row in synthetic.over_steps_variant.optimizers})


wildcard_constraints:
    variant="|".join(attention_variants),
    optimizer="|".join(optimizers_over_steps),


every["variant"] = attention_variants
every["optimizer"] = optimizers_over_steps
made = "results/topic_structure/synthetic"

step(
    "train_uniform_attention",
    (1500, 30),
    {"gaps": f"{made}/gaps.parquet", "matrices": f"{made}/gap_matrices.npz"},
    trained_with,
    theory=synthetic.theory,
    components=synthetic.components,
)
step(
    "train_topic_attention/{variant}",
    (1500, 60),
    below(f"{made}/attention", averages="{variant}.parquet", matrices="{variant}.npz"),
    trained_with,
    priority=1,
    attention=synthetic.attention,
    variant=lambda w: w.variant,
)
step(
    "train_attention_over_steps/{optimizer}",
    (1500, 120),
    {"averages": f"{made}/attention_over_steps/{{optimizer}}.parquet"},
    trained_with,
    priority=1,
    attention=synthetic.attention,
    longer=synthetic.attention_over_steps,
    released_steps=synthetic.released_steps,
    optimizer=lambda w: w.optimizer,
)
step(
    "train_two_stages",
    (1500, 60),
    {"norms": f"{made}/norms.parquet"},
    trained_with,
    priority=1,
    stages=synthetic.two_stages,
)
step(
    "measure_stage_gradients",
    (1500, 60),
    {"gradients": f"{made}/stage_gradients.parquet"},
    trained_with,
    priority=1,
    stages=synthetic.two_stages,
    followed=synthetic.stage_gradients,
)
step(
    "train_all_components",
    (1500, 60),
    {"components": f"{made}/components.parquet"},
    trained_with,
    priority=1,
    components=synthetic.components,
    over=synthetic.components_over_steps,
)
step(
    "optimise_topic_attention",
    (1500, 30),
    {"ratios": f"{made}/stage_two.parquet"},
    trained_with,
    stage_two=synthetic.stage_two,
)
step(
    "train_on_brackets",
    (1000, 30),
    {"found": f"{made}/brackets.parquet", "norms": f"{made}/bracket_norms.parquet"},
    trained_with,
    brackets=synthetic.dyck,
)
step(
    "solve_gap_grid",
    (1500, 30),
    {"gaps": f"{made}/gap_grid.parquet"},
    model=synthetic.model,
    grid=synthetic.gap_grid,
)
step(
    "descend_stage_one",
    (1000, 30),
    {"descent": f"{made}/descent.parquet"},
    model=synthetic.model,
    theory=synthetic.theory,
    descent=synthetic.descent,
)
kept_shares = synthetic.over_masks.kept
step(
    "optimise_attention_over_masks",
    (1500, 30),
    {"ratios": f"{made}/ratio_over_masks.parquet"},
    model=synthetic.model,
    over_masks=synthetic.over_masks,
)
step(
    "optimise_attention_over_T",
    (1500, 30),
    {"ratios": f"{made}/ratio_over_T.parquet"},
    model=synthetic.model,
    ratio_over_T=synthetic.ratio_over_T,
)
