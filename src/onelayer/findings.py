"""What a run found, as sentences that take their numbers and their wording from its tables.

A paper lists its findings (`papers/<paper>/findings.py`): rows of a table, and one sentence for
each way in which they can come out. The rows' verdicts choose the sentence and the rows fill in
its numbers, so that no text can disagree with a table.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import pandas as pd

from onelayer.errors import OnelayerError
from onelayer.tables import interval, markdown, number
from onelayer.verdicts import AGREE, UNDECIDED

# What the verdicts of all rows together say of the claim, and the word for it.
OUTCOMES = {
    "holds": "Holds",
    "fails": "Does not hold",
    "open": "Open",
    "mixed": "Holds in part",
    "measured": "Measured",
}


@dataclass(frozen=True)
class Finding:
    """One claim, the rows that decide it, and a sentence for every outcome.

    Sentences are format strings. `{it}` stands for the rows that decide and the names in `beside`
    for other rows of the same table: `{it:.2f}` is a number with its 95% interval, of several rows
    the least and the most; `{it.value:.2f}`, `{it.published}`, `{it.rows}`, `{it.agree}` as
    `Rows` has them.

    Attributes:
        name: by which README and docs quote it.
        table: `<paper>/<table>`.
        rows: which rows decide: value of a column, or several values.
        holds: said where all rows agree with the claim; where nothing is compared, what was
            measured.
        fails: where one contradicts it and none agrees.
        open: where none contradicts and not all agree.
        mixed: where some agree and some contradict; else as `fails`.
        beside: other rows that the sentence names, chosen in the same way.
    """

    name: str
    table: str
    rows: Mapping[str, object]
    holds: str
    fails: str = ""
    open: str = ""
    mixed: str = ""
    beside: Mapping[str, Mapping[str, object]] = field(default_factory=dict)


@dataclass(frozen=True)
class Said:
    """A finding of a run.

    Attributes:
        finding: which.
        outcome: a key of `OUTCOMES`.
        sentence: with the run's numbers.
    """

    finding: Finding
    outcome: str
    sentence: str


class Rows:
    """Rows of a table as a sentence names them.

    Args:
        table: those rows, at least one.
    """

    def __init__(self, table: pd.DataFrame) -> None:
        self._table = table

    @property
    def rows(self) -> int:
        """How many."""
        return len(self._table)

    @property
    def agree(self) -> int:
        """How many of them agree with the claim."""
        return int(self._table["verdict"].isin(AGREE).sum())

    @property
    def within(self) -> int:
        """How many reach the published number."""
        return int((self._table["verdict"] == "within").sum())

    @property
    def least(self) -> float:
        """Smallest value."""
        return float(self._table["value"].min())

    @property
    def most(self) -> float:
        """Largest value."""
        return float(self._table["value"].max())

    @property
    def total(self) -> int:
        """Sum of the rows' n."""
        return int(self._table["n"].sum())

    def __getattr__(self, column: str) -> object:
        """The single row's entry in a column; of several rows, the one they share."""
        if column.startswith("_") or column not in self._table:
            raise AttributeError(column)
        found = self._table[column].unique()
        if len(found) > 1:
            raise ValueError(f"{column} differs between {self.rows} rows: {list(found)[:5]}")
        if isinstance(found[0], str):
            return markdown(found[0])
        return int(found[0]) if column == "n" else found[0]

    def __format__(self, spec: str) -> str:
        """A number with its interval; of several rows, the least and the most."""
        digits = int(spec.strip(".f") or 2)
        if self.rows == 1:
            row = self._table.iloc[0]
            return interval(row["value"], row["low"], row["high"], digits)
        ends = number(self.least, digits), number(self.most, digits)
        return ends[0] if ends[0] == ends[1] else f"{ends[0]} to {ends[1]}"


