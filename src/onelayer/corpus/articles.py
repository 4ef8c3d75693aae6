"""The articles of a corpus: their table, their words, and how they are read and written."""

import hashlib
import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pandas as pd

from onelayer.errors import OnelayerError

COLUMNS = ["id", "title", "text", "label"]
_WORD = re.compile(r"[^\W\d_]+")
_TOKEN = re.compile(r"\w+|[^\w\s]")


def words(text: str) -> list[str]:
    """Lower-cased runs of letters, in order."""
    return _WORD.findall(text.lower())


def tokens(text: str) -> list[str]:
    """Words, numbers and single punctuation marks in order, in the text's own case.

    This is what a probed model reads: natural text, pre-split so that every tokenizer says
    which of its pieces belong to which word.
    """
    return _TOKEN.findall(text)


def count_articles_and_words(texts: Iterable[str], labels: Iterable[str | None]) -> pd.DataFrame:
    """Rows `label` (None where articles have none), `articles`, `words`; parts add up."""
    articles: Counter[str | None] = Counter()
    found: Counter[str | None] = Counter()
    for text, label in zip(texts, labels, strict=True):
        articles[label] += 1
        found[label] += len(words(text))
    rows = [(label, articles[label], found[label]) for label in articles]
    table = pd.DataFrame(rows, columns=["label", "articles", "words"])
    return table.astype({"label": "string", "articles": "int64", "words": "int64"})


def article_table(rows: list[tuple[str, str, str, str | None]], source: str) -> pd.DataFrame:
    """Articles as a table: `id`, `title`, `text`, `label` (human topic or missing).

    Raises:
        OnelayerError: there is no article with text in it, or two have the same id.
    """
    table = pd.DataFrame(rows, columns=COLUMNS)
    table = table[table["text"].str.strip() != ""].reset_index(drop=True)
    if table.empty:
        raise OnelayerError(f"{source}: the corpus is empty: no article with any text in it")
    if table["id"].duplicated().any():
        twice = table.loc[table["id"].duplicated(), "id"].iloc[0]
        raise OnelayerError(f"{source}: two articles have the id {twice!r}; ids must differ")
    return table


def subset(table: pd.DataFrame, most: int | None) -> pd.DataFrame:
    """At most so many articles, chosen by a hash of the id, in corpus order.

    A smaller subset is part of every larger one, and a later corpus version changes only the
    articles that it changed.
    """
    if most is None or len(table) <= most:
        return table
    order = table["id"].map(chance).sort_values().index
    return table.loc[sorted(order[:most])].reset_index(drop=True)


def chance(article_id: str) -> bytes:
    """A hash of an article's id; a subset takes the articles whose hashes come first."""
    return hashlib.sha256(article_id.encode()).digest()


def read_articles(path: Path) -> pd.DataFrame:
    """Read `articles.parquet`.

    Raises:
        OnelayerError: it is no Parquet file, lacks a column or holds no article.
    """
    try:
        table = pd.read_parquet(path)
    except ValueError as error:
        raise OnelayerError(f"{path}: not a Parquet table of articles ({error})") from None
    if missing := [column for column in COLUMNS if column not in table]:
        raise OnelayerError(f"{path}: no column {', '.join(missing)}; articles have {COLUMNS}")
    if table.empty:
        raise OnelayerError(f"{path}: the corpus is empty: no articles")
    return table


def write_articles(table: pd.DataFrame, path: Path) -> None:
    """Write `articles.parquet`."""
    table.to_parquet(path, index=False, compression="zstd")
