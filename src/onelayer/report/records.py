"""What steps wrote about themselves, and whether the files of a run are what they made.

A step's record has the sum of each of its inputs and outputs. Nothing is taken for a result of this
project unless a record names its very bytes, and the bytes of all that its step has read.
"""

import contextlib
import json
import os
import shlex
import subprocess
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from onelayer.errors import OnelayerError
from onelayer.run.provenance import REPOSITORY, file_sha256

# Folders of what a reader takes along; each of their files is made by a step.
SHOWN = ("tables", "figures", "animations")
NAMED = 10  # files in one line
# Steps that compute as on other machines, by switches of their own, in a portable run as well.
OTHER_MACHINES = ("measure_claims_again",)
RECORDED = ("step", "settings", "code", "libraries", "device", "portable", "switches", "started")
RECORDED += ("ended", "inputs", "outputs", "warnings")


@dataclass
class Records:
    """What steps wrote about themselves.

    Attributes:
        folder: the run's `results`: steps made every file in it, those elsewhere are sources.
        steps: the record (settings, code digest, library versions, device, sums of inputs and
            outputs) by path and sum of each output. Steps that these settings do not need any more
            may be among them: a record counts for the very bytes that it names; of two that name
            the same the newer one.
        newest: the sum in the newest record of each path.
    """

    folder: Path
    steps: dict[tuple[str, str], dict] = field(default_factory=dict)
    newest: dict[str, str] = field(default_factory=dict)

    def add(self, record: dict) -> None:
        """Take a record that is newer than all so far; `KeyError` where it lacks a part."""
        earlier = {"portable": False, "switches": {}, "started": "", "ended": "", "warnings": []}
        record = {key: (earlier | record)[key] for key in RECORDED}
        self.steps |= dict.fromkeys(record["outputs"].items(), record)
        self.newest |= record["outputs"]

    def refusal(self, path: str, sha256: str, reader: str = "") -> str | None:
        """Why a file of this SHA-256, now or when `reader` read it, is not what a step wrote."""
        if (path, sha256) in self.steps:
            return None
        if path in self.newest:
            expected = self.newest[path]
            step = self.steps[path, expected]["step"]
            seen = f"{reader} read" if reader else "found"
            return f"{path}: not what {step} wrote: expected sha256 {expected}, {seen} {sha256}"
        if Path(path).is_relative_to(self.folder):
            return f"{path}: no step recorded that it made this file"
        return None

    def made_since(self, path: str, reader: Mapping) -> bool:
        """Whether a step made a file again after `reader` began, which then read earlier bytes."""
        newest = self.steps.get((path, self.newest.get(path, "")))
        return newest is not None and newest["started"] > reader["started"]

    def before(self, sums: Mapping[str, str]) -> list[dict]:
        """The records of files' own steps and of all steps before, each once, nearest first."""
        steps, waiting = {}, deque(sums.items())
        while waiting:
            record = self.steps.get(waiting.popleft())
            if record is not None and id(record) not in steps:
                steps[id(record)] = record
                waiting.extend(record["inputs"].items())
        return [*steps.values()]


def enter(results: Path) -> Path:
    """Go where a run's files have the names that its records know; its `results`, from there.

    Raises:
        OnelayerError: there is no such folder.
    """
    results = results.resolve()
    if not results.is_dir():
        raise OnelayerError(f"{results}: there is no such folder of results")
    os.chdir(results.parent)
    return Path(results.name)


def read_records(results: Path) -> Records:
    """Read what every step of a run's folder `results` wrote about itself.

    Raises:
        OnelayerError: a record is broken.
    """
    texts = []
    for path in (results / "records").rglob("[!.]*.json"):
        with contextlib.suppress(FileNotFoundError):  # Snakemake has just begun its step again
            texts.append((path.stat().st_mtime_ns, path, path.read_bytes()))
    records = Records(results)
    for _, path, text in sorted(texts):
        try:
            records.add(json.loads(text))
        except (ValueError, KeyError, TypeError, AttributeError):
            raise OnelayerError(
                f"{path}: not what a step writes about itself; remove it, and `verify` names the "
                "files that it was about"
            ) from None
    return records


def steps_behind(sums: Mapping[str, str], records: Records) -> list[dict]:
    """`Records.before` of files by their SHA-256, once all of them are what steps wrote.

    Raises:
        OnelayerError: a file, or what a step before it has read, is not what its step wrote.
    """
    refuse(unmade(sums, records) | read_unmade(sums, records))
    return records.before(sums)


def seconds(step: Mapping) -> float:
    """How long a step took; 0 where its record does not say."""
    try:
        began, ended = (datetime.fromisoformat(step[moment]) for moment in ("started", "ended"))
        return (ended - began).total_seconds()
    except (ValueError, TypeError):
        return 0.0


