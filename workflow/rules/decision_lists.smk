# Decision lists with one-layer transformers: what is solved and trained, tables and figures.
decision_lists = settings.decision_lists


rule solve_decision_lists:
    input:
        code=code_closure("solve_decision_lists"),
    output:
        solved="results/decision_lists/solved.parquet",
        followed="results/decision_lists/followed.parquet",
        record="results/records/solve_decision_lists.json",
    log:
        "results/logs/solve_decision_lists.log",
    benchmark:
        "results/benchmarks/solve_decision_lists.tsv"
    conda:
        "../../envs/onelayer.yaml"
    threads: 1
    resources:
        mem_mb=growing(1000),
        runtime=growing(10),
    params:
        settings=settings_json(decision_lists.theorem_1, shown=decision_lists.shown),
        libraries=library_versions("solve_decision_lists"),
    message:
        "Solve the reduced flow of decision lists"
    shell:
        "python scripts/solve_decision_lists.py"
        " --solved {output.solved} --followed {output.followed}"
        " --record {output.record} --settings {params.settings:q} --log {log}"


rule train_decision_list_attention:
    input:
        code=code_closure("train_decision_list_attention"),
    output:
        runs="results/decision_lists/attention_runs.parquet",
        history="results/decision_lists/attention_history.parquet",
        scores="results/decision_lists/attention_scores.parquet",
        record="results/records/train_decision_list_attention.json",
    log:
        "results/logs/train_decision_list_attention.log",
    benchmark:
        "results/benchmarks/train_decision_list_attention.tsv"
    conda:
        "../../envs/onelayer.yaml"
    threads: decision_lists.attention.threads
    resources:
        mem_mb=growing(2500),
        runtime=growing(120),
        gpu=gpus(decision_lists.attention.device),
    params:
        settings=settings_json(decision_lists.attention),
        libraries=library_versions("train_decision_list_attention"),
    message:
        "Train W on decision lists"
    shell:
        "python scripts/train_decision_list_attention.py"
        " --runs {output.runs} --history {output.history}"
        " --scores {output.scores}"
        " --record {output.record} --settings {params.settings:q} --log {log}"


rule train_decision_list_value:
    input:
        code=code_closure("train_decision_list_value"),
    output:
        history="results/decision_lists/value_history.parquet",
        ceilings="results/decision_lists/value_ceilings.parquet",
        values="results/decision_lists/values.parquet",
        record="results/records/train_decision_list_value.json",
    log:
        "results/logs/train_decision_list_value.log",
    benchmark:
        "results/benchmarks/train_decision_list_value.tsv"
    conda:
        "../../envs/onelayer.yaml"
    threads: decision_lists.value.threads
    resources:
        mem_mb=growing(1500),
        runtime=growing(30),
    params:
        settings=settings_json(decision_lists.value),
        libraries=library_versions("train_decision_list_value"),
    message:
        "Train V on decision lists under uniform attention"
    shell:
        "python scripts/train_decision_list_value.py"
        " --history {output.history} --ceilings {output.ceilings}"
        " --values {output.values}"
        " --record {output.record} --settings {params.settings:q} --log {log}"


rule train_decision_list_joint:
    input:
        code=code_closure("train_decision_list_joint"),
    output:
        near="results/decision_lists/joint_near.parquet",
        small="results/decision_lists/joint_small.parquet",
        small_history="results/decision_lists/joint_small_history.parquet",
        record="results/records/train_decision_list_joint.json",
    log:
        "results/logs/train_decision_list_joint.log",
    benchmark:
        "results/benchmarks/train_decision_list_joint.tsv"
    conda:
        "../../envs/onelayer.yaml"
    threads: decision_lists.joint.threads
    resources:
        mem_mb=growing(2000),
        runtime=growing(60),
    params:
        settings=settings_json(decision_lists.joint),
        libraries=library_versions("train_decision_list_joint"),
    message:
        "Train W and V together on decision lists"
    shell:
        "python scripts/train_decision_list_joint.py"
        " --near {output.near} --small {output.small}"
        " --small-history {output.small_history}"
        " --record {output.record} --settings {params.settings:q} --log {log}"


