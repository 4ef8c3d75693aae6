"""What the tables of decision lists share: key columns in words, numbers and sizes for readers."""

import numpy as np
import pandas as pd

from onelayer.evidence.tables import number

# The paper's symbols as key columns in words: `n` is the column of sample sizes in every table.
WORDS = {"L": "vocabulary", "n": "sequence_length", "m": "list_length", "shortest": "shortest_list"}
SIZES = list(WORDS.values())
GAMMA_AND_DELTA = (
    "γ and δ are ours: the abstract only says that they depend on the least probability mass of "
    "'certain quantities'. γ = min over tokens a and list places k of P(s_j = a and a_k determines "
    "its label); δ = 1 in c = 4 n log(L) / δ unless stated."
)


def long(runs: pd.DataFrame, keys: list, quantities: list, bounds=None) -> pd.DataFrame:
    """A row for each run and quantity, with key columns in words; no number was not reached.

    `bounds`, a Series, are what the paper says of every run's `t_star`.
    """
    runs = runs.rename(columns=WORDS).set_index(list(keys))[list(quantities)]
    rows = runs.stack(future_stack=True)  # noqa: PD013 - run by run
    rows = rows.rename_axis([*keys, "quantity"]).rename("value").reset_index()
    for key in rows.select_dtypes(float).columns.drop("value"):
        rows[key] = rows[key].map("{:g}".format)  # beside rows of all sizes, whose key is `all`
    if bounds is not None:
        rows.loc[rows["quantity"] == "t_star", "published"] = bounds.to_numpy()
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
    """A row per run for readers: its size, then `columns`, the names of quantities."""
    lengths = [lists(m, shortest) for m, shortest in zip(runs["m"], runs["shortest"], strict=True)]
    shown = runs[["L", "n"]].assign(m=lengths)
    for quantity, name in columns.items():
        values = runs[quantity]
        shown[name] = values.map(significant) if values.dtype == float else values
    return shown


def significant(value: float) -> str:
    """A number with four significant digits and no exponent; a dash where there is none."""
    digits = 3 - int(np.floor(np.log10(abs(value)))) if value and np.isfinite(value) else 3
    return number(value, max(digits, 0))
