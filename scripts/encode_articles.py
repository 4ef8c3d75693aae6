"""Build the word-level vocabulary of a corpus and encode its articles, the text of pretraining."""

from pathlib import Path

from onelayer.job import job
from onelayer.settings.models import TextSettings
from onelayer.text.corpus.articles import read_column
from onelayer.text.pretraining import text

with job(snakemake) as step:
    settings = TextSettings(**snakemake.params.settings)
    articles = Path(snakemake.input.articles)
    vocabulary = text.build_vocabulary(read_column(articles, "text"), settings)
    tokenizer = text.word_level_tokenizer(vocabulary["piece"])
    text.write_tokenizer(tokenizer, step.folder("tokenizer"))
    texts = zip(read_column(articles, "id"), read_column(articles, "text"), strict=True)
    encoded = text.encode_articles(texts, tokenizer, settings.held_out_share)
    text.write_texts(encoded, step.path("text"), ["ids", "held_out"])
    step.save(vocabulary=vocabulary)
