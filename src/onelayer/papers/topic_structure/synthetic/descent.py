"""Stage 1 by gradient descent on all documents from many starts: where it ends, and how fast.

Li, Li & Risteski (2023), 'Stage 1 result': the loss is convex in W_V, hence descent converges; it
is strongly convex, and its optimum unique, with weight decay alone. The same for E = W_E^T W_E.
"""

import itertools

import numpy as np
import pandas as pd

from onelayer.compute.seeds import generator
from onelayer.papers.topic_structure.synthetic import closed_form
from onelayer.papers.topic_structure.synthetic.closed_form import Moments
from onelayer.papers.topic_structure.synthetic.data import Vocabulary, draw
from onelayer.papers.topic_structure.synthetic.gap_grid import as_defined
from onelayer.settings.topic_structure_synthetic import (
    DescentSettings,
    TheorySettings,
    TopicModelSettings,
)


def stage_one_descent(
    words: TopicModelSettings, theory: TheorySettings, block: DescentSettings
) -> pd.DataFrame:
    """Distances to the optimum and between runs, for W_V and E, by weight decay, over steps.

    `documents` are `drawn`, or the `limit` of infinitely long ones, about which the theorem is:
    there the loss is flat in all directions but T + 1.

    Returns:
        Rows `parameter`, `documents`, `weight_decay`, `start` (its seed), `step`, `to_optimum` (the
        distance to the closed form, as a share of its norm), `between` (the distance to the next
        start's matrix, as a share of that distance at step 0), `gap`, `contraction` (of the
        distance to the optimum by one step, for W_V; theory).
    """
    model = as_defined(words)
    vocabulary = Vocabulary(model.T, model.v)
    rows = draw(model, theory.documents, theory.N, "descent", tau=theory.tau)
    moments = {
        "drawn": closed_form.moments(rows),
        "limit": closed_form.limit_moments(model, theory.tau),
    }
    shape = (vocabulary.size, vocabulary.size)
    seeds, looks = range(block.starts), range(0, block.steps + 1, block.steps // 10)
    starts = np.stack([generator("descent", seed).uniform(-1, 1, shape) for seed in seeds])
    starts *= vocabulary.size**-0.5  # as PyTorch starts a linear layer
    parts = []
    for (documents, of_documents), decay, parameter in itertools.product(
        moments.items(), block.weight_decays, closed_form.OPTIMA
    ):
        optimum = closed_form.OPTIMA[parameter](of_documents, decay)
        rate = _rate(parameter, of_documents, decay, optimum, starts)
        matrices_at = _descend(parameter, of_documents, decay, rate, starts, looks)
        setting = {"parameter": parameter, "documents": documents, "weight_decay": decay}
        if parameter == "W_V":
            setting["contraction"] = contraction(of_documents, decay, rate)
        for step, matrices in zip(looks, matrices_at, strict=True):
            measured = {
                "start": seeds,
                "to_optimum": _norms(matrices - optimum) / np.linalg.norm(optimum),
                "between": _between(matrices) / _between(matrices_at[0]),
                "gap": closed_form.gap(vocabulary, matrices),
            }
            parts.append(pd.DataFrame(setting | {"step": step} | measured))
    return pd.concat(parts, ignore_index=True)


def contraction(moments: Moments, decay: float, rate: float) -> float:
    """By what one step of W_V multiplies the distance to its optimum in the slowest direction.

    The loss is quadratic: along an eigenvector of E[x x^T] with value mu it is 1 - rate (2 mu +
    decay). Directions without curvature (mu = 0, no decay) are left out: nothing moves there.
    """
    mu = np.linalg.eigvalsh(moments.xx)
    curvature = 2 * mu[mu > 1e-10 * mu[-1]] + decay if decay == 0 else 2 * mu.clip(0) + decay
    return float(np.abs(1 - rate * curvature).max())


def _rate(
    parameter: str, moments: Moments, decay: float, optimum: np.ndarray, starts: np.ndarray
) -> float:
    """Learning rate: one over the loss's largest curvature, which is quadratic in W_V.

    That of E, on the way from the starts to the optimum, is about 8 times the largest eigenvalue of
    E times that of E[x x^T].
    """
    mu = np.linalg.norm(moments.xx, 2)
    if parameter == "W_V":
        return float(1 / (2 * mu + decay))
    E = max(np.linalg.norm(optimum, 2), np.linalg.norm(starts[0], 2) ** 2)
    return float(1 / (8 * E * mu + decay))


def _descend(
    parameter: str, moments: Moments, decay: float, rate: float, starts: np.ndarray, looks: range
) -> list[np.ndarray]:
    """W_V or E at some steps of gradient descent, [starts, D, D] each."""
    xx, xy = moments.xx, moments.xy
    W, kept = starts.copy(), []
    for step in range(looks[-1] + 1):
        if step in looks:
            kept.append(W.copy() if parameter == "W_V" else W.mT @ W)
        if parameter == "W_V":  # of mean |W x - y|^2 + decay / 2 |W|^2
            W -= rate * (2 * (W @ xx - xy.T) + decay * W)
        else:  # of mean |W^T W x - y|^2 + decay / 2 |W|^2
            slope = (W.mT @ W) @ xx - xy
            W -= rate * (2 * W @ (slope + slope.mT) + decay * W)
    return kept


def _norms(matrices: np.ndarray) -> np.ndarray:
    return np.linalg.norm(matrices, axis=(-2, -1))


def _between(matrices: np.ndarray) -> np.ndarray:
    """Distance of each start's matrix to the next one's, the last's to the first's, [starts]."""
    return _norms(matrices - np.roll(matrices, -1, axis=0))
