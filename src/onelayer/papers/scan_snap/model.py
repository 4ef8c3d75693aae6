"""The paper's one-layer transformer in count space, and its gradients by hand.

Attention of a sequence of class (m, n) over its contextual tokens l is
a_l proportional to count_l exp(Z[m, l]); the combined vector x = a / |a| (l2 norm) goes through the
decoder: logits = Y x, loss = cross-entropy with the next token n. No residual, no positions.

Only what can ever matter is kept of the M x M matrices: Z for pairs of a query token and a token of
its classes, and the columns of Y for contextual tokens. Shapes: R runs = S streams of data times K
runs that share each, F classes, B sequences, I contextual tokens, M tokens, 20 slots of a class.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from onelayer.compute.device import to_device
from onelayer.compute.ensemble import RunRandom
from onelayer.papers.scan_snap.data import (
    COMMON,
    DISTINCT,
    SLOTS,
    TOKEN_CHANCES,
    Task,
    draw_counts,
)

Parameters = dict[str, Tensor]
STEPS_AT_ONCE = 50  # of which a GPU gets the batches together


@dataclass(frozen=True, eq=False)
class Batch:
    """One step's data for all streams.

    Attributes:
        task: sizes.
        log_counts: [S, 1, 20, B], -inf where a token is absent.
        members: [S, F, B], 1 where a sequence is of a class, else 0.
        targets: int64 [S, 1, B, 1], id of the next token.
        bounds: S lists of F + 1 numbers; class f of a stream holds sequences bounds[f] to
            bounds[f + 1]; None on a GPU, which goes through all classes at once.
    """

    task: Task
    log_counts: Tensor
    members: Tensor
    targets: Tensor
    bounds: list[list[int]] | None


def draw_batch(
    task: Task, seeds: Sequence[int], step: int, dtype: torch.dtype, device: str
) -> Batch:
    """The batch of one step for streams with these seeds."""
    counts, classes, bounds = _drawn(task, seeds, [step])
    counts, classes = to_device(counts[0], device), to_device(classes[0], device)
    return _batch_of(task, counts, classes, bounds, dtype)


class GpuBatches:
    """`draw_batch` on a GPU: the batches of `STEPS_AT_ONCE` steps are copied there together.

    Args:
        task: sizes.
        seeds: of the streams.
        dtype, device: of the tensors.
    """

    def __init__(self, task: Task, seeds: Sequence[int], dtype: torch.dtype, device: str) -> None:
        self.task, self.seeds, self.dtype, self.device = task, seeds, dtype, device
        self._first, self._counts, self._classes = -STEPS_AT_ONCE, None, None

    def __call__(self, step: int) -> Batch:
        """The batch of a step."""
        first = step - step % STEPS_AT_ONCE
        if first != self._first:
            steps = range(first, first + STEPS_AT_ONCE)
            counts, classes, _ = _drawn(self.task, self.seeds, steps)
            self._counts = to_device(counts, self.device)
            self._classes, self._first = to_device(classes, self.device), first
        here = step - first
        return _batch_of(self.task, self._counts[here], self._classes[here], None, self.dtype)


def _drawn(
    task: Task, seeds: Sequence[int], steps: Iterable[int]
) -> tuple[np.ndarray, np.ndarray, list[list[int]]]:
    """Counts [steps, S, 20, B], int64 classes [steps, S, B], and bounds of the last step."""
    drawn = [[draw_counts(task, seed, step) for seed in seeds] for step in steps]
    names = np.arange(task.classes)
    counts = np.stack([np.stack([one.counts.T for one in step]) for step in drawn])
    classes = [[np.repeat(names, np.diff(one.bounds)) for one in step] for step in drawn]
    return counts, np.array(classes), [one.bounds.tolist() for one in drawn[-1]]


def _batch_of(
    task: Task,
    counts: Tensor,
    classes: Tensor,
    bounds: list[list[int]] | None,
    dtype: torch.dtype,
) -> Batch:
    names = torch.arange(task.classes, device=classes.device)
    return Batch(
        task=task,
        log_counts=counts.to(dtype).log_()[:, None],
        members=(classes[:, None] == names[:, None]).to(dtype),
        targets=(classes + task.first_next)[:, None, :, None],
        bounds=bounds,
    )


def initial_parameters(
    task: Task, seeds: Sequence[int], scheme: str, dtype: torch.dtype, device: str
) -> Parameters:
    """Y and Z of every run.

    Args:
        task: sizes.
        seeds: one per run; equal seeds start at equal parameters.
        scheme: `zero`, or `uniform`: U(-1 / sqrt(M), 1 / sqrt(M)), torch's default for a Linear.
        dtype, device: of the tensors.

    Returns:
        `Y`: [R, I, M], transposed: entry [l, n] is what token l adds to the logit of n.
        `Z`: [R, num_last, 10 + 10 next_per_last]: common tokens, then distinct ones class by class.
    """
    shapes = {
        "Y": (task.contextual, task.vocabulary),
        "Z": (task.num_last, COMMON + DISTINCT * task.next_per_last),
    }
    if scheme == "zero":
        return {
            n: torch.zeros(len(seeds), *s, dtype=dtype, device=device) for n, s in shapes.items()
        }
    random = RunRandom(seeds, device)
    bound = task.vocabulary**-0.5
    return {
        name: random.uniform(*shape, use=f"initial {name} of {task}", dtype=dtype)
        .mul_(2 * bound)
        .sub_(bound)
        for name, shape in shapes.items()
    }


def attention_logits(task: Task, Z: Tensor) -> Tensor:
    """Z[m, l] for the 20 tokens of every class, [R, F, 20]."""
    common = Z[..., :COMMON].repeat_interleave(task.next_per_last, dim=1)
    return torch.cat([common, Z[..., COMMON:].reshape(len(Z), task.classes, DISTINCT)], dim=2)


def contextual_attention(task: Task, Z: Tensor) -> Tensor:
    """c_{l|n} proportional to P(l | n) exp(Z[m, l]) over a class's tokens, float64 [R, F, 20]."""
    chances = to_device(TOKEN_CHANCES, Z.device)
    return torch.softmax(attention_logits(task, Z).double() + chances.log(), dim=2)


