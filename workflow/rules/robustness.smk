# Li, Li & Risteski (2023) on Wikipedia: do the ratios depend on the topic model?
robustness = settings.topic_structure.robustness
compared_corpus = settings.topic_structure.robustness_corpus
# Of a model with several checkpoints the first.
compared_checkpoints = [settings.checkpoints(model)[0] for model in robustness.models]
compared_models = [{"name": n, "settings": settings.models[n]} for n in robustness.models]


wildcard_constraints:
    topics="[0-9]+",


rule fit_topic_models:
    input:
        articles=lambda w: settings.corpora[w.corpus].articles(f"results/corpus/{w.corpus}"),
        vocabulary=rules.count_words.output.vocabulary,
        counts=lambda w: counts[w.corpus],
        code=code_closure("fit_topic_models"),
    output:
        topics="results/topic_models/{corpus}/{topics}.safetensors",
        quality="results/topic_models/{corpus}/{topics}_quality.parquet",
        record="results/records/fit_topic_models/{corpus}/{topics}.json",
    log:
        "results/logs/fit_topic_models/{corpus}/{topics}.log",
    benchmark:
        "results/benchmarks/fit_topic_models/{corpus}/{topics}.tsv"
    conda:
        "../../envs/onelayer.yaml"
    threads: settings.topics.lda.threads
    resources:
        mem_mb=growing(1500),
        runtime=growing(60),
    params:
        settings=lambda w: settings_json(
            lda=settings.topics.lda.model_copy(update={"topics": int(w.topics)}),
            backends=robustness.backends,
            seeds=robustness.seeds,
            top_words=settings.topics.top_words,
        ),
        libraries=library_versions("fit_topic_models"),
    message:
        "Fit {wildcards.topics} topics to {wildcards.corpus} by every backend and seed"
    shell:
        "python scripts/fit_topic_models.py --articles {input.articles}"
        " --vocabulary {input.vocabulary} --counts {input.counts}"
        " --topics {output.topics} --quality {output.quality}"
        " --record {output.record} --settings {params.settings:q} --log {log}"


rule probe_topic_models:
    input:
        articles=lambda w: settings.corpora[w.corpus].articles(f"results/corpus/{w.corpus}"),
        vocabulary=rules.count_words.output.vocabulary,
        topics=lambda w: expand(
            rules.fit_topic_models.output.topics, corpus=w.corpus, topics=robustness.topics
        ),
        model=multiext(
            "results/models/{checkpoint}/",
            "config.json",
            "model.safetensors",
            "tokenizer.json",
            "tokenizer_config.json",
        ),
        code=code_closure("probe_topic_models"),
    output:
        measures="results/topic_models/{corpus}/{checkpoint}_measures.parquet",
        record="results/records/probe_topic_models/{corpus}/{checkpoint}.json",
    log:
        "results/logs/probe_topic_models/{corpus}/{checkpoint}.log",
    benchmark:
        "results/benchmarks/probe_topic_models/{corpus}/{checkpoint}.tsv"
    conda:
        "../../envs/onelayer.yaml"
    threads: settings.probe.attention.threads
    resources:
        mem_mb=growing(2500),
        runtime=growing(60),
        gpu=gpus(settings.probe.attention.device),
    params:
        folder=lambda w, input: os.path.dirname(input.model[0]),
        settings=settings_json(
            ambiguity={
                "overlaps": [robustness.overlap],
                "thresholds": [robustness.threshold.model_dump()],
            },
            attention=settings.probe.attention.model_copy(
                update={"documents": robustness.documents}
            ),
            uncertainty=robustness.uncertainty,
            threads=settings.probe.attention.threads,
        ),
        libraries=library_versions("probe_topic_models"),
    message:
        "Probe {wildcards.checkpoint} under every topic model of {wildcards.corpus}"
    shell:
        "python scripts/probe_topic_models.py"
        " --articles {input.articles} --vocabulary {input.vocabulary} --topics {input.topics}"
        " --model {params.folder} --measures {output.measures}"
        " --record {output.record} --settings {params.settings:q} --log {log}"


