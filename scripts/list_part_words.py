"""List the words of one part of a corpus, and how its articles use them."""

from onelayer.run.step import Step, program
from onelayer.text.corpus.storage import read_column
from onelayer.text.topics.bag_of_words import write_word_list


@program(inputs="articles", outputs="words")
def main(step: Step, min_letters: int) -> None:
    texts = step.progress(read_column([step.inputs.articles], "text"), unit=" articles")
    write_word_list(texts, min_letters, step.outputs.words)