def gradients(parameters: Parameters, batch: Batch) -> tuple[Tensor, Parameters]:
    """Loss of every run, [R], and the gradients of its mean over the batch."""
    task, streams = batch.task, len(batch.members)
    Y = parameters["Y"].unflatten(0, (streams, -1))
    z = attention_logits(task, parameters["Z"]).unflatten(0, (streams, -1))  # [S, K, F, 20]
    runs = z.shape[1]
    # Slots come before sequences: sums over 20 slots then run along whole rows of memory.
    z = (z.mT.flatten(1, 2) @ batch.members).unflatten(1, (runs, SLOTS))  # [S, K, 20, B]
    attention = torch.softmax(z + batch.log_counts, dim=2)
    norm = attention.square().sum(2, keepdim=True).sqrt_()
    x = attention / norm

    forward, backward = _logits, _backward
    if batch.bounds is None:
        forward, backward = _logits_of_all, _backward_of_all
    logs = torch.log_softmax(forward(Y, x, batch), dim=3)
    targets = batch.targets.expand(-1, runs, -1, -1)
    loss = -logs.gather(3, targets).mean(dim=(2, 3))
    # B times d loss / d logits = softmax - one-hot
    slope = logs.exp_()
    slope.scatter_add_(3, targets, slope.new_full((1, 1, 1, 1), -1).expand_as(targets))

    slope_Y, slope_x = backward(Y, x / task.batch, slope, batch)
    slope_a = slope_x.addcmul_(x, (x * slope_x).sum(2, keepdim=True), value=-1).div_(norm)
    slope_z = slope_a.sub_((attention * slope_a).sum(2, keepdim=True)).mul_(attention)
    by_class = slope_z.flatten(1, 2) @ batch.members.mT  # [S, K * 20, F]
    by_class = by_class.div_(task.batch).unflatten(1, (runs, SLOTS)).flatten(0, 1).mT
    return loss.flatten(), {"Y": slope_Y.flatten(0, 1), "Z": _gather_slopes(task, by_class)}


