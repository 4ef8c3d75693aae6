"""What a run found, as sentences: numbers and verbs come from the rows behind them.

A claim's sentence has its number with an interval, the published one, and a verb that its verdict
chooses. No text can disagree with a table.
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from onelayer.errors import OnelayerError
from onelayer.evidence.findings import BEYOND, Finding, Remark
from onelayer.evidence.tables import interval_of, markdown, markdown_table, number
from onelayer.evidence.verdicts import (
    KINDS,
    NEGLIGIBLE,
    NO_DECISION,
    NOT_REACHED,
    NOT_RUN,
    REPRODUCED,
    UNDECIDED,
    VERDICTS,
    excludes,
)

# The table of all claims, and of which of its rows the verdict holds for all of a paper together.
SCOREBOARD, HOLM = "all_papers/scoreboard", "p_holm"
NO_ROW = "left out of this run by its settings"
# Sections of a paper's findings, and of which kinds and verdicts.
NOT_AS_CLAIMED, AS_CLAIMED = "What did not reproduce", "What did"
OPEN, ANALOGUES, CONTROLS = "What is not decided", "Analogues", "Controls"
QUESTIONS = "Beyond the papers"
REMARKS = "Also measured"
# What becomes of a prediction.
AS_PREDICTED, PARTLY, NOT_AS_PREDICTED, NOT_DECIDED = OUTCOMES = (
    "as predicted",
    "partly as predicted",
    "not as predicted",
    "not decided",
)
SECTIONS = [NOT_AS_CLAIMED, AS_CLAIMED, OPEN, ANALOGUES, QUESTIONS, CONTROLS, REMARKS]
# What stands apart from the claims on the papers' own objects, and where.
APART = {"analogues": ANALOGUES, BEYOND: QUESTIONS, "controls": CONTROLS}
# Beside the reference run: runs of some targets with other settings, a folder each.
BESIDE = "beside"
# A sentence on trainings that are so few says how many.
FEW = 4


def apart_from_claims(kind: str, place: str = "") -> str:
    """Which of `APART` a row is, by its kind and where the paper says it; empty: a paper's claim.

    What no paper says counts as neither a claim nor an analogue of one.
    """
    if place == BEYOND:
        return BEYOND
    return {"analogue": "analogues", "control": "controls"}.get(kind, "")


def apart_from_own(judged: pd.DataFrame) -> pd.Series:
    """`apart_from_claims` of every row, by its `kind` and `place`."""
    return pd.Series(map(apart_from_claims, judged["kind"], judged["place"]), judged.index, str)


class NotComparedError(LookupError):
    """A row has no null that its number could be divided by: it was not compared with anything."""


class Shown:
    """Rows of a table, at least one, as a sentence names them."""

    def __init__(self, table: pd.DataFrame) -> None:
        self._table = table

    @property
    def rows(self) -> int:
        """How many."""
        return len(self._table)

    @property
    def corrected(self) -> Shown:
        """The row's number and interval as multiples of its own null.

        Raises:
            NotComparedError: it has none, as where a training has not learned.
        """
        beyond, null = self.beyond._table, self.reference
        over = {of: 1 + beyond[of] / null for of in ("value", "low", "high")}
        return Shown(beyond.assign(**over))

    @property
    def beyond(self) -> Shown:
        """The row's number and interval as distances from its own null.

        Raises:
            NotComparedError: as of `corrected`.
        """
        row, null = self._table.iloc[0], self.reference
        low, high = np.sort(row["effect"] * row[["effect_low", "effect_high"]].to_numpy(float))
        return Shown(self._table.iloc[:1].assign(value=row["value"] - null, low=low, high=high))

    @property
    def printed(self) -> Shown:
        """The published numbers in place of ours."""
        return Shown(self._table.assign(value=self._table["published"]))

    @property
    def least(self) -> float:
        """Smallest value."""
        return float(self._table["value"].min())

    @property
    def most(self) -> float:
        """Largest value."""
        return float(self._table["value"].max())

    def __getattr__(self, column: str) -> object:
        """The single row's entry in a column; of several rows, the one they share.

        Raises:
            NotComparedError: its null is asked for, and it has none.
        """
        if column.startswith("_") or column not in self._table:
            raise AttributeError(column)
        values = self._table[column].unique()
        if len(values) > 1:
            raise ValueError(f"{column} differs between {self.rows} rows: {list(values)[:5]}")
        if isinstance(values[0], str):
            return markdown(values[0])
        if column == "reference" and math.isnan(values[0]):
            raise NotComparedError
        return int(values[0]) if column in ("n", "runs") else values[0]

    def __format__(self, spec: str) -> str:
        """A number with its interval; of several rows, the least and the most."""
        digits = int(spec.strip(".f") or 2)
        if self.rows == 1:
            row = self._table.iloc[0]
            return interval_of(row, digits)
        ends = number(self.least, digits), number(self.most, digits)
        return ends[0] if ends[0] == ends[1] else f"{ends[0]} to {ends[1]}"


@dataclass(frozen=True)
class Said:
    """A finding or a remark of a run.

    Attributes:
        finding: which.
        verdict: of its primary row; of a remark empty.
        kind: of its primary row.
        sentence: with the run's numbers.
        short: the same without what rows beside say.
        other: verdict of the row of which something was predicted as well.
        exact: as of `_exact`.
        on_side: whether the whole interval lies on the side of 'no effect' that was predicted.
        left_out: whether the run has no row of it, as its settings do not ask for one.
    """

    finding: Finding | Remark
    verdict: str
    kind: str
    sentence: str
    short: str = ""
    other: str = ""
    exact: bool = False
    on_side: bool = False
    left_out: bool = False

    @property
    def section(self) -> str:
        """One of `SECTIONS`."""
        if isinstance(self.finding, Remark):
            return REMARKS
        if apart := apart_from_claims(self.kind, self.finding.place):
            return APART[apart]
        if self.verdict in NO_DECISION:
            return OPEN
        return AS_CLAIMED if self.verdict == REPRODUCED else NOT_AS_CLAIMED


def came(said: Said) -> str:
    """What became of what was predicted of a claim, by the verdict that its `predicted` names.

    Who predicts an effect is right about one of another size; who predicts a number without one
    that means 'no effect', as a theorem's, is not. Who predicts 'undecided' is refuted by an
    effect, and right only where there is shown to be none. An effect on the side that was
    predicted, but smaller than what matters, neither shows nor refutes it. A prediction that is
    refuted unless an effect is shown says so in `refuted_if_undecided`; one that named a second row
    is right in part where that row does not show what it said of it.
    """
    shown = {REPRODUCED} if said.exact else {REPRODUCED, "smaller", "larger"}
    if said.verdict in (NOT_RUN, NOT_REACHED):
        return NOT_DECIDED
    if said.verdict == UNDECIDED:
        return NOT_AS_PREDICTED if said.finding.refuted_if_undecided else NOT_DECIDED
    if said.finding.predicted == UNDECIDED:
        return NOT_AS_PREDICTED if said.verdict in shown else AS_PREDICTED
    agrees = shown if said.finding.predicted == REPRODUCED else {said.finding.predicted}
    if said.verdict not in agrees:
        small = said.verdict == NEGLIGIBLE and said.on_side
        open_yet = small and not said.finding.refuted_if_undecided
        return NOT_DECIDED if open_yet else NOT_AS_PREDICTED
    return AS_PREDICTED if said.other in {"", *shown} else PARTLY


def primary_row(finding: Finding, tables: Mapping[str, pd.DataFrame]) -> pd.Series | None:
    """The row that decides a claim, with a verdict; None where the run has none.

    Raises:
        OnelayerError: several rows are its primary row.
        ValueError: the finding names a column that its table lacks.
    """
    table = tables.get(finding.table)
    if table is None:
        return None
    rows = chosen(table, finding.primary)
    if len(rows) > 1:
        raise OnelayerError(
            f"finding {finding.name}: a claim has one primary row; {len(rows)} rows of "
            f"{finding.table} have {dict(finding.primary)}"
        )
    if rows.empty:
        return None
    row = rows.iloc[0].copy()
    if not row["verdict"]:
        # A number that means nothing is compared with nothing, and its note says why.
        row["verdict"] = NOT_RUN if math.isnan(row["value"]) else NOT_REACHED
    return row


def say(finding: Finding | Remark, tables: Mapping[str, pd.DataFrame]) -> Said | None:
    """The sentence in a run's numbers; None for a remark on rows that the run does not have.

    Raises:
        OnelayerError, ValueError: as `primary_row`.
    """
    if isinstance(finding, Remark):
        return _remark(finding, tables)
    row = primary_row(finding, tables)
    if row is None:
        return Said(finding, NOT_RUN, finding.kind, _sentence(finding, None), left_out=True)
    rows = {"it": Shown(row.to_frame().T.infer_objects())}
    others = {name: chosen(tables[finding.table], of) for name, of in finding.beside.items()}
    rows |= {name: Shown(other) for name, other in others.items()}
    measured = row["verdict"] != NOT_RUN
    complete = not any(other["value"].isna().all() for other in others.values())
    number, why, also = (
        _filled(text, rows) if measured and said else ""
        for text, said in ((finding.number, True), (finding.why, True), (finding.also, complete))
    )
    if 1 < row["runs"] <= FEW and row["verdict"] != NOT_REACHED:
        number += f", over {row['runs']:.0f} runs" if number else ""
    kind = row["kind"] or finding.kind
    together = _undecided_together(finding, row["verdict"], tables)
    short, sentence = (
        _sentence(finding, row, number, _theirs(finding, row), why, "; ".join(filter(None, added)))
        for added in ([together], [also, together])
    )
    other = rows[finding.also_predicted].verdict if finding.also_predicted else ""
    side = row["effect_high"] < 0 if finding.predicted == "opposite" else row["effect_low"] > 0
    return Said(finding, row["verdict"], kind, sentence, short, other, _exact(row), bool(side))


def _filled(text: str, rows: Mapping[str, Shown]) -> str:
    """A text with the numbers of rows; empty where it asks for a comparison that they lack."""
    try:
        return text.format(**rows)
    except NotComparedError:
        return ""


def _undecided_together(finding: Finding, verdict: str, tables: Mapping[str, pd.DataFrame]) -> str:
    """A clause, where the verdict does not hold for all claims of the paper together."""
    board = tables.get(SCOREBOARD)
    if board is None or verdict in NO_DECISION:
        return ""
    row = board[(board["finding"] == finding.name) & (board["quantity"] == HOLM)]
    if row.empty or row.iloc[0]["verdict"] == verdict:
        return ""
    return "undecided once corrected for all claims of the paper"


def _remark(remark: Remark, tables: Mapping[str, pd.DataFrame]) -> Said | None:
    table = tables.get(remark.table)
    if table is None:
        return None
    named = {"it": remark.rows, **remark.beside}
    rows = {name: chosen(table, of) for name, of in named.items()}
    if any(some.empty or some["value"].isna().all() for some in rows.values()):
        return None
    sentence = remark.sentence.format(**{name: Shown(some) for name, some in rows.items()})
    return Said(remark, "", "", " ".join(sentence.split()))


def tested(finding: Finding) -> str:
    """What the primary row tests, as a sentence that the verdict has not spoken on."""
    return _closed(f"{finding.subject} {finding.does}")


def _sentence(
    finding: Finding,
    row: pd.Series | None,
    number: str = "",
    theirs: str = "",
    why: str = "",
    also: str = "",
) -> str:
    subject, does = finding.subject, finding.does
    whether, verdict = f"Whether {subject} {does}", NOT_RUN if row is None else row["verdict"]
    if verdict == NOT_RUN:
        reason = NO_ROW if row is None else markdown(row["note"])
        return _closed(f"{whether} was not measured: {reason}")
    if verdict == NOT_REACHED:
        note = markdown(row["note"]) or "the runs did not get there"
        # Without a kind the number means nothing.
        means = number and row["kind"] and not math.isnan(row["value"])
        by_then = f"; by then {number}{theirs}" if means else ""
        return _closed(f"{whether} cannot be said: {note}{by_then}")
    kind, also = row["kind"], f"; {also}" if also else ""
    if verdict == UNDECIDED:
        most = excludes(row) if not math.isnan(row["published"]) and kind != "control" else ""
        effect = f", {most} of the {_whole(finding, row)}" if most and not _exact(row) else theirs
        return _closed(f"{whether} is undecided: {number}{effect}{also}")
    clause = _clause(finding, row)
    expected = NEGLIGIBLE if kind == "control" else REPRODUCED
    reason = f"; {why}" if why and verdict != expected else ""
    return _closed(f"{subject} {clause}: {number}{theirs}{reason}{also}")


def _clause(finding: Finding, row: pd.Series) -> str:
    """The verb that a row's verdict asks for."""
    verdict, kind, does, does_not = row["verdict"], row["kind"], finding.does, finding.does_not
    if verdict == REPRODUCED:
        return does
    # Of a control nothing is expected.
    if verdict in ("smaller", "larger") and not _exact(row):
        less = verdict == "smaller"
        if kind != "control" and not _printed(finding, row):
            return f"{does}, {'but only in part' if less else 'and goes beyond'}"
        whose = "what it is a control of" if kind == "control" else "published"
        return f"{does}, {'but less' if less else 'and more'} than {whose}"
    if verdict == NEGLIGIBLE and kind != "control" and not _exact(row):
        if row["effect_low"] > 0 and not math.isnan(row["published"]):
            return f"{does}, but by less than a tenth of the {_whole(finding, row)}"
        if not math.isnan(row["published"]):
            return f"{does_not}, or by less than a tenth of the {_whole(finding, row)}"
        return f"{does_not} to an extent that matters" if row["tolerance"] > 0 else does_not
    if verdict != "opposite":
        return does_not
    return finding.contrary or does_not.replace("no more ", "less ", 1)


