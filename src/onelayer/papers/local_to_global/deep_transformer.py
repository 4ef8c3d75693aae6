"""A transformer of any depth on any number of states, for the paper's open problems.

As the paper's (one head, no biases in linear maps, no LayerNorm, ReLU, 4 d hidden units, tied
logits), with a row of the embedding per state: z_t = E[x_t] + p_t, and after attention and MLP of
every block the logits E z + b.

Shapes: R runs, B sequences, T inputs, d dimensions, S states, D blocks. Parameters by name, [R,
...]: `rows` [S, d], `wpe` [T, d], `b` [S], and of all blocks `W_Q`, `W_K`, `W_V`, `W_O` [D, d, d],
`W_1` [D, 4d, d], `W_2` [D, d, 4d].
"""

import math
from collections.abc import Mapping

import torch
from torch import Tensor
from torch.nn import functional

from onelayer.compute.ensemble import RunRandom
from onelayer.papers.local_to_global.initialisation import STD

Parameters = Mapping[str, Tensor]


def standard(random: RunRandom, T: int, d: int, S: int, depth: int) -> dict[str, Tensor]:
    """Every entry from N(0, .02^2), of W_O and W_2 from N(0, .02^2 / 2 D); b = 0."""

    def normal(name: str, *shape: int, std: float = STD) -> Tensor:
        return std * random.normal(*shape, use=f"initial {name}")

    residual = STD / math.sqrt(2 * depth)
    return {
        "rows": normal("rows", S, d),
        "wpe": normal("wpe", T, d),
        "W_Q": normal("W_Q", depth, d, d),
        "W_K": normal("W_K", depth, d, d),
        "W_V": normal("W_V", depth, d, d),
        "W_O": normal("W_O", depth, d, d, std=residual),
        "W_1": normal("W_1", depth, 4 * d, d),
        "W_2": normal("W_2", depth, d, 4 * d, std=residual),
        "b": torch.zeros(len(random.seeds), S, device=random.seeds.device),
    }


def log_probabilities(parameters: Parameters, x: Tensor) -> Tensor:
    """Log-probabilities of the next symbol, [R, B, T, S], for inputs x, int64 [R, B, T]."""
    run = torch.arange(len(x), device=x.device)[:, None, None]
    z = parameters["rows"][run, x] + parameters["wpe"][:, None]
    for block in range(parameters["W_Q"].shape[1]):
        own = {
            name: parameters[name][:, block, None].mT
            for name in ("W_Q", "W_K", "W_V", "W_O", "W_1", "W_2")
        }
        q, k, v = (z @ own[name] for name in ("W_Q", "W_K", "W_V"))
        mixed = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        z = z + mixed @ own["W_O"]
        z = z + functional.relu(z @ own["W_1"]) @ own["W_2"]
    logits = z @ parameters["rows"][:, None].mT + parameters["b"][:, None, None]
    return logits.log_softmax(dim=-1)


def losses(parameters: Parameters, x: Tensor) -> Tensor:
    """Mean cross-entropy of the next symbol, [R] (nats); x is int64 [R, B, T + 1]."""
    found = log_probabilities(parameters, x[..., :-1])
    return -found.gather(-1, x[..., 1:, None]).mean(dim=(1, 2, 3))
