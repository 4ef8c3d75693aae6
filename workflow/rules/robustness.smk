# Li, Li & Risteski (2023) on Wikipedia: do the ratios depend on the topic model?
robustness = settings.topic_structure.robustness
choices = settings.topic_structure.choices
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
            weights="counts",
        ),


# Fitted to other weights or by the authors' schedule; what has neither is there already.
use rule fit_topic_models as fit_other_topic_models with:
    output:
        topics="results/topic_models/{corpus}/{weights}_{schedule}/{topics}.safetensors",
        quality="results/topic_models/{corpus}/{weights}_{schedule}/{topics}_quality.parquet",
        record=record,
    pathvars:
        step="fit_other_topic_models/{corpus}/{weights}_{schedule}/{topics}",
    priority: 0
    params:
        **script(
            "fit_topic_models",
            lda=lambda w: choices.lda(settings.topics.lda, w.schedule, int(w.topics)),
            backends=["gensim"],
            seeds=choices.seeds,
            top_words=settings.topics.top_words,
            weights=lambda w: w.weights,
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


# What every fit of the choices is, and the rule that makes it.
chosen_fits = [
    (
        rules.fit_topic_models if how[:2] == ("counts", "ours") else rules.fit_other_topic_models,
        dict(zip(("weights", "schedule", "topics"), how)),
    )
    for how in choices.fits()
]


use rule probe_topic_models as probe_choices with:
    input:
        articles=lambda w: articles_of(w.corpus),
        vocabulary=rules.count_words.output.vocabulary,
        topics=lambda w: [
            fit.output.topics.format(corpus=w.corpus, **how) for fit, how in chosen_fits
        ],
        model=multiext("results/models/{checkpoint}/", *CHECKPOINT_FILES),
    output:
        measures="results/topic_models/{corpus}/{checkpoint}_choices.parquet",
        record=record,
    pathvars:
        step="probe_choices/{corpus}/{checkpoint}",
    priority: 0
    params:
        **script(
            "probe_choices",
            choices=choices,
            attention=probing.of(choices.documents),
            uncertainty=robustness.uncertainty,
        ),


chosen_models = choices.models
chosen_measures = [
    rules.probe_choices.output.measures.format(
        corpus=compared_corpus, checkpoint=settings.checkpoints(name)[0]
    )
    for name in choices.models
]
