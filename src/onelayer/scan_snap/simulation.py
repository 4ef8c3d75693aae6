"""Trainings over learning rates, sizes and seeds, all as ensembles: the data of Figs. 4 and 6."""

import functools
import itertools

import pandas as pd
import torch

from onelayer.ensemble import Ensemble, Optimizer, train_in_chunks
from onelayer.ensemble.execution import Execution
from onelayer.scan_snap import model
from onelayer.scan_snap.data import SLOTS, Task
from onelayer.scan_snap.measures import ATTENTION, KEYS
from onelayer.settings.scan_snap import SimulationSettings, SlowSettings

CHUNK = 16  # of about so many runs a core's cache holds parameters, momentum and gradients


def simulate(settings: SimulationSettings, execution: Execution = Execution()) -> pd.DataFrame:
    """Train every combination of sizes, learning rates and seeds, and tabulate c.

    A seed has the same data and start under all learning rates.

    Returns:
        A row per run, observed iteration and class: `KEYS`; `c_00` to `c_19`, c_{l|n} of a class's
        20 tokens in the limit of long sequences; `diverged_at` (-1: the run went through).
    """
    grid = itertools.product(range(settings.seeds), settings.lr_Z, settings.lr_Y_multiplier)
    runs = pd.DataFrame(grid, columns=["seed", "lr_Z", "lr_Y_multiplier"])
    tables = []
    for num_last in settings.num_last:
        task = Task(num_last, settings.next_per_last, settings.length, settings.batch)
        trained = train_in_chunks(
            functools.partial(_ensemble, settings, task, runs),
            len(runs),
            CHUNK,
            settings.observed[-1],
            observe=functools.partial(model.contextual_attention, task),
            observe_at=settings.observed,
            loss_every=settings.observed[-1],
            execution=execution.part(num_last),
        )
        axes = [trained.observed_at, runs.index, range(task.classes)]
        axes = pd.MultiIndex.from_product(axes, names=["iteration", "run", "sequence_class"])
        c = trained.observed["c"].numpy()  # [iterations, runs, F, 20]
        trainings = runs.assign(num_last=num_last, diverged_at=trained.diverged_at.numpy())
        tables.append(pd.DataFrame(c.reshape(-1, SLOTS), axes, ATTENTION).join(trainings, on="run"))
    return pd.concat(tables).reset_index()[[*KEYS, *ATTENTION, "diverged_at"]]


def simulate_slower(
    transition: SimulationSettings, slow: SlowSettings, execution: Execution = Execution()
) -> pd.DataFrame:
    """The phase transition at smaller rates; as `simulate`, behind a column `slower`."""
    tables = {s: simulate(slow.at(s, transition), execution.part(s)) for s in slow.slower}
    return pd.concat(tables, names=["slower"]).droplevel(-1).reset_index()


def _ensemble(
    settings: SimulationSettings, task: Task, runs: pd.DataFrame, part: slice
) -> Ensemble:
    runs = runs.iloc[part]
    seeds, lr_Z = runs["seed"].tolist(), torch.tensor(runs["lr_Z"].to_numpy())
    lr_Y = lr_Z * torch.tensor(runs["lr_Y_multiplier"].to_numpy())
    return Ensemble(
        model.initial_parameters(task, seeds, settings.initial),
        functools.partial(model.read_batch, task, seeds),
        Optimizer("sgd", lr={"Y": lr_Y, "Z": lr_Z}, momentum=settings.momentum),
        gradients=functools.partial(model.gradients, task),
        labels=[f"num_last {task.num_last}, {run}" for run in runs.to_dict("records")],
    )
