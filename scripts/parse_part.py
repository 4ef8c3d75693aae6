"""Parse one part of a corpus into articles, and count its words; see `parse_articles`."""

from onelayer.corpus.articles import count_articles_and_words
from onelayer.corpus.formats import articles_of
from onelayer.corpus.rows import Piece
from onelayer.corpus.storage import read_column, write_articles
from onelayer.settings.corpus import PartSettings
from onelayer.step import Step, run, scratch_folder


def main(step: Step, part: PartSettings) -> None:
    pieces = list(map(Piece, step.inputs.source, part.read))
    articles, source = step.outputs.articles, ", ".join(map(str, step.inputs.source))
    with scratch_folder(articles) as scratch:
        found = step.progress(articles_of(pieces, part, scratch), unit=" articles")
        write_articles(found, articles, source, may_be_empty=True)
    texts, labels = read_column([articles], "text"), read_column([articles], "label")
    count_articles_and_words(texts, labels).to_parquet(step.outputs.summary, index=False)


if __name__ == "__main__":
    run(main, inputs=["source*"], outputs=["articles", "summary"])
