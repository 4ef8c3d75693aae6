"""95% intervals of means and shares, in the columns that all tables have: one rule for all papers.

Quantiles come from `scipy.special`: `scipy.stats` has the same ones and takes a second to import.
"""

import math
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.special import bdtr, betaincinv, ndtr, stdtrit

Column = np.ndarray | pd.Series
LEVEL = 0.95  # of all intervals


def mean(
    values: Sequence[float] | Column, least: float = -math.inf, most: float = math.inf
) -> dict[str, float]:
    """The mean of independent runs with its 95% interval (Student's t).

    One run has a mean and no interval: NaN bounds. No run at all has a NaN mean too. A NaN among
    the values makes all three NaN: leave out what was not measured, and say so in the note.

    Args:
        values: one per run, [n].
        least, most: between which the quantity lies by definition, such as 0 and 1 for a share.
            Student's interval knows nothing of them; it is cut there.

    Returns:
        `value`, `low`, `high`, and `n`, the number of runs.
    """
    values = np.asarray(values, dtype=np.float64)
    n = len(values)
    if n == 0:
        return {"value": math.nan, "low": math.nan, "high": math.nan, "n": 0}
    value = float(values.mean())
    half = float(half_width(values.std(ddof=1), n)) if n > 1 else math.nan
    low, high = np.clip([value - half, value + half], least, most)
    return {"value": value, "low": float(low), "high": float(high), "n": n}


def over_seeds(values: Column, low: float, high: float) -> tuple[float, float, float]:
    """The mean over seeds with its 95% interval over seeds and data together.

    Two samples are behind the mean: of trained (or drawn) weights, one per seed, and of data such
    as documents or words, the same for all seeds. The part of the seeds is Student's interval of
    the values; the part of the data is an interval of their mean with the seeds held fixed. On
    either side the distances to the two parts' ends are added as squares (Zou & Donner 2008, MOVER,
    for a sum). What a seed makes of these data in particular is in both parts: the interval errs on
    the wide side. In simulation (`tests/oracle/test_intervals.py`) it covers the truth in 94 to 99%
    of the cases; the sum of variances with Satterthwaite's degrees of freedom does in 93% where
    three seeds differ much.

    With one seed the interval is that of the data: it leaves the seeds out.

    Args:
        values: one per seed, [seeds], all measured on the same data.
        low, high: the 95% interval of their mean over data, such as the percentiles of a bootstrap
            of the mean over seeds that draws the same data for all.

    Returns:
        The mean, and the lower and upper end of its interval.
    """
    of_seeds = mean(values)
    if of_seeds["n"] == 1:
        return of_seeds["value"], low, high
    value, half = of_seeds["value"], of_seeds["high"] - of_seeds["value"]
    below, above = max(value - low, 0.0), max(high - value, 0.0)
    return value, value - math.hypot(below, half), value + math.hypot(above, half)


def half_width(deviation: float | Column, n: int | Column) -> float | Column:
    """Half of the 95% interval of a mean (Student's t); NaN for fewer than two runs.

    Args:
        deviation: standard deviation over the runs, with n - 1 in its denominator.
        n: number of runs.
    """
    return stdtrit(n - 1, 0.975) * deviation / np.sqrt(n)


def worst(estimates: Sequence[Mapping], side: int) -> tuple[int, dict]:
    """The least of several estimates (side 1), or the largest (-1), which stands for all of them.

    What is claimed of all must hold of each (an intersection-union test, Berger 1982), and one that
    is less sure may reach further than the worst: there the interval goes as far as any of them
    does. One without an interval leaves it without that end.

    Returns:
        The place of the worst among them, and it with that interval.
    """
    end = "low" if side > 0 else "high"
    values, ends = (side * np.array([one[of] for one in estimates]) for of in ("value", end))
    place = int(np.nan_to_num(values, nan=np.inf).argmin())
    return place, {**estimates[place], end: float(side * ends.min())}


def with_runs(table: pd.DataFrame) -> pd.DataFrame:
    """A table whose intervals cover as many independent starts or runs as it counts."""
    return table.assign(runs=table["n"].where(table["low"].notna()))


def share(successes: int, n: int) -> dict[str, float]:
    """A share of n independent trials with its 95% interval (Clopper and Pearson).

    Returns:
        `value`, `low`, `high`, `n`.
    """
    low = betaincinv(successes, n - successes + 1, 0.025) if successes else 0.0
    high = betaincinv(successes + 1, n - successes, 0.975) if successes < n else 1.0
    return {"value": successes / n, "low": float(low), "high": float(high), "n": n}


def median(values: Column) -> dict[str, float]:
    """The median of independent runs with its 95% interval, which no distribution is assumed for.

    The interval reaches from the k-th smallest to the k-th largest value, with the largest k for
    which fewer than k of n runs fall below the median with a chance of at most 2.5%: five runs and
    fewer have none. What never came is infinite, and lies after all that did.

    Returns:
        `value`, `low`, `high`, `n`.
    """
    ordered, n = np.sort(values), len(values)
    if n == 0:
        return {"value": math.nan, "low": math.nan, "high": math.nan, "n": 0}
    k = int((bdtr(np.arange(n // 2), n, 0.5) <= 0.025).sum())
    low, high = (ordered[k - 1], ordered[n - k]) if k else (math.nan, math.nan)
    return {"value": float(np.median(ordered)), "low": float(low), "high": float(high), "n": n}


def percentile_interval(
    replicates: ArrayLike, tail: float = (1 - LEVEL) / 2
) -> tuple[np.ndarray, np.ndarray]:
    """The middle 95% of the replicates over the first axis: (low, high), each [...].

    All but a share `tail` on either side. Of permutations; of a bootstrap `bootstrap_interval`.
    """
    low, high = np.quantile(np.asarray(replicates, np.float64), [tail, 1 - tail], axis=0)
    return low, high


def bootstrap_interval(replicates: ArrayLike, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Expanded 95% percentile interval of a bootstrap over n units: (low, high), each [...].

    Plain percentiles are too narrow for few units: they divide by n and know nothing of Student's
    tails. The percentiles at Phi(-sqrt(n / (n - 1)) t_{alpha/2, n-1}) and its complement mend both
    (Hesterberg 2015, 'What teachers should know about the bootstrap', 5.3).

    Args:
        replicates: [R, ...].
        n: how many documents, words, topics or seeds were resampled.

    Raises:
        ValueError: when there are fewer than two units.
    """
    if n < 2:
        raise ValueError(f"{n} unit was resampled: no interval")
    tail = ndtr(np.sqrt(n / (n - 1)) * stdtrit(n - 1, (1 - LEVEL) / 2))
    return percentile_interval(replicates, tail)
