"""What Figs. 4 and 6 and the abstract's claims are about, from c_{l|n} of the trained runs.

c has shape [..., 20]: slots 0-9 common tokens, 10-19 distinct ones from rare to frequent.
"""

import numpy as np
import pandas as pd
from scipy.special import entr

from onelayer.evidence.intervals import mean, worst
from onelayer.scan_snap.data import COMMON, SLOTS, TOKEN_CHANCES

# Columns of a simulation's table: what a run is, when and where it is looked at, and c.
SETTINGS = ["num_last", "lr_Z", "lr_Y_multiplier"]
KEYS = [*SETTINGS, "seed", "iteration", "sequence_class"]
ATTENTION = [f"c_{slot:02}" for slot in range(SLOTS)]
UNMOVED = 0.01  # a change of a token's attention below this share of it is none
WINDOW = 5  # looks over which speed is taken: of single batches it is noise
UNMOVED_ENTROPY = 0.005  # so near to its start a run's entropy has not left it (nats)
# Which way the paper says that a rate moves entropy.
SIDES = {"lr_Y_multiplier": 1, "lr_Z": -1}


def over_runs(values: np.ndarray | pd.Series, *limits: float) -> dict[str, object]:
    """Mean, interval and state over the runs that have a number, [runs] with NaN for none.

    `limits` are those of `mean`.
    """
    values = np.asarray(values, float)
    estimate = mean(values[~np.isnan(values)], *limits)
    few = "undecided" if np.isnan(estimate["low"]) else ""
    return estimate | {"state": few if estimate["n"] else "not reached"}


def distinct_entropy(c: np.ndarray) -> np.ndarray:
    """Entropy of attention renormalised over the distinct tokens (nats), [...]: Fig. 6's metric."""
    distinct = c[..., COMMON:]
    return entr(distinct / distinct.sum(axis=-1, keepdims=True)).sum(axis=-1)


# Before training attention follows P(l): what 'no effect of training' means.
INITIAL_ENTROPY = float(distinct_entropy(TOKEN_CHANCES))


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


def scan_measures(
    simulated: pd.DataFrame, iterations: int, transition: np.ndarray | None = None
) -> pd.DataFrame:
    """What attention does in each run of one size and pair of rates (Fig. 4), a row per seed.

    Until `iterations` attention was kept at every iteration. NaN for a run that diverged or whose
    attention did not leave its start. `way_after` is to the very end, over the way before. Speeds
    are compared with that in window `transition`, [runs], if not with that in a run's own.
    """
    _, c = trajectories(simulated)  # [times, runs, 20], by seed
    diverged_at = simulated.groupby("seed")["diverged_at"].max()
    c = np.where(diverged_at.to_numpy()[:, None] < 0, c, np.nan)
    scan, start, end = c[: iterations + 1], c[0], c[iterations]  # the last two [runs, 20]
    gain, way = end / start, np.abs(end - start).sum(axis=1)
    if transition is None:
        transition = fastest_windows(scan)
    lag = iterations // 2
    measures = {
        "common_mass_change": end[:, :COMMON].sum(axis=1) - start[:, :COMMON].sum(axis=1),
        "gain_spearman": order_by_frequency(gain),
        "drop_spearman": order_by_frequency(drop_times(scan)),
        "gain_of_most_frequent": gain[:, -1],
        "gain_of_rarest": gain[:, COMMON],
        "largest_attention": end.max(axis=1),
        "largest_attention_after": c[-1].max(axis=1),
        "slowing_down": slowing_down(scan[..., -1], transition, lag),
        "entropy_slowing_down": slowing_down(distinct_entropy(scan), transition, lag),
        "way_after": np.abs(c[-1] - end).sum(axis=1) / np.where(way > 0, way, np.nan),
    }
    table = pd.DataFrame(measures, index=diverged_at.index)
    table[(np.abs(gain - 1) < UNMOVED).all(axis=1)] = np.nan
    return table


def window_means(steps: np.ndarray) -> np.ndarray:
    """Means over `WINDOW` steps in a row, [steps - 4, runs]."""
    return np.lib.stride_tricks.sliding_window_view(steps, WINDOW, axis=0).mean(axis=-1)


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
    speed = window_means(np.abs(np.diff(c, axis=0)).sum(axis=2))
    fastest = speed.argmax(axis=0)
    return np.where((fastest < len(speed) - 1) & (speed.max(axis=0) > 0), fastest, np.nan)


def fastest_decoder(simulated: pd.DataFrame, iterations: int) -> tuple[float, np.ndarray]:
    """The largest lr_Y / lr_Z, and the phase transition of each of its runs as above, [runs]."""
    rate = simulated["lr_Y_multiplier"].max()
    _, c = trajectories(simulated[simulated["lr_Y_multiplier"] == rate])
    return rate, fastest_windows(c[: iterations + 1])


