"""Settings of one question in the models of all four papers: do values learn before attention?"""

from typing import Annotated

import pydantic
from pydantic import Field

from onelayer.settings.block import Block, Computing, Positive, each_once
from onelayer.settings.decision_lists import Size
from onelayer.settings.local_to_global import ChainSettings
from onelayer.settings.topic_structure_synthetic import (
    DocumentSettings,
    OptimizerKind,
    TopicModelSettings,
)


class FollowedSettings(Block):
    """How a paper's model is trained."""

    rates: dict[OptimizerKind, Positive] = Field(min_length=1)
    """Learning rate of all that is not attention, by optimiser (no momentum)."""
    steps: int = Field(ge=20)
    """Updates (steps)."""


class FollowedTopics(FollowedSettings, DocumentSettings):
    """Li, Li & Risteski (2023): masked words of documents, cross-entropy, one-hot embeddings."""

    model: TopicModelSettings
    """Words and masking."""
    tau: int = Field(ge=1)
    """Topics in a document."""
    batch: int = Field(ge=1)
    """Documents in a step (documents)."""

    @pydantic.model_validator(mode="after")
    def _enough(self) -> "FollowedTopics":
        if self.tau > self.model.T:
            raise ValueError(f"tau = {self.tau}: at most model.T = {self.model.T} topics")
        if self.batch > self.documents:
            raise ValueError(f"batch = {self.batch}: there are {self.documents} documents")
        return self


class FollowedTokens(FollowedSettings):
    """Tian et al. (2023): the next token, decoder Y and attention logits Z."""

    num_last: int = Field(ge=1, le=100)
    """Query tokens."""
    length: int = Field(ge=2)
    """Tokens of a sequence (tokens)."""
    batch: int = Field(ge=1)
    """Sequences in a step (sequences)."""


class FollowedLists(FollowedSettings):
    """Decision lists: W and V on the loss over all sequences."""

    size: Size
    """Vocabulary, tokens of a sequence, longest list."""


class FollowedChain(FollowedSettings):
    """Makkuva et al. (2024): the whole transformer on a Markov chain."""

    chain: ChainSettings
    """The chain that produces the sequences."""
    sequence_length: int = Field(ge=8, le=4096)
    """Inputs per sequence (tokens)."""
    batch: int = Field(ge=1)
    """Sequences in a step (sequences)."""
    d: int = Field(ge=1, le=64)
    """Dimensions of embedding and residual stream."""


class CircuitSettings(Computing):
    """Every scale with every ratio of rates, optimiser and seed, in each paper's model."""

    scales: Annotated[list[Positive], Field(min_length=1), each_once()]
    """By how much the values' and attention's usual random start is multiplied."""
    ratios: Annotated[list[Positive], Field(min_length=1), each_once()]
    """Attention's learning rate over that of all else."""
    seeds: int = Field(ge=2)
    """Runs of each combination (seeds)."""
    observed: int = Field(ge=10)
    """Times at which the distances are kept, denser at the beginning."""
    topic_structure: FollowedTopics
    """The topic-structure paper's model."""
    scan_snap: FollowedTokens
    """Scan and Snap's model."""
    decision_lists: FollowedLists
    """The decision lists' model."""
    local_to_global: FollowedChain
    """Local to Global's model."""

    @pydantic.model_validator(mode="after")
    def _has_the_usual(self) -> "CircuitSettings":
        for name in ("scales", "ratios"):
            if 1.0 not in getattr(self, name):
                raise ValueError(f"{name}: 1 must be among them, found {getattr(self, name)}")
        return self
