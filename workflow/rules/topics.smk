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
    benchmark:
        "results/benchmarks/filter_ambiguous_words/{corpus}.tsv"
    priority: 3
    conda:
        "../../envs/onelayer.yaml"
    threads: 1
    resources:
        mem_mb=lambda w, attempt: 1000 * attempt,
        runtime=lambda w, attempt: 10 * attempt,
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
        shares="results/topics/{corpus}/label_shares.parquet",
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
        },
        code=code("measure_topics"),
    message:
        "Measure the topics of {wildcards.corpus}"
    script:
        "../../scripts/measure_topics.py"


rule measure_held_out_topics:
    input:
        vocabulary=rules.count_words.output.vocabulary,
        counts=rules.count_words.output.counts,
    output:
        coherence="results/topics/{corpus}/held_out.parquet",
    log:
        "results/logs/measure_held_out_topics/{corpus}.log",
    benchmark:
        "results/benchmarks/measure_held_out_topics/{corpus}.tsv"
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
        code=code("measure_held_out_topics"),
    message:
        "Fit topics to halves of {wildcards.corpus} and judge them in the others"
    script:
        "../../scripts/measure_held_out_topics.py"


rule tabulate_topics:
    input:
        lambda w: expand(
            "results/topics/{corpus}/{name}.parquet",
            corpus=settings.topic_structure.wikipedia.corpus,
            name=["top_words", "label_shares", "quality", "held_out"],
        ),
    output:
        table=table("topic_structure/topics"),
    log:
        "results/logs/tabulate_topics.log",
    benchmark:
        "results/benchmarks/tabulate_topics.tsv"
    localrule: True
    conda:
        "../../envs/onelayer.yaml"
    threads: 1
    resources:
        mem_mb=500,
        runtime=5,
    params:
        settings=lambda w: {"corpus": settings.topic_structure.wikipedia.corpus},
        code=code("tabulate_topics"),
    message:
        "Show the topics and how good they are"
    script:
        "../../scripts/tabulate_topics.py"
