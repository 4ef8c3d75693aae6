"""Build a corpus's word-level vocabulary and encode its articles, the text of every pretraining."""

from onelayer.run.step import Step, run, scratch_folder
from onelayer.settings.pretraining import TextSettings
from onelayer.text.corpus.storage import read_articles, read_column, write_rows
from onelayer.text.pretraining.text import encode_articles
from onelayer.text.pretraining.vocabulary import (
    build_vocabulary,
    word_level_tokenizer,
    write_tokenizer,
)


def main(step: Step, text: TextSettings) -> None:
    paths = [step.inputs.articles]
    vocabulary = build_vocabulary(read_column(paths, "text"), text)
    tokenizer = word_level_tokenizer(vocabulary["piece"])
    with scratch_folder(step.outputs.text) as scratch:
        place = scratch / "encoded.arrow"
        encoded = encode_articles(read_articles(paths), tokenizer, text, place)
        write_rows(encoded, step.outputs.text)
    vocabulary.to_parquet(step.outputs.vocabulary, index=False, compression="zstd")
    write_tokenizer(tokenizer, step.outputs.tokenizer)


if __name__ == "__main__":
    run(main, inputs=["articles"], outputs=["vocabulary", "text", "tokenizer/"])
