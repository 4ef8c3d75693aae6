"""The one-layer transformer with positions: the paper's assumption (a), taken back.

A contextual token enters as its own one-hot vector beside that of its place, so that attention has
a logit R[m, t] for every place t beside Z[m, l], and the decoder reads attention on places through
columns Q of its own. With u_l the attention on all copies of token l:
logits = (Y u + Q a) / sqrt(|u|^2 + |a|^2).

Counts no longer say all, so sequences are written out: those of `data.draw_counts`, their tokens in
random order. Shapes: S runs, one of each seed; B sequences of T contextual tokens; F classes; I
contextual tokens of M in the vocabulary.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from onelayer.compute.device import to_device
from onelayer.compute.seeds import generator
from onelayer.papers.scan_snap import model
from onelayer.papers.scan_snap.data import COMMON, DISTINCT, SLOTS, Task, draw_counts
from onelayer.papers.scan_snap.model import Parameters


@dataclass(frozen=True, eq=False)
class Written:
    """One step's sequences of every run.

    Attributes:
        slots: int64 [S, B, T], which of its class's 20 tokens stands at each place.
        classes: int64 [S, B].
    """

    task: Task
    slots: Tensor
    classes: Tensor


def write_sequences(task: Task, seeds: Sequence[int], step: int, device: str = "cpu") -> Written:
    """The sequences of one step, the same counts as `model.StreamBatches` has."""
    slots, classes = [], []
    for seed in seeds:
        drawn = draw_counts(task, seed, step)
        every = np.tile(np.arange(SLOTS), task.batch)
        rows = np.repeat(every, drawn.counts.ravel()).reshape(task.batch, -1)
        slots.append(generator("scan and snap order", task, seed, step).permuted(rows, axis=1))
        classes.append(drawn.classes)
    return Written(task, *(to_device(np.stack(rows), device) for rows in (slots, classes)))


def initial_parameters(
    task: Task, seeds: Sequence[int], scheme: str, dtype: torch.dtype, device: str
) -> Parameters:
    """Y and Z as without positions; R [S, num_last, T] and Q [S, T, M], transposed, are zero."""
    T, options = task.length - 1, {"dtype": dtype, "device": device}
    return model.initial_parameters(task, seeds, scheme, dtype, device) | {
        "R": torch.zeros(len(seeds), task.num_last, T, **options),
        "Q": torch.zeros(len(seeds), T, task.vocabulary, **options),
    }


def loss(parameters: Parameters, batch: Written) -> Tensor:
    """Mean cross-entropy with the next token of every run, [S]."""
    task, slots, classes = batch.task, batch.slots, batch.classes
    of_tokens = model.attention_logits(task, parameters["Z"])  # [S, F, 20]
    of_tokens = _rows(of_tokens, classes).gather(2, slots)
    of_places = _rows(parameters["R"], classes // task.next_per_last)
    a = torch.softmax(of_tokens + of_places, dim=2)  # [S, B, T]
    ids = slots + torch.where(slots < COMMON, 0, DISTINCT * classes[:, :, None])
    u = a.new_zeros(*classes.shape, task.contextual).scatter_add(2, ids, a)
    norm = (u.square().sum(2, keepdim=True) + a.square().sum(2, keepdim=True)).sqrt()
    logits = (u @ parameters["Y"] + a @ parameters["Q"]) / norm
    targets = classes + task.first_next
    surprise = functional.cross_entropy(logits.flatten(0, 1), targets.flatten(), reduction="none")
    return surprise.view_as(classes).mean(dim=1)


def _rows(table: Tensor, which: Tensor) -> Tensor:
    """Rows of [S, rows, columns] that belong to each sequence, [S, B, columns]."""
    return table.gather(1, which[:, :, None].expand(-1, -1, table.shape[2]))
