"""Fetch a split of a dataset from a hub at a pinned commit, file by file, and keep its articles."""

import json
import tempfile
from pathlib import Path

from onelayer.job import job
from onelayer.settings.corpus import ParseSettings
from onelayer.settings.hub import HubDataset
from onelayer.text.corpus.articles import write_articles
from onelayer.text.corpus.formats import read_corpus
from onelayer.text.corpus.hub import downloaded

with job(snakemake) as step:
    wanted = HubDataset(**snakemake.params.settings["source"])
    parse = ParseSettings(**snakemake.params.settings["parse"])
    path, sums = step.path("articles"), []
    with tempfile.TemporaryDirectory(prefix=".part-", dir=path.parent) as folder:
        articles = read_corpus(downloaded(wanted, Path(folder), sums), parse)
        articles = step.progress(articles, unit="articles")
        write_articles(articles, path, f"dataset {wanted.dataset}", parse.max_articles)
    step.save_text(files=json.dumps(sums, indent=1) + "\n")
