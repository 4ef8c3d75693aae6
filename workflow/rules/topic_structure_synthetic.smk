# Li, Li & Risteski (2023) on synthetic documents: trainings, tables, figures.
synthetic = settings.topic_structure.synthetic
trained_with = {
    key: getattr(synthetic, key) for key in ("model", "batch", "chunk", "device", "threads")
}
attention_variants = [variant.name for variant in synthetic.attention.variants]


wildcard_constraints:
    variant="|".join(attention_variants),


rule train_uniform_attention:
    input:
        code=code_closure("train_uniform_attention"),
    output:
        gaps="results/topic_structure/synthetic/gaps.parquet",
        matrices="results/topic_structure/synthetic/gap_matrices.npz",
        record="results/records/train_uniform_attention.json",
    log:
        "results/logs/train_uniform_attention.log",
    benchmark:
        "results/benchmarks/train_uniform_attention.tsv"
    conda:
        "../../envs/onelayer.yaml"
    threads: synthetic.threads
    resources:
        mem_mb=growing(1500),
        runtime=growing(30),
        gpu=gpus(synthetic.device),
    params:
        settings=settings_json(
            **trained_with, theory=synthetic.theory, components=synthetic.components
        ),
        libraries=library_versions("train_uniform_attention"),
    message:
        "Train under uniform attention, and solve it exactly"
    shell:
        "python scripts/train_uniform_attention.py"
        " --gaps {output.gaps} --matrices {output.matrices}"
        " --record {output.record} --settings {params.settings:q} --log {log}"


rule train_topic_attention:
    input:
        code=code_closure("train_topic_attention"),
    output:
        averages="results/topic_structure/synthetic/attention/{variant}.parquet",
        matrices="results/topic_structure/synthetic/attention/{variant}.npz",
        record="results/records/train_topic_attention/{variant}.json",
    log:
        "results/logs/train_topic_attention/{variant}.log",
    benchmark:
        "results/benchmarks/train_topic_attention/{variant}.tsv"
    priority: 1  # the long ones first: they decide when the last one ends
    conda:
        "../../envs/onelayer.yaml"
    threads: synthetic.threads
    resources:
        mem_mb=growing(1500),
        runtime=growing(60),
        gpu=gpus(synthetic.device),
    params:
        settings=lambda w: settings_json(
            **trained_with, attention=synthetic.attention, variant=w.variant
        ),
        libraries=library_versions("train_topic_attention"),
    message:
        "Train the attention of the published table, {wildcards.variant}"
    shell:
        "python scripts/train_topic_attention.py"
        " --averages {output.averages} --matrices {output.matrices}"
        " --record {output.record} --settings {params.settings:q} --log {log}"


rule train_two_stages:
    input:
        code=code_closure("train_two_stages"),
    output:
        norms="results/topic_structure/synthetic/norms.parquet",
        record="results/records/train_two_stages.json",
    log:
        "results/logs/train_two_stages.log",
    benchmark:
        "results/benchmarks/train_two_stages.tsv"
    priority: 1  # the long ones first: they decide when the last one ends
    conda:
        "../../envs/onelayer.yaml"
    threads: synthetic.threads
    resources:
        mem_mb=growing(1500),
        runtime=growing(60),
        gpu=gpus(synthetic.device),
    params:
        settings=settings_json(**trained_with, two_stages=synthetic.two_stages),
        libraries=library_versions("train_two_stages"),
    message:
        "Train from near-zero matrices"
    shell:
        "python scripts/train_two_stages.py"
        " --norms {output.norms}"
        " --record {output.record} --settings {params.settings:q} --log {log}"


