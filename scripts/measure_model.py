"""Measure a model's ratios over its checkpoints, the authors' way and ours: intervals and nulls."""

import pandas as pd

from onelayer.job import job
from onelayer.settings.probe import UncertaintySettings
from onelayer.settings.topics import AmbiguitySettings
from onelayer.topic_structure.wikipedia.measure import as_it_is, measure_attention
from onelayer.topic_structure.wikipedia.similarity import measure_embeddings
from onelayer.topic_structure.wikipedia.words import keep_words, label_words

with job(snakemake) as step:
    uncertainty, params = UncertaintySettings(**snakemake.params.settings), snakemake.params
    pairs, vocabulary = map(pd.read_parquet, (snakemake.input.pairs, snakemake.input.vocabulary))
    weights = [pairs[name].to_numpy() for name in pairs if name.startswith("weight ")]
    embeddings = [of for _, of in pd.read_parquet(snakemake.input.embeddings).groupby("checkpoint")]
    authors = AmbiguitySettings(**params.authors)
    ways = {  # the words of each, and its weights
        "authors": (
            keep_words(snakemake.input.authors_topics, vocabulary, authors),
            [as_it_is(pairs, weight, params.reference_length) for weight in weights],
        ),
        "ours": (pd.read_parquet(snakemake.input.kept_words), weights),
    }
    measured = []
    for way, (kept, weights) in ways.items():
        labels = label_words(kept, vocabulary, pairs["first"].cat.categories)
        # Thousands of words in several topics each: their embeddings at the tightest alone.
        tight = labels.only_first() if way == "authors" else labels
        of = uncertainty, params.seeds
        parts = [
            measure_attention(pairs, weights, labels, *of),
            measure_embeddings(embeddings, tight, *of, step.progress),
        ]
        measured.append(pd.concat(parts).assign(way=way))
    step.save(measures=pd.concat(measured, ignore_index=True))
