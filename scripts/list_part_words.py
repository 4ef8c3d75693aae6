"""List the words of one part of a corpus, and how its articles use them."""

from onelayer.corpus.storage import read_column
from onelayer.settings.topics import WordSettings
from onelayer.step import Step, run
from onelayer.topics.word_lists import write_word_list


def main(step: Step) -> None:
    texts = step.progress(read_column([step.inputs.articles], "text"), unit=" articles")
    write_word_list(texts, step.settings, step.outputs.words)


if __name__ == "__main__":
    run(main, settings=WordSettings, inputs=["articles"], outputs=["words"])
