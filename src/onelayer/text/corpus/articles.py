"""What an article is, its words, and the Parquet file that holds a corpus."""

import heapq
import itertools
import logging
import re
from collections.abc import Iterable, Iterator
from hashlib import sha256
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet as pq

from onelayer.errors import OnelayerError

COLUMNS = ["id", "title", "text", "label"]  # label: a human topic, where there is one
Article = tuple[str, str, str, str | None]  # as COLUMNS
BATCH = 1000  # rows read and written at once
_SCHEMA = pa.schema([(column, pa.string()) for column in COLUMNS])

log = logging.getLogger("onelayer")


def words(text: str) -> list[str]:
    """Lower-cased runs of letters, in order."""
    return re.findall(r"[^\W\d_]+", text.lower())


def tokens(text: str) -> list[str]:
    """Words, numbers and single punctuation marks in order, in the text's own case."""
    return re.findall(r"\w+|[^\w\s]", text)


def write_articles(
    articles: Iterable[Article], path: Path, source: str, most: int | None = None
) -> None:
    """Write articles to Parquet, batch by batch; those without text are left out, and counted.

    With `most`, those whose ids have the lowest hashes: a smaller choice is part of a larger one.
    """
    kept = _with_text(articles, source)
    if most is not None:
        chosen = heapq.nsmallest(most, enumerate(kept), key=lambda each: _hash(each[1][0]))
        kept = (article for _, article in sorted(chosen))
    with pq.ParquetWriter(path, _SCHEMA, compression="zstd") as writer:
        while batch := list(itertools.islice(kept, BATCH)):
            columns = dict(zip(COLUMNS, zip(*batch, strict=True), strict=True))
            writer.write_table(pa.table(columns, _SCHEMA))


def _with_text(articles: Iterable[Article], source: str) -> Iterator[Article]:
    numbers, empty = {}, []  # places by id, from 1; titles
    for number, article in enumerate(articles, 1):
        article_id, title, text, _ = article
        if not text.strip():
            empty.append(title or article_id)
        elif (first := numbers.setdefault(article_id, number)) != number:
            same = f"articles {first} and {number} have the same id {article_id!r}"
            raise OnelayerError(f"{source}: {same}")
        else:
            yield article
    if not numbers:
        raise OnelayerError(f"{source}: the corpus is empty: no article with any text in it")
    if empty:
        log.warning("%s: %d without text left out, first %r", source, len(empty), empty[0])


def _hash(article_id: str) -> bytes:
    return sha256(article_id.encode()).digest()


def read_column(path: Path, column: str = "text") -> Iterator[str | None]:
    """One column of a corpus, row after row; no more than a batch of it is in memory."""
    # With pre_buffer Arrow would read ahead until it holds the whole file.
    with pq.ParquetFile(path, pre_buffer=False) as file:
        for batch in file.iter_batches(BATCH, columns=[column]):
            yield from batch.column(0).to_pylist()


def read_articles(path: Path, most: int | None = None) -> pd.DataFrame:
    """The articles of a corpus, columns `COLUMNS`; or so many, chosen as in `write_articles`."""
    places = range(rows := pq.read_metadata(path).num_rows)
    if most is not None and most < rows:
        hashes = list(map(_hash, read_column(path, "id")))
        places = sorted(heapq.nsmallest(most, places, key=hashes.__getitem__))
    return pa.dataset.dataset(path).take(list(places), columns=COLUMNS).to_pandas()
