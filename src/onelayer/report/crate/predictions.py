"""Predictions, each with the commit that wrote it down: sealed where that is older than the run.

`workflow/predictions.csv` has a line for each: the claim's name (`onelayer.papers.findings`) and
what is expected, in words. A line counts as written by the commit that last changed it, so that one
that was changed after the run is no prediction of it.
"""

import csv
import itertools
import re
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
# Of each line that git blames its commit and when that was made; the line itself follows a tab.
_BLAMED = re.compile(r"^([0-9a-f]{40}) .*?^committer-time (\d+)$.*?^\t", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Sealed:
    """A prediction, and whether it is one.

    Attributes:
        claim, text: the finding's name, and what was expected.
        commit, written: which wrote the line, and when, ISO 8601; empty where none has.
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
    """The predictions of a run, made by the code of a commit, in a checkout.

    Args:
        tables: of every claim, by its name.
        started: when the first step behind a table began, ISO 8601, by table; empty where the
            records do not say.

    Raises:
        OnelayerError: a line names no claim, or predicts nothing.
    """
    place = root / FILE
    if not place.is_file():
        return []
    with place.open(encoding="utf-8", newline="") as file:
        # A field may hold line ends: the lines of each row are those since the one before.
        reader = csv.reader(file)
        rows = [(row, reader.line_num) for row in reader]
    if not rows or rows[0][0] != COLUMNS:
        raise OnelayerError(f"{FILE}: the first line is {','.join(COLUMNS)}")
    written, sealed = _written(root), []
    for (_, begin), (row, end) in itertools.pairwise(rows):
        if len(row) != len(COLUMNS) or row[0] not in tables or not row[1].strip():
            raise OnelayerError(f"{FILE}:{end}: a claim's name and what is expected of it; {row}")
        begun = started.get(tables[row[0]])
        if begun is None:
            continue
        newest, at = max(written[begin:end], key=lambda line: line[1])
        before = bool(newest) and _is_ancestor(newest, commit, root)
        before = before and bool(begun) and at < datetime.fromisoformat(begun).timestamp()
        when = datetime.fromtimestamp(at, UTC).isoformat() if newest else ""
        sealed.append(Sealed(*row, newest, when, SEALED if before else NOT_PREDICTED))
    return sealed


def _git(root: Path, *words: str) -> subprocess.CompletedProcess:
    return subprocess.run(["git", *words], cwd=root, capture_output=True, text=True, check=False)


def _written(root: Path) -> list[tuple[str, float]]:
    """Of each line of the file its commit and when that was made; no commit, no time: none yet."""
    blamed = _git(root, "-c", "blame.ignoreRevsFile=", "blame", "--line-porcelain", "--", FILE)
    lines = len((root / FILE).read_text(encoding="utf-8").splitlines())
    blames = _BLAMED.findall(blamed.stdout) or [("", "")] * lines
    return [(c, float(at)) if c.strip("0") else ("", float("inf")) for c, at in blames]


def _is_ancestor(older: str, newer: str, root: Path) -> bool:
    return _git(root, "merge-base", "--is-ancestor", older, newer).returncode == 0
