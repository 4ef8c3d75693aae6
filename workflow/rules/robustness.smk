# Li, Li & Risteski (2023) on Wikipedia: do the ratios depend on the topic model?
robustness = settings.topic_structure.robustness
compared_corpus = settings.topic_structure.robustness_corpus
# Of a model with several checkpoints the first.
compared_checkpoints = [settings.checkpoints(model)[0] for model in robustness.models]
compared_models = [{"name": n, "settings": settings.models[n]} for n in robustness.models]


wildcard_constraints:
    topics="[0-9]+",


use rule step as fit_topic_models with:
    input:
        articles=lambda w: articles_of(w.corpus),
        vocabulary=rules.count_words.output.vocabulary,
        counts=lambda w: counts[w.corpus],
    output:
        topics="results/topic_models/{corpus}/{topics}.safetensors",
        quality="results/topic_models/{corpus}/{topics}_quality.parquet",
        record=record,
    pathvars:
        step="fit_topic_models/{corpus}/{topics}",
    priority: 3
    threads: settings.topics.lda.workers
    resources:
        **asks(1500, minutes=60),
    params:
        **script(
            "fit_topic_models",
            lda=lambda w: settings.topics.lda.model_copy(update={"topics": int(w.topics)}),
            backends=robustness.backends,
            seeds=robustness.seeds,
            top_words=settings.topics.top_words,
        ),


use rule step as probe_topic_models with:
    input:
        articles=lambda w: articles_of(w.corpus),
        vocabulary=rules.count_words.output.vocabulary,
        topics=lambda w: expand(
            rules.fit_topic_models.output.topics, corpus=w.corpus, topics=robustness.topics
        ),
        model=multiext("results/models/{checkpoint}/", *CHECKPOINT_FILES),
    output:
        measures="results/topic_models/{corpus}/{checkpoint}_measures.parquet",
        record=record,
    pathvars:
        step="probe_topic_models/{corpus}/{checkpoint}",
    priority: 3
    threads: probing.threads
    resources:
        **asks(2500, minutes=60, device=probing.device),
    params:
        **script(
            "probe_topic_models",
            ambiguity={
                "overlaps": [robustness.overlap],
                "thresholds": [robustness.threshold.model_dump()],
            },
            attention=probing.of(robustness.documents),
            uncertainty=robustness.uncertainty,
        ),


compared_quality = expand(
    rules.fit_topic_models.output.quality, corpus=compared_corpus, topics=robustness.topics
)
# A line that begins with the word `checkpoint` would begin one of Snakemake's.
compared_measures = [
    rules.probe_topic_models.output.measures.format(corpus=compared_corpus, checkpoint=name)
    for name in compared_checkpoints
]
