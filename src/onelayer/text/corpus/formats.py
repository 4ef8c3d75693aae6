"""The articles of a corpus, whatever the format of its files, and the subset that is kept."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path

from onelayer.settings.corpus import RowSettings, Slice
from onelayer.text.corpus.articles import Article
from onelayer.text.corpus.lead_sections import read_lead_sections
from onelayer.text.corpus.rows import (
    ARROW,
    Piece,
    articles_of_files,
    articles_of_rows,
    lines_of_rows,
)
from onelayer.text.corpus.storage import read_articles, subset, write_articles, write_rows
from onelayer.text.corpus.wikitext import articles_of_lines


def whole(paths: Sequence[Path]) -> list[Piece]:
    """All of some files."""
    return [Piece(path, Slice.whole(place)) for place, path in enumerate(paths)]


def articles_of(pieces: Sequence[Piece], settings: RowSettings, scratch: Path) -> Iterator[Article]:
    """Articles of pieces of files, in their order.

    Args:
        pieces: what is read.
        settings: the format.
        scratch: see `onelayer.text.corpus.rows.load_rows`.

    Raises:
        OnelayerError: a file is not what its format says; one line with its name.
    """
    format, paths = settings.format, [piece.path for piece in pieces]
    if format == "lead-sections":
        return iter(read_lead_sections(*paths))
    if format == "mediawiki-xml":
        # Its parser is gensim's, which takes longer to load than many a corpus to read.
        from onelayer.text.corpus.mediawiki import read_dump, read_dump_slice

        if [piece.slice for piece in pieces] == [Slice.whole(0)]:
            return read_dump(*paths)
        return chain.from_iterable(
            read_dump_slice(path, (cut.start, cut.end)) for path, cut in pieces
        )
    if format == "wikitext":
        return articles_of_lines(lines_of_rows(pieces, format, scratch))
    if format == "text" and paths[0].suffix != ARROW:
        return articles_of_files(pieces, scratch)
    return articles_of_rows(pieces, format, settings.columns, scratch)


def keep_articles(
    articles: Iterable[Article], most: int | None, path: Path, scratch: Path, source: str
) -> None:
    """Write articles, or a subset of so many of them.

    Raises:
        OnelayerError: as `write_articles`.
    """
    everything = path if most is None else scratch / "articles.arrow"
    write_articles(articles, everything, source)
    if most is not None:
        write_rows(subset(read_articles([everything]), most), path)
