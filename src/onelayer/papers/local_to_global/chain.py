"""The binary Markov chain of Makkuva et al. (2024), section 2, and other sources."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy.special import entr

from onelayer.settings.local_to_global import INDEPENDENT, ChainSettings


@dataclass(frozen=True)
class Chain:
    """P(1 | 0) = p, P(0 | 1) = q, both strictly between 0 and 1."""

    p: float
    q: float

    @classmethod
    def of(cls, settings: ChainSettings) -> Self:
        """The chain of a block of settings."""
        return cls(settings.p, settings.q)

    @property
    def pi1(self) -> float:
        """Stationary probability of 1."""
        return self.p / (self.p + self.q)

    @property
    def pi0(self) -> float:
        """Stationary probability of 0."""
        return self.q / (self.p + self.q)

    @property
    def unigram_entropy(self) -> float:
        """H(pi): the loss of the best model that ignores the current symbol (nats)."""
        return _binary_entropy(self.pi1)

    @property
    def bigram_entropy(self) -> float:
        """The chain's entropy rate: the loss of the best model of all (nats)."""
        return self.pi0 * _binary_entropy(self.p) + self.pi1 * _binary_entropy(self.q)

    @property
    def s_star(self) -> float:
        """The logit difference f1 - f0 of the chain itself: log((1 - p)(1 - q) / (p q))."""
        p, q = self.p, self.q
        return math.log((1 - p) / q) + math.log((1 - q) / p)

    @property
    def is_independent(self) -> bool:
        """Whether p + q = 1: both entropies are equal, and every theorem is silent."""
        return abs(self.p + self.q - 1) < INDEPENDENT


def _binary_entropy(probability: float) -> float:
    return float(entr(probability) + entr(1 - probability))


@dataclass(frozen=True, eq=False)
class MarkovSource:
    """A Markov source of S states and order k (the paper's open problems).

    A context is the last k symbols, read as a number whose last digit is the latest of them; there
    are C = S^k.

    Attributes:
        transitions: float64 [C, S], the next symbol's law after each context.
    """

    transitions: np.ndarray

    @classmethod
    def of(cls, rows: Sequence[Sequence[float]]) -> Self:
        """The source of these rows, one a context, as settings have them."""
        return cls(np.array(rows, dtype=np.float64))

    @property
    def states(self) -> int:
        """The number of symbols, S."""
        return self.transitions.shape[1]

    @property
    def order(self) -> int:
        """The number of symbols that count, k."""
        return round(math.log(len(self.transitions), self.states))

    @property
    def law(self) -> np.ndarray:
        """Stationary law of the contexts, float64 [C]."""
        C, S = self.transitions.shape
        moves = np.zeros((C, C))
        for context, symbol in np.ndindex(C, S):
            moves[context, (context * S + symbol) % C] += self.transitions[context, symbol]
        balance = np.vstack([moves.T - np.eye(C), np.ones(C)])
        return np.linalg.lstsq(balance, np.append(np.zeros(C), 1.0), rcond=None)[0]

    @property
    def second_eigenvalue(self) -> float:
        """The largest real part of a chain's other eigenvalues (k = 1); 1 - p - q for two."""
        return float(np.sort(np.linalg.eigvals(self.transitions).real)[-2])

    def entropy(self, memory: int) -> float:
        """Loss of the best model that sees the last `memory` <= k symbols (nats)."""
        S, k = self.states, self.order
        joint = (self.law[:, None] * self.transitions).reshape(S ** (k - memory), S**memory, S)
        seen = joint.sum(axis=0)
        return float(entr(seen).sum() - entr(seen.sum(axis=1)).sum())
