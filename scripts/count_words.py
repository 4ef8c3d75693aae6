"""Count the words of a corpus: vocabulary and sparse counts."""

from onelayer.run.step import Step, program
from onelayer.settings.topics import WordSettings
from onelayer.text.corpus.storage import read_articles
from onelayer.text.models.tokenizer import load_tokenizer
from onelayer.text.topics.bag_of_words import count_words, write_bag_of_words


@program(inputs="articles tokenizers/*", outputs="vocabulary counts")
def main(step: Step, words: WordSettings) -> None:
    texts, tokenizers = read_articles([step.inputs.articles])["text"][:], step.inputs.tokenizers
    bag = count_words(texts, words, list(map(load_tokenizer, tokenizers)))
    write_bag_of_words(bag, **vars(step.outputs))
