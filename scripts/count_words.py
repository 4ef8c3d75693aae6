"""Count the words of a corpus: vocabulary and sparse counts."""

from onelayer.run.step import Step, run
from onelayer.settings.topics import WordSettings
from onelayer.text.corpus.storage import read_articles
from onelayer.text.models.tokenizer import load_tokenizer
from onelayer.text.topics.bag_of_words import count_words, write_bag_of_words


def main(step: Step, words: WordSettings) -> None:
    texts = read_articles([step.inputs.articles])["text"][:]
    tokenizers = [load_tokenizer(path.parent) for path in step.inputs.tokenizers]
    bag = count_words(texts, words, tokenizers)
    write_bag_of_words(bag, step.outputs.vocabulary, step.outputs.counts)


if __name__ == "__main__":
    run(main, inputs=["articles", "tokenizers*"], outputs=["vocabulary", "counts"])
