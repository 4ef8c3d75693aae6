"""What the probe needs of an architecture, for every text model that `AutoModel` opens.

The part that reads and how much it reads at once, its attention weights, and what its embedding
layer gives to its first layer, all through what transformers offers for every model:
`output_attentions` and `output_hidden_states`. What that does not say is in
`onelayer.text.models.families`.
"""

import contextlib
import math
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import torch
import transformers
from huggingface_hub.errors import StrictDataclassError
from safetensors import SafetensorError, safe_open
from torch import nn
from transformers import AutoConfig, AutoModel, PreTrainedConfig, PreTrainedModel

from onelayer.errors import OnelayerError
from onelayer.settings.block import shown
from onelayer.text.models.families import FAMILIES
from onelayer.text.models.folder import CONFIG, read_json

MOST_MODULES = 1000  # layers, experts in a layer, labels; the largest models have fewer
MOST_SIZE = 2**31
_POSITIVE = ("num_hidden_layers", "num_attention_heads", "hidden_size", "vocab_size")
_OF_MODULES = re.compile("layer|expert|block|label")
# Last names of the linear layers that make values, and of those that take all heads' to the width.
_VALUE = re.compile("(value|v)(_proj|_lin)?")
_OUTPUT = re.compile("dense|(out|o)(_proj|_lin)?")
# Models whose residual stream goes through a LayerNorm behind attention, and its last names.
_NORMED = {*FAMILIES, "mpnet", "distilbert", "xlm-roberta", "camembert"}
_NORM = re.compile("LayerNorm|(self_attn|sa)_layer_norm")


def read_config(folder: Path, source: object = None) -> PreTrainedConfig:
    """A checkpoint's `config.json`; errors name its `source`, or the folder.

    Raises:
        OnelayerError: as `read_json`; or its `model_type` is not known to transformers.
    """
    path = folder / CONFIG
    config = read_json(path, source)
    named = f"{CONFIG} of {source}" if source else path
    _check_values(config, named)
    model_type = config.get("model_type")
    if not isinstance(model_type, str) or model_type not in transformers.CONFIG_MAPPING:
        raise OnelayerError(
            f"{named}: architecture {shown(model_type)} is not known to transformers "
            f"{transformers.__version__}"
        )
    with readable(named):
        return AutoConfig.from_pretrained(folder, local_files_only=True, trust_remote_code=False)


def _check_values(config: Mapping, named: object) -> None:
    """Refuse counts by which building the model would never end; its sizes take no memory yet.

    And attention by compiled code that a repository on a hub holds, which transformers would run.
    """
    for key, value in config.items():
        if "implementation" in key and "/" in str(value):  # `owner/name`, or one for each part
            raise OnelayerError(f"{named} asks for remote code ({key}), which is refused")
        most = MOST_MODULES if _OF_MODULES.search(key) else MOST_SIZE
        if isinstance(value, int) and abs(value) > most:
            raise OnelayerError(f"{named}: {key} is {shown(value)}; at most {most} is taken")
        if isinstance(value, int) and value < 1 and key in _POSITIVE:
            raise OnelayerError(f"{named}: {key} is {shown(value)}; at least 1 is taken")


def check_architecture(folder: Path, source: object) -> None:
    """Refuse a configuration whose model the probe cannot read; needs no weights and no data.

    A model without memory for its weights (torch's meta device) reads a text of two tokens.

    Raises:
        OnelayerError: as `read_config`; or `AutoModel` opens no such model, it reads something
            else than text, or gives no attention weights.
    """
    config = read_config(folder, source)
    model = without_memory(config, source)
    if model.main_input_name != "input_ids":
        raise OnelayerError(
            f"{source}: {type(model).__name__} reads {model.main_input_name}; the probe needs a "
            "model that reads text"
        )
    ids = torch.ones((1, 2), dtype=torch.long, device="meta")
    try:
        with quiet(), torch.inference_mode():
            attention_weights(model.eval(), input_ids=ids, attention_mask=ids)
    except OnelayerError as error:
        raise OnelayerError(f"{source}: {error}") from None
    except Exception as error:  # whatever a model makes of input that it is not made for
        if "meta" in str(error):
            return  # a model that looks at values, which are not there: it is seen when it is read
        reason = " ".join(str(error).split())
        raise OnelayerError(
            f"{source}: {type(model).__name__} cannot read text alone ({reason}); the probe needs "
            "an encoder or a causal model of text"
        ) from None


