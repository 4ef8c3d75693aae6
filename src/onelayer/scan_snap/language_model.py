"""The one-layer causal transformer of Fig. 7, all seeds of a training side by side.

Token embedding times sqrt(d) plus sinusoidal positions (or none, as in the paper's theory), one
post-norm encoder layer with a single head, a decoder to the vocabulary: torch's
`TransformerEncoderLayer`, but with numbers of dropout that belong to a run and a step, so that a
training can resume, and with its attention returned.
Shapes: R runs, B sequences of T tokens, d embedding size, h hidden size, V vocabulary.
"""

import math
from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from onelayer.ensemble import RunRandom
from onelayer.ensemble.execution import to_device

Parameters = dict[str, Tensor]
FEED_FORWARD = ("feed_forward_in", "feed_forward_out")


def initial_parameters(
    seeds: Sequence[int], vocabulary: int, width: int, hidden: int, device: str = "cpu"
) -> Parameters:
    """Embedding and decoder U(-.1, .1), attention Xavier uniform, the rest as torch's Linear."""
    V, d, h, random = vocabulary, width, hidden, RunRandom(seeds, device)
    bounds = {
        "embedding": ((V, d), 0.1),
        "attention_in": ((3 * d, d), math.sqrt(6 / (4 * d))),
        "attention_out": ((d, d), d**-0.5),
        "feed_forward_in": ((h, d), d**-0.5),
        "feed_forward_in_bias": ((h,), d**-0.5),
        "feed_forward_out": ((d, h), h**-0.5),
        "feed_forward_out_bias": ((d,), h**-0.5),
        "decoder": ((V, d), 0.1),
    }
    parameters = {
        name: random.uniform(*size, use=f"initial {name}").mul_(2 * bound).sub_(bound)
        for name, (size, bound) in bounds.items()
    }
    for name, size in (("attention_in", 3 * d), ("attention_out", d), ("decoder", V)):
        parameters[f"{name}_bias"] = torch.zeros(len(seeds), size, device=device)
    for norm in ("norm1", "norm2"):
        parameters[norm] = torch.ones(len(seeds), d, device=device)
        parameters[f"{norm}_bias"] = torch.zeros(len(seeds), d, device=device)
    return parameters


class Reader:
    """Consecutive windows of the training text, int64, as the paper's loader cuts them.

    B columns are read side by side, T tokens a step, round and round, each run from its own start.
    """

    def __init__(
        self, text: np.ndarray, seeds: Sequence[int], batch: int, length: int, device: str = "cpu"
    ) -> None:
        self.length, self.rows = length, len(text) // batch
        self.columns = to_device(text[: self.rows * batch].reshape(batch, -1), device)
        self.starts = RunRandom(seeds, device).integers(self.rows, 1, use="first window")

    def __call__(self, step: int) -> tuple[Tensor, int]:
        """Tokens int64 [R, B, T + 1], inputs and targets in one; and the step."""
        places = torch.arange(self.length + 1, device=self.starts.device) + step * self.length
        windows = self.columns[:, (self.starts + places) % self.rows]  # [B, R, T + 1]
        return windows.transpose(0, 1), step


def dropout(random: RunRandom, share: float, step: int, values: Tensor, use: str) -> Tensor:
    """Drop a share of the values, and scale up the others; masks are of a run, a step and a use."""
    kept = random.flips(1 - share, *values.shape[1:], use=f"dropout {use}", step=step)
    return values * kept.to(values.dtype).div_(1 - share)


def forward(
    parameters: Parameters,
    tokens: Tensor,
    positional: bool,
    drop: Callable[[Tensor, str], Tensor] = lambda values, use: values,
) -> tuple[Tensor, Tensor]:
    """Hidden states before the decoder, [R, B, T, d], and attention, [R, B, T, T].

    Tokens are int64 [R, B, T]; `drop` is `dropout` at a step.
    """

    def linear(x: Tensor, name: str) -> Tensor:
        return torch.baddbmm(parameters[f"{name}_bias"][:, None], x, parameters[name].mT)

    def layer_norm(x: Tensor, name: str) -> Tensor:
        normed = functional.layer_norm(x, x.shape[-1:])
        return normed * parameters[name][:, None] + parameters[f"{name}_bias"][:, None]

    B, T = tokens.shape[1:]
    R, V, d = parameters["embedding"].shape
    rows = tokens + V * torch.arange(R, device=tokens.device)[:, None, None]
    x = functional.embedding(rows, parameters["embedding"].flatten(0, 1)) * math.sqrt(d)
    if positional:
        x = x + positions(T, d, tokens.device)
    x = drop(x, "embedding").flatten(1, 2)
    query, key, value = (
        part.unflatten(1, (B, T)) for part in linear(x, "attention_in").chunk(3, dim=2)
    )
    future = torch.ones(T, T, dtype=torch.bool, device=tokens.device).triu(1)
    scores = (query @ key.mT / math.sqrt(d)).masked_fill(future, -torch.inf)
    attention = torch.softmax(scores, dim=3)
    mixed = linear((drop(attention, "attention") @ value).flatten(1, 2), "attention_out")
    x = layer_norm(x + drop(mixed, "mixed"), "norm1")
    hidden = torch.relu(linear(x, "feed_forward_in"))
    out = linear(drop(hidden, "hidden"), "feed_forward_out")
    x = layer_norm(x + drop(out, "out"), "norm2")
    return x.unflatten(1, (B, T)), attention


def decoder_loss(parameters: Parameters, states: Tensor, targets: Tensor) -> Tensor:
    """Mean cross-entropy of every run (nats), [R], from `forward`'s states and the next tokens."""
    W, bias = parameters["decoder"], parameters["decoder_bias"]
    logits = torch.baddbmm(bias[:, None], states.flatten(1, 2), W.mT)
    each = functional.cross_entropy(logits.flatten(0, 1), targets.flatten(), reduction="none")
    return each.view(len(W), -1).mean(1)


def gradients(
    parameters: Parameters, tokens: Tensor, clip: float, *options
) -> tuple[Tensor, Parameters]:
    """Loss of every run, [R], and its gradients, cut to a norm of `clip` as the paper's are.

    Tokens are int64 [R, B, T + 1], inputs and targets in one; `options` are `forward`'s.
    """
    with torch.enable_grad():
        leaves = {name: value.detach().requires_grad_() for name, value in parameters.items()}
        states, _ = forward(leaves, tokens[..., :-1], *options)
        losses = decoder_loss(leaves, states, tokens[..., 1:])
        slopes = torch.autograd.grad(losses.sum(), list(leaves.values()))
    norms = torch.stack([torch.linalg.vector_norm(slope.flatten(1), dim=1) for slope in slopes])
    # torch's clip_grad_norm_ adds the same 1e-6.
    factor = (clip / (torch.linalg.vector_norm(norms, dim=0) + 1e-6)).clamp_(max=1)
    for slope in slopes:
        slope.mul_(factor.view(-1, *[1] * (slope.dim() - 1)))
    return losses.detach(), dict(zip(leaves, slopes, strict=True))


def positions(length: int, width: int, device: str | torch.device = "cpu") -> Tensor:
    """Sinusoidal positions, [T, d] (Vaswani et al. 2017, section 3.5)."""
    rates = torch.exp(torch.arange(0, width, 2, device=device) * (-math.log(10000.0) / width))
    angles = torch.arange(length, device=device)[:, None] * rates
    return torch.stack([angles.sin(), angles.cos()], dim=2).flatten(1)[:, :width]
