"""A split of a dataset on a hub: which files it is, and those files, one after the other."""

import fnmatch
import re
from collections.abc import Collection, Iterator
from pathlib import Path, PurePosixPath

from onelayer.errors import OnelayerError
from onelayer.settings.block import nearest, shown
from onelayer.settings.hub import HubDataset
from onelayer.text.fetch import Repository, file_sha256

MOST_NAMES = 20  # listed in an error


def downloaded(wanted: HubDataset, folder: Path, sums: list[dict]) -> Iterator[Path]:
    """The files of a split in a folder, each there until the next; `sums` gets their SHA-256.

    Raises:
        OnelayerError: there is no such repository, commit, configuration, split or file; see also
            `Repository.fetch`.
    """
    repository = Repository("dataset", wanted.repository)
    for name in split_files(wanted, repository.files()):
        target = folder / PurePosixPath(name).name
        repository.fetch(name, target)
        sums.append({"file": name, "sha256": file_sha256(target)})
        yield target
        target.unlink()


def split_files(wanted: HubDataset, names: Collection[str]) -> list[str]:
    """Files of a split among those of a repository, in order of their paths.

    As datasets lie on the hub: a configuration is a folder, and the name of a split begins that of
    its files (`20231101.en/train-00000-of-00041.parquet`) or of a folder.
    """
    paths = [PurePosixPath(name) for name in sorted(names)]
    for path in paths:
        if path.is_absolute() or ".." in path.parts or not str(path).isprintable():
            raise OnelayerError(
                f"dataset {wanted.dataset}: no file can be named {shown(str(path))}"
            )
    begins = re.compile(re.escape(wanted.split) + r"(?![A-Za-z0-9])")
    folders = sorted({path.parts[0] for path in paths if len(path.parts) > 1})
    of_config = [path for path in paths if wanted.config in (None, path.parts[0])]
    kept = [path for path in of_config if any(map(begins.match, path.parts[bool(wanted.config) :]))]
    chosen = [p for p in kept if any(fnmatch.fnmatchcase(str(p), f) for f in wanted.files or ["*"])]
    fault, there = None, list(map(str, paths))
    if wanted.config and wanted.config not in folders:
        fault, there = f"no config '{wanted.config}'{nearest(wanted.config, folders)}", folders
    elif not wanted.config and len(several := {path.parent for path in kept}) > 1:
        fault, there = "give its config", sorted(map(str, several))
    elif not kept:
        fault = f"no file of a split '{wanted.split}' in config {wanted.config}"
    elif not chosen:
        fault = f"no file of split {wanted.split} fits {', '.join(wanted.files)}"
    if fault:
        more = f" and {len(there) - MOST_NAMES} more" if len(there) > MOST_NAMES else ""
        raise OnelayerError(
            f"dataset {wanted.dataset}: {fault}; it has {', '.join(there[:MOST_NAMES])}{more}"
        )
    return list(map(str, chosen))
