"""The binary Markov chain of section 2."""

import math
from dataclasses import dataclass

from scipy.special import entr


@dataclass(frozen=True)
class Chain:
    """P(1 | 0) = p, P(0 | 1) = q, both strictly between 0 and 1, p + q not 1. Losses in nats."""

    p: float
    q: float

    @property
    def below(self) -> bool:
        """Whether p + q < 1: symbols repeat more often than they change."""
        return self.p + self.q < 1

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
        """H(pi): the loss of the best model that ignores the current symbol."""
        return _binary_entropy(self.pi1)

    @property
    def bigram_entropy(self) -> float:
        """The chain's entropy rate: the loss of the best model of all."""
        return self.pi0 * _binary_entropy(self.p) + self.pi1 * _binary_entropy(self.q)

    @property
    def s_star(self) -> float:
        """The logit difference f1 - f0 of the chain itself: log((1 - p)(1 - q) / (p q))."""
        p, q = self.p, self.q
        return math.log((1 - p) / q) + math.log((1 - q) / p)

    @property
    def close(self) -> float:
        """How near to an entropy a loss counts as at it: a tenth of their distance."""
        return 0.1 * (self.unigram_entropy - self.bigram_entropy)

    def __str__(self) -> str:
        return f"p = {self.p:.15g}, q = {self.q:.15g}"


def _binary_entropy(probability: float) -> float:
    return float(entr(probability) + entr(1 - probability))
