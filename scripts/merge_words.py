"""Merge the word lists of a corpus's parts and prune them to the vocabulary."""

from onelayer.run.step import Step, run
from onelayer.settings.topics import WordSettings
from onelayer.text.models.tokenizer import load_tokenizer
from onelayer.text.topics.bag_of_words import articles_listed, merge_words, prune, read_word_list


def main(step: Step, words: WordSettings) -> None:
    paths = step.inputs.words
    tokenizers = [load_tokenizer(path.parent) for path in step.inputs.tokenizers]
    merged = merge_words([read_word_list(path) for path in paths])
    articles = sum(map(articles_listed, paths))
    vocabulary = prune(step.progress(merged, unit=" words"), articles, words, tokenizers)
    vocabulary.to_parquet(step.outputs.vocabulary, index=False, compression="zstd")


if __name__ == "__main__":
    run(main, inputs=["words*", "tokenizers*"], outputs=["vocabulary"])
