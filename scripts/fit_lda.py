"""Fit LDA to a bag of words by the backend that the settings name."""

from onelayer.job import job
from onelayer.settings.topics import LdaSettings
from onelayer.text.topics.bag import read_bag
from onelayer.text.topics.lda import fit_topics, write_topics

with job(snakemake) as step:
    bag = read_bag(snakemake.input.vocabulary, snakemake.input.counts)
    lda = LdaSettings(**snakemake.params.settings)
    write_topics(fit_topics(bag, lda, progress=step.progress), step.path("topics"))