def _exact(row: pd.Series) -> bool:
    """Whether beside what the row is compared with another number is just another number.

    To a theorem it is, and wherever no value means 'no effect', of which there could be a part.
    """
    compared = not math.isnan(row["published"])
    return row["kind"] in ("theory", "bound") or (compared and math.isnan(row["reference"]))


def _theirs(finding: Finding, row: pd.Series) -> str:
    """The published or theoretical number, in brackets; empty where there is none.

    0 and 1 are left out: a bound of 1, an error of 0 and a share of all are said by the words.
    """
    published = row["published"]
    if math.isnan(published) or published in (0, 1) or row["kind"] == "control":
        return ""
    word = "published" if _printed(finding, row) else "theory"
    if word == "published" and row["kind"] == "analogue":
        word = "published, of the paper's own"
    if math.isnan(row["effect"]) and not math.isnan(row["effect_share"]):
        word = "bound"  # of an analogue, too
    return f" ({word}: {published:{',.0f' if abs(published) >= 1e4 else '.4g'}})"


def _printed(finding: Finding, row: pd.Series) -> bool:
    """Whether the paper prints the number that the row is compared with."""
    return finding.published is not None or row["kind"] == "published"


def _whole(finding: Finding, row: pd.Series) -> str:
    """What an effect of 1 is called."""
    return "published effect" if _printed(finding, row) else "whole way"


