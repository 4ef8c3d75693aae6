"""What Fig. 4 and the abstract's claims are about, from c_{l|n} of the trained runs.

c has shape [..., 20]: slots 0-9 common tokens, 10-19 distinct ones from rare to frequent.
"""

import numpy as np
import pandas as pd
from scipy.special import entr

from onelayer.evidence.intervals import mean
from onelayer.evidence.tables import interval
from onelayer.scan_snap.data import COMMON, SLOTS, TOKEN_CHANCES

# Columns of a simulation's table: what a run is, when and where it is looked at, and c.
SETTINGS = ["num_last", "lr_Z", "lr_Y_multiplier"]
KEYS = [*SETTINGS, "seed", "iteration", "sequence_class"]
ATTENTION = [f"c_{slot:02}" for slot in range(SLOTS)]
UNMOVED = 0.01  # a change of a token's attention below this share of it is none
WINDOW = 5  # looks over which speed is taken: of single batches it is noise


def over_runs(values: np.ndarray | pd.Series, *limits: float) -> dict[str, object]:
    """Mean, interval and state of a number over the runs that have it, [runs] with NaN for none.

    The part of a table's row; `limits` are those of `mean`.
    """
    values = np.asarray(values, float)
    estimate = mean(values[~np.isnan(values)], *limits)
    few = "undecided" if np.isnan(estimate["low"]) else ""
    return estimate | {"state": few if estimate["n"] else "not reached"}


def wide(number: pd.Series, of: pd.Series, given: pd.DataFrame | pd.Series) -> pd.DataFrame:
    """Tidy rows for readers: what a `number` is down, what it is measured `of` across.

    `given` are the cells' texts, or rows of numbers with their intervals.
    """
    if isinstance(given, pd.DataFrame):
        given = [interval(*ends, 3) for ends in given[["value", "low", "high"]].to_numpy()]
    grid = pd.DataFrame({number.name: number, "of": of, "text": given})
    grid = grid.pivot(index=number.name, columns="of", values="text").rename_axis(columns=None)
    return grid.loc[number.unique(), of.unique()].fillna("–").reset_index()


def common_mass(c: np.ndarray) -> np.ndarray:
    """Attention on the common tokens together, [...]."""
    return c[..., :COMMON].sum(axis=-1)


def distinct_entropy(c: np.ndarray) -> np.ndarray:
    """Entropy of attention renormalised over the distinct tokens (nats), [...]: Fig. 6's metric."""
    distinct = c[..., COMMON:]
    return entr(distinct / distinct.sum(axis=-1, keepdims=True)).sum(axis=-1)


def order_by_frequency(values: np.ndarray) -> np.ndarray:
    """Spearman's correlation of numbers [runs, 20] with P(l) over the distinct tokens, [runs]."""
    ranks = pd.DataFrame(values[:, COMMON:]).rank(axis=1)
    return ranks.corrwith(pd.Series(TOKEN_CHANCES[COMMON:]).rank(), axis=1).to_numpy()


def trajectories(simulated: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Iterations [times], and c of class 0, [times, runs, 20], by settings and seed (Fig. 4)."""
    first = simulated[simulated["sequence_class"] == 0]
    first = first.sort_values(["iteration", *SETTINGS, "seed"])
    iterations = first["iteration"].unique()
    return iterations, first[ATTENTION].to_numpy().reshape(len(iterations), -1, SLOTS)


def scan_measures(simulated: pd.DataFrame, iterations: int) -> pd.DataFrame:
    """What attention does in each run of one size and pair of rates (Fig. 4), a row per seed.

    Until `iterations` attention was kept at every iteration, and afterwards at some. NaN for a run
    that diverged or whose attention did not leave its start. `slowing_down` is of the top token's
    c; `way_after` the end over the way before.
    """
    _, c = trajectories(simulated)  # [times, runs, 20], by seed
    diverged_at = simulated.groupby("seed")["diverged_at"].max()
    c = np.where(diverged_at.to_numpy()[:, None] < 0, c, np.nan)
    start, end, scan = c[0], c[iterations], c[: iterations + 1]
    gain, way = end / start, np.abs(end - start).sum(axis=1)
    fastest, lag = fastest_windows(scan), iterations // 2
    measures = {
        "common_mass_change": common_mass(end) - common_mass(start),
        "gain_spearman": order_by_frequency(gain),
        "drop_spearman": order_by_frequency(drop_times(scan)),
        "gain_of_most_frequent": gain[:, -1],
        "gain_of_rarest": gain[:, COMMON],
        "largest_attention": end.max(axis=1),
        "largest_attention_after": c[-1].max(axis=1),
        "slowing_down": slowing_down(scan[..., -1], fastest, lag),
        "entropy_slowing_down": slowing_down(distinct_entropy(scan), fastest, lag),
        "way_after": np.abs(c[-1] - end).sum(axis=1) / np.where(way > 0, way, np.nan),
    }
    table = pd.DataFrame(measures, index=diverged_at.index)
    table[(np.abs(gain - 1) < UNMOVED).all(axis=1)] = np.nan
    return table


def drop_times(c: np.ndarray) -> np.ndarray:
    """The first iteration at which each token's c is 1% below its largest so far, [runs, 20].

    c is [iterations, runs, 20]; the time of a token that never drops comes after all.
    """
    dropped = c < (1 - UNMOVED) * np.maximum.accumulate(c, axis=0)
    return np.where(dropped.any(axis=0), dropped.argmax(axis=0), float(len(c)))


def fastest_windows(c: np.ndarray) -> np.ndarray:
    """The phase transition: the window w .. w + `WINDOW` in which c moves fastest (l1), [runs].

    c is [times, runs, 20]. NaN where speed is still growing at the end, or nothing moved.
    """
    speed = _window_means(np.abs(np.diff(c, axis=0)).sum(axis=2))
    fastest = speed.argmax(axis=0)
    return np.where((fastest < len(speed) - 1) & (speed.max(axis=0) > 0), fastest, np.nan)


def slowing_down(followed: np.ndarray, fastest: np.ndarray, lag: int) -> np.ndarray:
    """Log10 of a number's speed in window `fastest` over its speed `lag` windows later, [runs].

    Every run is looked at by its own clock. `followed` is [times, runs]; NaN if it stands still or
    the run ends before.
    """
    speed = _window_means(np.abs(np.diff(followed, axis=0)))
    slowed = np.full(followed.shape[1], np.nan)
    for run in np.flatnonzero(fastest + lag < len(speed)):  # not where fastest is NaN
        early, late = speed[int(fastest[run]) + np.array([0, lag]), run]
        if early > 0 and late > 0:
            slowed[run] = np.log10(early / late)
    return slowed


def _window_means(steps: np.ndarray) -> np.ndarray:
    return np.lib.stride_tricks.sliding_window_view(steps, WINDOW, axis=0).mean(axis=-1)


def transition_times(simulated: pd.DataFrame) -> pd.DataFrame:
    """Columns `lr_Z`, `lr_Y`, `seed`, `time` (iterations), a row per run that went through."""
    whole = simulated[simulated["diverged_at"] < 0]
    parts = []
    for (lr_Z, multiplier), runs in whole.groupby(["lr_Z", "lr_Y_multiplier"]):
        times, c = trajectories(runs)
        middle = (fastest_windows(c) + WINDOW / 2) * (times[1] - times[0])
        row = {"lr_Z": lr_Z, "lr_Y": lr_Z * multiplier, "seed": np.unique(runs["seed"])}
        parts.append(pd.DataFrame(row | {"time": middle}))
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
