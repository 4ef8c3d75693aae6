"""A run's tables beside those of the reference run, row by row: `onelayer compare`."""

from pathlib import Path

import numpy as np
import pandas as pd

from onelayer.errors import OnelayerError
from onelayer.evidence.tables import NUMBERS

SCOREBOARD = "all_papers/scoreboard"  # restates rows of other tables
ROUNDING = 1e-6  # numbers without an interval agree when they are this near, as a share of them
OUTCOMES = "equal", "agree", "moved", "only one"
WORDS = """
equal: in every digit; agree: each value lies in the other's 95% interval; moved: it does not; \
only one: the other run has no value"""


def compare(results: Path, reference: Path, verbose: bool = False) -> str:
    """What became of each row of two runs' tables, counted, and the verdicts that changed."""
    runs = []
    for folder in (results, reference):
        tables = {f"{file.parent.name}/{file.stem}": file for file in folder.glob("tables/*/*.csv")}
        if not tables:
            raise OnelayerError(f"{folder}: no tables here; `make results` makes them")
        runs.append(tables)
    ours, theirs = runs
    names = sorted(ours.keys() & theirs.keys() - {SCOREBOARD})
    if not names:
        raise OnelayerError(f"{results} and {reference} have no table in common")
    rows = pd.concat([side_by_side(ours[n], theirs[n]).assign(table=n) for n in names])
    counts = pd.crosstab(rows["table"], rows["outcome"]).reindex(columns=OUTCOMES, fill_value=0)
    counts.loc["all"] = counts.sum()
    text = [counts.rename_axis(index=None, columns=None).to_string(), WORDS]
    for row in rows[rows["outcome"].eq("moved")].itertuples() if verbose else ():
        text.append(f"  moved: {row.table}: {row.row}: {row.theirs:.6g} -> {row.ours:.6g}")
    if SCOREBOARD in ours and SCOREBOARD in theirs:
        board, other = (pd.read_csv(run[SCOREBOARD]) for run in (ours, theirs))
        both = board.merge(other, on=["paper", "claim"], suffixes=("", "_theirs"))
        changed = both[both["verdict"] != both["verdict_theirs"]]
        text.append(f"\nVerdicts that changed: {len(changed)} of {len(both)}")
        for row in changed.itertuples():
            text.append(f"  {row.paper}: {row.claim}: {row.verdict_theirs} -> {row.verdict}")
    return "\n".join(text)


def side_by_side(ours: Path, theirs: Path) -> pd.DataFrame:
    """Of every row of two tidy tables: `row` (its keys), `ours`, `theirs`, and the `outcome`."""
    # As texts 1 and 1 are the same key, whatever stands in the other rows.
    mine, other = (pd.read_csv(file, dtype=str, keep_default_na=False) for file in (ours, theirs))
    keys = [c for c in mine if c in other and c not in [*NUMBERS, "state"]]
    mine, other = (side.drop_duplicates(keys) for side in (mine, other))
    both = mine.merge(other, "outer", keys)
    (value, low, high), (value_2, low_2, high_2) = (
        [pd.to_numeric(both[name + side], errors="coerce") for name in ("value", "low", "high")]
        for side in ("_x", "_y")
    )
    agree = _inside(value, value_2, low_2, high_2) & _inside(value_2, value, low, high)
    one, none = value.isna() ^ value_2.isna(), value.isna() & value_2.isna()
    outcome = np.select([one, value.eq(value_2), agree], ["only one", "equal", "agree"], "moved")
    rows = pd.DataFrame({"ours": value, "theirs": value_2, "outcome": outcome})
    return rows.assign(row=both[keys].fillna("").agg(", ".join, axis=1))[~none]


def _inside(value: pd.Series, middle: pd.Series, low: pd.Series, high: pd.Series) -> pd.Series:
    """Whether values lie in intervals; an interval with one end is open at the other."""
    exact, slack = low.isna() & high.isna(), ROUNDING * middle.abs()
    low = low.fillna(-np.inf).mask(exact, middle) - slack
    high = high.fillna(np.inf).mask(exact, middle) + slack
    return (low <= value) & (value <= high)
