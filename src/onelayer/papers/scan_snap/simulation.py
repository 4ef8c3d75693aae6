"""Trainings over learning rates, sizes and seeds, all as ensembles: the data of Figs. 4 and 6.

What is kept of a run is c_{l|n}, the attention that a class gives its 20 tokens in the limit of
long sequences, after chosen numbers of iterations.
"""

import functools
import itertools
import math

import pandas as pd
import torch

from onelayer.compute.device import fitting, on_gpu
from onelayer.compute.ensemble import Ensemble, Optimizer, train_in_chunks
from onelayer.compute.execution import Execution
from onelayer.papers.scan_snap import model, positions
from onelayer.papers.scan_snap.data import SLOTS, Task
from onelayer.papers.scan_snap.measures import ATTENTION, KEYS
from onelayer.papers.scan_snap.model import DTYPE
from onelayer.settings.scan_snap import AssumptionSettings, SimulationSettings, SlowSettings

# Parameters, momentum and gradients of about so many runs stay in a core's cache.
CHUNK = 16
MOMENTS = 64  # of a slow run that attention is kept at while a run at rates of 1 takes an iteration


def simulate(
    settings: SimulationSettings,
    execution: Execution = Execution(),
    first_seed: int = 0,
    with_positions: bool = False,
) -> pd.DataFrame:
    """Train all runs and tabulate c.

    Every combination of sizes, learning rates and seeds; a seed has the same data and start under
    all learning rates. Seeds count from `first_seed`. The model of `positions` takes one pair of
    learning rates.

    Returns:
        One row per run, observed iteration and sequence class: `KEYS`, then `c_00` to `c_19`
        (slots 0-9 common, 10-19 distinct), then `diverged_at` (-1 for a run that went through).
    """
    seeds = range(first_seed, first_seed + settings.seeds)
    rates = {name: settings.rates(name) for name in ("lr_Z", "lr_Y_multiplier")}
    runs = pd.DataFrame(itertools.product(seeds, *rates.values()), columns=["seed", *rates])
    tables = []
    for num_last in settings.num_last:
        task = Task(num_last, settings.next_per_last, settings.length, settings.batch)
        part = execution.part(num_last)
        tables.append(_simulate_size(settings, task, runs, part, with_positions))
    return pd.concat(tables, ignore_index=True)


def simulate_changes(
    scan: SimulationSettings, changes: AssumptionSettings, execution: Execution = Execution()
) -> pd.DataFrame:
    """The scan again with the paper's assumptions changed one at a time, all else as it is.

    The abstract assumes (a) no positional encoding, (b) a long input and (c) a decoder that learns
    faster than self-attention.

    Returns:
        `assumption` (`positions`, `length` or `decoder`) and `changed`, to what (`learned`, tokens,
        lr_Y / lr_Z), as texts; then as `simulate`.
    """
    changed = {("length", f"{length}"): {"length": length} for length in changes.lengths} | {
        ("decoder", f"{rate:.15g}"): {"lr_Y_multiplier": [rate]} for rate in changes.lr_Y_multiplier
    }
    tables = {
        key: simulate(scan.model_copy(update=update), execution.part(place, key))
        for place, (key, update) in enumerate(changed.items())
    }
    alone = execution.part("positions")
    tables["positions", "learned"] = simulate(scan, alone, with_positions=True)
    return pd.concat(tables, names=["assumption", "changed"]).droplevel(-1).reset_index()


