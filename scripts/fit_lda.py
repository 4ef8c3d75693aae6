"""Fit LDA to a bag of words by the backend that the settings name."""

from onelayer.run.step import Step, run
from onelayer.settings.topics import LdaSettings
from onelayer.text.topics.bag_of_words import read_bag_of_words
from onelayer.text.topics.lda import fit_lda
from onelayer.text.topics.model import write_topics


def main(step: Step, lda: LdaSettings) -> None:
    bag = read_bag_of_words(step.inputs.vocabulary, step.inputs.counts)
    write_topics(fit_lda(bag, lda, step.progress), step.outputs.topics)


if __name__ == "__main__":
    run(main, inputs=["vocabulary", "counts*"], outputs=["topics"])
