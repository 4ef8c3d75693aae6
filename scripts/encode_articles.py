"""Build a corpus's word-level vocabulary and encode its articles, the text of every pretraining."""

from onelayer.corpus.articles import read_articles
from onelayer.pretraining.text import encode_articles, write_encoded
from onelayer.pretraining.vocabulary import build_vocabulary, word_level_tokenizer, write_tokenizer
from onelayer.settings.pretraining import TextSettings
from onelayer.step import Step, run


def main(step: Step) -> None:
    articles = read_articles(step.inputs.articles)
    vocabulary = build_vocabulary(articles["text"], step.settings)
    tokenizer = word_level_tokenizer(vocabulary["piece"])
    encoded = encode_articles(articles, tokenizer, step.settings.held_out_share)
    vocabulary.to_parquet(step.outputs.vocabulary, index=False, compression="zstd")
    write_encoded(encoded, step.outputs.text)
    write_tokenizer(tokenizer, step.outputs.tokenizer)


if __name__ == "__main__":
    inputs = ["articles"]
    run(main, TextSettings, inputs, ["vocabulary", "text", "tokenizer/"])
