"""The table of corpora: size, human topics, credit."""

from collections.abc import Mapping

import pandas as pd

from onelayer.evidence.tables import table, tidy
from onelayer.settings.corpus import CorpusSettings
from onelayer.settings.topic_structure import NamedCorpus, by_name

KEYS = ["corpus"]


def summarise(
    counted: Mapping[str, pd.DataFrame], corpora: Mapping[str, CorpusSettings]
) -> pd.DataFrame:
    """Counts of each corpus, tidy: `articles`, `words`, `human_topics`, `labelled_articles`.

    Args:
        counted: rows of `corpus.articles.count_articles_and_words`, of all parts, by corpus.
        corpora: their settings.
    """
    rows = []
    for name, parts in counted.items():
        labelled = parts[parts["label"].notna()]
        articles = int(parts["articles"].sum())
        counts = {
            "articles": articles,
            "words": int(parts["words"].sum()),
            "human_topics": labelled["label"].nunique(),
            "labelled_articles": int(labelled["articles"].sum()),
        }
        for quantity, value in counts.items():
            rows.append(
                {
                    "corpus": name,
                    "quantity": quantity,
                    "value": value,
                    "n": articles,
                    "note": corpora[name].credit,
                }
            )
    return tidy(rows, KEYS)


def readable(table: pd.DataFrame) -> pd.DataFrame:
    """One row per corpus."""
    shown = table.pivot(index="corpus", columns="quantity", values="value")
    shown = shown[table["quantity"].unique()].map("{:,.0f}".format)
    by_corpus = table.groupby("corpus", sort=False)
    shown = shown.loc[list(by_corpus.groups)].assign(credit=by_corpus["note"].first())
    shown = shown.reset_index().rename(columns=lambda name: name.replace("_", " "))
    return shown[["corpus", "articles", "words", "human topics", "labelled articles", "credit"]]


@table(
    "topic_structure/corpora",
    "Wikipedia: data and topics",
    "table: corpora",
    title="The corpora",
    notes=[
        "Words are lower-cased runs of letters. Human topics come with the corpus; articles "
        "without one are probed like any other and left out of NMI."
    ],
    readable=readable,
    reads={"summaries": "corpus_summaries"},
    settings={"corpora": "named_corpora"},
)
def corpora_table(summaries: list[pd.DataFrame], corpora: list[NamedCorpus]) -> pd.DataFrame:
    """The corpora: how many articles, words and human topics, and whose text it is.

    Args:
        summaries: of `corpus.articles.count_articles_and_words`, part by part of each corpus.
        corpora: in the order of rows and of their summaries.
    """
    unread = iter(summaries)
    counted = {
        corpus.name: pd.concat(
            [next(unread) for _ in range(corpus.settings.parts)], ignore_index=True
        )
        for corpus in corpora
    }
    return summarise(counted, by_name(corpora))
