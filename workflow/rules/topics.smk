# From articles to topics with unambiguous words.
BAG = ["results/topics/{corpus}/vocabulary.parquet", "results/topics/{corpus}/counts.npz"]
LDA = "results/topics/{corpus}/lda.safetensors"


rule count_words:
    input:
        articles="results/corpora/{corpus}/articles.parquet",
        tokenizers=[
            f"results/models/{settings.models[m].checkpoints(m)[0]}/tokenizer.json"
            for m in settings.topics.words.single_piece_in
        ],
    output:
        vocabulary=BAG[0],
        counts=BAG[1],
    log:
        "results/logs/count_words/{corpus}.log",
    benchmark:
        "results/benchmarks/count_words/{corpus}.tsv"
    priority: 3
    resources:
        mem_mb=lambda w, attempt: 1000 * attempt,
        runtime=lambda w, attempt: 60 * attempt,
    params:
        settings=dump(settings.topics.words),
        code=code("count_words"),
    message:
        "Count the words of {wildcards.corpus}"
    script:
        "../../scripts/count_words.py"


lda = settings.topics.lda
ours = [dump(lda), "counts"]  # a topic model, and what it is fitted to
authors_fit = wikipedia.authors.fit(lda)
ways = [wikipedia.authors, *settings.topic_structure.sensitivity.ways]
compared = {way.fit(lda): [dump(way.lda(lda)), way.weights] for way in ways}
authors = compared.pop(authors_fit)


# With the authors' way: the tables need both.
rule fit_lda:
    input:
        bag=BAG,
    output:
        topics=[LDA, f"results/sensitivity/{{corpus}}/topics/{authors_fit}.safetensors"],
    log:
        "results/logs/fit_lda/{corpus}.log",
    benchmark:
        "results/benchmarks/fit_lda/{corpus}.tsv"
    priority: 3
    resources:
        mem_mb=lambda w, attempt: 1500 * attempt,
        runtime=lambda w, attempt: 60 * len(ways) * attempt,
    params:
        settings={"lda": ours, authors_fit: authors},
        code=code("fit_topics"),
    message:
        "Fit a topic model to {wildcards.corpus}"
    script:
        "../../scripts/fit_topics.py"


# One job for all: most of a small corpus's minutes would be new processes.
use rule fit_lda as fit_compared_topics with:
    input:
        bag=BAG,
        ours=LDA,
    output:
        topics=[f"results/sensitivity/{{corpus}}/topics/{fit}.safetensors" for fit in compared],
    log:
        "results/logs/fit_compared_topics/{corpus}.log",
    benchmark:
        "results/benchmarks/fit_compared_topics/{corpus}.tsv"
    params:
        settings={name: None if how == ours else how for name, how in compared.items()},
        code=code("fit_topics"),
    message:
        "Fit the topics that are compared on {wildcards.corpus}"


rule filter_ambiguous_words:
    input:
        vocabulary=BAG[0],
        topics=LDA,
    output:
        kept_words="results/topics/{corpus}/kept_words.parquet",
    log:
        "results/logs/filter_ambiguous_words/{corpus}.log",
    priority: 3
    localrule: True
    params:
        settings=dump(settings.topics.ambiguity),
        code=code("filter_ambiguous_words"),
    message:
        "Keep the representative words of each topic of {wildcards.corpus}"
    script:
        "../../scripts/filter_ambiguous_words.py"


rule show_topics:
    input:
        bag=expand(BAG, corpus=wikipedia.corpus),
        topics=expand(LDA, corpus=wikipedia.corpus),
        articles=f"results/corpora/{wikipedia.corpus}/articles.parquet",
    output:
        table=table("topic_structure/topics"),
    log:
        "results/logs/show_topics.log",
    benchmark:
        "results/benchmarks/show_topics.tsv"
    resources:
        mem_mb=lambda w, attempt: 1500 * attempt,
        runtime=lambda w, attempt: 60 * attempt,
    params:
        settings=dump(settings.topics, corpus=wikipedia.corpus),
        code=code("show_topics"),
    message:
        "Show the topics, how good they are, and topics of a half in the other half"
    script:
        "../../scripts/show_topics.py"
