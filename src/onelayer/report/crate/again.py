"""A run out of an archive, made again: `onelayer again RUN.zip table_theory_gap`.

Unpacks the code of the run's commit and its settings, installs its lock, makes one table and
compares bytes. All of that is the archive's own code: it is verified first, what would run is said,
and only who agrees has it run. The same command goes on where it was.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from onelayer.errors import OnelayerError
from onelayer.report.crate.archive import unpacked
from onelayer.report.crate.code import COMMIT, make_runnable, proven_commit
from onelayer.report.crate.described import Described, read_metadata
from onelayer.report.crate.metadata import CODE, METADATA
from onelayer.report.crate.verification import verify_unpacked
from onelayer.report.records import SHOWN, seconds
from onelayer.run.provenance import file_sha256
from onelayer.settings.kept import SETTINGS

RUN = "runs/again"


def main(
    archive: Path,
    target: str | None = None,
    to: Path | None = None,
    yes: bool = False,
    no_install: bool = False,
    cores: str = "all",
) -> str:
    """What `onelayer again` says at its end: whether the bytes are the same, in one line.

    `target`: None for the table that took its steps the least time; `to`: None for a folder named
    as the archive, beside it.

    Raises:
        OnelayerError: the archive does not hold, nobody agreed, something failed, or bytes differ.
    """
    if not archive.is_file():
        raise OnelayerError(f"{archive}: there is no such archive")
    folder = (to or archive.with_name(archive.name.partition(".")[0] + "-again")).resolve()
    with unpacked(archive) as run:
        said = [verify_unpacked(run)]
        described = read_metadata(run / METADATA)
        target = target or cheapest(described)
        commands = _commands(target, no_install, cores)
        said.append(f"This runs code of the archive, in {folder / CODE}:")
        said += ["  " + " ".join(command) for command in commands]
        sys.stdout.write("\n".join(said) + "\n")
        sys.stdout.flush()
        if not yes:
            _ask()
        _put(run, folder)
    # Not this library: the archive's own is to be imported.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    for command in commands:
        if subprocess.run(command, cwd=folder / CODE, env=environment).returncode:
            raise OnelayerError(f"{target} was not made; the same command goes on where it was")
    return compared(described, folder / CODE / RUN, target)


def _ask() -> None:
    if not sys.stdin.isatty():
        raise OnelayerError("nothing was run: on a terminal it asks first; --yes says so at once")
    if input("Run it? [y/N] ").strip().lower() not in ("y", "yes"):
        raise OnelayerError("nothing was run")


def _put(run: Path, folder: Path) -> None:
    """The checkout in its folder, whole; one that is there from before must be the same."""
    _, modes = proven_commit(run / CODE, run / COMMIT)
    make_runnable(run / CODE, modes)
    if not folder.exists():
        part = folder.with_name(f".part-{folder.name}")
        shutil.rmtree(part, ignore_errors=True)
        shutil.copytree(run, part, symlinks=True)
        part.replace(folder)
    for path in [run / SETTINGS, *(run / CODE).rglob("*")]:
        copy = folder / path.relative_to(run)
        if _said(copy) != _said(path):
            raise OnelayerError(f"{copy}: not the archive's; --to names another folder")


def _said(path: Path) -> Path | bytes | None:
    """Where a link leads, what a file holds; of a folder nothing."""
    if path.is_symlink():
        return path.readlink()
    return path.read_bytes() if path.is_file() else None


def cheapest(described: Described) -> str:
    """The table whose steps took the least time together, as a file that Snakemake makes."""
    took = {}
    for path, sha256 in described.results.items():
        if path.startswith("results/tables/") and path.endswith(".csv"):
            steps = described.records.before({path: sha256})
            took[path] = sum(map(seconds, steps)), len(steps), path
    if not took:
        raise OnelayerError("the archive has no table; name a target")
    return min(took, key=took.get)


def _commands(target: str, no_install: bool, cores: str) -> list[list[str]]:
    python = sys.executable if no_install else ".venv/bin/python"
    snakemake = [python, "-m", "snakemake", "--directory", RUN, "--cores", cores]
    snakemake += ["--configfile", f"../{SETTINGS}", "--", target]
    install = [] if no_install else [["make", "install", f"PYTHON={sys.executable}"]]
    return [*install, snakemake]


def compared(described: Described, made: Path, target: str) -> str:
    """Whether what was made has the archive's bytes, in one line.

    Raises:
        OnelayerError: it has not; the line names the first file, and what may be the reason.
    """
    files = {
        path: made / path
        for path in described.results
        if path.split("/")[1] in SHOWN and (made / path).is_file()
    }
    if not files:
        raise OnelayerError(f"{target}: nothing was made that the archive has")
    other = [path for path, file in files.items() if file_sha256(file) != described.results[path]]
    if not other:
        return f"The same bytes: {len(files)} files of {target} are the archive's"
    reason = "the run is portable, and its bytes should be the same"
    if not described.portable:
        reason = "the run was not portable: other processors round otherwise, docs/bytes.md"
    raise OnelayerError(f"not the same bytes: {len(other)} of {len(files)}, {other[0]}; {reason}")
