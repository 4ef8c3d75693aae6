"""Parse one part of a corpus into articles, and count its words; see `parse_articles`."""

from onelayer.run.step import Step, program, scratch_folder
from onelayer.settings.corpus import PartSettings
from onelayer.text.corpus.articles import count_articles_and_words
from onelayer.text.corpus.formats import articles_of
from onelayer.text.corpus.rows import Piece
from onelayer.text.corpus.storage import read_column, write_articles


@program(inputs="source*", outputs="articles summary")
def main(step: Step, part: PartSettings) -> None:
    pieces = list(map(Piece, step.inputs.source, part.read))
    articles, source = step.outputs.articles, ", ".join(map(str, step.inputs.source))
    with scratch_folder(articles) as scratch:
        found = step.progress(articles_of(pieces, part, scratch), unit=" articles")
        write_articles(found, articles, source, may_be_empty=True)
    texts, labels = read_column([articles], "text"), read_column([articles], "label")
    step.write(summary=count_articles_and_words(texts, labels))
