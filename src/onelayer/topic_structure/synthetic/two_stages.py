"""'Observation: two-stage optimization process': norms of W_K, W_Q and W_V from near zero on.

W_V grows first while W_K and W_Q stay near their initial values, then these grow while W_V stays
relatively flat.
"""

import itertools

import numpy as np
import pandas as pd

from onelayer.ensemble.execution import Execution
from onelayer.settings import topic_structure_synthetic as blocks
from onelayer.topic_structure.synthetic.data import draw
from onelayer.topic_structure.synthetic.train import Run, train_runs

NORMS = ("W_K", "W_Q", "W_V")


def two_stages(
    base: blocks.SyntheticTraining, block: blocks.TwoStageSettings, execution=Execution()
) -> pd.DataFrame:
    """Norms of W_K, W_Q and W_V after every update, for the settings and the cells of the maps.

    Returns:
        Rows `name`, `learning_rate`, `noise`, `seed`, `step`, a column for each norm,
        `diverged_at`; norms of a diverged run are NaN from there on.
    """
    asked = []
    for one in block.trainings:
        seeds = range(one.seeds or (block.map_seeds if one.is_map else block.seeds))
        for noise, rate, seed in itertools.product(one.noises, one.learning_rates, seeds):
            asked.append((one, Run(seed, one.optimizer, rate, noise=noise)))

    def together(item: tuple) -> tuple:
        return item[0].embedding, item[0].loss, item[0].masked_attended

    parts = {one.name: [] for one in block.trainings}
    asked.sort(key=lambda item: (*together(item), item[1].optimizer))
    for (embedding, loss, attended), group in itertools.groupby(asked, together):
        items = list(group)
        of = {"concentration": block.concentration, "masked_attended": attended}
        rows = draw(base.model, block.documents, block.N, "two stages", **of)
        state = f"{embedding}-{loss}-{attended:d}"
        trained = train_runs(
            *(base, rows, [run for _, run in items], embedding, loss, block.steps),
            lambda p: {name: p[name].flatten(1).norm(dim=1) for name in NORMS},
            range(block.steps + 1),
            execution=execution.part(state, (embedding, loss, attended)),
        )
        steps = np.array(trained.observed_at)
        for place, (one, run) in enumerate(items):
            diverged = int(trained.diverged_at[place])
            of = {"name": one.name, "learning_rate": run.learning_rate, "noise": run.noise}
            part = pd.DataFrame(of | {"seed": run.seed, "step": steps})
            # What a run was frozen at is no norm of a training that went on.
            went_on = (steps < diverged) | (diverged < 0)
            for key in NORMS:
                norm = trained.observed[key][:, place].double().numpy()
                part[key] = np.where(went_on, norm, np.nan)
            parts[one.name].append(part.assign(diverged_at=diverged))
    return pd.concat([*itertools.chain(*parts.values())], ignore_index=True)
