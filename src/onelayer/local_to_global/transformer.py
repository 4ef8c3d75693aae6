"""The paper's one-layer transformer on binary sequences, every run of an ensemble at once.

One head, no biases in linear maps, a ReLU layer of 4 d hidden units, a residual stream. A symbol is
a scalar x in {0, 1} that multiplies one embedding vector: z_t = x_t e + p_t. The logit of the next
symbol being 1 is <e, z> + b, with the same e (tied). Variants for the ablation: two embedding rows
(z_t = row of x_t + p_t, logit <row_1 - row_0, z> + b), and the LayerNorms of a GPT block.

Shapes: R runs, B sequences, T inputs each, d dimensions. Parameters by name, float [R, ...]:
`e` [d] (two rows: `rows` [2, d]), `wpe` [T, d], `W_Q`, `W_K`, `W_V`, `W_O` [d, d], `W_1` [4d, d],
`W_2` [d, 4d], `b` []; with LayerNorm also its gains `ln_attention`, `ln_mlp`, `ln_final` [d].
"""

from collections.abc import Mapping

import torch
from torch import Tensor
from torch.nn import functional

from onelayer.local_to_global.attention import attention
from onelayer.settings.local_to_global import Chain

Parameters = Mapping[str, Tensor]


def losses(parameters: Parameters, x: Tensor) -> Tensor:
    """Mean cross-entropy of the next symbol, [R] (nats); x is bool [R, B, T + 1]."""
    scores = logits(parameters, x[..., :-1])
    target = x[..., 1:].to(scores.dtype)
    surprise = functional.binary_cross_entropy_with_logits(scores, target, reduction="none")
    return surprise.mean(dim=(1, 2))


def population_losses(parameters: Parameters, x: Tensor, chain: Chain) -> Tensor:
    """The expected loss of each run, [R] (nats), estimated on inputs x, bool [R, B, T].

    Next symbols are averaged out by the chain's own probabilities, and the two current symbols
    weighted by the stationary law, so that the unigram and the bigram model have exactly their
    entropies; what is left of the noise comes from the pasts.
    """
    scores = logits(parameters, x)
    chance = chain.p + (1 - chain.q - chain.p) * x.to(scores.dtype)
    surprise = functional.binary_cross_entropy_with_logits(scores, chance, reduction="none")
    ones = (surprise * x).sum(dim=(1, 2)) / x.sum(dim=(1, 2))
    zeros = (surprise * ~x).sum(dim=(1, 2)) / (~x).sum(dim=(1, 2))
    return chain.pi1 * ones + chain.pi0 * zeros


def logits(parameters: Parameters, x: Tensor) -> Tensor:
    """The logit of the next symbol being 1, [R, B, T], for inputs x, bool [R, B, T]."""
    e, p = parameters.get("e"), parameters["wpe"]  # z_t = x_t e + p_t
    if e is None:  # two rows: a vector and an offset
        zero, one = parameters["rows"].unbind(dim=1)
        e, p = one - zero, p + zero[:, None]
    z = x.to(p.dtype)[..., None] * e[:, None, None] + p[:, None]
    both = torch.stack([p, p + e[:, None]], dim=2)  # [R, T, 2, d], of symbols 0 and 1
    both = _normalise(both, parameters.get("ln_attention"))
    q, k, v = (_linear(both, parameters[name]) for name in ("W_Q", "W_K", "W_V"))
    z = z + _linear(attention(q, k, v, x), parameters["W_O"])
    normal = _normalise(z, parameters.get("ln_mlp"))
    z = z + _linear(functional.relu(_linear(normal, parameters["W_1"])), parameters["W_2"])
    z = _normalise(z, parameters.get("ln_final"))
    return _linear(z, e[:, None]).squeeze(-1) + parameters["b"][:, None, None]


def _linear(z: Tensor, W: Tensor) -> Tensor:
    """W z for every vector of a run: z [R, ..., d], W [R, k, d]; one product per run."""
    return (z.flatten(1, -2) @ W.mT).reshape(*z.shape[:-1], W.shape[1])


def _normalise(z: Tensor, gain: Tensor | None) -> Tensor:
    """LayerNorm, where the model has one."""
    return z if gain is None else functional.layer_norm(z, z.shape[-1:]) * gain[:, None, None]
