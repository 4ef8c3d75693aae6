"""The one format of tables: tidy CSV for machines; Markdown, LaTeX and HTML for readers.

Every CSV has its key columns, then the columns of `VALUE_COLUMNS`: the number with its interval,
how many independent runs that covers (`runs`), what it was compared with (`kind`), how far from the
published number still counts as it (`tolerance`), our effect in units of the published one from the
value of no effect (`reference`), and the verdict, which follows from these. A quantity without a
counterpart has an empty verdict and kind; one that was not measured has the verdict `not run`, one
that a run did not get to `not reached`, and a reason.
"""

import functools
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from onelayer.errors import OnelayerError
from onelayer.evidence.declarations import keep
from onelayer.evidence.findings import ALL as ALL
from onelayer.evidence.pages import Link, table_page
from onelayer.run.step import Step

TEXTS = ("kind", "verdict", "note")
VALUE_COLUMNS = ["quantity", "value", "low", "high", "n", "runs", "published", "published_std"]
VALUE_COLUMNS += ["tolerance", "reference", "effect", "effect_share", "effect_low", "effect_high"]
VALUE_COLUMNS += TEXTS
EMPTY = "–"  # for readers


def tidy(rows: Sequence[dict] | pd.DataFrame, keys: Sequence[str]) -> pd.DataFrame:
    """Rows as a table of keys and `VALUE_COLUMNS`, no others; what a row does not give is empty."""
    table = pd.DataFrame(rows)
    for column in VALUE_COLUMNS:
        if column not in table:
            table[column] = "" if column in TEXTS else np.nan
    if unknown := sorted(set(table.columns) - {*keys, *VALUE_COLUMNS}):
        raise ValueError(f"columns {unknown} are neither keys nor value columns")
    return table[[*keys, *VALUE_COLUMNS]].fillna(dict.fromkeys(TEXTS, ""))


@dataclass(frozen=True)
class Report:
    """A table with all that its readers see.

    Attributes:
        table: tidy, as `tidy` makes it and `onelayer.evidence.verdicts.judge` judges it; the CSV
            holds it.
        shown: the same numbers as readers want them, texts and `onelayer.evidence.pages.Link`s.
        title: one line above the readers' table.
        notes: what a reader must know, below it.
    """

    table: pd.DataFrame
    shown: pd.DataFrame
    title: str
    notes: Sequence[str]

    def write(self, csv: Path, md: Path, tex: Path, html: Path) -> None:
        """Write CSV for machines, and Markdown, LaTeX and HTML (for the report) for readers."""
        write_csv(self.table, csv)
        lines = [f"# {markdown(self.title)}", "", markdown_table(self.shown), ""]
        lines += [*(f"- {markdown(note)}" for note in self.notes), ""]
        md.write_text("\n".join(lines), encoding="utf-8")
        tex.write_text(_latex_table(self.shown, self.title, self.notes), encoding="utf-8")
        html.write_text(table_page(self.shown, self.title, self.notes), encoding="utf-8")


def table(
    name: str,
    section: str,
    label: str,
    *,
    title: str = "",
    notes: Sequence[str] = (),
    readable: Callable[[pd.DataFrame], pd.DataFrame] | None = None,
    reads: Mapping[str, str] | None = None,
    **declared: object,
) -> Callable[[Callable], Callable]:
    """Declare the table that a function makes; see `onelayer.evidence.declarations.Declaration`.

    `title`, `notes` and `readable`, which makes readers' columns of the tidy table that the
    function returns, are of its `Report`; a function that returns one says them itself. Without
    `readable` readers have a row for each row.
    """
    shown = {"title": title, "notes": notes, "readable": readable}
    return lambda function: keep(function, reads, declared.get("made", ""), **shown)


def reported(
    table: pd.DataFrame | Report,
    title: str,
    notes: Sequence[str],
    readable: Callable[[pd.DataFrame], pd.DataFrame] | None,
) -> Report:
    """What a declared function returned, with what its declaration says for readers.

    Raises:
        OnelayerError: it returned a table that `tidy` did not make.
    """
    if isinstance(table, Report):
        return table
    if missing := [name for name in VALUE_COLUMNS if name not in table]:
        raise OnelayerError(
            f"{title}: a table without the columns {', '.join(missing)}; its function returns "
            "`tidy(rows, keys)`"
        )
    return Report(table, (readable or row_by_row)(table), title, notes)


def row_by_row(table: pd.DataFrame) -> pd.DataFrame:
    """A tidy table for readers: its keys, its quantity, the number with its interval, the verdict.

    Without a column of verdicts where there are none.
    """
    keys = table.columns[: table.columns.get_loc("quantity") + 1]
    values = [interval_of(row, 3) for row in table.to_dict("records")]
    shown = table[keys].astype(str).assign(value=values)
    return shown.assign(verdict=table["verdict"]) if table["verdict"].any() else shown


def write(step: Step, made: Callable[[], object], shown: Mapping[str, object]) -> None:
    """Write a declared table in all its forms."""
    reported(made(), **shown).write(*step.outputs.tables)


def write_csv(table: pd.DataFrame, path: Path) -> None:
    """Write a tidy table for machines."""
    # Nine significant digits: more than any interval needs, and the same text on every run.
    table.to_csv(path, index=False, float_format="%.9g", lineterminator="\n")


