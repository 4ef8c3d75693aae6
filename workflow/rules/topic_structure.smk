# Li, Li & Risteski (2023) on Wikipedia: tables and figures.
wikipedia = settings.topic_structure.wikipedia
overlaps = settings.topics.ambiguity.overlaps
probed_models = [{"name": n, "settings": settings.models[n]} for n in wikipedia.models]
pretrained_models = [m for m in probed_models if m["settings"].source == "pretrain"]


wildcard_constraints:
    overlap="disjoint|overlapping",


rule tabulate_wikipedia:
    input:
        attention=expand(
            rules.measure_attention.output.measures,
            corpus=wikipedia.corpus,
            model=wikipedia.models,
        ),
        embeddings=expand(
            rules.measure_embeddings.output.measures,
            corpus=wikipedia.corpus,
            model=wikipedia.models,
        ),
        published="workflow/reference/topic_structure_wikipedia.csv",
        code=code_closure("tabulate_wikipedia"),
    output:
        csv="results/tables/topic_structure/wikipedia_{overlap}.csv",
        md="results/tables/topic_structure/wikipedia_{overlap}.md",
        tex="results/tables/topic_structure/wikipedia_{overlap}.tex",
        html=report(
            "results/tables/topic_structure/wikipedia_{overlap}.html",
            caption="../report/wikipedia_table.rst",
            category="Topic structure",
            subcategory="Wikipedia: results",
            labels={"result": "table: {overlap} topics"},
        ),
        record="results/records/tabulate_wikipedia/{overlap}.json",
    log:
        "results/logs/tabulate_wikipedia/{overlap}.log",
    benchmark:
        "results/benchmarks/tabulate_wikipedia/{overlap}.tsv"
    conda:
        "../../envs/onelayer.yaml"
    threads: 1
    resources:
        mem_mb=growing(1000),
        runtime=growing(10),
    params:
        settings=lambda w: settings_json(
            models=probed_models,
            ambiguity=settings.topics.ambiguity,
            overlap=w.overlap,
        ),
        libraries=library_versions("tabulate_wikipedia"),
    message:
        "Tabulate the probes, {wildcards.overlap} topics"
    shell:
        "python scripts/tabulate_wikipedia.py"
        " --attention {input.attention} --embeddings {input.embeddings}"
        " --published {input.published}"
        " --csv {output.csv} --md {output.md} --tex {output.tex} --html {output.html}"
        " --record {output.record} --settings {params.settings:q} --log {log}"


rule tabulate_wikipedia_claims:
    input:
        attention=expand(
            rules.measure_attention.output.measures,
            corpus=wikipedia.corpus,
            model=wikipedia.models,
        ),
        published="workflow/reference/topic_structure_wikipedia.csv",
        code=code_closure("tabulate_wikipedia_claims"),
    output:
        csv="results/tables/topic_structure/wikipedia_claims.csv",
        md="results/tables/topic_structure/wikipedia_claims.md",
        tex="results/tables/topic_structure/wikipedia_claims.tex",
        html=report(
            "results/tables/topic_structure/wikipedia_claims.html",
            caption="../report/wikipedia_claims.rst",
            category="Topic structure",
            subcategory="Wikipedia: results",
            labels={"result": "table: directions"},
        ),
        record="results/records/tabulate_wikipedia_claims.json",
    log:
        "results/logs/tabulate_wikipedia_claims.log",
    benchmark:
        "results/benchmarks/tabulate_wikipedia_claims.tsv"
    conda:
        "../../envs/onelayer.yaml"
    threads: 1
    resources:
        mem_mb=growing(1000),
        runtime=growing(10),
    params:
        settings=settings_json(
            models=probed_models,
            ambiguity=settings.topics.ambiguity,
        ),
        libraries=library_versions("tabulate_wikipedia_claims"),
    message:
        "Tabulate the paper's two directions"
    shell:
        "python scripts/tabulate_wikipedia_claims.py"
        " --attention {input.attention} --published {input.published}"
        " --csv {output.csv} --md {output.md} --tex {output.tex} --html {output.html}"
        " --record {output.record} --settings {params.settings:q} --log {log}"