def say(finding: Finding, tables: Mapping[str, pd.DataFrame]) -> Said | None:
    """The finding in a run's numbers; None where the run has no such table or rows.

    Raises:
        ValueError: the finding names a column that its table lacks.
    """
    table = tables.get(finding.table)
    if table is None:
        return None
    named = {name: _chosen(table, rows) for name, rows in finding.beside.items()}
    it = _chosen(table, finding.rows)
    # Where some rows are compared with something, these decide; what was not run says nothing.
    it = it[it["verdict"] != "not run"]
    it = it[it["verdict"] != ""] if (it["verdict"] != "").any() else it
    if any(rows.empty or rows["value"].isna().all() for rows in (it, *named.values())):
        return None
    outcome = outcome_of(it["verdict"])
    wording = {
        "holds": finding.holds,
        "fails": finding.fails,
        "open": finding.open,
        "mixed": finding.mixed or finding.fails,
        "measured": finding.holds,
    }
    if not (template := wording[outcome]):
        raise ValueError(f"{finding.name}: no sentence for the outcome '{outcome}'")
    rows = {name: Rows(part) for name, part in {"it": it, **named}.items()}
    return Said(finding, outcome, " ".join(template.format(**rows).split()))


def outcome_of(verdicts: Iterable[str]) -> str:
    """What the verdicts of all rows say of the claim together; rows without one say nothing."""
    found = [verdict for verdict in verdicts if verdict]
    agree = sum(verdict in AGREE for verdict in found)
    undecided = sum(verdict in UNDECIDED for verdict in found)
    if not found:
        return "measured"
    if agree == len(found):
        return "holds"
    if agree + undecided == len(found):
        return "open"
    return "mixed" if agree else "fails"


def _chosen(table: pd.DataFrame, rows: Mapping[str, object]) -> pd.DataFrame:
    chosen = table
    for column, wanted in rows.items():
        if column not in table:
            raise ValueError(f"no column {column} among {list(table.columns)}")
        values = wanted if isinstance(wanted, tuple) else (wanted,)
        chosen = chosen[chosen[column].map(_text).isin([_text(value) for value in values])]
    return chosen


def _text(value: object) -> str:
    """A key as it is compared: 0.5 read from a CSV and .5 in a finding are the same."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return "" if math.isnan(value) else f"{value:g}"
    return str(value)


def page(papers: Mapping[str, Sequence[Finding]], tables: Mapping[str, pd.DataFrame]) -> str:
    """`results/findings.md`: every paper's findings that a run has, with the table behind each.

    Args:
        papers: findings by the paper's title, in the order in which they are shown.
        tables: the run's tables by `<paper>/<table>`.
    """
    text = ["# Findings", ""]
    text += [
        "Every sentence takes its numbers, and whether it says that a claim holds, from the table "
        "behind it. Brackets hold 95% intervals.",
        "",
    ]
    for title, findings in papers.items():
        text += [f"## {title}", ""]
        for said in filter(None, (say(finding, tables) for finding in findings)):
            name = said.finding.table.partition("/")[2]
            link = f"[{name}](tables/{said.finding.table}.md)"
            text += [f"- **{OUTCOMES[said.outcome]}.** {quoted(said)} ({link})"]
        text.append("")
    return "\n".join(text)


def quoted(said: Said) -> str:
    """A finding's sentence between the marks by which README and docs quote it."""
    return f"<!-- finding: {said.finding.name} -->{said.sentence}<!-- end -->"


_QUOTED = re.compile(r"<!-- finding: ([a-z0-9_]+) -->(.*?)<!-- end -->", re.DOTALL)


def quotes(text: str) -> list[tuple[str, str]]:
    """All (name, sentence) that a text quotes, line breaks as spaces."""
    return [(name, " ".join(sentence.split())) for name, sentence in _QUOTED.findall(text)]


def requoted(text: str, findings: Mapping[str, str]) -> str:
    """A text with all that it quotes as it was found last.

    Args:
        text: Markdown.
        findings: sentences by name.

    Raises:
        OnelayerError: it quotes a finding that there is not.
    """

    def renewed(quote: re.Match) -> str:
        name = quote.group(1)
        if name not in findings:
            raise OnelayerError(f"no finding '{name}', only {', '.join(findings)}")
        return f"<!-- finding: {name} -->{findings[name]}<!-- end -->"

    return _QUOTED.sub(renewed, text)
