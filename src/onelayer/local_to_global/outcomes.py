"""Where training runs have ended: at the unigram model, at the bigram model, or on the way.

By theorem 2 small starts, the standard and the rank-one one, reach the global minimum (the bigram
model) for p + q < 1 and a local one (the unigram model) for p + q > 1. The paper's start lies far
out at w < -1/sqrt 2, in the other basin: Fig. 4 has it reach the bigram model for p + q > 1.
"""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from onelayer.evidence.intervals import mean, median, share
from onelayer.local_to_global.chain import Chain
from onelayer.settings.local_to_global import TrainingSettings

NOT_REACHED = "not reached"
_MISSING = {"state": NOT_REACHED, "n": 0}


def claimed_model(start: str, chain: Chain) -> str:
    """Which model the paper says that a start learns: `unigram` or `bigram`."""
    return "bigram" if chain.below != start.startswith("paper") else "unigram"


def claimed_loss(model: str, chain: Chain) -> dict[str, float]:
    """The entropy at which the paper says that training ends, and the other as no effect."""
    entropies = [chain.unigram_entropy, chain.bigram_entropy]
    published, null = entropies if model == "unigram" else entropies[::-1]
    return {"published": published, "null": null}


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


def escape(run: pd.DataFrame, chain: Chain) -> float:
    """First iteration from which on the loss lies below the unigram entropy; infinite: none."""
    below = run["loss"].to_numpy() < chain.unigram_entropy - chain.close
    after = np.logical_and.accumulate(below[::-1])[::-1]
    return float(run["iteration"].to_numpy()[after.argmax()]) if after.any() else np.inf


def crossing(run: pd.DataFrame, chain: Chain) -> float:
    """Iterations until the `escape`, between the two looks around it.

    A run leaves exponentially: by a line of the logarithm of how far it has come, which is taken to
    be a hundredth of the way where it is less. A line of the loss itself crosses too early, the
    more so the faster the run leaves.
    """
    first = escape(run, chain)
    place = int((run["iteration"] < first).sum())
    if not 0 < place < len(run):
        return first
    times, losses = (run[name].to_numpy()[place - 1 : place + 1] for name in ("iteration", "loss"))
    come = np.maximum((chain.unigram_entropy - losses) / chain.close, 0.1)
    return float(np.interp(0.0, np.log(come), times))


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
    final = np.array([run["loss"].iloc[-1] for run in each])
    near = [abs(run["loss"] - chain.unigram_entropy) <= chain.close for run in each]
    trapped, escaped = [], []  # curvature in the end, and at the last look before a run leaves
    for run, there, time in zip(each, near, times, strict=True):
        if there.iloc[-1]:
            trapped.append(run["curvature"].iloc[-1])
        before = run.loc[there & (run["iteration"] < time), "curvature"]
        if np.isfinite(time) and len(before):
            escaped.append(before.iloc[-1])
    way = (chain.unigram_entropy - final) / (chain.unigram_entropy - chain.bigram_entropy)
    # Some runs have not come down to the unigram model yet, or diverged.
    above = bool((~(final <= chain.unigram_entropy + chain.close)).any())
    return {
        "trapped_share": share(int(sum(there.iloc[-1] for there in near)), len(each)),
        "escape_share": share(int(np.isfinite(times).sum()), len(each)),
        "escape_iteration": median_time(times),
        "final_loss": mean(final),
        "way_closed": mean(way) | ({"state": NOT_REACHED} if above else {}),
        "curvature_where_trapped": mean(trapped) | {"null": 0.0} if trapped else _MISSING,
        "curvature_before_escape": mean(escaped) | {"null": 0.0} if escaped else _MISSING,
    }


def _earlier(here: np.ndarray, other: np.ndarray) -> dict[str, object]:
    """Share of the seeds that leave earlier here, of those that leave at either."""
    either = np.isfinite(here) | np.isfinite(other)
    if not either.any():
        return _MISSING
    return share(int((here < other).sum()), int(either.sum())) | {"null": 0.5}


def earlier_rows(
    crossings: Mapping[str, np.ndarray], trainings: Mapping[str, TrainingSettings]
) -> list[dict]:
    """Every training beside that of the next lower rate or smaller batch, the same in all else.

    `crossings` are iterations until each seed leaves, infinite where it stays, [seeds] by variant.
    """
    rows = []
    for key, quantity in (("lr", "earlier_by_rate"), ("batch", "earlier_by_batch")):
        for name in crossings:
            lower = [
                (getattr(trainings[other], key), other)
                for other in crossings
                if getattr(trainings[other], key) < getattr(trainings[name], key)
                and trainings[other].model_copy(update={key: getattr(trainings[name], key)})
                == trainings[name]
            ]
            if lower:
                row = _earlier(crossings[name], crossings[max(lower)[1]])
                rows.append({"variant": name, "quantity": quantity} | row)
    return rows
