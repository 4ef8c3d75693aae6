"""Means over runs and the worst of several: the rows that the synthetic tables share."""

import math
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from scipy.special import stdtrit

from onelayer.evidence.intervals import mean, worst


def over_runs(
    values: Sequence[float],
    diverged_at: Sequence[int] | int = -1,
    least: float = -math.inf,
    most: float = math.inf,
) -> dict:
    """The mean over the runs that went through, as a row of a table.

    Args:
        values: of each run, NaN where it has none.
        diverged_at: at which step each diverged; -1 for one that went through.
        least, most: between which the quantity lies by definition.
    """
    values = np.asarray(values, dtype=float)
    lost = np.isnan(values) | (np.broadcast_to(diverged_at, values.shape) >= 0)
    return estimated(mean(values[~lost], least, most))


def estimated(estimate: Mapping) -> dict:
    """An estimate as a row, with the state of one that rests on no run, or on too few."""
    state = "undecided" if math.isnan(estimate["low"]) else ""
    return {**estimate, "state": state if estimate["n"] else "not reached"}


def one_of_several(values: np.ndarray, several: int) -> dict:
    """The mean of one of several quantities with an interval for all together (Bonferroni).

    The farthest of several is far by chance, too.
    """
    estimate, degrees = mean(values), len(values) - 1
    wider = stdtrit(degrees, 1 - 0.025 / several) / stdtrit(degrees, 0.975)
    half = (estimate["high"] - estimate["value"]) * wider
    return estimate | {"low": estimate["value"] - half, "high": estimate["value"] + half}


def extreme(points: pd.DataFrame, keys: str | list[str], column: str, side: int) -> dict:
    """Of a column's means by the values of keys the least (side 1) or the largest (-1), as a row.

    It stands for all: its interval reaches as far as that of any of them.
    """
    means = [mean(part[column]) for _, part in points.groupby(keys, sort=False)]
    return estimated(worst(means, side)[1])