def read_csv(path: Path) -> pd.DataFrame:
    """Read a tidy table back; empty texts stay empty texts.

    Raises:
        OnelayerError: it lacks one of `VALUE_COLUMNS`.
    """
    table = pd.read_csv(path, dtype=dict.fromkeys(("quantity", *TEXTS), str))
    if missing := ", ".join(column for column in VALUE_COLUMNS if column not in table):
        raise OnelayerError(f"{path}: no column {missing}; is it a table of this project?")
    return table.fillna(dict.fromkeys(TEXTS, ""))


def by_table(paths: Iterable[Path]) -> dict[str, Path]:
    """Files `<paper>/<table>.csv`, wherever they lie, by their tables' names, `<paper>/<table>`."""
    return {f"{path.parent.name}/{path.stem}": path for path in paths}


def tables_in(folder: Path, hint: str = "`make results` makes them") -> list[Path]:
    """Files of all tables (CSV) in a run's folder `results`.

    Raises:
        OnelayerError: there is none; `hint` says what to do.
    """
    if paths := sorted(folder.glob("tables/*/*.csv")):
        return paths
    raise OnelayerError(f"{folder}: no tables here; {hint}")


def read_tables(paths: Iterable[Path]) -> dict[str, pd.DataFrame]:
    """Tidy tables by their names, as `by_table` names them.

    Raises:
        OnelayerError: as `read_csv`.
    """
    return {name: read_csv(path) for name, path in by_table(paths).items()}


# What would begin a cell, an element or an address in the middle of a text.
_MARKUP = re.compile(r"\\|\||<(?=[A-Za-z/!?])|\](?=[(\[:])")


def markdown(text: object) -> str:
    """Text as Markdown shows it, in one line: no cell, element, link or picture begins in it.

    Only a `Link` becomes a link.
    """
    if isinstance(text, Link):
        return f"[{markdown(text.text)}]({text.to}.md)"
    plain = " ".join(str(text).split())
    return _MARKUP.sub(lambda match: "&lt;" if match[0] == "<" else f"\\{match[0]}", plain)


def markdown_table(table: pd.DataFrame) -> str:
    """A table of texts and `Link`s in Markdown."""
    escaped = table.map(markdown).rename(columns=markdown)
    return escaped.to_markdown(index=False, disable_numparse=True)


def _latex_table(table: pd.DataFrame, title: str, notes: Sequence[str]) -> str:
    style = {"caption": latex(title), "position": "tbp", "column_format": "l" * table.shape[1]}
    body = table.map(latex).rename(columns=latex).to_latex(index=False, escape=False, **style)
    # As wide as the text and no wider, whatever the number of columns.
    body = body.replace("\\begin{tabular}", "\\resizebox{\\textwidth}{!}{%\n\\begin{tabular}")
    body = body.replace("\\end{tabular}", "\\end{tabular}}")
    below = "".join(f"\\par\\footnotesize {latex(note)}\n" for note in notes)
    return "% needs booktabs and graphicx\n" + body.replace("\\end{table}", below + "\\end{table}")


_LATEX = {
    "\\": r"\textbackslash{}",
    "−": "$-$",
    "–": "--",
    "×": r"$\times$",
    "≥": r"$\geq$",
    "≤": r"$\leq$",
    "≈": r"$\approx$",
    "±": r"$\pm$",
    "²": "$^2$",
    "₀": "$_0$",
    "γ": r"$\gamma$",
    "δ": r"$\delta$",
    "ε": r"$\varepsilon$",
    "η": r"$\eta$",
    "λ": r"$\lambda$",
    "σ": r"$\sigma$",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
} | {symbol: f"\\{symbol}" for symbol in "&%$#_{}"}


def latex(text: object) -> str:
    """Text as LaTeX sets it, in one line."""
    return "".join(_LATEX.get(symbol, symbol) for symbol in " ".join(str(text).split()))


def number(value: float, digits: int = 2) -> str:
    """A number for readers, 0 without a sign; a dash where there is none."""
    return EMPTY if value is None or math.isnan(value) else f"{value:z.{digits}f}"


def interval(value: float, low: float, high: float, digits: int = 2) -> str:
    """`1.55 [1.47, 1.62]` for readers; a dash where there is no value."""
    if math.isnan(value) or math.isnan(low):
        return number(value, digits)
    return f"{number(value, digits)} [{number(low, digits)}, {number(high, digits)}]"


def interval_of(row: Mapping[str, float] | None, digits: int = 2) -> str:
    """`interval` of a row with `value`, `low` and `high`; a dash where there is no row."""
    return EMPTY if row is None else interval(row["value"], row["low"], row["high"], digits)


def row_per(*keys: str) -> Callable[[Callable[..., dict]], Callable[[pd.DataFrame], pd.DataFrame]]:
    """Make what writes one row for readers into what writes all of a tidy table.

    Args:
        keys: columns; a row for each of their values, in the order of the table. The decorated
            function takes the rows that share them, under their `quantity`, then these values.

    A column that some rows have has a dash in the others.
    """

    def of_row(row: Callable[..., dict]) -> Callable[[pd.DataFrame], pd.DataFrame]:
        def readable(table: pd.DataFrame) -> pd.DataFrame:
            groups = table.groupby(list(keys), sort=False, dropna=False)
            rows = pd.DataFrame([row(part.set_index("quantity"), *key) for key, part in groups])
            return rows.fillna(EMPTY)

        return functools.wraps(row)(readable)

    return of_row
