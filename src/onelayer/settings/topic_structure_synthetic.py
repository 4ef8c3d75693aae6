"""Settings of Li, Li & Risteski (2023) on synthetic documents."""

from typing import Annotated, Literal

import pydantic
from pydantic import Field

from onelayer.settings.block import Block, Computing, Count, Name, Positive, Title, each_once

EmbeddingKind = Literal["one_hot", "trained", "layer_norm"]  # see `synthetic.model`
Attending = Literal["one_hot", "layer_norm"]  # the paper's model, or the authors' code
OptimizerKind = Literal["adam", "sgd"]
# Squared loss is summed over the vocabulary; `mean_squared` averages, as PyTorch's MSELoss does.
LossKind = Literal["squared", "mean_squared", "cross_entropy"]
LearningRates = dict[LossKind, dict[OptimizerKind, Positive]]
Several = Annotated[int, Field(ge=2)]
Chance = Annotated[float, Field(ge=0, le=1)]
Selected = Annotated[float, Field(gt=0, lt=1)]


def _ordered(N: tuple[int, int]) -> tuple[int, int]:
    if not 8 <= N[0] <= N[1]:
        raise ValueError("fewest words of a document, then most, at least 8")
    return N


class TopicModelSettings(Block):
    """The words and how they are masked."""

    T: Several  # topics
    v: Several  # words in each topic, none in two
    p_m: Selected  # share of the words that are selected to be predicted
    p_c: Chance  # of these, share that stays as it is
    p_r: Chance  # of these, share that shows a random word; the rest shows [MASK]
    # `independent`: each word with probability p_m, as usual code does; `proportion`: exactly p_m
    # of each document's words, rounded and at least one, as the paper defines it.
    selection: Literal["independent", "proportion"]

    @pydantic.model_validator(mode="after")
    def _shares(self) -> "TopicModelSettings":
        if self.p_c + self.p_r > 1:
            raise ValueError(f"p_c + p_r = {self.p_c + self.p_r:.15g}: at most 1")
        return self


class DocumentSettings(Block):
    """Documents of an experiment."""

    N: Annotated[tuple[int, int], pydantic.AfterValidator(_ordered)]  # fewest and most words
    documents: Several


class TheorySettings(DocumentSettings):
    """W_V alone and the embeddings alone under uniform attention, beside the theorems."""

    tau: Count  # topics in a document
    weight_decays: list[Annotated[float, Field(ge=0)]] = Field(min_length=1)
    rates: dict[Literal["W_V", "E"], LearningRates] = Field(min_length=2)  # of both
    steps: Count
    seeds: Several


class ComponentSettings(DocumentSettings):
    """All components trained together: the heat maps of the paper's Figure 1."""

    tau: Count
    rates: LearningRates
    steps: Count


class GapGridSettings(DocumentSettings):
    """The gap elsewhere: each value of a list beside the model's own."""

    seeds: Several  # draws of documents
    tau: Count  # where it does not vary
    taus: list[Count]
    v: list[Several]
    T: list[Several]
    p_m: list[Selected]
    p_c: list[Chance]


class RatioSettings(DocumentSettings):
    """The optimal attention with W_V at the optimum of stage 1, over tau and T."""

    taus: list[Count] = Field(min_length=2)
    T: list[Several] = []  # none: the model's own
    seeds: Several  # draws of documents


class AttentionVariant(Block):
    """One way to train the attention of the published table."""

    name: Name
    embedding: Attending
    # Selected positions are keys, as in the paper; else, as in the authors' code, they are none
    # and START and END frame the words.
    masked_attended: bool = True
    frozen_value: bool = False  # W_V stays at the optimum of stage 1
    loss: LossKind = "cross_entropy"
    rates: dict[OptimizerKind, list[Positive]] = Field(min_length=1)  # rows of the table
    released: bool = False  # the first runs go on to the released budget


class AttentionTableSettings(DocumentSettings):
    """The published table of attention by optimiser and learning rate."""

    concentration: Positive  # of the Dirichlet distribution of topic weights
    variants: Annotated[list[AttentionVariant], each_once("name")] = Field(min_length=1)
    steps: Count
    seeds: dict[OptimizerKind, Several] = Field(min_length=2)  # runs of each row, of both
    released_epochs: Count  # passes over the documents in the authors' released configuration
    released_seeds: dict[OptimizerKind, Count]  # runs of each row that go on to them
    evaluated_documents: Count  # fresh and unmasked; attention is averaged on them
    evaluated_tokens: int = Field(ge=8)  # to which they are cut, START included


class StageTraining(Block):
    """What is trained from near-zero matrices: a setting, or a map where rates or noises vary."""

    name: Title
    embedding: Attending
    loss: LossKind
    optimizer: OptimizerKind
    masked_attended: bool = True  # as of `attention.variants`
    learning_rates: list[Positive] = Field(min_length=1)
    noises: list[Positive] = Field(min_length=1)  # W_K, W_Q and W_V start uniform in [0, noise)
    pictured: bool = False  # it comes nearest to the published steps
    seeds: Count | None = None  # where they are not those of all settings, or of all maps

    @property
    def is_map(self) -> bool:
        """Whether it has several cells."""
        return len(self.learning_rates) * len(self.noises) > 1


class TwoStageSettings(DocumentSettings):
    """Norms of W_K, W_Q and W_V from near-zero initial values on."""

    concentration: Positive
    trainings: Annotated[list[StageTraining], each_once("name")] = Field(min_length=1)
    steps: int = Field(ge=10)
    seeds: Count  # runs of each setting
    map_seeds: Count  # runs of each cell of the maps


class SyntheticTraining(Computing):
    """What all trainings have in common."""

    model: TopicModelSettings
    batch: Count  # documents in a training step
    chunk: Count  # most runs in one tensor program


class TopicTheorySettings(SyntheticTraining):
    """What the theorems are about."""

    theory: TheorySettings
    components: ComponentSettings
    gap_grid: GapGridSettings
    stage_two_short: RatioSettings
    stage_two_long: RatioSettings
    ratio_over_T: RatioSettings  # exactly the proportion p_m of the words is selected


class SyntheticSettings(TopicTheorySettings):
    """The synthetic experiments."""

    attention: AttentionTableSettings
    two_stages: TwoStageSettings

    @pydantic.model_validator(mode="after")
    def _fits(self) -> "SyntheticSettings":
        for key in ("theory", "components", "attention", "two_stages"):
            if self.batch > (fewer := getattr(self, key).documents):
                raise ValueError(f"{key}.documents = {fewer}: at least one batch of {self.batch}")
        grid, T = self.gap_grid, self.model.T
        most = {
            "theory.tau": (self.theory.tau, T),
            "components.tau": (self.components.tau, T),
            "gap_grid.taus": (max(grid.taus, default=0), T),
            "gap_grid.tau": (grid.tau, min([T, *grid.T])),
        }
        for key in ("stage_two_short", "stage_two_long", "ratio_over_T"):
            block = getattr(self, key)
            most[f"{key}.taus"] = max(block.taus), min(block.T or [T])
        for key, (tau, topics) in most.items():
            if tau >= topics:  # every document has all: nothing to learn
                raise ValueError(f"{key}: {tau} must be below T = {topics}")
        if (p_c := max(grid.p_c, default=0)) + self.model.p_r > 1:
            raise ValueError(f"gap_grid.p_c: {p_c:.15g} + p_r = {self.model.p_r:.15g}: at most 1")
        return self
