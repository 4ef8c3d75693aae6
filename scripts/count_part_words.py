"""Count the words of the vocabulary in one part of a corpus."""

from onelayer.run.step import Step, program
from onelayer.text.corpus.storage import read_column
from onelayer.text.topics.bag_of_words import count_in_vocabulary
from onelayer.text.topics.bags import write_counts


@program(inputs="articles vocabulary", outputs="counts")
def main(step: Step) -> None:
    texts = step.progress(read_column([step.inputs.articles], "text"), unit=" articles")
    write_counts(count_in_vocabulary(texts, step.read("vocabulary")), step.outputs.counts)
