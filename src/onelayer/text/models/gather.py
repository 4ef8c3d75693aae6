"""A checkpoint as four files, gathered from a hub or a folder, and checked on the way.

What cannot be probed is found from `config.json` alone, before weights are downloaded: two layers
with random weights read what the probe reads.
"""

import contextlib
import copy
import math
import shutil
from pathlib import Path

import torch
from transformers import AutoModel, PreTrainedConfig

from onelayer.errors import MissingFileError, OnelayerError
from onelayer.settings.hub import leads_out
from onelayer.text.models import checkpoints
from onelayer.text.models.tokenizer import check_pieces, existing_folder, load_tokenizer

# Weights of two layers and the embeddings:
MOST_TAKEN = 2 * 10**9
MOST_TRIED = 3 * 10**8  # of more none are made; the model is tried without values
FULL_TEXT = 1000  # tokens; attention in sparse blocks of 64 shows itself


class Folder:
    """A folder on this machine with a checkpoint's files, asked as `fetch.Repository` is."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path).expanduser()

    def __str__(self) -> str:
        return f"folder {self.path}"

    def fetch(self, file: str, target: Path) -> None:
        """Copy one file; `MissingFileError` if there is none; a link out of it is refused."""
        if not (self.path / file).is_file():
            raise MissingFileError(f"{self} holds no file {file}")
        self.check_link(file)
        shutil.copyfile(self.path / file, target)

    def check_link(self, file: str) -> None:
        """Refuse a link out of the folder."""
        if leads_out(self.path / file, self.path):
            raise OnelayerError(f"{self}: {file} is a link out of it; put the file itself there")

    def files(self) -> list[str]:
        """Names of its files."""
        return sorted(path.name for path in existing_folder(self.path).iterdir() if path.is_file())


def gather_checkpoint(source, target: Path) -> None:
    """Copy a checkpoint as `copy_checkpoint` does, and make its weights one file, float32."""
    chosen = copy_checkpoint(source, target)
    torch.manual_seed(0)  # of a pooler that was published without weights, and is never read
    model = checkpoints.load_checkpoint(target, source=source)
    if chosen != checkpoints.WEIGHTS:
        model.save_pretrained(target, max_shard_size="1TB")


def copy_checkpoint(source, target: Path) -> str:
    """Copy a checkpoint's files, each checked before the next; the weights come last.

    `source` is a `Folder` or a `Repository`. A missing `tokenizer_config.json` (BART's repository
    has none) becomes an empty one. Returns the file of weights, or the index of its shards.
    """
    (target / "tokenizer_config.json").write_text("{}\n", encoding="utf-8")
    source.fetch("config.json", target / "config.json")
    with contextlib.suppress(MissingFileError):
        source.fetch("tokenizer_config.json", target / "tokenizer_config.json")
    source.fetch("tokenizer.json", target / "tokenizer.json")
    _check_small_files(target, source)
    for chosen in checkpoints.CHOICES:
        with contextlib.suppress(MissingFileError):
            source.fetch(chosen, target / chosen)
            break
    else:
        return checkpoints.chosen_weights(source.files(), source)  # says what there is instead
    for name in checkpoints.shards(target / chosen, source):
        if name != chosen:
            source.fetch(name, target / name)
    return chosen


def check_folder(path: str | Path) -> None:
    """Refuse a folder as `gather_checkpoint` does, but for what is wrong with single weights."""
    folder = Folder(path)
    for name in folder.files():
        if name.endswith((".json", ".safetensors", ".bin")):
            folder.check_link(name)
    _check_small_files(folder.path, folder)
    checkpoints.weight_files(folder.path, folder)


def _check_small_files(folder: Path, source: object) -> None:
    check_architecture(folder, source)
    if (tokenizer := folder / "tokenizer_config.json").exists():
        checkpoints.read_json(tokenizer, source)
    tokenizer = load_tokenizer(folder, source)
    pieces = getattr(checkpoints.read_config(folder), "vocab_size", math.inf)
    check_pieces(tokenizer, pieces, source)


def check_architecture(folder: Path, source: object) -> None:
    """Refuse a `config.json` whose model the probe cannot read; needs no weights and no data.

    Two layers with random weights read a text of full length and one of two tokens: refused is
    what reads something else than text, or gives no attention weights or embeddings.
    """
    config = _of_two_layers(checkpoints.read_config(folder, source))
    outline = checkpoints.without_memory(config, source)
    name, reads = type(outline).__name__, outline.main_input_name
    if reads != "input_ids":
        raise OnelayerError(f"{source}: {name} reads {reads}; the probe needs a model of text")
    if (weights := outline.num_parameters()) > MOST_TAKEN:
        raise OnelayerError(f"{source}: {weights:,} weights in two layers; at most {MOST_TAKEN:,}")
    try:
        with checkpoints.readable(source):
            with contextlib.suppress(RuntimeError):  # that no values are there
                checkpoints.forward(outline, [5, 6])
            if weights > MOST_TRIED:
                return
            model = AutoModel.from_config(config, attn_implementation="eager", dtype=torch.float32)
            longest = int(min(checkpoints.longest_text(model.eval()), FULL_TEXT))
            checkpoints.forward(model, [5, 6] * (longest // 2))
            checkpoints.forward(model, [5, 6])
            checkpoints.word_embeddings(model, [5, 6])
    except OnelayerError as error:
        raise OnelayerError(f"{source}: {str(error).removeprefix(f'{source}: ')}") from None


def _of_two_layers(config: PreTrainedConfig) -> PreTrainedConfig:
    config = copy.deepcopy(config)
    for name in ("num_hidden_layers", "encoder_layers", "decoder_layers", "num_decoder_layers"):
        if isinstance(layers := getattr(config, name, None), int) and layers > 2:
            with contextlib.suppress(NotImplementedError, AttributeError, ValueError):
                setattr(config, name, 2)  # what counts its layers otherwise is tried whole
                for one, value in vars(config).items():  # what is said layer by layer
                    if isinstance(value, list) and len(value) == layers:
                        setattr(config, one, value[:2])
    return config
