"""Decision lists and sequences of distinct tokens (section I.B), and the theorems' constants (I.C).

The paper leaves the distribution of sequences open, and only says that delta and gamma "depend on
the minimum probability mass that the data distribution assigns to certain quantities". Ours: all
sets of n distinct tokens alike unless tokens have weights; delta is 1 unless stated; gamma = min
over tokens a and places k of P(s_j = a and a_k determines its label), j a uniform position.

Shapes: L tokens in the vocabulary, n tokens in a sequence, M the longest list, S sequences.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, combinations
from math import comb
from typing import NamedTuple

import numpy as np
from scipy import special
from scipy.optimize import brentq

from onelayer.errors import OnelayerError
from onelayer.seeds import generator

PADDING = -1
MOST_TOKENS = 50_000_000  # of all sequences together


@dataclass(frozen=True, eq=False)
class DecisionLists:
    """A list L_a = (a_1, ..., a_m = a) for every token a, and the permutation pi."""

    lists: np.ndarray  # int64 [L, M]; row a holds L_a, then -1 up to the longest list
    permutation: np.ndarray  # int64 [L], pi

    @cached_property
    def rank(self) -> np.ndarray:
        """int64 [L, L]; entry [b, a] is the place of b in L_a counted from 0, or M if not in it."""
        L, M = self.lists.shape
        rank = np.full((L, L), M, dtype=np.int64)
        query, place = np.nonzero(self.lists != PADDING)
        rank[self.lists[query, place], query] = place
        return rank

    @cached_property
    def matrix(self) -> np.ndarray:
        """P, float64 [L, L]: P e_b = e_pi(b)."""
        return np.eye(len(self.permutation))[:, self.permutation]

    @property
    def lengths(self) -> np.ndarray:
        """int64 [L], tokens in every list."""
        return (self.lists != PADDING).sum(axis=1)

    def determining_places(self, tokens: np.ndarray) -> np.ndarray:
        """Place of b*, the label-determining token, for every query of distinct tokens [S, n]."""
        return self.rank[tokens[:, None, :], tokens[:, :, None]].argmin(axis=2)  # [S, query]


class Sequences(NamedTuple):
    """Sequences of distinct tokens and their probabilities."""

    tokens: np.ndarray  # int64 [S, n]
    probability: np.ndarray  # float64 [S], sums to 1


def random_lists(rng: np.random.Generator, L: int, m: int | np.ndarray) -> DecisionLists:
    """Lists of uniformly drawn distinct other tokens, each ended by its own, and a random pi.

    All have m tokens, or each token's as many as its entry of m, int [L], says.
    """
    lengths = np.broadcast_to(np.asarray(m, dtype=np.int64), (L,))
    keys = rng.random((L, L))
    np.fill_diagonal(keys, 2.0)  # the largest: the first places go to others
    others = keys.argsort(axis=1)[:, : lengths.max()]
    lists = np.where(np.arange(lengths.max()) < lengths[:, None] - 1, others, PADDING)
    lists[np.arange(L), lengths - 1] = np.arange(L)
    return DecisionLists(lists, rng.permutation(L))


def dealt_lengths(L: int, shortest: int, m: int) -> np.ndarray:
    """Lengths from `shortest` to m, dealt to L tokens in turn, int64 [L]."""
    return shortest + np.arange(L) % (m - shortest + 1)


def lists_of_seed(L: int, m: int, seed: int, shortest: int | None = None) -> DecisionLists:
    """`random_lists` of a seed; all have m tokens, or lengths from `shortest` to m are dealt."""
    if shortest is None:
        return random_lists(generator("decision lists", L, m, seed), L, m)
    rng = generator("decision lists of unequal length", L, m, shortest, seed)
    return random_lists(rng, L, rng.permutation(dealt_lengths(L, shortest, m)))


def enumerate_sequences(L: int, n: int, weights: np.ndarray | None = None) -> Sequences:
    """All n-subsets of the vocabulary in lexicographic order, with their probabilities.

    P(s) is proportional to the product of the tokens' weights, float64 [L]; None is uniform.

    Raises:
        OnelayerError: they would not fit into memory.
    """
    if (count := comb(L, n)) * n > MOST_TOKENS:
        raise OnelayerError(f"n = {n} of L = {L}: {count:,} sequences are too many to enumerate")
    flat = np.fromiter(chain.from_iterable(combinations(range(L), n)), np.int64, count * n)
    tokens = flat.reshape(count, n)
    mass = np.ones(count) if weights is None else weights[tokens].prod(axis=1)
    return Sequences(tokens, mass / mass.sum())


def sample_sequences(rng: np.random.Generator, L: int, n: int, count: int) -> Sequences:
    """Independent uniform sequences, of probability 1 / count; tokens ascend within a sequence."""
    tokens = np.zeros((count, n), dtype=np.int64)
    needed = np.full(count, n)
    for token in range(L):  # taken with its chance given how many tokens a sequence still needs
        taken = np.flatnonzero(rng.random(count) < needed / (L - token))
        tokens[taken, n - needed[taken]] = token
        needed[taken] -= 1
    return Sequences(tokens, np.full(count, 1 / count))


def uniform_gamma(L: int, n: int, lengths: Iterable[int]) -> float:
    """Our gamma for uniform sequences and lists of these lengths: min P(b* = a_k | a in s) / L.

    a_k determines the label when it is in s and a_1, ..., a_{k-1} are not; a_m = a always is.
    """
    least = []
    for m in lengths:
        others = special.comb(L - 1 - np.arange(1, m), n - 2)
        least.append(np.append(others, special.comb(L - m, n - 1)).min())
    return float(min(least) / special.comb(L - 1, n - 1) / L)


def theorem_1_scale(L: int, n: int, delta: float = 1.0) -> float:
    """Theorem 1's c = 4 n log(L) / delta, the scale of V = cP."""
    return 4 * n * np.log(L) / delta


def theorem_1_bound(L: int, M: int, gamma: float) -> float:
    """Theorem 1's time 4 M / (log(L) gamma)."""
    return 4 * M / (np.log(L) * gamma)


def theorem_2_scale(n: int, epsilon: float, loss: Callable[[float], float]) -> float:
    """Theorem 2's c = 10 n^2 L_0 + 4 epsilon n of one start, at delta = 1.

    `loss` is L_0 = L(W_0, V_0) as a function of c: it falls, so that exactly one c solves this.
    """

    def excess(c: float) -> float:
        return c - 10 * n**2 * loss(c) - 4 * epsilon * n

    return float(brentq(excess, 0.0, 1 - excess(0.0)))


def theorem_2(n: int, m: int, epsilon: float, loss: float, eta: float) -> dict[str, float]:
    """Theorem 2's constants of one start with loss L_0 = L(W_0, V_0), and whether it promises.

    A must be between `least_a` and `largest_a`; `holds` says whether some positive A is. T is in
    a window, widest with the largest A.
    """
    largest, least = loss - 6 * epsilon / n, float(np.sqrt(4 * m * loss / epsilon))
    constants = {"starting_loss": loss, "largest_a": largest, "least_a": least}
    first = 2 * m * loss / (largest**2 * eta) if largest > 0 else float("nan")
    window = {"window_first_step": first, "window_last_step": epsilon / (2 * eta)}
    return constants | {"holds": largest > least} | window
