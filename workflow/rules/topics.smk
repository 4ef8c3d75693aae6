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
    wildcard_constraints:
        corpus="|".join(map(re.escape, in_one_piece)) or "none",
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


# Of a corpus in parts: each part's words, merged and pruned to the vocabulary, and each part
# counted in it.
rule list_part_words:
    input:
        articles=rules.parse_part.output.articles,
        code=code_closure("list_part_words"),
    output:
        words="results/topics/{corpus}/words/{part}.parquet",
        record="results/records/list_part_words/{corpus}/{part}.json",
    log:
        "results/logs/list_part_words/{corpus}/{part}.log",
    benchmark:
        "results/benchmarks/list_part_words/{corpus}/{part}.tsv"
    conda:
        "../../envs/onelayer.yaml"
    threads: 1
    resources:
        mem_mb=growing(1500),
        runtime=growing(30),
    params:
        settings=settings_json(min_letters=settings.topics.words.min_letters),
        libraries=library_versions("list_part_words"),
    message:
        "List the words of part {wildcards.part} of {wildcards.corpus}"
    shell:
        "python scripts/list_part_words.py --articles {input.articles} --words {output.words}"
        " --record {output.record} --settings {params.settings:q} --log {log}"


rule merge_words:
    input:
        words=lambda w: expand(
            rules.list_part_words.output.words, corpus=w.corpus, part=in_parts[w.corpus]
        ),
        tokenizers=rules.count_words.input.tokenizers,
        code=code_closure("merge_words"),
    output:
        vocabulary="results/topics/{corpus}/vocabulary.parquet",
        record="results/records/merge_words/{corpus}.json",
    log:
        "results/logs/merge_words/{corpus}.log",
    benchmark:
        "results/benchmarks/merge_words/{corpus}.tsv"
    wildcard_constraints:
        corpus="|".join(map(re.escape, in_parts)) or "none",
    conda:
        "../../envs/onelayer.yaml"
    threads: 1
    resources:
        mem_mb=growing(1500),
        runtime=growing(60),
    params:
        settings=settings_json(settings.topics.words),
        libraries=library_versions("merge_words"),
    message:
        "Merge the words of {wildcards.corpus} and prune them to the vocabulary"
    shell:
        "python scripts/merge_words.py --words {input.words} --tokenizers {input.tokenizers}"
        " --vocabulary {output.vocabulary}"
        " --record {output.record} --settings {params.settings:q} --log {log}"


rule count_part_words:
    input:
        articles=rules.parse_part.output.articles,
        vocabulary=rules.merge_words.output.vocabulary,
        code=code_closure("count_part_words"),
    output:
        counts="results/topics/{corpus}/counts/{part}.safetensors",
        record="results/records/count_part_words/{corpus}/{part}.json",
    log:
        "results/logs/count_part_words/{corpus}/{part}.log",
    benchmark:
        "results/benchmarks/count_part_words/{corpus}/{part}.tsv"
    conda:
        "../../envs/onelayer.yaml"
    threads: 1
    resources:
        mem_mb=growing(1500),
        runtime=growing(30),
    params:
        libraries=library_versions("count_part_words"),
    message:
        "Count the words of part {wildcards.part} of {wildcards.corpus}"
    shell:
        "python scripts/count_part_words.py --articles {input.articles}"
        " --vocabulary {input.vocabulary} --counts {output.counts}"
        " --record {output.record} --log {log}"


# Where the counts of each corpus lie, in one file or one per part.
counts = {
    name: (
        expand(rules.count_words.output.counts, corpus=name)
        if name in in_one_piece
        else expand(rules.count_part_words.output.counts, corpus=name, part=in_parts[name])
    )
    for name in settings.corpora
}


rule fit_lda:
    input:
        vocabulary=rules.count_words.output.vocabulary,
        counts=lambda w: counts[w.corpus],
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
        articles=lambda w: settings.corpora[w.corpus].articles(f"results/corpus/{w.corpus}"),
        vocabulary=rules.count_words.output.vocabulary,
        counts=lambda w: counts[w.corpus],
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
        " --vocabulary {input.vocabulary} --topics {input.topics}"
        " --kept-words {output.kept_words}"
        " --record {output.record} --settings {params.settings:q} --log {log}"


probed_corpus = settings.topic_structure.wikipedia.corpus
for step in ("fit_lda", "measure_topics", "filter_ambiguous_words"):
    records.append(f"results/records/{step}/{probed_corpus}.json")
for name in {probed_corpus, settings.topic_structure.robustness_corpus}:
    if name in in_parts:
        records += expand(rules.list_part_words.output.record, corpus=name, part=in_parts[name])
        records += expand(rules.merge_words.output.record, corpus=name)
        records += expand(rules.count_part_words.output.record, corpus=name, part=in_parts[name])
    else:
        records += expand(rules.count_words.output.record, corpus=name)