def _blocks(batch: Batch) -> Iterator[tuple[int, slice, slice]]:
    """Every stream and class: its sequences, and the rows of Y of its distinct tokens."""
    for stream, bounds in enumerate(batch.bounds):
        for f in range(batch.task.classes):
            tokens = slice(COMMON + DISTINCT * f, COMMON + DISTINCT * (f + 1))
            yield stream, slice(bounds[f], bounds[f + 1]), tokens


def _logits(Y: Tensor, x: Tensor, batch: Batch) -> Tensor:
    """Y x, [S, K, B, M]: a class reads 20 rows of Y, not all."""
    logits = x[:, :, :COMMON].mT @ Y[:, :, :COMMON]
    for s, rows, tokens in _blocks(batch):
        # Into memory of its own: into a slice torch multiplies run by run.
        logits[s, :, rows] += x[s, :, COMMON:, rows].mT @ Y[s, :, tokens]
    return logits


def _backward(Y: Tensor, x: Tensor, slope: Tensor, batch: Batch) -> tuple[Tensor, Tensor]:
    """Gradients for Y, [S, K, I, M], and x, [S, K, 20, B], from those for the logits."""
    slope_Y, slope_x = torch.empty_like(Y), torch.empty_like(x)
    slope_Y[:, :, :COMMON] = x[:, :, :COMMON] @ slope
    slope_x[:, :, :COMMON] = Y[:, :, :COMMON] @ slope.mT
    for s, rows, tokens in _blocks(batch):
        own = slope[s, :, rows]
        slope_Y[s, :, tokens] = x[s, :, COMMON:, rows] @ own
        slope_x[s, :, COMMON:, rows] = Y[s, :, tokens] @ own.mT
    return slope_Y, slope_x


def _of_all(x: Tensor, batch: Batch) -> Tensor:
    """The combined vectors over all contextual tokens, [S, K, I, B], 0 where a class has none.

    Sums over 20 slots become sums over all tokens, most of them 0: more work in few large products,
    where `_logits` and `_backward` make three small ones for each class of each stream.
    """
    own = x[:, :, None, COMMON:] * batch.members[:, None, :, None]  # [S, K, F, 10, B]
    return torch.cat([x[:, :, :COMMON], own.flatten(2, 3)], dim=2)


def _logits_of_all(Y: Tensor, x: Tensor, batch: Batch) -> Tensor:
    """`_logits` with all classes at once."""
    return _of_all(x, batch).mT @ Y


def _backward_of_all(Y: Tensor, x: Tensor, slope: Tensor, batch: Batch) -> tuple[Tensor, Tensor]:
    """`_backward` with all classes at once."""
    slope_of_all = Y @ slope.mT  # [S, K, I, B]
    by_class = slope_of_all[:, :, COMMON:].unflatten(2, (batch.task.classes, DISTINCT))
    own = (by_class * batch.members[:, None, :, None]).sum(dim=2)
    return _of_all(x, batch) @ slope, torch.cat([slope_of_all[:, :, :COMMON], own], dim=2)


def _gather_slopes(task: Task, by_class: Tensor) -> Tensor:
    """Gradients for Z from those for the 20 logits of every class, [R, F, 20]."""
    of_last = by_class.unflatten(1, (task.num_last, task.next_per_last))
    common = of_last[..., :COMMON].sum(dim=2)
    return torch.cat([common, of_last[..., COMMON:].flatten(2)], dim=2)
