"""Decision lists and sequences of distinct tokens (section I.B).

The paper leaves the distribution of sequences open. Ours: all sets of n distinct tokens are as
likely, unless tokens have weights.

Shapes: L tokens in the vocabulary, n tokens in a sequence, M the longest list, S sequences.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, combinations
from math import comb
from typing import NamedTuple

import numpy as np

from onelayer.errors import OnelayerError
from onelayer.seeds import generator
from onelayer.settings.decision_lists import Size

PADDING = -1
MOST_TOKENS = 50_000_000  # of all sequences together
Progress = Callable[..., Iterable]


def each_seed(problems: Iterable[Size], progress: Progress, seeds: list[int] | None = None):
    """Every problem, each of its seeds (or `seeds`), and what every row of that run begins with."""
    for size, seed in progress([(one, seed) for one in problems for seed in seeds or one.seeds]):
        key = {"L": size.L, "n": size.n, "m": size.m, "shortest": size.lengths[0], "seed": seed}
        yield size, seed, key


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
