# Decision lists with one-layer transformers: what is solved and trained, from settings alone.
decision_lists = settings.decision_lists
step(
    "solve_decision_lists",
    (1000, 10),
    {
        "solved": "results/decision_lists/solved.parquet",
        "followed": "results/decision_lists/followed.parquet",
    },
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
    {
        "runs": "results/decision_lists/attention_runs.parquet",
        "history": "results/decision_lists/attention_history.parquet",
        "scores": "results/decision_lists/attention_scores.parquet",
    },
    decision_lists.attention,
)
step(
    "train_decision_list_value",
    (1500, 30),
    {
        "history": "results/decision_lists/value_history.parquet",
        "ceilings": "results/decision_lists/value_ceilings.parquet",
        "values": "results/decision_lists/values.parquet",
    },
    decision_lists.value,
)
step(
    "train_decision_list_joint",
    (2000, 60),
    {
        "near": "results/decision_lists/joint_near.parquet",
        "small": "results/decision_lists/joint_small.parquet",
        "small_history": "results/decision_lists/joint_small_history.parquet",
    },
    decision_lists.joint,
)
