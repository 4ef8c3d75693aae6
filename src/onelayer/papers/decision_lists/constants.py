"""The constants of Theorems 1 and 2 (section I.C), and whether Theorem 2's hypotheses hold.

The abstract only says that delta and gamma "depend on the minimum probability mass that the data
distribution assigns to certain quantities". Two definitions are therefore ours:

- delta is a number that the user states, 1 by default;
- gamma = min over tokens a and places k of P(s_j = a and the label-determining token is a_k), for
  a uniformly chosen position j.
"""

from collections.abc import Callable

import numpy as np
from scipy.optimize import brentq
from scipy.special import comb

from onelayer.papers.decision_lists.data import PADDING, DecisionLists


def theorem_1_scale(L: int, n: int, delta: float = 1.0) -> float:
    """Theorem 1's c = 4 n log(L) / delta, the scale of V = cP; delta is ours."""
    return 4 * n * np.log(L) / delta


def theorem_1_bound(L: int, M: int, gamma: float) -> float:
    """Theorem 1's time 4 M / (log(L) gamma)."""
    return 4 * M / (np.log(L) * gamma)


def uniform_gamma(L: int, n: int, m: int) -> float:
    """Our gamma for uniform subsets and lists of equal length: min_k P(b* = a_k | a in s) / L.

    a_k determines the label when it is in s and a_1, ..., a_{k-1} are not; a_m = a always is.
    """
    k = np.arange(1, m)
    others = comb(L - 1 - k, n - 2) if n > 1 else np.zeros(m - 1)
    determining = np.append(others, comb(L - m, n - 1)) / comb(L - 1, n - 1)  # [m]
    return float(determining.min() / L)


def gamma(lists: DecisionLists, n: int, weights: np.ndarray | None = None) -> float:
    """Our gamma for any lists and token weights, without enumerating sequences of n tokens.

    P(a and a_k in s; a_1, ..., a_{k-1} not) is w_a w_{a_k} e_{n-2}(all other weights) / e_n(all
    weights), with e_k the elementary symmetric polynomials; divided by n for the position. Weights
    are float64 [L], positive; None is uniform.
    """
    w = np.ones(lists.vocabulary) if weights is None else weights / weights.mean()
    query, place = np.nonzero(lists.lists != PADDING)  # [pairs]
    pair = np.arange(len(query))
    left_out = lists.rank[:, query] <= place  # [L, pairs]; a_1 .. a_k: absent, or present anyway
    left_out[query, pair] = True
    determining = lists.lists[query, place]
    is_query = determining == query
    required = np.where(is_query, w[query], w[query] * w[determining])
    rest = _symmetric(w[:, None] * ~left_out, n)  # [n + 1, pairs]
    size = np.where(is_query, n - 1, n - 2)
    free = np.where(size >= 0, rest[size, pair], 0.0)
    return float((required * free).min() / _symmetric(w[:, None], n)[n, 0] / n)


def _symmetric(weights: np.ndarray, degree: int) -> np.ndarray:
    """e_0, ..., e_degree of each column of weights [L, columns]; float64 [degree + 1, columns]."""
    polynomials = np.zeros((degree + 1, weights.shape[1]))
    polynomials[0] = 1.0
    for row in weights:
        polynomials[1:] += row * polynomials[:-1]
    return polynomials


def starting_loss(L: int, n: int, c: float) -> float:
    """Loss at W = 0 and V = cP, the same for every sequence and query.

    Attention 1/n gives the n present tokens the logit c/n and the others 0.
    """
    return float(np.log(n + (L - n) * np.exp(-c / n)))


def theorem_2_scale(
    n: int, epsilon: float, loss: Callable[[float], float], delta: float = 1.0
) -> float:
    """Theorem 2's c = 10 n^2 L_0 / delta + 4 epsilon n of one start, L_0 = L(W_0, V_0).

    `loss` is L_0 as a function of c, with V_0 = cP + the noise of that start. It falls with c, so
    that the equation has exactly one solution.
    """

    def excess(c: float) -> float:
        return c - 10 * n**2 * loss(c) / delta - 4 * epsilon * n

    return float(brentq(excess, 0.0, 1 - excess(0.0)))


def theorem_2(
    n: int, m: int, epsilon: float, loss: float, lambda_max: float
) -> dict[str, float | bool]:
    """Theorem 2's constants of one start, and whether its hypotheses hold there.

    Args:
        loss: L_0 = L(W_0, V_0), at the start itself.
        lambda_max: largest eigenvalue of the Hessian in (W, V), see `joint.largest_eigenvalue`; the
            abstract does not say where in parameter space it is taken.

    Returns:
        `starting_loss`, L_0; `largest_a` = L_0 - 6 epsilon / n and `least_a` =
        sqrt(4 m L_0 / epsilon), between which A must be; the learning rate `eta`, 1 / lambda_max;
        `first_step` and `last_step` of the window [2 m L_0 / (A^2 eta), epsilon / (2 eta)] of T,
        with the largest A, which makes it widest (NaN for the first where that is not positive);
        `holds`, whether some positive A meets both conditions: the window is then not empty.
    """
    largest, least = loss - 6 * epsilon / n, float(np.sqrt(4 * m * loss / epsilon))
    return {
        "starting_loss": loss,
        "largest_a": largest,
        "least_a": least,
        "eta": 1 / lambda_max,
        "first_step": 2 * m * loss * lambda_max / largest**2 if largest > 0 else float("nan"),
        "last_step": epsilon * lambda_max / 2,
        "holds": largest > least,
    }
