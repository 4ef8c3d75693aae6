"""Build the word-level vocabulary of a corpus and encode its articles, the text of pretraining."""

from pathlib import Path

from onelayer.job import job
from onelayer.settings.pretraining import TextSettings
from onelayer.text.corpus.articles import read_column
from onelayer.text.pretraining.text import encode_articles, write_texts
from onelayer.text.pretraining.vocabulary import (
    build_vocabulary,
    word_level_tokenizer,
    write_tokenizer,
)

with job(snakemake) as step:
    settings = TextSettings(**snakemake.params.settings)
    articles = Path(snakemake.input.articles)
    vocabulary = build_vocabulary(read_column(articles, "text"), settings)
    tokenizer = word_level_tokenizer(vocabulary["piece"])
    write_tokenizer(tokenizer, step.folder("tokenizer"))
    texts = zip(read_column(articles, "id"), read_column(articles, "text"), strict=True)
    encoded = encode_articles(texts, tokenizer, settings.held_out_share)
    write_texts(encoded, step.path("text"), ["ids", "held_out"])
    step.save(vocabulary=vocabulary)
