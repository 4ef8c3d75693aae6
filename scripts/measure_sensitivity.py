"""Probe a checkpoint in many ways, one choice changed in each."""

import pandas as pd

from onelayer.job import job
from onelayer.settings.probe import AttentionProbeSettings, UncertaintySettings
from onelayer.settings.topic_structure import Way
from onelayer.text.corpus.articles import read_articles
from onelayer.text.models.checkpoints import load_checkpoint
from onelayer.text.models.tokenizer import load_tokenizer
from onelayer.text.topics.ambiguity import filter_ambiguous_words
from onelayer.text.topics.lda import read_topics
from onelayer.topic_structure.wikipedia.probe import sample_articles
from onelayer.topic_structure.wikipedia.sensitivity import measure_ways

with job(snakemake) as step:
    given, folder = dict(snakemake.params.settings), snakemake.params.folder
    uncertainty = UncertaintySettings(**given.pop("uncertainty"))
    ways = [Way(**way) for way in given.pop("ways")]
    settings = AttentionProbeSettings(**given)
    vocabulary = pd.read_parquet(snakemake.input.vocabulary)
    kept = {}
    for way, path in zip(ways, snakemake.input.topics, strict=True):
        of = read_topics(path).word_probability, vocabulary["word"].tolist(), way.ambiguity()
        kept[way.name] = filter_ambiguous_words(*of, allow_empty=True)
    articles = sample_articles(read_articles(snakemake.input.articles), settings)
    model, tokenizer = load_checkpoint(folder, step.device), load_tokenizer(folder)
    how = ways, kept, vocabulary, settings, uncertainty, step.progress
    step.save(measures=measure_ways(model, tokenizer, articles, *how))
