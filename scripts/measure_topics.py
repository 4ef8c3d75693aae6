"""Measure a topic model: NMI against human topics, NPMI, topics used, topics by human topic."""

from onelayer.job import job
from onelayer.settings.topics import LdaSettings
from onelayer.text.corpus.articles import read_column
from onelayer.text.topics.bag import read_bag
from onelayer.text.topics.lda import read_topics
from onelayer.text.topics.quality import measure_quality

with job(snakemake) as step:
    bag = read_bag(snakemake.input.vocabulary, snakemake.input.counts)
    labels = list(read_column(snakemake.input.articles, "label"))
    lda = LdaSettings(**snakemake.params.settings["lda"])
    topics, most = read_topics(snakemake.input.topics), snakemake.params.settings["top_words"]
    quality, words, shares = measure_quality(bag, topics, labels, lda, most)
    step.save(quality=quality, words=words, shares=shares)
