"""Findings: the claims of the papers, each with the one row that decides it, named there.

A paper lists its findings in `papers/<paper>/findings.py`. A `Finding` is a claim with its primary
row; the verdict of that row is the verdict on the claim, and chooses the verb of its sentence
(`onelayer.evidence.sentences`). A `Remark` describes rows that decide nothing. All other rows of
all tables describe, too, whatever their verdicts are.
"""

import csv
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from onelayer.errors import OnelayerError

# Key of what is said over all seeds, or all of another key's values.
ALL = "all"
# The place of what no paper says.
BEYOND = "beyond the paper"

Rows = Mapping[str, object]
# Not the verb without its s.
_INFINITIVES = {"has": "have", "goes": "go", "vanishes": "vanish", "pushes": "push"}


@dataclass(frozen=True)
class Published:
    """Where a published number stands.

    Attributes:
        file: name of a CSV file under `workflow/reference`.
        row: value of some columns, by which the number's row is found.
        column: the number's.
    """

    file: str
    row: Rows
    column: str


@dataclass(frozen=True)
class Finding:
    """A claim, the row that decides it, and the words of its sentence.

    The sentence is `{subject} {does}: {number}`, with the verb that the verdict asks for. `number`,
    `why` and `also` are format strings in which `{it}` is the primary row and the names in `beside`
    are other rows: `{it:2}` is its number with two digits behind the point and its 95% interval,
    `{it.corrected:2}` that as a multiple of its own null, `{it.n}` a column.

    Attributes:
        name: by which README and docs quote it.
        claim: what the paper says, in a few words.
        place: where the paper says it.
        kind: of `onelayer.evidence.verdicts.KINDS`, where the row was not measured and cannot say.
        table: `<paper>/<table>`, where the row stands.
        primary: which row decides: value of some columns; exactly one row has them.
        subject: what the sentence is about.
        does: what it does if the claim is right.
        number: what is said of the number.
        why: a reason, said where the verdict is not the one claimed; a clause.
        also: what rows beside say that the reader should know, such as what points the other way;
            a clause, left out where the run does not have them.
        published: the paper's number, where it prints one.
        beside: other rows of the same table that `number`, `why` and `also` name.
        predicted: the verdict that agrees with what `workflow/predictions.csv` says of it, where
            it has a line there.
        does_not: what it does if the claim is not right, where that is more than `negated`; no more
            than a negation, as 'to an extent that matters' may follow.
        contrary: what it does if the contrary is right, where that is more than `does_not`.
        refuted_if_undecided: whether what was predicted is refuted unless it is shown.
        also_predicted: name in `beside` of a row of which its own claim was predicted, too.
    """

    name: str
    claim: str
    place: str
    kind: str
    table: str
    primary: Rows
    subject: str
    does: str
    number: str = "{it:2}"
    why: str = ""
    also: str = ""
    published: Published | None = None
    beside: Mapping[str, Rows] = field(default_factory=dict)
    predicted: str = "reproduced"
    does_not: str = ""
    refuted_if_undecided: bool = False
    also_predicted: str = ""
    contrary: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "does_not", self.does_not or negated(self.does))


def negated(does: str) -> str:
    """What a sentence says in place of its verb and the rest: `does not end` of `ends`."""
    verb, _, rest = does.partition(" ")
    if verb in ("is", "are"):
        return f"{verb} not {rest}"
    if not verb.endswith("s"):
        return f"do not {does}"
    return f"does not {_INFINITIVES.get(verb, verb[:-1])} {rest}".rstrip()


@dataclass(frozen=True)
class Remark:
    """A sentence on rows that decide no claim.

    Attributes:
        name, table: as of a `Finding`.
        rows: which rows: value of a column, or several values; `{it}` in the sentence.
        sentence: a format string; of several rows `{it:2}` is the least and the most,
            `{it.rows}` how many there are.
        beside: other rows of the same table that the sentence names.
    """

    name: str
    table: str
    rows: Rows
    sentence: str
    beside: Mapping[str, Rows] = field(default_factory=dict)


def check(
    papers: Mapping[str, Sequence[Finding | Remark]], tables: Iterable[str], reference: Path
) -> None:
    """Whether every claim has one primary row, in a table that there is, and its reference.

    Args:
        papers: all findings by paper.
        tables: names of all tables as the workflow declares them, `<paper>/<table>`, wildcards in
            braces.
        reference: the folder of the published numbers.

    Raises:
        OnelayerError: a claim has no primary row or two, no table makes it, or there is no
            published number where the claim says it stands.
    """
    # A value that a wildcard has in other settings than these makes a table, too.
    declared = re.compile("|".join(re.sub(r"\{\w+\}", r"\\w+", name) for name in tables))
    seen, decided = {}, {}
    for paper, findings in papers.items():
        names = set()
        for finding in findings:
            named = f"finding {paper}/{finding.name}"
            one_row = f"{named}: a claim has one primary row;"
            if (other := seen.setdefault(finding.name, paper)) != paper:
                raise OnelayerError(f"{named}: {other} has a finding of this name, too")
            if finding.name in names:
                raise OnelayerError(f"{one_row} this one has two")
            names.add(finding.name)
            if not re.fullmatch("[a-z0-9_]+", finding.name):
                raise OnelayerError(f"{named}: a name has small letters, digits and _")
            if not declared.fullmatch(finding.table):
                raise OnelayerError(f"{named}: no table {finding.table}")
            if isinstance(finding, Remark):
                continue
            if not finding.primary:
                raise OnelayerError(f"{one_row} this one has none: `primary` is empty")
            if "{" in finding.subject + finding.does + finding.does_not + finding.contrary:
                raise OnelayerError(
                    f"{named}: only `number`, `why` and `also` take numbers of rows"
                )
            for key, value in finding.primary.items():
                if isinstance(value, tuple | list):
                    raise OnelayerError(f"{one_row} `primary` has several values of {key}")
            row = (finding.table, tuple(sorted(map(str, finding.primary.items()))))
            if row in decided:
                raise OnelayerError(f"{named}: its primary row decides {decided[row]} already")
            decided[row] = finding.name
            _check_reference(named, finding, reference)


def _check_reference(named: str, finding: Finding, reference: Path) -> None:
    if not finding.place:
        raise OnelayerError(f"{named}: `place` does not say where the paper claims it")
    published = finding.published
    if published is None:
        if finding.kind == "published":
            raise OnelayerError(f"{named}: `published` does not say where the number stands")
        return
    file = reference / published.file
    if not file.is_file():
        raise OnelayerError(f"{named}: the published numbers {file} do not exist")
    wanted = {name: str(value) for name, value in published.row.items()}
    with file.open(encoding="utf-8", newline="") as lines:
        rows = [row for row in csv.DictReader(lines) if wanted.items() <= row.items()]
    where = ", ".join(f"{name} = {value}" for name, value in published.row.items())
    if len(rows) != 1:
        raise OnelayerError(f"{named}: {len(rows) or 'no'} rows with {where} in {file}, not one")
    if not rows[0].get(published.column):
        raise OnelayerError(f"{named}: no number in column {published.column}, {where}, of {file}")
