# Decision lists: what is solved and trained, and the tables and figures that show it.


rule train_decision_lists:
    output:
        solved="results/decision_lists/solved.parquet",
        followed="results/decision_lists/followed.parquet",
        counterexample="results/decision_lists/counterexample.parquet",
        attention_runs="results/decision_lists/attention_runs.parquet",
        attention_history="results/decision_lists/attention_history.parquet",
        attention_scores="results/decision_lists/attention_scores.parquet",
        value_history="results/decision_lists/value_history.parquet",
        final_values="results/decision_lists/values.parquet",
        joint_near="results/decision_lists/joint_near.parquet",
        joint_small="results/decision_lists/joint_small.parquet",
        joint_small_history="results/decision_lists/joint_small_history.parquet",
    log:
        "results/logs/train_decision_lists.log",
    benchmark:
        "results/benchmarks/train_decision_lists.tsv"
    priority: 1  # the longest of this paper
    conda:
        "../../envs/onelayer.yaml"
    threads: settings.decision_lists.threads
    resources:
        mem_mb=lambda w, attempt: 2000 * attempt,
        runtime=lambda w, attempt: 60 * attempt,
    params:
        settings=dump(settings.decision_lists),
        code=code("train_decision_lists"),
    message:
        "Solve Theorem 1's gradient flow, train W, V and both on decision lists"
    script:
        "../../scripts/train_decision_lists.py"


rule show_decision_list_attention:
    input:
        solved=rules.train_decision_lists.output.solved,
        followed=rules.train_decision_lists.output.followed,
        counterexample=rules.train_decision_lists.output.counterexample,
        runs=rules.train_decision_lists.output.attention_runs,
        history=rules.train_decision_lists.output.attention_history,
        scores=rules.train_decision_lists.output.attention_scores,
    output:
        times=table("decision_lists/theorem_1"),
        times_figure=figure("decision_lists/time_to_perfect"),
        runs=table("decision_lists/attention_training"),
        runs_figure=figure("decision_lists/accuracy_over_time"),
        order_figure=figure("decision_lists/attention_order"),
    log:
        "results/logs/show_decision_list_attention.log",
    localrule: True
    conda:
        "../../envs/onelayer.yaml"
    params:
        code=code("show_decision_list_attention"),
        caption="W only: time to perfect classification beside Theorem 1's bound; loss and accuracy over time of exact reduced flow, full flow and SGD on fresh sequences; the learned scores in list order, and the staircase in which they are learned.",
    message:
        "Show W alone on decision lists beside Theorem 1"
    script:
        "../../scripts/show_decision_list_attention.py"


rule show_decision_list_joint:
    input:
        history=rules.train_decision_lists.output.value_history,
        values=rules.train_decision_lists.output.final_values,
        near=rules.train_decision_lists.output.joint_near,
        small=rules.train_decision_lists.output.joint_small,
        small_history=rules.train_decision_lists.output.joint_small_history,
    output:
        value=table("decision_lists/value_from_uniform_attention"),
        value_figure=figure("decision_lists/value_from_uniform_attention"),
        joint=table("decision_lists/theorem_2"),
        joint_figure=figure("decision_lists/joint_training"),
    log:
        "results/logs/show_decision_list_joint.log",
    localrule: True
    conda:
        "../../envs/onelayer.yaml"
    params:
        code=code("show_decision_list_joint"),
        caption="V trained alone under uniform attention (W = 0): it finds the permutation and leaves the task unsolved. W and V trained together: steps to perfect classification against the noise on V = cP, and accuracy from small random starts.",
    message:
        "Show V alone, and W and V together beside Theorem 2"
    script:
        "../../scripts/show_decision_list_joint.py"
