"""Attention heads taken out of a model, of any architecture that attends as transformers offers.

transformers asks one function for the attention of every layer (`AttentionInterface`): here it is
one that changes what some heads give to the layer's output projection.
"""

import torch
from torch import Tensor, nn
from transformers import AttentionInterface, AttentionMaskInterface, PreTrainedModel
from transformers.integrations.sdpa_attention import sdpa_attention_forward

from onelayer.errors import OnelayerError
from onelayer.text.models.architecture import reader

NAME = "heads_removed"


class HeadSwitch:
    """The heads of the part of a model that reads text, to be switched off, for each text others.

    A model as it comes from `from_pretrained` attends through this switch from now on. One model at
    a time: the last that was given a switch is the one whose heads it has.

    Raises:
        OnelayerError: the model attends in a way of its own, not through `AttentionInterface`.
    """

    def __init__(self, model: PreTrainedModel) -> None:
        self._off: Tensor | None = None
        self._uniform: Tensor | None = None
        self._layer = 0
        part = reader(model)
        # A decoder attends through the same function, and its heads stay.
        self._modules = set(part.modules())
        part.register_forward_pre_hook(self._begin)
        AttentionInterface.register(NAME, self._attend)
        AttentionMaskInterface.register(NAME, AttentionMaskInterface()["sdpa"])
        model.set_attn_implementation(NAME)
        with torch.inference_mode():
            model(input_ids=torch.ones(1, 2, dtype=torch.long, device=model.device))
        if self._layer != (layers := model.config.num_hidden_layers):
            raise OnelayerError(
                f"{type(model).__name__} asks transformers' AttentionInterface for the attention "
                f"of {self._layer} of {layers} layers; heads can only be removed from all of them"
            )

    def switch_off(self, heads: Tensor, uniform: Tensor) -> None:
        """Switch off heads, [texts, layers, heads] bool, of every batch from now on.

        In texts that are `uniform`, [texts] bool, they give to the output projection the mean of
        all values, as of attention that is the same to all tokens; in others nothing.
        """
        self._off, self._uniform = heads, uniform.to(torch.float32)

    def _begin(self, module: nn.Module, inputs: tuple) -> None:
        self._layer = 0

    def _attend(
        self, module: nn.Module, query: Tensor, key: Tensor, value: Tensor, *mask, **options
    ) -> tuple[Tensor, None]:
        """Query, key, value: [texts, heads, tokens, d]; the output: [texts, tokens, heads, d].

        Layers are counted, since those of ALBERT are one module that is called again and again.
        """
        output, _ = sdpa_attention_forward(module, query, key, value, *mask, **options)
        if module in self._modules:
            if self._off is not None:
                off = self._off[:, self._layer, None, :, None]  # [texts, 1, heads, 1]
                instead = value.mean(dim=2) * self._uniform[:, None, None]
                output = torch.where(off, instead[:, None], output)
            self._layer += 1
        return output, None
