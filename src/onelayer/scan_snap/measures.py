"""What the paper's figures and claims are about, from c_{l|n} of the trained runs.

c has shape [..., 20]: slots 0-9 common tokens, 10-19 distinct ones from rare to frequent.
"""

import numpy as np
import pandas as pd
from scipy.stats import rankdata

from onelayer.evidence.intervals import mean
from onelayer.scan_snap.data import COMMON, SLOTS, TOKEN_CHANCES

# Columns of a simulation's table: what a run is, when and where it is looked at, and c.
SETTINGS = ["num_last", "lr_Z", "lr_Y_multiplier"]
KEYS = [*SETTINGS, "seed", "iteration", "sequence_class"]
ATTENTION = [f"c_{slot:02}" for slot in range(SLOTS)]
UNMOVED = 0.01  # a change of a token's attention below this share of it is none
EARLY = 10  # speed is taken around iteration 10 and at the end
WINDOW = 5  # iterations over which speed is taken: of single batches it is noise


def over_runs(
    values: np.ndarray | pd.Series, least: float = -np.inf, most: float = np.inf
) -> dict[str, object]:
    """Mean, interval and state of a number over the runs that have it, as a part of a table's row.

    Args:
        values: [runs], NaN where a run has none.
        least, most: between which the number lies by definition.
    """
    values = np.asarray(values, float)
    estimate = mean(values[~np.isnan(values)], least, most)
    few = "undecided" if np.isnan(estimate["low"]) else ""
    return estimate | {"state": few if estimate["n"] else "not reached"}


def common_mass(c: np.ndarray) -> np.ndarray:
    """Attention on the common tokens together, [...]."""
    return c[..., :COMMON].sum(axis=-1)


def distinct_entropy(c: np.ndarray) -> np.ndarray:
    """Entropy of attention renormalised over the distinct tokens (nats), [...]: Fig. 6's metric."""
    distinct = c[..., COMMON:]
    shares = distinct / distinct.sum(axis=-1, keepdims=True)
    logs = np.log(shares, out=np.zeros_like(shares), where=shares > 0)
    return -(shares * logs).sum(axis=-1)


