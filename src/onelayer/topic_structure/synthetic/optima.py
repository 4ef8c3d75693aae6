"""Optima of squared loss, not trained: W_V and E under uniform attention, then the attention.

'Result: embeddings encode topic structure' and 'Stage 1 result: W_V encodes topic structure', with
the theorems' gap: uniform attention makes the output linear in a document's key shares x, so the
loss needs only two second moments of the documents. W_V has a closed form; E is found by L-BFGS.

'Stage 2 simplification: tying attention scores', W_V being frozen at the optimum of stage 1: a word
gives weight c1 to itself, c2 to other words of its topic and c3 to everything else, up to
normalisation, so that only alpha = c2 / c3 and beta = c1 / c3 matter. Queries that show [MASK] have
no topic and are not affected. 'Stage 2 result': at the optimum (v-1)/v alpha + beta/v lies in
(lambda_1 tau, lambda_2 T).
"""

import itertools
from collections.abc import Callable, Iterable

import numpy as np
import pandas as pd
from scipy.linalg import solve, solve_sylvester
from scipy.optimize import minimize

from onelayer.settings import topic_structure_synthetic as blocks
from onelayer.topic_structure.synthetic.data import MASK, SPECIAL, CountRows, draw, membership

# alpha and beta are looked for between exp(-6) and exp(6). An optimal beta may be 0, and the loss
# need not depend on one of them: they end at the edge, or where they start.
MOST = 6.0
Moments = tuple[np.ndarray, np.ndarray]
Loss = Callable[[np.ndarray], tuple[float, np.ndarray]]  # at (log alpha, log beta)


def moments(rows: CountRows) -> Moments:
    """Means of x x^T and x y^T over masked positions, float64 [D, D] each.

    x are the document's key shares, y is the masked word, one-hot.
    """
    x, y = rows.averages()
    weight = y.sum(axis=1)
    return (x * weight[:, None]).T @ x / weight.sum(), x.T @ y / weight.sum()


def ridge_value(moments: Moments, decay: float) -> np.ndarray:
    """W_V that minimises mean |W_V x - y|^2 + decay / 2 |W_V|^2, in closed form, float64 [D, D].

    `decay` is weight decay as PyTorch's SGD means it; 0 gives the optimum of least norm.
    """
    xx, xy = moments
    if decay == 0:
        return np.linalg.lstsq(xx, xy, rcond=1e-10)[0].T
    return solve(xx + decay / 2 * np.eye(len(xx)), xy, assume_a="pos").T


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


def stage_one_optimum(words: blocks.TopicModelSettings, rows: CountRows) -> np.ndarray:
    """W_V of stage 1 for masked documents, with its three block means as entries, [D, D].

    The means over same-topic and different-topic pairs of words, and over the [MASK] column.
    """
    matrix, is_word = ridge_value(moments(rows), 0.0), membership(words).sum(1)
    W = sum((matrix * block).sum() / block.sum() * block for block in pairs(words))
    W[:, MASK] = matrix[:, MASK] @ is_word / is_word.sum() * is_word
    return W


def pairs(words: blocks.TopicModelSettings) -> tuple[np.ndarray, np.ndarray]:
    """Pairs of words of one topic, each word with itself too, and of two topics; [D, D] of 0, 1."""
    member = membership(words)
    same = member @ member.T
    return same, member.sum(1)[:, None] * member.sum(1) - same


def gap(words: blocks.TopicModelSettings, matrix: np.ndarray) -> np.ndarray:
    """Mean over same-topic pairs of words minus mean over different topics, of [..., D, D]."""
    matrix = np.asarray(matrix, dtype=np.float64)
    within, across = ((matrix * p).sum((-1, -2)) / p.sum() for p in pairs(words))
    return within - across


def theory_gap(words: blocks.TopicModelSettings, visible: float | None = None) -> float:
    """Both theorems' gap: long documents, masked words are keys.

    Or, where masked words are none, with so many `visible` words on average, beside START and END.
    """
    if visible is not None:
        return (visible + 2) / visible / words.v
    return 1 / (words.v * (1 - (1 - words.p_c) * words.p_m))