rule tabulate_theorem_1:
    input:
        solved=rules.solve_decision_lists.output.solved,
        code=code_closure("tabulate_theorem_1"),
    output:
        csv="results/tables/decision_lists/theorem_1.csv",
        md="results/tables/decision_lists/theorem_1.md",
        tex="results/tables/decision_lists/theorem_1.tex",
        html=report(
            "results/tables/decision_lists/theorem_1.html",
            caption="../report/theorem_1.rst",
            category="Decision lists",
            subcategory="W alone (Theorem 1)",
            labels={"result": "table: Theorem 1"},
        ),
        record="results/records/tabulate_theorem_1.json",
    log:
        "results/logs/tabulate_theorem_1.log",
    benchmark:
        "results/benchmarks/tabulate_theorem_1.tsv"
    conda:
        "../../envs/onelayer.yaml"
    threads: 1
    resources:
        mem_mb=growing(1000),
        runtime=growing(10),
    params:
        libraries=library_versions("tabulate_theorem_1"),
    message:
        "Tabulate Theorem 1"
    shell:
        "python scripts/tabulate_theorem_1.py"
        " --solved {input.solved} --csv {output.csv} --md {output.md}"
        " --tex {output.tex} --html {output.html}"
        " --record {output.record} --log {log}"


rule tabulate_attention_training:
    input:
        runs=rules.train_decision_list_attention.output.runs,
        code=code_closure("tabulate_attention_training"),
    output:
        csv="results/tables/decision_lists/attention_training.csv",
        md="results/tables/decision_lists/attention_training.md",
        tex="results/tables/decision_lists/attention_training.tex",
        html=report(
            "results/tables/decision_lists/attention_training.html",
            caption="../report/attention_training.rst",
            category="Decision lists",
            subcategory="W alone (Theorem 1)",
            labels={"result": "table: runs on the full W"},
        ),
        record="results/records/tabulate_attention_training.json",
    log:
        "results/logs/tabulate_attention_training.log",
    benchmark:
        "results/benchmarks/tabulate_attention_training.tsv"
    conda:
        "../../envs/onelayer.yaml"
    threads: 1
    resources:
        mem_mb=growing(1000),
        runtime=growing(10),
    params:
        libraries=library_versions("tabulate_attention_training"),
    message:
        "Tabulate the runs on the full matrix W"
    shell:
        "python scripts/tabulate_attention_training.py"
        " --runs {input.runs} --csv {output.csv} --md {output.md}"
        " --tex {output.tex} --html {output.html}"
        " --record {output.record} --log {log}"


rule tabulate_theorem_2:
    input:
        near=rules.train_decision_list_joint.output.near,
        code=code_closure("tabulate_theorem_2"),
    output:
        csv="results/tables/decision_lists/theorem_2.csv",
        md="results/tables/decision_lists/theorem_2.md",
        tex="results/tables/decision_lists/theorem_2.tex",
        html=report(
            "results/tables/decision_lists/theorem_2.html",
            caption="../report/theorem_2.rst",
            category="Decision lists",
            subcategory="V, and W and V together",
            labels={"result": "table: Theorem 2"},
        ),
        record="results/records/tabulate_theorem_2.json",
    log:
        "results/logs/tabulate_theorem_2.log",
    benchmark:
        "results/benchmarks/tabulate_theorem_2.tsv"
    conda:
        "../../envs/onelayer.yaml"
    threads: 1
    resources:
        mem_mb=growing(1000),
        runtime=growing(10),
    params:
        libraries=library_versions("tabulate_theorem_2"),
    message:
        "Tabulate Theorem 2"
    shell:
        "python scripts/tabulate_theorem_2.py"
        " --near {input.near} --csv {output.csv} --md {output.md}"
        " --tex {output.tex} --html {output.html}"
        " --record {output.record} --log {log}"


