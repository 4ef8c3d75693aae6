"""Lines of text files, rows of JSON, CSV and Parquet, of any origin and as they come.

Reading needs memory for a line or a batch only (of JSON that is one list, for all of it), and ends
with its lines or with one line that names the file. (`datasets` would guess each column's type from
the first rows, and fails where later ones differ.)
"""

import csv
import json
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from onelayer.errors import OnelayerError
from onelayer.text.corpus.articles import BATCH
from onelayer.text.untrusted import check_growth, open_unpacked

LONGEST_LINE = 1 << 28  # bytes

csv.field_size_limit(LONGEST_LINE)


def check_columns(path: Path, there: Iterable[str], needed: Iterable[str]) -> None:
    """Refuse a file that lacks a column, in one line that says which it has."""
    if missing := sorted(set(needed).difference(there)):
        said = f"no column {missing[0]}; its columns: {', '.join(list(map(str, there))[:20])}"
        raise OnelayerError(f"{path}: {said} (`parse.columns` names others)")


def lines(path: Path) -> Iterator[str]:
    """The lines of a text file in UTF-8, with their ends; unpacked if need be."""
    place = 0
    try:
        with open_unpacked(path) as file:
            while line := file.readline(LONGEST_LINE + 1):
                if len(line) > LONGEST_LINE:
                    raise OnelayerError(f"{path}: a line is longer than {LONGEST_LINE} bytes")
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
            said = "it nests too deeply" if isinstance(error, RecursionError) else error
            raise OnelayerError(f"{path}: not a whole json file (line {number}: {said})") from None
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
        said = f"not a whole csv file (line {rows.line_num}: {error})"
        raise OnelayerError(f"{path}: {said}") from None


def parquet_rows(path: Path, names: Collection[str], needed: set[str]) -> Iterator[dict]:
    """Rows of the named columns that there are.

    A text that stands in many rows is held once in the file. So all that has no fixed width is read
    as places of values, whatever the schema claims, and how much it makes is checked before it is
    made.
    """
    try:
        size, said = path.stat().st_size, pq.read_metadata(path)
        groups = sum(said.row_group(n).total_byte_size for n in range(said.num_row_groups))
        check_growth(path, size, max(groups, 4 * said.num_rows))
        leaves = [said.schema.column(place) for place in range(len(said.schema))]
        texts = [leaf.path for leaf in leaves if leaf.physical_type == "BYTE_ARRAY"]
        schema, unpacked = pq.read_schema(path), 0
        check_columns(path, schema.names, needed)
        with pq.ParquetFile(path, read_dictionary=texts, pre_buffer=False) as file:
            held = [name for name in schema.names if name in names]
            for name in held:
                if not _is_measured(file.schema_arrow.field(name).type):
                    said = f"column {name} holds {schema.field(name).type}, not text or numbers"
                    raise OnelayerError(f"{path}: {said}")
            for batch in file.iter_batches(BATCH, columns=held):
                unpacked += sum(map(_bytes, batch.columns))
                check_growth(path, size, unpacked)
                yield from batch.to_pylist()
    except (pa.ArrowException, OSError, ValueError) as error:
        if getattr(error, "errno", None):
            raise
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise OnelayerError(f"{path}: not a whole parquet file ({reason})") from None


def _is_measured(kind: pa.DataType) -> bool:  # of a small width, or places in a list of values
    if pa.types.is_dictionary(kind):
        return not pa.types.is_nested(kind.value_type)
    return pa.types.is_primitive(kind) or pa.types.is_null(kind) or pa.types.is_decimal(kind)


def _bytes(column: pa.Array) -> int:  # of texts, each as often as it stands there
    if pa.types.is_dictionary(column.type) and not pa.types.is_primitive(column.type.value_type):
        lengths = pc.binary_length(column.dictionary).take(column.indices)
        return pc.sum(lengths).as_py() or 0
    return column.nbytes
