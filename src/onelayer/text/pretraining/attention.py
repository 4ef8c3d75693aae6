"""Fused attention that stays in float32 under autocast.

On a CPU the backward pass of torch's fused attention takes several times as long in bfloat16 as in
float32.
"""

import torch
from torch import Tensor, nn
from transformers import AttentionInterface, AttentionMaskInterface, PreTrainedModel
from transformers.integrations.sdpa_attention import sdpa_attention_forward

NAME = "sdpa_float32"


def keep_attention_in_float32(model: nn.Module) -> None:
    """Let all of transformers' models in a module attend in float32, whatever autocast says."""
    AttentionInterface.register(NAME, _attention)
    AttentionMaskInterface.register(NAME, AttentionMaskInterface()["sdpa"])
    for part in model.modules():
        if isinstance(part, PreTrainedModel):
            part.set_attn_implementation(NAME)


def _attention(
    module: nn.Module, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, **options
) -> tuple[Tensor, None]:
    with torch.autocast(query.device.type, enabled=False):
        parts = (part.float() for part in (query, key, value))
        return sdpa_attention_forward(module, *parts, mask, **options)
