"""Settings of the decision-list paper: which problems are solved, trained on and shown.

Symbols are the paper's (section I.A-B): L tokens in the vocabulary, n in a sequence, lists of m.
"""

import math
from collections.abc import Iterator
from itertools import product
from typing import Annotated, Literal, Self

import pydantic
from pydantic import Field

from onelayer.settings.block import Block, Computing, Positive, Seed, Threaded, each_once

MOST_SHOWN = 64  # tokens of a matrix W that is drawn
MOST_TOKENS = 50_000_000  # of all sequences together: what enumeration keeps in memory
LISTS = ("L", "n", "m", "shortest")  # what tells two problems apart
Seeds = Annotated[list[Seed], Field(min_length=1), each_once()]


def _check_sizes(L: int, n: int, m: int) -> None:
    """Refuse sizes that describe no problem, or one in which gamma is 0 and the bound infinite."""
    if n < 1:
        raise ValueError(f"n = {n}: a sequence has at least 1 token")
    if n > L:
        raise ValueError(f"n = {n}: a sequence of distinct tokens has at most L = {L}")
    if m < 1:
        raise ValueError(f"m = {m}: a list ends with its own token, so it has at least 1")
    if m > L:
        raise ValueError(f"m = {m}: a list of distinct tokens has at most L = {L}")
    if m > n:
        raise ValueError(f"m = {m}: a list that never fits a sequence; allowed up to n = {n}")
    # Else every sequence holds one of a_1, ..., a_{m-1}.
    if m > 1 and n + m - 1 > L:
        raise ValueError(
            f"L = {L}: with n = {n} and m = {m} the own token never determines a label; "
            f"allowed from L = {n + m - 1}"
        )


def _check_shortest(shortest: int | None, m: int) -> None:
    if shortest is not None and shortest >= m:
        raise ValueError(
            f"shortest = {shortest}: must be below m = {m}; leave it out where all lists have {m}"
        )


def _check_enumerable(L: int, n: int) -> None:
    if (count := math.comb(L, n)) * n > MOST_TOKENS:
        raise ValueError(f"n = {n} of L = {L}: {count:,} sequences are too many to enumerate")


class Size(Block):
    """One problem."""

    L: int = Field(ge=2)
    """Vocabulary (tokens)."""
    n: int = Field(ge=2)
    """Length of a sequence of distinct tokens (tokens); at most L."""
    m: int = Field(ge=1)
    """Length of every token's list (tokens); at most n."""

    @pydantic.model_validator(mode="after")
    def _fits(self) -> Self:
        _check_sizes(self.L, self.n, self.m)
        return self

    @property
    def label(self) -> str:
        """`L 10, n 5, m 2`."""
        return f"L {self.L}, n {self.n}, m {self.m}"


class ListedSize(Size):
    """One problem, whose lists may be of unequal length."""

    shortest: int | None = Field(None, ge=1)
    """Length of the shortest list, below m; lengths from it to m are then dealt to the tokens, each
    to as many. null: all lists have m (tokens)."""

    @pydantic.model_validator(mode="after")
    def _shortest_is_shorter(self) -> Self:
        _check_shortest(self.shortest, self.m)
        return self


class EnumeratedSize(ListedSize):
    """A problem of which all sequences are listed."""

    @pydantic.model_validator(mode="after")
    def _can_be_listed(self) -> Self:
        _check_enumerable(self.L, self.n)
        return self


class Grid(Block):
    """Every combination of some sizes, for the reduced flow."""

    L: list[int] = Field(min_length=1)
    """Vocabularies (tokens)."""
    n: list[int] = Field(min_length=1)
    """Lengths of sequences (tokens)."""
    m: list[int] = Field(min_length=1)
    """Lengths of lists (tokens)."""
    shortest: int | None = Field(None, ge=1)
    """Length of the shortest list, below every m, where lists are of unequal length (tokens)."""
    delta: list[Positive] = Field([1.0], min_length=1)
    """Values of delta in c = 4 n log(L) / delta; the paper leaves delta open."""
    step: float = Field(0.05, gt=0)
    """Step of Heun's method (units of n / c)."""

    @pydantic.model_validator(mode="after")
    def _all_fit(self) -> Self:
        for L, n, m in product(self.L, self.n, self.m):
            _check_sizes(L, n, m)
            _check_shortest(self.shortest, m)
        return self

    def settings(self) -> Iterator[tuple[int, int, int, float]]:
        """(L, n, m, delta) of every combination."""
        return product(self.L, self.n, self.m, self.delta)


