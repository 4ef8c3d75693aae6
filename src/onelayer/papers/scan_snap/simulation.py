"""Trainings over learning rates, sizes and seeds, all as ensembles: the data of Figs. 4 and 6.

What is kept of a run is c_{l|n}, the attention that a class gives its 20 tokens in the limit of
long sequences, after chosen numbers of iterations.
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd
import torch

from onelayer.ensemble import Ensemble, Optimizer, Trained, train_in_chunks
from onelayer.execution import Execution
from onelayer.papers.scan_snap import model
from onelayer.papers.scan_snap.data import Task
from onelayer.papers.scan_snap.measures import ATTENTION, KEYS

# Parameters, momentum and gradients of about so many runs stay in a core's cache; a GPU wants more.
CHUNK = {"cpu": 16, "cuda": 4000}


@dataclass(frozen=True)
class Simulation:
    """What is trained: every combination of sizes, learning rates and seeds.

    Attributes:
        num_last: numbers of query tokens.
        next_per_last: next tokens of each query token.
        length, batch: tokens in a sequence (L), sequences in a batch.
        lr_Z: learning rates of the attention logits Z.
        lr_Y_multiplier: lr_Y / lr_Z, lr_Y being the learning rate of the decoder Y.
        momentum: of SGD.
        initial: `zero` or `uniform`, see `model.initial_parameters`.
        seeds: seeds 0 .. seeds - 1; a seed has the same data and start under all learning rates.
        observed: iterations after which c is kept, ascending; the last one ends the training.
    """

    num_last: Sequence[int]
    next_per_last: int
    length: int
    batch: int
    lr_Z: Sequence[float]
    lr_Y_multiplier: Sequence[float]
    momentum: float
    initial: str
    seeds: int
    observed: Sequence[int]


def simulate(
    simulation: Simulation,
    execution: Execution = Execution(),
    dtype: torch.dtype = torch.float32,
) -> pd.DataFrame:
    """Train all runs and tabulate c.

    Args:
        simulation: what is trained.
        execution: where; the state of each size is kept in turn.
        dtype: of the parameters; the paper's is float32.

    Returns:
        One row per run, observed iteration and sequence class: `KEYS`, then `c_00` to `c_19`
        (slots 0-9 common, 10-19 distinct), then `diverged_at` (-1 for a run that went through).
    """
    tables = []
    for num_last in simulation.num_last:
        task = Task(num_last, simulation.next_per_last, simulation.length, simulation.batch)
        trained = _train(simulation, task, execution.part(num_last), dtype)
        tables.append(_tabulate(simulation, task, trained))
    return pd.concat(tables, ignore_index=True)


def runs(simulation: Simulation) -> pd.DataFrame:
    """The runs of one size in order: columns `seed`, `lr_Z`, `lr_Y_multiplier`, seed by seed."""
    rates = itertools.product(range(simulation.seeds), simulation.lr_Z, simulation.lr_Y_multiplier)
    return pd.DataFrame(rates, columns=["seed", "lr_Z", "lr_Y_multiplier"])


def chunk_size(settings: int, most: int) -> int:
    """Runs per ensemble: whole streams of `settings` runs, or an equal part of one stream."""
    if settings <= most:
        return settings * (most // settings)
    parts = next(n for n in range(math.ceil(settings / most), settings + 1) if settings % n == 0)
    return settings // parts


def ensemble_of(
    simulation: Simulation,
    task: Task,
    part: slice,
    device: str = "cpu",
    dtype: torch.dtype = torch.float32,
) -> Ensemble:
    """The ensemble of some runs of one size, `part` as `chunk_size` makes it."""
    table = runs(simulation).iloc[part]
    streams = table["seed"].unique().tolist()
    lr_Z = torch.tensor(table["lr_Z"].to_numpy())
    lr_Y = lr_Z * torch.tensor(table["lr_Y_multiplier"].to_numpy())
    return Ensemble(
        model.initial_parameters(task, table["seed"].tolist(), simulation.initial, dtype, device),
        lambda step: model.draw_batch(task, streams, step, dtype, device),
        Optimizer("sgd", lr={"Y": lr_Y, "Z": lr_Z}, momentum=simulation.momentum),
        gradients=model.gradients,
        labels=[
            f"num_last {task.num_last}, lr_Z {row.lr_Z:g}, lr_Y/lr_Z {row.lr_Y_multiplier:g}, "
            f"seed {row.seed}"
            for row in table.itertuples()
        ],
    )


def _train(
    simulation: Simulation,
    task: Task,
    execution: Execution,
    dtype: torch.dtype,
) -> Trained:
    settings = len(simulation.lr_Z) * len(simulation.lr_Y_multiplier)
    return train_in_chunks(
        lambda part: ensemble_of(simulation, task, part, execution.device, dtype),
        settings * simulation.seeds,
        chunk_size(settings, CHUNK[execution.device]),
        simulation.observed[-1],
        observe=lambda parameters: {"c": model.contextual_attention(task, parameters["Z"])},
        observe_at=simulation.observed,
        loss_every=simulation.observed[-1],
        execution=execution,
    )


def _tabulate(simulation: Simulation, task: Task, trained: Trained) -> pd.DataFrame:
    c = trained.observed["c"].numpy()  # [iterations, runs, F, 20]
    axes = pd.MultiIndex.from_product(
        [trained.observed_at, range(c.shape[1]), range(c.shape[2])],
        names=["iteration", "run", "sequence_class"],
    ).to_frame(index=False)
    table = runs(simulation).assign(diverged_at=trained.diverged_at.numpy())
    table = axes.merge(table, left_on="run", right_index=True, how="left").drop(columns="run")
    table = table.assign(num_last=task.num_last)[[*KEYS, "diverged_at"]]
    attention = pd.DataFrame(c.reshape(-1, len(ATTENTION)), columns=ATTENTION)
    return pd.concat([table[KEYS], attention, table[["diverged_at"]]], axis=1)
