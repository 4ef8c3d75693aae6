"""The gap of W_V alone and of the embeddings alone under uniform attention, beside the theorems.

Li, Li & Risteski (2023), 'Result: embeddings encode topic structure', 'Stage 1 result: W_V encodes
topic structure'; and the heat maps of the embeddings with all components trained.
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
from torch import Tensor

from onelayer.compute.checkpoint import Checkpoint
from onelayer.compute.execution import Execution
from onelayer.papers.topic_structure.synthetic import closed_form
from onelayer.papers.topic_structure.synthetic.data import SPECIAL, Vocabulary, draw
from onelayer.papers.topic_structure.synthetic.training import Plan, Run, train_runs
from onelayer.settings.topic_structure_synthetic import (
    ComponentSettings,
    SyntheticTraining,
    TheorySettings,
    TopicModelSettings,
)

# W_V alone on one-hot words, or the embeddings alone: their kind, and what is trained.
ALONE = {"W_V": ("one_hot", "W_V"), "E": ("trained", "W_E")}
# From parameters to the matrix of which the theorems say the gap.
OBSERVED = {
    "W_V": lambda parameters: {"matrix": parameters["W_V"]},
    "E": lambda parameters: {"matrix": parameters["W_E"].mT @ parameters["W_E"]},
}


def uniform_attention(
    base: SyntheticTraining,
    theory: TheorySettings,
    components: ComponentSettings,
    execution: Execution = Execution(),
) -> tuple[pd.DataFrame, dict[str, np.ndarray]]:
    """Gaps of W_V and E, in closed form and trained, and the matrices of the heat maps.

    Returns:
        Rows `parameter` (W_V or E), `masked` (attended or hidden), `loss`, `optimizer`,
        `weight_decay`, `seed`, `gap`, `theory`, `diverged_at`; and the first seed's W_V (trained
        alone) and E (all components trained) by `parameter/loss/optimizer`, [D, D].
    """
    execution = replace(execution, checkpoint=Checkpoint())  # each training takes seconds
    model, parts, matrices = base.model, [], {}
    for masked, losses in (("attended", ("squared", "cross_entropy")), ("hidden", ("squared",))):
        kind = {"tau": theory.tau, "masked_attended": masked == "attended"}
        rows = draw(model, theory.documents, theory.N, "theory", **kind)
        decays, expected = theory.weight_decays, closed_form.theory_gap(model)
        if masked == "hidden":
            words = float(rows.keys[:, SPECIAL:].sum(axis=1).mean())
            decays, expected = [0.0], closed_form.theory_gap_hidden(model.v, words)
        setting = {"masked": masked, "loss": "squared", "theory": expected}
        moments = closed_form.moments(rows)
        runs = [Run(0, "closed form", math.nan, decay) for decay in decays]
        for parameter, solve in closed_form.OPTIMA.items():
            optima = np.stack([solve(moments, decay) for decay in decays])
            parts.append(_gaps(model, runs, optima, -1, setting | {"parameter": parameter}))
        for parameter, loss in itertools.product(closed_form.OPTIMA, losses):
            runs = _gap_runs(theory, parameter, loss, decays)
            embedding, alone = ALONE[parameter]
            plan = Plan(base.batch, base.chunk, theory.steps, embedding, loss, trained=(alone,))
            observed = OBSERVED[parameter]
            trained = train_runs(rows.by_document(), runs, plan, observed, execution=execution)
            ends = trained.observed["matrix"][-1]
            setting |= {"parameter": parameter, "loss": loss}
            setting["theory"] = expected if loss == "squared" else np.nan
            parts.append(_gaps(model, runs, ends, trained.diverged_at, setting))
            if masked == "attended" and parameter == "W_V":
                for run, matrix in zip(runs, ends, strict=True):
                    if run.seed == 0 and run.weight_decay == 0:
                        matrices[f"W_V/{loss}/{run.optimizer}"] = matrix.numpy()
    gaps = pd.concat(parts, ignore_index=True)
    return gaps, matrices | _all_components(base, components, execution)


def _gap_runs(
    theory: TheorySettings, parameter: str, loss: str, decays: Sequence[float]
) -> list[Run]:
    rates = theory.cross_entropy_rates
    if loss == "squared":
        sgd = theory.sgd_rate_value if parameter == "W_V" else theory.sgd_rate_embedding
        rates = {"adam": theory.adam_rate, "sgd": sgd}
    return [
        Run(seed, optimizer, rate, decay)
        for optimizer, rate in rates.items()
        for decay in (decays if loss == "squared" else [0.0])
        for seed in range(theory.seeds)
    ]


def _gaps(
    model: TopicModelSettings,
    runs: Sequence[Run],
    matrices: Tensor | np.ndarray,
    diverged_at: Tensor | int,
    setting: dict,
) -> pd.DataFrame:
    gaps = closed_form.gap(Vocabulary(model.T, model.v), matrices)
    of_runs = pd.DataFrame(runs)[["optimizer", "weight_decay", "seed"]]
    return of_runs.assign(gap=gaps, diverged_at=diverged_at, **setting)


def _all_components(
    base: SyntheticTraining, components: ComponentSettings, execution: Execution
) -> dict[str, np.ndarray]:
    """E with everything trained, by `E/loss/optimizer`, [D, D]; NaN where it diverged."""
    matrices = {}
    rows = draw(base.model, components.documents, components.N, "components", tau=components.tau)
    for loss, rates in components.rates.items():
        runs = [Run(0, optimizer, rate) for optimizer, rate in rates.items()]
        plan = Plan(base.batch, base.chunk, components.steps, embedding="trained", loss=loss)
        trained = train_runs(rows, runs, plan, OBSERVED["E"], execution=execution)
        ends = trained.observed["matrix"][-1]
        ends[trained.diverged_at >= 0] = math.nan
        matrices |= {
            f"E/{loss}/{run.optimizer}": end.numpy() for run, end in zip(runs, ends, strict=True)
        }
    return matrices
