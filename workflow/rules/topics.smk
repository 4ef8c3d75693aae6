# From articles to topics with unambiguous words.
rule count_words:
    input:
        articles=rules.parse_articles.output.articles,
        tokenizers=lambda w: [tokenizers[m] for m in settings.topics.words.single_piece_in],
        code=code_closure("count_words"),
    output:
        vocabulary="results/topics/{corpus}/vocabulary.parquet",
        counts="results/topics/{corpus}/counts.npz",
        record="results/records/count_words/{corpus}.json",
    log:
        "results/logs/count_words/{corpus}.log",
    benchmark:
        "results/benchmarks/count_words/{corpus}.tsv"
    conda:
        "../../envs/onelayer.yaml"
    threads: 1
    resources:
        mem_mb=growing(1000),
        runtime=growing(10),
    params:
        settings=settings_json(settings.topics.words),
        libraries=library_versions("count_words"),
    message:
        "Count the words of {wildcards.corpus}"
    shell:
        "python scripts/count_words.py"
        " --articles {input.articles} --tokenizers {input.tokenizers}"
        " --vocabulary {output.vocabulary} --counts {output.counts}"
        " --record {output.record} --settings {params.settings:q} --log {log}"


rule fit_lda:
    input:
        vocabulary=rules.count_words.output.vocabulary,
        counts=rules.count_words.output.counts,
        code=code_closure("fit_lda"),
    output:
        topics="results/topics/{corpus}/lda.safetensors",
        record="results/records/fit_lda/{corpus}.json",
    log:
        "results/logs/fit_lda/{corpus}.log",
    benchmark:
        "results/benchmarks/fit_lda/{corpus}.tsv"
    conda:
        "../../envs/onelayer.yaml"
    threads: settings.topics.lda.threads
    resources:
        mem_mb=growing(1500),
        runtime=growing(30),
    params:
        settings=settings_json(settings.topics.lda),
        libraries=library_versions("fit_lda"),
    message:
        "Fit {settings.topics.lda.topics} topics to {wildcards.corpus}"
    shell:
        "python scripts/fit_lda.py --vocabulary {input.vocabulary} --counts {input.counts}"
        " --topics {output.topics}"
        " --record {output.record} --settings {params.settings:q} --log {log}"


rule measure_topics:
    input:
        articles=rules.parse_articles.output.articles,
        vocabulary=rules.count_words.output.vocabulary,
        counts=rules.count_words.output.counts,
        topics=rules.fit_lda.output.topics,
        code=code_closure("measure_topics"),
    output:
        quality="results/topics/{corpus}/quality.parquet",
        words="results/topics/{corpus}/top_words.parquet",
        shares="results/topics/{corpus}/label_shares.parquet",
        record="results/records/measure_topics/{corpus}.json",
    log:
        "results/logs/measure_topics/{corpus}.log",
    benchmark:
        "results/benchmarks/measure_topics/{corpus}.tsv"
    conda:
        "../../envs/onelayer.yaml"
    threads: settings.topics.lda.threads
    resources:
        mem_mb=growing(1500),
        runtime=growing(10),
    params:
        settings=settings_json(
            lda=settings.topics.lda,
            top_words=settings.topics.top_words,
        ),
        libraries=library_versions("measure_topics"),
    message:
        "Measure the topics of {wildcards.corpus}"
    shell:
        "python scripts/measure_topics.py --articles {input.articles}"
        " --vocabulary {input.vocabulary} --counts {input.counts} --topics {input.topics}"
        " --quality {output.quality} --words {output.words} --shares {output.shares}"
        " --record {output.record} --settings {params.settings:q} --log {log}"


rule filter_ambiguous_words:
    input:
        vocabulary=rules.count_words.output.vocabulary,
        counts=rules.count_words.output.counts,
        topics=rules.fit_lda.output.topics,
        code=code_closure("filter_ambiguous_words"),
    output:
        kept_words="results/topics/{corpus}/kept_words.parquet",
        record="results/records/filter_ambiguous_words/{corpus}.json",
    log:
        "results/logs/filter_ambiguous_words/{corpus}.log",
    benchmark:
        "results/benchmarks/filter_ambiguous_words/{corpus}.tsv"
    conda:
        "../../envs/onelayer.yaml"
    threads: 1
    resources:
        mem_mb=growing(1000),
        runtime=growing(10),
    params:
        settings=settings_json(settings.topics.ambiguity),
        libraries=library_versions("filter_ambiguous_words"),
    message:
        "Keep the unambiguous words of {wildcards.corpus}"
    shell:
        "python scripts/filter_ambiguous_words.py"
        " --vocabulary {input.vocabulary} --counts {input.counts}"
        " --topics {input.topics} --kept-words {output.kept_words}"
        " --record {output.record} --settings {params.settings:q} --log {log}"


for step in ("count_words", "fit_lda", "measure_topics", "filter_ambiguous_words"):
    records.append(f"results/records/{step}/{settings.topic_structure.wikipedia.corpus}.json")
