"""Times the sweep of Fig. 6 as ensembles against training one run at a time.

The baselines train one model on written-out sequences with autograd and torch's SGD: tokens as
one-hot vectors, as the model's definition reads, and tokens as indices that gather.
"""

from time import process_time
from typing import Any

import torch
from torch.nn import functional

from onelayer.papers.scan_snap.data import Task, draw_counts
from onelayer.papers.scan_snap.simulation import simulate
from onelayer.settings.scan_snap import SimulationSettings

ITERATIONS, SIZES = 100, (1, 3, 5, 10)
RATES, MULTIPLIERS, SEEDS = [0.5, 1.0, 2.0, 3.0], [1.0, 2.0, 5.0, 10.0], 10


def rows() -> list[dict[str, Any]]:
    """The whole sweep of 640 runs, beside runs one at a time (a few, scaled to 640)."""
    ours = _ours()
    runs = len(SIZES) * len(RATES) * len(MULTIPLIERS) * SEEDS
    found = []
    for kind, iterations in (("one-hot", 6), ("gather", 20)):
        per_size = [_one_run(num_last, iterations, kind == "one-hot") for num_last in SIZES]
        loop = sum(per_size) / len(SIZES) * ITERATIONS * runs
        found.append(
            {
                "name": f"scan and snap, {runs} runs x {ITERATIONS} iterations",
                "ours_seconds": ours,
                "baseline_seconds": loop,
                "ratio": loop / ours,
                "note": f"CPU time; one run at a time with {kind} tokens, autograd",
            }
        )
    return found


def _ours() -> float:
    sweep = SimulationSettings(
        num_last=SIZES,
        next_per_last=2,
        lr_Z=RATES,
        lr_Y_multiplier=MULTIPLIERS,
        initial="uniform",
        seeds=SEEDS,
        iterations=ITERATIONS,
    )
    start = process_time()
    simulate(sweep)
    return process_time() - start


def _one_run(num_last: int, iterations: int, one_hot: bool) -> float:
    """Seconds per iteration of a single model, data included."""
    task = Task(num_last, 2)
    M = task.vocabulary
    Y, Z = (torch.empty(M, M).uniform_(-(M**-0.5), M**-0.5).requires_grad_() for _ in "YZ")
    optimizer = torch.optim.SGD([Y, Z], lr=1.0, momentum=0.9)
    start = process_time()
    for step in range(iterations):
        tokens, query, following = _sequences(task, step)
        if one_hot:
            vectors = functional.one_hot(tokens, M).float()
            asked = functional.one_hot(query, M).float()
            scores = torch.einsum("btl,ml,bm->bt", vectors, Z, asked)
            mixed = torch.einsum("bt,btl->bl", torch.softmax(scores, dim=1), vectors)
        else:
            attention = torch.softmax(Z[query].gather(1, tokens), dim=1)
            mixed = torch.zeros(len(tokens), M).scatter_add(1, tokens, attention)
        loss = functional.cross_entropy(functional.normalize(mixed, dim=1) @ Y.T, following)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return (process_time() - start) / iterations


def _sequences(task: Task, step: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Token ids [batch, L - 1], query and next token [batch], written out from the same counts."""
    drawn = draw_counts(task, 0, step)
    sizes = torch.from_numpy(drawn.bounds).diff()
    classes = torch.arange(task.classes).repeat_interleave(sizes)
    counts = torch.from_numpy(drawn.counts).long()
    slots = torch.arange(20).repeat(task.batch).repeat_interleave(counts.flatten())
    slots = slots.reshape(task.batch, -1)
    tokens = torch.where(slots < 10, slots, slots + 10 * classes[:, None])
    query = task.contextual + classes // task.next_per_last
    return tokens, query, task.first_next + classes
