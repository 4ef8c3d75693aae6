"""The one-layer causal transformer of Fig. 7, all seeds of a training side by side.

Token embedding times sqrt(d) plus sinusoidal positions (or none, as the paper's theory has it), one
post-norm encoder layer with a single head, a decoder to the vocabulary: torch's
`TransformerEncoderLayer` with a leading run dimension.
Shapes: R runs, B sequences of T tokens, d embedding size, h hidden size, V vocabulary.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from onelayer.compute.device import on_gpu, to_device
from onelayer.compute.ensemble import RunRandom

Parameters = dict[str, Tensor]
BLOCK = 350  # rows of logits at once in the decoder: 1.4 MB at 1,000 tokens
GPU_BYTES = 2**30  # logits of all runs at once on a GPU
FEED_FORWARD = ("feed_forward_in", "feed_forward_out")


@dataclass(frozen=True, eq=False)
class Windows:
    """A batch of every run: tokens int64 [R, B, T + 1], inputs and, shifted by one, targets."""

    tokens: Tensor
    step: int  # which the dropout masks depend on


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
    """Consecutive windows of the training text, as the paper's loader cuts them.

    The text, int64, is cut into B columns that are read side by side, T tokens a step, from the
    start again after the end. Every run starts at a place of its own.

    Raises:
        ValueError: the text is too short for one window.
    """

    def __init__(
        self, text: np.ndarray, seeds: Sequence[int], batch: int, length: int, device: str = "cpu"
    ) -> None:
        self.length, self.rows = length, len(text) // batch
        if self.rows <= length:
            raise ValueError(f"{len(text)} tokens: too few for {batch} columns of {length}")
        self.columns = to_device(text[: self.rows * batch].reshape(batch, -1), device)
        self.starts = RunRandom(seeds, device).integers(self.rows, 1, use="first window")

    def __call__(self, step: int) -> Windows:
        """The windows of a step."""
        places = torch.arange(self.length + 1, device=self.starts.device) + step * self.length
        windows = self.columns[:, (self.starts + places) % self.rows]  # [B, R, T + 1]
        return Windows(windows.transpose(0, 1), step)


def forward(
    parameters: Parameters,
    tokens: Tensor,
    dropout: float = 0.0,
    random: RunRandom | None = None,
    step: int = 0,
    positional: bool = True,
) -> tuple[Tensor, Tensor]:
    """Hidden states before the decoder, [R, B, T, d], and attention, [R, B, T, T].

    Tokens are int64 [R, B, T]. Dropout is 0 to evaluate; else its masks are drawn for each step.
    """

    def drop(values: Tensor, use: str) -> Tensor:
        if not dropout:
            return values
        kept = random.flips(1 - dropout, *values.shape[1:], use=f"dropout {use}", step=step)
        return values * kept.to(values.dtype).div_(1 - dropout)

    B, T = tokens.shape[1:]
    R, V, d = parameters["embedding"].shape
    rows = tokens + V * torch.arange(R, device=tokens.device)[:, None, None]
    x = functional.embedding(rows, parameters["embedding"].flatten(0, 1)) * math.sqrt(d)
    if positional:
        x = x + positions(T, d, tokens.device)
    x = drop(x, "embedding").flatten(1, 2)
    query, key, value = (
        part.unflatten(1, (B, T)) for part in _linear(x, parameters, "attention_in").chunk(3, dim=2)
    )
    future = torch.ones(T, T, dtype=torch.bool, device=tokens.device).triu(1)
    scores = (query @ key.mT / math.sqrt(d)).masked_fill(future, -torch.inf)
    attention = torch.softmax(scores, dim=3)
    mixed = (drop(attention, "attention") @ value).flatten(1, 2)
    mixed = _linear(mixed, parameters, "attention_out")
    x = _layer_norm(x + drop(mixed, "mixed"), parameters, "norm1")
    hidden = torch.relu(_linear(x, parameters, "feed_forward_in"))
    out = _linear(drop(hidden, "hidden"), parameters, "feed_forward_out")
    x = _layer_norm(x + drop(out, "out"), parameters, "norm2")
    return x.unflatten(1, (B, T)), attention


def loss(
    parameters: Parameters,
    batch: Windows,
    dropout: float = 0.0,
    random: RunRandom | None = None,
    positional: bool = True,
) -> Tensor:
    """Mean next-token cross-entropy of every run (nats), [R]; arguments as of `forward`."""
    inputs = batch.tokens[:, :, :-1]
    states, _ = forward(parameters, inputs, dropout, random, batch.step, positional)
    return decoder_loss(parameters, states, batch.tokens[:, :, 1:])


def decoder_loss(parameters: Parameters, states: Tensor, targets: Tensor) -> Tensor:
    """Mean cross-entropy of every run (nats), [R], from `forward`'s states and the next tokens."""
    W, bias = parameters["decoder"], parameters["decoder_bias"]
    return _DecoderLoss.apply(states.flatten(1, 2), W, bias, targets.flatten(1))