def without_memory(config: PreTrainedConfig, source: object) -> PreTrainedModel:
    """The model that a configuration describes, without memory for its weights."""
    with quiet(), readable(source), torch.device("meta"):
        return AutoModel.from_config(config, attn_implementation="eager", trust_remote_code=False)


def reader(model: PreTrainedModel) -> nn.Module:
    """The part of a bare model that reads text: the encoder of an encoder-decoder, or all of it."""
    return model.get_encoder() if model.config.is_encoder_decoder else model


def longest_text(model: PreTrainedModel) -> float:
    """How many tokens a model reads at once, special ones included; inf where nothing bounds it.

    RoBERTa and its like count positions from behind the padding's id on, and say so in their
    matrix of positions.
    """
    longest = getattr(model.config, "max_position_embeddings", None) or math.inf
    longest = longest if longest > 0 else math.inf  # XLNet says -1
    for name, module in model.named_modules():
        if name.endswith("position_embeddings") and isinstance(module, nn.Embedding):
            longest -= 0 if module.padding_idx is None else module.padding_idx + 1
    return longest


def attention_weights(model: PreTrainedModel, **text: torch.Tensor) -> list[torch.Tensor]:
    """Attention weights of texts of one length, for each layer [texts, heads, queries, keys].

    The bare model is given `text`: `input_ids`, [texts, tokens], and what else it needs.

    Raises:
        OnelayerError: the model returns no attention weights for some layer (anything but
            eager attention returns none), or weights of another shape.
    """
    weights = reader(model)(output_attentions=True, **text).get("attentions") or ()
    layers, tokens = model.config.num_hidden_layers, text["input_ids"].shape[1]
    given = [layer for layer in weights if layer is not None]
    if len(weights) != layers or len(given) != layers:
        raise OnelayerError(
            f"{type(model).__name__} returned attention weights for {len(given)} of {layers} "
            f"layers (attn_implementation {model.config._attn_implementation!r}); the probe "
            "needs a model with eager attention"
        )
    if any(layer.shape[2:] != (tokens, tokens) for layer in weights):
        raise OnelayerError(
            f"{type(model).__name__} returned attention weights {list(given[0].shape)} of "
            f"{tokens} tokens; the probe needs one of every token to every token"
        )
    return given


def embedding_output(model: PreTrainedModel, ids: torch.Tensor) -> torch.Tensor:
    """Output of the embedding layer, [texts, tokens, width], for ids, [texts, tokens].

    That is what the first layer reads; of factorised embeddings what stands before their
    projection to the hidden width.

    Raises:
        OnelayerError: the model does not return the first layer's input and one hidden state for
            each layer.
    """
    family = FAMILIES.get(model.config.model_type)
    if family and family.projection:
        return model.embeddings(input_ids=ids)
    states = reader(model)(input_ids=ids, output_hidden_states=True).get("hidden_states") or ()
    layers = model.config.num_hidden_layers
    if len(states) != layers + 1:
        raise OnelayerError(
            f"{type(model).__name__} returned {len(states)} hidden states of {layers} layers; the "
            f"probe needs {layers + 1}, the first of them the embedding layer's output"
        )
    return states[0]


def projection(model: PreTrainedModel) -> tuple[torch.Tensor, torch.Tensor] | None:
    """Weight [d, e] and bias [d] that take factorised embeddings to the hidden width; None: none.

    ELECTRA projects only where the widths differ.
    """
    family = FAMILIES.get(model.config.model_type)
    module = dict(model.named_modules()).get(family.projection) if family else None
    return (module.weight, module.bias) if isinstance(module, nn.Linear) else None


