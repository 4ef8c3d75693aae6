"""Beside our ratios: the published tables, and what keeps a row of ours from being judged."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from onelayer.evidence.intervals import mean
from onelayer.topic_structure.wikipedia.measure import ALL, ATTENTION, DISJOINT, EQUAL, TIGHTER
from onelayer.topic_structure.wikipedia.similarity import COSINE, DOT, RAW

COMPARED = [ATTENTION, COSINE, DOT]
OVER_TOPICS = f"{ATTENTION}_over_topics"
AT_FIRST = [EQUAL, OVER_TOPICS, RAW]  # beyond the paper: at the tightest threshold alone
KEYS = ["overlap", "model", "threshold", "published_threshold"]
NOTES = [
    "Ratio: mean over pairs of words of one topic / mean over pairs of two. Attention: interval "
    "from a bootstrap over n documents. Embeddings: all pairs of words, from a bootstrap over n "
    "words. Models made here are means over seeds, and intervals cover seeds, too.",
    "null: the same ratio with topics permuted among equally frequent words. Over topics: topics "
    "are drawn anew as well (disjoint topics alone). At equal distance: pairs of two topics "
    "weighted to the distances of pairs of one, which stand closer together.",
    "Embedding ratios are of the embedding layer's output at position 0. The paper does not say "
    "which it uses, but its random row (1.0008) excludes the raw matrix, where both means of a "
    "random model are about 0. `embedding_raw_cosine_ratio` shows that of trained models.",
    "The authors' released probe counts a word with itself as a same-topic pair, and indexes the "
    "embedding matrix by a word's place in a list; this one does neither.",
    "not reached: its trainings do not predict held-out words better than frequencies do. "
    "undecided: one training, or nothing to compare with. Rows without a value need checkpoints "
    "from a hub.",
]


def read_published(path: Path) -> dict[tuple, float]:
    """Published ratios by overlap, model, threshold and quantity."""
    rows = pd.read_csv(path).melt(["overlap", "model", "threshold"], COMPARED, "quantity")
    keys = rows[["overlap", "model", "threshold", "quantity"]].itertuples(index=False, name=None)
    return dict(zip(keys, rows["value"], strict=True))


def learned(histories: Sequence[pd.DataFrame]) -> dict[str, float]:
    """How far the final held-out loss lies below that of words' frequencies, mean over trainings.

    Where it does not lie above 0 with its interval, a model that shows no topics has not learned
    what would show them. Returns `value`, `low`, `high`, `n` (nats a word).
    """
    ends = []
    for history in histories:
        rows = history[(history["split"] == "held-out") & (history["quantity"] == "below_unigram")]
        ends.append(rows.loc[rows["tokens"].idxmax(), "value"])
    return mean(ends)


def model_rows(
    measures: pd.DataFrame,
    name: str,
    model: Mapping,
    histories: Sequence[pd.DataFrame],
    thresholds: Mapping[str, float],
    published: Mapping[tuple, float],
) -> pd.DataFrame:
    """A model's rows over seeds, beside the published ones of `model["published_as"]`.

    Args:
        measures: rows of `measure`.
        histories: of the losses of a model that is pretrained here, one a seed.
        thresholds: published threshold by our label, tightest first.
    """
    first, theirs = next(iter(thresholds)), model["published_as"]
    zero = measures["quantity"].str.endswith("_different")
    zero &= (measures["low"] <= 0) & (measures["high"] >= 0) & (measures["seed"] == ALL)
    about_0 = {(r.overlap, r.threshold, r.quantity) for r in measures[zero].itertuples()}
    rows = measures[measures["seed"] == ALL]
    kept = rows["quantity"].isin([*COMPARED, TIGHTER, DISJOINT])
    kept |= rows["quantity"].isin(AT_FIRST) & (rows["threshold"] == first)
    rows = rows[kept].to_dict("records")
    alone, idle = len(histories) == 1, False
    if histories:
        below = learned(histories)
        idle = not (below["value"] if alone else below["low"]) > 0
    for row in rows:
        at = row["published_threshold"] = thresholds.get(row["threshold"], np.nan)
        row |= {"model": name, "state": "undecided" if alone else "", "published": np.nan}
        if row["quantity"] in COMPARED:
            row["published"] = published.get((row["overlap"], theirs, at, row["quantity"]))
        elif row["quantity"] == TIGHTER:
            ends = list(thresholds.values())
            one, other = (
                published.get((row["overlap"], theirs, end, ATTENTION), np.nan)
                for end in (ends[0], ends[-1])
            )
            row["published"] = one - other
        elif row["quantity"] == DISJOINT:
            one, other = (
                published.get((overlap, theirs, at, ATTENTION), np.nan)
                for overlap in ("disjoint", "overlapping")
            )
            row["published"] = one - other
        different = row["quantity"].replace("_ratio", "_different")
        meaningless = (row["overlap"], row["threshold"], different) in about_0
        if meaningless or (row["quantity"] in (TIGHTER, DISJOINT) and np.isnan(row["null"])):
            row |= {"state": "undecided", "published": np.nan if meaningless else row["published"]}
        if idle:
            row["state"] = "not reached"
    columns = [*KEYS, "quantity", "value", "low", "high", "n", "null", "published", "state"]
    return pd.DataFrame(rows)[columns]


def not_run(
    published: Mapping[tuple, float], overlap: str, measured: Sequence[tuple[str, float]]
) -> pd.DataFrame:
    """Published rows of models that were not probed under their own names."""
    rows = [
        {"overlap": mode, "model": model, "threshold": f"{at:.15g}", "published_threshold": at}
        | {"quantity": quantity, "published": value}
        for (mode, model, at, quantity), value in published.items()
        if mode == overlap and (model, at) not in measured
    ]
    return pd.DataFrame(rows)
