"""A split of a dataset on a hub: which files it is, and those files, one after the other.

`datasets` itself decides, on a folder of empty files named as the repository's: only what is needed
is downloaded.
"""

import fnmatch
import json
import tempfile
import textwrap
from collections.abc import Iterator
from pathlib import Path

import datasets
from huggingface_hub.repocard import metadata_load

from onelayer.errors import OnelayerError
from onelayer.settings.block import shown
from onelayer.settings.hub import HubDataset
from onelayer.text.fetch import Repository

CARD = "README.md"  # its head says which files are which configuration's

datasets.disable_progress_bars()


def split_files(repository: Repository, wanted: HubDataset) -> list[str]:
    """Paths inside the repository of the files of a split, in their order.

    An OnelayerError says what is not there, or that its card names files elsewhere.
    """
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch).resolve() / "listing"
        try:
            for name in repository.files():
                place = folder / name
                if "\0" in name or not place.resolve().is_relative_to(folder):
                    raise ValueError(f"no file can be named {shown(name)}")
                place.parent.mkdir(parents=True, exist_ok=True)
                place.touch()
            if (card := folder / CARD).exists():
                repository.fetch(CARD, card)
                if "://" in json.dumps((metadata_load(card) or {}).get("configs"), default=str):
                    raise ValueError("its card names files outside of it")
            cache = str(Path(scratch, "cache"))
            builder = datasets.load_dataset_builder(str(folder), wanted.config, cache_dir=cache)
            splits = {str(split): paths for split, paths in builder.config.data_files.items()}
            if wanted.split not in splits:
                raise ValueError(f"no split {shown(wanted.split)}; it has {', '.join(splits)}")
            files = [str(Path(path).relative_to(folder)) for path in splits[wanted.split]]
        except OnelayerError:
            raise
        except Exception as error:  # of many kinds, of YAML and what a card asks for
            reason = textwrap.shorten(str(error), 1000, placeholder=" ...") or type(error).__name__
            raise OnelayerError(f"{repository}: cannot tell its files: {reason}") from None
    if kept := [name for name in files if any(fnmatch.fnmatchcase(name, p) for p in wanted.files)]:
        return kept
    problem = f"no file of split {wanted.split} fits {', '.join(wanted.files)}"
    found = textwrap.shorten(", ".join(files), 1000, placeholder=" ...")
    raise OnelayerError(f"{repository}: {problem}; it has {found}")


def downloaded(wanted: HubDataset, folder: Path) -> Iterator[Path]:
    """The files of a split in a folder, each there until the next."""
    repository = Repository("dataset", wanted.repository)
    for name in split_files(repository, wanted):
        target = folder / Path(name).name
        repository.fetch(name, target)
        yield target
        target.unlink()
