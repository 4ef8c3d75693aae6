# Decision lists with one-layer transformers: what is solved and trained, tables and figures.
decision_lists = settings.decision_lists


use rule step as solve_decision_lists with:
    output:
        solved="results/decision_lists/solved.parquet",
        followed="results/decision_lists/followed.parquet",
        record=record,
    pathvars:
        step="solve_decision_lists",
    params:
        **script("solve_decision_lists", decision_lists.theorem_1, shown=decision_lists.shown),


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


use rule step as tabulate_theorem_1 with:
    input:
        solved=rules.solve_decision_lists.output.solved,
    output:
        tables=table("decision_lists/theorem_1", "W alone (Theorem 1)", "table: Theorem 1"),
        record=record,
    pathvars:
        step="tabulate_theorem_1",
    localrule: True
    params:
        **script("tabulate_theorem_1"),


use rule step as tabulate_attention_training with:
    input:
        runs=rules.train_decision_list_attention.output.runs,
    output:
        tables=table(
            "decision_lists/attention_training", "W alone (Theorem 1)", "table: runs on the full W"
        ),
        record=record,
    pathvars:
        step="tabulate_attention_training",
    localrule: True
    params:
        **script("tabulate_attention_training"),


use rule step as tabulate_theorem_2 with:
    input:
        near=rules.train_decision_list_joint.output.near,
    output:
        tables=table("decision_lists/theorem_2", "V, and W and V together", "table: Theorem 2"),
        record=record,
    pathvars:
        step="tabulate_theorem_2",
    localrule: True
    params:
        **script("tabulate_theorem_2"),


use rule step as tabulate_value_training with:
    input:
        history=rules.train_decision_list_value.output.history,
        ceilings=rules.train_decision_list_value.output.ceilings,
    output:
        tables=table(
            "decision_lists/value_from_uniform_attention",
            "V, and W and V together",
            "table: V alone",
        ),
        record=record,
    pathvars:
        step="tabulate_value_training",
    localrule: True
    params:
        **script("tabulate_value_training"),


use rule step as tabulate_joint_training with:
    input:
        near=rules.train_decision_list_joint.output.near,
        small=rules.train_decision_list_joint.output.small,
    output:
        tables=table(
            "decision_lists/joint_training", "V, and W and V together", "table: W and V together"
        ),
        record=record,
    pathvars:
        step="tabulate_joint_training",
    localrule: True
    params:
        **script("tabulate_joint_training"),


use rule step as tabulate_decision_list_claims with:
    input:
        theorem_1="results/tables/decision_lists/theorem_1.csv",
        attention_training="results/tables/decision_lists/attention_training.csv",
        theorem_2="results/tables/decision_lists/theorem_2.csv",
        value_from_uniform_attention="results/tables/decision_lists/value_from_uniform_attention.csv",
        joint_training="results/tables/decision_lists/joint_training.csv",
    output:
        tables=table(
            "decision_lists/claims",
            "Claims",
            "table: claims",
            target="table_decision_lists_claims",
        ),
        record=record,
    pathvars:
        step="tabulate_decision_list_claims",
    localrule: True
    params:
        **script("tabulate_decision_list_claims"),


use rule step as plot_accuracy_over_time with:
    input:
        history=rules.train_decision_list_attention.output.history,
        runs=rules.train_decision_list_attention.output.runs,
        followed=rules.solve_decision_lists.output.followed,
    output:
        figures=figure(
            "decision_lists/accuracy_over_time",
            "W alone (Theorem 1)",
            "figure: accuracy over time",
        ),
        record=record,
    pathvars:
        step="plot_accuracy_over_time",
    localrule: True
    params:
        **script("plot_accuracy_over_time", shown=decision_lists.shown),


use rule step as plot_time_to_perfect with:
    input:
        solved=rules.solve_decision_lists.output.solved,
    output:
        figures=figure(
            "decision_lists/time_to_perfect", "W alone (Theorem 1)", "figure: time to perfect"
        ),
        record=record,
    pathvars:
        step="plot_time_to_perfect",
    localrule: True
    params:
        **script("plot_time_to_perfect"),


use rule step as plot_attention_order with:
    input:
        scores=rules.train_decision_list_attention.output.scores,
        followed=rules.solve_decision_lists.output.followed,
        solved=rules.solve_decision_lists.output.solved,
    output:
        figures=figure(
            "decision_lists/attention_order",
            "W alone (Theorem 1)",
            "figure: attention in list order",
        ),
        record=record,
    pathvars:
        step="plot_attention_order",
    localrule: True
    params:
        **script("plot_attention_order", shown=decision_lists.shown),


use rule step as plot_value_training with:
    input:
        history=rules.train_decision_list_value.output.history,
        ceilings=rules.train_decision_list_value.output.ceilings,
        values=rules.train_decision_list_value.output.values,
    output:
        figures=figure(
            "decision_lists/value_from_uniform_attention",
            "V, and W and V together",
            "figure: V alone",
        ),
        record=record,
    pathvars:
        step="plot_value_training",
    localrule: True
    params:
        **script("plot_value_training"),


use rule step as plot_joint_training with:
    input:
        near=rules.train_decision_list_joint.output.near,
        small=rules.train_decision_list_joint.output.small,
        small_history=rules.train_decision_list_joint.output.small_history,
    output:
        figures=figure(
            "decision_lists/joint_training", "V, and W and V together", "figure: W and V together"
        ),
        record=record,
    pathvars:
        step="plot_joint_training",
    localrule: True
    params:
        **script("plot_joint_training"),
