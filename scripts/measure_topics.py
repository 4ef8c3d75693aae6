"""Measure a topic model: NMI against human topics, NPMI, topics used, topics by human topic."""

from onelayer.run.step import Step, run
from onelayer.settings.topics import LdaSettings
from onelayer.text.corpus.storage import read_column
from onelayer.text.topics.bag_of_words import read_bag_of_words
from onelayer.text.topics.model import read_topics
from onelayer.text.topics.quality import measure_topics


def main(step: Step, lda: LdaSettings, top_words: int) -> None:
    bag = read_bag_of_words(step.inputs.vocabulary, step.inputs.counts)
    topics = read_topics(step.inputs.topics)
    labels = list(read_column(step.inputs.articles, "label"))
    measured = measure_topics(bag, topics, labels, lda, top_words)
    measured.quality.to_parquet(step.outputs.quality, index=False)
    measured.words.to_parquet(step.outputs.words, index=False)
    measured.shares.to_parquet(step.outputs.shares, index=False)


if __name__ == "__main__":
    inputs = ["articles*", "vocabulary", "counts*", "topics"]
    run(main, inputs=inputs, outputs=["quality", "words", "shares"])
