"""A run's tables by name: the public functions `onelayer.results` and `onelayer.compare`."""

import difflib
from pathlib import Path

import pandas as pd

from onelayer.errors import OnelayerError
from onelayer.evidence.tables import TEXTS, VALUE_COLUMNS, by_table, read_csv, tables_in
from onelayer.evidence.verdicts import KINDS, VERDICTS
from onelayer.report.comparison import OUTCOMES, REFERENCE, rows_beside

COUNTS = ["n", "runs"]
NUMBERS = {*VALUE_COLUMNS} - {"quantity", *COUNTS, *TEXTS}
CATEGORIES = {"kind": list(KINDS), "verdict": list(VERDICTS), "outcome": OUTCOMES}


class Table(pd.DataFrame):
    """A table that shows itself as readers see it; any operation on it gives a plain one.

    Attributes:
        shown: Markdown; empty where a run keeps none, as the reference run does.
    """

    _metadata = ["shown"]
    shown = ""

    def __repr__(self) -> str:
        """The readers' table with its title and notes."""
        return self.shown or super().__repr__()

    def _repr_html_(self) -> str | None:
        return None if self.shown else super()._repr_html_()

    def _repr_markdown_(self) -> str | None:
        return self.shown or None


def tables(*, run: str | None = None, folder: str | Path | None = None) -> list[str]:
    """Names of all tables of a run, `<paper>/<table>`.

    Args:
        run, folder: as for `results`.

    Raises:
        OnelayerError: the folder has no tables.
    """
    return list(_paths(_folder(run, folder)))


def results(table: str, *, run: str | None = None, folder: str | Path | None = None) -> Table:
    """A table of a run, which shows itself as readers see it.

    Args:
        table: its name, `wikipedia_disjoint`; or with its paper's, `scan_snap/claims`.
        run: `quick` for the run in `runs/quick/results`, `reference` for the reference run that is
            kept in the repository; without it, the run in `results`.
        folder: the run's folder instead, wherever it lies: the one that holds `tables/`.

    Returns:
        One row per quantity. First the table's keys: numbers where all of a column are, else texts.
        Then `quantity`; `value` with its 95% interval `low`, `high` (float64); `n`, the number of
        documents or seeds, and `runs`, how many independent ones of them the interval covers
        (Int64); `published`, `published_std`, `tolerance` (float64); `reference`, the value of no
        effect, `effect`, what counts as 1, and ours in units of that, `effect_share` with
        `effect_low`, `effect_high` (float64); `kind`, of what the number is compared with, and
        `verdict` (categories in the order of `onelayer.evidence.verdicts`, missing where nothing is
        compared); `note`.

    Raises:
        OnelayerError: the folder has no tables, none of that name (the line names the nearest),
            or several.
    """
    place = _folder(run, folder)
    paths = _paths(place)
    path = paths[_name(table, list(paths), place)]
    result, readable = Table(_typed(read_csv(path))), path.with_suffix(".md")
    result.shown = readable.read_text("utf-8") if readable.is_file() else ""
    return result


def compare(
    table: str | None = None,
    *,
    run: str | None = None,
    folder: str | Path | None = None,
    reference: str | Path = REFERENCE,
) -> pd.DataFrame:
    """A table of a run beside that of another, row by row; the reference run, if none is named.

    Args:
        table: its name, as for `results`; None: every table that both have.
        run, folder: which run, as for `results`.
        reference: folder of the other run; it holds `tables/`, too.

    Returns:
        One row for every row of either: `table` (`<paper>/<table>`); the keys and `quantity`;
        `value`, `low`, `high`, `verdict` of the run; the same of the other with the suffix
        `_reference`; and `outcome`:

        - `equal`: the same in every digit
        - `agree`: each value lies in the other's 95% interval
        - `moved`: one does not, or without an interval they differ by more than rounding
        - `only one`: only one of the runs has a value
        - missing: none has

    Raises:
        OnelayerError: as `results`, for either folder.
    """
    place = _folder(run, folder)
    mine, other = _paths(place), _paths(Path(reference))
    if table is None:
        names = sorted(mine.keys() & other.keys())
    else:
        names = [_name(table, list(mine), place)]
        _name(names[0], list(other), Path(reference))
    if not names:
        raise OnelayerError(f"{place} and {reference} have no table in common")
    rows = {name: rows_beside(read_csv(mine[name]), read_csv(other[name])) for name in names}
    parts = [part.assign(table=name) for name, part in rows.items()]
    return _typed(pd.concat(parts, ignore_index=True).set_index("table").reset_index())


def _folder(run: str | None, folder: str | Path | None) -> Path:
    if run is not None and folder is not None:
        raise OnelayerError(f"run={run!r}, folder={str(folder)!r}: name one of the two")
    if folder is not None:
        return Path(folder)
    if run == "reference":
        return REFERENCE
    return Path("results") if run is None else Path("runs", run, "results")


def _paths(folder: Path) -> dict[str, Path]:
    """Tables of a run by `<paper>/<table>`."""
    hint = "`make results` makes them, run= or folder= names another"
    if folder == REFERENCE:  # an installed package has no docs/
        hint = "the reference run is docs/reference of a checkout; name that folder"
    return by_table(tables_in(folder, hint))


def _name(table: str, names: list[str], folder: Path) -> str:
    """The full name of a table that may be given without its paper."""
    chosen = [name for name in names if table in (name, name.partition("/")[2])]
    if len(chosen) > 1:
        raise OnelayerError(f"{folder}: {table!r} is {' or '.join(chosen)}; name one of them")
    if not chosen:
        short = [name.partition("/")[2] for name in names]
        near = difflib.get_close_matches(table, [*names, *short], n=1)
        nearest = f"the nearest is {near[0]}; " if near else ""
        raise OnelayerError(f"{folder}: no table {table!r}; {nearest}onelayer.tables() names all")
    return chosen[0]


def _typed(table: pd.DataFrame) -> pd.DataFrame:
    """The same rows, each of the columns of all tables with its type, whatever stands in it."""
    typed, names = {}, {column: str(column).removesuffix("_reference") for column in table}
    for column, name in names.items():
        if name in NUMBERS:
            typed[column] = table[column].astype("float64")
        elif name in CATEGORIES:
            typed[column] = pd.Categorical(table[column].replace("", None), CATEGORIES[name])
        elif name in COUNTS:
            typed[column] = table[column].astype("Int64")
    return table.assign(**typed)
