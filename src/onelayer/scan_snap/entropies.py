"""Entropy of attention against the learning rates, beside the published cells (Fig. 6)."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from onelayer.evidence.intervals import half_width, worst
from onelayer.scan_snap.data import TOKEN_CHANCES
from onelayer.scan_snap.measures import ATTENTION, SETTINGS, distinct_entropy, over_runs

# Before training attention follows P(l): what 'no effect of training' means.
INITIAL_ENTROPY = float(distinct_entropy(TOKEN_CHANCES))
UNMOVED_ENTROPY = 0.005  # so near to it a run has not left it (nats)
PUBLISHED_RUNS = 10  # seeds behind a published mean and standard deviation
# Which way the paper says that a rate moves entropy.
SIDES = {"lr_Y_multiplier": 1, "lr_Z": -1}


def entropy_by_run(simulated: pd.DataFrame, iteration: int) -> pd.DataFrame:
    """Fig. 6's metric, `entropy`: averaged over the classes of each run, NaN if it diverged."""
    at = simulated[simulated["iteration"] == iteration]
    entropy = distinct_entropy(at[ATTENTION].to_numpy(np.float64))
    measured = at[[*SETTINGS, "seed", "diverged_at"]].assign(entropy=entropy)
    runs = measured.groupby([*SETTINGS, "seed"], sort=False).mean().reset_index()
    return runs.assign(entropy=runs["entropy"].where(runs.pop("diverged_at") < 0))


def cells(runs: pd.DataFrame, published: pd.DataFrame) -> pd.DataFrame:
    """Entropy of every setting over the runs, with `published`, `published_std`, run or not."""
    rows = []
    for keys, group in runs.groupby(SETTINGS, sort=False):
        row = over_runs(group["entropy"]) | {"std": group["entropy"].std()}
        if ((group["entropy"] - INITIAL_ENTROPY).abs().dropna() <= UNMOVED_ENTROPY).all():
            row["state"] = "not reached"
        rows.append(dict(zip(SETTINGS, keys, strict=True)) | row)
    theirs = published[[*SETTINGS, "published", "published_std"]]
    both = pd.DataFrame(rows).merge(theirs, on=SETTINGS, how="outer", sort=False)
    return both.sort_values(SETTINGS, kind="stable", ignore_index=True)


def welch(cells: pd.DataFrame) -> pd.Series:
    """Ours minus the published mean in standard errors of that difference (Welch), [cells]."""
    # The interval's half by Student's quantile.
    ours = (cells["high"] - cells["low"]) / 2 / half_width(1.0, cells["n"]) / np.sqrt(cells["n"])
    theirs = cells["published_std"] / np.sqrt(PUBLISHED_RUNS)
    return (cells["value"] - cells["published"]) / np.hypot(ours, theirs)


def weighted_sum(estimates: pd.DataFrame, weights: np.ndarray, together: Sequence) -> dict:
    """A weighted sum of means with its interval: `value`, `low`, `high`, `n`.

    Means that rest on the same seeds, equal in `together` [means], vary together; how is not
    known, so that halves of their intervals are added, the most that they can come to. Other seeds
    are independent: squares are added.
    """
    halves = np.abs(weights) * (estimates["high"] - estimates["low"]) / 2
    half = float(np.sqrt((halves.groupby(np.asarray(together)).sum() ** 2).sum()))
    value = float((weights * estimates["value"]).sum())
    return {"value": value, "low": value - half, "high": value + half, "n": estimates["n"].min()}


def slope(cells: pd.DataFrame) -> dict[str, object]:
    """Our effect of training in units of the published one, over all cells together.

    With d = entropy - `INITIAL_ENTROPY`: sum of d_ours d_published / sum of d_published^2, the
    least squares slope through the start.
    """
    theirs = cells["published"] - INITIAL_ENTROPY
    moved = cells.assign(**{end: cells[end] - INITIAL_ENTROPY for end in ("value", "low", "high")})
    ours = weighted_sum(moved, theirs / (theirs**2).sum(), cells["num_last"])
    return ours | {"published": 1.0}


def trend(runs: pd.DataFrame, published: pd.DataFrame, along: str) -> list[dict[str, object]]:
    """What a rate does: entropy at its largest value minus at its smallest, mean over the other.

    Paired by seed, because a seed has the same data and start under all learning rates.

    Returns:
        Rows of `{along}_difference` for each number of query tokens with that of the published
        cells that ran; then their mean, that which goes least on the claimed side (`least`), and
        the mean in units of the published one (`effect`). None where the rate has one value.
    """
    if runs[along].nunique() < 2:
        return []

    def difference(table: pd.DataFrame, values: str, each: str) -> np.ndarray:  # without NaN
        means = table.groupby([each, along])[values].agg(lambda v: v.mean(skipna=False)).unstack()
        return (means.iloc[:, -1] - means.iloc[:, 0]).dropna().to_numpy()

    rows = []
    for num_last, group in runs.groupby("num_last"):
        ran = group[SETTINGS].drop_duplicates()
        theirs = published.merge(ran, on=SETTINGS)
        row = {"num_last": num_last, "quantity": f"{along}_difference", "published": np.nan}
        if len(theirs) == len(ran):
            [row["published"]] = difference(theirs, "published", "num_last")
        rows.append(row | over_runs(difference(group, "entropy", "seed")))
    sizes = pd.DataFrame(rows)
    mean = weighted_sum(sizes, np.full(len(rows), 1 / len(rows)), range(len(rows)))
    mean |= {"state": sizes["state"].max(), "published": sizes["published"].mean(skipna=False)}
    # With the published difference at that number of query tokens.
    _, least = worst(rows, SIDES[along])
    effect = {end: mean[end] / mean["published"] for end in ("value", "low", "high")}
    if mean["published"] < 0:
        effect["low"], effect["high"] = effect["high"], effect["low"]
    return [
        *rows,
        mean | {"quantity": f"{along}_difference_mean"},
        least | {"num_last": np.nan, "quantity": f"{along}_difference_least"},
        mean | effect | {"published": 1.0, "quantity": f"{along}_effect"},
    ]