def _closed(text: str) -> str:
    """A sentence: a capital first, a point last, one space between words."""
    text = " ".join(text.split()).rstrip(".")
    return f"{text[0].upper()}{text[1:]}."


def chosen(table: pd.DataFrame, rows: Mapping[str, object]) -> pd.DataFrame:
    """The rows that have some values in some columns.

    Raises:
        ValueError: there is no such column.
    """
    is_one = np.ones(len(table), dtype=bool)
    for column, wanted in rows.items():
        if column not in table:
            raise ValueError(f"no column {column} among {list(table.columns)}")
        texts = {_text(one) for one in (wanted if isinstance(wanted, tuple) else (wanted,))}
        values = [one for one in table[column].unique() if _text(one) in texts]
        is_one &= table[column].isin(values).to_numpy()
    return table[is_one]


def _text(value: object) -> str:
    """A key as it is compared: 0.5 read from a CSV and .5 in a finding are the same."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return "" if math.isnan(value) else f"{value:.15g}"
    return str(value)


def scores(judged: pd.DataFrame) -> pd.DataFrame:
    """A row a paper: the paper's own claims by verdict; below, by `APART`, what is none of these.

    Args:
        judged: a row a claim, with `paper` (its title), `kind`, `place` and `verdict`.

    Returns:
        Texts: `paper`, `claims`, then a column for every verdict.
    """
    judged = judged[judged["kind"].isin(list(KINDS))]
    apart = apart_from_own(judged)
    papers = judged["paper"] + apart.map(lambda one: one and f": {one}")
    order = ["", *APART]
    in_order = papers.iloc[apart.map(order.index).argsort(kind="stable")].unique()
    counts = pd.crosstab(papers, judged["verdict"])
    counts = counts.reindex(index=in_order, columns=list(VERDICTS), fill_value=0)
    counts.insert(0, "claims", counts.sum(axis=1))
    return counts.reset_index(names="paper").rename_axis(columns=None).astype(str)


INTRODUCTION = (
    "Every claim has one row that decides it, named where the claim is declared; number and verb "
    "of its sentence come from that row. Brackets hold 95% intervals. An analogue (a smaller or "
    "other model, another text) says nothing of whether the paper's own result holds. What no "
    "paper says stands apart from its claims."
)


LEFT_OUT = (
    "{:,} of the claims, which other settings ask for. What runs of these found is kept in "
    "`docs/reference/findings.md`."
)


@dataclass(frozen=True)
class Places:
    """What a run shows: names of its tables, and the figure to look at for some.

    `figures` has names of figures, by that of a finding or of a table; `predictions` what was
    expected of a claim before it was measured, by its name; `run` the run's name, where it is
    another than the page is about.
    """

    tables: Collection[str]
    figures: Mapping[str, str] = field(default_factory=dict)
    predictions: Mapping[str, str] = field(default_factory=dict)
    run: str = ""

    @property
    def prefix(self) -> str:
        """Of links to tables and figures: where the run lies beside the page."""
        return f"{BESIDE}/{self.run}/" if self.run else ""


def page(said: Mapping[str, Sequence[Said]], places: Places) -> str:
    """`results/findings.md`: the score, then what is not as the papers say, then all else.

    Of what is beyond the papers most is asked by one overlay or another: what the run's settings
    leave out is counted.
    """
    claims = [(title, one) for title, of_title in said.items() for one in of_title]
    rows = [
        (title, one.kind, one.finding.place, one.verdict)
        for title, one in claims
        if isinstance(one.finding, Finding)
    ]
    judged = pd.DataFrame(rows, columns=["paper", "kind", "place", "verdict"])
    text = ["# Findings", "", INTRODUCTION, "", markdown_table(scores(judged)), ""]
    for section in SECTIONS:
        chosen_here = those(said, lambda one, section=section: one.section == section)
        if any(chosen_here.values()):
            counted = section == QUESTIONS
            text += [f"## {section}", "", *by_paper(chosen_here, places, counted=counted)]
    return "\n".join(text)


def all_said(
    papers: Mapping[str, Sequence[Finding | Remark]], tables: Mapping[str, pd.DataFrame]
) -> dict[str, list[Said]]:
    """What a run found in its tables, by the paper's title, in the order of the findings."""
    return {
        title: [one for one in (say(finding, tables) for finding in findings) if one]
        for title, findings in papers.items()
    }


