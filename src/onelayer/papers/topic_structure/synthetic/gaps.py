"""The gap of W_V alone and of the embeddings alone under uniform attention, beside the theorems.

Li, Li & Risteski (2023), 'Result: embeddings encode topic structure', 'Stage 1 result: W_V encodes
topic structure'; and the heat maps of the embeddings with all components trained.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from onelayer.compute.checkpoint import Checkpoint
from onelayer.compute.ensemble import Trained
from onelayer.compute.execution import Execution
from onelayer.papers.topic_structure.synthetic import closed_form, data
from onelayer.papers.topic_structure.synthetic.documents import draw, vocabulary_of
from onelayer.papers.topic_structure.synthetic.training import Plan, Run, train_runs
from onelayer.settings.topic_structure_synthetic import (
    ComponentSettings,
    TheorySettings,
    TopicModelSettings,
)


def uniform_attention(
    model: TopicModelSettings,
    theory: TheorySettings,
    components: ComponentSettings,
    batch: int,
    chunk: int,
    execution: Execution = Execution(),
) -> tuple[pd.DataFrame, dict[str, np.ndarray]]:
    """Gaps of W_V and E, in closed form and trained, and the matrices of the heat maps.

    Args:
        model: the words and their masking.
        theory: trainings of W_V alone and of the embeddings alone.
        components: trainings of all components.
        batch, chunk: as of `training.Plan`.
        execution: how the trainings run.

    Returns:
        Rows `parameter` (W_V or E), `masked` (attended or hidden), `loss`, `optimizer`,
        `weight_decay`, `seed`, `gap`, `theory`, `diverged_at`; and the first seed's W_V (trained
        alone) and E (all components trained) by `parameter/loss/optimizer`, [D, D].
    """
    execution = replace(execution, checkpoint=Checkpoint())  # each training takes seconds
    found, matrices, vocabulary = [], {}, vocabulary_of(model)
    for masked_attended in (True, False):
        rows = draw(
            model,
            theory.documents,
            theory.N,
            "theory",
            tau=theory.tau,
            masked_attended=masked_attended,
        )
        expected = _theory(model, rows, masked_attended)
        keys = {"masked": "attended" if masked_attended else "hidden"}
        decays = theory.weight_decays if masked_attended else [0.0]
        found += _closed_forms(vocabulary, rows, decays, keys | expected)
        for parameter in ("W_V", "E"):
            for loss in ("squared", "cross_entropy") if masked_attended else ("squared",):
                runs = _gap_runs(theory, parameter, loss, decays)
                plan = _alone(parameter, loss, theory.steps, batch, chunk)
                trained = train_runs(
                    rows.by_document(), runs, plan, OBSERVED[parameter], execution=execution
                )
                known = keys | (expected if loss == "squared" else {"theory": np.nan})
                known |= {"parameter": parameter, "loss": loss}
                found += _gaps(vocabulary, runs, trained, known)
                if masked_attended and parameter == "W_V":
                    for run, matrix in zip(runs, trained.observed["matrix"][-1], strict=True):
                        if run.seed == 0 and run.weight_decay == 0:
                            matrices[f"W_V/{loss}/{run.optimizer}"] = matrix.numpy()
    pictured = _all_components(model, components, batch, chunk, execution)
    return pd.DataFrame(found), matrices | pictured


def _theory(model: TopicModelSettings, rows: data.Rows, masked_attended: bool) -> dict[str, float]:
    vocabulary = vocabulary_of(model)
    if masked_attended:
        return {"theory": closed_form.theory_gap(vocabulary, model)}
    words = float(rows.keys[:, data.SPECIAL :].sum(axis=1).mean())
    return {"theory": closed_form.theory_gap_hidden(vocabulary, words, framing=2)}


def _closed_forms(
    vocabulary: data.Vocabulary, rows: data.Rows, decays: Sequence[float], known: Mapping
) -> list[dict]:
    moments = closed_form.moments(rows)
    optima = {"W_V": closed_form.ridge_value, "E": closed_form.ridge_embedding}
    return [
        {
            "parameter": parameter,
            "loss": "squared",
            "optimizer": "closed form",
            "weight_decay": decay,
            "seed": 0,
            "gap": float(closed_form.gap(vocabulary, optimum(moments, decay))),
            "diverged_at": -1,
            **known,
        }
        for parameter, optimum in optima.items()
        for decay in decays
    ]


def _gap_runs(
    theory: TheorySettings, parameter: str, loss: str, decays: Sequence[float]
) -> list[Run]:
    sgd = theory.sgd_rate_value if parameter == "W_V" else theory.sgd_rate_embedding
    squared = loss == "squared"
    rates = {"adam": theory.adam_rate, "sgd": sgd} if squared else theory.cross_entropy_rates
    return [
        Run(seed, optimizer, rate, decay)
        for optimizer, rate in rates.items()
        for decay in (decays if squared else [0.0])
        for seed in range(theory.seeds)
    ]


def _alone(parameter: str, loss: str, steps: int, batch: int, chunk: int) -> Plan:
    """W_V alone on one-hot words, or the embeddings alone."""
    known = {"embedding": "one_hot" if parameter == "W_V" else "trained", "loss": loss}
    return Plan(batch, chunk, steps, **known, trained=("W_V" if parameter == "W_V" else "W_E",))


def _value_matrices(parameters: dict[str, Tensor]) -> dict[str, Tensor]:
    return {"matrix": parameters["W_V"]}


def _embedding_products(parameters: dict[str, Tensor]) -> dict[str, Tensor]:
    return {"matrix": parameters["W_E"].mT @ parameters["W_E"]}


OBSERVED = {"W_V": _value_matrices, "E": _embedding_products}


def _gaps(
    vocabulary: data.Vocabulary, runs: list[Run], trained: Trained, known: Mapping
) -> list[dict]:
    gaps = closed_form.gap(vocabulary, trained.observed["matrix"][-1].double().numpy())
    return [
        {
            "optimizer": run.optimizer,
            "weight_decay": run.weight_decay,
            "seed": run.seed,
            "gap": float(gap),
            "diverged_at": int(diverged),
            **known,
        }
        for run, gap, diverged in zip(runs, gaps, trained.diverged_at.tolist(), strict=True)
    ]


def _all_components(
    model: TopicModelSettings,
    components: ComponentSettings,
    batch: int,
    chunk: int,
    execution: Execution,
) -> dict[str, np.ndarray]:
    """E with everything trained, by `E/loss/optimizer`, [D, D]."""
    matrices = {}
    rows = draw(model, components.documents, components.N, "components", tau=components.tau)
    for loss, rates in components.rates.items():
        runs = [Run(0, optimizer, rate) for optimizer, rate in rates.items()]
        plan = Plan(batch, chunk, components.steps, embedding="trained", loss=loss)
        trained = train_runs(rows, runs, plan, _embedding_products, execution=execution)
        for run, matrix, diverged in zip(
            runs, trained.observed["matrix"][-1], trained.diverged_at.tolist(), strict=True
        ):
            failed = torch.full_like(matrix, torch.nan)
            matrices[f"E/{loss}/{run.optimizer}"] = (matrix if diverged < 0 else failed).numpy()
    return matrices
