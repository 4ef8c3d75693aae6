"""A split of a dataset on a hub: which files it is, and those files, one after the other.

Which files belong to a configuration and a split is decided by `datasets` itself, on a folder of
empty files named as those of the repository: it asks nobody, and only what is needed is downloaded.
"""

import fnmatch
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path

import datasets
from huggingface_hub.repocard import metadata_load

from onelayer.errors import OnelayerError
from onelayer.settings.block import nearest, shown
from onelayer.settings.hub import HubDataset
from onelayer.text.fetch import Repository, file_sha256

CARD = "README.md"  # its head says which files are which configuration's
MOST_NAMES = 20  # listed in an error

datasets.disable_progress_bars()


def split_files(repository: Repository, wanted: HubDataset) -> list[str]:
    """Paths inside the repository of the files of a split, in their order.

    Raises:
        OnelayerError: there is no such repository, commit, configuration, split or file; or its
            card names files elsewhere.
    """
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch).resolve() / "listing"
        for name in repository.files():
            place = folder / name
            try:
                if not place.resolve().is_relative_to(folder):
                    raise ValueError
                place.parent.mkdir(parents=True, exist_ok=True)
                place.touch()
            except (OSError, ValueError):
                raise OnelayerError(f"{repository}: no file can be named {shown(name)}") from None
        if (folder / CARD).exists():
            repository.fetch(CARD, folder / CARD)
        try:
            paths = _resolve(repository, wanted, folder, Path(scratch, "cache"))
            files = [str(Path(path).relative_to(folder)) for path in paths]
        except OnelayerError:
            raise
        except Exception as error:  # of many kinds, of YAML and what a card asks for
            reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
            raise OnelayerError(
                f"{repository}: `datasets` cannot tell its files: {reason}"
            ) from None
    patterns = wanted.files or ["*"]
    kept = [name for name in files if any(fnmatch.fnmatchcase(name, p) for p in patterns)]
    if not kept:
        raise OnelayerError(
            f"{repository}: no file of split {wanted.split} fits {', '.join(patterns)}; it has "
            f"{_listed(files)}"
        )
    return kept


def _resolve(repository: Repository, wanted: HubDataset, folder: Path, cache: Path) -> list[str]:
    card = metadata_load(folder / CARD) if (folder / CARD).exists() else None
    if "://" in json.dumps((card or {}).get("configs", ""), default=str):
        raise OnelayerError(f"{repository}: its card names files outside of it")
    names = datasets.get_dataset_config_names(str(folder))
    config = wanted.config or datasets.get_dataset_default_config_name(str(folder))
    if config not in names:
        said = f"no config '{config}'{nearest(config, names)}" if config else "give its config"
        raise OnelayerError(f"{repository}: {said}; it has {_listed(names)}")
    builder = datasets.load_dataset_builder(str(folder), config, cache_dir=str(cache))
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


def downloaded(wanted: HubDataset, folder: Path, sums: list[dict]) -> Iterator[Path]:
    """The files of a split in a folder, each there until the next; `sums` gets their SHA-256.

    Raises:
        OnelayerError: see `split_files` and `Repository.fetch`.
    """
    repository = Repository("dataset", wanted.repository)
    for name in split_files(repository, wanted):
        target = folder / Path(name).name
        repository.fetch(name, target)
        sums.append({"file": name, "sha256": file_sha256(target)})
        yield target
        target.unlink()
