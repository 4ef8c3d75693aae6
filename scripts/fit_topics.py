"""Fit topic models to a bag of words: that of the tables, or those compared with it."""

from onelayer.job import job
from onelayer.settings.topics import LdaSettings
from onelayer.text.topics.bag import read_bag
from onelayer.text.topics.lda import fit_topics, read_topics, write_topics

with job(snakemake) as step:
    bag, folder = read_bag(*snakemake.input.bag), step.folder("topics")
    for name, how in step.settings.items():
        if how is None:  # as the tables' own
            topics = read_topics(snakemake.input.ours)
        else:
            lda, weights = how
            topics = fit_topics(bag, LdaSettings(**lda), weights, step.progress)
        write_topics(topics, folder / f"{name}.safetensors")
