"""Rows of the synthetic tables: means over runs, the worst of several, the two stages."""

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pandas as pd
from scipy.special import stdtrit

from onelayer.evidence.intervals import mean, median, share, worst
from onelayer.settings.topic_structure_synthetic import TwoStageSettings

RUN = ["name", "learning_rate", "noise", "seed"]
LEAST_RUNS = 6  # fewer cannot tell a share from a half, even if they all agree
BEGUN, HALF, DONE = 0.1, 0.5, 0.9  # shares of a norm's way from its start to its maximum
OTHER_BARS = (80, 85, 95)  # percent at which W_V might count as done, instead of `DONE`
GROWS = 1.1  # a norm that never reaches so many times its start has no stage of its own


def over_runs(values: Sequence[float], least=-math.inf, most=math.inf) -> dict:
    """The mean over the runs that have a value, by definition from least to most, as a row."""
    values = np.asarray(values, dtype=float)
    return estimated(mean(values[~np.isnan(values)], least, most))


def estimated(estimate: Mapping) -> dict:
    """An estimate as a row, with the state of one that rests on no run, or on too few."""
    state = "undecided" if math.isnan(estimate["low"]) else ""
    return {**estimate, "state": state if estimate["n"] else "not reached"}


def one_of_several(values: np.ndarray, several: int) -> dict:
    """The mean of the farthest of several quantities, which is far by chance, too.

    Its interval holds for all of them together (Bonferroni).
    """
    estimate, degrees = mean(values), len(values) - 1
    wider = stdtrit(degrees, 1 - 0.025 / several) / stdtrit(degrees, 0.975)
    half = (estimate["high"] - estimate["value"]) * wider
    return estimate | {"low": estimate["value"] - half, "high": estimate["value"] + half}


def extreme(points: pd.DataFrame, keys: str | list[str], column: str, side: int) -> dict:
    """The least (side 1) or largest (-1) of a column's means by keys, which stands for all."""
    means = [mean(part[column]) for _, part in points.groupby(keys, sort=False)]
    return estimated(worst(means, side)[1])


def stage_times(norms: pd.DataFrame, done: float = DONE, begun: float = BEGUN) -> pd.DataFrame:
    """When the stages of every run of `train.two_stages` end and begin, in the order of steps.

    Both are read on one scale: a norm's way from its start to its maximum in the run.

    A row per run: its keys, `t_V` (first step at which |W_V| is `done` with its way; 0: it starts
    large), `t_KQ` (|W_K| has `begun` its; NaN: it never grows), `value_share_at_t_KQ` (|W_V| then
    over its maximum), `in_order` (0 < t_V <= t_KQ), `diverged_at`. A diverged run has no times and
    is not in order.
    """
    rows = []
    for keys, run in norms.groupby(RUN, sort=False):
        row = dict(zip(RUN, keys, strict=True)) | {"diverged_at": int(run["diverged_at"].iloc[0])}
        row |= {"t_V": np.nan, "t_KQ": np.nan, "value_share_at_t_KQ": np.nan, "in_order": False}
        if row["diverged_at"] < 0:
            step, W_V, W_K = (run[name].to_numpy() for name in ("step", "W_V", "W_K"))
            end = reached(W_V, done) if grows(W_V) else 0
            row["t_V"] = float(step[end])
            if grows(W_K):
                beginning = reached(W_K, begun)
                row["t_KQ"] = float(step[beginning])
                row["value_share_at_t_KQ"] = float(W_V[beginning] / W_V.max())
                row["in_order"] = 0 < end <= beginning
        rows.append(row)
    return pd.DataFrame(rows)


def grows(norm: np.ndarray) -> bool:
    """A norm is larger at some step than at its start, by a tenth or more."""
    return bool(norm.max() >= GROWS * norm[0])


def reached(norm: np.ndarray, part: float) -> int:
    """The first place at which a norm that grows has made this part of its way to its maximum."""
    return int(np.argmax(norm >= norm[0] + part * (norm.max() - norm[0])))


def stage_rows(
    norms: pd.DataFrame, block: TwoStageSettings, published: Mapping[str, float]
) -> Iterator[dict]:
    """Rows of the table: times and shares of each setting; of a map, its cells that are in order.

    `published` has the paper's steps by quantity, for the setting that is `pictured`.
    """
    for one in block.trainings:
        whole = norms[norms["name"] == one.name]
        runs, kind = stage_times(whole), "map" if one.is_map else "setting"
        keys = {"studied": kind, "setting": one.name, "loss": one.loss, "optimizer": one.optimizer}
        keys["masked"] = "attended" if one.masked_attended else "hidden"
        if one.is_map:
            hits = runs.groupby(["learning_rate", "noise"])["in_order"].mean() > 0.5
            cells = {"quantity": "share_of_cells_in_order", "value": hits.mean(), "n": len(hits)}
            yield keys | cells
            continue
        keys |= {"learning_rate": one.learning_rates[0], "noise": one.noises[0]}
        for name in ("t_V", "t_KQ"):
            theirs = published[f"{name}_median"] if one.pictured else math.nan
            row = estimated(median(runs[name].dropna().to_numpy()))
            yield keys | {"quantity": f"{name}_median", "published": theirs} | row
        row = over_runs(runs["value_share_at_t_KQ"], 0.0, 1.0)
        yield keys | {"quantity": "value_share_at_t_KQ"} | row
        first_half = whole[whole["step"] <= block.steps // 2]
        orders = {"in_order": runs, "in_order_by_half": stage_times(first_half)}
        orders |= {f"in_order_at_{bar}": stage_times(whole, bar / 100) for bar in OTHER_BARS}
        orders["half_in_order"] = stage_times(whole, HALF, HALF)
        for name, times in orders.items():
            few = {"state": "undecided" if len(runs) < LEAST_RUNS else ""}
            row = share(int(times["in_order"].sum()), len(runs)) | few
            yield keys | {"quantity": f"share_{name}"} | row
        lost = share(int((runs["diverged_at"] >= 0).sum()), len(runs))
        yield keys | {"quantity": "share_diverged"} | lost
