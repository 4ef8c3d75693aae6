"""Measure a topic model: NMI against human topics, NPMI, topics used, topics by human topic."""

from onelayer.run.step import Step, program
from onelayer.settings.topics import LdaSettings
from onelayer.text.corpus.storage import read_column
from onelayer.text.topics.bag_of_words import read_bag_of_words
from onelayer.text.topics.model import read_topics
from onelayer.text.topics.quality import measure_topics


@program(inputs="articles* vocabulary counts* topics", outputs="quality words shares")
def main(step: Step, lda: LdaSettings, top_words: int) -> None:
    bag = read_bag_of_words(step.inputs.vocabulary, step.inputs.counts)
    labels = list(read_column(step.inputs.articles, "label"))
    step.write(**vars(measure_topics(bag, read_topics(step.inputs.topics), labels, lda, top_words)))
