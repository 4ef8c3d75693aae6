"""The code of a run: every file of its commit, provable as that commit's without git.

An archive holds the files below `code/` and, in `commit.json`, what git made the commit's name of
beside their bytes: the commit as git stores it, and the modes of files that are not plain. From
these the name follows (git's own SHA-1 of blobs, trees and the commit).
"""

import hashlib
import io
import json
import subprocess
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from onelayer.errors import OnelayerError
from onelayer.report.crate.archive import LARGEST
from onelayer.report.records import commit as commit_of_checkout

COMMIT = "commit.json"
PLAIN, EXECUTABLE, LINK = "100644", "100755", "120000"


def code_of_checkout(root: Path) -> tuple[str, dict[str, bytes], bytes]:
    """The commit of a checkout, its files and their proof.

    Returns:
        The commit's name; content by path, of a link where it leads; `commit.json`.

    Raises:
        OnelayerError: there is no git repository, or its tracked files differ from the commit.
    """
    commit = commit_of_checkout(root)
    if commit is None:
        raise OnelayerError(f"{root}: no git checkout; a run is packed with the code of its commit")
    if commit.endswith("+"):
        raise OnelayerError(
            f"{root}: tracked files differ from commit {commit[:12]}: commit them, and make the "
            "run again; a run is packed with the code of its commit"
        )
    listed = [line.split(b"\t") for line in _git(root, "ls-tree", "-r", "-z", commit).split(b"\0")]
    entries = [(*about.decode().split(), path.decode()) for about, path in listed[:-1]]
    if odd := [path for mode, _, _, path in entries if mode not in (PLAIN, EXECUTABLE, LINK)]:
        raise OnelayerError(f"{root}: {odd[0]} is no file; a run is packed with the files alone")
    blobs = "\n".join(blob for _, _, blob, _ in entries)
    read = io.BytesIO(_git(root, "cat-file", "--batch", given=blobs))
    # Before each file a line that ends in its size, behind it the end of a line.
    files = {path: read.read(int(read.readline().split()[2]) + 1)[:-1] for *_, path in entries}
    modes = {path: mode for mode, _, _, path in entries if mode != PLAIN}
    text = _git(root, "cat-file", "commit", commit).decode(errors="surrogateescape")
    proof = json.dumps({"commit": text, "modes": modes}, indent=1, sort_keys=True) + "\n"
    return commit, files, proof.encode()


def _git(root: Path, *words: str, given: str = "") -> bytes:
    done = subprocess.run(["git", *words], cwd=root, input=given.encode(), capture_output=True)
    if done.returncode:
        why = done.stderr.decode(errors="replace")
        raise OnelayerError(f"{root}: git {words[0]} failed: {why}")
    return done.stdout


def proven_commit(folder: Path, proof: Path) -> tuple[str, dict[str, str]]:
    """The name of the commit that has exactly the files of a folder.

    Args:
        folder: the files; a link is a file that holds where it leads.
        proof: `commit.json`.

    Returns:
        The name, and the modes of files that are not plain.

    Raises:
        OnelayerError: the commit has other files, or a mode is of none of them.
    """
    try:
        if proof.stat().st_size > LARGEST:
            raise ValueError("too large")
        said = json.loads(proof.read_text(encoding="utf-8"))
        text = said["commit"].encode(errors="surrogateescape")
        modes = {str(path): str(mode) for path, mode in said["modes"].items()}
        tree = bytes.fromhex(text.split()[1].decode())
    except (OSError, ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError):
        raise OnelayerError(f"{proof.name}: not the commit of a run's code") from None
    if tree != _tree(folder, folder, modes):
        raise OnelayerError(f"{folder.name}/: not the files of the commit in {proof.name}")
    proven = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    if strange := sorted(modes.keys() - proven):
        raise OnelayerError(f"{proof.name}: {strange[0]} is no file of the commit")
    return _named("commit", text).hex(), modes


def _tree(folder: Path, root: Path, modes: Mapping[str, str]) -> bytes:
    """Git's name of a folder."""
    entries = []
    for path in folder.iterdir():
        if path.is_dir():
            entries.append((f"{path.name}/", "40000", _tree(path, root, modes)))
        else:
            mode = modes.get(path.relative_to(root).as_posix(), PLAIN)
            entries.append((path.name, mode, _blob(path)))
    # Git sorts folders as if their names ended in a slash.
    content = b"".join(
        f"{mode} {name.removesuffix('/')}\0".encode() + named
        for name, mode, named in sorted(entries, key=lambda entry: entry[0].encode())
    )
    return _named("tree", content)


def _blob(path: Path) -> bytes:
    """Git's name of a file, read piece by piece: a stranger's may be larger than memory."""
    begun = hashlib.sha1(f"blob {path.stat().st_size}\0".encode(), usedforsecurity=False)
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: begun).digest()


def _named(kind: str, content: bytes) -> bytes:
    header = f"{kind} {len(content)}\0".encode()
    return hashlib.sha1(header + content, usedforsecurity=False).digest()


def make_runnable(folder: Path, modes: Mapping[str, str]) -> None:
    """Give files of an unpacked checkout their modes, and make links of those that are.

    Raises:
        OnelayerError: a link leads out of the folder.
    """
    for path, mode in modes.items():
        file = folder / path
        if mode == LINK:
            target = PurePosixPath(file.read_text(encoding="utf-8"))
            if target.is_absolute() or ".." in target.parts:
                raise OnelayerError(f"{path}: a link out of its folder, to {target}")
            file.unlink()
            file.symlink_to(target)
        elif mode == EXECUTABLE:
            file.chmod(file.stat().st_mode | 0o111)
