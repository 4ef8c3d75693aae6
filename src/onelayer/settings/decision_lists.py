"""Decision lists: which problems are solved, trained on and shown.

Symbols are the paper's (section I.A-B): L tokens in the vocabulary, n in a sequence, lists of m.
"""

from itertools import product
from typing import Annotated, Literal, Self

import pydantic
from pydantic import Field

from onelayer.settings.block import Block, Count, Positive, Seed, Threaded, each_once

LISTS = ("L", "n", "m", "shortest")  # what tells two problems apart
Seeds = Annotated[list[Seed], Field(min_length=1), each_once()]


def check_size(L: int, n: int, m: int, shortest: int | None) -> None:
    """Refuse sizes that describe no problem, or one in which gamma is 0 and the bound infinite."""
    if not 1 <= m <= n <= L:
        raise ValueError(f"L = {L}, n = {n}, m = {m}: allowed are 1 <= m <= n <= L")
    if m > 1 and n + m - 1 > L:  # every sequence holds one of a_1, ..., a_{m-1}
        raise ValueError(f"L = {L}: no own token determines a label; allowed from L = {n + m - 1}")
    if shortest is not None and shortest >= m:
        raise ValueError(f"shortest = {shortest}: must be below m = {m}; null where all have m")


class Size(Block):
    """One problem."""

    L: int = Field(ge=2)  # tokens in the vocabulary
    n: int = Field(ge=2)  # distinct tokens in a sequence
    m: Count  # tokens in every list
    shortest: Count | None = None  # lengths from it to m, each for as many tokens; null: all m

    @pydantic.model_validator(mode="after")
    def _fits(self) -> Self:
        check_size(self.L, self.n, self.m, self.shortest)
        return self

    @property
    def lengths(self) -> range:
        """How long lists are, from the shortest to m."""
        return range(self.shortest or self.m, self.m + 1)


class Grid(Block):
    """Every combination of some sizes, for the reduced flow."""

    L: list[int] = Field(min_length=1)
    n: list[int] = Field(min_length=1)
    m: list[int] = Field(min_length=1)
    shortest: Count | None = None  # of every problem here
    delta: list[Positive] = Field([1.0], min_length=1)  # in c = 4 n log(L) / delta; ours
    step: Positive = 0.05  # of Heun's method, in units of n / c

    @pydantic.model_validator(mode="after")
    def _all_fit(self) -> Self:
        for L, n, m in product(self.L, self.n, self.m):
            check_size(L, n, m, self.shortest)
        return self


class Theorem1(Block):
    """The exact reduced flow on W (Theorem 1)."""

    grids: list[Grid] = Field(min_length=1)
    max_steps: Count  # where a flow gives up


class Run(Size):
    """Training the full matrix W with V = cP, c of Theorem 1 at delta = 1."""

    method: Literal["full", "descent"]  # population flow, or SGD on fresh sequences
    seeds: Seeds = [0]  # of lists, permutation and drawn sequences
    record_every: Count = 5  # steps between two points of the history
    max_steps: Count = 100_000  # where a run gives up


class ValueTraining(Block):
    """V alone at W = 0 (section II)."""

    sizes: Annotated[list[Size], each_once(*LISTS)] = Field(min_length=1)
    seeds: Seeds  # of lists and permutation
    eta: Positive  # learning rate
    steps: Count


class NearStart(Size):
    """W and V together, from W = 0 and V within epsilon / 2 of cP (Theorem 2)."""

    epsilon: Annotated[list[Positive], Field(min_length=1), each_once()]  # noise; a start each
    seeds: Seeds = [0, 1, 2, 3]  # of lists, permutation and noise
    steps: Count = 200  # where training stops; twice as many where the learning rate is halved
    sequences: Count | None = None  # drawn once and trained on; null: all sequences
    fresh: Count = 400  # where sequences are drawn: as many others must be right too


class SmallStart(Size):
    """W and V together from small random numbers, which the authors leave open."""

    optimiser: Literal["gd", "adam"]
    eta: Positive  # learning rate
    seeds: Seeds = [0, 1, 2, 3]  # of lists, permutation and start
    steps: Count = 300  # where training stops


class DecisionListSettings(Threaded):
    """Decision lists with one-layer transformers."""

    theorem_1: Theorem1
    shown: list[Size] = Field(min_length=1)  # in the figures over time; the first token by token
    attention: Annotated[list[Run], each_once(*LISTS, "method")] = Field(min_length=1)
    value: ValueTraining
    near: Annotated[list[NearStart], each_once(*LISTS, "sequences")] = Field(min_length=1)
    small: Annotated[list[SmallStart], each_once(*LISTS, "optimiser", "eta")] = Field(min_length=1)

    @pydantic.model_validator(mode="after")
    def _shown_sizes_have_runs(self) -> Self:
        have = {(run.L, run.n, run.m, run.shortest) for run in self.attention}
        for size in self.shown:
            if size.shortest or (size.L, size.n, size.m, None) not in have:
                size = f"L {size.L}, n {size.n}, m {size.m}"
                raise ValueError(f"shown: {size} has no run in attention with lists of one length")
        return self
