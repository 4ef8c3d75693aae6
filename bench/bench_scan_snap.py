"""Times the sweep of Fig. 6 as ensembles against training one run at a time.

The baselines train one model on written-out sequences with autograd and torch's SGD: tokens as
indices that gather, and as one-hot vectors, as the model's definition reads.
"""

from collections.abc import Iterator

import numpy as np
import torch
from torch.nn import functional

from bench.case import Case, Numbers, Way, Work
from onelayer.papers.scan_snap import model
from onelayer.papers.scan_snap.data import COMMON, DISTINCT, SLOTS, TOKEN_CHANCES, Task, draw_counts
from onelayer.papers.scan_snap.simulation import simulate
from onelayer.settings.root import default_settings
from onelayer.settings.scan_snap import SimulationSettings
from tests.oracle.scan_snap import full_matrices

SCAN_SNAP = default_settings().scan_snap


def cases(small: bool = False) -> Iterator[Case]:
    """A part of the sweep's iterations, all of its settings."""
    yield _case(
        SCAN_SNAP.entropy_sweep.but(
            num_last=[1, 2] if small else [1, 3, 5, 10],
            next_per_last=2,
            lr_Z=[0.5] if small else [0.5, 1.0, 2.0, 3.0],
            lr_Y_multiplier=[1.0, 2.0] if small else [1.0, 2.0, 5.0, 10.0],
            initial="uniform",
            seeds=2 if small else 10,
            iterations=10 if small else 25,
            device="cpu",
        )
    )


def _case(sweep: SimulationSettings) -> Case:
    pairs = len(sweep.rates("lr_Z")) * len(sweep.rates("lr_Y_multiplier"))
    runs = pairs * sweep.seeds * len(sweep.num_last)
    common = {"prepare": _forget_draws, "share": len(sweep.num_last) / runs, "tolerance": 1e-4}
    return Case(
        name=f"scan and snap, {runs} runs x {sweep.iterations} iterations",
        steps=(
            *("simulate_scan_snap", "simulate_scan_snap_assumptions"),
            "simulate_slow_transitions",
        ),
        ours=Way("ours", lambda _: _ours(sweep), prepare=_forget_draws),
        simple=Way(
            "one run at a time: tokens gathered, autograd",
            lambda _: _one_at_a_time(sweep, one_hot=False),
            **common,
        ),
        authors=Way(
            "one run at a time: one-hot tokens, autograd",
            lambda _: _one_at_a_time(sweep, one_hot=True),
            **common,
        ),
        count_work=lambda: _work(sweep, runs),
    )


def _forget_draws() -> None:
    """What was drawn for the run before is drawn again."""
    getattr(draw_counts, "cache_clear", lambda: None)()


def _ours(sweep: SimulationSettings) -> Numbers:
    """Attention at the end of the first run of every size."""
    table = simulate(sweep)
    first = table["seed"].eq(0) & table["iteration"].eq(sweep.iterations)
    for name in ("lr_Z", "lr_Y_multiplier"):
        first &= table[name].eq(sweep.rates(name)[0])
    columns = [f"c_{slot:02}" for slot in range(SLOTS)]
    return {
        f"c, {num_last} query tokens": table[first & table["num_last"].eq(num_last)][columns]
        for num_last in sweep.num_last
    }


def _one_at_a_time(sweep: SimulationSettings, one_hot: bool) -> Numbers:
    return {
        f"c, {num_last} query tokens": _one_run(sweep, num_last, one_hot)
        for num_last in sweep.num_last
    }


def _one_run(sweep: SimulationSettings, num_last: int, one_hot: bool) -> np.ndarray:
    """Attention of every class after training the first run of a size, [F, 20]."""
    task = Task(num_last, sweep.next_per_last, sweep.length, sweep.batch)
    M = task.vocabulary
    start = model.initial_parameters(task, [0], sweep.initial, torch.float32, "cpu")
    Y, Z = (p.requires_grad_() for p in full_matrices(task, start["Y"][0], start["Z"][0]))
    lr_Z = sweep.rates("lr_Z")[0]
    rates = [(Y, lr_Z * sweep.rates("lr_Y_multiplier")[0]), (Z, lr_Z)]
    groups = [{"params": [parameter], "lr": lr} for parameter, lr in rates]
    optimizer = torch.optim.SGD(groups, momentum=sweep.momentum)
    for step in range(sweep.iterations):
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
    slots, classes = torch.arange(SLOTS), torch.arange(task.classes)[:, None]
    tokens = torch.where(slots < COMMON, slots, slots + DISTINCT * classes)
    z = Z.detach()[task.contextual + classes // task.next_per_last, tokens]
    return torch.softmax(z.double() + torch.from_numpy(TOKEN_CHANCES).log(), dim=1).numpy()


def _sequences(task: Task, step: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Token ids [batch, L - 1], query and next token [batch], written out from the same counts."""
    drawn = draw_counts(task, 0, step)
    sizes = torch.from_numpy(drawn.bounds).diff()
    classes = torch.arange(task.classes).repeat_interleave(sizes)
    counts = torch.from_numpy(drawn.counts).long()
    slots = torch.arange(SLOTS).repeat(task.batch).repeat_interleave(counts.flatten())
    slots = slots.reshape(task.batch, -1)
    tokens = torch.where(slots < COMMON, slots, slots + DISTINCT * classes[:, None])
    query = task.contextual + classes // task.next_per_last
    return tokens, query, task.first_next + classes


def _work(sweep: SimulationSettings, runs: int) -> Work:
    """Logits of 20 tokens a sequence, and twice as much back."""
    tasks = [Task(num_last, sweep.next_per_last) for num_last in sweep.num_last]
    each = [6 * sweep.batch * SLOTS * task.vocabulary for task in tasks]
    weights = [task.contextual * task.vocabulary for task in tasks]
    steps = runs / len(tasks) * sweep.iterations
    return Work(
        flops=steps * sum(each),
        bytes=steps * 4 * 4 * sum(weights),
        rate="torch float32",
        formula="6 B 20 M flops a run and step; momentum, 16 bytes a weight of Y",
    )
