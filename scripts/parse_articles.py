"""Parse a corpus into articles: files, or those of a dataset on a hub, fetched one by one."""

import tempfile
from pathlib import Path

from onelayer.job import job
from onelayer.settings.corpus import ParseSettings
from onelayer.settings.hub import HubDataset
from onelayer.text.corpus.articles import write_articles
from onelayer.text.corpus.formats import read_corpus
from onelayer.text.fetch import fetch_dataset

with job(snakemake) as step:
    parse, path = ParseSettings(**step.settings["parse"]), step.path("articles")
    with tempfile.TemporaryDirectory(prefix=".part-", dir=path.parent) as folder:
        if step.settings["source"]:
            wanted = HubDataset(**step.settings["source"])
            files, source = fetch_dataset(wanted, Path(folder)), f"dataset {wanted.dataset}"
        else:
            files, source = map(Path, snakemake.input), snakemake.input[0]
        articles = step.progress(read_corpus(files, parse), unit="articles")
        write_articles(articles, path, source, parse.max_articles)
