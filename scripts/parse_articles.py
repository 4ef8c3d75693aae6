"""Parse a corpus into articles: files, or a split of a dataset on a hub, fetched file by file."""

import tempfile
from pathlib import Path

from onelayer.job import job
from onelayer.settings.corpus import ParseSettings
from onelayer.settings.hub import HubDataset
from onelayer.text.corpus.articles import write_articles
from onelayer.text.corpus.formats import read_corpus

with job(snakemake) as step:
    parse, path = ParseSettings(**step.settings["parse"]), step.path("articles")
    with tempfile.TemporaryDirectory(prefix=".part-", dir=path.parent) as folder:
        if step.settings["source"]:
            from onelayer.text.corpus.hub import downloaded  # `datasets` takes seconds

            wanted = HubDataset(**step.settings["source"])
            files, source = downloaded(wanted, Path(folder)), f"dataset {wanted.dataset}"
        else:
            files, source = map(Path, snakemake.input), snakemake.input[0]
        articles = step.progress(read_corpus(files, parse), unit="articles")
        write_articles(articles, path, source, parse.max_articles)
