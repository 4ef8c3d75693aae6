"""Parse a corpus into articles: id, title, text and, where known, a human topic."""

from pathlib import Path

from onelayer.job import job
from onelayer.settings.corpus import ParseSettings
from onelayer.text.corpus.articles import write_articles
from onelayer.text.corpus.formats import read_corpus

with job(snakemake) as step:
    parse = ParseSettings(**snakemake.params.settings)
    articles = step.progress(read_corpus(map(Path, snakemake.input), parse), unit="articles")
    write_articles(articles, step.path("articles"), snakemake.input[0], parse.max_articles)
