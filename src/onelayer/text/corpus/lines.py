"""Lines of text files of any origin, and rows of JSON and CSV, as they come.

Whatever is in a file, reading it needs memory for a line only (of JSON that is one list, for all of
it), and ends with its lines or with one line that names it. (`datasets` would guess each column's
type from the first rows, and fails where later ones differ.)
"""

import csv
import json
from collections.abc import Iterator
from pathlib import Path

from onelayer.errors import OnelayerError
from onelayer.text.untrusted import open_unpacked

LONGEST_LINE = 1 << 28  # bytes
BOM = "\ufeff"  # the mark with which some editors begin a file in UTF-8; no word of it

csv.field_size_limit(LONGEST_LINE)


def lines(path: Path) -> Iterator[str]:
    """The lines of a text file, with their ends; unpacked if need be.

    Raises:
        OnelayerError: the file is empty, not UTF-8, not whole, or grows too much.
    """
    place = 0
    try:
        with open_unpacked(path) as file:
            while line := file.readline(LONGEST_LINE + 1):
                if len(line) > LONGEST_LINE:
                    raise OnelayerError(f"{path}: a line is longer than {LONGEST_LINE} bytes")
                text = line.decode()
                yield text if place else text.removeprefix(BOM)
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
        if number == 1 and line.lstrip().startswith("["):
            yield from _objects(path, 1, "".join(lines(path)))
            return
        if line.strip():
            yield from _objects(path, number, line)


def _objects(path: Path, number: int, text: str) -> Iterator[dict]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        said = "it nests too deeply" if isinstance(error, RecursionError) else error
        raise OnelayerError(f"{path}: not a whole json file (line {number}: {said})") from None
    for row in found if isinstance(found, list) else [found]:
        if not isinstance(row, dict):
            kind = type(row).__name__
            raise OnelayerError(f"{path}: line {number} holds {kind}; a row is an object")
        yield row


def csv_rows(path: Path, *_: object) -> Iterator[dict]:
    """Every value as text: `007` is an id, `NA` a word."""
    rows = csv.DictReader(lines(path), restkey="", restval="", strict=True)
    try:
        for row in rows:
            if isinstance(row.get(""), list):
                raise csv.Error("more values than columns")
            yield row
    except csv.Error as error:
        where = f"line {rows.line_num}"
        raise OnelayerError(f"{path}: not a whole csv file ({where}: {error})") from None