class _DecoderLoss(torch.autograd.Function):
    """Mean cross-entropy of softmax(states W^T + bias), with its gradients made on the way.

    Logits are most of the model's numbers. Block by block they never leave the cache, and nothing
    of their size is kept for the backward pass.
    """

    @staticmethod
    def forward(ctx, states: Tensor, W: Tensor, bias: Tensor, targets: Tensor) -> Tensor:
        """Loss of every run from states [R, N, d], W [R, V, d], bias [R, V], targets [R, N]."""
        loss = states.new_zeros(len(states))
        slopes = torch.empty_like(states), torch.zeros_like(W), torch.zeros_like(bias)
        wanted = slopes if any(ctx.needs_input_grad) else None
        decode = _decode_all_runs if on_gpu(states.device) else _decode_run_by_run
        decode(states, W, bias, targets, loss, wanted)
        ctx.save_for_backward(*slopes)
        return loss / states.shape[1]

    @staticmethod
    def backward(ctx, factor: Tensor) -> tuple[Tensor, Tensor, Tensor, None]:
        """Gradients for states, W and bias; a run's factor multiplies its own."""
        states, W, bias = ctx.saved_tensors
        factor = factor[:, None] / states.shape[1]
        wide = factor[:, :, None]
        return states * wide, W * wide, bias * factor, None


Slopes = tuple[Tensor, Tensor, Tensor]


def _decode_run_by_run(
    states: Tensor, W: Tensor, bias: Tensor, targets: Tensor, loss: Tensor, slopes: Slopes | None
) -> None:
    """Add up the loss of every run in `loss` [R], and write slopes as `states`, `W` and `bias`."""
    for run in range(len(states)):
        for start in range(0, states.shape[1], BLOCK):
            block = slice(start, start + BLOCK)
            target = targets[run, block, None]
            logits = torch.addmm(bias[run], states[run, block], W[run].T)
            top, of_target = logits.amax(dim=1, keepdim=True), logits.gather(1, target)
            slope = logits.sub_(top).exp_()
            total = slope.sum(dim=1, keepdim=True)
            loss[run] += (total.log() + top - of_target).sum()
            if slopes is not None:
                slope.div_(total)
                slope.scatter_add_(1, target, slope.new_full((1, 1), -1).expand_as(target))
                torch.mm(slope, W[run], out=slopes[0][run, block])
                slopes[1][run].addmm_(slope.T, states[run, block])
                slopes[2][run] += slope.sum(dim=0)


def _decode_all_runs(
    states: Tensor, W: Tensor, bias: Tensor, targets: Tensor, loss: Tensor, slopes: Slopes | None
) -> None:
    """The same in few large products, as a GPU wants them."""
    at_once = max(1, GPU_BYTES // (len(W) * W.shape[1] * W.element_size()))
    for start in range(0, states.shape[1], at_once):
        block = slice(start, start + at_once)
        target = targets[:, block, None]
        logs = torch.baddbmm(bias[:, None], states[:, block], W.mT).log_softmax(dim=2)
        loss -= logs.gather(2, target).sum(dim=(1, 2))
        if slopes is not None:
            slope = logs.exp_()
            slope.scatter_add_(2, target, -torch.ones_like(slope[:, :, :1]))
            slopes[0][:, block] = slope @ W
            slopes[1].baddbmm_(slope.mT, states[:, block])
            slopes[2].add_(slope.sum(dim=1))


def positions(length: int, width: int, device: str | torch.device = "cpu") -> Tensor:
    """Sinusoidal positions, [T, d] (Vaswani et al. 2017, section 3.5)."""
    rates = torch.exp(torch.arange(0, width, 2, device=device) * (-math.log(10000.0) / width))
    angles = torch.arange(length, device=device)[:, None] * rates
    return torch.stack([angles.sin(), angles.cos()], dim=2).flatten(1)[:, :width]


def _linear(x: Tensor, parameters: Parameters, name: str) -> Tensor:
    """X W^T + b, [R, N, out]."""
    return torch.baddbmm(parameters[f"{name}_bias"][:, None], x, parameters[name].mT)


def _layer_norm(x: Tensor, parameters: Parameters, name: str) -> Tensor:
    normed = functional.layer_norm(x, x.shape[-1:])
    return normed * parameters[name][:, None] + parameters[f"{name}_bias"][:, None]
