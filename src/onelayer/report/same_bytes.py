"""Does a portable run have the bytes of another processor? `onelayer same-bytes results`.

`docs/reference/sums.json` has the SHA-256 of all that the steps of `make same-bytes` write, in the
order of the workflow, with processor, libraries and switches. Judged are tables (CSV) and weights
(safetensors), whose files have to be what the records say; the files before them say which step was
the first to differ.
"""

import graphlib
import json
import platform
import sys
from collections.abc import Mapping
from pathlib import Path

from onelayer.errors import OnelayerError
from onelayer.report.comparison import REFERENCE, SUMS
from onelayer.report.records import commit
from onelayer.report.reference import machine
from onelayer.run.portable import SWITCHES
from onelayer.run.provenance import file_sha256

JUDGED = (".csv", ".safetensors")


def sums_of(results: Path) -> dict:
    """What `sums.json` holds of a run.

    Args:
        results: its folder `results`.

    Returns:
        `commit`, `machine` (with `libc`), `switches`, and `steps`: for each step, in the order of
        the workflow, its `name` with wildcards, the digest of its `code`, and its `outputs`.

    Raises:
        OnelayerError: there is no step, or one that is not portable, or a table or weights are not
            there or not what its step wrote.
    """
    steps = in_order(_records(results))
    if not steps:
        raise OnelayerError(f"{results}: no steps' records here; `make same-bytes` makes them")
    if other := [name for name, record in steps.items() if not record.get("portable")]:
        why = f"{other[0]} was not portable: make it with `portable: true`"
        raise OnelayerError(f"{results}: {why}")
    for name, record in steps.items():
        for path, sha256 in record["outputs"].items():
            if path.endswith(JUDGED):
                _check_file(results.resolve().parent / path, f"{path}: {name}", sha256)
    return {
        "commit": commit(),
        "machine": machine() | {"libc": " ".join(platform.libc_ver())},
        "switches": dict(SWITCHES),
        "steps": [
            {"name": name, "code": record["code"], "outputs": record["outputs"]}
            for name, record in steps.items()
        ],
    }


def _check_file(file: Path, wrote: str, sha256: str) -> None:
    """That a file is there, as its step wrote it: records alone are no bytes."""
    if not file.is_file():
        raise OnelayerError(f"{wrote} made it, and it is not there; `make same-bytes` makes it")
    if (sha256_now := file_sha256(file)) != sha256:
        again = "remove it, and `make same-bytes` makes it again"
        raise OnelayerError(f"{wrote} wrote sha256 {sha256}, found {sha256_now}; {again}")


def _records(results: Path) -> dict[str, dict]:
    """The record of each step, under its name and wildcards, with what no other has made since."""
    folder = results / "records"
    records, newest = {}, {}
    for path in sorted(folder.rglob("[!.]*.json"), key=lambda path: path.stat().st_mtime):
        name = " ".join(path.relative_to(folder).with_suffix("").parts)
        records[name] = json.loads(path.read_text("utf-8"))
        newest |= dict.fromkeys(records[name]["outputs"], name)
    for name, record in records.items():
        record["outputs"] = {p: s for p, s in record["outputs"].items() if newest[p] == name}
    return {name: records[name] for name in sorted(set(newest.values()))}


def in_order(records: Mapping[str, Mapping]) -> dict[str, Mapping]:
    """Steps by name, each behind those whose outputs it reads."""
    maker = {path: name for name, record in records.items() for path in record["outputs"]}
    before = {
        name: [maker[path] for path in record["inputs"] if maker.get(path, name) != name]
        for name, record in records.items()
    }
    return {name: records[name] for name in graphlib.TopologicalSorter(before).static_order()}


def compare_sums(ours: Mapping, theirs: Mapping) -> tuple[bool, str]:
    """Whether tables and weights of two `sums_of` are equal, and what a user reads."""
    mine = {path: sha for step in ours["steps"] for path, sha in step["outputs"].items()}
    theirs_of = {path: sha for step in theirs["steps"] for path, sha in step["outputs"].items()}
    promised = [path for path in theirs_of if path.endswith(JUDGED)]
    other = [path for path in promised if mine.get(path) != theirs_of[path]]
    there = f"{theirs['machine']['cpu']}, commit {(theirs['commit'] or 'unknown')[:12]}"
    if not other:
        return True, f"Equal to the byte: {len(promised)} tables and weights, as made on {there}"
    first = next(s for s in theirs["steps"] if s["outputs"].items() - mine.items())
    lines = [f"Not equal: {len(other)} of {len(promised)} tables and weights differ"]
    lines += [f"The first step whose outputs differ is {first['name']}:"]
    lines += [
        f"  {path}: here {mine.get(path, 'no file')[:12]}, there {sha[:12]}"
        for path, sha in first["outputs"].items()
        if mine.get(path) != sha
    ]
    code = {step["name"]: step["code"] for step in ours["steps"]}
    if code.get(first["name"], first["code"]) != first["code"]:
        lines.append("  Its code is another than that of the sums.")
    for where, run in (("here", ours), ("there", theirs)):
        lines.append(f"{where}: " + "; ".join(f"{k} {v}" for k, v in run["machine"].items()))
    return False, "\n".join(lines)


def main(results: Path, place: Path = REFERENCE / SUMS, keep: bool = False) -> str:
    """Compare a run with the sums that are kept at `place`, or keep its sums.

    Raises:
        OnelayerError: the bytes differ, no sums are kept, or as `sums_of`.
    """
    ours = sums_of(results)
    if not keep and not place.is_file():
        raise OnelayerError(f"{place}: no sums are kept yet; `make same-bytes KEEP_SUMS=1` does")
    theirs = json.loads(place.read_text("utf-8")) if place.is_file() else {}
    if keep:
        place.write_text(json.dumps(theirs | ours, indent=1) + "\n", encoding="utf-8")
        return f"{place}: sums of {len(ours['steps'])} steps"
    equal, text = compare_sums(ours, theirs)
    if not equal:
        first, _, more = text.partition("\n")
        sys.stdout.write(f"{more}\n")
        raise OnelayerError(first)
    return f"\n{text}"
