"""Closed forms under uniform attention and squared loss: ridge optima, gaps, the theorems' values.

Li, Li & Risteski (2023), 'Result: embeddings encode topic structure' and 'Stage 1 result: W_V
encodes topic structure'. Uniform attention makes the output linear in a document's key shares x,
so the loss needs only two second moments of the documents, whatever their number.
"""

import math
from typing import NamedTuple

import numpy as np
from scipy.linalg import solve, solve_sylvester
from scipy.optimize import minimize
from scipy.special import ndtri

from onelayer.papers.topic_structure.synthetic.data import (
    MASK,
    SPECIAL,
    CountRows,
    Vocabulary,
    selected_words,
)
from onelayer.settings.topic_structure_synthetic import MaskingSettings, TopicModelSettings


class Moments(NamedTuple):
    """Second moments over masked positions: x the document's key shares, y the masked word."""

    xx: np.ndarray
    """Mean of x x^T, float64 [D, D]."""
    xy: np.ndarray
    """Mean of x y^T, float64 [D, D], entry [key, word]."""


def moments(rows: CountRows) -> Moments:
    """Moments of masked documents, each weighted by its masked positions."""
    x, y = rows.averages()
    weight = y.sum(axis=1)
    return Moments((x * weight[:, None]).T @ x / weight.sum(), x.T @ y / weight.sum())


def ridge_value(moments: Moments, decay: float) -> np.ndarray:
    """W_V that minimises mean |W_V x - y|^2 + decay / 2 |W_V|^2, float64 [D, D].

    `decay` is weight decay as PyTorch's SGD means it; 0 gives the optimum of least norm.
    """
    if decay == 0:
        return np.linalg.lstsq(moments.xx, moments.xy, rcond=1e-10)[0].T
    return solve(moments.xx + decay / 2 * np.eye(len(moments.xx)), moments.xy, assume_a="pos").T


def ridge_embedding(moments: Moments, decay: float, d: int | None = None) -> np.ndarray:
    """E = W_E^T W_E that minimises mean |E x - y|^2 + decay / 2 |W_E|^2, float64 [D, D].

    The loss is convex in the positive semidefinite E, where |W_E|^2 = tr E, and has no spurious
    minimum in the square W_E. Without the constraint its optimum solves a Sylvester equation;
    L-BFGS goes on from that solution's nearest semidefinite matrix.

    W_E has d rows, at most D, and D by default; with fewer the start keeps the d eigenvectors that
    take most off the loss.
    """
    xx, xy = moments.xx, moments.xy
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


OPTIMA = {"W_V": ridge_value, "E": ridge_embedding}


def gap(vocabulary: Vocabulary, matrix: np.ndarray, diagonal: bool = True) -> np.ndarray:
    """Mean over same-topic pairs of words minus mean over different topics.

    Args:
        matrix: [..., D, D], such as W_V or E.
        diagonal: each word with itself counts as a same-topic pair, as in the theorems; without it
            random embeddings, which are as long as they are, have no gap.

    Returns:
        float64 [...].
    """
    member = vocabulary.membership
    same = member @ member.T
    different = member.sum(1)[:, None] * member.sum(1) - same
    if not diagonal:
        np.fill_diagonal(same, 0)
    matrix = np.asarray(matrix, dtype=np.float64)
    within = (matrix * same).sum((-1, -2)) / same.sum()
    return within - (matrix * different).sum((-1, -2)) / different.sum()


def theory_gap(model: TopicModelSettings) -> float:
    """Both theorems' gap, 1 / (v (1 - (1 - p_c) p_m)): long documents, masked words are keys."""
    return 1 / (model.v * model.intact)


def gap_at_length(model: TopicModelSettings, tau: int, N: tuple[int, int]) -> float:
    """The exact gap of the optimal W_V for documents of tau topics, masked words as keys.

    They have N[0] to N[1] words, all lengths equally often.
    """
    s = (model.T - tau) / (tau * (model.T - 1))
    return contrast_scale(model, np.arange(N[0], N[1] + 1), s) / model.v


def off_by_length(model: TopicModelSettings, tau: int, N: tuple[int, int]) -> float:
    """How far finite documents may take the gap from the theorem's: as the shortest ones do.

    The theorem lets documents be infinitely long. `gap_at_length` is exact for shorter ones; what
    it lacks falls as 1 / N, and is less than about tau / (N (1 - tau / T)) of the theorem's.
    """
    return abs(gap_at_length(model, tau, (N[0], N[0])) - theory_gap(model))


