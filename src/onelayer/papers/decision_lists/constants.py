"""The constants of Theorems 1 and 2 (section I.C), and whether Theorem 2's hypotheses hold.

The abstract only says that delta and gamma "depend on the minimum probability mass that the data
distribution assigns to certain quantities". Two definitions are therefore ours:

- delta is a number that the user states, 1 by default;
- gamma = min over tokens a and places k of P(s_j = a and the label-determining token is a_k), for
  a uniformly chosen position j.
"""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq
from scipy.special import comb

from onelayer.papers.decision_lists.data import PADDING, DecisionLists
from onelayer.settings.decision_list_sizes import check_positive, check_sizes


def theorem_1_scale(L: int, n: int, delta: float = 1.0) -> float:
    """Theorem 1's c = 4 n log(L) / delta, the scale of V = cP; delta is ours.

    Raises:
        ValueError: bad sizes, or delta is not positive.
    """
    check_sizes(L, n)
    check_positive("delta", delta)
    return 4 * n * np.log(L) / delta


def theorem_1_bound(L: int, M: int, gamma: float) -> float:
    """Theorem 1's time 4 M / (log(L) gamma).

    Raises:
        ValueError: gamma is not positive, as when some list place never determines a label.
    """
    check_positive("gamma", gamma)
    return 4 * M / (np.log(L) * gamma)


def determining_probabilities(L: int, n: int, m: int) -> np.ndarray:
    """P(the label-determining token is a_k | a in s) for uniform subsets, float64 [m].

    a_k determines the label when it is in s and a_1, ..., a_{k-1} are not; a_m = a always is.

    Raises:
        ValueError: bad sizes.
    """
    check_sizes(L, n, m)
    k = np.arange(1, m)
    others = comb(L - 1 - k, n - 2) if n > 1 else np.zeros(m - 1)
    return np.append(others, comb(L - m, n - 1)) / comb(L - 1, n - 1)


def uniform_gamma(L: int, n: int, m: int) -> float:
    """Our gamma for uniform subsets and lists of equal length: min_k P(b* = a_k | a in s) / L.

    Raises:
        ValueError: bad sizes.
    """
    return float(determining_probabilities(L, n, m).min() / L)


def gamma(lists: DecisionLists, n: int, weights: np.ndarray | None = None) -> float:
    """Our gamma for any lists and token weights, without enumerating sequences.

    P(a and a_k in s; a_1, ..., a_{k-1} not) is w_a w_{a_k} e_{n-2}(all other weights) / e_n(all
    weights), with e_k the elementary symmetric polynomials; divided by n for the position.

    Args:
        lists: L lists.
        n: tokens in a sequence.
        weights: float64 [L], positive; None is uniform.

    Raises:
        ValueError: bad sizes.
    """
    L, M = lists.lists.shape
    check_sizes(L, n, M)
    w = np.ones(L) if weights is None else weights / weights.mean()
    query, place = np.nonzero(lists.lists != PADDING)  # [pairs]
    rank = lists.rank[:, query]  # [L, pairs]
    left_out = rank <= place  # a_1 .. a_k: absent, or present by definition
    left_out[query, np.arange(len(query))] = True
    determining = lists.lists[query, place]
    own = determining == query
    required = np.where(own, w[query], w[query] * w[determining])
    rest = _symmetric(w[:, None] * ~left_out, n)  # [n + 1, pairs]
    size = np.where(own, n - 1, n - 2)
    free = np.where(size >= 0, rest[size, np.arange(len(query))], 0.0)
    return float((required * free).min() / _symmetric(w[:, None], n)[n, 0] / n)


def _symmetric(weights: np.ndarray, degree: int) -> np.ndarray:
    """e_0, ..., e_degree of each column of weights [L, columns]; float64 [degree + 1, columns]."""
    polynomials = np.zeros((degree + 1, weights.shape[1]))
    polynomials[0] = 1.0
    for row in weights:
        polynomials[1:] += row * polynomials[:-1]
    return polynomials


def starting_loss(L: int, n: int, c: float) -> float:
    """L_0: loss at W = 0 and V = cP, the same for every sequence and query.

    Attention 1/n gives the n present tokens the logit c/n and the others 0.
    """
    return float(np.log(n + (L - n) * np.exp(-c / n)))


def theorem_2_scale(L: int, n: int, epsilon: float, delta: float = 1.0) -> float:
    """Theorem 2's c = 10 n^2 L_0 / delta + 4 epsilon n, where L_0 is the loss at V = cP itself.

    L_0 falls with c, so the equation has exactly one solution. Taking L_0 at cP and not at V_0 is
    ours: V_0 is only known to be within epsilon / 2 of cP, and cP has to be there first.

    Raises:
        ValueError: bad sizes, or delta or epsilon is not positive.
    """
    check_sizes(L, n)
    check_positive("delta", delta)
    check_positive("epsilon", epsilon)

    def excess(c: float) -> float:
        return c - 10 * n**2 * starting_loss(L, n, c) / delta - 4 * epsilon * n

    return float(brentq(excess, 0.0, 10 * n**2 * np.log(L) / delta + 4 * epsilon * n + 1))


@dataclass(frozen=True)
class Theorem2:
    """Theorem 2's constants and hypotheses for one setting.

    Attributes:
        c: scale of V.
        starting_loss: L_0.
        largest_a: L_0 - 6 epsilon / n; A must be below it.
        least_a: sqrt(4 m L_0 / epsilon); A must be above it.
        eta: learning rate 1 / lambda_max.
        first_step, last_step: the window [2 m L_0 / (A^2 eta), epsilon / (2 eta)] of T, with the
            largest A, which makes the window widest. NaN for the first if that A is not positive.
        holds: whether some positive A meets both conditions; the window is then not empty.
    """

    c: float
    starting_loss: float
    largest_a: float
    least_a: float
    eta: float
    first_step: float
    last_step: float
    holds: bool


def theorem_2(
    L: int, n: int, m: int, epsilon: float, lambda_max: float, delta: float = 1.0
) -> Theorem2:
    """Theorem 2's constants, given the largest eigenvalue of the Hessian in (W, V).

    Args:
        L, n, m, epsilon, delta: the setting; delta is ours.
        lambda_max: see `hessian.largest_eigenvalue`; the abstract does not say where in parameter
            space it is taken.

    Raises:
        ValueError: bad sizes, or delta, epsilon or lambda_max is not positive.
    """
    check_sizes(L, n, m)
    check_positive("lambda_max", lambda_max)
    c = theorem_2_scale(L, n, epsilon, delta)
    loss = starting_loss(L, n, c)
    largest, least = loss - 6 * epsilon / n, float(np.sqrt(4 * m * loss / epsilon))
    first = 2 * m * loss * lambda_max / largest**2 if largest > 0 else float("nan")
    return Theorem2(
        c=c,
        starting_loss=loss,
        largest_a=largest,
        least_a=least,
        eta=1 / lambda_max,
        first_step=first,
        last_step=epsilon * lambda_max / 2,
        holds=largest > least,
    )
