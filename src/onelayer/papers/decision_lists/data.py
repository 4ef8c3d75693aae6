"""Decision lists, sequences of distinct tokens and their labels (section I.B of the paper).

A sequence is a set of n distinct tokens. The paper leaves its distribution open; ours is
P(s) proportional to the product of its tokens' weights: uniform (all weights 1) or Zipf-skewed.

Shapes: L tokens in the vocabulary, n tokens in a sequence, M the longest list, S sequences.
"""

from dataclasses import dataclass
from functools import cached_property
from itertools import chain, combinations
from math import comb

import numpy as np

from onelayer.compute.seeds import generator

PADDING = -1


@dataclass(frozen=True, eq=False)
class DecisionLists:
    """A list L_a = (a_1, ..., a_m = a) for every token a, and the permutation pi."""

    lists: np.ndarray  # int64 [L, M]; row a holds L_a, then -1 up to the longest list
    permutation: np.ndarray  # int64 [L], pi

    @property
    def vocabulary(self) -> int:
        """L."""
        return len(self.permutation)

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
        matrix = np.zeros((self.vocabulary, self.vocabulary))
        matrix[self.permutation, np.arange(self.vocabulary)] = 1.0
        return matrix

    def determining_places(self, tokens: np.ndarray) -> np.ndarray:
        """Place of b*, the label-determining token, for every query of distinct tokens [S, n]."""
        return self.rank[tokens[:, None, :], tokens[:, :, None]].argmin(axis=2)  # [S, query, key]


@dataclass(frozen=True, eq=False)
class Sequences:
    """Sequences of distinct tokens and their probabilities."""

    tokens: np.ndarray  # int64 [S, n]
    probability: np.ndarray  # float64 [S], sums to 1


def random_lists(rng: np.random.Generator, L: int, m: int | np.ndarray) -> DecisionLists:
    """Lists of uniformly drawn distinct other tokens, each ended by its own, and a random pi.

    All have m tokens, or each token's as many as its entry of m, int [L], says.
    """
    lengths = np.broadcast_to(np.asarray(m, dtype=np.int64), (L,))
    # Keys of the own token are the largest, so that the first places go to others.
    keys = rng.random((L, L))
    np.fill_diagonal(keys, 2.0)
    others = keys.argsort(axis=1)[:, : lengths.max()]
    lists = np.where(np.arange(lengths.max()) < lengths[:, None] - 1, others, PADDING)
    lists[np.arange(L), lengths - 1] = np.arange(L)
    return DecisionLists(lists, rng.permutation(L))


def lists_of_seed(L: int, m: int, seed: int, shortest: int | None = None) -> DecisionLists:
    """`random_lists` of a seed; all have m tokens, or lengths from `shortest` to m are dealt."""
    if shortest is None:
        return random_lists(generator("decision lists", L, m, seed), L, m)
    rng = generator("decision lists of unequal length", L, m, shortest, seed)
    return random_lists(rng, L, rng.permutation(dealt_lengths(L, shortest, m)))


def list_length(m: int, shortest: int) -> int | str:
    """How long lists are, for readers: m, or `1 to 4` where they are of unequal length."""
    return m if shortest == m else f"{shortest} to {m}"


def dealt_lengths(L: int, shortest: int, m: int) -> np.ndarray:
    """Lengths from `shortest` to m, dealt to L tokens in turn, int64 [L]."""
    return shortest + np.arange(L) % (m - shortest + 1)


def zipf_weights(L: int, exponent: float) -> np.ndarray:
    """Weights rank^-exponent of the tokens, float64 [L], mean 1; exponent 0 is uniform."""
    weights = np.arange(1, L + 1, dtype=np.float64) ** -exponent
    return weights / weights.mean()


def enumerate_sequences(L: int, n: int, weights: np.ndarray | None = None) -> Sequences:
    """All n-subsets of the vocabulary in lexicographic order, with their probabilities.

    Weights are of the tokens, float64 [L], positive; None is uniform.
    """
    count = comb(L, n)
    flat = np.fromiter(chain.from_iterable(combinations(range(L), n)), np.int64, count * n)
    tokens = flat.reshape(count, n)
    mass = np.ones(count) if weights is None else weights[tokens].prod(axis=1)
    return Sequences(tokens, mass / mass.sum())


def sample_sequences(rng: np.random.Generator, L: int, n: int, count: int) -> Sequences:
    """Independent uniform sequences, of probability 1 / count; tokens ascend within a sequence.

    Walks through the vocabulary once and takes token i with its probability given how many tokens
    a sequence still needs.
    """
    chance = inclusion_chances(np.ones(L), n)
    tokens = np.zeros((count, n), dtype=np.int64)
    needed = np.full(count, n)
    for token in range(L):
        taken = np.flatnonzero(rng.random(count) < chance[token, needed])
        tokens[taken, n - needed[taken]] = token
        needed[taken] -= 1
    return Sequences(tokens, np.full(count, 1 / count))


def inclusion_chances(weights: np.ndarray, n: int) -> np.ndarray:
    """Probability that a token is in s, given how many of it and its successors are.

    Exact for any weights, which drawing without replacement is not.

    Returns:
        float64 [L, n + 1]; entry [i, k] = w_i e_{k-1}(w_{i+1}, ...) / e_k(w_i, ...), with e_k the
        elementary symmetric polynomials; 1 where all that are left are needed.
    """
    scaled = weights / weights.mean()
    after = np.zeros(n + 1)
    after[0] = 1.0  # e_k of no weights
    chance = np.zeros((len(weights), n + 1))
    for token in reversed(range(len(weights))):
        taking = scaled[token] * after[:-1]
        after[1:] += taking
        np.divide(taking, after[1:], out=chance[token, 1:], where=after[1:] > 0)
    return chance