rule tabulate_value_training:
    input:
        history=rules.train_decision_list_value.output.history,
        ceilings=rules.train_decision_list_value.output.ceilings,
        code=code_closure("tabulate_value_training"),
    output:
        csv="results/tables/decision_lists/value_from_uniform_attention.csv",
        md="results/tables/decision_lists/value_from_uniform_attention.md",
        tex="results/tables/decision_lists/value_from_uniform_attention.tex",
        html=report(
            "results/tables/decision_lists/value_from_uniform_attention.html",
            caption="../report/value_training_table.rst",
            category="Decision lists",
            subcategory="V, and W and V together",
            labels={"result": "table: V alone"},
        ),
        record="results/records/tabulate_value_training.json",
    log:
        "results/logs/tabulate_value_training.log",
    benchmark:
        "results/benchmarks/tabulate_value_training.tsv"
    conda:
        "../../envs/onelayer.yaml"
    threads: 1
    resources:
        mem_mb=growing(1000),
        runtime=growing(10),
    params:
        libraries=library_versions("tabulate_value_training"),
    message:
        "Tabulate V trained alone"
    shell:
        "python scripts/tabulate_value_training.py"
        " --history {input.history} --ceilings {input.ceilings}"
        " --csv {output.csv} --md {output.md} --tex {output.tex}"
        " --html {output.html}"
        " --record {output.record} --log {log}"


rule tabulate_joint_training:
    input:
        near=rules.train_decision_list_joint.output.near,
        small=rules.train_decision_list_joint.output.small,
        code=code_closure("tabulate_joint_training"),
    output:
        csv="results/tables/decision_lists/joint_training.csv",
        md="results/tables/decision_lists/joint_training.md",
        tex="results/tables/decision_lists/joint_training.tex",
        html=report(
            "results/tables/decision_lists/joint_training.html",
            caption="../report/joint_training_table.rst",
            category="Decision lists",
            subcategory="V, and W and V together",
            labels={"result": "table: W and V together"},
        ),
        record="results/records/tabulate_joint_training.json",
    log:
        "results/logs/tabulate_joint_training.log",
    benchmark:
        "results/benchmarks/tabulate_joint_training.tsv"
    conda:
        "../../envs/onelayer.yaml"
    threads: 1
    resources:
        mem_mb=growing(1000),
        runtime=growing(10),
    params:
        libraries=library_versions("tabulate_joint_training"),
    message:
        "Tabulate W and V trained together"
    shell:
        "python scripts/tabulate_joint_training.py"
        " --near {input.near} --small {input.small} --csv {output.csv}"
        " --md {output.md} --tex {output.tex} --html {output.html}"
        " --record {output.record} --log {log}"


rule plot_accuracy_over_time:
    input:
        history=rules.train_decision_list_attention.output.history,
        runs=rules.train_decision_list_attention.output.runs,
        followed=rules.solve_decision_lists.output.followed,
        code=code_closure("plot_accuracy_over_time"),
    output:
        pdf="results/figures/decision_lists/accuracy_over_time.pdf",
        png=report(
            "results/figures/decision_lists/accuracy_over_time.png",
            caption="../report/accuracy_over_time.rst",
            category="Decision lists",
            subcategory="W alone (Theorem 1)",
            labels={"result": "figure: accuracy over time"},
        ),
        record="results/records/plot_accuracy_over_time.json",
    log:
        "results/logs/plot_accuracy_over_time.log",
    benchmark:
        "results/benchmarks/plot_accuracy_over_time.tsv"
    conda:
        "../../envs/onelayer.yaml"
    threads: 1
    resources:
        mem_mb=growing(1000),
        runtime=growing(10),
    params:
        settings=settings_json(shown=decision_lists.shown),
        libraries=library_versions("plot_accuracy_over_time"),
    message:
        "Plot accuracy over time"
    shell:
        "python scripts/plot_accuracy_over_time.py"
        " --history {input.history} --runs {input.runs}"
        " --followed {input.followed} --pdf {output.pdf} --png {output.png}"
        " --record {output.record} --settings {params.settings:q} --log {log}"


