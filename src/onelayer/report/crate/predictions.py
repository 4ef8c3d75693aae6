"""Predictions, each with the commit that wrote it down: sealed where that is older than the run.

`workflow/predictions.csv` has a line for each: the claim's name (`onelayer.papers.findings`) and
what is expected, in words. A line counts as written by the commit that last changed it, so that one
that was changed after the run is no prediction of it.
"""

import csv
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from onelayer.errors import OnelayerError
from onelayer.run.provenance import REPOSITORY

FILE = "workflow/predictions.csv"
COLUMNS = ["claim", "prediction"]
SEALED, NOT_PREDICTED = "predicted", "not predicted"


@dataclass(frozen=True)
class Sealed:
    """A prediction, and whether it is one.

    Attributes:
        claim: name of the finding.
        text: what was expected.
        commit: which wrote the line; empty where none has.
        written: when it was committed, ISO 8601; empty where it was not.
        status: `predicted` where the commit is an ancestor of the run's and older than the first
            step behind the claim's table, else `not predicted`.
    """

    claim: str
    text: str
    commit: str
    written: str
    status: str


def read_predictions(
    tables: Mapping[str, str], started: Mapping[str, str], commit: str, root: Path = REPOSITORY
) -> list[Sealed]:
    """The predictions of a run's tables.

    Args:
        tables: of every claim, by its name.
        started: when the first step behind a table began, ISO 8601, by table; empty where the
            records do not say.
        commit: of the code that made the run.
        root: a checkout.

    Raises:
        OnelayerError: a line names no claim, or predicts nothing.
    """
    place = root / FILE
    if not place.is_file():
        return []
    with place.open(encoding="utf-8", newline="") as file:
        # A field may hold line ends: the lines of each row are those since the one before.
        reader = csv.reader(file)
        rows, ends = [], []
        for row in reader:
            rows.append(row)
            ends.append(reader.line_num)
    if not rows or rows[0] != COLUMNS:
        raise OnelayerError(f"{FILE}: the first line is {','.join(COLUMNS)}")
    written, found = _written(root), []
    for row, begin, end in zip(rows[1:], ends, ends[1:], strict=False):
        if len(row) != len(COLUMNS) or row[0] not in tables or not row[1].strip():
            raise OnelayerError(f"{FILE}:{end}: a claim's name and what is expected of it; {row}")
        if tables[row[0]] not in started:
            continue
        newest, at = max(written[begin:end], key=lambda line: line[1])
        before = bool(newest) and _is_ancestor(newest, commit, root)
        begun = started[tables[row[0]]]
        before = before and bool(begun) and at < datetime.fromisoformat(begun).timestamp()
        when = datetime.fromtimestamp(at, UTC).isoformat() if newest else ""
        found.append(Sealed(*row, newest, when, SEALED if before else NOT_PREDICTED))
    return found


def _git(root: Path, *words: str) -> subprocess.CompletedProcess:
    return subprocess.run(["git", *words], cwd=root, capture_output=True, text=True, check=False)


def _written(root: Path) -> list[tuple[str, float]]:
    """Of each line of the file its commit and when that was made; no commit, no time: none yet."""
    blamed = _git(root, "-c", "blame.ignoreRevsFile=", "blame", "--line-porcelain", "--", FILE)
    found, commit, at = [], "", 0.0
    for line in blamed.stdout.splitlines():
        if line.startswith("\t"):
            found.append((commit, at) if commit.strip("0") else ("", float("inf")))
        elif line.startswith("committer-time "):
            at = float(line.split()[1])
        elif len(line.split(" ")[0]) == 40:
            commit = line.split(" ")[0]
    lines = len((root / FILE).read_text(encoding="utf-8").splitlines())
    return found or [("", float("inf"))] * lines


def _is_ancestor(older: str, newer: str, root: Path) -> bool:
    return _git(root, "merge-base", "--is-ancestor", older, newer).returncode == 0
