"""Rows of a Parquet file of any origin: how much it makes is checked before it is made.

A text that stands in many rows is held once in the file. So all that has no fixed width is read as
places of values, whatever kind the schema claims; what cannot be is refused before it is read.
"""

import json
from collections.abc import Collection, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from onelayer.errors import OnelayerError
from onelayer.text.corpus.articles import BATCH, check_columns
from onelayer.text.untrusted import check_growth

MAGIC = b"PAR1"
WIDEST = 256  # bits; of numbers


def parquet_rows(path: Path, names: Collection[str], needed: set[str]) -> Iterator[dict]:
    """Rows of the named columns that there are; numbers of a `ClassLabel` as its names.

    Raises:
        OnelayerError: no whole Parquet file, one that grows too much, lacks a needed
            column, or holds no text in one.
    """
    try:
        size, said = path.stat().st_size, pq.read_metadata(path)
        groups = sum(said.row_group(n).total_byte_size for n in range(said.num_row_groups))
        check_growth(path, size, max(groups, 4 * said.num_rows))
        leaves = [said.schema.column(place) for place in range(len(said.schema))]
        texts = [leaf.path for leaf in leaves if leaf.physical_type == "BYTE_ARRAY"]
        schema, unpacked = pq.read_schema(path), 0
        labels = _class_labels(schema)
        check_columns(path, schema.names, needed)
        with pq.ParquetFile(path, read_dictionary=texts, pre_buffer=False) as file:
            held = [name for name in schema.names if name in names]
            for name in held:
                if not _is_measured(file.schema_arrow.field(name).type):
                    kind = schema.field(name).type
                    raise OnelayerError(f"{path}: column {name} holds {kind}, not text or numbers")
            for batch in file.iter_batches(BATCH, columns=held):
                unpacked += sum(map(_bytes, batch.columns))
                check_growth(path, size, unpacked)
                for row in batch.to_pylist():
                    for name in labels.keys() & row.keys():
                        row[name] = labels[name].get(row[name])
                    yield row
    except (pa.ArrowException, OSError, ValueError) as error:
        if getattr(error, "errno", None):
            raise
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise OnelayerError(f"{path}: not a whole parquet file ({reason})") from None


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


def _class_labels(schema: pa.Schema) -> dict[str, dict[int, str]]:
    said = json.loads((schema.metadata or {}).get(b"huggingface", b"{}"))
    features = said.get("info", {}).get("features", {})
    return {
        name: dict(enumerate(feature["names"]))
        for name, feature in features.items()
        if isinstance(feature, dict) and feature.get("_type") == "ClassLabel"
    }