rule optimise_topic_attention:
    input:
        code=code_closure("optimise_topic_attention"),
    output:
        ratios="results/topic_structure/synthetic/stage_two.parquet",
        record="results/records/optimise_topic_attention.json",
    log:
        "results/logs/optimise_topic_attention.log",
    benchmark:
        "results/benchmarks/optimise_topic_attention.tsv"
    conda:
        "../../envs/onelayer.yaml"
    threads: synthetic.threads
    resources:
        mem_mb=growing(1500),
        runtime=growing(30),
        gpu=gpus(synthetic.device),
    params:
        settings=settings_json(**trained_with, stage_two=synthetic.stage_two),
        libraries=library_versions("optimise_topic_attention"),
    message:
        "Find the optimal attention of stage 2"
    shell:
        "python scripts/optimise_topic_attention.py"
        " --ratios {output.ratios}"
        " --record {output.record} --settings {params.settings:q} --log {log}"


rule tabulate_theory_gap:
    input:
        gaps=rules.train_uniform_attention.output.gaps,
        code=code_closure("tabulate_theory_gap"),
    output:
        csv="results/tables/topic_structure/theory_gap.csv",
        md="results/tables/topic_structure/theory_gap.md",
        tex="results/tables/topic_structure/theory_gap.tex",
        html=report(
            "results/tables/topic_structure/theory_gap.html",
            caption="../report/theory_gap.rst",
            category="Topic structure",
            subcategory="Synthetic: tables",
            labels={"result": "table: theory gap"},
        ),
        record="results/records/tabulate_theory_gap.json",
    log:
        "results/logs/tabulate_theory_gap.log",
    benchmark:
        "results/benchmarks/tabulate_theory_gap.tsv"
    conda:
        "../../envs/onelayer.yaml"
    threads: 1
    resources:
        mem_mb=growing(1000),
        runtime=growing(10),
    params:
        settings=settings_json(),
        libraries=library_versions("tabulate_theory_gap"),
    message:
        "Tabulate the gaps beside the theorems"
    shell:
        "python scripts/tabulate_theory_gap.py --gaps {input.gaps}"
        " --csv {output.csv} --md {output.md} --tex {output.tex} --html {output.html}"
        " --record {output.record} --settings {params.settings:q} --log {log}"


rule tabulate_attention_by_optimizer:
    input:
        averages=expand(rules.train_topic_attention.output.averages, variant=attention_variants),
        published="workflow/reference/topic_structure_attention.csv",
        code=code_closure("tabulate_attention_by_optimizer"),
    output:
        csv="results/tables/topic_structure/attention_by_optimizer.csv",
        md="results/tables/topic_structure/attention_by_optimizer.md",
        tex="results/tables/topic_structure/attention_by_optimizer.tex",
        html=report(
            "results/tables/topic_structure/attention_by_optimizer.html",
            caption="../report/attention_by_optimizer.rst",
            category="Topic structure",
            subcategory="Synthetic: tables",
            labels={"result": "table: attention by optimiser"},
        ),
        record="results/records/tabulate_attention_by_optimizer.json",
    log:
        "results/logs/tabulate_attention_by_optimizer.log",
    benchmark:
        "results/benchmarks/tabulate_attention_by_optimizer.tsv"
    conda:
        "../../envs/onelayer.yaml"
    threads: 1
    resources:
        mem_mb=growing(1000),
        runtime=growing(10),
    params:
        settings=settings_json(evaluated_tokens=synthetic.attention.evaluated_tokens),
        libraries=library_versions("tabulate_attention_by_optimizer"),
    message:
        "Tabulate attention by optimiser"
    shell:
        "python scripts/tabulate_attention_by_optimizer.py --averages {input.averages} --published {input.published}"
        " --csv {output.csv} --md {output.md} --tex {output.tex} --html {output.html}"
        " --record {output.record} --settings {params.settings:q} --log {log}"