rule plot_time_to_perfect:
    input:
        solved=rules.solve_decision_lists.output.solved,
        code=code_closure("plot_time_to_perfect"),
    output:
        pdf="results/figures/decision_lists/time_to_perfect.pdf",
        png=report(
            "results/figures/decision_lists/time_to_perfect.png",
            caption="../report/time_to_perfect.rst",
            category="Decision lists",
            subcategory="W alone (Theorem 1)",
            labels={"result": "figure: time to perfect"},
        ),
        record="results/records/plot_time_to_perfect.json",
    log:
        "results/logs/plot_time_to_perfect.log",
    benchmark:
        "results/benchmarks/plot_time_to_perfect.tsv"
    conda:
        "../../envs/onelayer.yaml"
    threads: 1
    resources:
        mem_mb=growing(1000),
        runtime=growing(10),
    params:
        libraries=library_versions("plot_time_to_perfect"),
    message:
        "Plot the time to perfect classification"
    shell:
        "python scripts/plot_time_to_perfect.py"
        " --solved {input.solved} --pdf {output.pdf} --png {output.png}"
        " --record {output.record} --log {log}"


rule plot_attention_order:
    input:
        scores=rules.train_decision_list_attention.output.scores,
        followed=rules.solve_decision_lists.output.followed,
        solved=rules.solve_decision_lists.output.solved,
        code=code_closure("plot_attention_order"),
    output:
        pdf="results/figures/decision_lists/attention_order.pdf",
        png=report(
            "results/figures/decision_lists/attention_order.png",
            caption="../report/attention_order.rst",
            category="Decision lists",
            subcategory="W alone (Theorem 1)",
            labels={"result": "figure: attention in list order"},
        ),
        record="results/records/plot_attention_order.json",
    log:
        "results/logs/plot_attention_order.log",
    benchmark:
        "results/benchmarks/plot_attention_order.tsv"
    conda:
        "../../envs/onelayer.yaml"
    threads: 1
    resources:
        mem_mb=growing(1000),
        runtime=growing(10),
    params:
        settings=settings_json(shown=decision_lists.shown),
        libraries=library_versions("plot_attention_order"),
    message:
        "Plot attention in list order"
    shell:
        "python scripts/plot_attention_order.py"
        " --scores {input.scores} --followed {input.followed}"
        " --solved {input.solved} --pdf {output.pdf} --png {output.png}"
        " --record {output.record} --settings {params.settings:q} --log {log}"


rule plot_value_training:
    input:
        history=rules.train_decision_list_value.output.history,
        ceilings=rules.train_decision_list_value.output.ceilings,
        values=rules.train_decision_list_value.output.values,
        code=code_closure("plot_value_training"),
    output:
        pdf="results/figures/decision_lists/value_from_uniform_attention.pdf",
        png=report(
            "results/figures/decision_lists/value_from_uniform_attention.png",
            caption="../report/value_training_figure.rst",
            category="Decision lists",
            subcategory="V, and W and V together",
            labels={"result": "figure: V alone"},
        ),
        record="results/records/plot_value_training.json",
    log:
        "results/logs/plot_value_training.log",
    benchmark:
        "results/benchmarks/plot_value_training.tsv"
    conda:
        "../../envs/onelayer.yaml"
    threads: 1
    resources:
        mem_mb=growing(1000),
        runtime=growing(10),
    params:
        libraries=library_versions("plot_value_training"),
    message:
        "Plot V trained alone"
    shell:
        "python scripts/plot_value_training.py"
        " --history {input.history} --ceilings {input.ceilings}"
        " --values {input.values} --pdf {output.pdf} --png {output.png}"
        " --record {output.record} --log {log}"


rule plot_joint_training:
    input:
        near=rules.train_decision_list_joint.output.near,
        small=rules.train_decision_list_joint.output.small,
        small_history=rules.train_decision_list_joint.output.small_history,
        code=code_closure("plot_joint_training"),
    output:
        pdf="results/figures/decision_lists/joint_training.pdf",
        png=report(
            "results/figures/decision_lists/joint_training.png",
            caption="../report/joint_training_figure.rst",
            category="Decision lists",
            subcategory="V, and W and V together",
            labels={"result": "figure: W and V together"},
        ),
        record="results/records/plot_joint_training.json",
    log:
        "results/logs/plot_joint_training.log",
    benchmark:
        "results/benchmarks/plot_joint_training.tsv"
    conda:
        "../../envs/onelayer.yaml"
    threads: 1
    resources:
        mem_mb=growing(1000),
        runtime=growing(10),
    params:
        libraries=library_versions("plot_joint_training"),
    message:
        "Plot W and V trained together"
    shell:
        "python scripts/plot_joint_training.py"
        " --near {input.near} --small {input.small}"
        " --small-history {input.small_history} --pdf {output.pdf}"
        " --png {output.png}"
        " --record {output.record} --log {log}"


