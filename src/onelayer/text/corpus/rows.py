"""Rows of files, read by the packaged readers of Hugging Face's `datasets`, and their articles.

`load_dataset` runs no code but its own and asks no hub here. What it makes of a file, an Arrow
file, lies in the scratch folder of the step and never in the user's home.
"""

import codecs
import glob
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from datasets import ClassLabel, Dataset, DownloadConfig, Features, Value, load_dataset
from datasets.utils.extract import Extractor

from onelayer.errors import OnelayerError
from onelayer.fetching.unpacking import check_growth, packed_as, unpack
from onelayer.settings.corpus import Column, RowFormat, Slice
from onelayer.text.corpus.articles import COLUMNS, Article
from onelayer.text.corpus.storage import BATCH, at, open_rows

ARROW = ".arrow"
TEXTS = ("string", "large_string", "string_view")
_READERS = {
    "parquet": ("parquet", {"batch_size": BATCH}),
    "wikitext": ("parquet", {"batch_size": BATCH}),
    "json": ("json", {"parse_agent_traces": False}),
    "csv": ("csv", {"keep_default_na": False}),  # `NA` is a word, too
    "text": ("text", {"sample_by": "document"}),
    "lines": ("text", {"sample_by": "line"}),
}


class Piece(NamedTuple):
    """A stretch of a file that is read."""

    path: Path
    slice: Slice  # which of the corpus's files it is, and where the stretch starts and ends


def load_rows(path: Path, format: RowFormat, scratch: Path) -> Dataset:
    """The rows of a file; the Arrow file that is made of it lies in `scratch` while it is used.

    Raises:
        OnelayerError: it cannot be read as what it should be, with its name.
    """
    reader, options = _READERS[format]
    plain = _plain(path, scratch)
    if plain.is_file():
        if not plain.stat().st_size:
            raise OnelayerError(f"{path}: not a whole {format} file (it is empty)")
        for check in _CHECKED[reader]:
            check(plain, path)
    try:
        if reader == "csv":
            # Every column as text: `007` is an id.
            names = pd.read_csv(plain, nrows=0).columns
            options = options | {"features": Features(dict.fromkeys(names, Value("string")))}
        return load_dataset(
            reader,
            data_files={"train": [glob.escape(str(plain))]},
            split="train",
            cache_dir=str(scratch),
            download_config=DownloadConfig(cache_dir=scratch / "unpacked"),
            verification_mode="no_checks",
            **options,
        )
    except Exception as error:  # of every kind, from pyarrow, pandas, ujson and `datasets`
        reason = error.__cause__ or error
        if getattr(reason, "errno", None):  # a full disk, a file that must not be read
            raise reason from None
    said = str(reason).strip().splitlines() or ["it is empty"]
    raise OnelayerError(f"{path}: not a whole {format} file ({said[0]})")


def _plain(path: Path, scratch: Path) -> Path:
    """A file, or what it unpacks to: `datasets` would unpack whatever comes, and without end."""
    if not path.is_file():
        return path
    plain = path
    if kind := packed_as(path):
        plain = scratch / "unpacked/0"  # no ending, from which a reader would guess
        plain.parent.mkdir(parents=True, exist_ok=True)
        unpack(path, kind, plain)
    try:
        inside = Extractor.infer_extractor_format(plain)
    except Exception as error:  # of every kind, from tarfile, zipfile and what they open
        inside = f"damaged ({type(error).__name__})"
    if inside:
        raise OnelayerError(f"{path}: a {inside} archive; unpack it, and name the files in it")
    return plain


