"""The words of one part of a corpus on disk: `word`, `documents`, `occurrences`, alphabetically."""

from collections.abc import Iterable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from onelayer.text.topics.bag_of_words import WordUse, list_words

BATCH = 10_000  # words read at once
_ARTICLES = b"articles"
_SCHEMA = pa.schema([("word", pa.string()), ("documents", pa.int64()), ("occurrences", pa.int64())])


def write_word_list(texts: Iterable[str], min_letters: int, path: Path) -> None:
    """List the words of texts, and write them and how many texts there are."""
    articles = 0

    def counted() -> Iterator[str]:
        nonlocal articles
        for text in texts:
            articles += 1
            yield text

    columns = list(zip(*list_words(counted(), min_letters), strict=True)) or [[], [], []]
    schema = _SCHEMA.with_metadata({_ARTICLES: str(articles)})
    arrays = [pa.array(c, t) for c, t in zip(columns, schema.types, strict=True)]
    table = pa.Table.from_arrays(arrays, schema=schema)
    pq.write_table(table, path, compression="zstd", row_group_size=BATCH)


def read_word_list(path: Path) -> Iterator[WordUse]:
    """The words of `write_word_list`, in order, no more than a batch of them in memory."""
    # With pre_buffer Arrow reads ahead until it holds the whole file.
    with pq.ParquetFile(path, pre_buffer=False) as file:
        for batch in file.iter_batches(batch_size=BATCH):
            columns = (batch[name].to_pylist() for name in WordUse._fields)
            yield from map(WordUse._make, zip(*columns, strict=True))


def articles_listed(path: Path) -> int:
    """How many articles the words come from."""
    return int(pq.read_schema(path).metadata[_ARTICLES])