rule tabulate_topics:
    input:
        words=expand(rules.measure_topics.output.words, corpus=wikipedia.corpus),
        shares=expand(rules.measure_topics.output.shares, corpus=wikipedia.corpus),
        code=code_closure("tabulate_topics"),
    output:
        csv="results/tables/topic_structure/topics.csv",
        md="results/tables/topic_structure/topics.md",
        tex="results/tables/topic_structure/topics.tex",
        html=report(
            "results/tables/topic_structure/topics.html",
            caption="../report/topics_table.rst",
            category="Topic structure",
            subcategory="Wikipedia: data and topics",
            labels={"result": "table: topics"},
        ),
        record="results/records/tabulate_topics.json",
    log:
        "results/logs/tabulate_topics.log",
    benchmark:
        "results/benchmarks/tabulate_topics.tsv"
    conda:
        "../../envs/onelayer.yaml"
    threads: 1
    resources:
        mem_mb=growing(1000),
        runtime=growing(10),
    params:
        settings=settings_json(
            corpus=wikipedia.corpus,
            top_words=settings.topics.top_words,
        ),
        libraries=library_versions("tabulate_topics"),
    message:
        "Tabulate the topics"
    shell:
        "python scripts/tabulate_topics.py --words {input.words} --shares {input.shares}"
        " --csv {output.csv} --md {output.md} --tex {output.tex} --html {output.html}"
        " --record {output.record} --settings {params.settings:q} --log {log}"


rule tabulate_topic_quality:
    input:
        quality=expand(rules.measure_topics.output.quality, corpus=wikipedia.corpus),
        code=code_closure("tabulate_topic_quality"),
    output:
        csv="results/tables/topic_structure/topic_quality.csv",
        md="results/tables/topic_structure/topic_quality.md",
        tex="results/tables/topic_structure/topic_quality.tex",
        html=report(
            "results/tables/topic_structure/topic_quality.html",
            caption="../report/topic_quality.rst",
            category="Topic structure",
            subcategory="Wikipedia: data and topics",
            labels={"result": "table: topic quality"},
        ),
        record="results/records/tabulate_topic_quality.json",
    log:
        "results/logs/tabulate_topic_quality.log",
    benchmark:
        "results/benchmarks/tabulate_topic_quality.tsv"
    conda:
        "../../envs/onelayer.yaml"
    threads: 1
    resources:
        mem_mb=growing(1000),
        runtime=growing(10),
    params:
        settings=settings_json(
            corpus=wikipedia.corpus,
            top_words=settings.topics.top_words,
        ),
        libraries=library_versions("tabulate_topic_quality"),
    message:
        "Tabulate the quality of the topic model"
    shell:
        "python scripts/tabulate_topic_quality.py --quality {input.quality}"
        " --csv {output.csv} --md {output.md} --tex {output.tex} --html {output.html}"
        " --record {output.record} --settings {params.settings:q} --log {log}"


rule plot_wikipedia_ratios:
    input:
        attention=expand(
            rules.measure_attention.output.measures,
            corpus=wikipedia.corpus,
            model=wikipedia.models,
        ),
        embeddings=expand(
            rules.measure_embeddings.output.measures,
            corpus=wikipedia.corpus,
            model=wikipedia.models,
        ),
        published="workflow/reference/topic_structure_wikipedia.csv",
        code=code_closure("plot_wikipedia_ratios"),
    output:
        pdf="results/figures/topic_structure/wikipedia_ratios.pdf",
        png=report(
            "results/figures/topic_structure/wikipedia_ratios.png",
            caption="../report/wikipedia_ratios.rst",
            category="Topic structure",
            subcategory="Wikipedia: results",
            labels={"result": "figure: ratio against threshold"},
        ),
        record="results/records/plot_wikipedia_ratios.json",
    log:
        "results/logs/plot_wikipedia_ratios.log",
    benchmark:
        "results/benchmarks/plot_wikipedia_ratios.tsv"
    conda:
        "../../envs/onelayer.yaml"
    threads: 1
    resources:
        mem_mb=growing(1000),
        runtime=growing(10),
    params:
        settings=settings_json(
            models=probed_models,
            ambiguity=settings.topics.ambiguity,
        ),
        libraries=library_versions("plot_wikipedia_ratios"),
    message:
        "Plot ratio against threshold"
    shell:
        "python scripts/plot_wikipedia_ratios.py"
        " --attention {input.attention} --embeddings {input.embeddings}"
        " --published {input.published} --pdf {output.pdf} --png {output.png}"
        " --record {output.record} --settings {params.settings:q} --log {log}"


