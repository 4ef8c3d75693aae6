"""Markov sources beyond the paper's: any number of states, any order (its open problems).

Shapes: S states, k the order, C = S^k contexts, the last k symbols read as a number whose last
digit is the latest of them.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import entr


@dataclass(frozen=True, eq=False)
class Source:
    """A source by its transition probabilities.

    Attributes:
        transitions: float64 [C, S], the next symbol's law after each context.
    """

    transitions: np.ndarray

    @classmethod
    def of(cls, rows: Sequence[Sequence[float]]) -> "Source":
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
        for context in range(C):
            for symbol in range(S):
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
