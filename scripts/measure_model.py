"""Measure a model's attention and embedding ratios over its checkpoints: intervals and nulls."""

import pandas as pd

from onelayer.job import job
from onelayer.settings.probe import UncertaintySettings
from onelayer.topic_structure.wikipedia.measure import measure_attention
from onelayer.topic_structure.wikipedia.similarity import measure_embeddings
from onelayer.topic_structure.wikipedia.words import label_words

with job(snakemake) as step:
    uncertainty, seeds = UncertaintySettings(**snakemake.params.settings), snakemake.params.seeds
    pairs = [pd.read_parquet(path) for path in snakemake.input.pairs]
    embeddings = [pd.read_parquet(path) for path in snakemake.input.embeddings]
    files = snakemake.input.kept_words, snakemake.input.vocabulary
    kept, vocabulary = map(pd.read_parquet, files)
    labels = label_words(kept, vocabulary, pairs[0]["first"].cat.categories)
    measured = [
        measure_attention(pairs, labels, uncertainty, seeds),
        measure_embeddings(embeddings, labels, uncertainty, seeds, step.progress),
    ]
    step.save(measures=pd.concat(measured, ignore_index=True))
