"""Trainings over learning rates, sizes and seeds, all as ensembles: the data of Figs. 4 and 6.

What is kept of a run is c_{l|n}, the attention that a class gives its 20 tokens in the limit of
long sequences, after chosen numbers of iterations.
"""

import itertools
import math

import pandas as pd
import torch

from onelayer.compute.device import fitting, on_gpu
from onelayer.compute.ensemble import Ensemble, Optimizer, Trained, train_in_chunks
from onelayer.compute.execution import Execution
from onelayer.papers.scan_snap import model
from onelayer.papers.scan_snap.data import Task
from onelayer.papers.scan_snap.measures import ATTENTION, KEYS
from onelayer.settings.scan_snap import SimulationSettings

# Parameters, momentum and gradients of about so many runs stay in a core's cache.
CHUNK = 16


def simulate(
    settings: SimulationSettings,
    execution: Execution = Execution(),
    dtype: torch.dtype = torch.float32,
    first_seed: int = 0,
) -> pd.DataFrame:
    """Train all runs and tabulate c.

    Args:
        settings: what is trained: every combination of sizes, learning rates and seeds; a seed has
            the same data and start under all learning rates.
        execution: where; the state of each size is kept in turn.
        dtype: of the parameters; the paper's is float32.
        first_seed: the seeds are as many as the settings say, from this one on.

    Returns:
        One row per run, observed iteration and sequence class: `KEYS`, then `c_00` to `c_19`
        (slots 0-9 common, 10-19 distinct), then `diverged_at` (-1 for a run that went through).
    """
    tables = []
    for num_last in settings.num_last:
        task = Task(num_last, settings.next_per_last, settings.length, settings.batch)
        trained = _train(settings, task, execution.part(num_last), dtype, first_seed)
        tables.append(tabulate(settings, task, trained, first_seed))
    return pd.concat(tables, ignore_index=True)


def runs(settings: SimulationSettings, first_seed: int = 0) -> pd.DataFrame:
    """The runs of one size in order: columns `seed`, `lr_Z`, `lr_Y_multiplier`, seed by seed."""
    names = ["lr_Z", "lr_Y_multiplier"]
    seeds = range(first_seed, first_seed + settings.seeds)
    rates = itertools.product(seeds, *(settings.rates(name) for name in names))
    return pd.DataFrame(rates, columns=["seed", *names])


def chunk_size(pairs: int, most: int) -> int:
    """Runs per ensemble: whole streams of a run per pair of rates, or an equal part of one."""
    if pairs <= most:
        return pairs * (most // pairs)
    parts = next(n for n in range(math.ceil(pairs / most), pairs + 1) if pairs % n == 0)
    return pairs // parts


def ensemble_of(
    settings: SimulationSettings,
    task: Task,
    part: slice,
    device: str = "cpu",
    dtype: torch.dtype = torch.float32,
    first_seed: int = 0,
) -> Ensemble:
    """The ensemble of some runs of one size, `part` as `chunk_size` makes it."""
    table = runs(settings, first_seed).iloc[part]
    streams = table["seed"].unique().tolist()

    def draw(step: int) -> model.Batch:
        return model.draw_batch(task, streams, step, dtype, device)

    lr_Z = torch.tensor(table["lr_Z"].to_numpy())
    lr_Y = lr_Z * torch.tensor(table["lr_Y_multiplier"].to_numpy())
    return Ensemble(
        model.initial_parameters(task, table["seed"].tolist(), settings.initial, dtype, device),
        model.GpuBatches(task, streams, dtype, device) if on_gpu(device) else draw,
        Optimizer("sgd", lr={"Y": lr_Y, "Z": lr_Z}, momentum=settings.momentum),
        gradients=model.gradients,
        labels=[
            f"num_last {task.num_last}, lr_Z {row.lr_Z:g}, lr_Y/lr_Z {row.lr_Y_multiplier:g}, "
            f"seed {row.seed}"
            for row in table.itertuples()
        ],
    )


def _train(
    settings: SimulationSettings,
    task: Task,
    execution: Execution,
    dtype: torch.dtype,
    first_seed: int,
) -> Trained:
    pairs = len(settings.rates("lr_Z")) * len(settings.rates("lr_Y_multiplier"))
    return train_in_chunks(
        lambda part: ensemble_of(settings, task, part, execution.device, dtype, first_seed),
        pairs * settings.seeds,
        chunk_size(pairs, _most_runs(task, execution.device, dtype)),
        settings.observed[-1],
        observe=lambda parameters: {"c": model.contextual_attention(task, parameters["Z"])},
        observe_at=settings.observed,
        loss_every=settings.observed[-1],
        execution=execution,
    )


def _most_runs(task: Task, device: str, dtype: torch.dtype) -> int:
    """Runs of one ensemble: those that a core's cache holds, or a GPU's memory.

    On a GPU a run has parameters, momentum and gradients, and a batch's logits, combined vectors
    over all tokens and their slopes.
    """
    if not on_gpu(device):
        return CHUNK
    numbers = 6 * task.contextual * task.vocabulary
    numbers += 4 * task.batch * (task.vocabulary + task.contextual)
    return fitting(numbers * dtype.itemsize, device)


def tabulate(
    settings: SimulationSettings, task: Task, trained: Trained, first_seed: int = 0
) -> pd.DataFrame:
    """C of the runs of one size, as `simulate` returns it; `trained` observed `c`."""
    c = trained.observed["c"].numpy()  # [iterations, runs, F, 20]
    axes = pd.MultiIndex.from_product(
        [trained.observed_at, range(c.shape[1]), range(c.shape[2])],
        names=["iteration", "run", "sequence_class"],
    ).to_frame(index=False)
    table = runs(settings, first_seed).assign(diverged_at=trained.diverged_at.numpy())
    table = axes.merge(table, left_on="run", right_index=True, how="left").drop(columns="run")
    table = table.assign(num_last=task.num_last)[[*KEYS, "diverged_at"]]
    attention = pd.DataFrame(c.reshape(-1, len(ATTENTION)), columns=ATTENTION)
    return pd.concat([table[KEYS], attention, table[["diverged_at"]]], axis=1)
