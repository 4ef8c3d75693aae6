"""The paper's one-layer transformer in count space, and its gradients by hand.

Attention of a sequence of class (m, n) over its contextual tokens l is
a_l proportional to count_l exp(Z[m, l]); the combined vector x = a / |a| (l2 norm) goes through the
decoder: logits = Y x, loss = cross-entropy with the next token n. No residual, no positions.

Only what can ever matter is kept of the M x M matrices: Z for pairs of a query token and a token of
its classes, and the columns of Y for contextual tokens. Shapes: R runs = S streams of data times K
runs that share each, F classes, B sequences, I contextual tokens, M tokens, 20 slots of a class.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from onelayer.compute.device import on_gpu, to_device
from onelayer.compute.ensemble import RunRandom
from onelayer.papers.scan_snap.data import COMMON, DISTINCT, SLOTS, TOKEN_CHANCES, Task, draw_counts

Parameters = dict[str, Tensor]
DTYPE = torch.float32  # as the paper's
STEPS_AT_ONCE = 50  # of which a GPU gets the batches together


@dataclass(frozen=True, eq=False)
class StreamBatch:
    """One step's data for all streams.

    Attributes:
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


class StreamBatches:
    """The batches, a stream for each seed; a GPU gets those of `STEPS_AT_ONCE` together."""

    def __init__(self, task: Task, seeds: Sequence[int], dtype: torch.dtype, device: str) -> None:
        self.task, self.dtype, self.device = task, dtype, device
        self.seeds, self.steps = list(dict.fromkeys(seeds)), range(0)

    def __call__(self, step: int) -> StreamBatch:
        """The batch of a step."""
        if step not in self.steps:
            self._draw(step)
        place = self.steps.index(step)
        classes = self.classes[place]
        names = torch.arange(self.task.classes, device=classes.device)
        return StreamBatch(
            task=self.task,
            log_counts=self.counts[place].to(self.dtype).log_()[:, None],
            members=(classes[:, None] == names[:, None]).to(self.dtype),
            targets=(classes + self.task.first_next)[:, None, :, None],
            bounds=self.bounds,
        )

    def _draw(self, first: int) -> None:
        """Counts [steps, S, 20, B], and int64 classes [steps, S, B], of the steps from one on."""
        many = on_gpu(self.device)
        self.steps = range(first, first + (STEPS_AT_ONCE if many else 1))
        drawn = [[draw_counts(self.task, seed, step) for seed in self.seeds] for step in self.steps]
        counts = np.stack([np.stack([one.counts.T for one in streams]) for streams in drawn])
        classes = np.array([[one.classes for one in streams] for streams in drawn])
        self.counts, self.classes = to_device(counts, self.device), to_device(classes, self.device)
        self.bounds = None if many else [one.bounds.tolist() for one in drawn[0]]


def initial_parameters(
    task: Task, seeds: Sequence[int], scheme: str, dtype: torch.dtype, device: str
) -> Parameters:
    """Y and Z of every run, those of equal seeds equal; the schemes are those of the settings.

    Returns:
        `Y`: [R, I, M], transposed: entry [l, n] is what token l adds to the logit of n.
        `Z`: [R, num_last, 10 + 10 next_per_last]: common tokens, then distinct ones class by class.
    """
    shapes = {
        "Y": (task.contextual, task.vocabulary),
        "Z": (task.num_last, COMMON + DISTINCT * task.next_per_last),
    }
    if scheme == "zero":
        options = {"dtype": dtype, "device": device}
        return {name: torch.zeros(len(seeds), *shape, **options) for name, shape in shapes.items()}
    random, bound = RunRandom(seeds, device), task.vocabulary**-0.5
    drawn = {
        name: random.uniform(*shape, use=f"initial {name} of {task}", dtype=dtype)
        for name, shape in shapes.items()
    }
    return {name: uniform.mul_(2 * bound).sub_(bound) for name, uniform in drawn.items()}


def attention_logits(task: Task, Z: Tensor) -> Tensor:
    """Z[m, l] for the 20 tokens of every class, [R, F, 20]."""
    common = Z[..., :COMMON].repeat_interleave(task.next_per_last, dim=1)
    return torch.cat([common, Z[..., COMMON:].reshape(len(Z), task.classes, DISTINCT)], dim=2)


def contextual_attention(task: Task, Z: Tensor) -> Tensor:
    """c_{l|n} proportional to P(l | n) exp(Z[m, l]) over a class's tokens, float64 [R, F, 20]."""
    chances = to_device(TOKEN_CHANCES, Z.device)
    return torch.softmax(attention_logits(task, Z).double() + chances.log(), dim=2)