rule plot_attention_heads:
    input:
        heads=expand(
            rules.measure_attention.output.heads,
            corpus=wikipedia.corpus,
            model=wikipedia.models,
        ),
        code=code_closure("plot_attention_heads"),
    output:
        pdf="results/figures/topic_structure/attention_heads.pdf",
        png=report(
            "results/figures/topic_structure/attention_heads.png",
            caption="../report/attention_heads.rst",
            category="Topic structure",
            subcategory="Wikipedia: results",
            labels={"result": "figure: layers and heads"},
        ),
        record="results/records/plot_attention_heads.json",
    log:
        "results/logs/plot_attention_heads.log",
    benchmark:
        "results/benchmarks/plot_attention_heads.tsv"
    conda:
        "../../envs/onelayer.yaml"
    threads: 1
    resources:
        mem_mb=growing(1000),
        runtime=growing(10),
    params:
        settings=settings_json(
            models=probed_models,
            ambiguity=settings.topics.ambiguity,
        ),
        libraries=library_versions("plot_attention_heads"),
    message:
        "Plot the attention ratio of every layer and head"
    shell:
        "python scripts/plot_attention_heads.py --heads {input.heads}"
        " --pdf {output.pdf} --png {output.png}"
        " --record {output.record} --settings {params.settings:q} --log {log}"


rule plot_word_groups:
    input:
        words=expand(
            rules.extract_embeddings.output.words,
            corpus=wikipedia.corpus,
            checkpoint=[settings.checkpoints(m)[0] for m in wikipedia.models],
        ),
        vectors=expand(
            rules.extract_embeddings.output.vectors,
            corpus=wikipedia.corpus,
            checkpoint=[settings.checkpoints(m)[0] for m in wikipedia.models],
        ),
        code=code_closure("plot_word_groups"),
    output:
        pdf="results/figures/topic_structure/word_groups.pdf",
        png=report(
            "results/figures/topic_structure/word_groups.png",
            caption="../report/word_groups.rst",
            category="Topic structure",
            subcategory="Wikipedia: results",
            labels={"result": "figure: nine words"},
        ),
        record="results/records/plot_word_groups.json",
    log:
        "results/logs/plot_word_groups.log",
    benchmark:
        "results/benchmarks/plot_word_groups.tsv"
    conda:
        "../../envs/onelayer.yaml"
    threads: 1
    resources:
        mem_mb=growing(1000),
        runtime=growing(10),
    params:
        settings=settings_json(
            models=list(wikipedia.models),
            word_groups=wikipedia.word_groups,
        ),
        libraries=library_versions("plot_word_groups"),
    message:
        "Plot the embedding dot products of the word groups"
    shell:
        "python scripts/plot_word_groups.py --words {input.words} --vectors {input.vectors}"
        " --pdf {output.pdf} --png {output.png}"
        " --record {output.record} --settings {params.settings:q} --log {log}"


