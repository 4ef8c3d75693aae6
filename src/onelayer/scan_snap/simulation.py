"""Trainings over learning rates, sizes and seeds, all as ensembles: the data of Figs. 4 and 6.

What is kept of a run is c_{l|n}, the attention that a class gives its 20 tokens in the limit of
long sequences, after chosen numbers of iterations.
"""

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
        A row per run, observed iteration and class: `KEYS`, `c_00` to `c_19`, then `diverged_at`
        (-1 for a run that went through).
    """
    grid = itertools.product(range(settings.seeds), settings.lr_Z, settings.lr_Y_multiplier)
    runs = pd.DataFrame(grid, columns=["seed", "lr_Z", "lr_Y_multiplier"])
    return pd.concat(
        [_simulate(settings, m, runs, execution.part(m)) for m in settings.num_last],
        ignore_index=True,
    )


def simulate_slower(
    transition: SimulationSettings, slow: SlowSettings, execution: Execution = Execution()
) -> pd.DataFrame:
    """The phase transition at smaller rates; as `simulate`, behind a column `slower`."""
    tables = {
        slower: simulate(slow.at(slower, transition), execution.part(f"slower-{slower}"))
        for slower in slow.slower
    }
    return pd.concat(tables, names=["slower"]).droplevel(-1).reset_index()


def _simulate(
    settings: SimulationSettings, num_last: int, runs: pd.DataFrame, execution: Execution
) -> pd.DataFrame:
    task = Task(num_last, settings.next_per_last, settings.length, settings.batch)
    trained = train_in_chunks(
        lambda part: _ensemble(settings, task, runs.iloc[part]),
        len(runs),
        CHUNK,
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
    trainings = runs.assign(num_last=num_last, diverged_at=trained.diverged_at.numpy())
    table = pd.DataFrame(c.reshape(-1, SLOTS), axes, ATTENTION).join(trainings, on="run")
    return table.reset_index()[[*KEYS, *ATTENTION, "diverged_at"]]


def _ensemble(settings: SimulationSettings, task: Task, runs: pd.DataFrame) -> Ensemble:
    seeds, lr_Z = runs["seed"].tolist(), torch.tensor(runs["lr_Z"].to_numpy())
    lr_Y = lr_Z * torch.tensor(runs["lr_Y_multiplier"].to_numpy())
    return Ensemble(
        model.initial_parameters(task, seeds, settings.initial),
        functools.partial(model.read_batch, task, seeds),
        Optimizer("sgd", lr={"Y": lr_Y, "Z": lr_Z}, momentum=settings.momentum),
        gradients=model.gradients,
        labels=[
            f"num_last {task.num_last}, lr_Z {run.lr_Z:.15g}, "
            f"lr_Y/lr_Z {run.lr_Y_multiplier:.15g}, seed {run.seed}"
            for run in runs.itertuples()
        ],
    )
