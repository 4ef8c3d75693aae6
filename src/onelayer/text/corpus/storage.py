"""Articles on disk: an Arrow dataset of Hugging Face's `datasets`, memory-mapped, in one file.

Fingerprints are given wherever a dataset is made or cut: `datasets` would otherwise name it by a
hash of a pickle, and no result depends on such a name.
"""

import logging
from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from itertools import chain, islice
from pathlib import Path

import datasets
import numpy as np
import pyarrow as pa
from datasets import Dataset, Features, Value, concatenate_datasets
from datasets.arrow_writer import ArrowWriter
from datasets.table import MemoryMappedTable

from onelayer.errors import OnelayerError
from onelayer.text.corpus.articles import COLUMNS, Article

FEATURES = Features({column: Value("string") for column in COLUMNS})
BATCH = 1000  # rows read and written at once

log = logging.getLogger("onelayer")

# Steps have their own bar, and say in one line what failed.
datasets.disable_progress_bars()
datasets.logging.set_verbosity(logging.CRITICAL + 1)


def open_rows(path: Path) -> Dataset:
    """The rows of an Arrow file, none of them in memory yet.

    Raises:
        OnelayerError: it is no whole Arrow file.
    """
    try:
        return Dataset(MemoryMappedTable.from_file(str(path)), fingerprint="file")
    except (pa.ArrowInvalid, OSError) as error:
        raise OnelayerError(f"{path}: not a whole Arrow dataset ({error})") from None


def write_rows(rows: Dataset, path: Path) -> None:
    """Write rows to one Arrow file, batch by batch; its bytes depend on nothing else."""
    write_all([rows], path, str(path))


def write_all(parts: Iterable[Dataset], path: Path, source: str) -> None:
    """Write rows of several datasets with the same columns to one Arrow file.

    Raises:
        OnelayerError: one has other columns than the first.
    """
    parts = iter(parts)
    first = next(parts)

    def tables() -> Iterator[pa.Table]:
        for rows in chain([first], parts):
            if rows.features != first.features:
                raise OnelayerError(
                    f"{source}: files differ in their columns: {rows.features} and {first.features}"
                )
            yield from rows.with_format("arrow").iter(BATCH)

    write_tables(tables(), first.features, path)


def write_tables(tables: Iterable[pa.Table], features: Features, path: Path) -> None:
    """Write tables to one Arrow file, each as a batch of it."""
    with ArrowWriter(features=features, path=str(path)) as writer:
        for table in tables:
            writer.write_table(table)
        writer.finalize()


def write_articles(
    articles: Iterable[Article], path: Path, source: str, may_be_empty: bool = False
) -> None:
    """Write articles to one Arrow file, batch by batch; those without text are left out, and said.

    Errors name the `source`; a part of a corpus `may_be_empty`.

    Raises:
        OnelayerError: there is no article with text and there must be one, or two have the same id.
    """
    ids: dict[str, int] = {}  # by which article of the source it is, from 1
    empty: list[str] = []

    def with_text() -> Iterator[Article]:
        for number, article in enumerate(articles, 1):
            article_id, title, text, _ = article
            if not text.strip():
                empty.append(title or article_id)
                continue
            if (first := ids.setdefault(article_id, number)) != number:
                raise OnelayerError(
                    f"{source}: articles {first} and {number} have the same id {article_id!r}; ids "
                    "must differ"
                )
            yield article

    def tables() -> Iterator[pa.Table]:
        rows = with_text()
        while batch := list(islice(rows, BATCH)):
            columns = dict(zip(COLUMNS, zip(*batch, strict=True), strict=True))
            yield pa.table(columns, schema=FEATURES.arrow_schema)

    write_tables(tables(), FEATURES, path)
    if not ids and not may_be_empty:
        raise OnelayerError(f"{source}: the corpus is empty: no article with any text in it")
    if empty:
        log.warning("%s: %d without text left out, first %r", source, len(empty), empty[0])


def read_articles(paths: Sequence[Path]) -> Dataset:
    """The articles of a corpus, one file or part after the other.

    Raises:
        OnelayerError: a file is no Arrow dataset or lacks a column, or none has an article.
    """
    articles = concatenate_datasets([_open(path, COLUMNS) for path in paths])
    if not len(articles):
        raise OnelayerError(f"{paths[0]}: the corpus is empty: no articles")
    return articles


def read_column(paths: Sequence[Path], column: str) -> Iterator[str | None]:
    """One column of the articles of a corpus, row after row.

    Raises:
        OnelayerError: a file is no Arrow dataset or lacks the column.
    """
    for path in paths:
        for batch in _open(path, [column]).select_columns([column]).iter(BATCH):
            yield from batch[column]


def subset(articles: Dataset, most: int | None) -> Dataset:
    """At most so many articles, chosen by a hash of the id, in corpus order.

    A smaller subset is part of every larger one, and a later corpus version changes only the
    articles that it changed.
    """
    if most is None or len(articles) <= most:
        return articles
    ids = (i for batch in articles.select_columns(["id"]).iter(BATCH) for i in batch["id"])
    order = sorted((sha256(i.encode()).digest(), place) for place, i in enumerate(ids))
    return at(articles, sorted(place for _, place in order[:most]))


def at(rows: Dataset, places: Sequence[int] | range | np.ndarray) -> Dataset:
    """The rows at some places."""
    return rows.select(places, new_fingerprint="places")


def _open(path: Path, needed: Sequence[str]) -> Dataset:
    rows = open_rows(path)
    if missing := [column for column in needed if column not in rows.column_names]:
        raise OnelayerError(
            f"{path}: no column {', '.join(missing)}; its columns: {', '.join(rows.column_names)}"
        )
    return rows
