"""Optima under uniform attention and squared loss, and the theorems' gap.

'Result: embeddings encode topic structure' and 'Stage 1 result: W_V encodes topic structure'.
Uniform attention makes the output linear in a document's key shares x, so the loss needs only two
second moments of the documents. W_V has a closed form; E is found by L-BFGS.
"""

from typing import NamedTuple

import numpy as np
from scipy.linalg import solve, solve_sylvester
from scipy.optimize import minimize

from onelayer.settings.topic_structure_synthetic import TopicModelSettings
from onelayer.topic_structure.synthetic.data import MASK, CountRows, Vocabulary


class Moments(NamedTuple):
    """Means over masked positions: x the document's key shares, y the masked word, one-hot."""

    xx: np.ndarray  # mean of x x^T, float64 [D, D]
    xy: np.ndarray  # mean of x y^T, float64 [D, D], entry [key, word]


def moments(rows: CountRows) -> Moments:
    """Moments of masked documents, each weighted by its masked positions."""
    x, y = rows.averages()
    weight = y.sum(axis=1)
    return Moments((x * weight[:, None]).T @ x / weight.sum(), x.T @ y / weight.sum())


def ridge_value(moments: Moments, decay: float) -> np.ndarray:
    """W_V that minimises mean |W_V x - y|^2 + decay / 2 |W_V|^2, in closed form, float64 [D, D].

    `decay` is weight decay as PyTorch's SGD means it; 0 gives the optimum of least norm.
    """
    if decay == 0:
        return np.linalg.lstsq(moments.xx, moments.xy, rcond=1e-10)[0].T
    return solve(moments.xx + decay / 2 * np.eye(len(moments.xx)), moments.xy, assume_a="pos").T


def ridge_embedding(moments: Moments, decay: float, d: int | None = None) -> np.ndarray:
    """E = W_E^T W_E that minimises mean |E x - y|^2 + decay / 2 |W_E|^2, by L-BFGS, [D, D].

    W_E has d rows, D by default. The loss is convex in the positive semidefinite E, where |W_E|^2
    is tr E. Without that constraint its optimum solves a Sylvester equation; L-BFGS goes on from
    the nearest semidefinite matrix, with fewer rows from the d eigenvectors that gain most.
    """
    xx, xy = moments
    D = len(xx)
    # A floor on the eigenvalues for ids that never occur, far below those that matter.
    floor = xx + 1e-9 * np.eye(D)
    E = solve_sylvester(floor, floor, xy + xy.T - decay / 2 * np.eye(D))
    values, vectors = np.linalg.eigh((E + E.T) / 2)
    start = np.sqrt(values.clip(1e-6))[:, None] * vectors.T
    if d is not None and d < D:
        gain = values.clip(0) * np.einsum("ik,ij,jk->k", vectors, xy + xy.T, vectors)
        start = start[np.argsort(-gain)[:d]]

    def objective(flat: np.ndarray) -> tuple[float, np.ndarray]:
        W = flat.reshape(start.shape)
        E = W.T @ W
        Ex = E @ xx
        value = (Ex * E).sum() - 2 * (E * xy).sum() + decay / 2 * (W * W).sum()
        slope = Ex + Ex.T - xy - xy.T  # with respect to E
        return value, (2 * W @ slope + decay * W).ravel()

    options = {"maxiter": 5000, "maxfun": 10_000, "ftol": 1e-15, "gtol": 1e-9}
    W = minimize(objective, start.ravel(), jac=True, method="L-BFGS-B", options=options).x
    W = W.reshape(start.shape)
    return W.T @ W


def stage_one_optimum(vocabulary: Vocabulary, rows: CountRows) -> np.ndarray:
    """W_V of stage 1 for masked documents, with its three block means as entries, [D, D].

    The means over same-topic and different-topic pairs of words, and over the [MASK] column.
    """
    matrix, member = ridge_value(moments(rows), 0.0), vocabulary.membership
    words = member.sum(1)
    W = sum((matrix * block).sum() / block.sum() * block for block in pairs(vocabulary))
    W[:, MASK] = matrix[:, MASK] @ words / words.sum() * words
    return W


def pairs(vocabulary: Vocabulary) -> tuple[np.ndarray, np.ndarray]:
    """Pairs of words of one topic, each word with itself too, and of two topics; [D, D] of 0, 1."""
    member = vocabulary.membership
    same = member @ member.T
    return same, member.sum(1)[:, None] * member.sum(1) - same


def gap(vocabulary: Vocabulary, matrix: np.ndarray) -> np.ndarray:
    """Mean over same-topic pairs of words minus mean over different topics, of [..., D, D]."""
    matrix = np.asarray(matrix, dtype=np.float64)
    within, across = ((matrix * p).sum((-1, -2)) / p.sum() for p in pairs(vocabulary))
    return within - across


def theory_gap(words: TopicModelSettings) -> float:
    """Both theorems' gap, 1 / (v (1 - (1 - p_c) p_m)): long documents, masked words are keys."""
    return 1 / (words.v * (1 - (1 - words.p_c) * words.p_m))


def theory_gap_hidden(v: int, visible: float) -> float:
    """The gap where so many words are keys, on average, with START and END, but no masked ones."""
    return (visible + 2) / visible / v


def gap_at_length(words: TopicModelSettings, tau: int, N: int) -> float:
    """The exact gap of the optimal W_V for documents of N words and tau topics.

    The proportion p_m of the words is selected. Symmetry makes each contrast a of topics an
    eigenvector of E[x x^T] and of E[x y^T]. So W_V scales it by E[(a x)(a y)] / E[(a x)^2], masked
    words being keys.
    """
    p_c = words.p_c
    # What two words at different places share of a contrast; a word shares 1 with itself.
    s = (words.T - tau) / (tau * (words.T - 1))
    k = max(round(words.p_m * N), 1)
    plain = N - k
    together = plain * (plain - 1) + 2 * plain * k * p_c + k * (k - 1) * p_c**2
    squares = plain + k * (p_c + words.p_r) + together * s
    products = p_c + (plain + (k - 1) * p_c) * s
    return products * N / squares / words.v