rule tabulate_topic_model_robustness:
    input:
        quality=expand(
            rules.fit_topic_models.output.quality,
            corpus=compared_corpus,
            topics=robustness.topics,
        ),
        measures=expand(
            rules.probe_topic_models.output.measures,
            corpus=compared_corpus,
            checkpoint=compared_checkpoints,
        ),
        code=code_closure("tabulate_topic_model_robustness"),
    output:
        csv="results/tables/topic_structure/topic_model_robustness.csv",
        md="results/tables/topic_structure/topic_model_robustness.md",
        tex="results/tables/topic_structure/topic_model_robustness.tex",
        html=report(
            "results/tables/topic_structure/topic_model_robustness.html",
            caption="../report/topic_model_robustness.rst",
            category="Topic structure",
            subcategory="Wikipedia: results",
            labels={"result": "table: topic models compared"},
        ),
        record="results/records/tabulate_topic_model_robustness.json",
    log:
        "results/logs/tabulate_topic_model_robustness.log",
    benchmark:
        "results/benchmarks/tabulate_topic_model_robustness.tsv"
    conda:
        "../../envs/onelayer.yaml"
    threads: 1
    resources:
        mem_mb=growing(1000),
        runtime=growing(10),
    params:
        settings=settings_json(models=compared_models, robustness=robustness),
        libraries=library_versions("tabulate_topic_model_robustness"),
    message:
        "Tabulate the ratios under every topic model"
    shell:
        "python scripts/tabulate_topic_model_robustness.py"
        " --quality {input.quality} --measures {input.measures}"
        " --csv {output.csv} --md {output.md} --tex {output.tex} --html {output.html}"
        " --record {output.record} --settings {params.settings:q} --log {log}"


rule plot_topic_model_robustness:
    input:
        quality=expand(
            rules.fit_topic_models.output.quality,
            corpus=compared_corpus,
            topics=robustness.topics,
        ),
        measures=expand(
            rules.probe_topic_models.output.measures,
            corpus=compared_corpus,
            checkpoint=compared_checkpoints,
        ),
        code=code_closure("plot_topic_model_robustness"),
    output:
        pdf="results/figures/topic_structure/topic_model_robustness.pdf",
        png=report(
            "results/figures/topic_structure/topic_model_robustness.png",
            caption="../report/topic_model_robustness_figure.rst",
            category="Topic structure",
            subcategory="Wikipedia: results",
            labels={"result": "figure: topic models compared"},
        ),
        record="results/records/plot_topic_model_robustness.json",
    log:
        "results/logs/plot_topic_model_robustness.log",
    benchmark:
        "results/benchmarks/plot_topic_model_robustness.tsv"
    conda:
        "../../envs/onelayer.yaml"
    threads: 1
    resources:
        mem_mb=growing(1000),
        runtime=growing(10),
    params:
        settings=settings_json(models=compared_models, robustness=robustness),
        libraries=library_versions("plot_topic_model_robustness"),
    message:
        "Plot the ratios under every topic model"
    shell:
        "python scripts/plot_topic_model_robustness.py"
        " --quality {input.quality} --measures {input.measures}"
        " --pdf {output.pdf} --png {output.png}"
        " --record {output.record} --settings {params.settings:q} --log {log}"


tables["results/tables/topic_structure/topic_model_robustness"] = "topic_model_robustness"
figures["results/figures/topic_structure/topic_model_robustness"] = "topic_model_robustness_figure"
records += [
    rules.tabulate_topic_model_robustness.output.record,
    rules.plot_topic_model_robustness.output.record,
]
for number in robustness.topics:
    records.append(f"results/records/fit_topic_models/{compared_corpus}/{number}.json")
for name in compared_checkpoints:
    records.append(f"results/records/probe_topic_models/{compared_corpus}/{name}.json")


rule table_topic_model_robustness:
    input:
        multiext(
            "results/tables/topic_structure/topic_model_robustness", ".csv", ".md", ".tex", ".html"
        ),


rule figure_topic_model_robustness:
    input:
        multiext("results/figures/topic_structure/topic_model_robustness", ".pdf", ".png"),


localrules:
    table_topic_model_robustness,
    figure_topic_model_robustness,
