"""Probe a checkpoint in many ways, one choice changed in each."""

import pandas as pd

from onelayer.job import job
from onelayer.settings.probe import AttentionProbeSettings, UncertaintySettings
from onelayer.settings.topic_structure import Way
from onelayer.text.models.checkpoints import load_checkpoint
from onelayer.text.models.tokenizer import load_tokenizer
from onelayer.topic_structure.wikipedia.probe import sample_articles
from onelayer.topic_structure.wikipedia.ratio import keep_words
from onelayer.topic_structure.wikipedia.variations import measure_ways

with job(snakemake) as step:
    given, params = snakemake.input, snakemake.params
    settings = AttentionProbeSettings(**params.settings)
    uncertainty = UncertaintySettings(**params.uncertainty)
    ways, vocabulary = [Way(**way) for way in params.ways], pd.read_parquet(given.vocabulary)
    topics = zip(ways, given.topics, strict=True)
    kept = {way.name: keep_words(path, vocabulary, way.ambiguity()) for way, path in topics}
    articles = sample_articles(given.articles, settings)
    model, tokenizer = load_checkpoint(params.folder, step.device), load_tokenizer(params.folder)
    how = ways, kept, vocabulary, settings, uncertainty, step.progress
    step.save(measures=measure_ways(model, tokenizer, articles, *how))