rule plot_topics:
    input:
        words=expand(rules.measure_topics.output.words, corpus=wikipedia.corpus),
        shares=expand(rules.measure_topics.output.shares, corpus=wikipedia.corpus),
        code=code_closure("plot_topics"),
    output:
        pdf="results/figures/topic_structure/topics.pdf",
        png=report(
            "results/figures/topic_structure/topics.png",
            caption="../report/topics_figure.rst",
            category="Topic structure",
            subcategory="Wikipedia: data and topics",
            labels={"result": "figure: topics"},
        ),
        record="results/records/plot_topics.json",
    log:
        "results/logs/plot_topics.log",
    benchmark:
        "results/benchmarks/plot_topics.tsv"
    conda:
        "../../envs/onelayer.yaml"
    threads: 1
    resources:
        mem_mb=growing(1000),
        runtime=growing(10),
    params:
        settings=settings_json(
            corpus=wikipedia.corpus,
            top_words=settings.topics.top_words,
        ),
        libraries=library_versions("plot_topics"),
    message:
        "Plot the topics"
    shell:
        "python scripts/plot_topics.py --words {input.words} --shares {input.shares}"
        " --pdf {output.pdf} --png {output.png}"
        " --record {output.record} --settings {params.settings:q} --log {log}"


rule tabulate_topic_structure_over_tokens:
    input:
        measures=expand(
            rules.measure_snapshots.output.measures,
            corpus=wikipedia.corpus,
            pretrained=[m["name"] for m in pretrained_models],
        ),
        code=code_closure("tabulate_topic_structure_over_tokens"),
    output:
        csv="results/tables/topic_structure/topic_structure_over_tokens.csv",
        md="results/tables/topic_structure/topic_structure_over_tokens.md",
        tex="results/tables/topic_structure/topic_structure_over_tokens.tex",
        html=report(
            "results/tables/topic_structure/topic_structure_over_tokens.html",
            caption="../report/topic_structure_over_tokens.rst",
            category="Topic structure",
            subcategory="Wikipedia: pretraining",
            labels={"result": "table: tokens seen"},
        ),
        record="results/records/tabulate_topic_structure_over_tokens.json",
    log:
        "results/logs/tabulate_topic_structure_over_tokens.log",
    benchmark:
        "results/benchmarks/tabulate_topic_structure_over_tokens.tsv"
    conda:
        "../../envs/onelayer.yaml"
    threads: 1
    resources:
        mem_mb=growing(1000),
        runtime=growing(10),
    params:
        settings=settings_json(models=pretrained_models),
        libraries=library_versions("tabulate_topic_structure_over_tokens"),
    message:
        "Tabulate the ratios against tokens seen"
    shell:
        "python scripts/tabulate_topic_structure_over_tokens.py --measures {input.measures}"
        " --csv {output.csv} --md {output.md} --tex {output.tex} --html {output.html}"
        " --record {output.record} --settings {params.settings:q} --log {log}"


rule plot_topic_structure_over_tokens:
    input:
        measures=expand(
            rules.measure_snapshots.output.measures,
            corpus=wikipedia.corpus,
            pretrained=[m["name"] for m in pretrained_models],
        ),
        code=code_closure("plot_topic_structure_over_tokens"),
    output:
        pdf="results/figures/topic_structure/topic_structure_over_tokens.pdf",
        png=report(
            "results/figures/topic_structure/topic_structure_over_tokens.png",
            caption="../report/topic_structure_over_tokens.rst",
            category="Topic structure",
            subcategory="Wikipedia: pretraining",
            labels={"result": "figure: tokens seen"},
        ),
        record="results/records/plot_topic_structure_over_tokens.json",
    log:
        "results/logs/plot_topic_structure_over_tokens.log",
    benchmark:
        "results/benchmarks/plot_topic_structure_over_tokens.tsv"
    conda:
        "../../envs/onelayer.yaml"
    threads: 1
    resources:
        mem_mb=growing(1000),
        runtime=growing(10),
    params:
        settings=settings_json(models=pretrained_models),
        libraries=library_versions("plot_topic_structure_over_tokens"),
    message:
        "Plot the ratios against tokens seen"
    shell:
        "python scripts/plot_topic_structure_over_tokens.py --measures {input.measures}"
        " --pdf {output.pdf} --png {output.png}"
        " --record {output.record} --settings {params.settings:q} --log {log}"


