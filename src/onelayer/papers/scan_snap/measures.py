"""Numbers that the paper's figures and claims are about, from c_{l|n} of the trained runs.

c has shape [..., 20]: slots 0-9 common tokens, 10-19 distinct ones from rare to frequent.
"""

import numpy as np
import pandas as pd

from onelayer.papers.scan_snap.data import COMMON, SLOTS

UNMOVED = 0.01  # a change of a token's attention below this share of it is none
WINDOW = 5  # iterations over which speed is taken
# Columns of a simulation's table: what a run is, when and where it is looked at, and c.
SETTINGS = ["num_last", "lr_Z", "lr_Y_multiplier"]
KEYS = [*SETTINGS, "seed", "iteration", "sequence_class"]
ATTENTION = [f"c_{slot:02}" for slot in range(SLOTS)]


def attention_of(table: pd.DataFrame) -> np.ndarray:
    """C of every row of a simulation's table, float64 [rows, 20]."""
    return table[ATTENTION].to_numpy(np.float64)


def common_mass(c: np.ndarray) -> np.ndarray:
    """Attention on the common tokens together, [...]."""
    return c[..., :COMMON].sum(axis=-1)


def distinct_shares(c: np.ndarray) -> np.ndarray:
    """Attention on the class's distinct tokens, renormalised over them, [..., 10]."""
    distinct = c[..., COMMON:]
    return distinct / distinct.sum(axis=-1, keepdims=True)


def distinct_entropy(c: np.ndarray) -> np.ndarray:
    """Entropy of `distinct_shares` (nats), [...]: the metric of Fig. 6."""
    shares = distinct_shares(c)
    logs = np.log(shares, out=np.zeros_like(shares), where=shares > 0)
    return -(shares * logs).sum(axis=-1)


def spearman(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Rank correlation along the last axis, [...]; NaN where either is constant."""
    ranks = [_ranks(values) for values in (first, second)]
    first, second = (values - values.mean(axis=-1, keepdims=True) for values in ranks)
    covariance = (first * second).sum(axis=-1)
    scale = np.sqrt((first**2).sum(axis=-1) * (second**2).sum(axis=-1))
    return np.divide(covariance, scale, out=np.full_like(covariance, np.nan), where=scale > 0)


def _ranks(values: np.ndarray) -> np.ndarray:
    """Ranks along the last axis, [...]; equal values share their mean rank."""
    rows = pd.DataFrame(values.reshape(-1, values.shape[-1]))
    return rows.rank(axis=1).to_numpy().reshape(values.shape)


def entropy_by_run(table: pd.DataFrame) -> pd.DataFrame:
    """Fig. 6's metric: entropy averaged over a run's classes.

    Args:
        table: as `simulation.simulate` makes it.

    Returns:
        Columns `num_last`, `lr_Z`, `lr_Y_multiplier`, `seed`, `iteration`, `entropy`,
        `diverged_at`.
    """
    keys = [*SETTINGS, "seed", "iteration", "diverged_at"]
    measured = table[keys].assign(entropy=distinct_entropy(attention_of(table)))
    found = measured.groupby(keys, sort=False)["entropy"].mean().reset_index()
    return found[[*keys[:-1], "entropy", "diverged_at"]]


def trajectories(table: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Iterations [times] and c of class 0 of every run, [times, runs, 20] (Fig. 4).

    Runs are in the order of their settings and seeds, whatever the order of the rows.

    Raises:
        ValueError: a run lacks an iteration that another has, or has one twice.
    """
    own = table[table["sequence_class"] == 0].sort_values(["iteration", *SETTINGS, "seed"])
    iterations, times = np.unique(own["iteration"], return_counts=True)
    runs = own[[*SETTINGS, "seed"]].drop_duplicates()
    repeated = own.duplicated([*SETTINGS, "seed", "iteration"]).any()
    if repeated or (times != len(runs)).any():
        raise ValueError("runs were not all observed at the same iterations, once each")
    return iterations, attention_of(own).reshape(len(iterations), len(runs), SLOTS)


def drop_times(times: np.ndarray, c: np.ndarray) -> np.ndarray:
    """When each token drops: the first iteration at which c is 1% below what it was at the start.

    Args:
        times: [iterations], ascending.
        c: [iterations, runs, 20].

    Returns:
        float64 [runs, 20]; NaN where c never is.
    """
    dropped = c < (1 - UNMOVED) * c[0]
    return np.where(dropped.any(axis=0), times[dropped.argmax(axis=0)], np.nan)


def transition_times(times: np.ndarray, c: np.ndarray) -> np.ndarray:
    """When attention stops gathering speed: the iteration at which all of c moves fastest.

    Speed is the l1 way of c in an iteration, over `WINDOW` of them: single batches are noise.

    Args:
        times: [iterations], one apart.
        c: [iterations, runs, 20].

    Returns:
        float64 [runs]; NaN where speed is still growing at the end, or nothing moved.
    """
    way = np.abs(np.diff(c, axis=0)).sum(axis=2)  # [iterations - 1, runs]
    speed = np.lib.stride_tricks.sliding_window_view(way, WINDOW, axis=0).mean(axis=2)
    fastest = speed.argmax(axis=0)
    reached = (fastest < len(speed) - 1) & (speed.max(axis=0) > 0)
    return np.where(reached, times[fastest] + WINDOW / 2, np.nan)


def query_tokens(num_last: int) -> str:
    """`1 query token`, `3 query tokens`."""
    return f"{num_last} query token" + ("s" if num_last > 1 else "")
