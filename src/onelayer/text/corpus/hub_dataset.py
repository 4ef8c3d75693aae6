"""A split of a dataset on a hub: which files it is, and their rows, downloaded and checked.

Which files belong to a configuration and a split is decided by `datasets` itself, on a folder of
empty files named as those of the repository; so that nothing but `onelayer.fetching.hub`, with its
retries and its sums, asks the hub, and only the files of that split are downloaded.
"""

import errno
import fnmatch
import json
from collections.abc import Iterator
from pathlib import Path

from datasets import (
    Dataset,
    get_dataset_config_names,
    get_dataset_default_config_name,
    load_dataset_builder,
)
from datasets.exceptions import DatasetsError
from huggingface_hub.repocard import metadata_load
from yaml import YAMLError

from onelayer.errors import OnelayerError
from onelayer.fetching.hub import Repository
from onelayer.run.provenance import file_sha256
from onelayer.run.step import scratch_folder
from onelayer.settings.block import nearest, shown
from onelayer.settings.corpus import DatasetPart
from onelayer.settings.hub import HubDataset
from onelayer.text.corpus.rows import Piece, read_rows
from onelayer.text.corpus.storage import write_all

CARD = "README.md"  # its head says which files are which configuration's
# A ValueError, of what no system takes, has none.
_NO_PATH = (None, errno.ENAMETOOLONG, errno.EEXIST, errno.ENOTDIR, errno.EILSEQ)
MOST_NAMES = 20  # listed in an error


def split_files(repository: Repository, wanted: HubDataset, scratch: Path) -> list[str]:
    """Paths inside the repository of the files of a split, in their order; `scratch` is empty.

    Raises:
        OnelayerError: there is no such repository, commit, configuration, split or file; or its
            card names files elsewhere.
    """
    folder = scratch.resolve() / "listing"
    for name in repository.files():
        place = folder / name
        try:
            if not place.resolve().is_relative_to(folder):
                raise OnelayerError(f"{repository}: a file's path leads out of it: {name}")
            place.parent.mkdir(parents=True, exist_ok=True)
            place.touch()
        except (OSError, ValueError) as error:
            if getattr(error, "errno", None) not in _NO_PATH:
                raise
            raise OnelayerError(f"{repository}: no file can be named {shown(name)}") from None
    if (folder / CARD).exists():
        repository.fetch(CARD, folder / CARD)
    try:
        paths = _resolve(repository, wanted, folder, scratch / "cache")
        files = [str(Path(path).relative_to(folder)) for path in paths]
    except (DatasetsError, YAMLError, ValueError, RuntimeError, OSError) as error:
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise OnelayerError(f"{repository}: `datasets` cannot tell its files: {reason}") from None
    patterns = wanted.files or ["*"]
    kept = [name for name in files if any(fnmatch.fnmatchcase(name, p) for p in patterns)]
    if not kept:
        raise OnelayerError(
            f"{repository}: no file of split {wanted.split} fits {', '.join(patterns)}; it has "
            f"{_listed(files)}"
        )
    return kept


def _resolve(repository: Repository, wanted: HubDataset, folder: Path, cache: Path) -> list[str]:
    # The library would follow addresses of other hosts.
    card = metadata_load(folder / CARD) if (folder / CARD).exists() else None
    if "://" in json.dumps((card or {}).get("configs", ""), default=str):
        raise OnelayerError(f"{repository}: its card names files outside of it")
    names = get_dataset_config_names(str(folder))
    config = wanted.config or get_dataset_default_config_name(str(folder))
    if config is None:
        raise OnelayerError(f"{repository}: give its config; it has {_listed(names)}")
    if config not in names:
        raise OnelayerError(
            f"{repository}: no config '{config}'{nearest(config, names)}; it has {_listed(names)}"
        )
    builder = load_dataset_builder(str(folder), config, cache_dir=str(cache))
    splits = {str(split): paths for split, paths in builder.config.data_files.items()}
    if wanted.split not in splits:
        raise OnelayerError(
            f"{repository}: no split '{wanted.split}'{nearest(wanted.split, splits)} in config "
            f"{config}; it has {_listed(list(splits))}"
        )
    return splits[wanted.split]


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    return ", ".join(names[:MOST_NAMES]) + more


def fetch_rows(part: DatasetPart, path: Path) -> list[dict]:
    """Download a part of a split, file by file, and write its rows, as they are, to one Arrow file.

    Returns:
        Of each file that it comes from: `file`, `sha256`, `start` and `end` (shares of its rows).

    Raises:
        OnelayerError: see `split_files` and `Repository.fetch`; a file is not what its format
            says, or has other columns than the first.
    """
    repository = Repository("dataset", part.repository)
    sources: list[dict] = []

    def rows_of_pieces(scratch: Path) -> Iterator[Dataset]:
        files = split_files(repository, part, scratch)
        for piece in part.slices(len(files)):
            name = files[piece.file]
            with scratch_folder(scratch / "file") as folder:
                target = folder / Path(name).name
                repository.fetch(name, target)
                [(_, rows, _)] = read_rows([Piece(target, piece)], part.format, folder)
                shares = {"start": str(piece.start), "end": str(piece.end)}
                sources.append({"file": name, "sha256": file_sha256(target)} | shares)
                yield rows

    with scratch_folder(path) as scratch:
        write_all(rows_of_pieces(scratch), path, str(repository))
    return sources
