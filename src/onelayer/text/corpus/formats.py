"""The articles of a corpus, whatever the format of its files."""

import itertools
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from onelayer.errors import OnelayerError
from onelayer.settings.corpus import ParseSettings
from onelayer.text.corpus.articles import COLUMNS, Article, check_columns
from onelayer.text.corpus.lines import BOM, csv_rows, json_rows, lines
from onelayer.text.corpus.parquet import MAGIC, parquet_rows

# WikiText sets punctuation apart with spaces and marks what it took out of the middle of words:
# `well @-@ known`, `1 @,@ 000`.
_JOINED = re.compile(r" @([-,.])@ ")
# A section has more signs (` = = Title = = `); a line that only begins so is text.
_TITLE = re.compile(r" = (?!= )(.+)(?<! =) = ")
_SECTION = re.compile(r"^ ?(?:= )+(.*?)(?: =)+ ?$")


def read_corpus(paths: Iterable[Path], settings: ParseSettings) -> Iterator[Article]:
    """Articles of files, in their order; each file is opened when it is its turn.

    Raises:
        OnelayerError: a file is not what its format says; one line with its name.
    """
    if settings.format == "wikitext":  # an article may go on in the next file
        return articles_of_wikitext(itertools.chain.from_iterable(map(lines_of_wikitext, paths)))
    return itertools.chain.from_iterable(
        _articles_of_file(number, path, settings) for number, path in enumerate(paths)
    )


def _articles_of_file(number: int, path: Path, settings: ParseSettings) -> Iterator[Article]:
    """An article without an id has the numbers of its file and of its row or line, from 0."""
    match settings.format:
        case "mediawiki-xml":
            # gensim takes longer to load than many a corpus to read.
            from onelayer.text.corpus.dump import read_dump

            yield from read_dump(path)
        case "text":
            yield str(number), path.stem, "".join(lines(path)), None
        case "lines":
            for place, line in enumerate(lines(path)):
                yield f"{number}-{place}", "", line.rstrip("\r\n"), None
        case _:
            yield from _articles_of_rows(number, path, settings)


def _articles_of_rows(number: int, path: Path, settings: ParseSettings) -> Iterator[Article]:
    """Ids, titles and labels may be of any kinds, mixed ones too; they become text."""
    names = {column: settings.columns.get(column, column) for column in COLUMNS}
    needed = {names["text"], *settings.columns.values()}
    seen: dict[str, None] = {}
    place = -1
    for place, row in enumerate(ROWS[settings.format](path, names.values(), needed)):
        seen |= dict.fromkeys(row)
        values = _values(row, names, f"{path}: row {place}")
        article_id = f"{number}-{place}" if values["id"] is None else values["id"]
        text = (values["text"] or "").removeprefix(BOM)
        yield article_id, values["title"] or "", text, values["label"] or None
    if place < 0:
        raise OnelayerError(f"{path}: not a whole {settings.format} file (it has no rows)")
    check_columns(path, seen, needed)


def _values(row: Mapping, names: Mapping[str, str], where: str) -> dict[str, str | None]:
    values = {}
    for column, name in names.items():
        value = row.get(name)
        kind = type(value).__name__
        fault = None
        if column == "text" and not isinstance(value, str | None):
            fault = f"holds {kind}, not text"
        elif isinstance(value, list | dict | bytes):
            fault = f"holds {kind}, not text or numbers"
        elif column == "id" and value in (None, "") and name in row:
            fault = "holds nothing; give all an id, or none"
        else:
            try:
                values[column] = None if value is None else str(value)
                (values[column] or "").encode()  # JSON can hold halves of characters
            except ValueError as error:  # a number of more digits than Python writes, too
                fault = f"holds no text ({error})"
        if fault:
            raise OnelayerError(f"{where}: column {name} {fault}")
    return values


def lead_rows(path: Path, *_: object) -> list[dict]:
    """Lead sections of Wikipedia's vital articles, `{title: {title, extract, topic}}`."""
    try:
        return [
            {"id": key, "title": each["title"], "text": each["extract"]}
            | {"label": each["topic"] if each["topic"] != "Uncategorized" else None}
            for key, each in json.loads("".join(lines(path))).items()
        ]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise OnelayerError(
            f"{path}: not a JSON file of lead sections, "
            f"{{title: {{title, extract, topic}}}}: {type(error).__name__} {error}"
        ) from None


ROWS = {"parquet": parquet_rows, "json": json_rows, "csv": csv_rows, "lead-sections": lead_rows}


def lines_of_wikitext(path: Path) -> Iterator[str]:
    """The lines of a text file, or of a Parquet file's column `text`, without their ends."""
    with open(path, "rb") as file:
        parquet = file.read(4) == MAGIC
    if not parquet:
        yield from (line.rstrip("\r\n") for line in lines(path))
        return
    rows = _articles_of_rows(0, path, ParseSettings(format="parquet"))
    yield from (text.removesuffix("\n") for _, _, text, _ in rows)


def articles_of_wikitext(all_lines: Iterable[str]) -> Iterator[Article]:
    """Articles of WikiText (Merity et al. 2016) out of the lines of all files, one after the other.

    An article starts at a line ` = Title = ` between empty lines (formulas look like titles at
    times, but never stand so), and may go on in the next file; lines before the first title are
    left out. Sections' headings stay as text. There are no ids: an article's id is its title,
    counted where repeated.
    """
    seen: Counter[str] = Counter()
    title, text, before = None, [], ""
    for line, after in itertools.pairwise(itertools.chain(all_lines, [""])):
        heading = None if before.strip() or after.strip() else _TITLE.fullmatch(line)
        if title is not None and heading:
            yield _article(title, text, seen)
        if heading:
            title, text = heading[1].strip(), []
        elif title is not None:
            text.append(line)
        before = line
    if title is not None:
        yield _article(title, text, seen)


def _article(title: str, text: list[str], seen: Counter[str]) -> Article:
    title = _JOINED.sub(r"\1", title)
    seen[title] += 1
    article_id = title if seen[title] == 1 else f"{title} ({seen[title]})"
    plain = "\n".join(_SECTION.sub(r"\1", line).strip() for line in text if line.strip())
    return article_id, title, _JOINED.sub(r"\1", plain), None
