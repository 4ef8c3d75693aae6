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


rule fit_lda:
    input:
        vocabulary=rules.count_words.output.vocabulary,
        counts=rules.count_words.output.counts,
    output:
        topics="results/topics/{corpus}/lda.safetensors",
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
        settings=dump(settings.topics.lda),
        code=code("fit_lda"),
    message:
        "Fit a topic model to {wildcards.corpus}"
    script:
        "../../scripts/fit_lda.py"


rule filter_ambiguous_words:
    input:
        vocabulary=rules.count_words.output.vocabulary,
        topics=rules.fit_lda.output.topics,
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


rule measure_topics:
    input:
        articles="results/corpora/{corpus}/articles.parquet",
        vocabulary=rules.count_words.output.vocabulary,
        counts=rules.count_words.output.counts,
        topics=rules.fit_lda.output.topics,
    output:
        words="results/topics/{corpus}/top_words.parquet",
        quality="results/topics/{corpus}/quality.parquet",
    log:
        "results/logs/measure_topics/{corpus}.log",
    benchmark:
        "results/benchmarks/measure_topics/{corpus}.tsv"
    conda:
        "../../envs/onelayer.yaml"
    threads: 1
    resources:
        mem_mb=lambda w, attempt: 1500 * attempt,
        runtime=lambda w, attempt: 60 * attempt,
    params:
        settings={
            "lda": dump(settings.topics.lda),
            "top_words": settings.topics.top_words,
            "seeds": settings.topics.held_out_seeds,
        },
        code=code("measure_topics"),
    message:
        "Measure the topics of {wildcards.corpus}, and topics of a half in the other half"
    script:
        "../../scripts/measure_topics.py"


authors_fit = wikipedia.authors.fit(settings.topics.lda)
compared = {way.fit(settings.topics.lda): way for way in settings.topic_structure.sensitivity.ways}
compared.pop(authors_fit, None)


# One job for all: most of a small corpus's minutes would be new processes.
rule fit_compared_topics:
    input:
        vocabulary=rules.count_words.output.vocabulary,
        counts=rules.count_words.output.counts,
        topics=rules.fit_lda.output.topics,
    output:
        topics=[f"results/sensitivity/{{corpus}}/topics/{fit}.safetensors" for fit in compared],
    log:
        "results/logs/fit_compared_topics/{corpus}.log",
    benchmark:
        "results/benchmarks/fit_compared_topics/{corpus}.tsv"
    priority: 3
    conda:
        "../../envs/onelayer.yaml"
    threads: 1
    resources:
        mem_mb=lambda w, attempt: 1500 * attempt,
        runtime=lambda w, attempt: 60 * len(compared) * attempt,
    params:
        settings={
            "ours": dump(settings.topics.lda),
            "fits": {
                fit: [dump(way.lda(settings.topics.lda)), way.weights]
                for fit, way in compared.items()
            },
        },
        code=code("fit_compared_topics"),
    message:
        "Fit the topics that are compared on {wildcards.corpus}"
    script:
        "../../scripts/fit_compared_topics.py"


# A job of its own: the tables need these topics alone.
use rule fit_compared_topics as fit_authors_topics with:
    output:
        topics=[f"results/sensitivity/{{corpus}}/topics/{authors_fit}.safetensors"],
    log:
        "results/logs/fit_authors_topics/{corpus}.log",
    benchmark:
        "results/benchmarks/fit_authors_topics/{corpus}.tsv"
    resources:
        mem_mb=lambda w, attempt: 1500 * attempt,
        runtime=lambda w, attempt: 60 * attempt,
    params:
        settings={
            "ours": dump(settings.topics.lda),
            "fits": {authors_fit: [dump(wikipedia.authors.lda(settings.topics.lda)), "tf-idf"]},
        },
        code=code("fit_compared_topics"),
    message:
        "Fit topics as the authors do on {wildcards.corpus}"


rule tabulate_topics:
    input:
        words=f"results/topics/{wikipedia.corpus}/top_words.parquet",
        quality=f"results/topics/{wikipedia.corpus}/quality.parquet",
    output:
        table=table("topic_structure/topics"),
    log:
        "results/logs/tabulate_topics.log",
    localrule: True
    conda:
        "../../envs/onelayer.yaml"
    params:
        settings={
            "corpus": wikipedia.corpus,
            "thresholds": [dump(each) for each in settings.topics.ambiguity.thresholds],
        },
        code=code("tabulate_topics"),
    message:
        "Show the topics and how good they are"
    script:
        "../../scripts/tabulate_topics.py"
