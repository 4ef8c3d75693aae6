# Tian, Wang, Chen & Du (2023), Scan and Snap: simulations, a language model, tables and figures.
scan_snap = settings.scan_snap
trainings = [training.name for training in scan_snap.language_model.trainings]
text_corpus = scan_snap.language_model.corpus


wildcard_constraints:
    simulation="scan|entropy_sweep|phase_map",
    training="|".join(map(re.escape, trainings)),


rule simulate_scan_snap:
    input:
        code=code_closure("simulate_scan_snap"),
    output:
        attention="results/scan_snap/{simulation}.parquet",
        record="results/records/simulate_scan_snap/{simulation}.json",
    log:
        "results/logs/simulate_scan_snap/{simulation}.log",
    benchmark:
        "results/benchmarks/simulate_scan_snap/{simulation}.tsv"
    conda:
        "../../envs/onelayer.yaml"
    threads: lambda w: getattr(scan_snap, w.simulation).threads
    resources:
        mem_mb=growing(1500),
        runtime=growing(60),
        gpu=lambda w: gpus(getattr(scan_snap, w.simulation).device),
    params:
        settings=lambda w: settings_json(getattr(scan_snap, w.simulation)),
        libraries=library_versions("simulate_scan_snap"),
    message:
        "Simulate {wildcards.simulation}"
    shell:
        "python scripts/simulate_scan_snap.py --attention {output.attention}"
        " --record {output.record} --settings {params.settings:q} --log {log}"


rule train_text_model:
    input:
        articles=expand(rules.parse_articles.output.articles, corpus=text_corpus),
        code=code_closure("train_text_model"),
    output:
        measures="results/scan_snap/language_model/{training}.parquet",
        maps="results/scan_snap/language_model/{training}.npz",
        record="results/records/train_text_model/{training}.json",
    log:
        "results/logs/train_text_model/{training}.log",
    benchmark:
        "results/benchmarks/train_text_model/{training}.tsv"
    conda:
        "../../envs/onelayer.yaml"
    threads: scan_snap.language_model.threads
    resources:
        mem_mb=growing(2500),
        runtime=growing(60),
        gpu=gpus(scan_snap.language_model.device),
    params:
        settings=lambda w: settings_json(
            scan_snap.language_model,
            training=scan_snap.language_model.trainings[trainings.index(w.training)],
        ),
        libraries=library_versions("train_text_model"),
    message:
        "Train the one-layer language model, {wildcards.training}"
    shell:
        "python scripts/train_text_model.py --articles {input.articles}"
        " --measures {output.measures} --maps {output.maps}"
        " --record {output.record} --settings {params.settings:q} --log {log}"


rule tabulate_entropy_sweep:
    input:
        attention="results/scan_snap/entropy_sweep.parquet",
        published="workflow/reference/scan_snap_figure6.csv",
        code=code_closure("tabulate_entropy_sweep"),
    output:
        csv="results/tables/scan_snap/entropy_sweep.csv",
        md="results/tables/scan_snap/entropy_sweep.md",
        tex="results/tables/scan_snap/entropy_sweep.tex",
        html=report(
            "results/tables/scan_snap/entropy_sweep.html",
            caption="../report/entropy_sweep_table.rst",
            category="Scan and Snap",
            subcategory="Synthetic",
            labels={"result": "table: entropy by learning rates"},
        ),
        record="results/records/tabulate_entropy_sweep.json",
    log:
        "results/logs/tabulate_entropy_sweep.log",
    benchmark:
        "results/benchmarks/tabulate_entropy_sweep.tsv"
    conda:
        "../../envs/onelayer.yaml"
    threads: 1
    resources:
        mem_mb=growing(1000),
        runtime=growing(10),
    params:
        settings=settings_json(iterations=scan_snap.entropy_sweep.iterations),
        libraries=library_versions("tabulate_entropy_sweep"),
    message:
        "Tabulate the entropy of attention"
    shell:
        "python scripts/tabulate_entropy_sweep.py"
        " --attention {input.attention} --published {input.published}"
        " --csv {output.csv} --md {output.md} --tex {output.tex} --html {output.html}"
        " --record {output.record} --settings {params.settings:q} --log {log}"


