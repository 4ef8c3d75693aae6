"""Fit a topic model that the probe's sensitivity is compared over."""

from onelayer.job import job
from onelayer.settings.topics import LdaSettings
from onelayer.text.topics.bag import read_bag
from onelayer.text.topics.lda import fit_topics, write_topics

with job(snakemake) as step:
    bag = read_bag(snakemake.input.vocabulary, snakemake.input.counts)
    lda, weights = LdaSettings(**snakemake.params.settings), snakemake.params.weights
    write_topics(fit_topics(bag, lda, weights, step.progress), step.path("topics"))
