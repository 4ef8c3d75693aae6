"""Corpora in Parquet files of any size, read and written piece by piece: Wikipedia, WikiText.

pyarrow reads them batch by batch, so that no more than a row group of them is in memory. (The
library `datasets` streams local Parquet through the same reader, but a stream of its version 5.2
that is not read to its end keeps the process from ending: a step that fails would hang.)
"""

import heapq
import itertools
import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from onelayer.corpus.articles import COLUMNS, chance
from onelayer.errors import OnelayerError

Article = tuple[str, str, str, str | None]  # as COLUMNS

Stretch = tuple[Fraction, Fraction]  # of a file: where it starts and ends, as shares of its length
WHOLE = Fraction(0), Fraction(1)

BATCH = 1000  # rows read and written at once
_SCHEMA = pa.schema([(column, pa.string()) for column in COLUMNS])
# WikiText sets punctuation apart with spaces and marks what it took out of the middle of words:
# `well @-@ known`, `1 @,@ 000`.
_JOINED = re.compile(r" @([-,.])@ ")
_SECTION = re.compile(r"^ ?(?:= )+(.*?)(?: =)+ ?$")


def read_articles_parquet(paths: Sequence[Path]) -> Iterator[Article]:
    """Articles of files with a row for each: `id`, `title`, `text` and perhaps `label`.

    Raises:
        OnelayerError: a file is no Parquet file or lacks a column.
    """
    for path in paths:
        yield from read_articles_slice(path, WHOLE)


def read_articles_slice(path: Path, stretch: Stretch) -> Iterator[Article]:
    """Articles of a stretch of one such file, by row; see `read_articles_parquet`."""
    names = _columns(path, COLUMNS[:3])
    labelled = ["label"] if "label" in names else []
    for article_id, title, text, *label in _rows(path, COLUMNS[:3] + labelled, stretch):
        yield str(article_id), title, text or "", next(iter(label), None)


def read_wikitext(paths: Sequence[Path]) -> Iterator[Article]:
    """Articles of WikiText (Merity et al. 2016), whose files hold one line of text per row.

    An article starts at a line ` = Title = ` between empty lines, and may go on in the next file;
    lines before the first title (of a file read without the one before it) are left out. Sections'
    headings stay as text. There are no ids: an article's id is its title, counted where repeated.

    Raises:
        OnelayerError: a file is no Parquet file or has no column `text`.
    """
    seen: dict[str, int] = {}
    title, lines = None, []
    for line, is_title in _mark_titles(_lines(paths)):
        if not is_title:
            lines.append(line)
            continue
        if title is not None:
            yield _article(title, lines, seen)
        title, lines = line.strip()[2:-2].strip(), []
    if title is not None:
        yield _article(title, lines, seen)


def _lines(paths: Sequence[Path]) -> Iterator[str]:
    for path in paths:
        _columns(path, ["text"])
        for (line,) in _rows(path, ["text"]):
            yield line.removesuffix("\n")


def _mark_titles(lines: Iterable[str]) -> Iterator[tuple[str, bool]]:
    """Each line, and whether it is an article's title.

    Formulas look like titles at times (` = 2 = `), but never stand between empty lines.
    """
    before, here = "", None
    for after in itertools.chain(lines, [""]):
        if here is not None:
            alone = not before.strip() and not after.strip()
            yield here, alone and _is_heading(here)
            before = here
        here = after


def _is_heading(line: str) -> bool:
    """Whether a line is ` = Title = ` rather than a section's ` = = Title = = `."""
    line = line.strip()
    return (
        len(line) > 4
        and line.startswith("= ")
        and line.endswith(" =")
        and not line.startswith("= =")
        and not line.endswith("= =")
    )


def _article(title: str, lines: list[str], seen: dict[str, int]) -> Article:
    title = _JOINED.sub(r"\1", title)
    seen[title] = seen.get(title, 0) + 1
    article_id = title if seen[title] == 1 else f"{title} ({seen[title]})"
    text = "\n".join(_SECTION.sub(r"\1", line).strip() for line in lines if line.strip())
    return article_id, title, _JOINED.sub(r"\1", text), None


READERS: dict[str, Callable[[Sequence[Path]], Iterator[Article]]] = {
    "parquet": read_articles_parquet,
    "wikitext": read_wikitext,
}


