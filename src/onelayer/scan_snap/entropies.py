"""Entropy of attention against the learning rates, beside the published cells (Fig. 6)."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from onelayer.evidence.intervals import half_width
from onelayer.scan_snap.data import TOKEN_CHANCES
from onelayer.scan_snap.measures import ATTENTION, SETTINGS, distinct_entropy, over_runs

# Before training attention follows P(l): what 'no effect of training' means.
INITIAL_ENTROPY = float(distinct_entropy(TOKEN_CHANCES))
UNMOVED_ENTROPY = 0.005  # so near to it a run has not left it (nats)
PUBLISHED_RUNS = 10  # seeds behind a published mean and standard deviation


def read_published(path: Path) -> pd.DataFrame:
    """The 64 published cells: `SETTINGS`, `published`, `published_std`."""
    return pd.read_csv(path)[[*SETTINGS, "published", "published_std"]]


def entropy_by_run(simulated: pd.DataFrame, iteration: int) -> pd.DataFrame:
    """Fig. 6's metric: entropy averaged over the classes of each run, NaN if it diverged.

    Returns:
        Columns `SETTINGS`, `seed`, `entropy`.
    """
    at = simulated[simulated["iteration"] == iteration]
    entropy = distinct_entropy(at[ATTENTION].to_numpy(np.float64))
    measured = at[[*SETTINGS, "seed", "diverged_at"]].assign(entropy=entropy)
    runs = measured.groupby([*SETTINGS, "seed"], sort=False).mean().reset_index()
    return runs.assign(entropy=runs["entropy"].where(runs.pop("diverged_at") < 0))


def cells(runs: pd.DataFrame, published: pd.DataFrame) -> pd.DataFrame:
    """Entropy of every setting over `entropy_by_run`'s runs, beside the published cells.

    Returns:
        `SETTINGS`, `value`, `low`, `high`, `n`, `std`, `state`, `published`, `published_std`; a
        published cell that was not run has no value.
    """
    rows = []
    for keys, group in runs.groupby(SETTINGS, sort=False):
        row = over_runs(group["entropy"]) | {"std": group["entropy"].std()}
        if ((group["entropy"] - INITIAL_ENTROPY).abs().dropna() <= UNMOVED_ENTROPY).all():
            row["state"] = "not reached"
        rows.append(dict(zip(SETTINGS, keys, strict=True)) | row)
    both = pd.DataFrame(rows).merge(published, on=SETTINGS, how="outer", sort=False)
    return both.sort_values(SETTINGS, kind="stable", ignore_index=True)


def welch(cells: pd.DataFrame) -> pd.Series:
    """Ours minus the published mean in standard errors of that difference (Welch), [cells]."""
    # The interval's half by Student's quantile.
    ours = (cells["high"] - cells["low"]) / 2 / half_width(1.0, cells["n"]) / np.sqrt(cells["n"])
    theirs = cells["published_std"] / np.sqrt(PUBLISHED_RUNS)
    return (cells["value"] - cells["published"]) / np.hypot(ours, theirs)


def pooled(weights: np.ndarray, halves: np.ndarray, together: Sequence) -> float:
    """Half of the interval of a weighted sum of means, from half of each one's interval.

    Means that rest on the same seeds, equal in `together` [means], vary together; how is not
    known, so that their halves are added, the most that they can come to. Other seeds are
    independent: squares are added.
    """
    parts = pd.Series(np.abs(weights) * np.asarray(halves)).groupby(np.asarray(together)).sum()
    return float(np.sqrt((parts**2).sum()))


def slope(cells: pd.DataFrame) -> dict[str, object]:
    """Our effect of training in units of the published one, over all cells together.

    With d = entropy - `INITIAL_ENTROPY`: sum of d_ours d_published / sum of d_published^2, the
    least squares slope through the start.
    """
    theirs = cells["published"] - INITIAL_ENTROPY
    weights = theirs / (theirs**2).sum()
    value = float((weights * (cells["value"] - INITIAL_ENTROPY)).sum())
    half = pooled(weights, (cells["high"] - cells["low"]) / 2, cells["num_last"])
    n = int(cells["n"].min())
    return {"value": value, "low": value - half, "high": value + half, "n": n, "published": 1.0}


def trend(runs: pd.DataFrame, published: pd.DataFrame, along: str) -> list[dict[str, object]]:
    """What a rate does: entropy at its largest value minus at its smallest, mean over the other.

    Paired by seed, because a seed has the same data and start under all learning rates. A row for
    each number of query tokens, then their mean, with the same of the published cells that ran.
    """
    across = {"lr_Z": "lr_Y_multiplier", "lr_Y_multiplier": "lr_Z"}[along]
    rows = []
    for num_last, group in runs.groupby("num_last"):
        ran = group[SETTINGS].drop_duplicates()
        theirs = published.merge(ran, on=SETTINGS)
        if ran[along].nunique() < 2:
            continue
        row = {"num_last": num_last} | over_runs(_contrast(group, "entropy", "seed", across, along))
        if len(theirs) == len(ran):
            [row["published"]] = _contrast(theirs, "published", "num_last", across, along)
        rows.append(row | {"quantity": f"{along}_difference"})
    if len(rows) > 1:
        sizes = pd.DataFrame(rows)
        value, count = float(sizes["value"].mean()), len(rows)
        half = pooled(np.full(count, 1 / count), (sizes["high"] - sizes["low"]) / 2, range(count))
        row = {"value": value, "low": value - half, "high": value + half, "n": sizes["n"].min()}
        row |= {"state": sizes["state"].max()}
        if "published" in sizes:
            row["published"] = sizes["published"].mean(skipna=False)
        rows.append(row | {"quantity": f"{along}_difference_mean"})
    return rows


def _contrast(table: pd.DataFrame, values: str, each: str, across: str, along: str) -> np.ndarray:
    """Mean over `across` of last minus first value of `along`, [each]; with a hole left out."""
    wide = table.pivot_table(values, each, [across, along], dropna=False).dropna()
    grids = wide.to_numpy().reshape(len(wide), table[across].nunique(), table[along].nunique())
    return (grids[..., -1] - grids[..., 0]).mean(axis=-1)
