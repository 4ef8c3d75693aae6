"""Settings of the Local to Global paper (Makkuva et al. 2024)."""

from typing import Annotated, ClassVar, Literal

import pydantic
from pydantic import Field

from onelayer.settings.block import Block, Computing, Count, Positive, Seed, Share, Title, each_once

# `paper` is the authors' start with W = 1, `paper_canonical` with W = .25, the canonical point.
Start = Literal["standard", "rank_one", "paper", "paper_canonical"]
Optimizer = Literal["adamw", "sgd"]  # AdamW with betas .9 and .95, or SGD with momentum .9
Length = Annotated[int, Field(ge=8, le=4096)]
Decay = Annotated[float, Field(ge=0, lt=1)]
Rows = Literal[1, 2]


class ChainSettings(Block):
    """A binary Markov chain."""

    p: float = Field(gt=0, lt=1)  # P(next is 1 | 0)
    q: float = Field(gt=0, lt=1)  # P(next is 0 | 1)

    @pydantic.model_validator(mode="after")
    def _depends_on_the_past(self) -> "ChainSettings":
        if abs(self.p + self.q - 1) < 1e-9:
            raise ValueError(
                f"p = {self.p:.15g}, q = {self.q:.15g}: p + q = 1 makes the symbols independent, "
                "and the paper's theorems are silent there; choose p + q below or above 1"
            )
        return self


Chains = Annotated[list[ChainSettings], each_once("p", "q")]


class FlowSettings(Block):
    """Gradient flow of the canonical model from many starts at once."""

    # In the order of rows; figures show the first with p + q < 1 and the first with p + q > 1.
    chains: Chains = Field(min_length=2)
    tolerance: float = Field(gt=0, le=1e-3)  # error of a step, relative to each variable
    at_rest: float = Field(gt=0, le=1e-3)  # a trajectory ends when the way left is below this
    seed: Seed
    extent: float = Field(gt=0.8, le=10)  # basin maps cover [-extent, extent] in e and w
    points: int = Field(ge=10, le=2000)  # per axis of a basin map
    sigmas: list[Annotated[float, Field(gt=0, le=4)]] = Field(min_length=2)  # of Gaussian starts
    draws: int = Field(ge=20)  # Gaussian starts per chain and sigma
    wide: float = Field(gt=0, le=2)  # Fig. 2: starts of (e, w, a) uniform in [-wide, wide]^3
    near: float = Field(gt=0, le=1)  # Fig. 5: the same near the origin
    trajectories: int = Field(ge=4, le=1000)  # shown per chain and panel
    frames: int = Field(ge=2, le=500)  # times at which the shown trajectories are kept

    @pydantic.model_validator(mode="after")
    def _both_sides_and_order(self) -> "FlowSettings":
        sums = [chain.p + chain.q for chain in self.chains]
        if not min(sums) < 1 < max(sums):
            raise ValueError("chains: at least one with p + q < 1 and one with p + q > 1")
        if self.sigmas != sorted(set(self.sigmas)):
            raise ValueError("sigmas: each once, in ascending order")
        return self


class AttentionFlowSettings(Block):
    """Gradient flow of (e, w, a) from Gaussian starts, integrated as `flow` says."""

    sigmas: Annotated[list[Annotated[float, Field(gt=0, le=1)]], each_once()] = Field(min_length=1)
    draws: int = Field(ge=20)  # per chain and sigma


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
    batch: Count | None = None
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
    training: TrainingSettings
    seeds: int = Field(ge=2)  # runs of each; fewer than six can decide no share
    evaluate_every: Count  # iterations
    evaluate_on: Count  # held-out sequences
    variants: Annotated[list[Variant], each_once("name")]

    @pydantic.model_validator(mode="after")
    def _can_be_trained(self) -> "EnsembleSettings":
        for variant in self.variants:
            if variant.name in {start.name for start in self.starts}:
                raise ValueError(f"variants: {variant.name}: is trained anyway")
        for variant in self.trained:
            rows = variant.applied(self.training).embedding_rows
            if variant.initialisation == "rank_one" and rows != 1:
                raise ValueError(f"{variant.name}: embedding_rows must be 1, found {rows}")
        return self

    @property
    def trained(self) -> list[Variant]:
        """Everything that is trained, in the order of rows."""
        return [*self.starts, *self.variants]


class TransformerSettings(EnsembleSettings):
    """Four starts trained alike (Figs. 3, 4 and 6), then one change at a time."""

    starts: ClassVar[list[Variant]] = [
        Variant(name=start, initialisation=start)
        for start in ("standard", "rank_one", "paper", "paper_canonical")
    ]
    chain: ChainSettings
    snapshots: list[Count] = Field(min_length=1)  # iterations at which the weights are shown

    @pydantic.model_validator(mode="after")
    def _snapshots_fit(self) -> "TransformerSettings":
        last, iterations = max(self.snapshots), self.training.iterations
        if last > iterations:
            raise ValueError(f"snapshots: {last} comes after the last of {iterations} iterations")
        return self


class TrapSettings(EnsembleSettings):
    """Is the unigram model a trap of the whole transformer, on every chain with p + q > 1?"""

    starts: ClassVar[list[Variant]] = [
        Variant(name="standard start"),
        Variant(name="paper's start", initialisation="paper"),
        Variant(name="paper's start, W = .25", initialisation="paper_canonical"),
    ]
    chains: Chains = Field(min_length=1)

    @pydantic.model_validator(mode="after")
    def _chains_have_a_trap(self) -> "TrapSettings":
        for chain in self.chains:
            if chain.p + chain.q <= 1:
                found = f"p = {chain.p:.15g}, q = {chain.q:.15g}"
                raise ValueError(f"chains: {found}: p + q must exceed 1")
        for variant in self.trained:
            if variant.applied(self.training).embedding_rows == 2:
                raise ValueError(f"{variant.name}: embedding_rows must be 1, found 2")
        return self


class LocalToGlobalSettings(Block):
    """Local to Global: gradient flow, and transformers on Markov chains."""

    flow: FlowSettings  # the canonical model
    attention_flow: AttentionFlowSettings  # the canonical model with the attention scalar
    transformer: TransformerSettings  # the transformer from four starts, and changes
    trap: TrapSettings  # curvature at the unigram model, and escapes from it
