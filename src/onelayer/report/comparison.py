"""A run's tables beside the reference run's: `onelayer compare results`."""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from onelayer.evidence.sentences import SCOREBOARD
from onelayer.evidence.tables import VALUE_COLUMNS, read_tables, tables_in
from onelayer.evidence.verdicts import NO_DECISION
from onelayer.run.provenance import REPOSITORY, file_sha256

REFERENCE = REPOSITORY / "docs/reference"
SUMS = "sums.json"  # of the reference run, and of `make same-bytes`

# Rows without an interval agree when they are the same to so many parts: rounding, no more.
ROUNDING = 1e-6
# Half of the 95% interval of a number whose standard deviation is 1.
NOISE_OF_Z = 1.96


# What the rows of two runs can be to each other, and what their verdicts can have done: to change
# from or to one that decides nothing is not to change one's mind.
OUTCOMES = EQUAL, AGREE, MOVED, ONLY_ONE = ["equal", "agree", "moved", "only one"]
CHANGES = CHANGED, UNDECIDED = ["changed verdicts", "from or to undecided"]


def rows_beside(ours: pd.DataFrame, theirs: pd.DataFrame) -> pd.DataFrame:
    """Two runs' versions of one tidy table side by side: the rows of ours, then theirs alone.

    Args:
        ours, theirs: as `onelayer.evidence.tables.read_csv` reads them.

    Returns:
        The keys that both have and `quantity`; `value`, `low`, `high`, `verdict` of ours (missing
        in a row of theirs alone), and of theirs with the suffix `_reference`; `outcome`, empty
        where neither has a value: `equal`, the same in every digit; `agree`, each value lies in the
        other's interval; `moved`, one does not, or there is no interval; `only one` has a value.
        The index holds keys as texts.
    """
    keys = [c for c in ours if c in theirs and (c not in VALUE_COLUMNS or c == "quantity")]
    sides = [_by_key(frame, keys) for frame in (ours, theirs)]
    rows = pd.concat([sides[0][keys], sides[1].drop(sides[0].index, errors="ignore")[keys]])
    mine, other = (side.reindex(rows.index) for side in sides)
    columns = ["value", "low", "high", "verdict"]
    rows = pd.concat([rows, mine[columns], other[columns].add_suffix("_reference")], axis=1)
    has_value = mine["value"].notna(), other["value"].notna()
    both = has_value[0] & has_value[1]
    equal = both & (mine["value"] == other["value"])
    agree = both & _inside(mine, other) & _inside(other, mine)
    rows["outcome"] = np.select([equal, agree, both, has_value[0] ^ has_value[1]], OUTCOMES, "")
    return rows


def compare(ours: pd.DataFrame, theirs: pd.DataFrame, table: str) -> pd.DataFrame:
    """What became of each row of a tidy table in another run.

    Args:
        ours, theirs: as `onelayer.evidence.tables.read_tables` reads them.
        table: its name.

    Returns:
        `table`; `row`, its keys as one text; `outcome`, as of `rows_beside`; `theirs`, `ours`, the
        verdicts, missing where one has no such row; `change`, one of `CHANGES` or empty.
    """
    rows = rows_beside(ours, theirs)
    verdicts = rows[["verdict_reference", "verdict"]].set_axis(["theirs", "ours"], axis=1)
    differ = verdicts.notna().all(axis=1) & (verdicts["theirs"] != verdicts["ours"])
    undecided = verdicts.isin([*NO_DECISION, ""]).any(axis=1)
    change = np.select([differ & ~undecided, differ], CHANGES, "")
    compared = verdicts.assign(table=table, outcome=rows["outcome"], change=change)
    return compared.assign(row=rows.index.map(", ".join)).reset_index(drop=True)


def _by_key(table: pd.DataFrame, keys: Sequence[str]) -> pd.DataFrame:
    """The table under its keys as texts, so that 1 and 1.0 are the same; the first of twins."""
    texts = [
        table[key].map(lambda v: f"{v:.15g}" if isinstance(v, float) else str(v)) for key in keys
    ]
    index = pd.MultiIndex.from_arrays(texts, names=list(keys))
    return table.set_index(index)[lambda t: ~t.index.duplicated()]


