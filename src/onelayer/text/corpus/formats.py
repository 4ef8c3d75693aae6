"""The articles of a corpus, whatever the format of its files and their origin, as they come.

Reading needs memory for a line or a batch (of one JSON list for all of it), and ends with its
articles or one line that names the file. (`datasets` guesses column types from the first rows.)
"""

import csv
import itertools
import json
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import BinaryIO
from xml.etree.ElementTree import Element, ParseError

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from onelayer.errors import OnelayerError
from onelayer.settings.corpus import ParseSettings
from onelayer.text.corpus.articles import BATCH, COLUMNS, Article
from onelayer.text.untrusted import check_growth, open_unpacked

# WikiText marks what it took out of the middle of words: `well @-@ known`, `1 @,@ 000`.
_JOINED = re.compile(r" @([-,.])@ ")
# A section has more signs (` = = Title = = `); a line that only begins so is text.
_TITLE = re.compile(r" = (?!= )(.+)(?<! =) = ")
_SECTION = re.compile(r"^ ?(?:= )+(.*?)(?: =)+ ?$")
# Before a MediaWiki dump may stand what XML says of itself, and space.
_ROOT = re.compile(rb"(?:\xef\xbb\xbf)?\s*(?:<\?xml\s[^<>]*\?>)?\s*<mediawiki[\s/>]")
_END_OF_PAGE = b"</page>"
LONGEST_PAGE = LONGEST_LINE = 1 << 28  # bytes; a wiki's longest pages have a hundredth of it
csv.field_size_limit(LONGEST_LINE)
# filter_wiki leaves bold and italic quotes and the rules around headings in place.
_HEADING = re.compile(r"^=+[ \t]*(.*?)[ \t]*=+[ \t]*$", re.MULTILINE)


