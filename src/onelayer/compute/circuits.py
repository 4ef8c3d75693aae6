"""Values and attention of a one-layer model, each at a rate of its own: how far both have moved.

The same for every model: what multiplies what is attended to (its value circuit) and what decides
to whom (its attention logits), as matrices, and their distances from where they started.
"""

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from torch import Tensor

from onelayer.compute.ensemble import Ensemble, Optimizer, train
from onelayer.compute.execution import Execution
from onelayer.settings.circuits import CircuitSettings, FollowedSettings

Tensors = dict[str, Tensor]


@dataclass(frozen=True)
class Model:
    """A one-layer model as `follow` trains it; R runs.

    Attributes:
        start: seeds, one per run -> parameters at their usual random start, [R, ...] each.
        scaled: names of the parameters whose start is scaled.
        attention: names of the parameters that train at attention's rate.
        circuits: parameters -> value circuit and attention logits, [R, ...] each.
        batch: seeds -> the data of a step, as `Ensemble.batch`.
        objective: `loss` or `gradients`, as of `Ensemble`.
    """

    start: Callable[[Sequence[int]], Tensors]
    scaled: tuple[str, ...]
    attention: tuple[str, ...]
    circuits: Callable[[Tensors], tuple[Tensor, Tensor]]
    batch: Callable[[Sequence[int]], Callable[[int], Any]]
    objective: Mapping[str, Callable]


def times(steps: int, count: int) -> list[int]:
    """About `count` steps from 0 to the last, as far apart as they are late."""
    return sorted({0, *np.geomspace(1, steps, count).round().astype(int).tolist()})


def follow(
    model: Model,
    how: FollowedSettings,
    settings: CircuitSettings,
    execution: Execution = Execution(),
) -> pd.DataFrame:
    """Train every combination from every seed, constant rates, no momentum.

    Args:
        model: what is trained.
        how: its learning rates and steps.
        settings: scales, ratios and seeds, and how many `times` are kept.
        execution: where.

    Returns:
        Rows `optimizer`, `scale`, `ratio`, `seed`, `step`; `value` and `attention`, Frobenius
        distances from the start; `loss` of the batch at that step (the last of all at the end). NaN
        from where a run diverged on.
    """
    names = ["seed", "optimizer", "scale", "ratio"]
    chosen = range(settings.seeds), how.rates, settings.scales, settings.ratios
    runs, steps = pd.DataFrame(itertools.product(*chosen), columns=names), how.steps
    of_run = runs["seed"].tolist()
    parameters = model.start(of_run)
    for name in model.scaled:
        scale = parameters[name].new_tensor(runs["scale"].to_numpy())
        parameters[name] = parameters[name] * scale.reshape(-1, *[1] * (parameters[name].ndim - 1))
    rate = np.array([how.rates[name] for name in runs["optimizer"]])
    start = model.circuits(parameters)

    def observe(now: Tensors) -> Tensors:
        both = zip(("value", "attention"), model.circuits(now), start, strict=True)
        return {name: (one - first).flatten(1).norm(dim=1) for name, one, first in both}

    ensemble = Ensemble(
        parameters,
        model.batch(of_run),
        Optimizer(
            runs["optimizer"].tolist(),
            lr={
                name: rate * runs["ratio"].to_numpy() if name in model.attention else rate
                for name in parameters
            },
        ),
        **model.objective,
        labels=[", ".join(f"{k} {v}" for k, v in run.items()) for run in runs.to_dict("records")],
    )
    observe_at = times(steps, settings.observed)
    trained = train(ensemble, steps, observe=observe, observe_at=observe_at, execution=execution)
    step = np.array(trained.observed_at)
    rows = runs.merge(pd.DataFrame({"step": step}), how="cross")
    diverged = trained.diverged_at.numpy().repeat(len(step))
    went = (diverged < 0) | (rows["step"].to_numpy() < diverged)
    columns = {name: trained.observed[name].double() for name in ("value", "attention")}
    columns["loss"] = trained.losses[np.minimum(step, steps - 1)]
    for name, values in columns.items():
        rows[name] = np.where(went, values.numpy().T.ravel(), np.nan)
    return rows
