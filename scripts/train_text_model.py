"""Train the one-layer causal transformer on articles, and measure its attention on the way."""

import numpy as np

from onelayer.job import job
from onelayer.scan_snap import language_model
from onelayer.settings.scan_snap import LanguageModelSettings
from onelayer.text.corpus.articles import read_articles

with job(snakemake) as step:
    settings = LanguageModelSettings(**step.settings)
    articles = read_articles(snakemake.input.articles, settings.max_articles)
    text = language_model.encode(articles, settings)
    trained = language_model.train_language_model(text, settings, step.execution)
    step.save(measures=language_model.tabulate_measures(trained, text.bins))
    maps = trained.observed["map"].numpy()[[0, -1], 0]  # before and after, of the first seed
    with open(step.path("maps"), "wb") as file:  # np.savez would rename the file
        np.savez(file, maps=maps, tokens=[text.vocabulary[token] for token in text.shown])
