"""Fit LDA to a bag of words by the backend that the settings name."""

from onelayer.run.step import Step, program
from onelayer.settings.topics import LdaSettings
from onelayer.text.topics.bag_of_words import read_bag_of_words
from onelayer.text.topics.lda import fit_lda
from onelayer.text.topics.model import write_topics


@program(inputs="vocabulary counts*", outputs="topics")
def main(step: Step, lda: LdaSettings) -> None:
    bag = read_bag_of_words(step.inputs.vocabulary, step.inputs.counts)
    write_topics(fit_lda(bag, lda, step.progress), step.outputs.topics)
