"""Architecture families: what the probe and the pretraining must know about each of them.

A new family is one entry of `FAMILIES` (and a tiny checkpoint in the tests). transformers' own
`AutoModel` finds the class that a configuration's `model_type` names and takes what it needs from
a checkpoint with or without task heads; an entry says the rest. How a tokenizer marks words is no
part of it: a checkpoint of any family may carry any tokenizer, which says so itself
(`onelayer.models.tokenizer`).
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import Literal

import torch
from torch import nn

from onelayer.errors import OnelayerError

Objective = Literal[
    "masked-words",
    "masked-words-dynamic",
    "masked-words-and-sentence-order",
    "replaced-tokens",
    "denoising",
]


@dataclass(frozen=True)
class Family:
    """One architecture family.

    Attributes:
        objective: how the family was pretrained; a key of
            `onelayer.pretraining.objectives.OBJECTIVES`.
        reader: the part of a bare model that reads text, whose attention weights are probed.
        embed: output of the embedding layer, [batch, tokens, width], for ids, [batch, tokens]: word
            plus position (plus token type), normalised; in a factorised family before the
            projection to the hidden width.
        longest: how many tokens a model of this configuration reads at once.
        never_probed: prefixes of weights that a published checkpoint may lack, because nothing
            that is probed depends on them.
    """

    objective: Objective
    reader: Callable[[nn.Module], nn.Module]
    embed: Callable[[nn.Module, torch.Tensor], torch.Tensor]
    longest: Callable[[object], int] = attrgetter("max_position_embeddings")
    never_probed: tuple[str, ...] = ()


def _itself(model: nn.Module) -> nn.Module:
    return model


def _embeddings_module(model: nn.Module, ids: torch.Tensor) -> torch.Tensor:
    return model.embeddings(input_ids=ids)


def _bart_encoder(model: nn.Module) -> nn.Module:
    return model.encoder


def _bart_embeddings(model: nn.Module, ids: torch.Tensor) -> torch.Tensor:
    # BART has no embeddings module; these are the first lines of its encoder's forward pass.
    encoder = model.encoder
    return encoder.layernorm_embedding(encoder.embed_tokens(ids) + encoder.embed_positions(ids))


FAMILIES: dict[str, Family] = {
    # Devlin et al. (2019)
    "bert": Family("masked-words", _itself, _embeddings_module, never_probed=("pooler.",)),
    # Liu et al. (2019); positions are counted from behind the padding's id on
    "roberta": Family(
        "masked-words-dynamic",
        _itself,
        _embeddings_module,
        longest=lambda config: config.max_position_embeddings - config.pad_token_id - 1,
        never_probed=("pooler.",),
    ),
    # Lan et al. (2020); embeddings factorised, layers share their weights
    "albert": Family(
        "masked-words-and-sentence-order", _itself, _embeddings_module, never_probed=("pooler.",)
    ),
    # Clark et al. (2020); the discriminator is probed; embeddings may be factorised
    "electra": Family("replaced-tokens", _itself, _embeddings_module),
    # Lewis et al. (2020); the encoder is probed
    "bart": Family("denoising", _bart_encoder, _bart_embeddings),
}


def family_of(model_type: str | None, source: object) -> Family:
    """The family of a configuration's `model_type`.

    Raises:
        OnelayerError: there is no such family here; the line names `source` and the known ones.
    """
    if model_type not in FAMILIES:
        raise OnelayerError(
            f"{source}: architecture {model_type!r} is not known here; known: "
            f"{', '.join(sorted(FAMILIES))}"
        )
    return FAMILIES[model_type]


def longest_text(model: nn.Module) -> int:
    """How many tokens a model can read at once, special ones included."""
    return family_of(model.config.model_type, type(model).__name__).longest(model.config)


def read_config(folder: Path) -> dict:
    """A checkpoint's `config.json`.

    Raises:
        OnelayerError: it is missing or no configuration, asks for remote code, or its family is
            not known here.
    """
    path = folder / "config.json"
    try:
        config = dict(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError) as error:
        raise OnelayerError(f"{path}: not a model configuration ({error})") from None
    if "auto_map" in config:
        raise OnelayerError(f"{path}: asks for remote code (auto_map), which is refused")
    family_of(config.get("model_type"), path)
    return config
