"""Whether a run is what its steps made: of a folder and of an archive, `onelayer verify`.

Of an archive nothing is executed, and nothing is needed but this package: the sums of all files,
the chain of steps without a hole, the code that of the commit and of every step. Tables then stand
beside those of the reference run.
"""

import csv
import graphlib
import re
from collections.abc import Collection, Mapping
from pathlib import Path

from onelayer.errors import OnelayerError
from onelayer.evidence.tables import by_table
from onelayer.report.comparison import AGREE, EQUAL, MOVED, ONLY_ONE, REFERENCE, compare_runs
from onelayer.report.crate.archive import LARGEST, SUMS, check_sums, unpacked
from onelayer.report.crate.code import COMMIT, proven_commit
from onelayer.report.crate.described import Described, read_metadata
from onelayer.report.crate.metadata import CODE, METADATA
from onelayer.report.crate.predictions import SEALED
from onelayer.report.records import SHOWN, enter, read_unmade, refuse, unmade, verify_results
from onelayer.run.provenance import code_digest, file_sha256
from onelayer.settings.kept import SETTINGS, SETTINGS_SUM, kept_settings

_STEP = re.compile(r"[A-Za-z0-9_]+(:onelayer(\.\w+)+)?")
LARGEST_SOURCE = 1 << 20  # bytes of a Python file that is parsed
MOST_COLUMNS = 1000


def main(results: Path) -> str:
    """Verify a run's folder `results`, a zip of `onelayer pack`, or what it was unpacked into.

    Raises:
        OnelayerError: something is not as its step made it, or is not there; one line.
    """
    if results.is_file():
        with unpacked(results) as folder:
            return verify_unpacked(folder)
    if (results / SUMS).is_file():
        return verify_unpacked(results)
    results = enter(results)
    if (results / SETTINGS).exists() or (results / SETTINGS_SUM).exists():
        kept_settings(results)
    described = None
    if (results / METADATA).is_file():
        files = read_metadata(results / METADATA).results
        described = {path: s for path, s in files.items() if path.split("/")[1] in SHOWN}
    return verify_results(results, described)


def verify_unpacked(folder: Path) -> str:
    """Verify the files of an archive, as `main`.

    Returns:
        What holds, and how the tables stand to those of the reference run; in words. Where the
        package came without one, it is that of the archive's own code.
    """
    sums = check_sums(folder)
    described = read_metadata(folder / METADATA)
    _check_files(sums, described)
    commit = _check_code(folder, sums, described)
    _check_chain(described)
    portable = "portable" if described.portable else "not portable"
    lines = [
        f"{len(described.results)} files of {len(described.steps)} steps hold, by the code of "
        f"commit {commit[:12]}; {portable}"
    ]
    if statuses := described.predictions:
        late = sorted(claim for claim, status in statuses.items() if status != SEALED)
        none = f"; not predicted: {', '.join(late)}" if late else ""
        lines.append(f"Predictions: {len(statuses) - len(late)} of {len(statuses)}{none}")
    reference = REFERENCE if REFERENCE.is_dir() else folder / CODE / "docs/reference"
    return "\n".join([*lines, beside(folder, reference)])


def _check_files(sums: Mapping[str, str], described: Described) -> None:
    """That the metadata names every file but those of the code, and each with its sum."""
    named = {METADATA: sums.get(METADATA)} | described.files
    other = (place for place in sums if not place.startswith(f"{CODE}/") and place not in named)
    if place := min(other, default=""):
        raise OnelayerError(f"{place}: {METADATA} does not name it")
    for place, sha256 in named.items():
        if place not in sums:
            raise OnelayerError(f"{place}: {METADATA} names it, and it is not there")
        if sums[place] != sha256:
            raise OnelayerError(f"{place}: {METADATA} has sha256 {sha256}, found {sums[place]}")


