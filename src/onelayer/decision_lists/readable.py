"""What the tables of decision lists share: key columns in words, numbers and sizes for readers."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from onelayer.evidence.tables import EMPTY, number

# The paper's symbols as key columns in words: `n` is the column of sample sizes in every table.
WORDS = {"L": "vocabulary", "n": "sequence_length", "m": "list_length", "shortest": "shortest_list"}
SIZES = list(WORDS.values())
GAMMA_AND_DELTA = (
    "γ and δ are ours: the abstract only says that they depend on the least probability mass of "
    "'certain quantities'. γ = min over tokens a and list places k of P(s_j = a and a_k determines "
    "its label); δ = 1 in c = 4 n log(L) / δ unless stated."
)


def long(runs: pd.DataFrame, keys: Sequence[str], quantities: Sequence[str]) -> pd.DataFrame:
    """A row for each run and quantity, with key columns in words; no number was not reached."""
    runs = runs.rename(columns=WORDS).set_index(list(keys))[list(quantities)]
    rows = runs.stack(future_stack=True)  # noqa: PD013 - run by run
    rows = rows.rename_axis([*keys, "quantity"]).rename("value").reset_index()
    for key in rows.select_dtypes(float).columns.drop("value"):
        rows[key] = rows[key].map("{:g}".format)  # beside rows of all sizes, whose key is `all`
    return rows.assign(state=np.where(rows["value"].isna(), "not reached", ""))


def largest_ratio(times: pd.Series, bounds: pd.Series) -> dict[str, object]:
    """The largest of some times in units of their bounds, as the values of a row.

    One above its bound decides, whatever became of those that were not perfect in time.
    """
    ratios = times / bounds
    state = "" if times.notna().all() or ratios.max() > 1 else "not reached"
    return {"value": ratios.max(), "n": len(ratios), "published": 1.0, "state": state}


def lists(m: int, shortest: int) -> int | str:
    """How long lists are: m, or `1 to 4` where they are of unequal length."""
    return m if shortest == m else f"{shortest} to {m}"


def for_readers(runs: pd.DataFrame, columns: dict[str, str]) -> pd.DataFrame:
    """A row per run for readers: its size, then `columns`, quantities by name."""
    of_runs = {name: runs[quantity] for name, quantity in columns.items()}
    texts = {k: significant(v, 4) if v.dtype == float else v for k, v in of_runs.items()}
    return size_columns(runs).assign(**texts)


def size_columns(runs: pd.DataFrame) -> pd.DataFrame:
    """The first columns for readers, of runs with `L`, `n`, `m` and `shortest`."""
    lengths = [lists(m, shortest) for m, shortest in zip(runs["m"], runs["shortest"], strict=True)]
    return runs[["L", "n"]].assign(m=lengths)


def significant(values: pd.Series, digits: int = 3) -> pd.Series:
    """Numbers with so many significant digits and no exponent; a dash where there is none."""

    def text(value: float) -> str:
        if not np.isfinite(value):
            return EMPTY
        decimals = digits - 1 - int(np.floor(np.log10(abs(value)))) if value else 0
        return f"{value:,.{max(decimals, 0)}f}"

    return values.map(text)


def spread(values: pd.Series, digits: int) -> str:
    """`0.88 (0.82 to 0.94)`: mean, smallest and largest; one where all are alike."""
    middle, low, high = (number(v, digits) for v in (values.mean(), values.min(), values.max()))
    return middle if low == high else f"{middle} ({low} to {high})"


def steps_axis(axis: Axes, last: int) -> None:
    """Logarithmic from step 1 on, with step 0 beside it."""
    ticks = [tick for tick in (0, 1, 10, 100, 1000) if tick <= last]
    axis.set_xscale("symlog", linthresh=1)
    axis.set_xticks(ticks, [str(tick) for tick in ticks])
    axis.set_xticks([], minor=True)
