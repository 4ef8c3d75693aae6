"""What an article is: its columns and its words."""

import re
from collections import Counter
from collections.abc import Iterable

import pandas as pd

COLUMNS = ["id", "title", "text", "label"]  # label: a human topic, where there is one
Article = tuple[str, str, str, str | None]  # as COLUMNS

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