def gap_at_length(words: blocks.TopicModelSettings, tau: int, N: int) -> float:
    """The exact gap of either theorem's optimum for N words and tau topics, p_m of N selected.

    Symmetry makes each contrast a of topics an eigenvector of E[x x^T] and of E[x y^T]. So W_V
    scales it by E[(a x)(a y)] / E[(a x)^2], masked words being keys, and E = W_E^T W_E as much.
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


def tied_loss(words: blocks.TopicModelSettings, rows: CountRows, W_V: np.ndarray) -> Loss:
    """Squared loss of tied attention over masked documents, and its gradient.

    The output for a word depends on its topic alone, so a row is T topic masses. Masked positions
    are attended to. W_V, [D, D], is constant on blocks: `stage_one_optimum`.
    """
    shows_word = rows.query >= SPECIAL
    keys = rows.keys[rows.document[shows_word]].astype(np.float64)
    query, targets = rows.query[shows_word], rows.targets[shows_word].astype(np.float64)
    v, member, topic = words.v, membership(words), (query - SPECIAL) // words.v
    row, total = np.arange(len(query)), keys.sum(1)
    weight, targets, masses = targets.sum(1), targets @ member, keys @ member  # [rows, T]
    same_word = keys[row, query]
    same = masses[row, topic] - same_word
    first = SPECIAL + v * np.arange(words.T)
    block = W_V[np.ix_(first, first)]  # [T of the output, T of the key]
    plain = masses @ block.T + np.outer(keys[:, MASK], W_V[first, MASK])  # alpha = beta = 1
    column = block.T[topic]  # what one more unit of the query's topic adds

    def loss(logs: np.ndarray) -> tuple[float, np.ndarray]:
        alpha, beta = np.exp(logs)
        more = (alpha - 1) * same + (beta - 1) * same_word
        Z = total + more
        f = (plain + more[:, None] * column) / Z[:, None]
        residual = 2 * (weight[:, None] * v * f - targets)
        value = weight * (v * (f * f).sum(1) + 1) - 2 * (targets * f).sum(1)
        slope = (residual * (column - f)).sum(1) / Z  # d value / d more
        gradient = np.array([alpha * (slope @ same), beta * (slope @ same_word)])
        return value.sum() / weight.sum(), gradient / weight.sum()

    return loss


def optimal_attention(words: blocks.TopicModelSettings, rows: CountRows) -> dict[str, float]:
    """`alpha` and `beta` of the least `tied_loss`, by L-BFGS in their logarithms, and `ratio`."""
    loss, v = tied_loss(words, rows, stage_one_optimum(words, rows)), words.v
    how = {"method": "L-BFGS-B", "bounds": [(-MOST, MOST)] * 2}
    least = minimize(loss, np.zeros(2), jac=True, options={"ftol": 1e-14, "gtol": 1e-10}, **how)
    alpha, beta = map(float, np.exp(least.x))
    return {"alpha": alpha, "beta": beta, "ratio": (v - 1) / v * alpha + beta / v}


def optimal_ratios(
    settings: blocks.TopicTheorySettings, progress: Callable[..., Iterable] = iter
) -> pd.DataFrame:
    """The optimal same-topic ratio over tau, by `documents`: short, long, or over T as well."""
    points = []
    for key in ("stage_two_short", "stage_two_long", "ratio_over_T"):
        block, use = getattr(settings, key), key.removeprefix("ratio_").replace("_", " ")
        grid = itertools.product(block.T or [settings.model.T], block.taus, range(block.seeds))
        points += [(use, block, *point) for point in grid]
    results = []
    for use, block, T, tau, seed in progress(points):
        chosen = {"selection": "proportion"} if use == "over T" else {}
        words = settings.model.model_copy(update={"T": T} | chosen)
        keys = {"documents": use.removeprefix("stage two "), "T": T, "tau": tau, "seed": seed}
        rows = draw(words, block, use, tau, seed=seed)
        results.append(keys | optimal_attention(words, rows))
    return pd.DataFrame(results)
