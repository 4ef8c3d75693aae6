"""Architecture families: what only the five of the paper have, beside what any model has.

`AutoModel` of transformers finds the class that a configuration's `model_type` names, and
`onelayer.text.models.architecture` what the probe needs of it. How a tokenizer marks words is no
part of it: a checkpoint of any family may carry any tokenizer, which says so itself
(`onelayer.text.models.tokenizer`).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import torch
from torch import nn

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
        objective: how the family was pretrained.
        embed: output of the embedding layer, [batch, tokens, width], for ids, [batch, tokens], of a
            family with factorised embeddings: before the projection to the hidden width. None:
            what the first layer reads.
        projection: the module of the bare model that projects such embeddings.
        transform: the linear layer and the LayerNorm, as checkpoints name them, between the last
            layer and the word embeddings that predict words; empty: there is none.
    """

    objective: Objective
    embed: Callable[[nn.Module, torch.Tensor], torch.Tensor] | None = None
    projection: str = ""
    transform: tuple[str, ...] = ()


def _before_projection(model: nn.Module, ids: torch.Tensor) -> torch.Tensor:
    return model.embeddings(input_ids=ids)


FAMILIES: dict[str, Family] = {
    # Devlin et al. (2019)
    "bert": Family(
        "masked-words",
        transform=("cls.predictions.transform.dense", "cls.predictions.transform.LayerNorm"),
    ),
    # Liu et al. (2019)
    "roberta": Family("masked-words-dynamic", transform=("lm_head.dense", "lm_head.layer_norm")),
    # Lan et al. (2020); embeddings factorised, layers share their weights
    "albert": Family(
        "masked-words-and-sentence-order",
        _before_projection,
        "encoder.embedding_hidden_mapping_in",
        ("predictions.dense", "predictions.LayerNorm"),
    ),
    # Clark et al. (2020); the discriminator is probed; embeddings may be factorised
    "electra": Family("replaced-tokens", _before_projection, "embeddings_project"),
    # Lewis et al. (2020); the encoder is probed
    "bart": Family("denoising"),
}