def value_weights(model: PreTrainedModel) -> tuple[torch.Tensor, torch.Tensor] | None:
    """What every head of every layer does to what it attends to: W_V and W_O.

    Head h adds x W_V[h] W_O[h] to the residual stream for a token x that it attends to alone;
    biases left out. Layers that share their weights (ALBERT's) are one.

    Returns:
        [layers, heads, d, d_h] and [layers, heads, d_h, d]; None where an architecture has no
        linear layers of known names for them (GPT-2 and GPT-NeoX keep queries, keys and values
        together).
    """
    of_layers, values, heads = [], None, model.config.num_attention_heads
    for name, module in reader(model).named_modules():
        last = name.rpartition(".")[2]
        if not isinstance(module, nn.Linear):
            continue
        if _VALUE.fullmatch(last):
            values = module.weight
        elif values is not None and _OUTPUT.fullmatch(last):
            output = module.weight.T.unflatten(0, (heads, -1))
            # Several heads may share one value (grouped queries).
            each = values.unflatten(0, (-1, output.shape[1])).mT
            of_layers.append((each.repeat_interleave(heads // len(each), dim=0), output))
            values = None
    return tuple(map(torch.stack, zip(*of_layers, strict=True))) if of_layers else None


def norm_gains(model: PreTrainedModel) -> torch.Tensor | None:
    """The gain of the LayerNorm through which what attention adds goes on, [layers, d].

    Layers as of `value_weights`. None where it is not known, or no norm stands there: models that
    norm what a layer reads leave the residual stream as it is.
    """
    if model.config.model_type not in _NORMED:
        return None
    gains, attended = [], False  # the first norm after a layer's values
    for name, module in reader(model).named_modules():
        last = name.rpartition(".")[2]
        if isinstance(module, nn.Linear) and _VALUE.fullmatch(last):
            attended = True
        elif attended and isinstance(module, nn.LayerNorm) and _NORM.fullmatch(last):
            gains.append(module.weight)
            attended = False
    return torch.stack(gains)


def head_transform(folder: Path, model: PreTrainedModel) -> tuple[torch.Tensor, ...] | None:
    """The linear layer, [e, d], and LayerNorm's gain, [e], before words are predicted.

    A bare model has no such head: it is looked for among the checkpoint's weights. None: it was
    published without, or the family has none.
    """
    family, kept = FAMILIES.get(model.config.model_type), {}
    for path in sorted(folder.glob("*.safetensors")) if family else []:
        with safe_open(path, framework="pt") as file:
            for name in set(file.keys()):
                module, _, last = name.rpartition(".")
                if module in family.transform and last in ("weight", "gamma"):
                    kept[module] = file.get_tensor(name)
    return tuple(kept[name] for name in family.transform) if len(kept) == 2 else None


# How weights are loaded; what is missing among them is reported beside the model.
LOADED = {"dtype": torch.float32, "local_files_only": True}
LOADED |= {"use_safetensors": True, "output_loading_info": True}


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Silence transformers' own progress bars and load reports."""
    verbosity = transformers.logging.get_verbosity()
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    try:
        yield
    finally:
        transformers.logging.set_verbosity(verbosity)


MOST_SAID = 400  # characters of what transformers says
# What transformers raises at checkpoints that are not as it expects them.
_UNREADABLE = (
    *(OSError, ValueError, KeyError, RuntimeError, TypeError, AttributeError, ArithmeticError),
    *(IndexError, AssertionError, ImportError, StrictDataclassError),
)


@contextlib.contextmanager
def readable(source: object) -> Iterator[None]:
    """Turn transformers' long errors about a checkpoint into one line."""
    try:
        yield
    except (*_UNREADABLE, SafetensorError) as error:
        reason = " ".join(str(error).split())
        if len(reason) > MOST_SAID:
            reason = f"{reason[:MOST_SAID]}..."
        raise OnelayerError(f"{source}: transformers cannot load this model: {reason}") from error
