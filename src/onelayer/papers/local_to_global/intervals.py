"""95% intervals of shares and means, in the columns of the project's tables."""

import numpy as np
from scipy.stats import beta, t


def share(successes: int, n: int) -> dict[str, float]:
    """A share with its 95% interval (Clopper and Pearson)."""
    low = beta.ppf(0.025, successes, n - successes + 1) if successes else 0.0
    high = beta.ppf(0.975, successes + 1, n - successes) if successes < n else 1.0
    return {"value": successes / n, "low": float(low), "high": float(high), "n": n}


def mean(values: np.ndarray) -> dict[str, float]:
    """A mean with its 95% interval (Student's t); NaN where a value is missing."""
    values = np.asarray(values, dtype=float)
    half = t.ppf(0.975, len(values) - 1) * values.std(ddof=1) / np.sqrt(len(values))
    value = values.mean()
    return {"value": value, "low": value - half, "high": value + half, "n": len(values)}
