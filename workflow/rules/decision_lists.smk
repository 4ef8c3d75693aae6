# Decision lists with one-layer transformers: what is solved and trained.
decision_lists = settings.decision_lists


use rule step as solve_decision_lists with:
    output:
        solved="results/decision_lists/solved.parquet",
        followed="results/decision_lists/followed.parquet",
        record=record,
    pathvars:
        step="solve_decision_lists",
    params:
        **script(
            "solve_decision_lists", theorem_1=decision_lists.theorem_1, shown=decision_lists.shown
        ),


use rule step as train_decision_list_attention with:
    output:
        runs="results/decision_lists/attention_runs.parquet",
        history="results/decision_lists/attention_history.parquet",
        scores="results/decision_lists/attention_scores.parquet",
        record=record,
    pathvars:
        step="train_decision_list_attention",
    threads: decision_lists.attention.threads
    resources:
        **asks(2500, minutes=120, device=decision_lists.attention.device),
    params:
        **script("train_decision_list_attention", decision_lists.attention),


use rule step as train_decision_list_value with:
    output:
        history="results/decision_lists/value_history.parquet",
        ceilings="results/decision_lists/value_ceilings.parquet",
        values="results/decision_lists/values.parquet",
        record=record,
    pathvars:
        step="train_decision_list_value",
    threads: decision_lists.value.threads
    resources:
        **asks(1500, minutes=30),
    params:
        **script("train_decision_list_value", decision_lists.value),


use rule step as train_decision_list_joint with:
    output:
        near="results/decision_lists/joint_near.parquet",
        small="results/decision_lists/joint_small.parquet",
        small_history="results/decision_lists/joint_small_history.parquet",
        record=record,
    pathvars:
        step="train_decision_list_joint",
    threads: decision_lists.joint.threads
    resources:
        **asks(2000, minutes=60),
    params:
        **script("train_decision_list_joint", decision_lists.joint),
