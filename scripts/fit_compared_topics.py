"""Fit the topic models that the probe's sensitivity is compared over."""

from onelayer.job import job
from onelayer.settings.topics import LdaSettings
from onelayer.text.topics.bag import read_bag
from onelayer.text.topics.lda import fit_topics, read_topics, write_topics

with job(snakemake) as step:
    bag = read_bag(snakemake.input.vocabulary, snakemake.input.counts)
    ours, folder = step.settings["ours"], step.folder("topics")
    for name, (lda, weights) in step.settings["fits"].items():
        if (lda, weights) == (ours, "counts"):  # that of the tables
            topics = read_topics(snakemake.input.topics)
        else:
            topics = fit_topics(bag, LdaSettings(**lda), weights, step.progress)
        write_topics(topics, folder / f"{name}.safetensors")
