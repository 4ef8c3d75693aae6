"""The table of topics: their most probable words, and how good the topic model is."""

import numpy as np
import pandas as pd

from onelayer.evidence.tables import EMPTY, number, tidy
from onelayer.job import job
from onelayer.settings.topics import Threshold

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
    "The topics themselves are fitted to all articles, those that a model is probed on or that its "
    "pretraining held out among them: they describe a corpus, and are no prediction.",
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


def nominal(thresholds: list[Threshold], vocabulary: int) -> str:
    """The thresholds beside the paper's, which are neither the same shares nor the same counts."""
    here = [
        f"{each.label} ({each.words_kept(vocabulary) / vocabulary:.2g} of the vocabulary) for the "
        f"paper's {each.published or EMPTY}"
        for each in thresholds
    ]
    return (
        f"Words kept of a topic: {'; '.join(here)}. Where the two shares differ the paper's "
        "threshold is nominal: it keeps about 50, 100 or 200 words a topic, of a larger vocabulary."
    )


def for_readers(words: pd.DataFrame, quality: pd.DataFrame) -> pd.DataFrame:
    """One row per topic, most prevalent first; then one per measure of quality."""
    topics = words.sort_values("rank").groupby("topic")
    first = topics.first().reset_index()
    first = first.sort_values(["prevalence", "topic"], ascending=[False, True], ignore_index=True)
    human = [
        f"{label} ({share:.0%})"
        for label, share in zip(first["label"], first["label_share"], strict=True)
    ]
    shown = {
        "topic": first["topic"],
        "prevalence": first["prevalence"].map("{:.1%}".format),
        "NPMI": first["npmi"].map(number),
        "most probable words": first["topic"].map(topics["word"].agg(", ".join)),
        "human topic": np.where(first["label"].notna(), human, EMPTY),
    }
    of_all = [
        f"{QUALITY[row.quantity][0]}: {number(row.value, QUALITY[row.quantity][1])}"
        for row in quality.itertuples()
    ]
    of_all = pd.DataFrame({"topic": "all", "most probable words": of_all})
    return pd.concat([pd.DataFrame(shown), of_all]).fillna("")


with job(snakemake) as step:
    words, quality = map(pd.read_parquet, snakemake.input)
    thresholds = [Threshold(**each) for each in step.settings["thresholds"]]
    measured = quality.set_index("quantity")["value"]
    rows = words[["topic", "rank", "word"]].astype(str)
    rows = rows.assign(quantity="probability", value=words["probability"])
    table = pd.concat([rows, quality.assign(topic="all", rank="", word="")])
    notes = [*NOTES, nominal(thresholds, int(measured["vocabulary"]))]
    if pd.isna(measured["nmi"]):
        notes.append("The corpus has no human topics.")
    step.save_table(
        tidy(table.assign(corpus=step.settings["corpus"]), ["corpus", "topic", "rank", "word"]),
        title=f"The topics of {step.settings['corpus']}",
        shown=for_readers(words, quality),
        notes=notes,
    )
