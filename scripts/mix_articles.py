"""Put words of several articles, or of several topics, together as inputs of pretraining."""

from pathlib import Path

import pandas as pd

from onelayer.job import job
from onelayer.settings.pretraining import InputSettings
from onelayer.text.pretraining.inputs import mix_articles, probability_of_pieces
from onelayer.text.pretraining.text import COLUMNS, read_encoded, write_texts
from onelayer.text.topics.lda import read_topics

with job(snakemake) as step:
    settings = InputSettings(**snakemake.params.settings)
    pieces = pd.read_parquet(snakemake.input.vocabulary)["piece"]
    encoded = read_encoded(Path(snakemake.input.text), pieces)
    probability = None
    if settings.order == "drawn":
        topics = read_topics(Path(snakemake.input.topics[0])).word_probability
        words = pd.read_parquet(snakemake.input.topic_words[0])["word"]
        probability = probability_of_pieces(topics, words, pieces)
    write_texts(mix_articles(encoded, settings, probability), step.path("mixed"), list(COLUMNS))