rule tabulate_pretraining_losses:
    input:
        histories=[
            history
            for m in pretrained_models
            for history in expand(
                rules.pretrain_model.output.history,
                pretrained=m["name"],
                seed=m["settings"].seeds,
            )
        ],
        code=code_closure("tabulate_pretraining_losses"),
    output:
        csv="results/tables/topic_structure/pretraining_losses.csv",
        md="results/tables/topic_structure/pretraining_losses.md",
        tex="results/tables/topic_structure/pretraining_losses.tex",
        html=report(
            "results/tables/topic_structure/pretraining_losses.html",
            caption="../report/pretraining_losses.rst",
            category="Topic structure",
            subcategory="Wikipedia: pretraining",
            labels={"result": "table: losses"},
        ),
        record="results/records/tabulate_pretraining_losses.json",
    log:
        "results/logs/tabulate_pretraining_losses.log",
    benchmark:
        "results/benchmarks/tabulate_pretraining_losses.tsv"
    conda:
        "../../envs/onelayer.yaml"
    threads: 1
    resources:
        mem_mb=growing(1000),
        runtime=growing(10),
    params:
        settings=settings_json(models=pretrained_models),
        libraries=library_versions("tabulate_pretraining_losses"),
    message:
        "Tabulate the losses of pretraining"
    shell:
        "python scripts/tabulate_pretraining_losses.py --histories {input.histories}"
        " --csv {output.csv} --md {output.md} --tex {output.tex} --html {output.html}"
        " --record {output.record} --settings {params.settings:q} --log {log}"


rule plot_pretraining_losses:
    input:
        histories=[
            history
            for m in pretrained_models
            for history in expand(
                rules.pretrain_model.output.history,
                pretrained=m["name"],
                seed=m["settings"].seeds,
            )
        ],
        code=code_closure("plot_pretraining_losses"),
    output:
        pdf="results/figures/topic_structure/pretraining_losses.pdf",
        png=report(
            "results/figures/topic_structure/pretraining_losses.png",
            caption="../report/pretraining_losses.rst",
            category="Topic structure",
            subcategory="Wikipedia: pretraining",
            labels={"result": "figure: losses"},
        ),
        record="results/records/plot_pretraining_losses.json",
    log:
        "results/logs/plot_pretraining_losses.log",
    benchmark:
        "results/benchmarks/plot_pretraining_losses.tsv"
    conda:
        "../../envs/onelayer.yaml"
    threads: 1
    resources:
        mem_mb=growing(1000),
        runtime=growing(10),
    params:
        settings=settings_json(models=pretrained_models),
        libraries=library_versions("plot_pretraining_losses"),
    message:
        "Plot the losses of pretraining"
    shell:
        "python scripts/plot_pretraining_losses.py --histories {input.histories}"
        " --pdf {output.pdf} --png {output.png}"
        " --record {output.record} --settings {params.settings:q} --log {log}"


for overlap in overlaps:
    tables[f"results/tables/topic_structure/wikipedia_{overlap}"] = "wikipedia_table"
tables["results/tables/topic_structure/wikipedia_claims"] = "wikipedia_claims"
tables["results/tables/topic_structure/topics"] = "topics_table"
tables["results/tables/topic_structure/topic_quality"] = "topic_quality"
figures["results/figures/topic_structure/wikipedia_ratios"] = "wikipedia_ratios"
figures["results/figures/topic_structure/attention_heads"] = "attention_heads"
figures["results/figures/topic_structure/word_groups"] = "word_groups"
figures["results/figures/topic_structure/topics"] = "topics_figure"
records += expand(rules.tabulate_wikipedia.output.record, overlap=overlaps)
records += [
    rules.tabulate_wikipedia_claims.output.record,
    rules.tabulate_topics.output.record,
    rules.tabulate_topic_quality.output.record,
    rules.plot_wikipedia_ratios.output.record,
    rules.plot_attention_heads.output.record,
    rules.plot_word_groups.output.record,
    rules.plot_topics.output.record,
]
if pretrained_models:
    for name in ("topic_structure_over_tokens", "pretraining_losses"):
        tables[f"results/tables/topic_structure/{name}"] = name
        figures[f"results/figures/topic_structure/{name}"] = name
    records += [
        rules.tabulate_topic_structure_over_tokens.output.record,
        rules.plot_topic_structure_over_tokens.output.record,
        rules.tabulate_pretraining_losses.output.record,
        rules.plot_pretraining_losses.output.record,
    ]