class Theorem1Settings(Block):
    """The exact reduced flow on W (Theorem 1)."""

    grids: list[Grid] = Field(min_length=1)
    """Settings of the table and of the figure of t*."""
    max_steps: int = Field(ge=1)
    """Where a flow gives up (steps)."""


class WorstCaseSettings(Block):
    """The search for lists and distributions whose time comes nearest to Theorem 1's bound."""

    sizes: Annotated[list[Size], each_once("L", "n", "m")] = Field(min_length=1)
    """Problems; lists of 1 to m tokens."""
    climbs: int = Field(ge=1)
    """Random lists and distributions, from each of which one climb starts (climbs)."""
    rounds: int = Field(ge=1)
    """Changes tried in each climb, one at a time (changes)."""
    heaviest: float = Field(ge=1)
    """Tokens' weights lie between this and its inverse."""
    seed: Seed
    """Of starts and changes."""
    step: float = Field(gt=0)
    """Step of Heun's method in the search (units of n / c); what it finds is solved again with that
    of `theorem_1`."""
    max_steps: int = Field(ge=1)
    """Where a flow gives up (steps)."""

    @pydantic.model_validator(mode="after")
    def _can_be_listed(self) -> Self:
        for size in self.sizes:
            _check_enumerable(size.L, size.n)
        return self


class _Run(ListedSize):
    """What every run on the full matrix W has."""

    delta: float = Field(1.0, gt=0)
    """delta in c = 4 n log(L) / delta; the paper leaves it open."""
    zipf: float = Field(0.0, ge=0)
    """Exponent of the tokens' Zipf weights; 0 draws all sequences alike."""
    seeds: Seeds = [0]
    """Seeds of lists, permutation and drawn sequences; one run each."""
    record_every: int = Field(5, ge=1)
    """Steps between two points of the history (steps)."""
    max_steps: int = Field(100_000, ge=1)
    """Where a run gives up (steps)."""


class FullRun(_Run, EnumeratedSize):
    """Population gradient flow on W over all sequences."""

    method: Literal["full"]
    """All sequences are listed."""
    step: float = Field(0.05, gt=0)
    """Step of Heun's method (units of n / c)."""


class SampledRun(_Run):
    """Gradient flow on W with fresh sequences at every step, for any L."""

    method: Literal["sampled"]
    """Sequences are drawn anew for every step."""
    step: float = Field(0.4, gt=0)
    """Step of Heun's method (units of n / c)."""
    batch: int = Field(1024, ge=1)
    """Sequences drawn at once (sequences)."""
    chunks: int = Field(1, ge=1)
    """Draws of that size per step; memory is that of one."""


class DescentRun(_Run):
    """Stochastic gradient descent on W on fresh sequences."""

    method: Literal["descent"]
    """Sequences are drawn anew for every step."""
    eta: float = Field(0.02, gt=0)
    """Learning rate."""
    batch: int = Field(256, ge=1)
    """Sequences per step (sequences)."""


class FactoredRun(_Run, EnumeratedSize):
    """Population gradient flow on W_K and W_Q apart, as in the paper's first equation."""

    method: Literal["factored"]
    """All sequences are listed; W is W_K^T W_Q."""
    step: float = Field(0.05, gt=0)
    """Step of Heun's method (units of n / c)."""
    deviation: Positive
    """Standard deviation of the initial entries of W_K and W_Q: at 0 the gradient of both is 0."""


Run = Annotated[FullRun | SampledRun | DescentRun | FactoredRun, Field(discriminator="method")]


class AttentionSettings(Computing):
    """Training the full matrix W with V = cP."""

    runs: Annotated[list[Run], each_once(*LISTS, "delta", "zipf", "method", "deviation")] = Field(
        min_length=1
    )
    """Runs, each at one size, with one method and distribution."""