def off_by_draw(model: TopicModelSettings, N: tuple[int, int], documents: int) -> float:
    """Half of the 95% interval of the gap over draws of that many documents, for long ones.

    The optimum is a regression of the masked words on the words shown. All words of a document are
    of its topics, so that to first order the one thing that differs from draw to draw is the share
    of positions that show their own word, and the gap goes as one over it. Where each of N words is
    selected with probability p_m, that share is of N words with a chance of q = 1 - (1 - p_c) p_m
    each: its variance is q (1 - q) / N. Where exactly p_m N words are selected, only these can
    differ, with a chance of p_c each: p_m p_c (1 - p_c) / N. What W_V learns of single words by
    heart is of second order and left out: the tolerance errs on the narrow side.
    """
    words = N[0]
    variance = model.intact * (1 - model.intact) / words
    if model.selection == "proportion":
        variance = model.p_m * model.p_c * (1 - model.p_c) / words
    return theory_gap(model) * float(ndtri(0.975)) * math.sqrt(variance / documents) / model.intact


def contrast_scale(masking: MaskingSettings, words: np.ndarray, s: float | np.ndarray) -> float:
    """By what the optimal W_V scales a contrast of words, exact for documents of finite length.

    Where symmetry makes a contrast a an eigenvector of E[x x^T] and E[x y^T], it is
    E[(a x)(a y)] / E[(a x)^2], with x the shares of words shown and y the masked word.

    Args:
        masking: how words are masked; masked positions are keys.
        words: the lengths N that documents have, equally often, [lengths].
        s: what two words at different places share of the contrast, as a multiple of what a word
            shares with itself, of all or [lengths]; long documents of topics keep this alone.
    """
    p_c, shows_word = masking.p_c, masking.p_c + masking.p_r
    if masking.selection == "proportion":
        k = selected_words(words, masking.p_m)
        plain = words - k
        pairs = plain * (plain - 1) + 2 * plain * k * p_c + k * (k - 1) * p_c**2
        squares = plain + k * shows_word + pairs * s
        products = p_c + (plain + (k - 1) * p_c) * s
    else:  # given that the word to predict is selected
        k, intact, others = masking.p_m * words, masking.intact, words - 1
        shown = shows_word + others * (1 - masking.p_m * (1 - shows_word))
        pairs = 2 * others * p_c * intact + others * (others - 1) * intact**2
        squares = shown + pairs * s
        products = p_c + others * intact * s
    return float((k * products / words).sum() / (k * squares / words**2).sum())


def theory_gap_of_rank(model: TopicModelSettings, d: int) -> float:
    """The gap of the best E of rank at most d in long documents; the theorem's for d >= T.

    E is the theorem's times a projection on T - 1 contrasts of topics and on their sum. The sum
    takes most off the loss, so d dimensions hold it and d - 1 contrasts, each as good as the next.
    """
    return theory_gap(model) * (min(d, model.T) - 1) / (model.T - 1)


def limit_moments(model: TopicModelSettings, tau: int) -> Moments:
    """Moments of infinitely long documents: shares of words are a document's expected ones."""
    T, v = model.T, model.v
    member = Vocabulary(T, v).membership / v
    together = (tau - 1) / (tau * T * (T - 1))
    zz = np.full((T, T), together)  # of the topics' weights
    np.fill_diagonal(zz, 1 / (tau * T))
    constant = np.zeros(len(member))
    constant[SPECIAL:] = model.p_m * model.p_r / (T * v)
    constant[MASK] = model.p_m * (1 - model.p_c - model.p_r)
    mean = model.intact * member.sum(axis=1) / T
    cross = np.outer(mean, constant)
    xx = model.intact**2 * member @ zz @ member.T + cross + cross.T
    xy = model.intact * member @ zz @ member.T + np.outer(constant, member.sum(axis=1) / T)
    return Moments(xx + np.outer(constant, constant), xy)


def theory_gap_hidden(v: int, words: float) -> float:
    """The gap where masked positions are no keys, but START and END are: (words + 2) / (words v).

    `words` is how many words of a document are visible on average.
    """
    return (words + 2) / words / v


def stage_one_optimum(vocabulary: Vocabulary, rows: CountRows) -> np.ndarray:
    """W_V of stage 1 for masked documents, with its three block means as entries, [D, D].

    The means over same-topic and different-topic pairs of words, and over the [MASK] column;
    everything else is 0.
    """
    matrix, member = ridge_value(moments(rows), 0.0), vocabulary.membership
    words = member.sum(1)
    same = member @ member.T
    different = np.outer(words, words) - same
    W = sum((matrix * block).sum() / block.sum() * block for block in (same, different))
    W[:, MASK] = matrix[:, MASK] @ words / words.sum() * words
    return W