rule tabulate_two_stage:
    input:
        norms=rules.train_two_stages.output.norms,
        code=code_closure("tabulate_two_stage"),
    output:
        csv="results/tables/topic_structure/two_stage.csv",
        md="results/tables/topic_structure/two_stage.md",
        tex="results/tables/topic_structure/two_stage.tex",
        html=report(
            "results/tables/topic_structure/two_stage.html",
            caption="../report/two_stage.rst",
            category="Topic structure",
            subcategory="Synthetic: tables",
            labels={"result": "table: two stages"},
        ),
        record="results/records/tabulate_two_stage.json",
    log:
        "results/logs/tabulate_two_stage.log",
    benchmark:
        "results/benchmarks/tabulate_two_stage.tsv"
    conda:
        "../../envs/onelayer.yaml"
    threads: 1
    resources:
        mem_mb=growing(1000),
        runtime=growing(10),
    params:
        settings=settings_json(
            without_stages=[
                setting.name
                for setting in synthetic.two_stages.settings
                if not setting.two_stages_expected
            ]
        ),
        libraries=library_versions("tabulate_two_stage"),
    message:
        "Tabulate the two stages"
    shell:
        "python scripts/tabulate_two_stage.py --norms {input.norms}"
        " --csv {output.csv} --md {output.md} --tex {output.tex} --html {output.html}"
        " --record {output.record} --settings {params.settings:q} --log {log}"


rule tabulate_stage_two_ratio:
    input:
        ratios=rules.optimise_topic_attention.output.ratios,
        code=code_closure("tabulate_stage_two_ratio"),
    output:
        csv="results/tables/topic_structure/stage_two_ratio.csv",
        md="results/tables/topic_structure/stage_two_ratio.md",
        tex="results/tables/topic_structure/stage_two_ratio.tex",
        html=report(
            "results/tables/topic_structure/stage_two_ratio.html",
            caption="../report/stage_two_ratio.rst",
            category="Topic structure",
            subcategory="Synthetic: tables",
            labels={"result": "table: ratio against tau"},
        ),
        record="results/records/tabulate_stage_two_ratio.json",
    log:
        "results/logs/tabulate_stage_two_ratio.log",
    benchmark:
        "results/benchmarks/tabulate_stage_two_ratio.tsv"
    conda:
        "../../envs/onelayer.yaml"
    threads: 1
    resources:
        mem_mb=growing(1000),
        runtime=growing(10),
    params:
        settings=settings_json(),
        libraries=library_versions("tabulate_stage_two_ratio"),
    message:
        "Tabulate the optimal ratio against tau"
    shell:
        "python scripts/tabulate_stage_two_ratio.py --ratios {input.ratios}"
        " --csv {output.csv} --md {output.md} --tex {output.tex} --html {output.html}"
        " --record {output.record} --settings {params.settings:q} --log {log}"


rule plot_theory_gap:
    input:
        gaps=rules.train_uniform_attention.output.gaps,
        matrices=rules.train_uniform_attention.output.matrices,
        code=code_closure("plot_theory_gap"),
    output:
        blocks_pdf="results/figures/topic_structure/topic_blocks.pdf",
        blocks_png=report(
            "results/figures/topic_structure/topic_blocks.png",
            caption="../report/topic_blocks.rst",
            category="Topic structure",
            subcategory="Synthetic: figures",
            labels={"result": "figure: blocks of E and W_V"},
        ),
        decay_pdf="results/figures/topic_structure/gap_against_decay.pdf",
        decay_png=report(
            "results/figures/topic_structure/gap_against_decay.png",
            caption="../report/gap_against_decay.rst",
            category="Topic structure",
            subcategory="Synthetic: figures",
            labels={"result": "figure: gap and weight decay"},
        ),
        record="results/records/plot_theory_gap.json",
    log:
        "results/logs/plot_theory_gap.log",
    benchmark:
        "results/benchmarks/plot_theory_gap.tsv"
    conda:
        "../../envs/onelayer.yaml"
    threads: 1
    resources:
        mem_mb=growing(1000),
        runtime=growing(10),
    params:
        settings=settings_json(v=synthetic.model.v),
        libraries=library_versions("plot_theory_gap"),
    message:
        "Plot the blocks of E and W_V, and the gap"
    shell:
        "python scripts/plot_theory_gap.py --gaps {input.gaps} --matrices {input.matrices}"
        " --blocks-pdf {output.blocks_pdf} --blocks-png {output.blocks_png}"
        " --decay-pdf {output.decay_pdf} --decay-png {output.decay_png}"
        " --record {output.record} --settings {params.settings:q} --log {log}"


