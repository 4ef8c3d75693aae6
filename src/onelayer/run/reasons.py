"""Why a step runs again: what its record says beside the command that would run now."""

import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from onelayer.run.provenance import REPOSITORY, code_closure, code_digest, library_versions

MOST = 4


def reason(command: str, outputs: Sequence[str]) -> str:
    """In one line which settings, what code or which libraries changed since the step's record.

    `command` has the step's `--settings`; the record is among its `outputs`.

    Returns:
        `not made yet`, what changed (`lda.topics: 50 -> 20`, `its code (scripts/fit_lda.py)`), or
        nothing where no such thing did: then what it reads is another, or an output is not there.
    """
    records = [path for path in map(Path, outputs) if path.parts[:2] == ("results", "records")]
    if not records or not records[0].is_file():
        return "not made yet"
    before = json.loads(records[0].read_text(encoding="utf-8"))
    words = shlex.split(command)
    old, new = (
        dict(_leaves(settings))
        for settings in (before["settings"], json.loads(words[words.index("--settings") + 1]))
    )
    # A record has the defaults of what its step validated, a command only what is handed on.
    changed = [
        f"{key}: {_shown(old, key)} -> {_shown(new, key)}"
        for key in new
        if old.get(key) != new[key]
    ]
    changed += [f"{key}: {_shown(old, key)} -> nothing" for key in old if _list_item(key, new, old)]
    if before["code"] != code_digest(before["step"]):
        changed.append(f"its code{_edited(before['step'], records[0])}")
    if before["libraries"] != (now := library_versions(before["step"])):
        gone = set(before["libraries"].split(", ")) ^ set(now.split(", "))
        changed.append(f"libraries: {', '.join(sorted(gone))}")
    if before["portable"] != ("--portable" in words):
        changed.append(f"portable: {before['portable']} -> {not before['portable']}")
    return _listed(changed)


def _edited(step: str, record: Path) -> str:
    """Which files of a step's code are younger than its record, in brackets, if any are.

    The record has one digest of them all; after a new checkout all are younger.
    """
    made = record.stat().st_mtime
    changed = [path for path in code_closure(step) if (REPOSITORY / path).stat().st_mtime > made]
    return f" ({_listed(changed)})" if changed else ""


def _listed(paths: Sequence[str]) -> str:
    more = [f"and {len(paths) - MOST} more"] if len(paths) > MOST else []
    return ", ".join([*paths[:MOST], *more])


def _leaves(value: object, key: str = "") -> Iterator[tuple[str, object]]:
    """Every value of nested settings, by its path; items of lists count from 1."""
    if isinstance(value, Mapping) or (isinstance(value, list) and value):
        items = value.items() if isinstance(value, Mapping) else enumerate(value, 1)
        for name, value in items:
            yield from _leaves(value, f"{key}.{name}" if key else str(name))
    else:
        yield key, value


def _list_item(key: str, new: Mapping[str, object], old: Mapping[str, object]) -> bool:
    """Whether a value is missing because the list that it stood in is shorter."""
    place, _, last = key.rpartition(".")
    return key not in new and last.isdigit() and f"{place}.1" in (new.keys() & old.keys())


def _shown(values: Mapping[str, object], key: str) -> str:
    return json.dumps(values[key]) if key in values else "nothing"