def spearman(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Rank correlation along the last axis, [...]; NaN where either is constant."""
    ranks = [rankdata(values, axis=-1) for values in (first, second)]
    first, second = (values - values.mean(axis=-1, keepdims=True) for values in ranks)
    covariance = (first * second).sum(axis=-1)
    scale = np.sqrt((first**2).sum(axis=-1) * (second**2).sum(axis=-1))
    return np.divide(covariance, scale, out=np.full_like(covariance, np.nan), where=scale > 0)


def trajectories(simulated: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Iterations [times] and c of class 0 of every run, [times, runs, 20] (Fig. 4).

    Runs are in the order of their settings and seeds, whatever the order of the rows.

    Raises:
        ValueError: a run lacks an iteration that another has, or has one twice.
    """
    first = simulated[simulated["sequence_class"] == 0]
    first = first.sort_values(["iteration", *SETTINGS, "seed"])
    iterations, times = np.unique(first["iteration"], return_counts=True)
    runs = len(first[[*SETTINGS, "seed"]].drop_duplicates())
    if first.duplicated([*SETTINGS, "seed", "iteration"]).any() or (times != runs).any():
        raise ValueError("runs were not all observed at the same iterations, once each")
    c = first[ATTENTION].to_numpy(np.float64)
    return iterations, c.reshape(len(iterations), runs, SLOTS)


def scan_measures(simulated: pd.DataFrame, iterations: int) -> pd.DataFrame:
    """What attention does in each run of one size and pair of rates (Fig. 4).

    Until `iterations` attention was kept at every iteration, and afterwards at some.

    Returns:
        A row per seed; NaN for a run that diverged or whose attention did not leave its start.
        `common_mass_change`; `gain_spearman`, the rank correlation over the distinct tokens of
        gain c(end) / c(0) and P(l); `gain_of_most_frequent`, `gain_of_rarest` distinct token;
        `largest_attention` of any token; `slowing_down`, of the top token, and
        `entropy_slowing_down`, log10 of speed early / at the end; `way_after` the end over the way
        before; `drop_delay[1 to 2]`, from the rarest to the next distinct token (iterations).
    """
    _, c = trajectories(simulated)  # [times, runs, 20], by seed
    diverged_at = simulated.groupby("seed")["diverged_at"].max()
    c = np.where(diverged_at.to_numpy()[:, None] < 0, c, np.nan)
    start, end = c[0], c[iterations]
    gain, way = end / start, np.abs(end - start).sum(axis=1)
    frequency = np.broadcast_to(TOKEN_CHANCES[COMMON:], gain[:, COMMON:].shape)
    rarest, next_one = drop_times(c[: iterations + 1])[:, COMMON : COMMON + 2].T
    measures = pd.DataFrame(
        {
            "common_mass_change": common_mass(end) - common_mass(start),
            "gain_spearman": spearman(gain[:, COMMON:], frequency),
            "gain_of_most_frequent": gain[:, -1],
            "gain_of_rarest": gain[:, COMMON],
            "largest_attention": end.max(axis=1),
            "slowing_down": slowing_down(c[:, :, -1], iterations),
            "entropy_slowing_down": slowing_down(distinct_entropy(c), iterations),
            "way_after": np.abs(c[-1] - end).sum(axis=1) / np.where(way > 0, way, np.nan),
            # Where the next one alone drops, the rarest counts as dropping after the end.
            "drop_delay[1 to 2]": next_one - np.nan_to_num(rarest, nan=iterations + 1),
        },
        index=diverged_at.index,
    )
    measures[(np.abs(gain - 1) < UNMOVED).all(axis=1)] = np.nan
    return measures


def slowing_down(followed: np.ndarray, iterations: int) -> np.ndarray:
    """Log10 of a number's speed early over its speed at the end, [runs]; NaN if it stands still.

    The speed at the end differs by orders of magnitude between seeds: a mean of logarithms counts
    all of them, a mean of ratios only the one most at rest. `followed` is [times, runs].
    """
    speed = np.abs(np.diff(followed, axis=0))
    early = speed[EARLY - WINDOW // 2 : EARLY + WINDOW // 2 + 1].mean(axis=0)
    late = speed[iterations - WINDOW : iterations].mean(axis=0)
    moving = (early > 0) & (late > 0)
    return np.log10(np.divide(early, late, out=np.full_like(early, np.nan), where=moving))


def drop_times(c: np.ndarray) -> np.ndarray:
    """The first iteration at which each token's c is 1% below its start, [runs, 20]; NaN: never.

    c is [iterations, runs, 20], of every iteration.
    """
    dropped = c < (1 - UNMOVED) * c[0]
    return np.where(dropped.any(axis=0), dropped.argmax(axis=0), np.nan)


def transition_times(times: np.ndarray, c: np.ndarray) -> np.ndarray:
    """The phase transition: the iteration at which all of c moves fastest (l1), [runs].

    c [times, runs, 20] is of times equally far apart. NaN where speed is still growing at the end,
    or nothing moved.
    """
    way = np.abs(np.diff(c, axis=0)).sum(axis=2)
    speed = np.lib.stride_tricks.sliding_window_view(way, WINDOW, axis=0).mean(axis=2)
    fastest = speed.argmax(axis=0)
    reached = (fastest < len(speed) - 1) & (speed.max(axis=0) > 0)
    return np.where(reached, (times[fastest] + times[fastest + WINDOW]) / 2, np.nan)


def transition_times_by_run(simulated: pd.DataFrame) -> pd.DataFrame:
    """Columns `lr_Z`, `lr_Y`, `seed`, `time` (iterations), a row per run that went through."""
    whole = simulated[simulated["diverged_at"] < 0]
    parts = []
    for (lr_Z, multiplier), runs in whole.groupby(["lr_Z", "lr_Y_multiplier"]):
        row = {"lr_Z": lr_Z, "lr_Y": lr_Z * multiplier}
        row["seed"] = np.unique(runs["seed"])  # in the order of `trajectories`
        parts.append(pd.DataFrame(row | {"time": transition_times(*trajectories(runs))}))
    return pd.concat(parts, ignore_index=True)


def transition_exponents(times: pd.DataFrame) -> pd.DataFrame:
    """Slopes of log time on log lr_Z and log lr_Y together, least squares, a row per seed.

    NaN where a run of the seed has no time, or the rates do not tell the two slopes apart.
    """
    rows = {}
    for seed, runs in times.groupby("seed"):
        logs = np.log(runs[["lr_Z", "lr_Y"]].to_numpy())
        logs -= logs.mean(axis=0)
        told_apart = np.linalg.matrix_rank(logs) == 2
        rows[seed] = np.linalg.pinv(logs) @ np.log(runs["time"]) if told_apart else [np.nan] * 2
    return pd.DataFrame.from_dict(rows, orient="index", columns=["lr_Z", "lr_Y"])
