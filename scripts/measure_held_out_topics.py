"""Measure how coherent topics fitted to a half of the articles are in the other half."""

from onelayer.job import job
from onelayer.settings.topics import LdaSettings
from onelayer.text.topics.bag import read_bag
from onelayer.text.topics.quality import held_out_coherence

with job(snakemake) as step:
    bag = read_bag(snakemake.input.vocabulary, snakemake.input.counts)
    settings = snakemake.params.settings
    of = LdaSettings(**settings["lda"]), settings["seeds"], settings["top_words"]
    step.save(coherence=held_out_coherence(bag, *of, step.progress))
