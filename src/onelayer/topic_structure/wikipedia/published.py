"""Step 4: beside our rows the published ones, and what keeps a row of ours from being judged."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from onelayer.evidence.intervals import mean
from onelayer.topic_structure.wikipedia import measure
from onelayer.topic_structure.wikipedia.measure import ALL, ATTENTION, DISJOINT, EQUAL, OVER_TOPICS
from onelayer.topic_structure.wikipedia.similarity import COSINE, DOT, RAW, RAW_DIFFERENCE

WORDS = {  # of the paper's heat maps of embeddings
    "animals": ["frog", "toad", "lizard"],
    "composers": ["mozart", "beethoven", "schubert"],
    "mathematics": ["algebra", "arithmetic", "calculus"],
}
COMPARED = [ATTENTION, COSINE, DOT]
PUBLISHED_AS = dict(zip(COMPARED, COMPARED, strict=True)) | {RAW: COSINE}
# Beyond the paper: at the tightest threshold alone.
AT_FIRST = [measure.WITHIN_DOCUMENTS, RAW, RAW_DIFFERENCE]
KEYS = ["way", "overlap", "model", "threshold", "published_threshold"]
NULL = ["null_low", "null_high", "p"]  # columns behind those of every table
NOTES = [
    "authors: as their released code probes: topics of tf-idf weights in one pass with gensim's "
    "defaults, int(V f) + 1 words a topic (51, 101, 201 of V = 100,000), and weights as they are. "
    "ours: topics of counts in several passes, weights times the length of their text; published "
    "thresholds stand beside its own nominally.",
    "Columns have the names of quantities: number, 95% interval, (published). Ratio: mean over "
    "pairs of words of one topic / mean over pairs of two. Attention: bootstrap over n documents. "
    "Embeddings: over n words. Models made here are means over seeds; intervals cover seeds, too.",
    "null: the same with topics permuted among equally frequent words, with its 95% range, which "
    "is no part of the interval. Its mean is the value of no effect, for all rows and in both "
    "tables; 1 is so for none. The paper gives no null: its numbers are measured from ours. Rows "
    "over topics have the null of the topics as fitted; other topics were not permuted.",
    "distance_standardised: pairs of two topics weighted to the distances of pairs of one, which "
    "stand closer together. over_topics: topics vary as well, by a jackknife over groups of them; "
    "authors' topics alone. The CSV also has each row's p, the share of permutations that reach "
    "it, and within_documents, weighted to documents.",
    "Embeddings are judged on the raw matrix E, which the theorem is about: the ratio of cosines, "
    "and the difference of mean dot products. In the embedding layer's output, position 0, words "
    "share a part: a mean cosine of c across topics bounds it by 1 / c in advance. Of random "
    "weights the raw means are about 0, and their ratio means nothing. The authors' released probe "
    "counts a word with itself, and indexes the matrix by a word's place in a list; this does not.",
    "not reached: its trainings do not predict held-out words better than frequencies do. "
    "undecided: one training, or nothing to compare with. Rows without a value need a hub.",
]


def read_published(path: Path) -> dict[tuple, float]:
    """Published ratios by overlap, model, threshold and quantity."""
    keys = ["overlap", "model", "threshold"]
    rows = pd.read_csv(path).melt(keys, COMPARED, "quantity")
    return rows.set_index([*keys, "quantity"])["value"].to_dict()


def learned(histories: Sequence[pd.DataFrame]) -> tuple[dict[str, float], str]:
    """What trainings have learned, and why no ratio of theirs is judged, high or low.

    Returns `value`, `low`, `high`, `n`: how far the final held-out loss lies below that of words'
    frequencies (nats a word), mean over trainings. And `not reached` if one does not lie below it:
    it has not learned what would show topics; `undecided` of one training alone; or "".
    """
    measured = "split == 'held-out' and quantity == 'below_unigram'"
    below = [rows.query(measured).nlargest(1, "tokens")["value"].item() for rows in histories]
    state = "undecided" if len(below) == 1 else ""
    return mean(below), "not reached" if min(below, default=1) <= 0 else state


def model_rows(
    measures: pd.DataFrame,
    name: str,
    like: str | None,
    histories: Sequence[pd.DataFrame],
    ways: Mapping[str, Mapping[str, float]],
    published: Mapping[tuple, float],
) -> pd.DataFrame:
    """A model's rows over seeds, of `measures` with `way`, beside the published ones of `like`.

    `histories`: of the losses of a model that is pretrained here, one a seed. `ways`: published
    threshold by our label, tightest first, by way.
    """
    rows = measures[measures["seed"] == ALL]
    zero = rows["quantity"].str.endswith("_different") & (rows["low"] <= 0) & (rows["high"] >= 0)
    about_0 = set(rows[zero][["way", "overlap", "threshold", "quantity"]].itertuples(False, None))
    first = {way: next(iter(thresholds)) for way, thresholds in ways.items()}
    kept = rows["quantity"].isin([*COMPARED, EQUAL, measure.TIGHTER, DISJOINT])
    kept |= rows["quantity"].str.endswith(OVER_TOPICS)
    kept |= rows["quantity"].isin(AT_FIRST) & (rows["threshold"] == rows["way"].map(first))
    state = learned(histories)[1]
    records = rows[kept].to_dict("records")

    def theirs(overlap: str, at: float, quantity: str = ATTENTION) -> float:
        return published.get((overlap, like, at, quantity), np.nan)

    for row in records:
        overlap, thresholds = row["overlap"], ways[row["way"]]
        quantity = row["quantity"].removesuffix(OVER_TOPICS)
        at = row["published_threshold"] = thresholds.get(row["threshold"], np.nan)
        row |= {"model": name, "state": state, "published": np.nan}
        if quantity in PUBLISHED_AS:
            row["published"] = theirs(overlap, at, PUBLISHED_AS[quantity])
        elif quantity == measure.TIGHTER:
            tight, *_, loose = thresholds.values()
            row["published"] = theirs(overlap, tight) - theirs(overlap, loose)
        elif quantity == DISJOINT:
            row["published"] = theirs("disjoint", at) - theirs("overlapping", at)
        key = row["way"], overlap, row["threshold"], quantity.replace("_ratio", "_different")
        if key in about_0:
            row |= {"state": state or "undecided", "published": np.nan}
    columns = [*KEYS, "quantity", "value", "low", "high", "n", "null", "published", "state", *NULL]
    return pd.DataFrame(records, columns=columns)


def not_run(
    published: Mapping[tuple, float], overlap: str, measured: Sequence[tuple[str, float]]
) -> pd.DataFrame:
    """Published rows of models that were not probed under their own names."""
    rows = [
        {"overlap": mode, "model": model, "threshold": f"{at:.15g}", "published_threshold": at}
        | {"quantity": quantity, "published": value, "way": "authors"}
        for (mode, model, at, quantity), value in published.items()
        if mode == overlap and (model, at) not in measured
    ]
    return pd.DataFrame(rows)
