# Decision lists with one-layer transformers: what is solved and trained, from settings alone.
decision_lists = settings.decision_lists
step(
    "solve_decision_lists",
    (1000, 10),
    below("results/decision_lists", solved="solved.parquet", followed="followed.parquet"),
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
    below(
        "results/decision_lists",
        runs="attention_runs.parquet",
        history="attention_history.parquet",
        scores="attention_scores.parquet",
    ),
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
    below(
        "results/decision_lists",
        near="joint_near.parquet",
        small="joint_small.parquet",
        small_history="joint_small_history.parquet",
    ),
    decision_lists.joint,
)
