"""Build the word-level vocabulary of corpora and encode their articles, the text of pretraining."""

from onelayer.run.step import Step, program
from onelayer.settings.pretraining import TextSettings
from onelayer.text.corpus.storage import read_column
from onelayer.text.pretraining import vocabulary as pieces
from onelayer.text.pretraining.text import write_encoded


@program(inputs="articles*", outputs="vocabulary text tokenizer/")
def main(step: Step, text: TextSettings) -> None:
    vocabulary = pieces.build_vocabulary(read_column(step.inputs.articles, "text"), text)
    tokenizer = pieces.word_level_tokenizer(vocabulary["piece"])
    write_encoded(step.inputs.articles, tokenizer, text, step.outputs.text)
    step.write(vocabulary=vocabulary)
    pieces.write_tokenizer(tokenizer, step.outputs.tokenizer)
