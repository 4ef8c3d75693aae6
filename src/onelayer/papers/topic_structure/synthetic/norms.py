"""Two-stage dynamics: norms of W_K, W_Q and W_V from near-zero initial values on.

Li, Li & Risteski (2023), 'Observation: two-stage optimization process'.
"""

from collections.abc import Mapping

import numpy as np
import pandas as pd
from torch import Tensor

from onelayer.compute.ensemble import Trained
from onelayer.compute.execution import Execution
from onelayer.papers.topic_structure.synthetic.data import Rows
from onelayer.papers.topic_structure.synthetic.documents import draw
from onelayer.papers.topic_structure.synthetic.training import Plan, Run, train_runs, without_bias
from onelayer.settings.topic_structure_synthetic import TopicModelSettings, TwoStageSettings

NORMS = ("W_K", "W_Q", "W_V")


def two_stages(
    model: TopicModelSettings,
    block: TwoStageSettings,
    batch: int,
    chunk: int,
    execution: Execution = Execution(),
) -> pd.DataFrame:
    """Norms of W_K, W_Q and W_V after every update, for the settings and the cells of the map.

    Args:
        model: the words and their masking.
        block: the trainings.
        batch, chunk: as of `training.Plan`.
        execution: how they run.

    Returns:
        Rows `kind` (setting or map), `name`, `learning_rate`, `noise`, `seed`, `step`, a column for
        each norm, `diverged_at`; norms of a diverged run are NaN from there on.
    """
    rows = stage_documents(model, block)
    asked = [
        ("setting", one.name, one, Run(seed, one.optimizer, one.learning_rate, noise=one.noise))
        for one in block.settings
        for seed in range(one.seeds or block.seeds)
    ]
    asked += [
        ("map", one.name, one, Run(seed, one.optimizer, rate, noise=noise))
        for one in block.maps
        for noise in one.noises
        for rate in one.learning_rates
        for seed in range(block.map_seeds)
    ]
    asked.sort(key=lambda item: (item[2].embedding, item[2].loss, item[3].optimizer))
    parts = []
    for embedding, loss in dict.fromkeys((one.embedding, one.loss) for _, _, one, _ in asked):
        group = [item for item in asked if (item[2].embedding, item[2].loss) == (embedding, loss)]
        plan = Plan(
            batch=batch,
            chunk=chunk,
            steps=block.steps,
            embedding=embedding,
            loss=loss,
            trained=without_bias(embedding),
        )
        trained = train_runs(
            rows,
            [run for *_, run in group],
            plan,
            frobenius,
            range(block.steps + 1),
            execution.part(f"{embedding}-{loss}", f"{embedding} {loss}"),
        )
        parts += _histories(group, trained)
    histories = pd.concat(parts, ignore_index=True)
    order = {one.name: place for place, one in enumerate([*block.settings, *block.maps])}
    return histories.sort_values("name", key=lambda name: name.map(order), kind="stable")


def stage_documents(model: TopicModelSettings, block: TwoStageSettings) -> Rows:
    """The masked documents of the two-stage trainings; masked positions are no keys."""
    return draw(
        model,
        block.documents,
        block.N,
        "two stages",
        concentration=block.concentration,
        masked_attended=False,
    )


def frobenius(matrices: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Frobenius norms of W_K, W_Q and W_V, [runs] each, of matrices [runs, ...] by name."""
    return {name: matrices[name].flatten(1).norm(dim=1) for name in NORMS}


def _histories(group: list[tuple], trained: Trained) -> list[pd.DataFrame]:
    parts = []
    for place, (kind, name, _, run) in enumerate(group):
        diverged = int(trained.diverged_at[place])
        steps = np.array(trained.observed_at)
        norms = {key: trained.observed[key][:, place].double().numpy() for key in NORMS}
        if diverged >= 0:
            # What a run was frozen at is no norm of a training that went on.
            norms = {key: np.where(steps < diverged, norm, np.nan) for key, norm in norms.items()}
        known = {
            "kind": kind,
            "name": name,
            "learning_rate": run.learning_rate,
            "noise": run.noise,
            "seed": run.seed,
        }
        parts.append(pd.DataFrame(known | {"step": steps} | norms | {"diverged_at": diverged}))
    return parts
