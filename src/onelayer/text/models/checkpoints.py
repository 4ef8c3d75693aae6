"""Checkpoints of any text model: checked, loaded, read by the probe, gathered from elsewhere.

Attention weights and embeddings come by what transformers offers for every architecture. No code
that comes with a checkpoint is run. Errors, all `OnelayerError`, name the `source`. What cannot be
probed is found from `config.json` alone, before weights are downloaded.
"""

import contextlib
import json
import logging
import math
import shutil
import textwrap
import zipfile
from collections.abc import Collection, Iterator
from pathlib import Path

import torch
import transformers
from safetensors import SafetensorError, safe_open
from torch import nn
from transformers import AutoConfig, AutoModel, PreTrainedConfig, PreTrainedModel

from onelayer.errors import MissingFileError, OnelayerError
from onelayer.seeds import stable_seed
from onelayer.settings.block import shown
from onelayer.settings.hub import leads_out
from onelayer.text.models.tokenizer import check_pieces, existing_folder, load_tokenizer
from onelayer.text.untrusted import check_growth, check_size

log = logging.getLogger("onelayer")

WEIGHTS, INDEX = "model.safetensors", ".index.json"
# In transformers' order: one file before shards, safetensors before PyTorch's.
CHOICES = (WEIGHTS, f"{WEIGHTS}{INDEX}", "pytorch_model.bin", f"pytorch_model.bin{INDEX}")
_OF_WEIGHTS = (".safetensors", ".bin", ".pt", ".pth", ".ckpt", ".h5", ".msgpack", ".ot", INDEX)

# Softmax in float32 over a few hundred keys; dropout left on would show rows from .95 to 1.11.
ROW_SUM_TOLERANCE = 1e-4
SPARE_WEIGHTS = 10**8  # so many more than the files can hold do no harm
WORDS_AT_ONCE = 256  # texts of one word; all layers' states of them are held
MOST_TAKEN = 2 * 10**9  # weights of two layers and the embeddings
MOST_TRIED = 3 * 10**8  # of more none are made; the model is tried without values
FULL_TEXT = 1000  # tokens; attention in sparse blocks of 64 shows itself


