"""The binary Markov chain of Makkuva et al. (2024), section 2, and its entropies."""

import math
from dataclasses import dataclass
from typing import Self

from scipy.special import entr

from onelayer.settings.local_to_global import ChainSettings

INDEPENDENT = 1e-9  # |p + q - 1| below this: the next symbol does not depend on the current one


@dataclass(frozen=True)
class Chain:
    """P(1 | 0) = p, P(0 | 1) = q.

    Raises:
        ValueError: p or q does not lie strictly between 0 and 1.
    """

    p: float
    q: float

    def __post_init__(self) -> None:
        for symbol, value in (("p", self.p), ("q", self.q)):
            if not 0 < value < 1:
                raise ValueError(f"{symbol} = {value:g}: must lie strictly between 0 and 1")

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

    def check_dependent(self) -> None:
        """Refuse p + q = 1.

        Raises:
            ValueError: p + q = 1, where both entropies are equal and every theorem is silent.
        """
        if abs(self.p + self.q - 1) < INDEPENDENT:
            raise ValueError(
                f"p = {self.p:g}, q = {self.q:g}: p + q = 1 makes the symbols independent; "
                "unigram and bigram entropy are equal there and the theorems do not apply"
            )


def _binary_entropy(probability: float) -> float:
    return float(entr(probability) + entr(1 - probability))
