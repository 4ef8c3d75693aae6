"""Merge the word lists of a corpus's parts and prune them to the vocabulary."""

from onelayer.run.step import Step, program
from onelayer.settings.topics import WordSettings
from onelayer.text.models.tokenizer import load_tokenizer
from onelayer.text.topics.bag_of_words import articles_listed, merge_words, prune, read_word_list


@program(inputs="words* tokenizers/*", outputs="vocabulary")
def main(step: Step, words: WordSettings) -> None:
    paths, tokenizers = step.inputs.words, list(map(load_tokenizer, step.inputs.tokenizers))
    merged = step.progress(merge_words(map(read_word_list, paths)), unit=" words")
    step.write(vocabulary=prune(merged, sum(map(articles_listed, paths)), words, tokenizers))
