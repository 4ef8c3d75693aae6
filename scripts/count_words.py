"""Count the words of a corpus: vocabulary and sparse counts."""

from pathlib import Path

from onelayer.job import job
from onelayer.settings.topics import WordSettings
from onelayer.text.corpus.articles import read_column
from onelayer.text.models.tokenizer import load_tokenizer, piece_ids
from onelayer.text.topics.bag import count_words, write_bag

with job(snakemake) as step:
    tokenizers = [load_tokenizer(Path(file).parent) for file in snakemake.input.tokenizers]
    bag = count_words(
        lambda: step.progress(read_column(snakemake.input.articles), unit="articles"),
        WordSettings(**step.settings),
        lambda word: all(piece_ids(tokenizer, [word]) for tokenizer in tokenizers),
    )
    write_bag(bag, step.path("vocabulary"), step.path("counts"))
