"""A checkpoint as four files, gathered from a repository or a folder and checked on the way.

Weights as safetensors; where there are none, `pytorch_model.bin` by PyTorch's reader of tensors
alone, made safetensors at once. No code that comes with a checkpoint is ever run.
"""

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from safetensors import SafetensorError, safe_open

from onelayer.errors import MissingFileError, OnelayerError
from onelayer.fetching.unpacking import check_size
from onelayer.run.step import scratch_folder
from onelayer.settings.hub import leads_out
from onelayer.settings.models import CHECKPOINT_FILES, PICKLED_WEIGHTS
from onelayer.text.models.tokenizer import read_tokenizer

CONFIG, WEIGHTS, TOKENIZER, TOKENIZER_CONFIG = CHECKPOINT_FILES
# Endings of other pickled weights, PyTorch's and rust-bert's.
_PICKLED = (".bin", ".pt", ".pth", ".ckpt", ".pkl", ".ot")


class Source(Protocol):
    """Where a checkpoint's files come from; its text names it in errors."""

    def fetch(self, file: str, target: Path) -> None:
        """Copy one file, or raise `MissingFileError`."""

    def files(self) -> list[str]:
        """Paths of all files."""


class Folder:
    """A folder on this machine; `~` is the user's home."""

    def __init__(self, path: str) -> None:
        self.path = Path(path).expanduser()

    def __str__(self) -> str:
        return f"folder {self.path}"

    def fetch(self, file: str, target: Path) -> None:
        """As `Source`."""
        if not (self.path / file).is_file():
            raise MissingFileError(f"{self} holds no file {file}")
        self.check_link(file)
        shutil.copyfile(self.path / file, target)

    def check_link(self, file: str) -> None:
        """Refuse a link out of the folder, and name what it leads to."""
        if target := leads_out(self.path / file, self.path):
            raise OnelayerError(
                f"{self}: {file} is a link out of it, to {target}; put the file itself there"
            )

    def files(self) -> list[str]:
        """Names of its files; an `OnelayerError` where it is no folder."""
        if not self.path.is_dir():
            raise OnelayerError(f"{self} does not exist")
        return sorted(path.name for path in self.path.iterdir())


def gather_checkpoint(source: Source, target: Path) -> None:
    """Copy a checkpoint's files, each checked before the next; the weights come last.

    A missing `tokenizer_config.json` (BART's repository has none) becomes an empty one: the probe
    reads `tokenizer.json`. In place of missing safetensors comes `pytorch_model.bin`. Of a model
    that cannot be probed nothing but its configuration comes.

    Raises:
        OnelayerError: a file is missing (the line says what is there instead), is not what its
            name says, or asks for remote code; the model cannot be probed, or weights are missing.
    """
    try:
        for name, check in _CHECKS.items():
            try:
                source.fetch(name, target / name)
            except MissingFileError:
                if name == WEIGHTS:
                    _convert_pickled(source, target / name)
                elif name == TOKENIZER_CONFIG:
                    (target / name).write_text("{}\n", encoding="utf-8")
                else:
                    raise
            check(target / name, source)
    except MissingFileError:
        name_missing(source.files(), source)
        raise
    from onelayer.text.models.checkpoints import load_checkpoint  # see `_check_config`

    load_checkpoint(target, source=source)


def _convert_pickled(source: Source, weights: Path) -> None:
    with scratch_folder(weights) as scratch:
        source.fetch(PICKLED_WEIGHTS, scratch / PICKLED_WEIGHTS)
        from onelayer.text.models.checkpoints import convert_weights  # see `_check_config`

        convert_weights(scratch / PICKLED_WEIGHTS, weights, source)


def check_folders(folders: Mapping[str, str]) -> None:
    """Refuse checkpoints on this machine that cannot be probed; reads no weights.

    Paths are by the key of the settings that names them.

    Raises:
        OnelayerError: as for `gather_checkpoint`, but for single weights; names the key.
    """
    for key, path in folders.items():
        folder = Folder(path)
        try:
            name_missing(folder.files(), folder)
            for name, check in _CHECKS.items():
                if (folder.path / name).is_file():
                    folder.check_link(name)
                    check(folder.path / name, folder)
        except OnelayerError as error:
            raise OnelayerError(f"config: {key}: {error}") from None


def published_bare(folder: Path) -> str:
    """Why a checkpoint has no head that predicts words; empty where it may have one.

    An encoder-decoder needs none of its own: it writes with its word embeddings.
    """
    config = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
    name = (config.get("architectures") or [""])[0]
    bare = name.endswith("Model") and not name.endswith("HeadModel")  # as GPT2LMHeadModel
    bare = bare and not config.get("is_encoder_decoder", False)
    return f"published as a bare {name}, without a head that predicts words" if bare else ""


def _check_config(path: Path, source: Source) -> None:
    # Takes seconds, and where no configuration comes it is not needed.
    from onelayer.text.models.architecture import check_architecture

    check_architecture(path.parent, source)


def read_json(path: Path, source: object = None) -> dict:
    """The object in a checkpoint's JSON file; errors name its `source`, or its path.

    Raises:
        OnelayerError: the file is missing, too large or no such object, or asks for remote code.
    """
    named = f"{path.name} of {source}" if source else path
    check_size(path, named)
    try:
        values = dict(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError, RecursionError) as error:
        raise OnelayerError(f"{named}: not a JSON object ({error})") from None
    if "auto_map" in values:
        raise OnelayerError(f"{named} asks for remote code (auto_map), which is refused")
    return values


def _check_weights(path: Path, source: Source) -> None:
    """Read the header, which names every tensor and its place in the file."""
    try:
        with safe_open(path, framework="numpy") as file:
            names = list(file.keys())
    except (SafetensorError, OSError) as error:
        raise OnelayerError(
            f"{WEIGHTS} of {source}: not a whole safetensors file ({error})"
        ) from None
    if not names:
        raise OnelayerError(f"{WEIGHTS} of {source}: holds no weights")


# In the order in which they come: what is small and says most first.
_CHECKS = {
    CONFIG: _check_config,
    TOKENIZER_CONFIG: read_json,
    TOKENIZER: read_tokenizer,
    WEIGHTS: _check_weights,
}


def name_missing(files: list[str], source: Source) -> None:
    """Refuse a list of files that lacks what a checkpoint needs; the line says what is there."""
    hints = {
        CONFIG: "",
        WEIGHTS: _weights_instead(files, isinstance(source, Folder)),
        TOKENIZER: ": transformers' AutoTokenizer writes it with save_pretrained",
    }
    for name, hint in hints.items():
        if name not in files and not (name == WEIGHTS and PICKLED_WEIGHTS in files):
            raise OnelayerError(f"{source} holds no {name}{hint}")


def _weights_instead(files: list[str], here: bool) -> str:
    parts = sorted(name for name in files if name.endswith(".safetensors"))
    if parts:
        return f": found {', '.join(parts[:3])}; weights must be in one file"
    pickled = sorted(name for name in files if name.endswith(_PICKLED))
    if pickled:
        reason = f": found {', '.join(pickled)}, which is pickle and refused; "
        if here:
            return f"{reason}transformers writes safetensors with save_pretrained"
        return (
            f"{reason}name a commit that has safetensors (often in a pull request of the hub's "
            "conversion bot), or convert them yourself and name the folder (source: local)"
        )
    return " and no other weights"
