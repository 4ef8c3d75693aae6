"""Parse a downloaded corpus into articles (id, title, text, human topic), and count its words."""

from onelayer.run.step import Step, program, scratch_folder
from onelayer.settings.corpus import ParseSettings
from onelayer.text.corpus.articles import count_articles_and_words
from onelayer.text.corpus.formats import articles_of, keep_articles, whole
from onelayer.text.corpus.storage import read_column


@program(inputs="source*", outputs="articles summary")
def main(step: Step, parse: ParseSettings) -> None:
    pieces, articles = whole(step.inputs.source), step.outputs.articles
    source = ", ".join(str(piece.path) for piece in pieces)
    with scratch_folder(articles) as scratch:
        found = step.progress(articles_of(pieces, parse, scratch), unit=" articles")
        keep_articles(found, parse.max_articles, articles, scratch, source)
    texts, labels = read_column([articles], "text"), read_column([articles], "label")
    step.write(summary=count_articles_and_words(texts, labels))
