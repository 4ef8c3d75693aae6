"""Parse a downloaded corpus into articles (id, title, text, human topic), and count its words."""

from onelayer.run.step import Step, program
from onelayer.settings.corpus import ParseSettings
from onelayer.text.corpus import formats


@program(inputs="source*", outputs="articles summary")
def main(step: Step, parse: ParseSettings) -> None:
    pieces, articles = formats.whole(step.inputs.source), step.outputs.articles
    step.write(summary=formats.parse(pieces, parse, articles, step.progress, parse.max_articles))
