# Li, Li & Risteski (2023) on Wikipedia: do the ratios depend on the topic model?
robustness = settings.topic_structure.robustness
choices = settings.topic_structure.choices
compared_corpus = settings.topic_structure.robustness_corpus
compared_models = named(robustness.models)
# How the models are fitted that the ratios are compared over; the choices have other ways, too.
compared = {"weights": "counts", "schedule": "ours"}
of_compared = lambda pattern, corpus: expand(
    pattern, corpus=corpus, **compared, topics=robustness.topics
)
is_compared = lambda w: {name: w.get(name) for name in compared} == compared


wildcard_constraints:
    topics="[0-9]+",


step(
    "fit_topic_models/{corpus}/{weights}_{schedule}/{topics}",
    (1500, 60),
    below(
        "results/topic_models/{corpus}/{weights}_{schedule}",
        topics="{topics}.safetensors",
        quality="{topics}_quality.parquet",
    ),
    reads={"articles": articles, **bag},
    cores=settings.topics.lda.workers,
    priority=3,
    lda=lambda w: choices.lda(settings.topics.lda, w.schedule, int(w.topics)),
    backends=lambda w: robustness.backends if is_compared(w) else ["gensim"],
    seeds=lambda w: robustness.seeds if is_compared(w) else choices.seeds,
    top_words=settings.topics.top_words,
    weights=lambda w: w.weights,
)
step(
    "probe_topic_models/{corpus}/{checkpoint}",
    (2500, 60),
    {"measures": "results/topic_models/{corpus}/{checkpoint}_measures.parquet"},
    reads={
        "articles": articles,
        **vocabulary,
        "topics": lambda w: of_compared(rules.fit_topic_models.output.topics, w.corpus),
        **probed_model,
    },
    priority=3,
    ambiguity={"overlaps": [robustness.overlap], "thresholds": [robustness.threshold.model_dump()]},
    attention=probing.of(robustness.documents),
    uncertainty=robustness.uncertainty,
)
compared_quality = of_compared(rules.fit_topic_models.output.quality, compared_corpus)
compared_measures = of_first_checkpoints(
    rules.probe_topic_models.output.measures, compared_corpus, robustness.models
)
step(
    "probe_choices/{corpus}/{checkpoint}",
    (2500, 60),
    {"measures": "results/topic_models/{corpus}/{checkpoint}_choices.parquet"},
    reads={
        "articles": articles,
        **vocabulary,
        "topics": lambda w: [
            rules.fit_topic_models.output.topics.format(
                corpus=w.corpus, weights=weights, schedule=schedule, topics=topics
            )
            for weights, schedule, topics in choices.fits()
        ],
        **probed_model,
    },
    choices=choices,
    attention=probing.of(choices.documents),
    uncertainty=robustness.uncertainty,
)
chosen_models = named(choices.models)
chosen_measures = of_first_checkpoints(
    rules.probe_choices.output.measures, compared_corpus, choices.models
)
