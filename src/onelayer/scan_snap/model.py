"""The paper's one-layer transformer (section 2) in count space, and its gradients by hand.

Attention of a sequence with query token m over its contextual tokens l is a_l ~ count_l
exp(Z[m, l]). The combined vector x = a / |a| (l2 norm) goes through the decoder: logits = Y x, and
the loss is the cross-entropy with the next token n. No residual, no positions.

Only what can matter is kept of the M x M matrices: Z for a query token and the tokens of its
classes, the columns of Y for contextual tokens. Autograd takes 1.1 to 1.5 times as long.
Shapes: R runs, F classes, B sequences, I contextual tokens, M tokens, 20 slots of a class; Y is
kept transposed, [R, I, M].
"""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from onelayer.ensemble import RunRandom
from onelayer.scan_snap.data import COMMON, DISTINCT, TOKEN_CHANCES, Task, draw_counts

Parameters = dict[str, Tensor]


def read_batch(task: Task, seeds: Sequence[int], step: int) -> tuple[Tensor, Tensor]:
    """Counts [R, B, 20] and classes [R, B] of a step; runs of equal seeds have the same."""
    counts, classes = zip(*(draw_counts(task, seed, step) for seed in seeds), strict=True)
    return torch.from_numpy(np.stack(counts)), torch.from_numpy(np.stack(classes))


def initial_parameters(
    task: Task, seeds: Sequence[int], scheme: str, dtype: torch.dtype = torch.float32
) -> Parameters:
    """Y and Z of every run, `zero` or `uniform`; those of equal seeds are equal.

    Returns:
        `Y` [R, I, M], transposed: entry [l, n] is what token l adds to the logit of n.
        `Z` [R, num_last, 10 + 10 next_per_last]: common tokens, then distinct ones class by class.
    """
    random, bound = RunRandom(seeds), task.vocabulary**-0.5 if scheme == "uniform" else 0.0
    shapes = {
        "Y": (task.contextual, task.vocabulary),
        "Z": (task.num_last, COMMON + DISTINCT * task.next_per_last),
    }
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


def contextual_attention(task: Task, parameters: Parameters) -> Parameters:
    """`c`: c_{l|n} ~ P(l | n) exp(Z[m, l]) over a class's tokens, float64 [R, F, 20]."""
    z = attention_logits(task, parameters["Z"]).double()
    return {"c": torch.softmax(z + torch.from_numpy(TOKEN_CHANCES).log(), dim=2)}


def gradients(
    task: Task, parameters: Parameters, batch: tuple[Tensor, Tensor]
) -> tuple[Tensor, Parameters]:
    """Loss of every run, [R], and the gradients of its mean over the batch."""
    Y, (counts, classes) = parameters["Y"], batch
    of_class = classes[..., None].expand_as(counts)
    z = attention_logits(task, parameters["Z"]).gather(1, of_class)  # [R, B, 20]
    attention = torch.softmax(z + counts.to(z.dtype).log_(), dim=2)
    norm = attention.square().sum(2, keepdim=True).sqrt_()
    combined = attention / norm
    tokens = torch.from_numpy(task.tokens)[classes]
    x = Y.new_zeros(*classes.shape, task.contextual).scatter_(2, tokens, combined)

    log_p = torch.log_softmax(x @ Y, dim=2)  # [R, B, M]
    targets = (task.contextual + task.num_last + classes)[..., None]
    loss = -log_p.gather(2, targets).mean(dim=(1, 2))

    grad_logits = log_p.exp_()  # softmax - one-hot, over B
    grad_logits.scatter_add_(2, targets, grad_logits.new_full((1, 1, 1), -1).expand_as(targets))
    grad_logits /= task.batch
    grad_Y, grad_x = x.mT @ grad_logits, (grad_logits @ Y.mT).gather(2, tokens)

    # Through x = a / |a|, then through the softmax.
    grad_a = (grad_x - combined * (combined * grad_x).sum(2, keepdim=True)) / norm
    grad_z = attention * (grad_a - (attention * grad_a).sum(2, keepdim=True))
    by_class = z.new_zeros(len(z), task.classes, z.shape[2]).scatter_add_(1, of_class, grad_z)
    of_last = by_class.unflatten(1, (task.num_last, task.next_per_last))  # [R, m, n, 20]
    grad_Z = torch.cat([of_last[..., :COMMON].sum(2), of_last[..., COMMON:].flatten(2)], dim=2)
    return loss, {"Y": grad_Y, "Z": grad_Z}