def slowing_down(followed: np.ndarray, transition: np.ndarray, lag: int) -> np.ndarray:
    """Log10 of a number's speed in window `transition` over that `lag` windows later, [runs].

    `followed` is [times, runs]; NaN if it stands still or the run ends before.
    """
    speed = window_means(np.abs(np.diff(followed, axis=0)))
    slowed = np.full(followed.shape[1], np.nan)
    for run in np.flatnonzero(transition + lag < len(speed)):  # not where it is NaN
        early, late = speed[int(transition[run]) + np.array([0, lag]), run]
        if early > 0 and late > 0:
            slowed[run] = np.log10(early / late)
    return slowed


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
    grid = times.pivot(index="seed", columns=["lr_Z", "lr_Y"], values="time")
    logs = np.log(grid.columns.to_frame())  # [pairs of rates, 2]
    centred = logs - logs.mean()
    told_apart = 1.0 if np.linalg.matrix_rank(centred) == 2 else np.nan
    slopes = np.log(grid.to_numpy()) @ np.linalg.pinv(centred).T * told_apart
    return pd.DataFrame(slopes, grid.index, ["lr_Z", "lr_Y"])


def entropy_by_run(simulated: pd.DataFrame, iteration: int) -> pd.DataFrame:
    """Fig. 6's metric, `entropy`: averaged over the classes of each run, NaN if it diverged."""
    at = simulated[simulated["iteration"] == iteration]
    entropy = pd.Series(distinct_entropy(at[ATTENTION].to_numpy(np.float64)), at.index)
    of_class = at[[*SETTINGS, "seed"]].assign(entropy=entropy.where(at["diverged_at"] < 0))
    return of_class.groupby([*SETTINGS, "seed"], sort=False).mean().reset_index()


def entropy_cells(runs: pd.DataFrame, published: pd.DataFrame) -> pd.DataFrame:
    """Entropy of every setting over the runs, with `published`, `published_std`, run or not."""
    rows = []
    for keys, group in runs.groupby(SETTINGS, sort=False):
        row = over_runs(group["entropy"]) | {"std": group["entropy"].std()}
        if ((group["entropy"] - INITIAL_ENTROPY).abs().dropna() <= UNMOVED_ENTROPY).all():
            row["state"] = "not reached"
        rows.append(dict(zip(SETTINGS, keys, strict=True)) | row)
    theirs = published[[*SETTINGS, "published", "published_std"]]
    return pd.DataFrame(rows).merge(theirs, on=SETTINGS, how="outer", sort=True)


def weighted_sum(estimates: pd.DataFrame, weights: np.ndarray, together: np.ndarray) -> dict:
    """A weighted sum of means with its interval: `value`, `low`, `high`, `n`.

    Means that rest on the same seeds, equal in `together`, vary together, it is not known how: the
    halves of their intervals are added, the most that they can come to; of other seeds, squares.
    """
    halves = np.abs(weights) * (estimates["high"] - estimates["low"]) / 2
    half = float(np.sqrt((halves.groupby(together).sum() ** 2).sum()))
    value = float((weights * estimates["value"]).sum())
    return {"value": value, "low": value - half, "high": value + half, "n": estimates["n"].min()}


def entropy_slope(cells: pd.DataFrame) -> dict[str, object]:
    """Our effect of training in units of the published one: the slope through the start.

    With d = entropy - `INITIAL_ENTROPY`: sum of d_ours d_published / sum of d_published^2.
    """
    theirs = cells["published"] - INITIAL_ENTROPY
    moved = cells.assign(**{end: cells[end] - INITIAL_ENTROPY for end in ("value", "low", "high")})
    ours = weighted_sum(moved, theirs / (theirs**2).sum(), cells["num_last"].to_numpy())
    return ours | {"published": 1.0}


def entropy_trend(runs: pd.DataFrame, published: pd.DataFrame, along: str) -> list[dict]:
    """What a rate does: entropy at its largest value minus at its smallest, mean over the other.

    Paired by seed, because a seed has the same data and start under all learning rates.

    Returns:
        Rows of `{along}_difference` for each number of query tokens, with that of the published
        cells that ran; then their mean, that which goes least on the claimed side (`least`), and
        the mean in units of the published one (`effect`). None where the rate has one value.
    """
    if runs[along].nunique() < 2:
        return []
    both = runs[[*SETTINGS, "seed", "entropy"]].merge(published, how="left", on=SETTINGS)
    rows = []
    for num_last, group in both.groupby("num_last"):
        means = group.groupby([along, "seed"])[["entropy", "published"]]
        means = means.agg(lambda values: values.mean(skipna=False))
        difference = means.loc[group[along].max()] - means.loc[group[along].min()]  # by seed
        row = {"num_last": num_last, "quantity": f"{along}_difference"}
        row["published"] = difference["published"].iloc[0]  # the same for every seed
        rows.append(row | over_runs(difference["entropy"]))
    sizes = pd.DataFrame(rows)
    overall = weighted_sum(sizes, np.full(len(rows), 1 / len(rows)), np.arange(len(rows)))
    overall |= {"state": sizes["state"].max(), "published": sizes["published"].mean(skipna=False)}
    effect = {end: overall[end] / overall["published"] for end in ("value", "low", "high")}
    effect["low"], effect["high"] = sorted([effect["low"], effect["high"]])
    # With the published difference at that number of query tokens.
    _, least = worst(rows, SIDES[along])
    return [
        *rows,
        overall | {"quantity": f"{along}_difference_mean"},
        least | {"num_last": np.nan, "quantity": f"{along}_difference_least"},
        overall | effect | {"published": 1.0, "quantity": f"{along}_effect"},
    ]
