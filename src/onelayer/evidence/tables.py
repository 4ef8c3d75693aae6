"""The one format of tables: tidy CSV for machines, Markdown and LaTeX for readers.

Every CSV has key columns, then `VALUE_COLUMNS`: numbers; verdicts stand on the scoreboard alone.
"""

import math
import re
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

# A number and its 95% interval, the independent runs behind that, the paper's number, the measured
# value of no effect, and what keeps it from being judged: "not reached", "undecided" or "".
VALUE_COLUMNS = ["quantity", "value", "low", "high", "n", "published", "null", "state"]
# Of some tables: where 95% of the null's draws lie, and how far from `published` counts as it.
EXTRA_COLUMNS = ["null_low", "null_high", "tolerance"]
NUMBERS = [*VALUE_COLUMNS[1:-1], *EXTRA_COLUMNS]
EMPTY = "–"  # for readers


def tidy(rows: Sequence[dict] | pd.DataFrame, keys: Sequence[str]) -> pd.DataFrame:
    """Rows as a table of keys, `VALUE_COLUMNS`, `EXTRA_COLUMNS` that they give; else NaN or ""."""
    table = pd.DataFrame(rows)
    extra = [name for name in EXTRA_COLUMNS if name in table and name not in keys]
    columns = [*keys, *VALUE_COLUMNS, *extra]
    if unknown := sorted(set(table.columns) - set(columns)):
        raise ValueError(f"columns {unknown} are neither keys nor value columns")
    table = table.reindex(columns=columns)
    types = {name: float for name in NUMBERS if name in table and name not in keys}
    return table.astype(types | {"state": object}).fillna({"state": ""})


def write(
    table: pd.DataFrame, csv: Path, md: Path, tex: Path, *, title: str, shown=None, notes=()
) -> None:
    """Write a tidy table as CSV, and what readers see (`shown`) as Markdown and LaTeX.

    `shown` is by default every row (`by_row`); `notes` stand below.
    """
    # Nine significant digits: more than any interval needs, and the same text on every run.
    table.to_csv(csv, index=False, float_format="%.9g", lineterminator="\n")
    shown = by_row(table) if shown is None else shown
    lines = [f"# {markdown(title)}", "", markdown_table(shown), ""]
    lines += [*(f"- {markdown(note)}" for note in notes), ""]
    md.write_text("\n".join(lines).rstrip() + "\n", encoding="utf-8")
    tex.write_text(_latex_table(shown, title, notes), encoding="utf-8")


def read(csv: Path) -> pd.DataFrame:
    """Read a tidy table back; only an empty cell is missing, not 'null'."""
    table = pd.read_csv(csv, keep_default_na=False, na_values=[""], dtype={"state": str})
    return table.fillna({"state": ""})


def by_row(table: pd.DataFrame) -> pd.DataFrame:
    """Every row of a tidy table as texts, the published number and n beside the interval."""
    keys = table.columns[: table.columns.get_loc("quantity") + 1]
    shown = table[keys].map(lambda key: f"{key:g}" if isinstance(key, float) else key)
    shown["value [95%]"] = _estimates(table)
    shown = shown.join(table[["published", "n"]].map("{:.4g}".format)).replace("nan", EMPTY)
    return shown.assign(state=table["state"])


def side_by_side(rows: pd.DataFrame, down: Sequence[str], across: str) -> pd.DataFrame:
    """Tidy rows as texts, with columns `down` and `across`: value, interval, (published)."""
    published = rows["published"].map(" ({:.4g})".format, na_action="ignore").fillna("")
    texts = rows[[*down, across]].fillna("all").assign(text=_estimates(rows) + published)
    grid = texts.set_index([*down, across])["text"].unstack(sort=False).fillna(EMPTY)
    return grid.rename_axis(columns=None).reset_index().astype(str)


def _estimates(rows: pd.DataFrame) -> pd.Series:
    """Numbers with intervals to four digits: errors are of 1e-8, iterations of 1,000."""
    texts = rows[["value", "low", "high"]].map("{:z.4g}".format)
    ends = " [" + texts["low"] + ", " + texts["high"] + "]"
    ends = ends.where(rows["low"].notna(), "")
    return (texts["value"] + ends).where(rows["value"].notna(), EMPTY)


def number(value: float, digits: int = 2) -> str:
    """A number for readers, 0 without a sign; a dash where there is none."""
    return EMPTY if value is None or math.isnan(value) else f"{value:z.{digits}f}"


def interval(value: float, low: float, high: float, digits: int = 2) -> str:
    """`1.55 [1.47, 1.62]` for readers; a dash where there is no value."""
    if math.isnan(value) or math.isnan(low):
        return number(value, digits)
    return f"{number(value, digits)} [{number(low, digits)}, {number(high, digits)}]"


def markdown(text: object) -> str:
    """Text as Markdown shows it, in one line: no cell, element or link begins in it."""
    plain = re.sub("<(?=[A-Za-z/!?])", "&lt;", " ".join(str(text).split()))
    return re.sub(r"(\\|\||\](?=[(\[:]))", r"\\\1", plain)


def markdown_table(table: pd.DataFrame) -> str:
    """A table of texts in Markdown."""
    escaped = table.map(markdown).rename(columns=markdown)
    return escaped.to_markdown(index=False, disable_numparse=True)


_LATEX = {symbol: f"\\{symbol}" for symbol in "&%$#_{}"}
_LATEX |= {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
_LATEX |= {"−": "$-$", "–": "--", "×": r"$\times$", "≥": r"$\geq$", "≤": r"$\leq$", "±": r"$\pm$"}
_LATEX |= {"≈": r"$\approx$", "²": "$^2$", "₀": "$_0$"}
_LATEX |= {"γ": r"$\gamma$", "δ": r"$\delta$", "ε": r"$\varepsilon$", "η": r"$\eta$"}
_LATEX |= {"λ": r"$\lambda$", "σ": r"$\sigma$", "τ": r"$\tau$"}


def _latex(text: object) -> str:
    return " ".join(str(text).split()).translate(str.maketrans(_LATEX))


def _latex_table(table: pd.DataFrame, title: str, notes: Sequence[str]) -> str:
    """A table of texts in LaTeX, as wide as the page's text and no wider."""
    style = {"caption": _latex(title), "position": "tbp", "column_format": "l" * table.shape[1]}
    body = table.map(_latex).rename(columns=_latex).to_latex(index=False, escape=False, **style)
    body = body.replace("\\begin{tabular}", "\\resizebox{\\textwidth}{!}{%\n\\begin{tabular}")
    body = body.replace("\\end{tabular}", "\\end{tabular}}")
    below = "".join(f"\\par\\footnotesize {_latex(note)}\n" for note in notes)
    return "% needs booktabs and graphicx\n" + body.replace("\\end{table}", below + "\\end{table}")
