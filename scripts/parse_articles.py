"""Parse a corpus into articles: files, or a split of a dataset on a hub, fetched file by file."""

import json
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
        files, source = map(Path, snakemake.input), (snakemake.input or [""])[0]
        if dataset := step.settings.get("dataset"):
            from onelayer.text.corpus.hub import downloaded  # `datasets` takes seconds

            wanted, sums = HubDataset(**dataset), []
            files, source = downloaded(wanted, Path(folder), sums), f"dataset {wanted.dataset}"
        articles = step.progress(read_corpus(files, parse), unit="articles")
        write_articles(articles, path, source, parse.max_articles)
    if dataset:
        step.save_text(files=json.dumps(sums, indent=1) + "\n")