def _check_parquet(plain: Path, path: Path) -> None:
    """Look at what a file says of itself, then at how long its texts are, before one is made.

    A text that stands in many rows is held once: what a file says of its size leaves out how often.
    """
    try:
        said = pq.read_metadata(plain)
    except (pa.ArrowException, OSError):
        return  # the reader says why
    groups = [said.row_group(place) for place in range(said.num_row_groups)]
    chunks = [group.column(place) for group in groups for place in range(group.num_columns)]
    # What the places of so many texts or numbers take.
    least = 4 * max(said.num_rows, sum(chunk.num_values for chunk in chunks))
    size = plain.stat().st_size
    check_growth(path, size, max(least, sum(group.total_byte_size for group in groups)))
    texts = sorted({c.path_in_schema for c in chunks if c.physical_type == "BYTE_ARRAY"})
    unpacked = 0
    try:
        with pq.ParquetFile(plain, read_dictionary=texts) as file:
            for batch in file.iter_batches(BATCH, columns=texts):
                unpacked += sum(map(_bytes_of_texts, batch.columns))
                check_growth(path, size, unpacked)
    except (pa.ArrowException, OSError):
        return


def _bytes_of_texts(column: pa.Array) -> int:
    """How long the texts of a column are together, each as often as it stands there."""
    if pa.types.is_dictionary(column.type):
        lengths = pc.binary_length(column.dictionary)
        return pc.sum(lengths.take(column.indices)).as_py() or 0
    if pa.types.is_struct(column.type):
        return sum(map(_bytes_of_texts, column.flatten()))
    return _bytes_of_texts(column.flatten()) if pa.types.is_nested(column.type) else column.nbytes


def _check_utf8(plain: Path, path: Path) -> None:
    decoder, before = codecs.getincrementaldecoder("utf-8")(), 0
    with open(plain, "rb") as file:
        while True:
            piece = file.read(1 << 20)
            held = len(decoder.getstate()[0])
            try:
                decoder.decode(piece, final=not piece)
            except UnicodeDecodeError as error:
                place = before - held + error.start + 1
                raise OnelayerError(f"{path}: not UTF-8 at byte {place}") from None
            before += len(piece)
            if not piece:
                return


DEEPEST = 256  # levels by which 64 kB of JSON may nest
_QUOTED = re.compile(rb'"(?:[^"\\]|\\.)*("?)', re.DOTALL)
_STEP = np.zeros(256, dtype=np.int32)
_STEP[list(b"[{")], _STEP[list(b"]}")] = 1, -1


def _nests(piece: bytes) -> int:
    """By how many levels a piece of JSON nests, its texts left out."""
    if piece.count(b"[") + piece.count(b"{") <= DEEPEST:
        return 0
    return int(_STEP[np.frombuffer(_QUOTED.sub(b"", piece), np.uint8)].cumsum().max(initial=0))


def _cut_text(piece: bytes) -> bytes:
    """What a piece of a line leaves open: a quotation mark, and a backslash at the cut; or none."""
    *_, last = None, *_QUOTED.finditer(piece)
    return b"" if last is None or last[1] else b'"' + piece[last.end() :]


def _check_json(plain: Path, path: Path) -> None:
    """Refuse rows that are `null` or nest deeply: pyarrow's reader does not survive them."""
    number, before = 1, b""  # of the line; of a text in which a long line was cut
    with open(plain, "rb") as file:
        while piece := file.readline(1 << 16):
            if piece.strip(b" \t\r\n,[]") == b"null":
                raise OnelayerError(f"{path}: line {number} is null; a row is an object")
            if _nests(before + piece) > DEEPEST:
                raise OnelayerError(f"{path}: line {number} nests more than {DEEPEST} levels")
            if piece.endswith(b"\n"):
                number, before = number + 1, b""
            else:
                before = _cut_text(before + piece)


BOM = "\ufeff"  # the mark with which some editors begin a file in UTF-8; no word of it
_CHECKED = {
    "parquet": [_check_parquet],
    "json": [_check_utf8, _check_json],
    "csv": [_check_utf8],
    "text": [_check_utf8],
}