def those(
    said: Mapping[str, Sequence[Said]], wanted: Callable[[Said], bool]
) -> dict[str, list[Said]]:
    """The findings that are wanted, by paper."""
    return {title: [*filter(wanted, findings)] for title, findings in said.items()}


def by_paper(
    said: Mapping[str, Sequence[Said]],
    places: Places,
    verdicts: bool = True,
    counted: bool = False,
) -> list[str]:
    """Lines of Markdown: under each paper's title a sentence for each of its findings.

    Without `verdicts` the verdict on the claim does not stand before it: where all is about what
    was predicted, 'opposite' may be just that. Findings that the run's settings leave out have one
    line together where they are `counted`.
    """
    lines = []
    for title, findings in said.items():
        if findings:
            told = [one for one in findings if not (counted and one.left_out)]
            lines += [f"### {title}", "", *(_line(one, places, verdicts) for one in told)]
            if less := len(findings) - len(told):
                lines.append(f"- **{NOT_RUN.capitalize()}.** {LEFT_OUT.format(less)}")
            lines.append("")
    return lines


def _line(said: Said, places: Places, verdicts: bool) -> str:
    table = said.finding.table
    name = table.partition("/")[2]
    links = [f"[{name}]({places.prefix}tables/{table}.md)" if table in places.tables else name]
    if figure := places.figures.get(said.finding.name) or places.figures.get(table):
        links.append(f"[figure]({places.prefix}figures/{figure}.png)")
    badge = f"**{said.verdict.capitalize()}.** " if said.verdict and verdicts else ""
    called = f"{places.run}/{said.finding.name}" if places.run else said.finding.name
    line = f"- {badge}{quoted(called, said.sentence)} ({', '.join(links)})"
    if text := places.predictions.get(said.finding.name):
        # A colon after a verdict would read as if that had come out.
        text = re.sub(rf"^({'|'.join(VERDICTS)}): ", "", text)
        line += f"\n    - {came(said).capitalize()}: {markdown(text)}."
    return line


def quoted(name: str, sentence: str) -> str:
    """A finding's sentence between the marks by which README and docs quote it."""
    return f"<!-- finding: {name} -->{sentence}<!-- end -->"


_QUOTED = re.compile(r"<!-- finding: ([a-z0-9_/]+) -->(.*?)<!-- end -->", re.DOTALL)


def requoted(text: str, findings: Mapping[str, Said], short: bool = False) -> str:
    """A text with all that it quotes as it was found last; `short` leaves out rows beside.

    Raises:
        OnelayerError: it quotes a finding that there is not.
    """

    def renewed(quote: re.Match) -> str:
        name = quote[1]
        if name not in findings:
            like = difflib.get_close_matches(name, findings)
            near = f"; {' or '.join(like)}?" if like else f" among {len(findings)}"
            raise OnelayerError(f"no finding '{name}'{near}")
        return quoted(name, (short and findings[name].short) or findings[name].sentence)

    return _QUOTED.sub(renewed, text)
