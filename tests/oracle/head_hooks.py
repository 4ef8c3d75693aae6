"""Heads removed by hooks on a layer's modules, one text and one condition at a time."""

import contextlib
import math

import torch

from onelayer.papers.topic_structure.wikipedia.probe.head_removal import Condition, Questions
from onelayer.text.models.word_heads import WordModel

LAYERS = {
    "bert": ("bert.encoder.layer.{}.attention.", "self.query", "output.dense"),
    "roberta": ("roberta.encoder.layer.{}.attention.", "self.query", "output.dense"),
    "electra": ("electra.encoder.layer.{}.attention.", "self.query", "output.dense"),
    # one module, called once for each layer
    "albert": ("albert.encoder.albert_layer_groups.0.albert_layers.0.attention.", "query", "dense"),
    "bart": ("model.encoder.layers.{}.self_attn.", "q_proj", "out_proj"),
}


@contextlib.contextmanager
def removed(model: torch.nn.Module, family: str, condition: Condition):
    """Zeroed inputs of the output projection; for uniform attention, zeroed queries."""
    prefix, query, output = LAYERS[family]
    layers, heads = condition.heads.shape
    width = model.config.hidden_size // heads
    with contextlib.ExitStack() as stack:
        for layer in range(layers):
            which = query if condition.removal == "uniform" else output
            module = model.get_submodule(prefix.format(layer) + which)
            calls = iter(range(100))

            def zeroed(values: torch.Tensor, number: int, layer: int = layer) -> torch.Tensor:
                values = values.clone()
                for head in range(heads):
                    if condition.heads[layer, head] and (family != "albert" or number == layer):
                        values[..., head * width : (head + 1) * width] = 0
                return values

            if condition.removal == "uniform":
                hook = module.register_forward_hook(
                    lambda _, __, out, calls=calls, zeroed=zeroed: zeroed(out, next(calls))
                )
            else:
                hook = module.register_forward_pre_hook(
                    lambda _, args, calls=calls, zeroed=zeroed: (zeroed(args[0], next(calls)),)
                )
            stack.callback(hook.remove)
        yield


def loss_of_each_word(
    loaded: WordModel, family: str, condition: Condition, questions: Questions
) -> list[float]:
    """One text, one condition; the loss written out."""
    model, written = loaded.model, {}
    if family == "bart":
        start = model.config.decoder_start_token_id
        written["decoder_input_ids"] = torch.tensor([[start, *questions.truth[:-1]]])
    with removed(model, family, condition), torch.no_grad():
        logits = model(input_ids=torch.tensor([questions.ids]), **written).logits[0].double()
    losses = []
    for position, target in zip(questions.positions, questions.targets, strict=True):
        if family == "electra":
            chance = 1 / (1 + math.exp(-logits[position].item()))
            losses.append(-math.log(chance if target else 1 - chance))
        else:
            row = logits[position]
            losses.append(math.log(row.exp().sum().item()) - row[target].item())
    return losses