def _inside(values: pd.DataFrame, intervals: pd.DataFrame) -> np.ndarray:
    """Whether each value lies in the interval of the other's row; its value, where it has none.

    An interval with one end alone, as of a median beside runs that never came, is open at the
    other. A z score has its noise in its unit: the standard deviation of a mean under permuted
    topics.
    """
    value, middle = values["value"].to_numpy(), intervals["value"].to_numpy()
    noise = np.where(intervals["quantity"].str.endswith("_z"), NOISE_OF_Z, 0.0)
    none = intervals[["low", "high"]].isna().all(axis=1)
    low = intervals["low"].fillna(-np.inf).mask(none, intervals["value"] - noise).to_numpy()
    high = intervals["high"].fillna(np.inf).mask(none, intervals["value"] + noise).to_numpy()
    slack = ROUNDING * np.abs(middle)
    return (low - slack <= value) & (value <= high + slack)


def compare_runs(ours: Iterable[Path], theirs: Iterable[Path]) -> pd.DataFrame:
    """`compare` of every table that two runs have, but the scoreboard, which restates them.

    Args:
        ours, theirs: files `<paper>/<table>.csv`, wherever they lie.
    """
    mine, other = read_tables(ours), read_tables(theirs)
    names = sorted(mine.keys() & other.keys() - {SCOREBOARD})
    parts = [compare(mine[name], other[name], name) for name in names]
    columns = ["table", "row", "outcome", "theirs", "ours", "change"]
    return pd.concat(parts)[columns] if parts else pd.DataFrame(columns=columns)


def counted(compared: pd.DataFrame, by: pd.Series) -> pd.DataFrame:
    """How many rows of `compare` both runs have, and of each of `OUTCOMES` and `CHANGES`, `by`."""
    outcomes, changes = (
        pd.crosstab(by, compared[column]).reindex(columns=kinds, fill_value=0)
        for column, kinds in (("outcome", OUTCOMES), ("change", CHANGES))
    )
    counts = outcomes.join(changes)
    counts.insert(0, "rows", outcomes[[EQUAL, AGREE, MOVED]].sum(axis=1))
    return counts


def summary(compared: pd.DataFrame, machines: Mapping[str, str], verbose: bool = False) -> str:
    """What a user reads: a line a table, all together, and the verdicts that changed.

    Args:
        compared: `compare_runs`.
        machines: what is known of the run compared with, by name.
        verbose: name also the verdicts that changed from or to one that decides nothing.
    """
    counts = counted(compared, compared["table"])
    counts.loc["all"] = counts.sum()
    text = ["This run beside: " + "; ".join(f"{k} {v}" for k, v in machines.items()), ""]
    text.append(counts.reset_index().to_string(index=False))
    text += ["", "agree: each value lies in the other's 95% interval; moved: it does not."]
    changed, undecided = (_changes(compared[compared["change"] == change]) for change in CHANGES)
    text += ["", f"Verdicts that changed: {len(changed)}", *changed]
    text += ["", f"From or to undecided, not reached or not run: {len(undecided)}"]
    text += undecided if verbose else ["  `onelayer compare --verbose` names them"]
    return "\n".join(text)


def _changes(compared: pd.DataFrame) -> list[str]:
    return [
        f"  {one.table}: {one.row}: {one.theirs or 'no verdict'} -> {one.ours or 'no verdict'}"
        for one in compared.itertuples()
    ]


def main(results: Path, reference: Path = REFERENCE, verbose: bool = False) -> str:
    """What `make compare` prints of a run beside what `onelayer.report.reference.keep_run` kept.

    Raises:
        OnelayerError: one of them has no tables.
    """
    compared = compare_runs(tables_in(results), tables_in(reference))
    machine = json.loads((reference / "machine.json").read_text("utf-8"))
    said = summary(compared, machine, verbose)
    return f"{to_the_byte(results, reference / SUMS)}\n\n{said}"


def to_the_byte(results: Path, place: Path) -> str:
    """Whether a run's tables and weights are the reference run's, whose sums `place` may have."""
    kept = json.loads(place.read_text("utf-8")) if place.is_file() else {}
    sums = kept.get("reference run", {})
    if not sums:
        return (
            "To the byte: there are no sums of the reference run yet, which was not portable; "
            "`make same-bytes` compares a small one"
        )
    files = {path: results / Path(path).relative_to("results") for path in sums}
    other = [p for p, file in files.items() if not file.is_file() or file_sha256(file) != sums[p]]
    if not other:
        return f"To the byte: all {len(sums)} tables and weights are those of the reference run"
    return f"To the byte: {len(other)} of {len(sums)} tables and weights differ, first {other[0]}"