def simulate_slower(
    transition: SimulationSettings, slow: SlowSettings, execution: Execution = Execution()
) -> pd.DataFrame:
    """The phase transition at rates divided by `slow.slower`; what `slow` does not say is as there.

    Returns:
        `slower`, by how much the rates of `slow` are divided; then as `simulate`, kept every
        `slower` / 64 iterations.
    """
    tables = {}
    for place, slower in enumerate(slow.slower):
        update = {
            "lr_Z": [rate / slower for rate in slow.lr_Z],
            "lr_Y_multiplier": slow.lr_Y_multiplier,
            "seeds": slow.seeds,
            "every": -(-slower // MOMENTS),
            "iterations": transition.iterations + slower * slow.iterations,
        }
        part = execution.part(place, slower)
        tables[slower] = simulate(transition.model_copy(update=update), part)
    return pd.concat(tables, names=["slower"]).droplevel(-1).reset_index()


def chunk_size(pairs: int, most: int) -> int:
    """Runs per ensemble: whole streams of a run per pair of rates, or an equal part of one."""
    if pairs <= most:
        return pairs * (most // pairs)
    parts = next(n for n in range(math.ceil(pairs / most), pairs + 1) if pairs % n == 0)
    return pairs // parts


def _simulate_size(
    settings: SimulationSettings,
    task: Task,
    runs: pd.DataFrame,
    execution: Execution,
    with_positions: bool,
) -> pd.DataFrame:
    pairs, most = len(runs) // settings.seeds, _most_runs(task, execution.device)
    trained = train_in_chunks(
        lambda part: _ensemble(settings, task, runs.iloc[part], execution.device, with_positions),
        len(runs),
        len(runs) if with_positions else chunk_size(pairs, most),
        settings.observed[-1],
        observe=lambda parameters: {"c": model.contextual_attention(task, parameters["Z"])},
        observe_at=settings.observed,
        loss_every=settings.observed[-1],
        execution=execution,
    )
    c = trained.observed["c"].numpy()  # [iterations, runs, F, 20]
    axes = pd.MultiIndex.from_product(
        [trained.observed_at, range(c.shape[1]), range(c.shape[2])],
        names=["iteration", "run", "sequence_class"],
    )
    trainings = runs.assign(num_last=task.num_last, diverged_at=trained.diverged_at.numpy())
    table = pd.DataFrame(c.reshape(-1, SLOTS), axes, ATTENTION).join(trainings, on="run")
    return table.reset_index()[[*KEYS, *ATTENTION, "diverged_at"]]


def _ensemble(
    settings: SimulationSettings, task: Task, runs: pd.DataFrame, device: str, with_positions: bool
) -> Ensemble:
    """Some runs of one size: whole streams, or a part of one, as `chunk_size` makes them."""
    seeds = runs["seed"].tolist()
    if with_positions:
        start, objective = positions.initial_parameters, {"loss": positions.loss}
        batch = functools.partial(positions.write_sequences, task, seeds, device=device)
    else:
        start, objective = model.initial_parameters, {"gradients": model.gradients}
        batch = model.StreamBatches(task, seeds, DTYPE, device)
    parameters = start(task, seeds, settings.initial, DTYPE, device)
    lr_Z = torch.tensor(runs["lr_Z"].to_numpy())
    lr_Y = lr_Z * torch.tensor(runs["lr_Y_multiplier"].to_numpy())
    rates = {name: lr_Y if name in ("Y", "Q") else lr_Z for name in parameters}
    return Ensemble(
        parameters,
        batch,
        Optimizer("sgd", lr=rates, momentum=settings.momentum),
        **objective,
        labels=[
            f"num_last {task.num_last}, lr_Z {row.lr_Z:.15g}, "
            f"lr_Y/lr_Z {row.lr_Y_multiplier:.15g}, seed {row.seed}"
            for row in runs.itertuples()
        ],
    )


def _most_runs(task: Task, device: str) -> int:
    """Runs of one ensemble: those that a core's cache holds, or a GPU's memory.

    On a GPU a run has parameters, momentum and gradients, and a batch's logits, combined vectors
    over all tokens and their slopes.
    """
    if not on_gpu(device):
        return CHUNK
    numbers = 6 * task.contextual * task.vocabulary
    numbers += 4 * task.batch * (task.vocabulary + task.contextual)
    return fitting(numbers * DTYPE.itemsize, device)
