# Li, Li & Risteski (2023) on Wikipedia: tables, figures and the page to read. What they read is made
# in probe.smk.
from onelayer.settings.topic_structure import AUTHORS_WORDS


rule show_wikipedia:
    input:
        measures=measured(rules.probe_model.output.measures, wikipedia.models),
        histories=[path for model in wikipedia.models for path in histories(model)],
    output:
        disjoint=table("topic_structure/wikipedia_disjoint"),
        overlapping=table("topic_structure/wikipedia_overlapping"),
        figure=figure("topic_structure/wikipedia_ratios"),
    log:
        "results/logs/show_wikipedia.log",
    priority: 3
    localrule: True
    params:
        published=repository_file("reference/topic_structure_wikipedia.csv"),
        models={name: dump(settings.models[name]) for name in wikipedia.models},
        ways={
            "authors": {t.label: t.published for t in AUTHORS_WORDS},
            "ours": {t.label: t.published for t in settings.topics.ambiguity.thresholds},
        },
        histories={name: histories(name) for name in wikipedia.models},
        code=code("show_wikipedia"),
        caption="Mean attention (and cosine of embeddings) of pairs of words of one topic over that "
        "of pairs of two, by model and number of words kept of each topic.",
    message:
        "Show the ratios of all models beside the published ones"
    script:
        "../../scripts/show_wikipedia.py"


rule show_models:
    input:
        measures=measured(rules.probe_model.output.measures, wikipedia.models),
        heads=measured(rules.probe_model.output.heads, wikipedia.models),
        embeddings=measured(rules.probe_model.output.embeddings, wikipedia.models),
    output:
        heads=figure("topic_structure/attention_heads"),
        words=figure("topic_structure/word_groups"),
    log:
        "results/logs/show_models.log",
    localrule: True
    params:
        settings={name: settings.models[name].source for name in wikipedia.models},
        code=code("show_models"),
        caption="The attention ratio of every head by layer, at the tightest threshold, disjoint "
        "topics (lines: of all heads together, with its 95% interval); and dot products of the raw "
        "embeddings of nine words of three topics, over each model's largest.",
    message:
        "Show the ratio of every head, and the embeddings of nine words"
    script:
        "../../scripts/show_models.py"


rule show_inputs:
    input:
        articles=measured(rules.probe_model.output.measures, wikipedia.inputs.models),
        inputs=measured(rules.measure_inputs.output.measures, wikipedia.inputs.models),
        histories=[path for model in wikipedia.inputs.models for path in histories(model)],
    output:
        table=table("topic_structure/inputs"),
        figure=figure("topic_structure/inputs"),
    log:
        "results/logs/show_inputs.log",
    localrule: True
    params:
        kept=repository_file("reference/topic_structure_inputs.csv"),
        models={name: dump(settings.models[name]) for name in wikipedia.inputs.models},
        code=code("show_inputs"),
        caption="The attention ratio over that of permuted topics, of models pretrained on inputs "
        "of one article, of several, of bags of words and of words drawn from topics.",
    message:
        "Show what models learn from inputs of several articles"
    script:
        "../../scripts/show_inputs.py"


rule show_sensitivity:
    input:
        measures=expand(
            rules.measure_sensitivity.output.measures,
            corpus=sensitivity.corpus or wikipedia.corpus,
            model=sensitivity.models,
        ),
    output:
        table=table("topic_structure/sensitivity"),
    log:
        "results/logs/show_sensitivity.log",
    priority: 3
    localrule: True
    params:
        models=sensitivity.models,
        ways=[
            dump(way, topics=way.topics or settings.topics.lda.topics) for way in sensitivity.ways
        ],
        code=code("show_sensitivity"),
    message:
        "Show whether the ratios depend on how they are measured"
    script:
        "../../scripts/show_sensitivity.py"


# Where the tables have none of the models that are named, their first four.
read_by = [name for name in wikipedia.reading.models if name in wikipedia.models]
read_by = read_by or wikipedia.models[:4]


rule read_attention:
    input:
        articles=f"results/corpora/{wikipedia.corpus}/articles.parquet",
        kept_words=f"results/topics/{wikipedia.corpus}/kept_words.parquet",
        models=checkpoint_files(*[checkpoints_of(name)[0] for name in read_by]),
        heads=measured(rules.probe_model.output.heads, read_by),
    output:
        page=report(
            "results/reading.html",
            CAPTION,
            category="topic_structure",
            labels={"figure": "reading"},
        ),
    log:
        "results/logs/read_attention.log",
    benchmark:
        "results/benchmarks/read_attention.tsv"
    threads: settings.probe.attention.threads
    resources:
        mem_mb=2000,
        runtime=10,
        gpu=gpus(settings.probe.attention),
    params:
        template=repository_file("report/reading.html"),
        settings=dump(settings.probe.attention),
        shown=dump(wikipedia.reading),
        models=[[name, f"results/models/{checkpoints_of(name)[0]}"] for name in read_by],
        code=code("read_attention"),
        caption="Attention of a few models on a few articles, to be looked at word by word.",
    message:
        "Write the page on which attention is seen"
    script:
        "../../scripts/read_attention.py"