rule plot_attention_heatmaps:
    input:
        matrices=expand(rules.train_topic_attention.output.matrices, variant=attention_variants),
        code=code_closure("plot_attention_heatmaps"),
    output:
        pdf="results/figures/topic_structure/attention_heatmaps.pdf",
        png=report(
            "results/figures/topic_structure/attention_heatmaps.png",
            caption="../report/attention_heatmaps.rst",
            category="Topic structure",
            subcategory="Synthetic: figures",
            labels={"result": "figure: attention on a document"},
        ),
        record="results/records/plot_attention_heatmaps.json",
    log:
        "results/logs/plot_attention_heatmaps.log",
    benchmark:
        "results/benchmarks/plot_attention_heatmaps.tsv"
    conda:
        "../../envs/onelayer.yaml"
    threads: 1
    resources:
        mem_mb=growing(1000),
        runtime=growing(10),
    params:
        settings=settings_json(v=synthetic.model.v, variants=attention_variants),
        libraries=library_versions("plot_attention_heatmaps"),
    message:
        "Plot W_K^T W_Q and the attention on a document"
    shell:
        "python scripts/plot_attention_heatmaps.py --matrices {input.matrices}"
        " --pdf {output.pdf} --png {output.png}"
        " --record {output.record} --settings {params.settings:q} --log {log}"


rule plot_two_stages:
    input:
        norms=rules.train_two_stages.output.norms,
        code=code_closure("plot_two_stages"),
    output:
        norms_pdf="results/figures/topic_structure/two_stage_norms.pdf",
        norms_png=report(
            "results/figures/topic_structure/two_stage_norms.png",
            caption="../report/two_stage_norms.rst",
            category="Topic structure",
            subcategory="Synthetic: figures",
            labels={"result": "figure: norms and stages"},
        ),
        map_pdf="results/figures/topic_structure/two_stage_map.pdf",
        map_png=report(
            "results/figures/topic_structure/two_stage_map.png",
            caption="../report/two_stage_map.rst",
            category="Topic structure",
            subcategory="Synthetic: figures",
            labels={"result": "figure: where two stages appear"},
        ),
        record="results/records/plot_two_stages.json",
    log:
        "results/logs/plot_two_stages.log",
    benchmark:
        "results/benchmarks/plot_two_stages.tsv"
    conda:
        "../../envs/onelayer.yaml"
    threads: 1
    resources:
        mem_mb=growing(1000),
        runtime=growing(10),
    params:
        settings=settings_json(),
        libraries=library_versions("plot_two_stages"),
    message:
        "Plot the norms and the map of two stages"
    shell:
        "python scripts/plot_two_stages.py --norms {input.norms}"
        " --norms-pdf {output.norms_pdf} --norms-png {output.norms_png}"
        " --map-pdf {output.map_pdf} --map-png {output.map_png}"
        " --record {output.record} --settings {params.settings:q} --log {log}"


rule plot_stage_two_ratio:
    input:
        ratios=rules.optimise_topic_attention.output.ratios,
        code=code_closure("plot_stage_two_ratio"),
    output:
        pdf="results/figures/topic_structure/stage_two_ratio.pdf",
        png=report(
            "results/figures/topic_structure/stage_two_ratio.png",
            caption="../report/stage_two_ratio_figure.rst",
            category="Topic structure",
            subcategory="Synthetic: figures",
            labels={"result": "figure: ratio against tau"},
        ),
        record="results/records/plot_stage_two_ratio.json",
    log:
        "results/logs/plot_stage_two_ratio.log",
    benchmark:
        "results/benchmarks/plot_stage_two_ratio.tsv"
    conda:
        "../../envs/onelayer.yaml"
    threads: 1
    resources:
        mem_mb=growing(1000),
        runtime=growing(10),
    params:
        settings=settings_json(T=synthetic.model.T),
        libraries=library_versions("plot_stage_two_ratio"),
    message:
        "Plot the optimal ratio against tau"
    shell:
        "python scripts/plot_stage_two_ratio.py --ratios {input.ratios}"
        " --pdf {output.pdf} --png {output.png}"
        " --record {output.record} --settings {params.settings:q} --log {log}"


