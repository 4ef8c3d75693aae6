"""Settings of the Local to Global paper (Makkuva et al. 2024)."""

from collections.abc import Iterable
from typing import Annotated, Literal

import pydantic
from pydantic import Field

from onelayer.settings.block import Block, Computing, Seed, Share, Title, each_once, shown

Initialisation = Literal["standard", "rank_one", "paper"]
INDEPENDENT = 1e-9  # |p + q - 1| below this
# The transformer and the chain of the authors' figures 3, 4 and 6. They trained for up to 1,000
# iterations, and the last weights that they saved are those of iteration 200.
AUTHORS_CHAIN = {"p": 0.5, "q": 0.8}
AUTHORS_TRAINING = {
    "sequence_length": 1024,
    "batch": 16,
    "d": 8,
    "optimizer": "adamw",
    "lr": 2e-3,
    "warm_up": 0.02,
    "weight_decay": 1e-3,
    "layer_norm": False,
    "embedding_rows": 1,
}
AUTHORS_ITERATIONS = (200, 1000)


class ChainSettings(Block):
    """A binary Markov chain."""

    p: float = Field(gt=0, lt=1)
    """P(next is 1 | 0)."""
    q: float = Field(gt=0, lt=1)
    """P(next is 0 | 1)."""

    @pydantic.model_validator(mode="after")
    def _depends_on_the_past(self) -> "ChainSettings":
        if abs(self.p + self.q - 1) < INDEPENDENT:
            raise ValueError(
                f"p = {self.p:.15g}, q = {self.q:.15g}: p + q = 1 makes the symbols independent, "
                "and the paper's theorems are silent there; choose p + q below or above 1"
            )
        return self


class IntegrationSettings(Computing):
    """How gradient flows are integrated, and of which chains."""

    chains: Annotated[list[ChainSettings], each_once("p", "q")] = Field(min_length=2)
    """Chains in the order of rows; the first with p + q < 1 and the first with p + q > 1 are shown
    in the figures."""
    tolerance: float = Field(gt=0, le=1e-3)
    """Error of an integration step, relative to each variable."""
    at_rest: float = Field(gt=0, le=1e-3)
    """A trajectory ends when its speed falls and the way left is below this."""
    seed: Seed
    """Seed of the starts."""


class FlowSettings(IntegrationSettings):
    """Gradient flow of the canonical model from many starts at once."""

    extent: float = Field(gt=0.8, le=10)
    """Basin maps cover [-extent, extent] in e and w."""
    points: int = Field(ge=10, le=2000)
    """Grid points per axis of a basin map."""
    sigmas: list[Annotated[float, Field(gt=0, le=4)]] = Field(min_length=2)
    """Standard deviations of the Gaussian starts, ascending."""
    wide: float = Field(gt=0, le=2)
    """Starts of the wide view with the attention scalar: uniform in [-wide, wide]^3."""
    near: float = Field(gt=0, le=1)
    """The same near the origin."""
    draws: int = Field(ge=20)
    """Gaussian starts per chain and standard deviation (draws)."""
    trajectories: int = Field(ge=4, le=1000)
    """Trajectories shown per chain and panel (trajectories)."""
    frames: int = Field(ge=2, le=500)
    """Times at which the shown trajectories are kept; frames of the animation."""

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
    """Standard deviations of the starts, the same for e, w and a."""
    draws: int = Field(ge=20)
    """Starts per chain and standard deviation (draws)."""
    independent: Annotated[list[Annotated[float, Field(gt=0, lt=1)]], each_once()]
    """Each p of a chain with q = 1 - p, on which the theorems are silent; from the largest of the
    standard deviations, with the attention scalar and without it."""


class TrainingSettings(Block):
    """How one-layer transformers are trained on a chain."""

    sequence_length: int = Field(ge=8, le=4096)
    """Inputs per sequence (tokens)."""
    batch: int = Field(ge=1)
    """Sequences per iteration (sequences)."""
    d: int = Field(ge=1, le=64)
    """Dimensions of embedding and residual stream; one head, 4 d hidden units."""
    iterations: int = Field(ge=1)
    """Length of the training and of its learning-rate schedule (iterations)."""
    optimizer: Literal["adamw", "sgd"]
    """AdamW with betas .9, .95, or SGD with momentum .9."""
    lr: float = Field(gt=0)
    """Largest learning rate of the one-cycle cosine schedule."""
    warm_up: Share
    """Share of the iterations in which the learning rate rises."""
    weight_decay: float = Field(ge=0, lt=1)
    """Decoupled weight decay of embeddings and matrices."""
    layer_norm: bool
    """The LayerNorms of a GPT block: before attention, before the MLP, before the logit."""
    embedding_rows: Literal[1, 2]
    """One embedding vector times the symbol, or a row per symbol."""

    @property
    def authors(self) -> bool:
        """Whether it is the training that the authors show."""
        first, last = AUTHORS_ITERATIONS
        chosen = self.model_dump(include=set(AUTHORS_TRAINING))
        return chosen == AUTHORS_TRAINING and first <= self.iterations <= last


