# From articles to topics with unambiguous words.


rule count_words:
    input:
        articles="results/corpora/{corpus}/articles.parquet",
        tokenizers=[
            f"results/models/{settings.models[m].checkpoints(m)[0]}/tokenizer.json"
            for m in settings.topics.words.single_piece_in
        ],
    output:
        vocabulary="results/topics/{corpus}/vocabulary.parquet",
        counts="results/topics/{corpus}/counts.npz",
    log:
        "results/logs/count_words/{corpus}.log",
    benchmark:
        "results/benchmarks/count_words/{corpus}.tsv"
    priority: 3
    conda:
        "../../envs/onelayer.yaml"
    threads: 1
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


def fits(ways):
    """What to fit, by the names of topic models; none for what is as in the tables."""
    ours = {"lda": dump(settings.topics.lda), "weights": "counts"}
    them = {
        way.fit(settings.topics.lda): {
            "lda": dump(way.lda(settings.topics.lda)),
            "weights": way.weights,
        }
        for way in ways
    }
    return {name: None if how == ours else how for name, how in them.items()}


authors_fit = wikipedia.authors.fit(settings.topics.lda)
compared = fits(settings.topic_structure.sensitivity.ways)
compared.pop(authors_fit, None)
# In this order, as the script reads them.
BAG = expand("results/topics/{{corpus}}/{file}", file=["vocabulary.parquet", "counts.npz"])


rule fit_lda:
    input:
        bag=BAG,
    output:
        topics=["results/topics/{corpus}/lda.safetensors"],
    log:
        "results/logs/fit_lda/{corpus}.log",
    benchmark:
        "results/benchmarks/fit_lda/{corpus}.tsv"
    priority: 3
    conda:
        "../../envs/onelayer.yaml"
    threads: 1
    resources:
        mem_mb=lambda w, attempt: 1500 * attempt,
        runtime=lambda w, attempt: 60 * attempt,
    params:
        settings={"lda": {"lda": dump(settings.topics.lda), "weights": "counts"}},
        code=code("fit_topics"),
    message:
        "Fit a topic model to {wildcards.corpus}"
    script:
        "../../scripts/fit_topics.py"


# A job of its own: the tables need these topics alone.
use rule fit_lda as fit_authors_topics with:
    output:
        topics=[f"results/sensitivity/{{corpus}}/topics/{authors_fit}.safetensors"],
    log:
        "results/logs/fit_authors_topics/{corpus}.log",
    benchmark:
        "results/benchmarks/fit_authors_topics/{corpus}.tsv"
    params:
        settings=fits([wikipedia.authors]),
        code=code("fit_topics"),
    message:
        "Fit topics as the authors do on {wildcards.corpus}"


# One job for all: most of a small corpus's minutes would be new processes.
use rule fit_lda as fit_compared_topics with:
    input:
        bag=BAG,
        ours="results/topics/{corpus}/lda.safetensors",
    output:
        topics=[f"results/sensitivity/{{corpus}}/topics/{fit}.safetensors" for fit in compared],
    log:
        "results/logs/fit_compared_topics/{corpus}.log",
    benchmark:
        "results/benchmarks/fit_compared_topics/{corpus}.tsv"
    resources:
        mem_mb=lambda w, attempt: 1500 * attempt,
        runtime=lambda w, attempt: 60 * len(compared) * attempt,
    params:
        settings=compared,
        code=code("fit_topics"),
    message:
        "Fit the topics that are compared on {wildcards.corpus}"


rule filter_ambiguous_words:
    input:
        vocabulary="results/topics/{corpus}/vocabulary.parquet",
        topics="results/topics/{corpus}/lda.safetensors",
    output:
        kept_words="results/topics/{corpus}/kept_words.parquet",
    log:
        "results/logs/filter_ambiguous_words/{corpus}.log",
    priority: 3
    localrule: True
    conda:
        "../../envs/onelayer.yaml"
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
        topics=f"results/topics/{wikipedia.corpus}/lda.safetensors",
        articles=f"results/corpora/{wikipedia.corpus}/articles.parquet",
    output:
        table=table("topic_structure/topics"),
    log:
        "results/logs/show_topics.log",
    benchmark:
        "results/benchmarks/show_topics.tsv"
    conda:
        "../../envs/onelayer.yaml"
    threads: 1
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