def is_portable(steps: Sequence[Mapping]) -> bool:
    """Whether all steps were portable, but those that measure other machines."""
    of_here = [step for step in steps if step["step"] not in OTHER_MACHINES]
    return bool(of_here) and all(step["portable"] for step in of_here)


def shown_files(results: Path) -> set[str]:
    """Every file of a table, figure or animation, made by a step or not."""
    paths = (path for kind in SHOWN for path in (results / kind).rglob("[!.]*"))
    return {str(path) for path in paths if path.is_file()}


def verify_results(results: Path, described: Mapping[str, str] | None) -> str:
    """Compare every file that steps made with their records, and what the crate says with both.

    Args:
        results: a run's folder.
        described: SHA-256 of the files of tables and figures in the crate's metadata; None where a
            run of some targets has none, and the records alone speak of every table and figure.

    Returns:
        What holds, in words. Of files that led to tables and figures, those that only another user
        may read are counted: of them the records speak.

    Raises:
        OnelayerError: tables or figures are missing or there are none, or a file, or one that was
            read on the way to them, is not what its step wrote; the line names each with its step,
            both sums, and what makes it again.
    """
    records = read_records(results)
    kept = {path for path in records.newest if Path(path).is_file()}
    shown = shown_files(results)
    closed = {path for path in kept - shown if not os.access(path, os.R_OK)}
    sums = {path: file_sha256(Path(path)) for path in sorted((kept | shown) - closed)}
    # What earlier settings left behind has been made, but perhaps not from what is here now: what
    # it read was made again since, or the crate does not name it.
    whys, differences = unmade(sums, records), []
    if described is not None:
        whys = read_unmade(described, records) | whys
        differences = [
            f"{path}: the crate has sha256 {sha256}, found {sums.get(path, 'no file')}"
            for path, sha256 in described.items()
            if sums.get(path) != sha256 and path not in whys
        ]
        if not differences:  # findings and index then speak of the same tables
            last = {path: sha256 for path, sha256 in sums.items() if Path(path).parent == results}
            whys = read_unmade(last, records) | whys
    else:
        of_shown = {path: sums[path] for path in shown}
        whys = read_unmade(of_shown, records, left_behind=True) | missing(results, records) | whys
        if not shown:
            differences = [f"{results}: no tables and no figures here"]
    refuse(whys, differences)
    unseen = f"; {len(closed)} more may not be read" if closed else ""
    if described is None:
        if old := [path for path in shown if read_unmade({path: sums[path]}, records)]:
            unseen += f"; {len(old)} of them of earlier settings, made of what was made again since"
        unseen += "; a part of a run: the command for all results describes it as a crate"
    before = len(sums) - len(shown)
    return f"{len(shown)} tables and figures hold, and {before} files that led to them{unseen}"


def unmade(sums: Mapping[str, str], records: Records) -> dict[str, str]:
    """Which files are not what a step wrote, and why."""
    whys = ((path, records.refusal(path, sha256)) for path, sha256 in sums.items())
    return {path: why for path, why in whys if why}


def missing(results: Path, records: Records) -> dict[str, str]:
    """Which tables, figures and animations steps recorded that they made, and are not there."""
    return {
        path: f"{path}: {records.steps[path, sha256]['step']} made it, and it is not there"
        for path, sha256 in records.newest.items()
        if any(Path(path).is_relative_to(results / kind) for kind in SHOWN)
        and not Path(path).is_file()
    }


def read_unmade(
    sums: Mapping[str, str], records: Records, left_behind: bool = False
) -> dict[str, str]:
    """The same of what was read by the steps of these files and by those before them.

    With `left_behind` a step of earlier settings may have read what was made again since.
    """
    whys = {}
    for record in records.before(sums):
        for source, read in record["inputs"].items():
            if left_behind and records.made_since(source, record):
                continue
            if why := records.refusal(source, read, record["step"]):
                whys[source] = why
    return whys


def refuse(whys: Mapping[str, str], differences: Sequence[str] = ()) -> None:
    """Say what does not hold, and what makes it again, in one line; nothing if all holds."""
    lines = [*whys.values(), *differences]
    if not lines:
        return
    more = f"; and {len(lines) - NAMED} more" if len(lines) > NAMED else ""
    forced = f"--forcerun {shlex.join(whys)}" if len(whys) <= NAMED else "--forceall"
    advice = f". The command that made them does so again with {forced}" if whys else ""
    raise OnelayerError(f"{'; '.join(lines[:NAMED])}{more}{advice}")


def commit(root: Path | None = None) -> str | None:
    """The checkout's commit, `+` appended where tracked files differ from it; None outside git."""
    root = root or REPOSITORY
    if not (root / ".git").exists():  # a repository around it has another project's commit
        return None
    try:
        commit, changes = (
            subprocess.run(
                ["git", *words], cwd=root, capture_output=True, text=True, check=True
            ).stdout.strip()
            for words in (["rev-parse", "HEAD"], ["status", "--porcelain", "--untracked-files=no"])
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return commit + ("+" if changes else "")