def read_json(path: Path, source: object) -> dict:
    """The object in a checkpoint's JSON file, if it is bounded and asks for no remote code."""
    named = f"{path.name} of {source}"
    try:
        check_size(path, named)
        values = dict(json.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        raise OnelayerError(f"{named}: there is no such file") from None
    except (OSError, ValueError, TypeError, RecursionError) as error:
        raise OnelayerError(f"{named}: not a JSON object ({error})") from None
    if "auto_map" in values:
        raise OnelayerError(f"{named} asks for remote code (auto_map), which is refused")
    return values


def chosen_weights(names: Collection[str], source: object) -> str:
    """The file, or index of shards, that transformers reads; refused if there is none of them."""
    if chosen := next((name for name in CHOICES if name in names), None):
        return chosen
    others = ", ".join(sorted(name for name in names if name.endswith(_OF_WEIGHTS))[:3])
    raise OnelayerError(f"{source}: found {others or 'no weights'}; read are {', '.join(CHOICES)}")


def shards(chosen: Path, source: object) -> list[str]:
    """Names of the files that hold the weights: the chosen one, or those that an index names."""
    if not chosen.name.endswith(INDEX):
        return [chosen.name]
    weight_map = read_json(chosen, source).get("weight_map")
    names = list(weight_map.values()) if isinstance(weight_map, dict) else []
    if not names or any(not isinstance(name, str) or Path(name).name != name for name in names):
        raise OnelayerError(f"{chosen.name} of {source}: no map from weights to files beside it")
    return list(dict.fromkeys(names))


def weight_files(folder: Path, source: object) -> list[Path]:
    """The files that hold a checkpoint's weights; all are there, and their headers were read."""
    names = {path.name for path in folder.iterdir() if path.is_file()}
    chosen = chosen_weights(names, source)
    files = shards(folder / chosen, source)
    if missing := [name for name in files if name not in names]:
        raise OnelayerError(f"{source}: {missing[0]}, which {chosen} names, is missing")
    if left := sorted(n for n in names - {chosen, *files} if n.endswith(_OF_WEIGHTS)):
        log.info("%s: weights are read from %s; left alone: %s", source, chosen, ", ".join(left))
    for name in files:
        path, named = folder / name, f"{name} of {source}"
        try:
            if path.suffix == ".safetensors":
                with safe_open(path, framework="numpy") as file:
                    if not file.keys():
                        raise OnelayerError(f"{named}: holds no weights")
            elif zipfile.is_zipfile(path):
                with zipfile.ZipFile(path) as archive:
                    unpacked = sum(member.file_size for member in archive.infolist())
                check_growth(named, path.stat().st_size, unpacked)
        except (SafetensorError, OSError, zipfile.BadZipFile) as error:
            raise OnelayerError(f"{named}: no whole file of weights ({error})") from None
    return [folder / name for name in files]


def load_checkpoint(
    folder: str | Path, device="cpu", source: object = None, dtype: object = torch.float32
) -> PreTrainedModel:
    """Load the bare model, without heads, for probing: `eval()`, explicit attention weights.

    `dtype` "auto" leaves weights as precise as their file has them. Refused are a missing or broken
    file, a request for remote code, an unknown architecture, and weights that are missing, of
    another shape than the configuration says, or not finite.
    """
    folder = existing_folder(folder)
    source = source or f"folder {folder}"
    config = read_config(folder, source)
    held = sum(path.stat().st_size for path in weight_files(folder, source))
    if (weights := without_memory(config, source).num_parameters()) > held + SPARE_WEIGHTS:
        found = f"config.json describes {weights} weights; files of weights: {held} bytes"
        raise OnelayerError(f"{source}: {found}")
    # Mismatched sizes are refused below, by name.
    how = {"output_loading_info": True, "ignore_mismatched_sizes": True, "dtype": dtype}
    how |= {"local_files_only": True, "trust_remote_code": False, "weights_only": True}
    how |= {"config": config, "attn_implementation": "eager"}
    with readable(source):
        model, report = AutoModel.from_pretrained(folder, **how)
    # A pooler reads the last layer: published checkpoints may lack it, and nothing probes it.
    if missing := sorted(n for n in report["missing_keys"] if not n.startswith("pooler.")):
        raise OnelayerError(f"{source}: {len(missing)} weights are missing: {missing[:3]} ...")
    for name, shape, expected in report["mismatched_keys"]:
        found = f"shape {list(shape)}; the configuration says {list(expected)}"
        raise OnelayerError(f"{source}: weights of {name}: {found}")
    for name, parameter in model.named_parameters():
        if bad := int((~torch.isfinite(parameter)).sum()):
            raise OnelayerError(f"{source}: weights of {name}: {bad} are NaN or infinite")
    return model.eval().to(device)


def read_config(folder: Path, source: object) -> PreTrainedConfig:
    """A checkpoint's `config.json`; unknown models, remote code, unbounded numbers are refused."""
    values, named = read_json(folder / "config.json", source), f"config.json of {source}"
    for key, value in values.items():
        if "implementation" in key and "/" in str(value):
            raise OnelayerError(f"{named} asks for remote code ({key}), which is refused")
        most = 1000 if any(w in key for w in ("layer", "expert", "block", "label")) else 2**31
        if isinstance(value, int) and abs(value) > most:
            raise OnelayerError(f"{named}: {key} is {shown(value)}; at most {most} is taken")
    model_type = values.get("model_type")
    if not isinstance(model_type, str) or model_type not in transformers.CONFIG_MAPPING:
        version = f"transformers {transformers.__version__}"
        raise OnelayerError(f"{named}: model_type {shown(model_type)} is not known to {version}")
    with readable(named):
        config = AutoConfig.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    # BigBird's, by the same weights, as the library itself has it in short texts.
    if getattr(config, "attention_type", None) == "block_sparse":
        config.attention_type = "original_full"
    return config


def without_memory(config: PreTrainedConfig, source: object) -> PreTrainedModel:
    """The model that a configuration describes, without memory for its weights."""
    with readable(source), torch.device("meta"):
        return AutoModel.from_config(config, attn_implementation="eager").eval()


def random_model(source: Path, seed: int, **how: object) -> PreTrainedModel:
    """Initialise a model as transformers does, with a checkpoint's configuration."""
    config = read_config(source, f"folder {source}")
    torch.manual_seed(stable_seed("random checkpoint", seed))
    with readable(source):
        return AutoModel.from_config(config, trust_remote_code=False, **how).eval()


def save_checkpoint(model: PreTrainedModel, target: Path, tokenizer: Path) -> None:
    """Write `config.json` and `model.safetensors`, and the files of a tokenizer beside them."""
    with readable(target):
        model.save_pretrained(target)
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copyfile(tokenizer / name, target / name)


def reader(model: PreTrainedModel) -> nn.Module:
    """The part of a bare model that reads text: of an encoder-decoder the encoder."""
    return model.get_encoder() if model.config.is_encoder_decoder else model


def longest_text(model: PreTrainedModel) -> float:
    """How many tokens a model reads at once, special ones included; inf where nothing bounds it."""
    longest = getattr(model.config, "max_position_embeddings", None) or math.inf
    longest = longest if longest > 0 else math.inf  # XLNet says -1
    # RoBERTa and its like count positions from behind the padding's id on.
    for name, module in model.named_modules():
        if name.endswith("position_embeddings") and isinstance(module, nn.Embedding):
            longest -= 0 if module.padding_idx is None else module.padding_idx + 1
    return longest


def forward(model: PreTrainedModel, ids: list[int]) -> torch.Tensor:
    """Attention weights of one text, [layers, heads, queries, keys] float32; rows sum to 1."""
    layers, returned = model.config.num_hidden_layers, f"{type(model).__name__} returned attention"
    with torch.inference_mode():
        text = torch.tensor([ids], device=model.device)
        weights = reader(model)(input_ids=text, output_attentions=True).get("attentions") or ()
    given = [layer for layer in weights if layer is not None]
    if not len(weights) == len(given) == layers:
        found = f"{len(given)} of {layers} layers; the probe needs a model with eager attention"
        raise OnelayerError(f"{returned} weights for {found}")
    if any(layer.shape[2:] != (len(ids), len(ids)) for layer in given):
        found = f"{list(given[0].shape)} of {len(ids)} tokens; the probe needs one of each to each"
        raise OnelayerError(f"{returned} weights {found}")
    stacked = torch.stack([layer[0].float() for layer in given])
    most = max(ROW_SUM_TOLERANCE, torch.finfo(given[0].dtype).eps)
    if not (error := (stacked.sum(dim=-1) - 1).abs().max().item()) <= most:
        found = f"within {error:.2g}; at most {most:.2g} is allowed (is the model in eval mode?)"
        raise OnelayerError(f"{returned} rows that sum to 1 {found}")
    return stacked


def word_embeddings(model: PreTrainedModel, ids: list[int]) -> tuple[torch.Tensor, torch.Tensor]:
    """Raw word embeddings, and the embedding layer's output for each word alone at position 0.

    The output adds what an architecture adds before its first layer: in an encoder position 0 and
    LayerNorm, without which the mean cosine of random embeddings is about 0 and says nothing.
    Both are float64 on the CPU, [ids, width], before ALBERT's or ELECTRA's projection.
    """
    batch = torch.tensor(ids, dtype=torch.long, device=model.device)
    with torch.inference_mode():
        if len(ids) > 1:
            # Of two texts that differ in one word, the other word has one embedding, or what is
            # read stands behind a layer, which mixes words (a causal one mixes forward alone).
            texts = batch[torch.tensor([[0, 0], [0, -1], [-1, 0]])]
            same, ends, begins = _embedding_output(model, texts)
            if not (torch.equal(same[0], ends[0]) and torch.equal(same[1], begins[1])):
                found = "its first hidden state depends on the words around"
                raise OnelayerError(f"{type(model).__name__}: {found}, which the probe cannot use")
        raw = model.get_input_embeddings().weight[batch]
        # Layers cannot read no text: of no words, one is read and dropped.
        texts = batch[:, None] if ids else batch.new_zeros(1, 1)
        parts = [_embedding_output(model, part) for part in texts.split(WORDS_AT_ONCE)]
    return raw.double().cpu(), torch.cat(parts)[: len(ids), 0].double().cpu()


def _embedding_output(model: PreTrainedModel, ids: torch.Tensor) -> torch.Tensor:
    """Output of the embedding layer, [texts, tokens, width], for ids, [texts, tokens]."""
    if model.config.model_type in ("albert", "electra"):  # which project it before the first state
        return model.embeddings(input_ids=ids)
    states = reader(model)(input_ids=ids, output_hidden_states=True).get("hidden_states") or ()
    if len(states) != (needed := model.config.num_hidden_layers + 1):
        found = f"{len(states)} hidden states; the probe needs {needed}, from the embedding on"
        raise OnelayerError(f"{type(model).__name__} returned {found}")
    return states[0]


@contextlib.contextmanager
def readable(source: object) -> Iterator[None]:
    """Silence transformers' progress bars and reports; turn its long errors into one line."""
    verbosity = transformers.logging.get_verbosity()
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    try:
        yield
    except OnelayerError:
        raise
    except Exception as error:  # a checkpoint that is not as expected raises nearly every kind
        if type(error).__name__ == "UnpicklingError":  # it says how to run what is in there
            raise OnelayerError(f"{source}: its pickled weights hold more than tensors") from error
        reason = textwrap.shorten(str(error), 400, placeholder=" ...")
        found = "transformers cannot load this model or read text with it"
        raise OnelayerError(f"{source}: {found}: {reason}") from error
    finally:
        transformers.logging.set_verbosity(verbosity)


def gather_checkpoint(source, target: Path) -> None:
    """Copy a checkpoint out of a folder or a `Repository`, and make its weights one file, float32.

    A missing `tokenizer_config.json` (BART's repository has none) becomes an empty one.
    """
    (target / "tokenizer_config.json").write_text("{}\n", encoding="utf-8")
    if isinstance(source, Path):
        for file in (*check_folder(source), *existing_folder(source).glob("*.json")):
            shutil.copyfile(file, target / file.name)
        source = f"folder {source}"
    else:
        copy_checkpoint(source, target)
    torch.manual_seed(0)  # of a pooler that was published without weights, and is never read
    model = load_checkpoint(target, source=source)
    if not (target / WEIGHTS).exists():
        model.save_pretrained(target, max_shard_size="1TB")


def copy_checkpoint(source, target: Path) -> None:
    """Copy a checkpoint out of a `Repository`; each file is checked before the next comes."""
    source.fetch("config.json", target / "config.json")
    with contextlib.suppress(MissingFileError):
        source.fetch("tokenizer_config.json", target / "tokenizer_config.json")
    source.fetch("tokenizer.json", target / "tokenizer.json")
    _check_small_files(target, source)
    for chosen in CHOICES:
        with contextlib.suppress(MissingFileError):
            source.fetch(chosen, target / chosen)
            break
    else:
        chosen_weights(source.files(), source)  # says what there is instead
    for name in shards(target / chosen, source):
        if name != chosen:
            source.fetch(name, target / name)


def check_folder(path: str | Path) -> list[Path]:
    """Refuse a folder as `gather_checkpoint` does, but for single weights; its files of weights."""
    folder = existing_folder(path)
    source = f"folder {folder}"
    for file in sorted(folder.iterdir()):  # what somebody packed may hold links out of it
        if file.suffix in (".json", ".safetensors", ".bin") and leads_out(file, folder):
            found = f"{file.name} is a link out of it; put the file itself there"
            raise OnelayerError(f"{source}: {found}")
    _check_small_files(folder, source)
    return weight_files(folder, source)


def _check_small_files(folder: Path, source: object) -> None:
    check_architecture(folder, source)
    if (tokenizer := folder / "tokenizer_config.json").exists():
        read_json(tokenizer, source)
    pieces = getattr(read_config(folder, source), "vocab_size", math.inf)
    check_pieces(load_tokenizer(folder, source), pieces, source)


def check_architecture(folder: Path, source: object) -> None:
    """Refuse a `config.json` whose model reads no text, or gives no attention or embeddings.

    Tried with two layers of random weights, on a text of full length and one of two tokens.
    """
    config = read_config(folder, source)
    _keep_two_layers(config)
    outline = without_memory(config, source)
    name, reads = type(outline).__name__, outline.main_input_name
    if reads != "input_ids":
        raise OnelayerError(f"{source}: {name} reads {reads}; the probe needs a model of text")
    if (weights := outline.num_parameters()) > MOST_TAKEN:
        raise OnelayerError(f"{source}: {weights:,} weights in two layers; at most {MOST_TAKEN:,}")
    try:
        with readable(source):
            with contextlib.suppress(RuntimeError):  # that no values are there
                forward(outline, [5, 6])
            if weights > MOST_TRIED:
                return
            model = AutoModel.from_config(config, attn_implementation="eager", dtype=torch.float32)
            longest = int(min(longest_text(model.eval()), FULL_TEXT))
            forward(model, [5, 6] * (longest // 2))
            forward(model, [5, 6])
            word_embeddings(model, [5, 6])
    except OnelayerError as error:
        raise OnelayerError(f"{source}: {str(error).removeprefix(f'{source}: ')}") from None


def _keep_two_layers(config: PreTrainedConfig) -> None:
    for name in ("num_hidden_layers", "encoder_layers", "decoder_layers", "num_decoder_layers"):
        if isinstance(layers := getattr(config, name, None), int) and layers > 2:
            with contextlib.suppress(NotImplementedError, AttributeError, ValueError):
                setattr(config, name, 2)  # what counts its layers otherwise is tried whole
                for one, value in vars(config).items():  # what is said layer by layer
                    if isinstance(value, list) and len(value) == layers:
                        setattr(config, one, value[:2])
