"""Settings of the Local to Global paper (Makkuva et al. 2024)."""

import math
from typing import Annotated, ClassVar, Literal

from pydantic import ConfigDict, Field, model_validator
from pydantic.dataclasses import dataclass

from onelayer.settings.block import Block, Computing, Count, Positive, Seed, Share, Title, each_once

# Every start, and what tables and figures call it. `paper` is the authors' default with W = 1,
# `paper_canonical` the canonical point.
STARTS = {
    "standard": "standard start",
    "rank_one": "rank-one start",
    "paper": "paper's start",
    "paper_canonical": "paper's start, W = .25",
}
Start = Literal[tuple(STARTS)]
MATRICES = ("W_1", "W_V", "W_Q", "W_K", "W_O", "W_2")  # whose rank is followed
Optimizer = Literal["adamw", "sgd"]  # AdamW with betas .9 and .95, or SGD with momentum .9
Length = Annotated[int, Field(ge=8, le=4096)]
Decay = Annotated[float, Field(ge=0, lt=1)]
Rows = Literal[1, 2]
Sigmas = Annotated[list[Annotated[float, Field(gt=0, le=4)]], Field(min_length=1), each_once()]
Draws = Annotated[int, Field(ge=20)]  # Gaussian starts per chain and sigma
Probability = Annotated[float, Field(gt=0, lt=1)]


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class Chain:
    """The binary Markov chain of section 2: P(1 | 0) = p, P(0 | 1) = q. Losses in nats."""

    p: Probability
    q: Probability

    @model_validator(mode="after")
    def _depends_on_the_past(self) -> "Chain":
        if abs(self.p + self.q - 1) < 1e-9:
            silent = "makes the symbols independent, and the paper's theorems are silent there"
            raise ValueError(f"{self}: p + q = 1 {silent}; choose p + q below or above 1")
        return self

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
    def gap(self) -> float:
        """How far the bigram entropy lies below the unigram entropy."""
        return self.unigram_entropy - self.bigram_entropy

    @property
    def s_star(self) -> float:
        """The logit difference f1 - f0 of the chain itself: log((1 - p)(1 - q) / (p q))."""
        p, q = self.p, self.q
        return math.log((1 - p) / q) + math.log((1 - q) / p)

    def __str__(self) -> str:
        return f"p = {self.p:.15g}, q = {self.q:.15g}"


def _binary_entropy(chance: float) -> float:
    return -chance * math.log(chance) - (1 - chance) * math.log(1 - chance)


Chains = Annotated[list[Chain], Field(min_length=1), each_once("p", "q")]


class FlowSettings(Block):
    """Gradient flow of the canonical model from many starts at once."""

    # In the order of rows; figures show the first with p + q < 1 and the first with p + q > 1.
    chains: Chains
    seed: Seed
    points: int = Field(ge=10, le=2000, multiple_of=2)  # per axis of a basin map; none on an axis
    sigmas: Sigmas  # of Gaussian starts (e, w)
    draws: Draws
    attention_sigmas: Sigmas  # of Gaussian starts (e, w, a), with the attention scalar
    attention_draws: Draws
    trajectories: int = Field(ge=4, le=1000)  # shown per chain and panel
    frames: int = Field(ge=2, le=500)  # times at which the shown trajectories are kept

    @model_validator(mode="after")
    def _both_sides(self) -> "FlowSettings":
        if len({chain.below for chain in self.chains}) < 2:
            raise ValueError("chains: at least one with p + q < 1 and one with p + q > 1")
        return self


class TrainingSettings(Block):
    """How one-layer transformers are trained on a chain."""

    sequence_length: Length  # inputs per sequence
    batch: Count  # sequences per iteration
    d: int = Field(ge=1, le=64)  # dimensions; one head, 4 d hidden units
    iterations: Count  # length of the training and of its learning-rate schedule
    optimizer: Optimizer
    lr: Positive  # largest learning rate of the one-cycle cosine schedule
    warm_up: Share  # of the iterations, in which the learning rate rises
    weight_decay: Decay  # decoupled, of embeddings and matrices
    layer_norm: bool  # with the LayerNorms of a GPT block
    embedding_rows: Rows  # one embedding vector times the symbol, or a row per symbol


class Variant(Block):
    """One change of the training; what is not named stays as it is."""

    name: Title  # its row in the table
    initialisation: Start = "standard"
    sequence_length: Length | None = None
    iterations: Count | None = None
    optimizer: Optimizer | None = None
    lr: Positive | None = None
    weight_decay: Decay | None = None
    layer_norm: bool | None = None
    embedding_rows: Rows | None = None

    def applied(self, base: TrainingSettings) -> TrainingSettings:
        """The training with this change."""
        changed = self.model_dump(exclude={"name", "initialisation"}, exclude_none=True)
        return base.model_copy(update=changed)


class EnsembleSettings(Computing):
    """What is trained, and how it is evaluated: `starts`, then changes of the training."""

    starts: ClassVar[list[Variant]] = []
    one_row: ClassVar[bool] = False  # whether all must have one embedding vector
    training: TrainingSettings
    seeds: int = Field(ge=2)  # runs of each; fewer than six can decide no share
    evaluate_every: Count  # iterations
    evaluate_on: Count  # held-out sequences
    variants: Annotated[list[Variant], each_once("name")]

    @model_validator(mode="after")
    def _can_be_trained(self) -> "EnsembleSettings":
        if twice := {v.name for v in self.variants} & {start.name for start in self.starts}:
            raise ValueError(f"variants: {min(twice)}: is trained anyway")
        for variant in self.trained:
            rows = variant.applied(self.training).embedding_rows
            if rows != 1 and (variant.initialisation == "rank_one" or self.one_row):
                raise ValueError(f"{variant.name}: embedding_rows must be 1, found {rows}")
        return self

    @property
    def trained(self) -> list[Variant]:
        """Everything that is trained, in the order of rows."""
        return [*self.starts, *self.variants]


class TransformerSettings(EnsembleSettings):
    """Four starts trained alike (Figs. 3, 4 and 6), then one change at a time."""

    starts: ClassVar = [Variant(name=start, initialisation=start) for start in STARTS]
    chain: Chain

    @property
    def snapshots(self) -> list[int]:
        """The iterations at which Figs. 3 and 6 show the weights."""
        return [shown for shown in (1, 100, 200) if shown <= self.training.iterations]


class TrapSettings(EnsembleSettings):
    """Is the unigram model a trap of the whole transformer, on every chain with p + q > 1?"""

    starts: ClassVar = [
        Variant(name=STARTS[start], initialisation=start) for start in STARTS if start != "rank_one"
    ]
    one_row: ClassVar = True
    chains: Chains

    @model_validator(mode="after")
    def _chains_have_a_trap(self) -> "TrapSettings":
        if below := [str(chain) for chain in self.chains if chain.below]:
            raise ValueError(f"chains: {below[0]}: p + q must exceed 1")
        return self


class LocalToGlobalSettings(Block):
    """Local to Global: gradient flow, and transformers on Markov chains."""

    flow: FlowSettings  # the canonical model
    transformer: TransformerSettings  # the transformer from four starts, and changes
    trap: TrapSettings  # curvature at the unigram model, and escapes from it