class EnsembleSettings(Computing):
    """What is trained, on which chain, and what is kept of the runs."""

    chain: ChainSettings
    """The chain that produces the sequences."""
    training: TrainingSettings
    """How every run is trained."""
    seeds: int = Field(ge=2)
    """Runs per initialisation (runs)."""
    evaluate_every: int = Field(ge=1)
    """Between two evaluations on held-out sequences (iterations)."""
    evaluate_on: int = Field(ge=1)
    """Held-out sequences (sequences)."""


class InitialisationSettings(EnsembleSettings):
    """Standard, rank-one and the paper's initialisation, trained alike."""

    snapshots: list[Annotated[int, Field(ge=1)]] = Field(min_length=1)
    """Iterations at which the weights are shown; the authors saved 1, 100 and 200."""

    @pydantic.model_validator(mode="after")
    def _fits(self) -> "InitialisationSettings":
        if self.training.embedding_rows != 1:
            raise ValueError(
                "training.embedding_rows: the rank-one initialisation has one row, found "
                f"{self.training.embedding_rows}"
            )
        if max(self.snapshots) > self.training.iterations:
            raise ValueError(
                f"snapshots: {max(self.snapshots)} comes after the last of "
                f"{self.training.iterations} iterations"
            )
        return self


class Variant(Block):
    """One change of the training; what is not named stays as in `transformer.training`."""

    name: Title
    """Its row in the table."""
    initialisation: Initialisation = "standard"
    """Where the runs start."""
    sequence_length: int | None = Field(None, ge=8, le=4096)
    """Inputs per sequence (tokens)."""
    batch: int | None = Field(None, ge=1)
    """Sequences per iteration (sequences)."""
    iterations: int | None = Field(None, ge=1)
    """Length of the training and of its schedule (iterations)."""
    optimizer: Literal["adamw", "sgd"] | None = None
    """AdamW or SGD."""
    lr: float | None = Field(None, gt=0)
    """Largest learning rate."""
    weight_decay: float | None = Field(None, ge=0, lt=1)
    """Weight decay."""
    layer_norm: bool | None = None
    """With the LayerNorms of a GPT block."""
    embedding_rows: Literal[1, 2] | None = None
    """One embedding vector, or a row per symbol."""

    @pydantic.model_validator(mode="after")
    def _rank_one_has_one_row(self) -> "Variant":
        if self.initialisation == "rank_one" and self.embedding_rows == 2:
            raise ValueError("embedding_rows: the rank-one initialisation has one row, found 2")
        return self

    def applied(self, base: TrainingSettings) -> TrainingSettings:
        """The training with this change."""
        changed = self.model_dump(exclude={"name", "initialisation"}, exclude_none=True)
        return base.model_copy(update=changed)


class AblationSettings(Block):
    """What keeps a standard start at the unigram model, and what lets it escape."""

    iterations: int = Field(ge=1)
    """Length of each training (iterations)."""
    seeds: int = Field(ge=2)
    """Runs per variant (runs); fewer than six can decide no share."""
    variants: Annotated[list[Variant], each_once("name")] = Field(min_length=1)
    """Variants in the order of rows."""


# What the trap's table and figure call its two starts.
STANDARD_START, PAPERS_START = "standard start", "paper's start"
TRAP_STARTS = [Variant(name=STANDARD_START), Variant(name=PAPERS_START, initialisation="paper")]


def papers_starts(variants: Iterable[Variant]) -> set[str]:
    """Names of the runs from the paper's start, which come from far above the unigram entropy."""
    return {PAPERS_START} | {v.name for v in variants if v.initialisation == "paper"}


