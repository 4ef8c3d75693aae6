# Decision lists: what is solved and trained, and the tables and figures that show it.


rule solve_theorem_1:
    output:
        solved="results/decision_lists/solved.parquet",
        followed="results/decision_lists/followed.parquet",
        counterexample="results/decision_lists/counterexample.parquet",
    log:
        "results/logs/solve_theorem_1.log",
    benchmark:
        "results/benchmarks/solve_theorem_1.tsv"
    resources:
        mem_mb=lambda w, attempt: 2000 * attempt,
        runtime=lambda w, attempt: 60 * attempt,
    params:
        settings=dump(settings.decision_lists.theorem_1),
        shown=[dump(size) for size in settings.decision_lists.shown],
        code=code("solve_theorem_1"),
    message:
        "Solve Theorem 1's gradient flow"
    script:
        "../../scripts/solve_theorem_1.py"


rule train_decision_lists:
    output:
        attention_runs="results/decision_lists/attention_runs.parquet",
        attention_history="results/decision_lists/attention_history.parquet",
        attention_scores="results/decision_lists/attention_scores.parquet",
        value_history="results/decision_lists/value_history.parquet",
        joint_near="results/decision_lists/joint_near.parquet",
        joint_small="results/decision_lists/joint_small.parquet",
        joint_small_history="results/decision_lists/joint_small_history.parquet",
    log:
        "results/logs/train_decision_lists.log",
    benchmark:
        "results/benchmarks/train_decision_lists.tsv"
    priority: 1  # the longest of this paper
    threads: settings.decision_lists.threads
    resources:
        mem_mb=lambda w, attempt: 2000 * attempt,
        runtime=lambda w, attempt: 60 * attempt,
    params:
        settings=settings.decision_lists.model_dump(mode="json", exclude={"theorem_1", "shown"}),
        code=code("train_decision_lists"),
    message:
        "Train W, V and both on decision lists"
    script:
        "../../scripts/train_decision_lists.py"


rule show_theorem_1:
    input:
        solved=rules.solve_theorem_1.output.solved,
        counterexample=rules.solve_theorem_1.output.counterexample,
    output:
        table=table("decision_lists/theorem_1"),
        figure=figure("decision_lists/time_to_perfect"),
    log:
        "results/logs/show_theorem_1.log",
    localrule: True
    params:
        code=code("show_theorem_1"),
        caption="W only: time to perfect classification of the exact flow beside Theorem 1's bound.",
    message:
        "Show the exact flow on decision lists beside Theorem 1"
    script:
        "../../scripts/show_theorem_1.py"


rule show_decision_list_attention:
    input:
        rules.solve_theorem_1.output.solved,
        rules.solve_theorem_1.output.followed,
        rules.train_decision_lists.output.attention_runs,
        rules.train_decision_lists.output.attention_history,
        rules.train_decision_lists.output.attention_scores,
    output:
        table=table("decision_lists/attention_training"),
        runs_figure=figure("decision_lists/accuracy_over_time"),
        order_figure=figure("decision_lists/attention_order"),
    log:
        "results/logs/show_decision_list_attention.log",
    localrule: True
    params:
        code=code("show_decision_list_attention"),
        caption="W only: loss and accuracy over time of exact reduced flow, full flow and SGD on fresh sequences; the learned scores in list order, and the staircase in which they are learned.",
    message:
        "Show trainings of W alone on decision lists"
    script:
        "../../scripts/show_decision_list_attention.py"


rule show_decision_list_value:
    input:
        rules.train_decision_lists.output.value_history,
    output:
        table=table("decision_lists/value_from_uniform_attention"),
        figure=figure("decision_lists/value_from_uniform_attention"),
    log:
        "results/logs/show_decision_list_value.log",
    localrule: True
    params:
        code=code("show_decision_list_value"),
        caption="V trained alone under uniform attention (W = 0): it finds the permutation and leaves the task unsolved.",
    message:
        "Show V alone on decision lists"
    script:
        "../../scripts/show_decision_list_value.py"


rule show_decision_list_joint:
    input:
        rules.train_decision_lists.output.joint_near,
        rules.train_decision_lists.output.joint_small,
        rules.train_decision_lists.output.joint_small_history,
    output:
        table=table("decision_lists/theorem_2"),
        figure=figure("decision_lists/joint_training"),
    log:
        "results/logs/show_decision_list_joint.log",
    localrule: True
    params:
        code=code("show_decision_list_joint"),
        caption="W and V trained together: steps to perfect classification against the noise on V = cP, and accuracy from small random starts.",
    message:
        "Show W and V together beside Theorem 2"
    script:
        "../../scripts/show_decision_list_joint.py"
