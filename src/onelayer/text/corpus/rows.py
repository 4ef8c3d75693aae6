"""Rows of JSON lines, CSV and Parquet, and lines of text, one file after the other, as they come.

Files come from strangers: whatever is in one, reading it needs memory for some rows only (of JSON
that is one list, for all of it), and ends with its rows or with one line that names it. (`datasets`
would guess each column's type from the first rows, and fails where later ones differ.)
"""

import csv
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from onelayer.errors import OnelayerError
from onelayer.text.corpus.articles import BATCH, COLUMNS, Article
from onelayer.text.untrusted import check_growth, open_unpacked

LONGEST_LINE = 1 << 28  # bytes
BOM = "\ufeff"  # the mark with which some editors begin a file in UTF-8; no word of it
PARQUET = b"PAR1"

csv.field_size_limit(LONGEST_LINE)


def articles_of_rows(
    paths: Iterable[Path], format: str, columns: Mapping[str, str]
) -> Iterator[Article]:
    """Articles of files with a row for each, `parquet`, `json` or `csv`.

    An article without an id has the numbers of its file and of its row, from 0: `0-17`. Ids, titles
    and labels may be of any kinds; they become text. `columns` has the names of columns that are
    called otherwise in the files.

    Raises:
        OnelayerError: a file is not what its format says, has no text, or lacks a named column.
    """
    names = {column: columns.get(column, column) for column in COLUMNS}
    needed = {names["text"], *columns.values()}
    for number, path in enumerate(paths):
        seen: dict[str, None] = {}
        place = -1
        for place, row in enumerate(_READERS[format](path, list(names.values()), needed)):
            seen |= dict.fromkeys(row)
            where = f"{path}: row {place}: column"
            values = {
                column: _as_text(row.get(name), f"{where} {name}") for column, name in names.items()
            }
            if not isinstance(text := row.get(names["text"]), str | None):
                raise OnelayerError(
                    f"{where} {names['text']} holds {type(text).__name__}, not text"
                )
            if names["id"] in row and values["id"] is None:
                raise OnelayerError(f"{where} {names['id']} holds nothing; give all an id, or none")
            article_id = f"{number}-{place}" if values["id"] is None else values["id"]
            text = (text or "").removeprefix(BOM)
            yield article_id, values["title"] or "", text, values["label"] or None
        if place < 0:
            raise OnelayerError(f"{path}: not a whole {format} file (it has no rows)")
        _check_columns(path, seen, needed)


def _check_columns(path: Path, there: Iterable[str], needed: Iterable[str]) -> None:
    for name in sorted(set(needed) - set(there)):
        columns = ", ".join(map(str, list(there)[:20]))
        raise OnelayerError(
            f"{path}: no column {name}; its columns: {columns} (`parse.columns` names others)"
        )


def _as_text(value: object, where: str) -> str | None:
    if isinstance(value, list | dict | bytes):
        kind = type(value).__name__
        raise OnelayerError(f"{where} holds {kind}, not text or numbers")
    try:
        text = None if value is None else str(value)
        (text or "").encode()  # JSON can hold halves of characters, which are no text
    except ValueError as error:  # a number of more digits than Python writes, too
        raise OnelayerError(f"{where} holds no text ({error})") from None
    return text


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


def lines_of(path: Path) -> Iterator[str]:
    """The lines of a text file, or of a Parquet file's column `text`, without their ends."""
    with open(path, "rb") as file:
        parquet = file.read(4) == PARQUET
    if not parquet:
        yield from (line.rstrip("\r\n") for line in lines(path))
        return
    for row in _parquet(path, ["text"], {"text"}):
        if not isinstance(row["text"], str | None):
            raise OnelayerError(f"{path}: column text holds {type(row['text']).__name__}, not text")
        yield (row["text"] or "").removesuffix("\n").removeprefix(BOM)


def _json(path: Path, *_: object) -> Iterator[dict]:
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


def _csv(path: Path, *_: object) -> Iterator[dict]:
    """Every value as text: `007` is an id, `NA` a word."""
    rows = csv.DictReader(lines(path), restkey="", restval="", strict=True)
    try:
        for row in rows:
            if isinstance(row.get(""), list):
                raise csv.Error("more values than columns")
            yield row
    except csv.Error as error:
        raise OnelayerError(
            f"{path}: not a whole csv file (line {rows.line_num}: {error})"
        ) from None


def _parquet(path: Path, names: list[str], needed: set[str]) -> Iterator[dict]:
    """Rows of the named columns, in batches; numbers of Hugging Face's `ClassLabel` as its names.

    A text that stands in many rows is held once in the file: how long the texts of a batch are
    together is checked before they are made. So all that has no fixed width is read as places of
    values, whatever kind the schema claims; what cannot be is refused before it is read.
    """
    size, unpacked = path.stat().st_size, 0
    try:
        # What a file says of itself, and what the places of so many texts take at least.
        said = pq.read_metadata(path)
        groups = [said.row_group(place) for place in range(said.num_row_groups)]
        check_growth(
            path, size, max(4 * said.num_rows, sum(group.total_byte_size for group in groups))
        )
        leaves = [said.schema.column(place) for place in range(len(said.schema))]
        texts = [leaf.path for leaf in leaves if leaf.physical_type == "BYTE_ARRAY"]
        schema = pq.read_schema(path)
        labels = _class_labels(schema)
        with pq.ParquetFile(path, read_dictionary=texts, pre_buffer=False) as file:
            _check_columns(path, schema.names, needed)
            held = [name for name in schema.names if name in names]
            for name in held:
                if not _is_measured(file.schema_arrow.field(name).type):
                    kind = schema.field(name).type
                    raise OnelayerError(f"{path}: column {name} holds {kind}, not text or numbers")
            for batch in file.iter_batches(BATCH, columns=held):
                unpacked += sum(map(_bytes, batch.columns))
                check_growth(path, size, unpacked)
                for row in batch.to_pylist():
                    for name, known in labels.items():
                        if isinstance(place := row.get(name), int):
                            row[name] = known[place] if 0 <= place < len(known) else None
                    yield row
    except (pa.ArrowException, OSError, ValueError) as error:
        if getattr(error, "errno", None):
            raise
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise OnelayerError(f"{path}: not a whole parquet file ({reason})") from None


WIDEST = 256  # bits; of numbers


def _is_measured(kind: pa.DataType) -> bool:
    """Whether values are of a small width, or are read as places in a list of them."""
    if pa.types.is_dictionary(kind):
        return not pa.types.is_nested(kind.value_type)
    try:
        return pa.types.is_null(kind) or kind.bit_width <= WIDEST
    except ValueError:  # of no fixed width
        return False


def _bytes(column: pa.Array) -> int:
    """How long the texts of a column are together, each as often as it stands there."""
    if pa.types.is_dictionary(column.type) and not pa.types.is_primitive(column.type.value_type):
        lengths = pc.binary_length(column.dictionary).take(column.indices)
        return pc.sum(lengths).as_py() or 0
    return column.nbytes


def _class_labels(schema: pa.Schema) -> dict[str, list[str]]:
    said = json.loads((schema.metadata or {}).get(b"huggingface", b"{}"))
    features = said.get("info", {}).get("features", {})
    return {
        name: feature["names"]
        for name, feature in features.items()
        if isinstance(feature, dict) and feature.get("_type") == "ClassLabel"
    }


_READERS = {"json": _json, "csv": _csv, "parquet": _parquet}