def write_articles_of(
    read: Callable[[], Iterable[Article]],
    most: int | None,
    path: Path,
    source: str,
    may_be_empty: bool = False,
) -> None:
    """Write `articles.parquet`, batch by batch; articles without text are left out.

    Args:
        read: yields the articles, from the first one on at every call.
        most: keep this many, chosen as by `onelayer.corpus.articles.subset`; None: all.
        path: where to.
        source: where the articles come from, for errors.
        may_be_empty: a part of a corpus may have no article.

    Raises:
        OnelayerError: there is no article with text and there must be one, or two have the same id.
    """
    last = _last_chosen(read(), most)
    ids: set[str] = set()
    with pq.ParquetWriter(path, _SCHEMA, compression="zstd") as file:
        chosen = (a for a in read() if a[2].strip() and (last is None or chance(a[0]) <= last))
        while batch := list(itertools.islice(chosen, BATCH)):
            for article_id, *_ in batch:
                if article_id in ids:
                    raise OnelayerError(
                        f"{source}: two articles have the id {article_id!r}; ids must differ"
                    )
                ids.add(article_id)
            file.write_batch(pa.record_batch(list(zip(*batch, strict=True)), schema=_SCHEMA))
    if not ids and not may_be_empty:
        raise OnelayerError(f"{source}: the corpus is empty: no article with any text in it")


def read_column(paths: Sequence[Path], column: str) -> Iterator[str | None]:
    """One column of tables of articles, row after row; as `onelayer.corpus.articles` wrote them.

    Raises:
        OnelayerError: a file is no Parquet file or lacks the column.
    """
    for path in paths:
        _columns(path, [column])
        for (value,) in _rows(path, [column]):
            yield value


def count_articles(paths: Sequence[Path]) -> list[int]:
    """How many articles each table holds.

    Raises:
        OnelayerError: a file is no Parquet file, or none of them has an article.
    """
    for path in paths:
        _columns(path, COLUMNS)
    counts = [pq.read_metadata(path).num_rows for path in paths]
    if not sum(counts):
        raise OnelayerError(f"{paths[0]}: the corpus is empty: no articles")
    return counts


def read_articles_at(paths: Sequence[Path], places: np.ndarray) -> pd.DataFrame:
    """The articles at some places of a corpus, counted over all its tables, in corpus order.

    Reads the row groups that hold them, one at a time.

    Args:
        paths: the tables of articles.
        places: increasing, [articles].
    """
    found, before = [], 0
    for path in paths:
        with pq.ParquetFile(path, pre_buffer=False) as file:
            for group in range(file.metadata.num_row_groups):
                after = before + file.metadata.row_group(group).num_rows
                rows = places[(places >= before) & (places < after)] - before
                if len(rows):
                    found.append(file.read_row_group(group, columns=COLUMNS).take(rows))
                before = after
    return pa.concat_tables(found).to_pandas()


def _last_chosen(articles: Iterable[Article], most: int | None) -> bytes | None:
    """The hash up to which articles are chosen; None if all are."""
    if most is None:
        return None
    hashes = heapq.nsmallest(most, (chance(i) for i, _, text, _ in articles if text.strip()))
    return hashes[-1] if len(hashes) == most else None


def _row_groups(metadata: pq.FileMetaData, first: int, last: int) -> tuple[list[int], int]:
    """Row groups that hold rows `first` up to `last`, and how many rows stand before them."""
    sizes = [metadata.row_group(index).num_rows for index in range(metadata.num_row_groups)]
    ends = list(itertools.accumulate(sizes))
    groups = [
        index
        for index, (size, end) in enumerate(zip(sizes, ends, strict=True))
        if end > first and end - size < last
    ]
    return groups, ends[groups[0]] - sizes[groups[0]] if groups else first


def _columns(path: Path, needed: Sequence[str]) -> list[str]:
    try:
        names = pq.read_schema(path).names
    except (pa.ArrowInvalid, OSError) as error:
        raise OnelayerError(f"{path}: not a whole Parquet file ({error})") from None
    if missing := [name for name in needed if name not in names]:
        raise OnelayerError(
            f"{path}: no column {', '.join(missing)}; its columns: {', '.join(names)}"
        )
    return names


def _rows(path: Path, columns: Sequence[str], stretch: Stretch = WHOLE) -> Iterator[tuple]:
    try:
        # With pre_buffer Arrow reads ahead until it holds the whole file.
        with pq.ParquetFile(path, pre_buffer=False) as file:
            first, last = (math.floor(share * file.metadata.num_rows) for share in stretch)
            groups, before = _row_groups(file.metadata, first, last)
            batches = file.iter_batches(batch_size=BATCH, row_groups=groups, columns=list(columns))
            rows = itertools.chain.from_iterable(
                zip(*(batch[column].to_pylist() for column in columns), strict=True)
                for batch in batches
            )
            yield from itertools.islice(rows, first - before, last - before)
    except (pa.ArrowInvalid, OSError) as error:
        raise OnelayerError(f"{path}: not a whole Parquet file ({error})") from None
