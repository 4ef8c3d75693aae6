# From a pinned download, or files on this machine, to articles.
in_parts = {n: c.part_names() for n, c in settings.corpora.items() if c.parts > 1}
in_one_piece = [n for n in settings.corpora if n not in in_parts]
sharded = [n for n in in_one_piece if settings.corpora[n].parse.format in SHARDED]
whole = [n for n in in_one_piece if n not in sharded]


wildcard_constraints:
    corpus="|".join(map(re.escape, settings.corpora)),
    shard="|".join(re.escape(s) for c in settings.corpora.values() for s in c.shards) or "none",
    part="[0-9]+-of-[0-9]+",


rule fetch_corpus:
    input:
        code=code_closure("fetch_corpus"),
    output:
        source="results/corpus/{corpus}/source",
        record="results/records/fetch_corpus/{corpus}.json",
    log:
        "results/logs/fetch_corpus/{corpus}.log",
    benchmark:
        "results/benchmarks/fetch_corpus/{corpus}.tsv"
    conda:
        "../../envs/onelayer.yaml"
    threads: 1
    resources:
        mem_mb=growing(500),
        runtime=growing(30),
    params:
        settings=lambda w: settings_json(settings.corpora[w.corpus].source),
        libraries=library_versions("fetch_corpus"),
    message:
        "Fetch the corpus {wildcards.corpus}"
    shell:
        "python scripts/fetch_corpus.py --source {output.source}"
        " --record {output.record} --settings {params.settings:q} --log {log}"


rule fetch_shard:
    input:
        code=code_closure("fetch_shard"),
    output:
        shard="results/corpus/{corpus}/shards/{shard}",
        record="results/records/fetch_shard/{corpus}/{shard}.json",
    log:
        "results/logs/fetch_shard/{corpus}/{shard}.log",
    benchmark:
        "results/benchmarks/fetch_shard/{corpus}/{shard}.tsv"
    conda:
        "../../envs/onelayer.yaml"
    threads: 1
    resources:
        mem_mb=growing(500),
        runtime=growing(60),
    params:
        settings=lambda w: settings_json(settings.corpora[w.corpus].shard(w.shard)),
        libraries=library_versions("fetch_shard"),
    message:
        "Fetch {wildcards.shard} of the corpus {wildcards.corpus}"
    shell:
        "python scripts/fetch_shard.py --shard {output.shard}"
        " --record {output.record} --settings {params.settings:q} --log {log}"


rule parse_articles:
    input:
        source=lambda w: settings.corpora[w.corpus].files(f"results/corpus/{w.corpus}"),
        code=code_closure("parse_articles"),
    output:
        articles="results/corpus/{corpus}/articles.parquet",
        record="results/records/parse_articles/{corpus}.json",
    log:
        "results/logs/parse_articles/{corpus}.log",
    benchmark:
        "results/benchmarks/parse_articles/{corpus}.tsv"
    wildcard_constraints:
        corpus="|".join(map(re.escape, whole)) or "none",
    conda:
        "../../envs/onelayer.yaml"
    threads: 1
    resources:
        mem_mb=growing(1000),
        runtime=growing(10),
    params:
        settings=lambda w: settings_json(settings.corpora[w.corpus].parse),
        libraries=library_versions("parse_articles"),
    message:
        "Parse the articles of {wildcards.corpus}"
    shell:
        "python scripts/parse_articles.py"
        " --source {input.source} --articles {output.articles}"
        " --record {output.record} --settings {params.settings:q} --log {log}"


rule parse_shards:
    input:
        source=lambda w: settings.corpora[w.corpus].files(f"results/corpus/{w.corpus}"),
        code=code_closure("parse_shards"),
    output:
        articles="results/corpus/{corpus}/articles.parquet",
        record="results/records/parse_shards/{corpus}.json",
    log:
        "results/logs/parse_shards/{corpus}.log",
    benchmark:
        "results/benchmarks/parse_shards/{corpus}.tsv"
    wildcard_constraints:
        corpus="|".join(map(re.escape, sharded)) or "none",
    conda:
        "../../envs/onelayer.yaml"
    threads: 1
    resources:
        mem_mb=growing(1000),
        runtime=growing(60),
    params:
        settings=lambda w: settings_json(settings.corpora[w.corpus].parse),
        libraries=library_versions("parse_shards"),
    message:
        "Parse the articles of {wildcards.corpus}"
    shell:
        "python scripts/parse_shards.py --source {input.source} --articles {output.articles}"
        " --record {output.record} --settings {params.settings:q} --log {log}"


