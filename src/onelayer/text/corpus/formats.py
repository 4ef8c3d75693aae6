"""The articles of a corpus, whatever the format of its files."""

import itertools
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO
from xml.etree.ElementTree import Element, ParseError

from onelayer.errors import OnelayerError
from onelayer.settings.corpus import ParseSettings
from onelayer.text.corpus.articles import COLUMNS, Article
from onelayer.text.corpus.rows import check_columns, csv_rows, json_rows, lines, parquet_rows
from onelayer.text.untrusted import open_unpacked

# WikiText marks what it took out of the middle of words: `well @-@ known`, `1 @,@ 000`.
_JOINED = re.compile(r" @([-,.])@ ")
# A section has more signs (` = = Title = = `); a line that only begins so is text.
_TITLE = re.compile(r" = (?!= )(.+)(?<! =) = ")
_SECTION = re.compile(r"^ ?(?:= )+(.*?)(?: =)+ ?$")
# Before a MediaWiki dump may stand what XML says of itself, and space.
_ROOT = re.compile(rb"(?:\xef\xbb\xbf)?\s*(?:<\?xml\s[^<>]*\?>)?\s*<mediawiki[\s/>]")
_END_OF_PAGE = b"</page>"
LONGEST_PAGE = 1 << 28  # bytes; a wiki's longest pages have a hundredth of it
_REDIRECT = re.compile(r"\s*#redirect", re.IGNORECASE)
# filter_wiki leaves bold and italic quotes and the rules around headings in place.
_EMPHASIS = re.compile(r"'{2,}")
_HEADING = re.compile(r"^=+[ \t]*(.*?)[ \t]*=+[ \t]*$", re.MULTILINE)


def read_corpus(paths: Iterable[Path], settings: ParseSettings) -> Iterator[Article]:
    """Articles of files, in their order; each file is opened when it is its turn.

    An article without an id has the numbers of its file and of its row or line, from 0. A file that
    is not what its format says is an OnelayerError, one line with its name.
    """
    if settings.format == "wikitext":  # an article may go on in the next file
        yield from articles_of_wikitext(line for path in paths for line in lines_of_wikitext(path))
        return
    for number, path in enumerate(paths):
        if settings.format == "mediawiki-xml":
            yield from read_dump(path)
        elif settings.format == "text":
            yield str(number), path.stem, "".join(lines(path)), None
        elif settings.format == "lines":
            for place, line in enumerate(lines(path)):
                yield f"{number}-{place}", "", line.rstrip("\r\n"), None
        else:
            yield from _articles_of_rows(number, path, settings)


def _articles_of_rows(number: int, path: Path, settings: ParseSettings) -> Iterator[Article]:
    """Ids, titles and labels may be of any kinds, mixed ones too; they become text."""
    names = {column: settings.columns.get(column, column) for column in COLUMNS}
    needed = {names["text"], *settings.columns.values()}
    seen: dict[str, None] = {}
    place = -1
    for place, row in enumerate(ROWS[settings.format](path, names.values(), needed)):
        seen |= dict.fromkeys(row)
        values = {}
        for column, name in names.items():
            try:
                values[column] = _as_text(column, row.get(name), name in row)
            except ValueError as error:
                raise OnelayerError(f"{path}: row {place}: column {name} holds {error}") from None
        article_id = f"{number}-{place}" if values["id"] is None else values["id"]
        text = (values["text"] or "").removeprefix("\ufeff")  # as `lines` removes it
        yield article_id, values["title"] or "", text, values["label"] or None
    if place < 0:
        raise OnelayerError(f"{path}: not a whole {settings.format} file (it has no rows)")
    check_columns(path, seen, needed)


def _as_text(column: str, value: object, given: bool) -> str | None:
    if column == "text" and not isinstance(value, str | None):
        raise ValueError(f"{type(value).__name__}, not text")
    if isinstance(value, list | dict | bytes):
        raise ValueError(f"{type(value).__name__}, not text or numbers")
    if column == "id" and given and value in (None, ""):
        raise ValueError("nothing; give all an id, or none")
    try:
        text = None if value is None else str(value)
        (text or "").encode()  # JSON can hold halves of characters
    except ValueError as error:  # a number of more digits than Python writes, too
        raise ValueError(f"no text ({error})") from None
    return text