def read_corpus(paths: Iterable[Path], settings: ParseSettings) -> Iterator[Article]:
    """Articles of files, in their order; each file is opened when it is its turn.

    An article without an id has the numbers of its file and its row, from 0. What is not as its
    format says is an OnelayerError, one line.
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
    # Ids, titles and labels may be of any kinds, mixed ones too; they become text.
    names = {column: settings.columns.get(column, column) for column in COLUMNS}
    needed = {names["text"], *settings.columns.values()}
    seen, place = {}, -1
    for place, row in enumerate(ROWS[settings.format](path, names.values(), needed)):
        seen |= dict.fromkeys(row)
        values = []
        for column, name in names.items():
            try:
                values.append(_as_text(column, row.get(name), name in row))
            except ValueError as error:
                raise OnelayerError(f"{path}: row {place}: column {name} holds {error}") from None
        article_id, title, text, label = values
        article_id = f"{number}-{place}" if article_id is None else article_id
        text = (text or "").removeprefix("\ufeff")  # as `lines` removes it
        yield article_id, title or "", text, label or None
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
        problem = f"not a JSON file of lead sections ({type(error).__name__} {error})"
        raise OnelayerError(f"{path}: {problem}") from None


def check_columns(path: Path, there: Iterable[str], needed: Iterable[str]) -> None:
    """Refuse a file that lacks a column, in one line that says which it has."""
    if missing := sorted(set(needed).difference(there)):
        problem = f"no column {missing[0]}; its columns: {', '.join(list(map(str, there))[:20])}"
        raise OnelayerError(f"{path}: {problem} (`parse.columns` names others)")


def lines(path: Path) -> Iterator[str]:
    """The lines of a text file in UTF-8, with their ends; unpacked if need be."""
    place, size = 0, path.stat().st_size
    try:
        with open_unpacked(path) as file:
            while line := file.readline(LONGEST_LINE + 1):
                if len(line) > LONGEST_LINE:
                    raise OnelayerError(f"{path}: a line is longer than {LONGEST_LINE} bytes")
                check_growth(path, size, place + len(line))
                text = line.decode()
                # The mark with which some editors begin a file in UTF-8 is no word of it.
                yield text if place else text.removeprefix("\ufeff")
                place += len(line)
    except UnicodeDecodeError as error:
        raise OnelayerError(f"{path}: not UTF-8 at byte {place + error.start + 1}") from None
    except (EOFError, OSError, ValueError) as error:
        if getattr(error, "errno", None):  # a file that must not be read
            raise
        raise OnelayerError(f"{path}: not a whole file ({error})") from None
    if not place:
        raise OnelayerError(f"{path}: not a whole file (it is empty)")


def json_rows(path: Path, *_: object) -> Iterator[dict]:
    """An object a line, or one list of objects."""
    for number, line in enumerate(lines(path), 1):
        whole = number == 1 and line.lstrip().startswith("[")
        if not line.strip():
            continue
        try:
            found = json.loads("".join(lines(path)) if whole else line)
        except (ValueError, RecursionError) as error:
            why = "it nests too deeply" if isinstance(error, RecursionError) else error
            raise OnelayerError(f"{path}: not a whole json file (line {number}: {why})") from None
        for row in found if isinstance(found, list) else [found]:
            if not isinstance(row, dict):
                kind = type(row).__name__
                raise OnelayerError(f"{path}: line {number} holds {kind}; a row is an object")
            yield row
        if whole:
            return


def csv_rows(path: Path, *_: object) -> Iterator[dict]:
    """Every value as text: `007` is an id, `NA` a word."""
    rows = csv.DictReader(lines(path), restkey="", restval="", strict=True)
    try:
        for row in rows:
            if isinstance(row.get(""), list):
                raise csv.Error("more values than columns")
            yield row
    except csv.Error as error:
        problem = f"not a whole csv file (line {rows.line_num}: {error})"
        raise OnelayerError(f"{path}: {problem}") from None


def parquet_rows(path: Path, names: Collection[str], needed: set[str]) -> Iterator[dict]:
    """Rows of the named columns that there are.

    A text in many rows is held once in the file: what has no fixed width is read as places of
    values, whatever the schema claims, and how much it makes is checked before it is made.
    """
    try:
        size, metadata = path.stat().st_size, pq.read_metadata(path)
        groups = sum(metadata.row_group(n).total_byte_size for n in range(metadata.num_row_groups))
        check_growth(path, size, max(groups, 4 * metadata.num_rows))
        leaves = [metadata.schema.column(place) for place in range(len(metadata.schema))]
        texts = [leaf.path for leaf in leaves if leaf.physical_type == "BYTE_ARRAY"]
        schema, unpacked = pq.read_schema(path), 0
        check_columns(path, schema.names, needed)
        with pq.ParquetFile(path, read_dictionary=texts, pre_buffer=False) as file:
            held = [name for name in schema.names if name in names]
            for name in held:  # of a small width, or read as places in a list of values
                kind, types = file.schema_arrow.field(name).type, pa.types
                small = types.is_primitive(kind) or types.is_null(kind) or types.is_decimal(kind)
                listed = types.is_dictionary(kind) and not types.is_nested(kind.value_type)
                if not (small or listed):
                    problem = f"column {name} holds {schema.field(name).type}, not text or numbers"
                    raise OnelayerError(f"{path}: {problem}")
            for batch in file.iter_batches(BATCH, columns=held):
                unpacked += sum(map(_bytes, batch.columns))
                check_growth(path, size, unpacked)
                yield from batch.to_pylist()
    except (pa.ArrowException, OSError, ValueError) as error:
        if getattr(error, "errno", None):
            raise
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise OnelayerError(f"{path}: not a whole parquet file ({reason})") from None


def _bytes(column: pa.Array) -> int:  # of texts, each as often as it stands there
    if pa.types.is_dictionary(column.type) and not pa.types.is_primitive(column.type.value_type):
        return pc.sum(pc.binary_length(column.dictionary).take(column.indices)).as_py() or 0
    return column.nbytes


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

    One starts at a line ` = Title = ` between empty lines, where no formula stands, and may go on
    in the next file. Sections' headings stay; its id is the title, counted where repeated.
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
            pages = extract_pages(_Bounded(path, stream), filter_articles=note)
            for title, markup, page_id in pages:
                if namespace == "0" and not re.match(r"\s*#redirect", markup, re.IGNORECASE):
                    text = _HEADING.sub(r"\1", re.sub("'{2,}", "", filter_wiki(markup)))
                    yield str(page_id), title or "", text.strip(), None
    except AttributeError:  # the parser looks into what it has not found
        reason = "a page lacks its title, ns, id or revision with its text"
    except (OSError, EOFError, ParseError, StopIteration, RuntimeError, ValueError) as error:
        reason = f"{type(error).__name__} {' '.join(str(error).split())}"
    else:
        return
    raise OnelayerError(f"{path}: not a complete MediaWiki dump (.xml.bz2): {reason}")


class _Bounded:  # a dump as its parser reads it: nothing but a dump, no page without an end
    def __init__(self, path: Path, stream: BinaryIO) -> None:
        self._path, self._size = path, path.stat().st_size
        self._stream, self._tail = stream, b""
        self._open = 0  # bytes since a page ended
        begin = stream.peek(1)  # a whole buffer, unless the file ends
        if not _ROOT.match(begin):  # entities can be declared only before the first element
            problem = "a dump begins with <mediawiki>, in UTF-8, and declares no entities"
            raise ValueError(f"it begins with {begin[:40]!r}; {problem}")

    def read(self, size: int) -> bytes:  # as the parser calls it
        piece = self._stream.read(size)
        check_growth(self._path, self._size, self._stream.tell())
        seam = self._tail + piece
        end = seam.rfind(_END_OF_PAGE)
        self._open = len(seam) - end if end >= 0 else self._open + len(piece)
        self._tail = seam[1 - len(_END_OF_PAGE) :]
        if self._open > LONGEST_PAGE:
            raise ValueError(f"a page is longer than {LONGEST_PAGE} bytes")
        return piece
