"""Norms of W_K, W_Q and W_V over training from near-zero matrices: the two stages."""

import itertools

import numpy as np
import pandas as pd

from onelayer.ensemble import Trained
from onelayer.ensemble.execution import Execution
from onelayer.settings.topic_structure_synthetic import (
    StageModel,
    SyntheticTraining,
    TwoStageSettings,
)
from onelayer.topic_structure.synthetic.data import draw
from onelayer.topic_structure.synthetic.train import Run, train_runs

NORMS = ("W_K", "W_Q", "W_V")


def _together(one: StageModel) -> tuple:
    """What runs of one training share."""
    return one.embedding, one.loss, one.masked_attended


def two_stages(
    base: SyntheticTraining, block: TwoStageSettings, execution: Execution = Execution()
) -> pd.DataFrame:
    """Norms of W_K, W_Q and W_V after every update, for the settings and the cells of the maps.

    Returns:
        Rows `kind` (setting or map), `name`, `learning_rate`, `noise`, `seed`, `step`, a column for
        each norm, `diverged_at`; norms of a diverged run are NaN from there on.
    """
    asked = [
        ("setting", one, Run(seed, one.optimizer, one.learning_rate, noise=one.noise))
        for one in block.settings
        for seed in range(one.seeds or block.seeds)
    ]
    asked += [
        ("map", one, Run(seed, one.optimizer, rate, noise=noise))
        for one in block.maps
        for noise in one.noises
        for rate in one.learning_rates
        for seed in range(block.map_seeds)
    ]
    asked.sort(key=lambda item: (*_together(item[1]), item[2].optimizer))
    parts = []
    for (embedding, loss, attended), items in itertools.groupby(
        asked, lambda item: _together(item[1])
    ):
        group = list(items)
        of = {"concentration": block.concentration, "masked_attended": attended}
        rows = draw(base.model, block.documents, block.N, "two stages", **of)
        trained = train_runs(
            base,
            rows,
            [run for *_, run in group],
            embedding,
            loss,
            block.steps,
            lambda p: {name: p[name].flatten(1).norm(dim=1) for name in NORMS},
            range(block.steps + 1),
            execution=execution.part(
                f"{embedding}-{loss}-{attended:d}", f"{embedding} {loss} {attended}"
            ),
        )
        parts += [
            _history(kind, one.name, run, trained, place)
            for place, (kind, one, run) in enumerate(group)
        ]
    order = {one.name: place for place, one in enumerate([*block.settings, *block.maps])}
    norms = pd.concat(parts, ignore_index=True)
    return norms.sort_values("name", key=lambda name: name.map(order), kind="stable")


def _history(kind: str, name: str, run: Run, trained: Trained, place: int) -> pd.DataFrame:
    steps, diverged = np.array(trained.observed_at), int(trained.diverged_at[place])
    norms = {key: trained.observed[key][:, place].double().numpy() for key in NORMS}
    if diverged >= 0:
        # What a run was frozen at is no norm of a training that went on.
        norms = {key: np.where(steps < diverged, norm, np.nan) for key, norm in norms.items()}
    setting = {"kind": kind, "name": name, "learning_rate": run.learning_rate, "noise": run.noise}
    history = {"seed": run.seed, "step": steps} | norms | {"diverged_at": diverged}
    return pd.DataFrame(setting | history)
