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


class Size(Block):
    """One problem."""

    L: int = Field(ge=2)  # tokens in the vocabulary
    n: int = Field(ge=2)  # distinct tokens in a sequence
    m: Count  # tokens in every list

    @pydantic.model_validator(mode="after")
    def _fits(self) -> Self:
        check_size(self.L, self.n, self.m)
        return self


class ListedSize(Size):
    """One problem, whose lists may be of unequal length."""

    shortest: Count | None = None  # lengths from it to m, each for as many tokens; null: all m

    @pydantic.model_validator(mode="after")
    def _shortest_is_shorter(self) -> Self:
        check_shortest(self.shortest, self.m)
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
            check_size(L, n, m)
            check_shortest(self.shortest, m)
        return self


class Theorem1(Threaded):
    """The exact reduced flow on W (Theorem 1)."""

    grids: list[Grid] = Field(min_length=1)
    max_steps: Count  # where a flow gives up


class _Run(ListedSize):
    """What every training of the full matrix W has."""

    delta: Positive = 1.0  # in c = 4 n log(L) / delta; ours
    seeds: Seeds = [0]  # of lists, permutation and drawn sequences
    record_every: Count = 5  # steps between two points of the history
    max_steps: Count = 100_000  # where a run gives up


class FullRun(_Run):
    """Population gradient flow on W over all sequences."""

    method: Literal["full"]
    step: Positive = 0.05  # of Heun's method, in units of n / c


class DescentRun(_Run):
    """Stochastic gradient descent on W, on fresh sequences at every step."""

    method: Literal["descent"]
    eta: Positive = 0.02  # learning rate
    batch: Count = 256  # sequences per step


Run = Annotated[FullRun | DescentRun, Field(discriminator="method")]


class AttentionTraining(Threaded):
    """Training the full matrix W with V = cP."""

    runs: Annotated[list[Run], each_once(*LISTS, "delta", "method")] = Field(min_length=1)


class ValueTraining(Threaded):
    """Training V alone at W = 0 (section II)."""

    sizes: Annotated[list[ListedSize], each_once(*LISTS)] = Field(min_length=1)
    seeds: Seeds  # of lists and permutation
    eta: Positive  # learning rate
    steps: Count
    record_every: Count  # steps between two points of the history


class NearStart(ListedSize):
    """W and V together, from W = 0 and V within epsilon / 2 of cP (Theorem 2)."""

    epsilon: Annotated[list[Positive], Field(min_length=1), each_once()]  # noise; a start each
    scale: Literal["theorem_1", "theorem_2"] = "theorem_2"  # whose c
    delta: Positive = 1.0  # in c; ours
    seeds: Seeds = [0, 1, 2, 3]  # of lists, permutation and noise
    steps: Count = 200  # where training stops
    sequences: Count | None = None  # drawn once and trained on; null: all sequences
    fresh: Count = 400  # where sequences are drawn: as many others must be right too


class SmallStart(ListedSize):
    """W and V together from small random numbers, which the authors leave open."""

    optimiser: Literal["gd", "adam"]
    eta: Positive  # learning rate
    deviation: Positive = 0.01  # standard deviation of the initial entries
    seeds: Seeds = [0, 1, 2, 3]  # of lists, permutation and start
    steps: Count = 300  # where training stops


class JointTraining(Threaded):
    """Training W and V together."""

    near: Annotated[list[NearStart], each_once(*LISTS, "scale", "delta", "sequences")] = Field(
        min_length=1
    )
    small: Annotated[list[SmallStart], each_once(*LISTS, "optimiser", "eta", "deviation")] = Field(
        min_length=1
    )


class DecisionListSettings(Block):
    """Decision lists with one-layer transformers."""

    theorem_1: Theorem1
    shown: list[Size] = Field(min_length=1)  # in the figures over time; the first token by token
    attention: AttentionTraining  # W alone, all of it
    value: ValueTraining  # V alone
    joint: JointTraining  # both

    @pydantic.model_validator(mode="after")
    def _shown_sizes_have_runs(self) -> Self:
        runs = [run for run in self.attention.runs if run.delta == 1 and run.shortest is None]
        have = {(run.L, run.n, run.m) for run in runs}
        for size in self.shown:
            if (size.L, size.n, size.m) not in have:
                raise ValueError(
                    f"shown: L {size.L}, n {size.n}, m {size.m} has no run with delta 1 in "
                    f"attention.runs; these have: {sorted(have) or 'none'}"
                )
        return self


def check_size(L: int, n: int, m: int) -> None:
    """Refuse sizes that describe no problem, or one in which gamma is 0 and the bound infinite."""
    if not 1 <= n <= L:
        raise ValueError(f"n = {n}: a sequence has from 1 to L = {L} distinct tokens")
    if not 1 <= m <= n:
        raise ValueError(f"m = {m}: a list has from 1 to n = {n} tokens, to fit a sequence")
    if m > 1 and n + m - 1 > L:  # every sequence holds one of a_1, ..., a_{m-1}
        raise ValueError(
            f"L = {L}: with n = {n} and m = {m} the own token never determines a label; "
            f"allowed from L = {n + m - 1}"
        )


def check_shortest(shortest: int | None, m: int) -> None:
    """Refuse a shortest list that is not shorter."""
    if shortest is not None and shortest >= m:
        raise ValueError(f"shortest = {shortest}: must be below m = {m}; null where all have m")
