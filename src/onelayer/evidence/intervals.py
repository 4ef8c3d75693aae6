"""95% intervals of means, shares and medians: one rule for all papers."""

import math
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.special import bdtr, betaincinv, ndtr, stdtrit

Column = np.ndarray | pd.Series
TAIL = (1 - 0.95) / 2  # on either side of an interval of replicates
NONE = {"value": math.nan, "low": math.nan, "high": math.nan, "n": 0}


def _estimate(value: float, low: float, high: float, n: int) -> dict[str, float]:
    return {"value": float(value), "low": float(low), "high": float(high), "n": n}


def mean(values: ArrayLike, least: float = -math.inf, most: float = math.inf) -> dict[str, float]:
    """The mean of independent runs, [n], with Student's interval: `value`, `low`, `high`, `n`.

    Cut at the quantity's own limits, such as 0 and 1 of a share; NaN: one run, or a NaN among them.
    """
    values = np.asarray(values, dtype=np.float64)
    if not (n := len(values)):
        return dict(NONE)
    value, half = values.mean(), half_width(values.std(ddof=1), n) if n > 1 else math.nan
    return _estimate(value, *np.clip([value - half, value + half], least, most), n)


def half_width(deviation: float | Column, n: int | Column) -> float | Column:
    """Half of Student's interval of a mean of n runs with this standard deviation (n - 1)."""
    return stdtrit(n - 1, 0.975) * deviation / np.sqrt(n)


def over_seeds(values: Column, low: float, high: float) -> tuple[float, float, float]:
    """The mean over seeds with its interval over seeds and data together: (value, low, high).

    Student's over the seeds widens `low`, `high`, that of the same mean over the data with the
    seeds held fixed. 94 to 99% coverage; with one seed it is the data's.
    """
    of_seeds = mean(values)
    value, half = of_seeds["value"], of_seeds["high"] - of_seeds["value"]
    if of_seeds["n"] == 1:
        return value, low, high
    return value, *widened(value, low, high, half)


def widened(value: float, low: float, high: float, half: float) -> tuple[float, float]:
    """An interval's ends once a second source of error, `half` an interval, is added.

    On either side the distances to both ends are added as squares (MOVER, Zou & Donner 2008).
    """
    below, above = max(value - low, 0.0), max(high - value, 0.0)
    return value - math.hypot(below, half), value + math.hypot(above, half)


def worst(estimates: Sequence[Mapping], side: int) -> tuple[int, dict]:
    """The least (side 1) or largest (-1) of estimates, which stands for all: its place, and it.

    Its interval goes as far on that side as any of them does (an intersection-union test, Berger
    1982), and has no end there if one has none.
    """
    end = "low" if side > 0 else "high"
    values, ends = (side * np.array([one[of] for one in estimates]) for of in ("value", end))
    place = int(np.nan_to_num(values, nan=np.inf).argmin())
    return place, {**estimates[place], end: float(side * ends.min())}


def share(successes: int, n: int) -> dict[str, float]:
    """A share of n independent trials with Clopper and Pearson's interval."""
    low = betaincinv(successes, n - successes + 1, 0.025) if successes else 0.0
    high = betaincinv(successes + 1, n - successes, 0.975) if successes < n else 1.0
    return _estimate(successes / n, low, high, n)


def median(values: Column) -> dict[str, float]:
    """The median of independent runs with an interval that assumes no distribution.

    From the k-th smallest to the k-th largest, k the largest for which fewer than k of n runs fall
    below the median with a chance of at most 2.5%; none of five. What never came is infinite.
    """
    ordered, n = np.sort(values), len(values)
    if not n:
        return dict(NONE)
    k = int((bdtr(np.arange(n // 2), n, 0.5) <= 0.025).sum())
    ends = (ordered[k - 1], ordered[n - k]) if k else (math.nan, math.nan)
    return _estimate(np.median(ordered), *ends, n)


def percentile_interval(replicates: ArrayLike, tail: float = TAIL) -> np.ndarray:
    """All but a share `tail` on either side of replicates [R, ...]: low and high, [2, ...]."""
    return np.quantile(np.asarray(replicates, np.float64), [tail, 1 - tail], axis=0)


def bootstrap_interval(replicates: ArrayLike, n: int) -> np.ndarray:
    """Expanded percentile interval of a bootstrap [R, ...] over n units: low and high, [2, ...].

    Plain percentiles are too narrow for few units; those at Phi(-sqrt(n / (n - 1)) t_{.025, n-1})
    and its complement mend that (Hesterberg 2015, 5.3). `ValueError` for fewer than two units.
    """
    if n < 2:
        raise ValueError(f"{n} unit was resampled: no interval")
    return percentile_interval(replicates, ndtr(np.sqrt(n / (n - 1)) * stdtrit(n - 1, TAIL)))
