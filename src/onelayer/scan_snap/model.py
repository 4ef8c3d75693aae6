"""The paper's one-layer transformer (section 2) in count space, and its gradients by hand.

Attention of a sequence of class (m, n) over its tokens l is a_l ~ count_l exp(Z[m, l]); the
combined vector x = a / |a| (l2 norm) goes through the decoder: logits = Y x, and the loss is the
cross-entropy with the next token n. No residual, no positions.

Only what can matter is kept of the M x M matrices: Z for a query token and the tokens of its
classes, the columns of Y for contextual tokens. Autograd on dense matrices takes 1.6 to 2.1 times
as long. Shapes: R runs = S streams of data (seeds) times K runs that share one, F classes, B
sequences, I contextual tokens, M tokens, 20 slots of a class.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from onelayer.ensemble import RunRandom
from onelayer.scan_snap.data import COMMON, DISTINCT, SLOTS, TOKEN_CHANCES, Task, draw_counts

Parameters = dict[str, Tensor]


@dataclass(frozen=True, eq=False)
class Batch:
    """One step's data for all streams."""

    task: Task
    log_counts: Tensor  # [S, 1, 20, B], -inf where a token is absent
    members: Tensor  # [S, F, B], 1 where a sequence is of a class
    targets: Tensor  # int64 [S, 1, B, 1], the next token
    bounds: list[list[int]]  # S lists of F + 1: class f has sequences bounds[f] to bounds[f + 1]


def read_batch(task: Task, seeds: Sequence[int], dtype: torch.dtype, step: int) -> Batch:
    """The data of a step, a stream for each seed."""
    counts, bounds = zip(*(draw_counts(task, seed, step) for seed in seeds), strict=True)
    classes = [torch.arange(task.classes).repeat_interleave(torch.tensor(b).diff()) for b in bounds]
    classes = torch.stack(classes)
    first_next = task.contextual + task.num_last
    return Batch(
        task=task,
        log_counts=torch.stack([torch.tensor(c.T) for c in counts]).to(dtype).log_()[:, None],
        members=(classes[:, None] == torch.arange(task.classes)[:, None]).to(dtype),
        targets=(classes + first_next)[:, None, :, None],
        bounds=[b.tolist() for b in bounds],
    )


def initial_parameters(
    task: Task, seeds: Sequence[int], scheme: str, dtype: torch.dtype = torch.float32
) -> Parameters:
    """Y and Z of every run, `zero` or `uniform`; those of equal seeds are equal.

    Returns:
        `Y` [R, I, M], transposed: entry [l, n] is what token l adds to the logit of n.
        `Z` [R, num_last, 10 + 10 next_per_last]: common tokens, then distinct ones class by class.
    """
    shapes = {
        "Y": (task.contextual, task.vocabulary),
        "Z": (task.num_last, COMMON + DISTINCT * task.next_per_last),
    }
    if scheme == "zero":
        return {name: torch.zeros(len(seeds), *s, dtype=dtype) for name, s in shapes.items()}
    random, bound = RunRandom(seeds), task.vocabulary**-0.5
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
    """c_{l|n} ~ P(l | n) exp(Z[m, l]) over a class's tokens, float64 [R, F, 20]."""
    chances = torch.from_numpy(TOKEN_CHANCES)
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

    logits = x[:, :, :COMMON].mT @ Y[:, :, :COMMON]  # [S, K, B, M]
    for s, rows, tokens in _blocks(batch):  # of a class 20 rows of Y matter, not all
        logits[s, :, rows] += x[s, :, COMMON:, rows].mT @ Y[s, :, tokens]
    logs = torch.log_softmax(logits, dim=3)
    targets = batch.targets.expand(-1, runs, -1, -1)
    loss = -logs.gather(3, targets).mean(dim=(2, 3))

    # B times d loss / d logits = softmax - one-hot
    slope = logs.exp_()
    slope.scatter_add_(3, targets, slope.new_full((1, 1, 1, 1), -1).expand_as(targets))
    slope_Y, slope_x, each = torch.empty_like(Y), torch.empty_like(x), x / task.batch
    slope_Y[:, :, :COMMON] = each[:, :, :COMMON] @ slope
    slope_x[:, :, :COMMON] = Y[:, :, :COMMON] @ slope.mT
    for s, rows, tokens in _blocks(batch):
        of_class = slope[s, :, rows]
        slope_Y[s, :, tokens] = each[s, :, COMMON:, rows] @ of_class
        slope_x[s, :, COMMON:, rows] = Y[s, :, tokens] @ of_class.mT

    # Through x = a / |a|, then through the softmax.
    slope_a = slope_x.addcmul_(x, (x * slope_x).sum(2, keepdim=True), value=-1).div_(norm)
    slope_z = slope_a.sub_((attention * slope_a).sum(2, keepdim=True)).mul_(attention)
    by_class = slope_z.flatten(1, 2) @ batch.members.mT  # [S, K * 20, F]
    by_class = by_class.div_(task.batch).unflatten(1, (runs, SLOTS)).flatten(0, 1).mT
    of_last = by_class.unflatten(1, (task.num_last, task.next_per_last))  # [R, m, n, 20]
    slope_Z = torch.cat([of_last[..., :COMMON].sum(2), of_last[..., COMMON:].flatten(2)], dim=2)
    return loss.flatten(), {"Y": slope_Y.flatten(0, 1), "Z": slope_Z}


def _blocks(batch: Batch) -> Iterator[tuple[int, slice, slice]]:
    """Every stream and class: its sequences, and the rows of Y of its distinct tokens."""
    for stream, bounds in enumerate(batch.bounds):
        for f in range(batch.task.classes):
            tokens = slice(COMMON + DISTINCT * f, COMMON + DISTINCT * (f + 1))
            yield stream, slice(bounds[f], bounds[f + 1]), tokens
