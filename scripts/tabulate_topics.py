"""The table of topics: their most probable words, and how good the topic model is."""

import numpy as np
import pandas as pd

from onelayer.evidence.intervals import mean
from onelayer.evidence.tables import EMPTY, number, tidy
from onelayer.job import job

NOTES = [
    "Most prevalent topic first. 'Human topic': the most frequent one among the articles whose "
    "most probable topic this is, with its share of them.",
    "NPMI: mean over the pairs of a topic's top words of log(P(v,w)/(P(v)P(w))) / -log P(v,w), "
    "with P the share of articles that use a word or both; -1 for a pair that never meets.",
    "NMI: normalised mutual information of each article's most probable topic and its human topic, "
    "0 to 1. A collapsed model can score high on it: read it together with the topics used.",
    "Held out: topics fitted to a random half of the articles, judged in the other half. Half as "
    "much text makes less coherent topics, and a pair of rare words meets less often in it.",
    "Effective number of topics: exp(entropy) of the topics' shares of all articles.",
]
QUALITY = {  # and how many digits readers see
    "nmi": ("NMI with the human topics", 3),
    "npmi": ("NPMI, mean over topics", 3),
    "npmi_held_out": ("NPMI held out", 3),
    "topics_used": ("topics that are some article's most probable one", 0),
    "topics_effective": ("effective number of topics", 1),
    "vocabulary": ("words in the vocabulary", 0),
    "tokens": ("occurrences of these words", 0),
}


def over_halves(held_out: pd.DataFrame, topics: int) -> dict:
    """The mean over random halves with its interval.

    Any two halves share half of their articles: the variance of the mean of k is k + 1 times that
    of as many independent ones (Nadeau & Bengio 2003, as much text in the other half).
    """
    found = mean(held_out["value"])
    value, wider = found["value"], np.sqrt(1 + len(held_out))
    ends = {end: value + (found[end] - value) * wider for end in ("low", "high")}
    return {"quantity": "npmi_held_out", "value": value, **ends, "n": topics}


def for_readers(words: pd.DataFrame, shares: pd.DataFrame, quality: pd.DataFrame) -> pd.DataFrame:
    """One row per topic, most prevalent first; then one per measure of quality."""
    shares = shares.sort_values(["share", "label"], ascending=[False, True])
    commonest = shares.drop_duplicates("topic")
    labels = {row.topic: f"{row.label} ({row.share:.0%})" for row in commonest.itertuples()}
    topics = words.sort_values("rank").groupby("topic")
    shown = pd.DataFrame(
        {
            "prevalence": topics["prevalence"].first(),
            "NPMI": topics["npmi"].first().map(number),
            "most probable words": topics["word"].agg(", ".join),
        }
    )
    shown["human topic"] = [labels.get(topic, EMPTY) for topic in shown.index]
    shown = shown.reset_index().sort_values(["prevalence", "topic"], ascending=[False, True])
    shown = shown.assign(prevalence=shown["prevalence"].map("{:.1%}".format))
    measured = [
        (QUALITY[row.quantity][0], number(row.value, QUALITY[row.quantity][1]))
        for row in quality.itertuples()
    ]
    measured = pd.DataFrame(measured, columns=["most probable words", "NPMI"])
    measured = measured.assign(topic="all", prevalence="", **{"human topic": ""})
    measured["most probable words"] += ": " + measured["NPMI"]
    return pd.concat([shown, measured.assign(NPMI="")])


with job(snakemake) as step:
    words, shares, quality, held_out = map(pd.read_parquet, snakemake.input)
    corpus = snakemake.params.settings["corpus"]
    rows = words[["topic", "rank", "word"]].astype(str)
    rows = rows.assign(quantity="probability", value=words["probability"])
    halves = pd.DataFrame([over_halves(held_out, words["topic"].nunique())])
    quality = pd.concat([quality, halves], ignore_index=True)
    unlabelled = quality.loc[quality["quantity"] == "nmi", "value"].isna().any()
    table = pd.concat([rows, quality.assign(topic="all", rank="", word="")])
    step.save_table(
        tidy(table.assign(corpus=corpus), ["corpus", "topic", "rank", "word"]),
        title=f"The topics of {corpus}",
        shown=for_readers(words, shares, quality),
        notes=[*NOTES, "The corpus has no human topics."] if unlabelled else NOTES,
    )