class ValueSettings(Threaded):
    """Training V alone at W = 0 (section II)."""

    sizes: Annotated[list[EnumeratedSize], each_once(*LISTS)] = Field(min_length=1)
    """Problems; the first is shown as a heat map."""
    seeds: Seeds
    """Seeds of lists and permutation; one run each."""
    eta: float = Field(gt=0)
    """Learning rate of gradient descent."""
    steps: int = Field(ge=1)
    """Steps of gradient descent (steps)."""
    record_every: int = Field(ge=1)
    """Steps between two points of the history (steps)."""


class NearStart(ListedSize):
    """W and V trained together from W = 0 and V within epsilon / 2 of cP (Theorem 2)."""

    epsilon: Annotated[list[Positive], Field(min_length=1), each_once()]
    """Sup-norm width of the noise on V = cP; one start each."""
    scale: Literal["theorem_1", "theorem_2"] = "theorem_2"
    """Whose c."""
    delta: float = Field(1.0, gt=0)
    """delta in c; the paper leaves it open."""
    seeds: Seeds = [0, 1, 2, 3]
    """Seeds of lists, permutation and noise; one run each."""
    steps: int = Field(200, ge=1)
    """Where training stops (steps)."""
    sequences: int | None = Field(None, ge=1)
    """Sequences drawn once and trained on; null trains on all of them (sequences)."""
    fresh: int = Field(400, ge=1)
    """Where sequences are drawn: as many others must be classified too (sequences)."""

    @pydantic.model_validator(mode="after")
    def _can_be_listed(self) -> Self:
        if self.sequences is None:
            _check_enumerable(self.L, self.n)
        return self


class SmallStart(EnumeratedSize):
    """W and V trained together from small random numbers, which the authors leave open."""

    optimiser: Literal["gd", "adam"]
    """Plain gradient descent, or Adam."""
    eta: float = Field(gt=0)
    """Learning rate."""
    deviation: float = Field(0.01, gt=0)
    """Standard deviation of the initial entries of W and V."""
    seeds: Seeds = [0, 1, 2, 3]
    """Seeds of lists, permutation and start; one run each."""
    steps: int = Field(300, ge=1)
    """Where training stops (steps)."""


class JointSettings(Threaded):
    """Training W and V together."""

    near: Annotated[list[NearStart], each_once(*LISTS, "scale", "delta", "sequences")] = Field(
        min_length=1
    )
    """Starts near V = cP; one at least with Theorem 2's c."""
    small: Annotated[list[SmallStart], each_once(*LISTS, "optimiser", "eta", "deviation")] = Field(
        min_length=1
    )
    """Small random starts."""

    @pydantic.model_validator(mode="after")
    def _one_start_of_theorem_2(self) -> Self:
        if all(start.scale != "theorem_2" for start in self.near):
            raise ValueError("near: no start with scale theorem_2, and so no table of Theorem 2")
        return self


class DecisionListSettings(Block):
    """Decision lists with one-layer transformers: the first reproduction."""

    theorem_1: Theorem1Settings
    """Time to perfect classification, exactly."""
    worst_case: WorstCaseSettings
    """How near to Theorem 1's bound any lists and distribution come."""
    shown: list[Size] = Field(min_length=1)
    """Sizes of the figure of accuracy over time; the first is the heat map's too. Theorem 1's table
    has them whether a grid names them or not."""
    attention: AttentionSettings
    """W alone, all of it."""
    value: ValueSettings
    """V alone."""
    joint: JointSettings
    """Both."""

    @pydantic.model_validator(mode="after")
    def _shown_sizes_have_runs(self) -> Self:
        if (L := self.shown[0].L) > MOST_SHOWN:
            raise ValueError(
                f"shown: the first is drawn token by token, with L at most {MOST_SHOWN}, found {L}"
            )
        runs = [run for run in self.attention.runs if run.delta == 1 and run.shortest is None]
        have = list(dict.fromkeys(run.label for run in sorted(runs, key=size_of)))
        for size in self.shown:
            if size.label not in have:
                raise ValueError(
                    f"shown: {size.label} has no run with delta 1 in attention.runs; "
                    f"these have: {'; '.join(have) or 'none'}"
                )
        return self


def size_of(size: Size) -> tuple[int, int, int]:
    """(L, n, m)."""
    return size.L, size.n, size.m