rule tabulate_scan_snap_claims:
    input:
        scan="results/scan_snap/scan.parquet",
        sweep="results/scan_snap/entropy_sweep.parquet",
        published="workflow/reference/scan_snap_figure6.csv",
        text=expand(rules.train_text_model.output.measures, training=trainings),
        code=code_closure("tabulate_scan_snap_claims"),
    output:
        csv="results/tables/scan_snap/claims.csv",
        md="results/tables/scan_snap/claims.md",
        tex="results/tables/scan_snap/claims.tex",
        html=report(
            "results/tables/scan_snap/claims.html",
            caption="../report/scan_snap_claims.rst",
            category="Scan and Snap",
            subcategory="Claims",
            labels={"result": "table: claims"},
        ),
        record="results/records/tabulate_scan_snap_claims.json",
    log:
        "results/logs/tabulate_scan_snap_claims.log",
    benchmark:
        "results/benchmarks/tabulate_scan_snap_claims.tsv"
    conda:
        "../../envs/onelayer.yaml"
    threads: 1
    resources:
        mem_mb=growing(1000),
        runtime=growing(10),
    params:
        settings=settings_json(
            scan_iterations=scan_snap.scan.iterations,
            sweep_iterations=scan_snap.entropy_sweep.iterations,
            trainings=trainings,
        ),
        libraries=library_versions("tabulate_scan_snap_claims"),
    message:
        "Tabulate the claims of Scan and Snap"
    shell:
        "python scripts/tabulate_scan_snap_claims.py"
        " --scan {input.scan} --sweep {input.sweep} --published {input.published}"
        " --text {input.text}"
        " --csv {output.csv} --md {output.md} --tex {output.tex} --html {output.html}"
        " --record {output.record} --settings {params.settings:q} --log {log}"


rule plot_scan:
    input:
        attention="results/scan_snap/scan.parquet",
        code=code_closure("plot_scan"),
    output:
        pdf="results/figures/scan_snap/scan.pdf",
        png=report(
            "results/figures/scan_snap/scan.png",
            caption="../report/scan.rst",
            category="Scan and Snap",
            subcategory="Synthetic",
            labels={"result": "figure: attention over training"},
        ),
        record="results/records/plot_scan.json",
    log:
        "results/logs/plot_scan.log",
    benchmark:
        "results/benchmarks/plot_scan.tsv"
    conda:
        "../../envs/onelayer.yaml"
    threads: 1
    resources:
        mem_mb=growing(1000),
        runtime=growing(10),
    params:
        settings=settings_json(iterations=scan_snap.scan.iterations),
        libraries=library_versions("plot_scan"),
    message:
        "Plot attention over training"
    shell:
        "python scripts/plot_scan.py --attention {input.attention}"
        " --pdf {output.pdf} --png {output.png}"
        " --record {output.record} --settings {params.settings:q} --log {log}"


rule plot_entropy_sweep:
    input:
        attention="results/scan_snap/entropy_sweep.parquet",
        published="workflow/reference/scan_snap_figure6.csv",
        code=code_closure("plot_entropy_sweep"),
    output:
        pdf="results/figures/scan_snap/entropy_sweep.pdf",
        png=report(
            "results/figures/scan_snap/entropy_sweep.png",
            caption="../report/entropy_sweep.rst",
            category="Scan and Snap",
            subcategory="Synthetic",
            labels={"result": "figure: entropy by learning rates"},
        ),
        record="results/records/plot_entropy_sweep.json",
    log:
        "results/logs/plot_entropy_sweep.log",
    benchmark:
        "results/benchmarks/plot_entropy_sweep.tsv"
    conda:
        "../../envs/onelayer.yaml"
    threads: 1
    resources:
        mem_mb=growing(1000),
        runtime=growing(10),
    params:
        settings=settings_json(iterations=scan_snap.entropy_sweep.iterations),
        libraries=library_versions("plot_entropy_sweep"),
    message:
        "Plot the entropy of attention"
    shell:
        "python scripts/plot_entropy_sweep.py"
        " --attention {input.attention} --published {input.published}"
        " --pdf {output.pdf} --png {output.png}"
        " --record {output.record} --settings {params.settings:q} --log {log}"


rule plot_phase_map:
    input:
        attention="results/scan_snap/phase_map.parquet",
        code=code_closure("plot_phase_map"),
    output:
        pdf="results/figures/scan_snap/phase_map.pdf",
        png=report(
            "results/figures/scan_snap/phase_map.png",
            caption="../report/phase_map.rst",
            category="Scan and Snap",
            subcategory="Synthetic",
            labels={"result": "figure: map over learning rates"},
        ),
        record="results/records/plot_phase_map.json",
    log:
        "results/logs/plot_phase_map.log",
    benchmark:
        "results/benchmarks/plot_phase_map.tsv"
    conda:
        "../../envs/onelayer.yaml"
    threads: 1
    resources:
        mem_mb=growing(1000),
        runtime=growing(10),
    params:
        settings=settings_json(iterations=scan_snap.phase_map.iterations),
        libraries=library_versions("plot_phase_map"),
    message:
        "Plot the map over learning rates"
    shell:
        "python scripts/plot_phase_map.py --attention {input.attention}"
        " --pdf {output.pdf} --png {output.png}"
        " --record {output.record} --settings {params.settings:q} --log {log}"


