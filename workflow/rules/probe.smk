# What each checkpoint does with the words of the topics, and what each model does on average.
probing, uncertainty = settings.probe.attention, settings.probe.uncertainty
probe_parts = probing.part_names()
probed_at_once = one_of([] if probe_parts else settings.corpora)
probed_in_parts = one_of(settings.corpora if probe_parts else [])
# Their embeddings are extracted beside those of the kept words.
word_groups = [w for group in settings.topic_structure.wikipedia.word_groups for w in group.words]
probed_model = {"model": checkpoint_files("{checkpoint}")}
sums_of_attention = ("by_head", "by_distance", "by_words")
# What models were pretrained on here, if any is shown.
trained_on, encoded = [], []
if any(settings.models[m].source == "pretrain" for m in settings.topic_structure.wikipedia.models):
    trained_on = [path for name in settings.pretraining.corpora for path in articles_of(name)]
    encoded = encoded_articles("text")["text"]
step(
    "probe_attention/{corpus}/{checkpoint}",
    (2500, 60),
    below(
        "results/probe/{corpus}/{checkpoint}",
        **{sums: f"attention_{sums}.parquet" for sums in sums_of_attention},
        words="embedded_words.parquet",
        vectors="embeddings.safetensors",
    ),
    reads={"articles": articles, **kept_words, **probed_model},
    priority=3,
    where={"corpus": probed_at_once},
    attention=probing,
    words=word_groups,
)
# Of articles in parts: each part's attention, merged; the embeddings need no articles.
step(
    "probe_attention_part/{corpus}/{checkpoint}/{part}",
    (2500, 60),
    alike("results/probe/{corpus}/{checkpoint}/attention/{part}_*.parquet", *sums_of_attention),
    reads={"articles": articles, **kept_words, **probed_model},
    where={"corpus": probed_in_parts},
    attention=probing,
    part=lambda w: probe_parts.index(w.part),
)
step(
    "merge_attention/{corpus}/{checkpoint}",
    (2500, 10),
    {f"merged_{sums}": rules.probe_attention.output[sums] for sums in sums_of_attention},
    reads={
        sums: expand(rules.probe_attention_part.output[sums], part=probe_parts, allow_missing=True)
        for sums in sums_of_attention
    },
    where={"corpus": probed_in_parts},
)
step(
    "extract_embeddings/{corpus}/{checkpoint}",
    (1500, 10),
    {"words": rules.probe_attention.output.words, "vectors": rules.probe_attention.output.vectors},
    reads={**kept_words, **probed_model},
    where={"corpus": probed_in_parts},
    words=word_groups,
)
step(
    "measure_attention/{corpus}/{model}",
    (1500, 10),
    below(
        "results/measures/{corpus}/{model}",
        measures="attention.parquet",
        heads="attention_heads.parquet",
    ),
    reads={
        **known_words,
        **{sums: of_checkpoints(rules.probe_attention.output[sums]) for sums in sums_of_attention},
    },
    priority=3,
    uncertainty=uncertainty,
    checkpoint_seeds=lambda w: settings.seeds(w.model),
)
step(
    "measure_embeddings/{corpus}/{model}",
    (1500, 30),
    below(
        "results/measures/{corpus}/{model}",
        measures="embeddings.parquet",
        circuits="value_circuits.parquet",
    ),
    reads={
        **known_words,
        "words": of_checkpoints(rules.probe_attention.output.words),
        "vectors": of_checkpoints(rules.probe_attention.output.vectors),
    },
    priority=3,
    uncertainty=uncertainty,
    checkpoint_seeds=lambda w: settings.seeds(w.model),
    control=lambda w: settings.models[w.model].source == "random",
)
step(
    "gather_series/{corpus}/{series}",
    (1000, 10),
    {"measures": "results/measures/{corpus}/{series}/snapshots.parquet"},
    reads={
        "attention": of_series(rules.measure_attention.output.measures),
        "embeddings": of_series(rules.measure_embeddings.output.measures),
        "circuits": of_series(rules.measure_embeddings.output.circuits),
    },
    tokens=lambda w: settings.models[w.series].tokens,
)
step(
    "measure_snapshots/{corpus}/{pretrained}",
    (2000, 60),
    {"measures": "results/measures/{corpus}/{pretrained}/snapshots.parquet"},
    reads={
        "snapshots": of_trainings(rules.pretrain_model.output.snapshots),
        "histories": of_trainings(rules.pretrain_model.output.history),
        "model": lambda w: first_files(w.pretrained, "config.json", "tokenizer.json"),
        "text": pretraining_text,
        "pieces": rules.pretrain_model.input.vocabulary,
        "topics": rules.fit_lda.output.topics,
        "articles": articles,
        **known_words,
    },
    attention=probing.of(settings.topic_structure.wikipedia.over_tokens.documents),
    uncertainty=uncertainty,
    trainings=lambda w: [
        settings.pretraining_of(w.pretrained, seed) for seed in settings.seeds(w.pretrained)
    ],
    lda=settings.topics.lda,
)
# The same ratios on inputs like those of some training, told apart by whether both words are of one
# article.
step(
    "measure_inputs/{corpus}/{pretrained}/{mixed}",
    (2000, 60),
    {"measures": "results/measures/{corpus}/{pretrained}/inputs_of_{mixed}.parquet"},
    reads={
        "models": lambda w: checkpoint_files(*settings.checkpoints(w.pretrained)),
        "mixed": rules.mix_articles.output.mixed,
        **known_words,
    },
    attention=probing.of(settings.topic_structure.wikipedia.topics_per_input.documents),
    uncertainty=uncertainty,
    checkpoint_seeds=lambda w: settings.seeds(w.pretrained),
    longest=settings.pretraining.size.longest - 2,
)
# Which heads are removed depends on the probed articles, what that does is measured on others that
# no model was pretrained on here.
step(
    "measure_head_removal/{corpus}/{model}",
    (2500, 60),
    {"losses": "results/measures/{corpus}/{model}/head_removal.parquet"},
    reads={
        "articles": articles,
        "trained_on": trained_on,
        "encoded": encoded,
        **known_words,
        "heads": rules.measure_attention.output.heads,
        "models": lambda w: checkpoint_files(*settings.checkpoints(w.model)),
    },
    removal=settings.topic_structure.wikipedia.head_removal,
    attention=probing,
    checkpoint_seeds=lambda w: settings.seeds(w.model),
)