# Plain rules over parts: Snakemake's scattergather has one number of parts for all corpora, and
# its gathered files cannot depend on a wildcard of their own.
rule parse_part:
    input:
        source=lambda w: [
            settings.corpora[w.corpus].files(f"results/corpus/{w.corpus}")[s.file]
            for s in settings.corpora[w.corpus].part(w.part).slices
        ],
        code=code_closure("parse_part"),
    output:
        articles="results/corpus/{corpus}/articles/{part}.parquet",
        summary="results/corpus/{corpus}/summaries/{part}.parquet",
        record="results/records/parse_part/{corpus}/{part}.json",
    log:
        "results/logs/parse_part/{corpus}/{part}.log",
    benchmark:
        "results/benchmarks/parse_part/{corpus}/{part}.tsv"
    conda:
        "../../envs/onelayer.yaml"
    threads: 1
    resources:
        mem_mb=growing(1500),
        runtime=growing(60),
    params:
        settings=lambda w: settings_json(settings.corpora[w.corpus].part(w.part)),
        libraries=library_versions("parse_part"),
    message:
        "Parse part {wildcards.part} of {wildcards.corpus}"
    shell:
        "python scripts/parse_part.py --source {input.source}"
        " --articles {output.articles} --summary {output.summary}"
        " --record {output.record} --settings {params.settings:q} --log {log}"


rule tabulate_corpora:
    input:
        articles=expand(rules.parse_articles.output.articles, corpus=in_one_piece),
        summaries=[
            path
            for name, parts in in_parts.items()
            for path in expand(rules.parse_part.output.summary, corpus=name, part=parts)
        ],
        code=code_closure("tabulate_corpora"),
    output:
        csv="results/tables/topic_structure/corpora.csv",
        md="results/tables/topic_structure/corpora.md",
        tex="results/tables/topic_structure/corpora.tex",
        html=report(
            "results/tables/topic_structure/corpora.html",
            caption="../report/corpora.rst",
            category="Topic structure",
            subcategory="Wikipedia: data and topics",
            labels={"result": "table: corpora"},
        ),
        record="results/records/tabulate_corpora.json",
    log:
        "results/logs/tabulate_corpora.log",
    benchmark:
        "results/benchmarks/tabulate_corpora.tsv"
    conda:
        "../../envs/onelayer.yaml"
    threads: 1
    resources:
        mem_mb=growing(1000),
        runtime=growing(10),
    params:
        settings=settings_json(
            corpora=[{"name": n, "settings": c} for n, c in settings.corpora.items()]
        ),
        libraries=library_versions("tabulate_corpora"),
    message:
        "Tabulate the corpora"
    shell:
        "python scripts/tabulate_corpora.py --articles {input.articles}"
        " --summaries {input.summaries}"
        " --csv {output.csv} --md {output.md} --tex {output.tex} --html {output.html}"
        " --record {output.record} --settings {params.settings:q} --log {log}"


tables["results/tables/topic_structure/corpora"] = "corpora"
records += expand(rules.parse_articles.output.record, corpus=whole)
records += expand(rules.parse_shards.output.record, corpus=sharded)
for name, parts in in_parts.items():
    records += expand(rules.parse_part.output.record, corpus=name, part=parts)
for name, corpus in settings.corpora.items():
    if isinstance(corpus.source, HubFiles):
        records += expand(rules.fetch_shard.output.record, corpus=name, shard=corpus.shards)
    elif not isinstance(corpus.source, DiskFiles):
        records += expand(rules.fetch_corpus.output.record, corpus=name)
records.append(rules.tabulate_corpora.output.record)