def read_rows(
    pieces: Sequence[Piece], format: RowFormat, scratch: Path
) -> Iterator[tuple[Piece, Dataset, int]]:
    """The rows of pieces, as `load_rows`, and which row of its file the first of them is."""
    for piece in pieces:
        if piece.path.suffix == ARROW:
            rows = open_rows(piece.path)
        else:
            rows = load_rows(piece.path, format, scratch)
        first, last = (math.floor(share * len(rows)) for share in piece.slice[1:])
        yield piece, at(rows, range(first, last)), first


def articles_of_rows(
    pieces: Sequence[Piece], format: RowFormat, columns: Mapping[Column, str], scratch: Path
) -> Iterator[Article]:
    """Articles of rows, one each, with or without ids, titles and human topics of their own.

    An article without an id has the numbers of its file and of its row, from 0: `0-17`. `columns`
    are those that have other names in the files; `scratch` is as in `load_rows`.

    Raises:
        OnelayerError: a file cannot be read, has no text, or lacks a column that is named.
    """
    for piece, rows, first in read_rows(pieces, format, scratch):
        names = {column: columns.get(column, column) for column in COLUMNS}
        _check_columns(piece.path, rows, names["text"], *columns.values())
        for name in names.values():
            if not isinstance(kind := rows.features.get(name), Value | ClassLabel | None):
                raise OnelayerError(
                    f"{piece.path}: column {name} holds {_kind(kind)}, not text or numbers"
                )
        label = rows.features.get(names["label"])
        topics = label.names if isinstance(label, ClassLabel) else None
        for batch in rows.iter(BATCH):
            values = {column: batch[name] for column, name in names.items() if name in batch}
            if None in values.get("id", ()):
                place = first + values["id"].index(None)
                raise OnelayerError(
                    f"{piece.path}: column {names['id']} holds nothing in row {place}; each "
                    "article needs an id, or none has one"
                )
            missing = [None] * len(values["text"])
            numbers = [f"{piece.slice.file}-{first + place}" for place in range(len(missing))]
            labels = values.get("label", missing)
            if topics:
                labels = [topics[n] if n is not None and n >= 0 else None for n in labels]
            articles = (values.get("id", numbers), values.get("title", missing), values["text"])
            for article_id, title, text, label in zip(*articles, labels, strict=True):
                title = "" if title is None else str(title)
                label = None if label in (None, "") else str(label)
                yield str(article_id), title, (text or "").removeprefix(BOM), label
            first += len(missing)


def _kind(feature: object) -> str:
    """What `datasets` calls the values of a column, for readers."""
    return type(feature).__name__.lower().replace("json", "values of several kinds")


def _check_columns(path: Path, rows: Dataset, text: str, *others: str) -> None:
    for name in (text, *others):
        if name not in rows.column_names:
            there = ", ".join(rows.column_names)
            raise OnelayerError(
                f"{path}: no column {name}; its columns: {there} (`parse.columns` names others)"
            )
    kind = rows.features[text]
    if getattr(kind, "dtype", None) not in TEXTS:
        named = kind.dtype if isinstance(kind, Value) else _kind(kind)
        raise OnelayerError(f"{path}: column {text} holds {named}, not text")


def articles_of_files(pieces: Sequence[Piece], scratch: Path) -> Iterator[Article]:
    """Articles of text files, one each: its id is the file's number, its title the file's name.

    Raises:
        OnelayerError: a file is not text in UTF-8.
    """
    for piece in pieces:
        if piece.slice.end == 1:  # of parts, one has the file
            plain = _plain(piece.path, scratch)
            _check_utf8(plain, piece.path)
            yield str(piece.slice.file), piece.path.stem, plain.read_text("utf-8-sig"), None


def lines_of_rows(pieces: Sequence[Piece], format: RowFormat, scratch: Path) -> Iterator[str]:
    """The lines of files that hold one in each row, without their ends.

    Raises:
        OnelayerError: a file cannot be read or has no column `text`.
    """
    for piece, rows, _ in read_rows(pieces, format, scratch):
        _check_columns(piece.path, rows, "text")
        for batch in rows.iter(BATCH):
            yield from ((line or "").removesuffix("\n").removeprefix(BOM) for line in batch["text"])
