"""Measure a topic model: NMI against human topics, NPMI (held out, too), topics used, top words."""

from onelayer.job import job
from onelayer.settings.topics import LdaSettings
from onelayer.text.corpus.articles import read_column
from onelayer.text.topics.bag import read_bag
from onelayer.text.topics.lda import read_topics
from onelayer.text.topics.quality import held_out_coherence, measure_quality

with job(snakemake) as step:
    bag = read_bag(snakemake.input.vocabulary, snakemake.input.counts)
    labels = list(read_column(snakemake.input.articles, "label"))
    lda, most = LdaSettings(**step.settings["lda"]), step.settings["top_words"]
    topics = read_topics(snakemake.input.topics)
    quality, words = measure_quality(bag, topics, labels, lda, most)
    held_out = held_out_coherence(bag, lda, step.settings["seeds"], most, step.progress)
    quality.loc[len(quality)] = "npmi_held_out", held_out, len(topics.alpha)
    step.save(quality=quality, words=words)
