"""What an article is: its columns and its words."""

import re
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
    rows = [(label, len(words(text))) for text, label in zip(texts, labels, strict=True)]
    types = {"label": "string", "words": "int64"}
    table = pd.DataFrame(rows, columns=list(types)).astype(types)
    by_label = table.groupby("label", sort=False, dropna=False)["words"]
    return by_label.agg(articles="count", words="sum").reset_index()
