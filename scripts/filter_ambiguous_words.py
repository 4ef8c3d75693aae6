"""Keep each topic's most representative words, for every overlap mode and threshold."""

import pandas as pd

from onelayer.job import job
from onelayer.settings.topics import AmbiguitySettings
from onelayer.text.topics.lda import filter_ambiguous_words, read_topics

with job(snakemake) as step:
    words = pd.read_parquet(snakemake.input.vocabulary)["word"].tolist()
    probability = read_topics(snakemake.input.topics).word_probability
    ambiguity = AmbiguitySettings(**snakemake.params.settings)
    step.save(kept_words=filter_ambiguous_words(probability, words, ambiguity))
