"""Where training runs have ended: at the unigram model, at the bigram model, or on the way.

By theorem 2 small starts, the standard and the rank-one one, reach the global minimum (the bigram
model) for p + q < 1 and a local one (the unigram model) for p + q > 1. The paper's start lies far
out at w < -1/sqrt 2, in the other basin: Fig. 4 has it reach the bigram model for p + q > 1.
"""

import numpy as np
import pandas as pd

from onelayer.evidence.intervals import mean, median, share
from onelayer.local_to_global.chain import Chain
from onelayer.settings.local_to_global import TrainingSettings

NOT_REACHED = "not reached"
MISSING = {"state": NOT_REACHED, "n": 0}


def claimed_model(start: str, chain: Chain) -> str:
    """Which model the paper says that a start learns: `unigram` or `bigram`."""
    return "bigram" if chain.below != start.startswith("paper") else "unigram"


def claimed_loss(start: str, chain: Chain, training: TrainingSettings) -> dict[str, float]:
    """The entropy at which the paper says that a start ends, and the other one as no effect.

    `tolerance`: the excess loss of the model's one or two logits, estimated from one batch.
    """
    entropies, logits = [chain.unigram_entropy, chain.bigram_entropy], 1
    if claimed_model(start, chain) == "bigram":
        entropies, logits = entropies[::-1], 2
    tolerance = logits / (2 * training.batch * training.sequence_length)
    return {"published": entropies[0], "null": entropies[1], "tolerance": tolerance}


def over_runs(estimate: dict[str, float]) -> dict[str, object]:
    """An estimate over runs, undecided where they are too few for an interval."""
    return estimate | ({"state": "undecided"} if np.isnan(estimate["low"]) else {})


def runs_of(curves: pd.DataFrame) -> list[pd.DataFrame]:
    """The runs of one variant on one chain, seed by seed."""
    return [run.sort_values("iteration") for _, run in curves.groupby("seed")]


def not_trained(runs: pd.DataFrame, chain: Chain) -> dict[str, str]:
    """`state` of a row that rests on these runs, where any of them did not train.

    The least that training learns is how frequent the symbols are. A start that has no preference
    has the loss log 2, above both entropies: standing there, it would look trapped.
    """
    for run in runs_of(runs):
        start, end = run["loss"].iloc[0], run["loss"].iloc[-1]
        if not (end < start and end <= chain.unigram_entropy + chain.close):
            return {"state": NOT_REACHED}
    return {}


def halfway(runs: pd.DataFrame) -> pd.DataFrame:
    """Every run at its last look within the first half of the training."""
    first_half = runs[runs["iteration"] <= runs["iteration"].max() / 2]
    return first_half[first_half["iteration"] == first_half["iteration"].max()]


def trapped(runs: pd.DataFrame, chain: Chain) -> dict[str, float]:
    """Share of rows at the unigram model: one that moves away, up or down, is not trapped by it."""
    near = abs(runs["loss"] - chain.unigram_entropy) <= chain.close
    return share(int(near.sum()), len(near))


def escape(run: pd.DataFrame, chain: Chain) -> float:
    """First iteration from which on the loss lies below the unigram entropy; infinite: none."""
    below = run["loss"].to_numpy() < chain.unigram_entropy - chain.close
    after = np.logical_and.accumulate(below[::-1])[::-1]
    return float(run["iteration"].to_numpy()[after.argmax()]) if after.any() else np.inf


def median_time(times: np.ndarray) -> dict[str, object]:
    """The median time with its 95% interval; what never came is infinite."""
    row = median(times)
    if not np.isfinite(row["value"]):
        return {"state": NOT_REACHED, "n": row["n"]}
    return {key: value if np.isfinite(value) else np.nan for key, value in row.items()}


def trap_rows(runs: pd.DataFrame, chain: Chain) -> dict[str, dict]:
    """What is measured of one variant on one chain, by quantity."""
    each = runs_of(runs)
    times = np.array([escape(run, chain) for run in each])
    final = pd.DataFrame([run.iloc[-1] for run in each])
    stayed, left = [], []  # curvature in the end, and at the last look before a run leaves
    for run, time in zip(each, times, strict=True):
        near = abs(run["loss"] - chain.unigram_entropy) <= chain.close
        if near.iloc[-1]:
            stayed.append(run["curvature"].iloc[-1])
        before = run.loc[near & (run["iteration"] < time), "curvature"]
        if np.isfinite(time) and len(before):
            left.append(before.iloc[-1])
    gap = chain.unigram_entropy - chain.bigram_entropy
    # Some runs have not come down to the unigram model yet, or diverged.
    above = bool((~(final["loss"] <= chain.unigram_entropy + chain.close)).any())
    way = mean((chain.unigram_entropy - final["loss"]) / gap)
    return {
        "trapped_share": trapped(final, chain),
        "trapped_share_halfway": trapped(halfway(runs), chain),
        "escape_iteration": median_time(times),
        "way_closed": way | ({"state": NOT_REACHED} if above else {}),
        "curvature_where_trapped": mean(stayed) | {"null": 0.0} if stayed else MISSING,
        "curvature_before_escape": mean(left) | {"null": 0.0} if left else MISSING,
    }