tables["results/tables/decision_lists/theorem_1"] = "theorem_1"
tables["results/tables/decision_lists/attention_training"] = "attention_training"
tables["results/tables/decision_lists/theorem_2"] = "theorem_2"
tables["results/tables/decision_lists/value_from_uniform_attention"] = "value_training_table"
tables["results/tables/decision_lists/joint_training"] = "joint_training_table"
figures["results/figures/decision_lists/accuracy_over_time"] = "accuracy_over_time"
figures["results/figures/decision_lists/time_to_perfect"] = "time_to_perfect"
figures["results/figures/decision_lists/attention_order"] = "attention_order"
figures["results/figures/decision_lists/value_from_uniform_attention"] = "value_training_figure"
figures["results/figures/decision_lists/joint_training"] = "joint_training_figure"
records += [
    rules.tabulate_theorem_1.output.record,
    rules.tabulate_attention_training.output.record,
    rules.tabulate_theorem_2.output.record,
    rules.tabulate_value_training.output.record,
    rules.tabulate_joint_training.output.record,
    rules.plot_accuracy_over_time.output.record,
    rules.plot_time_to_perfect.output.record,
    rules.plot_attention_order.output.record,
    rules.plot_value_training.output.record,
    rules.plot_joint_training.output.record,
]


rule table_theorem_1:
    input:
        multiext("results/tables/decision_lists/theorem_1", ".csv", ".md", ".tex", ".html"),


rule table_attention_training:
    input:
        multiext("results/tables/decision_lists/attention_training", ".csv", ".md", ".tex", ".html"),


rule table_theorem_2:
    input:
        multiext("results/tables/decision_lists/theorem_2", ".csv", ".md", ".tex", ".html"),


rule table_value_from_uniform_attention:
    input:
        multiext(
            "results/tables/decision_lists/value_from_uniform_attention",
            ".csv",
            ".md",
            ".tex",
            ".html",
        ),


rule table_joint_training:
    input:
        multiext("results/tables/decision_lists/joint_training", ".csv", ".md", ".tex", ".html"),


rule figure_accuracy_over_time:
    input:
        multiext("results/figures/decision_lists/accuracy_over_time", ".pdf", ".png"),


rule figure_time_to_perfect:
    input:
        multiext("results/figures/decision_lists/time_to_perfect", ".pdf", ".png"),


rule figure_attention_order:
    input:
        multiext("results/figures/decision_lists/attention_order", ".pdf", ".png"),


rule figure_value_from_uniform_attention:
    input:
        multiext("results/figures/decision_lists/value_from_uniform_attention", ".pdf", ".png"),


rule figure_joint_training:
    input:
        multiext("results/figures/decision_lists/joint_training", ".pdf", ".png"),


rule decision_lists:
    input:
        rules.table_theorem_1.input,
        rules.table_attention_training.input,
        rules.table_theorem_2.input,
        rules.table_value_from_uniform_attention.input,
        rules.table_joint_training.input,
        rules.figure_accuracy_over_time.input,
        rules.figure_time_to_perfect.input,
        rules.figure_attention_order.input,
        rules.figure_value_from_uniform_attention.input,
        rules.figure_joint_training.input,


localrules:
    table_theorem_1,
    table_attention_training,
    table_theorem_2,
    table_value_from_uniform_attention,
    table_joint_training,
    figure_accuracy_over_time,
    figure_time_to_perfect,
    figure_attention_order,
    figure_value_from_uniform_attention,
    figure_joint_training,
    decision_lists,
