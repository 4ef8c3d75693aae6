"""Where training runs have ended: at the unigram model, on the way from it, or above it.

By theorem 2 small starts, the standard and the rank-one one, reach the global minimum (the bigram
model) for p + q < 1 and a local one (the unigram model) for p + q > 1. The paper's start lies far
out at w < -1/sqrt 2, in the other basin: Fig. 4 has it reach the bigram model for p + q > 1.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from onelayer.evidence.intervals import mean, median, share
from onelayer.evidence.tables import side_by_side
from onelayer.settings.local_to_global import MATRICES, Chain, TrainingSettings

MARGIN = 0.1  # of the way between the entropies: who is no further from the unigram model is at it
ABOVE, AT, LEFT = "above", "at", "left"
NOT_REACHED = "not reached"
MISSING = {"state": NOT_REACHED, "n": 0}


def way(loss: ArrayLike, chain: Chain) -> ArrayLike:
    """How far a loss has come from the unigram entropy (0) to the bigram entropy (1)."""
    return (chain.unigram_entropy - loss) / chain.gap


def standing(loss: ArrayLike, chain: Chain) -> np.ndarray:
    """At the unigram model (`AT`), `ABOVE` it, which NaN is, too, or below: it was `LEFT`."""
    share_of_way = np.asarray(way(loss, chain))
    return np.select([abs(share_of_way) <= MARGIN, share_of_way > MARGIN], [AT, LEFT], ABOVE)


def claimed_model(start: str, chain: Chain) -> str:
    """Which model the paper says that a start learns: `unigram` or `bigram`."""
    return "bigram" if chain.below != start.startswith("paper") else "unigram"


def claimed_loss(start: str, chain: Chain) -> dict[str, float]:
    """The entropy at which the paper says that a start ends, and the other one as no effect."""
    ends = [chain.unigram_entropy, chain.bigram_entropy]
    bigram = claimed_model(start, chain) == "bigram"
    return {"published": ends[bigram], "null": ends[not bigram]}


def leaves_alone(losses: pd.Series, standard: pd.Series, chain: Chain) -> dict[str, float]:
    """Share of seeds from which a start has left the unigram model and the standard start is at it.

    Final losses by seed. A mean of the gains would be one of runs that gain nothing and all.
    """
    alone = (standing(losses, chain) == LEFT) & (standing(standard, chain) == AT)
    return share(int(alone.sum()), len(alone)) | {"published": float(not chain.below), "null": 0.5}


def over_runs(estimate: dict[str, float]) -> dict[str, object]:
    """An estimate over runs, undecided where they are too few for an interval."""
    return estimate | ({"state": "undecided"} if np.isnan(estimate["low"]) else {})


def by_seed(runs: pd.DataFrame, quantity: str = "loss") -> pd.DataFrame:
    """What was observed of one variant on one chain, iterations by seeds."""
    return runs.pivot(index="iteration", columns="seed", values=quantity)


def not_trained(runs: pd.DataFrame, chain: Chain) -> dict[str, str]:
    """`state` of a row that rests on these runs, where any of them did not train.

    A start without preference has the loss log 2, above both entropies: there it looks trapped.
    """
    first, last = by_seed(runs).iloc[[0, -1]].to_numpy()
    trained = (last < first) & (standing(last, chain) != ABOVE)
    return {} if trained.all() else {"state": NOT_REACHED}


def trapped(losses: ArrayLike, chain: Chain) -> dict[str, float]:
    """Share of runs at the unigram model: one that moves away, up or down, is not trapped by it."""
    return share(int((standing(losses, chain) == AT).sum()), len(losses))


def escapes(losses: pd.DataFrame, chain: Chain) -> np.ndarray:
    """First iteration from which on each run has left the unigram model; infinite: none."""
    left = standing(losses, chain) == LEFT
    gone = np.logical_and.accumulate(left[::-1])[::-1]
    return np.where(gone.any(axis=0), losses.index.to_numpy()[gone.argmax(axis=0)], np.inf)


def median_time(times: np.ndarray) -> dict[str, object]:
    """The median time with its 95% interval; what never came is infinite."""
    row = median(times)
    never = {"state": NOT_REACHED} if np.isinf(row["value"]) else {}
    return {key: value if np.isfinite(value) else np.nan for key, value in row.items()} | never


def by_chain(rows: pd.DataFrame, keys: Sequence[str]) -> pd.DataFrame:
    """For readers: a line per `keys` and quantity, a column per chain, one for all of them."""
    chains = [str(Chain(p, q)) if p > 0 else "all chains" for p, q in rows[["p", "q"]].to_numpy()]
    return side_by_side(rows.assign(chain=chains), [*keys, "quantity"], "chain")


def end_rows(
    runs: pd.DataFrame, start: str, chain: Chain, training: TrainingSettings
) -> dict[str, dict]:
    """Where the runs of a variant end, by quantity, and halfway, with what the paper claims."""
    losses, state = by_seed(runs), not_trained(runs, chain)
    final, halfway = losses.iloc[-1], losses[losses.index <= training.iterations / 2].iloc[-1]
    first = escapes(losses, chain).min()
    claimed = {"published": float(claimed_model(start, chain) == "unigram"), "null": 0.5}
    loss = over_runs(mean(final)) | claimed_loss(start, chain)
    return {
        "trapped_share": trapped(final, chain) | claimed | state,
        "trapped_share_halfway": trapped(halfway, chain) | claimed,
        "first_escape_iteration": {"value": first} if first < np.inf else MISSING,
        "final_loss": loss | state,
        "final_W_1_share": mean(by_seed(runs, "W_1_share").iloc[-1], least=0.0, most=1.0),
    }


def rank_rows(runs: pd.DataFrame, published: Mapping[tuple[str, int], float]) -> list[dict]:
    """The share of the largest singular value at each look, of each matrix; 1 means rank one."""
    rows = []
    for iteration, look in runs.groupby("iteration"):
        for matrix in MATRICES:
            row = over_runs(mean(look[f"{matrix}_share"], least=0.0, most=1.0))
            row |= {"published": published.get((matrix, iteration), np.nan)}
            rows.append({"matrix": matrix, "iteration": iteration} | row)
    return rows


def trap_rows(runs: pd.DataFrame, chain: Chain) -> dict[str, dict]:
    """What is measured of one variant on one chain, by quantity."""
    losses, curvature = by_seed(runs), by_seed(runs, "curvature").to_numpy()
    where, times = standing(losses, chain), escapes(losses, chain)
    stayed = curvature[-1, where[-1] == AT]
    before = (where == AT) & (losses.index.to_numpy()[:, None] < times) & np.isfinite(times)
    left = [bent[at][-1] for bent, at in zip(curvature.T, before.T, strict=True) if at.any()]
    # Some runs have not come down to the unigram model yet, or diverged.
    state = {"state": NOT_REACHED} if (where[-1] == ABOVE).any() else {}
    return {
        "trapped_share": trapped(losses.iloc[-1], chain) | state,
        "escape_iteration": median_time(times),
        "way_closed": mean(way(losses.iloc[-1], chain), most=1.0) | state,
        "curvature_where_trapped": mean(stayed) | {"null": 0.0} if len(stayed) else MISSING,
        "curvature_before_escape": mean(left) | {"null": 0.0} if left else MISSING,
    }
