# From articles to topics with unambiguous words.
use rule step as count_words with:
    input:
        articles=rules.parse_articles.output.articles,
        tokenizers=lambda w: [tokenizers[m] for m in settings.topics.words.single_piece_in],
    output:
        vocabulary="results/topics/{corpus}/vocabulary.parquet",
        counts="results/topics/{corpus}/counts.npz",
        record=record,
    pathvars:
        step="count_words/{corpus}",
    wildcard_constraints:
        corpus="|".join(map(re.escape, in_one_piece)) or "none",
    priority: 3
    params:
        **script("count_words", words=settings.topics.words),


# Of a corpus in parts: each part's words, merged and pruned to the vocabulary, and each part
# counted in it.
use rule step as list_part_words with:
    input:
        articles=rules.parse_part.output.articles,
    output:
        words="results/topics/{corpus}/words/{part}.parquet",
        record=record,
    pathvars:
        step="list_part_words/{corpus}/{part}",
    resources:
        **asks(1500, minutes=30),
    params:
        **script("list_part_words", min_letters=settings.topics.words.min_letters),


use rule step as merge_words with:
    input:
        words=lambda w: expand(
            rules.list_part_words.output.words, corpus=w.corpus, part=in_parts[w.corpus]
        ),
        tokenizers=rules.count_words.input.tokenizers,
    output:
        vocabulary="results/topics/{corpus}/vocabulary.parquet",
        record=record,
    pathvars:
        step="merge_words/{corpus}",
    wildcard_constraints:
        corpus="|".join(map(re.escape, in_parts)) or "none",
    resources:
        **asks(1500, minutes=60),
    params:
        **script("merge_words", words=settings.topics.words),


use rule list_part_words as count_part_words with:
    input:
        articles=rules.parse_part.output.articles,
        vocabulary=rules.merge_words.output.vocabulary,
    output:
        counts="results/topics/{corpus}/counts/{part}.safetensors",
        record=record,
    pathvars:
        step="count_part_words/{corpus}/{part}",
    params:
        **script("count_part_words"),


# Where the counts of each corpus lie, in one file or one per part.
counts = {
    name: (
        expand(rules.count_words.output.counts, corpus=name)
        if name in in_one_piece
        else expand(rules.count_part_words.output.counts, corpus=name, part=in_parts[name])
    )
    for name in settings.corpora
}


use rule step as fit_lda with:
    input:
        vocabulary=rules.count_words.output.vocabulary,
        counts=lambda w: counts[w.corpus],
    output:
        topics="results/topics/{corpus}/lda.safetensors",
        record=record,
    pathvars:
        step="fit_lda/{corpus}",
    priority: 3
    threads: settings.topics.lda.workers
    resources:
        **asks(1500, minutes=30),
    params:
        **script("fit_lda", lda=settings.topics.lda),


use rule step as measure_topics with:
    input:
        articles=lambda w: articles_of(w.corpus),
        vocabulary=rules.count_words.output.vocabulary,
        counts=lambda w: counts[w.corpus],
        topics=rules.fit_lda.output.topics,
    output:
        quality="results/topics/{corpus}/quality.parquet",
        words="results/topics/{corpus}/top_words.parquet",
        shares="results/topics/{corpus}/label_shares.parquet",
        record=record,
    pathvars:
        step="measure_topics/{corpus}",
    threads: settings.topics.lda.workers
    resources:
        **asks(1500, minutes=10),
    params:
        **script("measure_topics", lda=settings.topics.lda, top_words=settings.topics.top_words),


# Fitted once more, to halves of the articles; what is compared beside it is named in the settings. A
# corpus in parts is not cut in halves.
judged_topic_models = [
    {"name": "topics.lda", **settings.topics.lda.model_dump()},
    *settings.topics.compared,
]


use rule step as measure_held_out_topics with:
    input:
        vocabulary=rules.count_words.output.vocabulary,
        counts=rules.count_words.output.counts,
    output:
        coherence="results/topics/{corpus}/held_out.parquet",
        record=record,
    pathvars:
        step="measure_held_out_topics/{corpus}",
    wildcard_constraints:
        corpus="|".join(map(re.escape, in_one_piece)) or "none",
    threads: settings.topics.lda.workers
    resources:
        **asks(1500, minutes=60),
    params:
        **script(
            "measure_held_out_topics",
            models=judged_topic_models,
            seeds=settings.topics.held_out_seeds,
            top_words=settings.topics.top_words,
        ),


use rule step as filter_ambiguous_words with:
    input:
        vocabulary=rules.count_words.output.vocabulary,
        topics=rules.fit_lda.output.topics,
    output:
        kept_words="results/topics/{corpus}/kept_words.parquet",
        record=record,
    pathvars:
        step="filter_ambiguous_words/{corpus}",
    priority: 3
    params:
        **script("filter_ambiguous_words", ambiguity=settings.topics.ambiguity),
