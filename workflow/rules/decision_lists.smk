# Decision lists: what is solved and trained, and the tables and figures that show it.


rule solve_decision_lists:
    output:
        solved="results/decision_lists/solved.parquet",
        followed="results/decision_lists/followed.parquet",
        counterexample="results/decision_lists/counterexample.parquet",
    log:
        "results/logs/solve_decision_lists.log",
    benchmark:
        "results/benchmarks/solve_decision_lists.tsv"
    conda:
        "../../envs/onelayer.yaml"
    threads: settings.decision_lists.theorem_1.threads
    resources:
        mem_mb=lambda w, attempt: 1000 * attempt,
        runtime=lambda w, attempt: 10 * attempt,
    params:
        settings=dump(settings.decision_lists.theorem_1),
        shown=[dump(size) for size in settings.decision_lists.shown],
        code=code("solve_decision_lists"),
    message:
        "Solve Theorem 1's gradient flow"
    script:
        "../../scripts/solve_decision_lists.py"


rule train_decision_list_attention:
    output:
        runs="results/decision_lists/attention_runs.parquet",
        history="results/decision_lists/attention_history.parquet",
        scores="results/decision_lists/attention_scores.parquet",
    log:
        "results/logs/train_decision_list_attention.log",
    benchmark:
        "results/benchmarks/train_decision_list_attention.tsv"
    conda:
        "../../envs/onelayer.yaml"
    threads: settings.decision_lists.attention.threads
    resources:
        mem_mb=lambda w, attempt: 1500 * attempt,
        runtime=lambda w, attempt: 30 * attempt,
    params:
        settings=dump(settings.decision_lists.attention),
        code=code("train_decision_list_attention"),
    message:
        "Train the full matrix W on decision lists"
    script:
        "../../scripts/train_decision_list_attention.py"


rule train_decision_list_value:
    output:
        history="results/decision_lists/value_history.parquet",
        ceilings="results/decision_lists/value_ceilings.parquet",
        values="results/decision_lists/values.parquet",
    log:
        "results/logs/train_decision_list_value.log",
    benchmark:
        "results/benchmarks/train_decision_list_value.tsv"
    conda:
        "../../envs/onelayer.yaml"
    threads: settings.decision_lists.value.threads
    resources:
        mem_mb=lambda w, attempt: 1500 * attempt,
        runtime=lambda w, attempt: 30 * attempt,
    params:
        settings=dump(settings.decision_lists.value),
        code=code("train_decision_list_value"),
    message:
        "Train V alone on decision lists, under uniform attention"
    script:
        "../../scripts/train_decision_list_value.py"


rule train_decision_list_joint:
    output:
        near="results/decision_lists/joint_near.parquet",
        small="results/decision_lists/joint_small.parquet",
        small_history="results/decision_lists/joint_small_history.parquet",
    log:
        "results/logs/train_decision_list_joint.log",
    benchmark:
        "results/benchmarks/train_decision_list_joint.tsv"
    priority: 1  # the longest of this paper
    conda:
        "../../envs/onelayer.yaml"
    threads: settings.decision_lists.joint.threads
    resources:
        mem_mb=lambda w, attempt: 2000 * attempt,
        runtime=lambda w, attempt: 60 * attempt,
    params:
        settings=dump(settings.decision_lists.joint),
        code=code("train_decision_list_joint"),
    message:
        "Train W and V together on decision lists"
    script:
        "../../scripts/train_decision_list_joint.py"


rule show_decision_list_times:
    input:
        solved=rules.solve_decision_lists.output.solved,
        counterexample=rules.solve_decision_lists.output.counterexample,
    output:
        table=table("decision_lists/theorem_1"),
        figure=figure("decision_lists/time_to_perfect"),
    log:
        "results/logs/show_decision_list_times.log",
    benchmark:
        "results/benchmarks/show_decision_list_times.tsv"
    localrule: True
    conda:
        "../../envs/onelayer.yaml"
    threads: 1
    params:
        code=code("show_decision_list_times"),
        caption="Time to perfect classification against the vocabulary, with Theorem 1's bound, and their ratio against delta.",
    message:
        "Show the times of decision lists beside Theorem 1's bound"
    script:
        "../../scripts/show_decision_list_times.py"


rule show_decision_list_attention:
    input:
        runs=rules.train_decision_list_attention.output.runs,
        history=rules.train_decision_list_attention.output.history,
        followed=rules.solve_decision_lists.output.followed,
    output:
        table=table("decision_lists/attention_training"),
        figure=figure("decision_lists/accuracy_over_time"),
    log:
        "results/logs/show_decision_list_attention.log",
    benchmark:
        "results/benchmarks/show_decision_list_attention.tsv"
    localrule: True
    conda:
        "../../envs/onelayer.yaml"
    threads: 1
    params:
        code=code("show_decision_list_attention"),
        caption="Loss and accuracy on decision lists against time, W only: exact reduced flow, full flow, SGD on fresh sequences.",
    message:
        "Show trainings of the full matrix W on decision lists"
    script:
        "../../scripts/show_decision_list_attention.py"


rule show_decision_list_order:
    input:
        scores=rules.train_decision_list_attention.output.scores,
        solved=rules.solve_decision_lists.output.solved,
        followed=rules.solve_decision_lists.output.followed,
    output:
        figure=figure("decision_lists/attention_order"),
    log:
        "results/logs/show_decision_list_order.log",
    benchmark:
        "results/benchmarks/show_decision_list_order.tsv"
    localrule: True
    conda:
        "../../envs/onelayer.yaml"
    threads: 1
    params:
        code=code("show_decision_list_order"),
        caption="The learned scores W[b, a] with every query's list in order, and the staircase in which they are learned.",
    message:
        "Show in which order decision lists are learned"
    script:
        "../../scripts/show_decision_list_order.py"


rule show_decision_list_value:
    input:
        history=rules.train_decision_list_value.output.history,
        ceilings=rules.train_decision_list_value.output.ceilings,
        values=rules.train_decision_list_value.output.values,
    output:
        table=table("decision_lists/value_from_uniform_attention"),
        figure=figure("decision_lists/value_from_uniform_attention"),
    log:
        "results/logs/show_decision_list_value.log",
    benchmark:
        "results/benchmarks/show_decision_list_value.tsv"
    localrule: True
    conda:
        "../../envs/onelayer.yaml"
    threads: 1
    params:
        code=code("show_decision_list_value"),
        caption="V trained alone under uniform attention (W = 0): it finds the permutation and leaves the task unsolved.",
    message:
        "Show V alone on decision lists"
    script:
        "../../scripts/show_decision_list_value.py"


rule show_decision_list_joint:
    input:
        near=rules.train_decision_list_joint.output.near,
        small=rules.train_decision_list_joint.output.small,
        small_history=rules.train_decision_list_joint.output.small_history,
    output:
        table=table("decision_lists/theorem_2"),
        figure=figure("decision_lists/joint_training"),
    log:
        "results/logs/show_decision_list_joint.log",
    benchmark:
        "results/benchmarks/show_decision_list_joint.tsv"
    localrule: True
    conda:
        "../../envs/onelayer.yaml"
    threads: 1
    params:
        code=code("show_decision_list_joint"),
        caption="W and V trained together: steps to perfect classification against the noise on V = cP, and accuracy from small random starts.",
    message:
        "Show W and V together on decision lists beside Theorem 2"
    script:
        "../../scripts/show_decision_list_joint.py"