rule plot_attention_maps:
    input:
        maps=expand(rules.train_text_model.output.maps, training=trainings),
        code=code_closure("plot_attention_maps"),
    output:
        pdf="results/figures/scan_snap/attention_maps.pdf",
        png=report(
            "results/figures/scan_snap/attention_maps.png",
            caption="../report/attention_maps.rst",
            category="Scan and Snap",
            subcategory="Real text",
            labels={"result": "figure: attention maps"},
        ),
        record="results/records/plot_attention_maps.json",
    log:
        "results/logs/plot_attention_maps.log",
    benchmark:
        "results/benchmarks/plot_attention_maps.tsv"
    conda:
        "../../envs/onelayer.yaml"
    threads: 1
    resources:
        mem_mb=growing(1000),
        runtime=growing(10),
    params:
        settings=settings_json(trainings=trainings, length=scan_snap.language_model.length),
        libraries=library_versions("plot_attention_maps"),
    message:
        "Plot attention maps on held-out text"
    shell:
        "python scripts/plot_attention_maps.py --maps {input.maps}"
        " --pdf {output.pdf} --png {output.png}"
        " --record {output.record} --settings {params.settings:q} --log {log}"


rule plot_attention_over_time:
    input:
        measures=expand(rules.train_text_model.output.measures, training=trainings),
        code=code_closure("plot_attention_over_time"),
    output:
        pdf="results/figures/scan_snap/attention_over_time.pdf",
        png=report(
            "results/figures/scan_snap/attention_over_time.png",
            caption="../report/attention_over_time.rst",
            category="Scan and Snap",
            subcategory="Real text",
            labels={"result": "figure: attention over time"},
        ),
        record="results/records/plot_attention_over_time.json",
    log:
        "results/logs/plot_attention_over_time.log",
    benchmark:
        "results/benchmarks/plot_attention_over_time.tsv"
    conda:
        "../../envs/onelayer.yaml"
    threads: 1
    resources:
        mem_mb=growing(1000),
        runtime=growing(10),
    params:
        settings=settings_json(trainings=trainings, length=scan_snap.language_model.length),
        libraries=library_versions("plot_attention_over_time"),
    message:
        "Plot attention on real text over time"
    shell:
        "python scripts/plot_attention_over_time.py --measures {input.measures}"
        " --pdf {output.pdf} --png {output.png}"
        " --record {output.record} --settings {params.settings:q} --log {log}"


tables |= {
    "results/tables/scan_snap/entropy_sweep": "entropy_sweep_table",
    "results/tables/scan_snap/claims": "scan_snap_claims",
}
figures |= {
    "results/figures/scan_snap/scan": "scan",
    "results/figures/scan_snap/entropy_sweep": "entropy_sweep",
    "results/figures/scan_snap/phase_map": "phase_map",
    "results/figures/scan_snap/attention_maps": "attention_maps",
    "results/figures/scan_snap/attention_over_time": "attention_over_time",
}
records += expand(
    rules.simulate_scan_snap.output.record, simulation=["scan", "entropy_sweep", "phase_map"]
)
records += expand(rules.train_text_model.output.record, training=trainings)
records += [
    rules.tabulate_entropy_sweep.output.record,
    rules.tabulate_scan_snap_claims.output.record,
    rules.plot_scan.output.record,
    rules.plot_entropy_sweep.output.record,
    rules.plot_phase_map.output.record,
    rules.plot_attention_maps.output.record,
    rules.plot_attention_over_time.output.record,
]


rule table_entropy_sweep:
    input:
        multiext("results/tables/scan_snap/entropy_sweep", ".csv", ".md", ".tex", ".html"),


rule table_scan_snap_claims:
    input:
        multiext("results/tables/scan_snap/claims", ".csv", ".md", ".tex", ".html"),


rule figure_scan:
    input:
        multiext("results/figures/scan_snap/scan", ".pdf", ".png"),


rule figure_entropy_sweep:
    input:
        multiext("results/figures/scan_snap/entropy_sweep", ".pdf", ".png"),


rule figure_phase_map:
    input:
        multiext("results/figures/scan_snap/phase_map", ".pdf", ".png"),


rule figure_attention_maps:
    input:
        multiext("results/figures/scan_snap/attention_maps", ".pdf", ".png"),


rule figure_attention_over_time:
    input:
        multiext("results/figures/scan_snap/attention_over_time", ".pdf", ".png"),


rule scan_snap:
    input:
        rules.table_entropy_sweep.input,
        rules.table_scan_snap_claims.input,
        rules.figure_scan.input,
        rules.figure_entropy_sweep.input,
        rules.figure_phase_map.input,
        rules.figure_attention_maps.input,
        rules.figure_attention_over_time.input,


localrules:
    table_entropy_sweep,
    table_scan_snap_claims,
    figure_scan,
    figure_entropy_sweep,
    figure_phase_map,
    figure_attention_maps,
    figure_attention_over_time,
    scan_snap,