class TrapSettings(Computing):
    """Is the unigram model a trap of the whole transformer, and how is it left?"""

    chains: Annotated[list[ChainSettings], each_once("p", "q")] = Field(min_length=1)
    """Chains with p + q > 1, each trained from both starts."""
    training: TrainingSettings
    """How every run is trained."""
    seeds: int = Field(ge=2)
    """Runs of each (runs); fewer than six can decide no share."""
    evaluate_every: int = Field(ge=1)
    """Between two looks at losses and curvatures (iterations)."""
    evaluate_on: int = Field(ge=1)
    """Held-out sequences on which both are measured (sequences)."""
    everywhere: Annotated[list[Variant], each_once("name")]
    """Changes of the training from the standard start, on every chain."""
    variants: Annotated[list[Variant], each_once("name")]
    """More of them, on the first chain alone."""

    @pydantic.model_validator(mode="after")
    def _chains_have_a_trap(self) -> "TrapSettings":
        for chain in self.chains:
            if chain.p + chain.q <= 1:
                raise ValueError(
                    f"chains: p = {chain.p:.15g}, q = {chain.q:.15g}: p + q must exceed 1"
                )
        if self.training.embedding_rows == 2:
            raise ValueError("training: embedding_rows must be 1, found 2")
        taken = {STANDARD_START, PAPERS_START}
        for key in ("everywhere", "variants"):
            for variant in getattr(self, key):
                if variant.embedding_rows == 2:
                    raise ValueError(f"{key}: {variant.name}: embedding_rows must be 1, found 2")
                if variant.name in taken:
                    raise ValueError(f"{key}: {variant.name}: every chain has this row already")
            taken |= {variant.name for variant in self.everywhere}
        return self

    def of(self, chain: ChainSettings) -> EnsembleSettings:
        """What is trained on one chain."""
        return EnsembleSettings.of_fields(self, chain=chain)


Probability = Annotated[float, Field(ge=0, le=1)]


class SourceSettings(Block):
    """A Markov source of any order, and how deep the transformers are that learn it."""

    name: Title
    """Its rows in the table."""
    transitions: list[Annotated[list[Probability], Field(min_length=2)]] = Field(min_length=2)
    """The next symbol's law after each context: S rows of S for the first order, S x S rows for the
    second, the earlier symbol slowest."""
    depths: Annotated[list[Annotated[int, Field(ge=1, le=4)]], each_once()] = Field(
        [1], min_length=1
    )
    """Numbers of blocks (layers)."""

    @pydantic.model_validator(mode="after")
    def _rows_are_laws(self) -> "SourceSettings":
        states = len(self.transitions[0])
        for row in self.transitions:
            if len(row) != states or abs(sum(row) - 1) > 1e-9:
                raise ValueError(
                    f"transitions: {shown(row)} must have {states} probabilities that sum to 1"
                )
        if len(self.transitions) not in (states, states**2):
            raise ValueError(
                f"transitions: {len(self.transitions)} rows; {states} states need {states} rows, "
                f"or {states**2} for the second order"
            )
        return self


class OpenProblemsSettings(Block):
    """More states, higher order, two layers: small trainings from the standard start by AdamW."""

    sources: Annotated[list[SourceSettings], each_once("name")] = Field(min_length=1)
    """Sources in the order of rows."""
    sequence_length: int = Field(ge=8, le=4096)
    """Inputs per sequence (tokens)."""
    batch: int = Field(ge=1)
    """Sequences per iteration (sequences)."""
    iterations: int = Field(ge=1)
    """Length of the training and of its learning-rate schedule (iterations)."""
    d: int = Field(ge=1, le=64)
    """Dimensions; one head, 4 d hidden units."""
    lr: float = Field(gt=0)
    """Largest learning rate of the one-cycle cosine schedule."""
    warm_up: Share
    """Share of the iterations in which the learning rate rises."""
    seeds: int = Field(ge=2)
    """Runs per source and depth (runs)."""
    evaluate_every: int = Field(ge=1)
    """Between two evaluations on held-out sequences (iterations)."""
    evaluate_on: int = Field(ge=1)
    """Held-out sequences (sequences)."""


class LocalToGlobalSettings(Block):
    """Local to Global: gradient flow, and transformers on Markov chains."""

    flow: FlowSettings
    """The canonical model."""
    attention_flow: AttentionFlowSettings
    """The canonical model with the attention scalar."""
    transformer: InitialisationSettings
    """The transformer from three initialisations."""
    ablation: AblationSettings
    """Changes of the transformer's training."""
    trap: TrapSettings
    """Curvature at the unigram model, and escapes from it, on several chains."""
    open_problems: OpenProblemsSettings
    """The paper's open problems."""

    @property
    def ablated(self) -> EnsembleSettings:
        """What variants of the ablation change: the transformer's runs, as many as it says."""
        base, ablation = self.transformer, self.ablation
        training = base.training.model_copy(update={"iterations": ablation.iterations})
        return EnsembleSettings.of_fields(base, training=training, seeds=ablation.seeds)
