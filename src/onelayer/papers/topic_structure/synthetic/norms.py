"""Two-stage dynamics: norms of W_K, W_Q, W_V and of their gradients, from near-zero matrices on.

Li, Li & Risteski (2023), 'Observation: two-stage optimization process', and the 'Intuition' of it:
the gradient of W_K contains the factor W_Q, which starts near 0, and that of W_Q the factor W_K;
that of W_V contains Attn(Z).
"""

import itertools
import operator
from collections.abc import Mapping

import numpy as np
import pandas as pd
from torch import Tensor

from onelayer.compute.ensemble import Trained
from onelayer.compute.execution import Execution
from onelayer.papers.topic_structure.synthetic.data import CountRows, draw
from onelayer.papers.topic_structure.synthetic.model import DocumentBatch, gradients
from onelayer.papers.topic_structure.synthetic.stages import SMALLER
from onelayer.papers.topic_structure.synthetic.training import (
    DocumentBatches,
    Plan,
    Run,
    train_runs,
)
from onelayer.settings.topic_structure_synthetic import (
    StageGradientsSettings,
    SyntheticTraining,
    TopicModelSettings,
    TwoStageSettings,
)

NORMS = ("W_K", "W_Q", "W_V")


def two_stages(
    base: SyntheticTraining,
    block: TwoStageSettings,
    execution: Execution = Execution(),
    first_seed: int = 0,
) -> pd.DataFrame:
    """Norms of W_K, W_Q and W_V after every update, for the settings and the cells of the map.

    Seeds of the settings count from `first_seed` on.

    Returns:
        Rows `kind` (setting or map), `name`, `learning_rate`, `noise`, `seed`, `step`, a column for
        each norm, `diverged_at`; norms of a diverged run are NaN from there on.
    """
    asked = [
        ("setting", one, Run(seed, one.optimizer, one.learning_rate, noise=one.noise))
        for one in block.settings
        for seed in range(first_seed, first_seed + (one.seeds or block.seeds))
    ]
    asked += [
        ("map", one, Run(seed, one.optimizer, rate, noise=noise))
        for one in block.maps
        for noise in one.noises
        for rate in one.learning_rates
        for seed in range(block.map_seeds)
    ]
    together = operator.attrgetter("embedding", "loss", "masked_attended")
    asked.sort(key=lambda item: (*together(item[1]), item[2].optimizer))
    parts = []
    for (embedding, loss, attended), items in itertools.groupby(asked, lambda i: together(i[1])):
        group = list(items)
        runs = [run for *_, run in group]
        plan = Plan(base.batch, base.chunk, block.steps, embedding, loss)
        masked = "" if attended else ", masked words hidden"
        part = execution.part(f"{embedding}-{loss}-{attended:d}", f"{embedding} {loss}{masked}")
        rows = _documents(base.model, block, attended)
        trained = train_runs(rows, runs, plan, frobenius, range(block.steps + 1), part)
        parts += [
            norms_of(kind, one.name, run, trained, place)
            for place, (kind, one, run) in enumerate(group)
        ]
    histories = pd.concat(parts, ignore_index=True)
    order = {one.name: place for place, one in enumerate([*block.settings, *block.maps])}
    return histories.sort_values("name", key=lambda name: name.map(order), kind="stable")


def _documents(
    model: TopicModelSettings, block: TwoStageSettings, masked_attended: bool
) -> CountRows:
    of = {"concentration": block.concentration, "masked_attended": masked_attended}
    return draw(model, block.documents, block.N, "two stages", **of)


def frobenius(matrices: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Frobenius norms of W_K, W_Q and W_V, [runs] each, of matrices [runs, ...] by name."""
    return {name: matrices[name].flatten(1).norm(dim=1) for name in NORMS}


def norms_of(kind: str, name: str, run: Run, trained: Trained, place: int) -> pd.DataFrame:
    """Rows of `two_stages` of one run: that of this place in what `frobenius` observed."""
    steps, diverged = np.array(trained.observed_at), int(trained.diverged_at[place])
    norms = {key: trained.observed[key][:, place].double().numpy() for key in NORMS}
    if diverged >= 0:
        # What a run was frozen at is no norm of a training that went on.
        norms = {key: np.where(steps < diverged, norm, np.nan) for key, norm in norms.items()}
    setting = {"kind": kind, "name": name, "learning_rate": run.learning_rate, "noise": run.noise}
    history = {"seed": run.seed, "step": steps} | norms | {"diverged_at": diverged}
    return pd.DataFrame(setting | history)


def stage_gradients(
    base: SyntheticTraining,
    stages: TwoStageSettings,
    followed: StageGradientsSettings,
    execution: Execution = Execution(),
) -> pd.DataFrame:
    """Norms of W_K, W_Q, W_V and of their gradients, on documents that are the same at all steps.

    The runs are some of those of `two_stages`, looked at now and then.

    Returns:
        Rows `name`, `seed`, `step`; columns `W_K`, `W_Q`, `W_V`; `gradient_W_K` and so on;
        `with_smaller_W_Q` (the norm of W_K's gradient were W_Q a tenth of what it is);
        `diverged_at`.
    """
    parts, looks = [], sorted({*range(0, stages.steps + 1, followed.every), stages.steps})
    for number, one in enumerate(s for s in stages.settings if s.name in followed.settings):
        plan = Plan(base.batch, base.chunk, stages.steps, one.embedding, one.loss)
        rows = _documents(base.model, stages, one.masked_attended)
        shown = DocumentBatches(rows, [0], base.batch, execution.device)(0)

        def observe(
            p: dict[str, Tensor], plan: Plan = plan, shown: DocumentBatch = shown
        ) -> dict[str, Tensor]:
            _, slopes = gradients(p, shown, plan.embedding, plan.loss)
            smaller = p | {name: SMALLER * p[name] for name in ("W_Q", "b_Q") if name in p}
            _, with_smaller = gradients(smaller, shown, plan.embedding, plan.loss)
            of_gradients = {f"gradient_{name}": norm for name, norm in frobenius(slopes).items()}
            shrunk = {"with_smaller_W_Q": frobenius(with_smaller)["W_K"]}
            return frobenius(p) | of_gradients | shrunk

        runs = [
            Run(seed, one.optimizer, one.learning_rate, noise=one.noise)
            for seed in range(followed.seeds)
        ]
        trained = train_runs(rows, runs, plan, observe, looks, execution.part(number, one.name))
        for seed, diverged in enumerate(trained.diverged_at.tolist()):
            columns = {key: values[:, seed].double() for key, values in trained.observed.items()}
            keys = {"name": one.name, "seed": seed, "step": trained.observed_at}
            parts.append(pd.DataFrame(keys | columns | {"diverged_at": diverged}))
    return pd.concat(parts, ignore_index=True)