tables["results/tables/topic_structure/theory_gap"] = "theory_gap"
tables["results/tables/topic_structure/attention_by_optimizer"] = "attention_by_optimizer"
tables["results/tables/topic_structure/two_stage"] = "two_stage"
tables["results/tables/topic_structure/stage_two_ratio"] = "stage_two_ratio"
figures["results/figures/topic_structure/topic_blocks"] = "topic_blocks"
figures["results/figures/topic_structure/gap_against_decay"] = "gap_against_decay"
figures["results/figures/topic_structure/attention_heatmaps"] = "attention_heatmaps"
figures["results/figures/topic_structure/two_stage_norms"] = "two_stage_norms"
figures["results/figures/topic_structure/two_stage_map"] = "two_stage_map"
figures["results/figures/topic_structure/stage_two_ratio"] = "stage_two_ratio_figure"
records += expand(rules.train_topic_attention.output.record, variant=attention_variants)
records += [
    rules.train_uniform_attention.output.record,
    rules.train_two_stages.output.record,
    rules.optimise_topic_attention.output.record,
    rules.tabulate_theory_gap.output.record,
    rules.tabulate_attention_by_optimizer.output.record,
    rules.tabulate_two_stage.output.record,
    rules.tabulate_stage_two_ratio.output.record,
    rules.plot_theory_gap.output.record,
    rules.plot_attention_heatmaps.output.record,
    rules.plot_two_stages.output.record,
    rules.plot_stage_two_ratio.output.record,
]


rule table_theory_gap:
    input:
        multiext("results/tables/topic_structure/theory_gap", ".csv", ".md", ".tex", ".html"),


rule table_attention_by_optimizer:
    input:
        multiext(
            "results/tables/topic_structure/attention_by_optimizer", ".csv", ".md", ".tex", ".html"
        ),


rule table_two_stage:
    input:
        multiext("results/tables/topic_structure/two_stage", ".csv", ".md", ".tex", ".html"),


rule table_stage_two_ratio:
    input:
        multiext("results/tables/topic_structure/stage_two_ratio", ".csv", ".md", ".tex", ".html"),


rule figure_topic_blocks:
    input:
        multiext("results/figures/topic_structure/topic_blocks", ".pdf", ".png"),


rule figure_gap_against_decay:
    input:
        multiext("results/figures/topic_structure/gap_against_decay", ".pdf", ".png"),


rule figure_attention_heatmaps:
    input:
        multiext("results/figures/topic_structure/attention_heatmaps", ".pdf", ".png"),


rule figure_two_stage_norms:
    input:
        multiext("results/figures/topic_structure/two_stage_norms", ".pdf", ".png"),


rule figure_two_stage_map:
    input:
        multiext("results/figures/topic_structure/two_stage_map", ".pdf", ".png"),


rule figure_stage_two_ratio:
    input:
        multiext("results/figures/topic_structure/stage_two_ratio", ".pdf", ".png"),


rule topic_structure_synthetic:
    input:
        rules.table_theory_gap.input,
        rules.table_attention_by_optimizer.input,
        rules.table_two_stage.input,
        rules.table_stage_two_ratio.input,
        rules.figure_topic_blocks.input,
        rules.figure_gap_against_decay.input,
        rules.figure_attention_heatmaps.input,
        rules.figure_two_stage_norms.input,
        rules.figure_two_stage_map.input,
        rules.figure_stage_two_ratio.input,


rule topic_structure:
    input:
        rules.topic_structure_wikipedia.input,
        rules.topic_structure_synthetic.input,


localrules:
    table_theory_gap,
    table_attention_by_optimizer,
    table_two_stage,
    table_stage_two_ratio,
    figure_topic_blocks,
    figure_gap_against_decay,
    figure_attention_heatmaps,
    figure_two_stage_norms,
    figure_two_stage_map,
    figure_stage_two_ratio,
    topic_structure_synthetic,
    topic_structure,
