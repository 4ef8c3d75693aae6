# From articles to topics with unambiguous words.
step(
    "count_words/{corpus}",
    (1000, 10),
    below("results/topics/{corpus}", vocabulary="vocabulary.parquet", counts="counts.npz"),
    reads={
        "articles": rules.parse_articles.output.articles,
        "tokenizers": lambda w: [tokenizers[m] for m in settings.topics.words.single_piece_in],
    },
    priority=3,
    where={"corpus": one_of(in_one_piece)},
    words=settings.topics.words,
)
vocabulary = {"vocabulary": rules.count_words.output.vocabulary}
# Of a corpus in parts: each part's words, merged and pruned to the vocabulary, and each part
# counted in it.
step(
    "list_part_words/{corpus}/{part}",
    (1500, 30),
    {"words": "results/topics/{corpus}/words/{part}.parquet"},
    reads={"articles": rules.parse_part.output.articles},
    min_letters=settings.topics.words.min_letters,
)
step(
    "merge_words/{corpus}",
    (1500, 60),
    {"vocabulary": "results/topics/{corpus}/vocabulary.parquet"},
    reads={
        "words": lambda w: expand(
            rules.list_part_words.output.words, corpus=w.corpus, part=in_parts[w.corpus]
        ),
        "tokenizers": rules.count_words.input.tokenizers,
    },
    where={"corpus": one_of(in_parts)},
    words=settings.topics.words,
)
step(
    "count_part_words/{corpus}/{part}",
    (1500, 30),
    {"counts": "results/topics/{corpus}/counts/{part}.safetensors"},
    reads={"articles": rules.parse_part.output.articles, **vocabulary},
)
# Where the counts of each corpus lie, in one file or one per part.
counts = by_corpus(rules.count_words.output.counts, rules.count_part_words.output.counts)
# What topics are fitted to.
bag = {**vocabulary, "counts": lambda w: counts[w.corpus]}
step(
    "fit_lda/{corpus}",
    (1500, 30),
    {"topics": "results/topics/{corpus}/lda.safetensors"},
    reads=bag,
    cores=settings.topics.lda.workers,
    priority=3,
    lda=settings.topics.lda,
)
known_topics = {**vocabulary, "topics": rules.fit_lda.output.topics}
step(
    "measure_topics/{corpus}",
    (1500, 10),
    below(
        "results/topics/{corpus}",
        quality="quality.parquet",
        words="top_words.parquet",
        shares="label_shares.parquet",
    ),
    reads={"articles": articles, **bag, "topics": rules.fit_lda.output.topics},
    cores=settings.topics.lda.workers,
    lda=settings.topics.lda,
    top_words=settings.topics.top_words,
)
# Fitted once more, to halves of the articles; what is compared beside it is named in the settings. A
# corpus in parts is not cut in halves.
judged_topic_models = [
    {"name": "topics.lda", **settings.topics.lda.model_dump()},
    *settings.topics.compared,
]
step(
    "measure_held_out_topics/{corpus}",
    (1500, 60),
    {"coherence": "results/topics/{corpus}/held_out.parquet"},
    reads=bag,
    cores=settings.topics.lda.workers,
    where={"corpus": one_of(in_one_piece)},
    models=judged_topic_models,
    seeds=settings.topics.held_out_seeds,
    top_words=settings.topics.top_words,
)
step(
    "filter_ambiguous_words/{corpus}",
    (1000, 10),
    {"kept_words": "results/topics/{corpus}/kept_words.parquet"},
    reads=known_topics,
    priority=3,
    ambiguity=settings.topics.ambiguity,
)
# Words of topics, and the vocabulary that they are numbered in.
kept_words = {"kept_words": rules.filter_ambiguous_words.output.kept_words}
known_words = kept_words | vocabulary
