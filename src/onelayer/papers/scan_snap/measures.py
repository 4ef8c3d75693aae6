"""Numbers that the paper's figures and claims are about, from c_{l|n} of the trained runs.

c has shape [..., 20]: slots 0-9 common tokens, 10-19 distinct ones from rare to frequent.
"""

import numpy as np
import pandas as pd
from scipy.stats import rankdata

from onelayer.evidence.power_laws import exponents
from onelayer.papers.scan_snap.data import COMMON, SLOTS

UNMOVED = 0.01  # a change of a token's attention below this share of it is none
EARLY = 10  # speed is taken around iteration 10 and at the end
WINDOW = 5  # ways from one time to the next over which speed is taken
# Columns of a simulation's table: what a run is, when and where it is looked at, and c.
SETTINGS = ["num_last", "lr_Z", "lr_Y_multiplier"]
RATES = ["lr_Z", "lr_Y"]  # of the two layers
KEYS = [*SETTINGS, "seed", "iteration", "sequence_class"]
ATTENTION = [f"c_{slot:02}" for slot in range(SLOTS)]


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


def entropy_by_run(table: pd.DataFrame) -> pd.DataFrame:
    """Fig. 6's metric: entropy averaged over the classes of each run of `simulation.simulate`.

    Returns:
        Columns `SETTINGS`, `seed`, `iteration`, `diverged_at`, `entropy`.
    """
    keys = [*SETTINGS, "seed", "iteration", "diverged_at"]
    measured = table[keys].assign(entropy=distinct_entropy(table[ATTENTION].to_numpy(np.float64)))
    return measured.groupby(keys, sort=False)["entropy"].mean().reset_index()


def trajectories(table: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Iterations [times] and c of class 0 of every run, [times, runs, 20] (Fig. 4).

    Runs are in the order of their settings and seeds, whatever the order of the rows.

    Raises:
        ValueError: a run lacks an iteration that another has, or has one twice.
    """
    first = table[table["sequence_class"] == 0].sort_values(["iteration", *SETTINGS, "seed"])
    iterations, times = np.unique(first["iteration"], return_counts=True)
    runs = len(first[[*SETTINGS, "seed"]].drop_duplicates())
    if first.duplicated([*SETTINGS, "seed", "iteration"]).any() or (times != runs).any():
        raise ValueError("runs were not all observed at the same iterations, once each")
    c = first[ATTENTION].to_numpy(np.float64)
    return iterations, c.reshape(len(iterations), runs, SLOTS)


def way_after(c: np.ndarray, iterations: int) -> np.ndarray:
    """The way of c [times, runs, 20] from `iterations` to the end over the way before (l1), [runs].

    NaN where it stood still before. Until `iterations` c is of every iteration.
    """
    before = np.abs(c[iterations] - c[0]).sum(axis=1)
    after = np.abs(c[-1] - c[iterations]).sum(axis=1)
    return np.divide(after, before, out=np.full_like(before, np.nan), where=before > 0)


def slowing_down(top: np.ndarray, iterations: int) -> np.ndarray:
    """Log10 of the speed of the top token's c early over its speed at the end, [runs].

    The speed at the end differs by orders of magnitude between seeds: a mean of logarithms counts
    all of them, a mean of ratios only the one most at rest. NaN where it has not moved.
    `top` [times, runs] is of every iteration until `iterations`.
    """
    speed = np.abs(np.diff(top, axis=0))
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
    """When attention stops gathering speed: the iteration at which all of c moves fastest.

    Speed is the l1 way of c [iterations, runs, 20] from one time to the next, equally far apart,
    over `WINDOW` of them: single batches are noise.

    Returns:
        float64 [runs]; NaN where speed is still growing at the end, or nothing moved.
    """
    way = np.abs(np.diff(c, axis=0)).sum(axis=2)  # [iterations - 1, runs]
    speed = np.lib.stride_tricks.sliding_window_view(way, WINDOW, axis=0).mean(axis=2)
    fastest = speed.argmax(axis=0)
    reached = (fastest < len(speed) - 1) & (speed.max(axis=0) > 0)
    middle = (times[fastest] + times[fastest + WINDOW]) / 2
    return np.where(reached, middle, np.nan)


def transition_times_by_run(simulated: pd.DataFrame) -> pd.DataFrame:
    """Columns `lr_Z`, `lr_Y`, `seed`, `time` (iterations), a row for each run that went through.

    They are of one size, observed at iterations equally far apart.
    """
    whole = simulated[simulated["diverged_at"] < 0]
    parts = []
    for (lr_Z, multiplier), runs in whole.groupby(["lr_Z", "lr_Y_multiplier"]):
        row = {"lr_Z": lr_Z, "lr_Y": lr_Z * multiplier}
        row["seed"] = np.unique(runs["seed"])  # in the order of `trajectories`
        parts.append(pd.DataFrame(row | {"time": transition_times(*trajectories(runs))}))
    return pd.concat(parts, ignore_index=True)


def transition_exponents(times: pd.DataFrame) -> pd.DataFrame:
    """Slopes of log time on log lr_Z and log lr_Y together, a row per seed.

    NaN where a run of the seed has no time, or the rates do not tell the two slopes apart.
    """
    rows = {
        seed: exponents(runs["time"].to_numpy(), runs[RATES].to_numpy())
        for seed, runs in times.groupby("seed")
    }
    return pd.DataFrame.from_dict(rows, orient="index", columns=RATES)


def query_tokens(num_last: int) -> str:
    """`1 query token`, `3 query tokens`."""
    return f"{num_last} query token" + ("s" if num_last > 1 else "")
