"""The manifest: for every table and figure its sum, and everything that decided its numbers."""

import json
import platform
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from onelayer.errors import OnelayerError
from onelayer.provenance import REPOSITORY, file_sha256

# What a step wrote: its record by path and sum of each output.
Records = Mapping[tuple[str, str], dict]


def read_records(paths: Iterable[Path]) -> Records:
    """Read what every step wrote about itself.

    Args:
        paths: records (settings, code digest, library versions, device, sums of inputs and
            outputs). Steps that these settings do not need any more may be among them: a record
            counts for the very bytes that it names; of two that name the same the newer one.
    """
    found: dict[tuple[str, str], dict] = {}
    for path in sorted(paths, key=lambda path: (path.stat().st_mtime_ns, path)):
        record = json.loads(path.read_text(encoding="utf-8"))
        found |= dict.fromkeys(record["outputs"].items(), record)
    return found


def build_manifest(results: Sequence[Path], records: Records) -> dict:
    """Describe every result by its sum and the steps that led to it.

    Args:
        results: files of tables and figures.
        records: as `read_records` finds them.

    Returns:
        `commit`, `platform`, and under `results` for each path its `sha256` and `steps`: the
        records of its own step and of all steps before it, nearest first.

    Raises:
        OnelayerError: a result has no record, or differs from the sum its step recorded.
    """
    recorded = dict(records.keys())
    entries = {}
    for path in sorted(map(str, results)):
        if path not in recorded:
            raise OnelayerError(f"{path}: no step recorded that it made this file")
        found = file_sha256(Path(path))
        if (path, found) not in records:
            raise OnelayerError(
                f"{path}: changed since its step wrote it: expected sha256 {recorded[path]}, "
                f"found {found}"
            )
        entries[path] = {"sha256": found, "steps": _lineage((path, found), records)}
    return {"commit": _commit(), "platform": platform.platform(), "results": entries}


def _lineage(result: tuple[str, str], records: Records) -> list[dict]:
    steps, waiting, seen = [], [result], set()
    while waiting:
        record = records.get(waiting.pop(0))
        if record is None or id(record) in seen:
            continue
        seen.add(id(record))
        kept = ("step", "settings", "code", "libraries", "device")
        steps.append({key: record[key] for key in kept})
        waiting.extend(record["inputs"].items())
    return steps


def _commit() -> str | None:
    """The checkout's commit, `+` appended where tracked files differ from it; None outside git."""
    try:
        commit, changes = (
            subprocess.run(
                ["git", *words], cwd=REPOSITORY, capture_output=True, text=True, check=True
            ).stdout.strip()
            for words in (["rev-parse", "HEAD"], ["status", "--porcelain", "--untracked-files=no"])
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return commit + ("+" if changes else "")


def verify_manifest(manifest: Path) -> int:
    """Recompute the sum of every table and figure.

    Returns:
        How many files hold.

    Raises:
        OnelayerError: files are missing or differ; the line names each with both sums.
    """
    entries = json.loads(manifest.read_text(encoding="utf-8"))["results"]
    problems = []
    for path, entry in entries.items():
        if not Path(path).is_file():
            problems.append(f"{path} is missing")
        elif (found := file_sha256(Path(path))) != entry["sha256"]:
            problems.append(f"{path}: expected sha256 {entry['sha256']}, found {found}")
    if problems:
        raise OnelayerError(
            f"{len(problems)} of {len(entries)} files differ: {'; '.join(problems)}"
        )
    return len(entries)
