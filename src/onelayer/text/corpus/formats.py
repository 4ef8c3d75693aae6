"""The articles of a corpus, whatever the format of its files, and the subset that is kept."""

import itertools
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import pandas as pd

from onelayer.errors import OnelayerError
from onelayer.run.step import scratch_folder
from onelayer.settings.corpus import RowSettings, Slice
from onelayer.text.corpus.articles import Article, count_articles_and_words
from onelayer.text.corpus.rows import (
    ARROW,
    Piece,
    articles_of_files,
    articles_of_rows,
    lines_of_rows,
)
from onelayer.text.corpus.storage import (
    read_articles,
    read_column,
    subset,
    write_articles,
    write_rows,
)

# WikiText sets punctuation apart with spaces and marks what it took out of the middle of words:
# `well @-@ known`, `1 @,@ 000`.
_JOINED = re.compile(r" @([-,.])@ ")
_TITLE = re.compile(r"= (?!=)(.+)(?<!=) =", re.DOTALL)  # a section has more signs: `= = Title = =`
_SECTION = re.compile(r"^ ?(?:= )+(.*?)(?: =)+ ?$")


def whole(paths: Sequence[Path]) -> list[Piece]:
    """All of some files."""
    return [Piece(path, Slice.whole(place)) for place, path in enumerate(paths)]


def articles_of(pieces: Sequence[Piece], settings: RowSettings, scratch: Path) -> Iterator[Article]:
    """Articles of pieces of files, in their order; `scratch` as in `rows.load_rows`.

    Raises:
        OnelayerError: a file is not what its format says; one line with its name.
    """
    format, paths = settings.format, [piece.path for piece in pieces]
    if format == "lead-sections":
        return iter(read_lead_sections(*paths))
    if format == "mediawiki-xml":
        # Its parser is gensim's, which takes longer to load than many a corpus to read.
        from onelayer.text.corpus.mediawiki import read_dump

        return (article for piece in pieces for article in read_dump(*piece))
    if format == "wikitext":
        return articles_of_lines(lines_of_rows(pieces, format, scratch))
    if format == "text" and paths[0].suffix != ARROW:
        return articles_of_files(pieces, scratch)
    return articles_of_rows(pieces, format, settings.columns, scratch)


def parse(
    pieces: Sequence[Piece],
    settings: RowSettings,
    path: Path,
    progress: Callable[..., Iterable] = lambda items, **_: items,
    most: int | None = None,
    may_be_empty: bool = False,
) -> pd.DataFrame:
    """`write_articles` of pieces of files, or a subset of so many; `count_articles_and_words`.

    Raises:
        OnelayerError: as `articles_of` and `write_articles`.
    """
    source = ", ".join(str(piece.path) for piece in pieces)
    with scratch_folder(path) as scratch:
        everything = path if most is None else scratch / "articles.arrow"
        articles = progress(articles_of(pieces, settings, scratch), unit=" articles")
        write_articles(articles, everything, source, may_be_empty)
        if most is not None:
            write_rows(subset(read_articles([everything]), most), path)
    return count_articles_and_words(read_column([path], "text"), read_column([path], "label"))


def read_lead_sections(path: Path) -> list[Article]:
    """Lead sections of Wikipedia's vital articles, `{title: {title, extract, topic}}`.

    Raises:
        OnelayerError: the file is no such JSON.
    """
    try:
        entries = json.loads(path.read_text(encoding="utf-8"))
        return [
            (_text(title), _text(entry["title"]), _text(entry["extract"]), _label(entry["topic"]))
            for title, entry in entries.items()
        ]
    except UnicodeDecodeError as error:
        raise OnelayerError(f"{path}: not UTF-8 at byte {error.start + 1}") from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise OnelayerError(
            f"{path}: not a JSON file of lead sections, "
            f"{{title: {{title, extract, topic}}}}: {type(error).__name__} {error}"
        ) from None


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{type(value).__name__} in place of text")
    value.encode()  # JSON can hold halves of characters, which are no text
    return value


def _label(topic: str | None) -> str | None:
    return None if topic in (None, "", "Uncategorized") else _text(topic)


def articles_of_lines(lines: Iterable[str]) -> Iterator[Article]:
    """Articles of WikiText (Merity et al. 2016) out of the lines of all files, one after the other.

    An article starts at a line ` = Title = ` between empty lines, and may go on in the next file;
    lines before the first title (of a file read without the one before it) are left out. Sections'
    headings stay as text. There are no ids: an article's id is its title, counted where repeated.
    """
    seen: Counter[str] = Counter()
    title, text = None, []
    for line, heading in _with_titles(lines):
        if heading is None:
            text.append(line)
            continue
        if title is not None:
            yield _article(title, text, seen)
        title, text = heading[1].strip(), []
    if title is not None:
        yield _article(title, text, seen)


def _with_titles(lines: Iterable[str]) -> Iterator[tuple[str, re.Match | None]]:
    """Each line, and its match where it is an article's title.

    Formulas look like titles at times (` = 2 = `), but never stand between empty lines.
    """
    before, here = "", None
    for after in itertools.chain(lines, [""]):
        if here is not None:
            alone = not before.strip() and not after.strip()
            yield here, _TITLE.fullmatch(here.strip()) if alone else None
            before = here
        here = after


def _article(title: str, lines: list[str], seen: Counter[str]) -> Article:
    title = _JOINED.sub(r"\1", title)
    seen[title] += 1
    article_id = title if seen[title] == 1 else f"{title} ({seen[title]})"
    text = "\n".join(_SECTION.sub(r"\1", line).strip() for line in lines if line.strip())
    return article_id, title, _JOINED.sub(r"\1", text), None
