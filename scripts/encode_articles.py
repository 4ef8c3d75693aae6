"""Build the word-level vocabulary of corpora and encode their articles, the text of pretraining."""

from onelayer.run.step import Step, program, scratch_folder
from onelayer.settings.pretraining import TextSettings
from onelayer.text.corpus.storage import read_articles, read_column, write_rows
from onelayer.text.pretraining import vocabulary as pieces
from onelayer.text.pretraining.text import encode_articles


@program(inputs="articles*", outputs="vocabulary text tokenizer/")
def main(step: Step, text: TextSettings) -> None:
    paths = step.inputs.articles
    drawn_by = "id" if len(paths) == 1 else "title"
    vocabulary = pieces.build_vocabulary(read_column(paths, "text"), text)
    tokenizer = pieces.word_level_tokenizer(vocabulary["piece"])
    with scratch_folder(step.outputs.text) as scratch:
        encoded = scratch / "encoded.arrow"
        rows = encode_articles(read_articles(paths), tokenizer, text, encoded, drawn_by)
        write_rows(rows, step.outputs.text)
    step.write(vocabulary=vocabulary)
    pieces.write_tokenizer(tokenizer, step.outputs.tokenizer)
