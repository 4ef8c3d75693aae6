"""Exponents of power laws, by least squares on logarithms: one fit for all papers."""

from collections.abc import Hashable, Sequence

import numpy as np

from onelayer.evidence.intervals import half_width


def exponents(y: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Slopes of log y on the logarithms of all columns of x together, with a constant.

    Args:
        y: float64 [points] or [points, several], positive.
        x: float64 [points, k], positive.

    Returns:
        float64 [k] or [k, several]; NaN where the points do not tell the columns apart, or a y of
        theirs is NaN.
    """
    logs = np.log(np.asarray(x, dtype=float))
    logs -= logs.mean(axis=0)
    y = np.asarray(y, dtype=float)
    if np.linalg.matrix_rank(logs) < logs.shape[1]:
        return np.full((logs.shape[1], *y.shape[1:]), np.nan)
    return np.linalg.pinv(logs) @ np.log(y)


def jackknifed(y: np.ndarray, x: np.ndarray, groups: Sequence[Hashable]) -> list[dict[str, float]]:
    """`exponents` of points that no sampling made, with how far they hang on which were chosen.

    Each group is left out in turn; 95% interval of the jackknife's pseudo-values (Tukey 1958),
    Student's t over groups.

    Args:
        y: float64 [points].
        x: float64 [points, k].
        groups: of each point; the points of a group leave together.

    Returns:
        Of each column of x `value`, `low`, `high`, and `n`, the number of groups.
    """
    names = dict.fromkeys(groups)
    whole, n = exponents(y, x), len(names)
    half = np.full_like(whole, np.nan)
    if n > 1:
        kept = (np.array([group != name for group in groups]) for name in names)
        without = np.array([exponents(y[keep], x[keep]) for keep in kept])
        half = half_width(((n - 1) * without).std(axis=0, ddof=1), n)
    return [
        {"value": float(value), "low": float(value - by), "high": float(value + by), "n": n}
        for value, by in zip(whole, half, strict=True)
    ]