def _check_code(folder: Path, sums: Mapping[str, str], described: Described) -> str:
    """That the code is the commit's, and every step ran with it; the commit."""
    root = folder / CODE
    commit, _ = proven_commit(root, folder / COMMIT)
    if commit != described.commit:
        raise OnelayerError(f"{CODE}/: of commit {commit}, {METADATA} says {described.commit}")
    if large := [p for p in root.rglob("*.py") if p.stat().st_size > LARGEST_SOURCE]:
        raise OnelayerError(f"{large[0].relative_to(folder)}: too large for a program")
    for name, code in sorted({(step["step"], step["code"]) for step in described.steps}):
        if not _STEP.fullmatch(name):
            raise OnelayerError(f"{METADATA}: {name!r} is no name of a step")
        try:
            digest = code_digest(name, root)
        except (OSError, SyntaxError, ValueError, RecursionError, MemoryError) as error:
            raise OnelayerError(f"{CODE}/: no code of {name} ({type(error).__name__})") from None
        if digest != code:
            raise OnelayerError(f"{name} ran with other code than that of commit {commit[:12]}")
    for path, sha256 in (file for step in described.steps for file in step["inputs"].items()):
        if path.startswith(f"{CODE}/") and sums.get(path) != sha256:
            raise OnelayerError(f"{path}: a step read another one than that of the commit")
    return commit


def _check_chain(described: Described) -> None:
    """That every file was made, of files that were made, and no step of what came after it."""
    records = described.records
    maker = {path: n for n, step in enumerate(described.steps) for path in step["outputs"]}
    if len(maker) < sum(len(step["outputs"]) for step in described.steps):
        raise OnelayerError(f"{METADATA}: two steps made the same file")
    before = {
        n: {maker[p] for p in s["inputs"] if p in maker} for n, s in enumerate(described.steps)
    }
    try:
        graphlib.TopologicalSorter(before).prepare()
    except graphlib.CycleError as error:
        name = described.steps[error.args[1][0]]["step"]
        raise OnelayerError(f"{METADATA}: {name} would have read what came of it") from None
    made = {p: s for step in described.steps for p, s in step["outputs"].items()}
    refuse(unmade(described.results, records) | read_unmade(made, records))


def beside(folder: Path, reference: Path) -> str:
    """How an archive's tables stand to those of the reference run, in one line.

    A table agrees where rows were compared, none moved or is in one run alone, and no verdict is
    another. The scoreboard, which restates the others, is not compared.
    """
    ours, theirs = (by_table(place.glob("tables/*/*.csv")) for place in (folder, reference))
    if not theirs:
        return "There is no reference run here to compare with"
    shared = sorted(ours.keys() & theirs.keys())
    same = [n for n in shared if file_sha256(ours[n]) == file_sha256(theirs[n])]
    rest = [n for n in shared if n not in same]
    try:
        for name in rest:  # memory would not hold any
            size = ours[name].stat().st_size
            if size > LARGEST or len(_columns(ours[name])) > MOST_COLUMNS:
                raise OnelayerError(
                    f"{ours[name]}: {size} bytes; at most {LARGEST}, and {MOST_COLUMNS} "
                    "columns, are read"
                )
        other = {n for n in rest if {*_columns(ours[n])} != {*_columns(theirs[n])}}
        compared = compare_runs([ours[n] for n in rest], [theirs[n] for n in rest])
    except (OnelayerError, ValueError, KeyError, TypeError, OverflowError, csv.Error) as error:
        said = str(error).replace(f"{folder}/", "")
        raise OnelayerError(f"tables/: not as onelayer writes tables ({said})") from None
    outcome, absent = compared["outcome"], compared[["theirs", "ours"]].isna().any(axis=1)
    not_agreeing = {
        what: {*compared.loc[rows, "table"]}
        for what, rows in (
            ("moved", outcome == MOVED),
            ("with rows that only one run has", (outcome == ONLY_ONE) | absent),
            ("with other verdicts", compared["change"] != ""),
        )
    }
    not_agreeing["with other columns"] = other
    both_have = outcome.isin([EQUAL, AGREE, MOVED])
    not_agreeing["not compared"] = {*rest} - {*compared.loc[both_have, "table"]}
    others = set().union(*not_agreeing.values())
    said = [
        f"{len(tables)} {what}{_named(tables)}" for what, tables in not_agreeing.items() if tables
    ]
    return (
        f"Beside the reference run, {len(shared)} tables: {len(same)} the same bytes, "
        f"{len(rest) - len(others)} agree{'; of the others ' if said else ''}{', '.join(said)}"
    )


def _columns(table: Path) -> list[str]:
    with table.open(encoding="utf-8", newline="") as file:
        return next(csv.reader(file), [])


def _named(tables: Collection[str]) -> str:
    return f" ({', '.join(sorted(tables)[:3])}{', ...' if len(tables) > 3 else ''})"
