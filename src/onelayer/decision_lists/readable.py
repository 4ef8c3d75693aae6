"""What the tables of decision lists share: key columns in words, numbers and sizes for readers."""

import numpy as np
import pandas as pd

from onelayer.evidence.tables import EMPTY, interval, number

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


def largest_ratio(ratios: pd.Series) -> dict[str, object]:
    """The largest of some times in units of their bounds, as the values of a row.

    One above its bound decides, whatever became of those that were not perfect in time.
    """
    state = "" if ratios.notna().all() or ratios.max() > 1 else "not reached"
    return {"value": ratios.max(), "n": len(ratios), "published": 1.0, "state": state}


def lists(m: int, shortest: int) -> int | str:
    """How long lists are: m, or `1 to 4` where they are of unequal length."""
    return m if shortest == m else f"{shortest} to {m}"


def for_readers(
    judged: pd.DataFrame, measures: list[str], runs: pd.DataFrame, columns: dict[str, str]
) -> pd.DataFrame:
    """The rows that claims are judged by, then a row per run: sizes, and the named `columns`.

    `judged` are rows of a tidy table, each the largest or least of the one of `measures`, a
    quantity of `runs`, in whose column it stands.
    """
    shown = []
    for row, measure in zip(judged.to_dict("records"), measures, strict=True):
        size = [row[word] for word in SIZES]
        cells = {"quantity": row["quantity"], "L": size[0], "n": size[1], "m": lists(*size[2:])}
        cells |= {name: row[key] for key, name in columns.items() if key in row}
        exact, of_seeds = significant(row["value"]), (row["value"], row["low"], row["high"])
        text = row["state"] or (exact if np.isnan(row["low"]) else interval(*of_seeds, 4))
        shown.append(cells | {columns[measure]: text})
    for run in runs.to_dict("records"):
        cells = {"L": run["L"], "n": run["n"], "m": lists(run["m"], run["shortest"])}
        shown.append(cells | {name: significant(run[key]) for key, name in columns.items()})
    head = ["quantity", "L", "n", "m"]
    return pd.DataFrame(shown, columns=[*head, *columns.values()], dtype=object).fillna(EMPTY)


def significant(value: object) -> object:
    """A float with four significant digits and no exponent, whole ones without any; else itself."""
    if not isinstance(value, float) or np.isnan(value):
        return EMPTY if pd.isna(value) else value
    digits = 0 if value.is_integer() else max(3 - int(np.floor(np.log10(abs(value)))), 0)
    return number(value, digits)
