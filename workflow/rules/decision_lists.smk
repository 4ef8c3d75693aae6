# Decision lists with one-layer transformers: what is solved and trained, from settings alone.
decision_lists = settings.decision_lists
step(
    "solve_decision_lists",
    (1000, 10),
    alike("results/decision_lists/*.parquet", "solved", "followed"),
    theorem_1=decision_lists.theorem_1,
    shown=decision_lists.shown,
)
step(
    "search_worst_case",
    (1000, 10),
    {"found": "results/decision_lists/worst_case.parquet"},
    worst_case=decision_lists.worst_case,
)
step(
    "train_decision_list_attention",
    (2500, 120),
    alike("results/decision_lists/attention_*.parquet", "runs", "history", "scores"),
    decision_lists.attention,
)
step(
    "train_decision_list_value",
    (1500, 30),
    below(
        "results/decision_lists",
        history="value_history.parquet",
        ceilings="value_ceilings.parquet",
        values="values.parquet",
    ),
    decision_lists.value,
)
step(
    "train_decision_list_joint",
    (2000, 60),
    alike("results/decision_lists/joint_*.parquet", "near", "small", "small_history"),
    decision_lists.joint,
    priority=1,
)