def gradients(parameters: Parameters, batch: StreamBatch) -> tuple[Tensor, Parameters]:
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

    logs = torch.log_softmax(_logits(Y, x, batch), dim=3)
    targets = batch.targets.expand(-1, runs, -1, -1)
    loss = -logs.gather(3, targets).mean(dim=(2, 3))
    # B times d loss / d logits = softmax - one-hot
    slope = logs.exp_()
    slope.scatter_add_(3, targets, slope.new_full((1, 1, 1, 1), -1).expand_as(targets))

    slope_Y, slope_x = _backward(Y, x / task.batch, slope, batch)
    slope_a = slope_x.addcmul_(x, (x * slope_x).sum(2, keepdim=True), value=-1).div_(norm)
    slope_z = slope_a.sub_((attention * slope_a).sum(2, keepdim=True)).mul_(attention)
    by_class = slope_z.flatten(1, 2) @ batch.members.mT  # [S, K * 20, F]
    by_class = by_class.div_(task.batch).unflatten(1, (runs, SLOTS)).flatten(0, 1).mT
    return loss.flatten(), {"Y": slope_Y.flatten(0, 1), "Z": _gather_slopes(task, by_class)}


def _blocks(batch: StreamBatch) -> Iterator[tuple[int, slice, slice]]:
    """Every stream and class: its sequences, and the rows of Y of its distinct tokens."""
    for stream, bounds in enumerate(batch.bounds):
        for f in range(batch.task.classes):
            tokens = slice(COMMON + DISTINCT * f, COMMON + DISTINCT * (f + 1))
            yield stream, slice(bounds[f], bounds[f + 1]), tokens


def _logits(Y: Tensor, x: Tensor, batch: StreamBatch) -> Tensor:
    """Y x, [S, K, B, M]: a class reads 20 rows of Y, not all."""
    if batch.bounds is None:
        return _of_all(x, batch).mT @ Y
    logits = x[:, :, :COMMON].mT @ Y[:, :, :COMMON]
    for s, rows, tokens in _blocks(batch):
        # Into memory of its own: into a slice torch multiplies run by run.
        logits[s, :, rows] += x[s, :, COMMON:, rows].mT @ Y[s, :, tokens]
    return logits


def _backward(Y: Tensor, x: Tensor, slope: Tensor, batch: StreamBatch) -> tuple[Tensor, Tensor]:
    """Gradients for Y, [S, K, I, M], and x, [S, K, 20, B], from those for the logits."""
    if batch.bounds is None:
        slope_of_all = Y @ slope.mT  # [S, K, I, B]
        by_class = slope_of_all[:, :, COMMON:].unflatten(2, (batch.task.classes, DISTINCT))
        distinct = (by_class * batch.members[:, None, :, None]).sum(dim=2)
        slope_x = torch.cat([slope_of_all[:, :, :COMMON], distinct], dim=2)
        return _of_all(x, batch) @ slope, slope_x
    slope_Y, slope_x = torch.empty_like(Y), torch.empty_like(x)
    slope_Y[:, :, :COMMON] = x[:, :, :COMMON] @ slope
    slope_x[:, :, :COMMON] = Y[:, :, :COMMON] @ slope.mT
    for s, rows, tokens in _blocks(batch):
        of_class = slope[s, :, rows]
        slope_Y[s, :, tokens] = x[s, :, COMMON:, rows] @ of_class
        slope_x[s, :, COMMON:, rows] = Y[s, :, tokens] @ of_class.mT
    return slope_Y, slope_x


def _of_all(x: Tensor, batch: StreamBatch) -> Tensor:
    """The combined vectors over all contextual tokens, [S, K, I, B], 0 where a class has none.

    Sums over 20 slots become sums over all tokens, most of them 0: more work in few large products,
    where `_logits` and `_backward` make three small ones for each class of each stream.
    """
    distinct = x[:, :, None, COMMON:] * batch.members[:, None, :, None]  # [S, K, F, 10, B]
    return torch.cat([x[:, :, :COMMON], distinct.flatten(2, 3)], dim=2)


def _gather_slopes(task: Task, by_class: Tensor) -> Tensor:
    """Gradients for Z from those for the 20 logits of every class, [R, F, 20]."""
    of_last = by_class.unflatten(1, (task.num_last, task.next_per_last))
    common = of_last[..., :COMMON].sum(dim=2)
    return torch.cat([common, of_last[..., COMMON:].flatten(2)], dim=2)
