# From a pinned download, or files on this machine, to articles.
in_parts = {n: c.part_names() for n, c in settings.corpora.items() if c.parts > 1}
in_one_piece = [n for n in settings.corpora if n not in in_parts]
sharded = [n for n in in_one_piece if settings.corpora[n].parse.format in SHARDED]
whole = [n for n in in_one_piece if n not in sharded]


wildcard_constraints:
    corpus="|".join(map(re.escape, settings.corpora)),
    shard="|".join(re.escape(s) for c in settings.corpora.values() for s in c.shards) or "none",
    part="[0-9]+-of-[0-9]+",


use rule step as fetch_corpus with:
    output:
        source="results/corpus/{corpus}/source",
        record=record,
    pathvars:
        step="fetch_corpus/{corpus}",
    priority: 3
    localrule: True
    resources:
        **asks(500, minutes=30),
    params:
        **script("fetch_corpus", lambda w: settings.corpora[w.corpus].source),


use rule step as fetch_shard with:
    output:
        shard="results/corpus/{corpus}/shards/{shard}",
        record=record,
    pathvars:
        step="fetch_shard/{corpus}/{shard}",
    priority: 2
    localrule: True
    resources:
        **asks(500, minutes=60),
    params:
        **script("fetch_shard", lambda w: settings.corpora[w.corpus].shard(w.shard)),


use rule step as parse_articles with:
    input:
        source=lambda w: settings.corpora[w.corpus].files(f"results/corpus/{w.corpus}"),
    output:
        articles="results/corpus/{corpus}/articles.parquet",
        record=record,
    pathvars:
        step="parse_articles/{corpus}",
    wildcard_constraints:
        corpus="|".join(map(re.escape, whole)) or "none",
    priority: 3
    params:
        **script("parse_articles", lambda w: settings.corpora[w.corpus].parse),


use rule step as parse_shards with:
    input:
        source=lambda w: settings.corpora[w.corpus].files(f"results/corpus/{w.corpus}"),
    output:
        articles="results/corpus/{corpus}/articles.parquet",
        record=record,
    pathvars:
        step="parse_shards/{corpus}",
    wildcard_constraints:
        corpus="|".join(map(re.escape, sharded)) or "none",
    priority: 2
    resources:
        **asks(1000, minutes=60),
    params:
        **script("parse_shards", lambda w: settings.corpora[w.corpus].parse),


# Plain rules over parts: Snakemake's scattergather has one number of parts for all corpora, and
# its gathered files cannot depend on a wildcard of their own.
use rule step as parse_part with:
    input:
        source=lambda w: [
            settings.corpora[w.corpus].files(f"results/corpus/{w.corpus}")[s.file]
            for s in settings.corpora[w.corpus].part(w.part).slices
        ],
    output:
        articles="results/corpus/{corpus}/articles/{part}.parquet",
        summary="results/corpus/{corpus}/summaries/{part}.parquet",
        record=record,
    pathvars:
        step="parse_part/{corpus}/{part}",
    resources:
        **asks(1500, minutes=60),
    params:
        **script("parse_part", lambda w: settings.corpora[w.corpus].part(w.part)),


use rule step as tabulate_corpora with:
    input:
        articles=expand(rules.parse_articles.output.articles, corpus=in_one_piece),
        summaries=[
            path
            for name, parts in in_parts.items()
            for path in expand(rules.parse_part.output.summary, corpus=name, part=parts)
        ],
    output:
        tables=table("topic_structure/corpora", "Wikipedia: data and topics", "table: corpora"),
        record=record,
    pathvars:
        step="tabulate_corpora",
    localrule: True
    params:
        **script(
            "tabulate_corpora",
            corpora=[{"name": n, "settings": c} for n, c in settings.corpora.items()],
        ),
