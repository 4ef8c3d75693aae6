"""Put words of several articles, or of several topics, together as inputs of pretraining."""

from pathlib import Path

import pandas as pd

from onelayer.job import job
from onelayer.settings.models import InputSettings
from onelayer.text.pretraining import text
from onelayer.text.topics.lda import read_topics

with job(snakemake) as step:
    settings = InputSettings(**snakemake.params.settings)
    pieces = pd.read_parquet(snakemake.input.vocabulary)["piece"]
    encoded = text.read_encoded(Path(snakemake.input.text), pieces)
    probability = None
    if settings.order == "drawn":
        topics = read_topics(Path(snakemake.input.topics[0])).word_probability
        words = pd.read_parquet(snakemake.input.topics[1])["word"]
        probability = text.probability_of_pieces(topics, words, pieces)
    rows = text.mix_articles(encoded, settings, probability)
    text.write_texts(rows, step.path("mixed"), list(text.COLUMNS))