def lead_rows(path: Path, *_: object) -> list[dict]:
    """Lead sections of Wikipedia's vital articles, `{title: {title, extract, topic}}`."""
    try:
        return [
            {"id": key, "title": each["title"], "text": each["extract"]}
            | {"label": each["topic"] if each["topic"] != "Uncategorized" else None}
            for key, each in json.loads("".join(lines(path))).items()
        ]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        said = f"not a JSON file of lead sections ({type(error).__name__} {error})"
        raise OnelayerError(f"{path}: {said}") from None


ROWS = {"parquet": parquet_rows, "json": json_rows, "csv": csv_rows, "lead-sections": lead_rows}


def lines_of_wikitext(path: Path) -> Iterator[str]:
    """The lines of a text file, or of a Parquet file's column `text`, without their ends."""
    with open(path, "rb") as file:
        parquet = file.read(4) == b"PAR1"
    if parquet:
        rows = _articles_of_rows(0, path, ParseSettings(format="parquet"))
        yield from (text.removesuffix("\n") for _, _, text, _ in rows)
    else:
        yield from (line.rstrip("\r\n") for line in lines(path))


def articles_of_wikitext(all_lines: Iterable[str]) -> Iterator[Article]:
    """Articles of WikiText (Merity et al. 2016) out of the lines of all files, one after the other.

    An article starts at a line ` = Title = ` between empty lines (formulas look like titles at
    times, but never stand so), and may go on in the next file. Sections' headings stay as text. An
    article's id is its title, counted where repeated.
    """
    seen: Counter[str] = Counter()
    title, text, before = None, [], ""
    pairs = itertools.pairwise(itertools.chain(all_lines, [""]))
    for line, after in itertools.chain(pairs, [(None, "")]):  # None: the end
        alone = line is not None and not before.strip() and not after.strip()
        heading = _TITLE.fullmatch(line) if alone else None
        if title is not None and (heading or line is None):
            seen[title] += 1
            article_id = title if seen[title] == 1 else f"{title} ({seen[title]})"
            plain = "\n".join(_SECTION.sub(r"\1", line).strip() for line in text if line.strip())
            yield article_id, title, _JOINED.sub(r"\1", plain), None
        if heading:
            title, text = _JOINED.sub(r"\1", heading[1].strip()), []
        elif title is not None:
            text.append(line)
        before = line


def read_dump(path: Path) -> Iterator[Article]:
    """Articles of a dump's main namespace, no redirects, without markup; some are empty."""
    # gensim takes longer to load than many a corpus to read.
    from gensim.corpora.wikicorpus import extract_pages, filter_wiki

    namespace = ""

    def note(page: Element, ns_path: str, **_) -> bool:
        nonlocal namespace
        namespace = page.find(ns_path).text
        return True

    try:
        with open_unpacked(path) as stream:
            for title, markup, page_id in extract_pages(_Bounded(stream), filter_articles=note):
                if namespace == "0" and not _REDIRECT.match(markup):
                    text = _HEADING.sub(r"\1", _EMPHASIS.sub("", filter_wiki(markup)))
                    yield str(page_id), title or "", text.strip(), None
    except AttributeError:  # the parser looks into what it has not found
        reason = "a page lacks its title, ns, id or revision with its text"
    except (OSError, EOFError, ParseError, StopIteration, RuntimeError, ValueError) as error:
        reason = f"{type(error).__name__} {' '.join(str(error).split())}"
    else:
        return
    raise OnelayerError(f"{path}: not a complete MediaWiki dump (.xml.bz2): {reason}")


class _Bounded:
    """A dump's XML as its parser reads it: nothing but a dump, and no page without an end."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream, self._tail = stream, b""
        self._open = 0  # bytes since a page ended
        begin = stream.peek(1)  # a whole buffer, unless the file ends
        if not _ROOT.match(begin):  # entities can be declared only before the first element
            said = "a dump begins with <mediawiki>, in UTF-8, and declares no entities"
            raise ValueError(f"it begins with {begin[:40]!r}; {said}")

    def read(self, size: int) -> bytes:  # as the parser calls it
        piece = self._stream.read(size)
        seam = self._tail + piece
        end = seam.rfind(_END_OF_PAGE)
        self._open = len(seam) - end if end >= 0 else self._open + len(piece)
        self._tail = seam[1 - len(_END_OF_PAGE) :]
        if self._open > LONGEST_PAGE:
            raise ValueError(f"a page is longer than {LONGEST_PAGE} bytes")
        return piece