rule table_wikipedia_disjoint:
    input:
        multiext(
            "results/tables/topic_structure/wikipedia_disjoint", ".csv", ".md", ".tex", ".html"
        ),


rule table_wikipedia_overlapping:
    input:
        multiext(
            "results/tables/topic_structure/wikipedia_overlapping", ".csv", ".md", ".tex", ".html"
        ),


rule table_wikipedia_claims:
    input:
        multiext("results/tables/topic_structure/wikipedia_claims", ".csv", ".md", ".tex", ".html"),


rule table_topics:
    input:
        multiext("results/tables/topic_structure/topics", ".csv", ".md", ".tex", ".html"),


rule table_topic_quality:
    input:
        multiext("results/tables/topic_structure/topic_quality", ".csv", ".md", ".tex", ".html"),


rule table_corpora:
    input:
        multiext("results/tables/topic_structure/corpora", ".csv", ".md", ".tex", ".html"),


rule figure_wikipedia_ratios:
    input:
        multiext("results/figures/topic_structure/wikipedia_ratios", ".pdf", ".png"),


rule figure_attention_heads:
    input:
        multiext("results/figures/topic_structure/attention_heads", ".pdf", ".png"),


rule figure_word_groups:
    input:
        multiext("results/figures/topic_structure/word_groups", ".pdf", ".png"),


rule figure_topics:
    input:
        multiext("results/figures/topic_structure/topics", ".pdf", ".png"),


rule table_topic_structure_over_tokens:
    input:
        multiext(
            "results/tables/topic_structure/topic_structure_over_tokens",
            ".csv",
            ".md",
            ".tex",
            ".html",
        ),


rule figure_topic_structure_over_tokens:
    input:
        multiext(
            "results/figures/topic_structure/topic_structure_over_tokens",
            ".pdf",
            ".png",
        ),


rule table_pretraining_losses:
    input:
        multiext(
            "results/tables/topic_structure/pretraining_losses",
            ".csv",
            ".md",
            ".tex",
            ".html",
        ),


rule figure_pretraining_losses:
    input:
        multiext(
            "results/figures/topic_structure/pretraining_losses",
            ".pdf",
            ".png",
        ),


pretraining_targets = [
    rules.table_topic_structure_over_tokens,
    rules.table_pretraining_losses,
    rules.figure_topic_structure_over_tokens,
    rules.figure_pretraining_losses,
]


rule topic_structure_wikipedia:
    input:
        rules.table_wikipedia_disjoint.input,
        rules.table_wikipedia_overlapping.input,
        rules.table_wikipedia_claims.input,
        rules.table_topics.input,
        rules.table_topic_quality.input,
        rules.table_corpora.input,
        rules.figure_wikipedia_ratios.input,
        rules.figure_attention_heads.input,
        rules.figure_word_groups.input,
        rules.figure_topics.input,
        rules.table_topic_model_robustness.input,
        rules.figure_topic_model_robustness.input,
        [t.input for t in pretraining_targets if pretrained_models],


localrules:
    table_wikipedia_disjoint,
    table_wikipedia_overlapping,
    table_wikipedia_claims,
    table_topics,
    table_topic_quality,
    table_corpora,
    figure_wikipedia_ratios,
    figure_attention_heads,
    figure_word_groups,
    figure_topics,
    table_topic_structure_over_tokens,
    table_pretraining_losses,
    figure_topic_structure_over_tokens,
    figure_pretraining_losses,
    topic_structure_wikipedia,
