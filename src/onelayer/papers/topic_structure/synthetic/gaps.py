"""The gap of W_V alone and of the embeddings alone under uniform attention, beside the theorems.

Li, Li & Risteski (2023), 'Result: embeddings encode topic structure', 'Stage 1 result: W_V encodes
topic structure'; and the heat maps of the embeddings with all components trained.
"""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from onelayer.checkpoint import Checkpoint
from onelayer.ensemble import Trained
from onelayer.execution import Execution
from onelayer.papers.topic_structure.synthetic import closed_form, data
from onelayer.papers.topic_structure.synthetic.documents import draw, vocabulary_of
from onelayer.papers.topic_structure.synthetic.training import Plan, Run, train_runs
from onelayer.settings.topic_structure_synthetic import UniformAttentionSettings


def uniform_attention(
    settings: UniformAttentionSettings, execution: Execution = Execution()
) -> tuple[pd.DataFrame, dict[str, np.ndarray]]:
    """Gaps of W_V and E, in closed form and trained, and the matrices of the heat maps.

    Returns:
        Rows `parameter` (W_V or E), `masked` (attended or hidden), `loss`, `optimizer`,
        `weight_decay`, `seed`, `gap`, `theory`, `diverged_at`; and the first seed's W_V (trained
        alone) and E (all components trained) by `parameter/loss/optimizer`, [D, D].
    """
    execution = replace(execution, checkpoint=Checkpoint())  # each training takes seconds
    found, matrices = [], {}
    for masked_attended in (True, False):
        rows = draw(
            settings.model,
            settings.theory.documents,
            settings.theory.N,
            "theory",
            tau=settings.theory.tau,
            masked_attended=masked_attended,
        )
        theory = _theory(settings, rows, masked_attended)
        keys = {"masked": "attended" if masked_attended else "hidden"}
        found += _closed_forms(settings, rows, keys | theory, masked_attended)
        for parameter in ("W_V", "E"):
            for loss in ("squared", "cross_entropy") if masked_attended else ("squared",):
                runs = _gap_runs(settings, parameter, loss, masked_attended)
                documents = rows.by_document()
                trained = _train_alone(settings, documents, parameter, loss, runs, execution)
                known = keys | (theory if loss == "squared" else {"theory": np.nan})
                found += _gaps(settings, parameter, loss, runs, trained, known)
                if masked_attended and parameter == "W_V":
                    for run, matrix in zip(runs, trained.observed["matrix"][-1], strict=True):
                        if run.seed == 0 and run.weight_decay == 0:
                            matrices[f"W_V/{loss}/{run.optimizer}"] = matrix.numpy()
    return pd.DataFrame(found), matrices | _all_components(settings, execution)


def _theory(
    settings: UniformAttentionSettings, rows: data.Rows, masked_attended: bool
) -> dict[str, float]:
    vocabulary = vocabulary_of(settings.model)
    if masked_attended:
        return {"theory": closed_form.theory_gap(vocabulary, settings.model)}
    words = float(rows.keys[:, data.SPECIAL :].sum(axis=1).mean())
    return {"theory": closed_form.theory_gap_hidden(vocabulary, words, framing=2)}


def _closed_forms(
    settings: UniformAttentionSettings, rows: data.Rows, known: Mapping, every_decay: bool
) -> list[dict]:
    vocabulary, moments = vocabulary_of(settings.model), closed_form.moments(rows)
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
        for decay in (settings.theory.weight_decays if every_decay else [0.0])
    ]


def _gap_runs(
    settings: UniformAttentionSettings, parameter: str, loss: str, every_decay: bool
) -> list[Run]:
    theory = settings.theory
    sgd = theory.sgd_rate_value if parameter == "W_V" else theory.sgd_rate_embedding
    squared = loss == "squared"
    rates = {"adam": theory.adam_rate, "sgd": sgd} if squared else theory.cross_entropy_rates
    decays = theory.weight_decays if squared and every_decay else [0.0]
    return [
        Run(seed, optimizer, rate, decay)
        for optimizer, rate in rates.items()
        for decay in decays
        for seed in range(theory.seeds)
    ]


def _train_alone(
    settings: UniformAttentionSettings,
    rows: data.Rows,
    parameter: str,
    loss: str,
    runs: list[Run],
    execution: Execution = Execution(),
) -> Trained:
    plan = Plan(
        batch=settings.batch,
        chunk=settings.chunk,
        steps=settings.theory.steps,
        embedding="one_hot" if parameter == "W_V" else "trained",
        loss=loss,
        trained=("W_V",) if parameter == "W_V" else ("W_E",),
    )
    observe = _value_matrices if parameter == "W_V" else _embedding_products
    return train_runs(rows, runs, plan, observe, execution=execution)


def _value_matrices(parameters: dict[str, Tensor]) -> dict[str, Tensor]:
    return {"matrix": parameters["W_V"]}


def _embedding_products(parameters: dict[str, Tensor]) -> dict[str, Tensor]:
    return {"matrix": parameters["W_E"].mT @ parameters["W_E"]}


def _gaps(
    settings: UniformAttentionSettings,
    parameter: str,
    loss: str,
    runs: list[Run],
    trained: Trained,
    known: Mapping,
) -> list[dict]:
    gaps = closed_form.gap(
        vocabulary_of(settings.model), trained.observed["matrix"][-1].double().numpy()
    )
    return [
        {
            "parameter": parameter,
            "loss": loss,
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
    settings: UniformAttentionSettings, execution: Execution
) -> dict[str, np.ndarray]:
    """E with everything trained, by `E/loss/optimizer`, [D, D]."""
    block, matrices = settings.components, {}
    rows = draw(settings.model, block.documents, block.N, "components", tau=block.tau)
    for loss, rates in block.rates.items():
        runs = [Run(0, optimizer, rate) for optimizer, rate in rates.items()]
        plan = Plan(settings.batch, settings.chunk, block.steps, embedding="trained", loss=loss)
        trained = train_runs(rows, runs, plan, _embedding_products, execution=execution)
        for run, matrix, diverged in zip(
            runs, trained.observed["matrix"][-1], trained.diverged_at.tolist(), strict=True
        ):
            failed = torch.full_like(matrix, torch.nan)
            matrices[f"E/{loss}/{run.optimizer}"] = (matrix if diverged < 0 else failed).numpy()
    return matrices
