"""Parse one part of a corpus into articles, and count its words; see `parse_articles`."""

from onelayer.run.step import Step, program
from onelayer.settings.corpus import PartSettings
from onelayer.text.corpus import formats
from onelayer.text.corpus.rows import Piece


@program(inputs="source*", outputs="articles summary")
def main(step: Step, part: PartSettings) -> None:
    pieces, articles = list(map(Piece, step.inputs.source, part.read)), step.outputs.articles
    step.write(summary=formats.parse(pieces, part, articles, step.progress, may_be_empty=True))
