"""Means over runs and the worst of several: the rows that the synthetic tables share."""

import math
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from scipy.special import stdtrit

from onelayer.evidence.intervals import mean, worst


def over_runs(
    values: Sequence[float], diverged_at: Sequence[int] | int = -1, least=-math.inf, most=math.inf
) -> dict:
    """The mean over the runs that went through, as a row; by definition from least to most.

    A run without a value has NaN; `diverged_at` is -1 of a run that went through.
    """
    values = np.asarray(values, dtype=float)
    lost = np.isnan(values) | (np.broadcast_to(diverged_at, values.shape) >= 0)
    return estimated(mean(values[~lost], least, most))


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
