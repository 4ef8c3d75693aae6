"""Topics for readers: the tables of topics and of the topic model's quality."""

import pandas as pd

from onelayer.tables import number, tidy
from onelayer.verdicts import Number, judge

QUALITY_NAMES = {
    "nmi": "NMI with the human topics",
    "npmi": "NPMI, mean over topics",
    "topics_used": "topics that are some article's most probable one",
    "topics_effective": "effective number of topics",
    "vocabulary": "words in the vocabulary",
    "tokens": "occurrences of these words",
}
QUALITY_NOTES = [
    "NMI: normalised mutual information of each article's most probable topic and its human topic, "
    "0 to 1. A collapsed model can score high on it: read it together with the topics used.",
    "NPMI: mean over the pairs of a topic's top words of log(P(v,w)/(P(v)P(w))) / -log P(v,w), "
    "with P the share of articles that use a word or both; -1 for a pair that never meets.",
    "Effective number: exp(entropy) of the topics' shares of all articles.",
]
TOPIC_NOTES = [
    "Most prevalent topic first. 'Human topic': the most frequent one among the articles whose "
    "most probable topic this is, with its share of them."
]


def quality_table(quality: pd.DataFrame, corpus: str) -> pd.DataFrame:
    """Quality of the topic model, tidy; a quantity without a value keeps its row."""
    table = quality.assign(corpus=corpus, note="")
    missing = table["value"].isna()
    table.loc[missing, "note"] = "the corpus has no human topics"
    return judge(tidy(table, ["corpus"]), Number())


def readable_quality(table: pd.DataFrame) -> pd.DataFrame:
    """Quality for readers, one row per quantity."""
    digits = {"nmi": 3, "npmi": 3, "topics_effective": 1}
    return pd.DataFrame(
        {
            "quantity": table["quantity"].map(QUALITY_NAMES),
            "value": [number(r.value, digits.get(r.quantity, 0)) for r in table.itertuples()],
            "of": [f"{n:,.0f}" for n in table["n"]],
        }
    )


def topic_table(words: pd.DataFrame, corpus: str) -> pd.DataFrame:
    """Top words of each topic, tidy: keys `corpus`, `topic`, `rank`, `word`."""
    table = words.rename(columns={"probability": "value"}).drop(columns=["npmi", "prevalence"])
    table = table.assign(corpus=corpus, quantity="probability")
    return tidy(table, ["corpus", "topic", "rank", "word"])


def readable_topics(words: pd.DataFrame, shares: pd.DataFrame) -> pd.DataFrame:
    """One row per topic, most prevalent first."""
    rows = []
    for topic, group in words.groupby("topic"):
        covered = shares[shares["topic"] == topic].sort_values(
            ["share", "label"], ascending=[False, True]
        )
        label = f"{covered.iloc[0].label} ({covered.iloc[0].share:.0%})" if len(covered) else "–"
        rows.append(
            {
                "topic": topic,
                "prevalence": group["prevalence"].iloc[0],
                "NPMI": number(group["npmi"].iloc[0]),
                "most probable words": ", ".join(group.sort_values("rank")["word"]),
                "human topic": label,
            }
        )
    shown = pd.DataFrame(rows).sort_values(["prevalence", "topic"], ascending=[False, True])
    return shown.assign(prevalence=shown["prevalence"].map("{:.1%}".format))
