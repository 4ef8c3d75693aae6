"""Settings of the topic-structure paper's synthetic experiments (Li, Li & Risteski 2023)."""

from typing import Annotated, Literal

import pydantic
from pydantic import Field

from onelayer.settings.block import Block, Computing, Name, Positive, Title, each_once

WordRange = Annotated[tuple[int, int], Field(description="Fewest and most words of a document.")]
EmbeddingKind = Literal["one_hot", "residual", "trained", "tied_residual", "layer_norm"]
OptimizerKind = Literal["adam", "sgd"]
LossKind = Literal["squared", "mean_squared", "cross_entropy"]
SelectionKind = Literal["independent", "proportion"]


class MaskingSettings(Block):
    """How words are masked."""

    p_m: float = Field(gt=0, lt=1)
    """Share of the words that are selected to be predicted."""
    p_c: float = Field(ge=0, le=1)
    """Of these, share that stays as it is."""
    p_r: float = Field(ge=0, le=1)
    """Of these, share that shows a random word; the rest shows [MASK]."""
    selection: SelectionKind
    """`independent`: each word is selected with probability p_m, as usual code does; `proportion`:
    exactly p_m of each document's words, rounded and at least one, as the paper defines it."""

    @pydantic.model_validator(mode="after")
    def _shares(self) -> "MaskingSettings":
        if self.p_c + self.p_r > 1:
            raise ValueError(f"p_c + p_r = {self.p_c + self.p_r:.15g}: at most 1")
        return self

    @property
    def intact(self) -> float:
        """Share of the words' positions that show their own word: 1 - (1 - p_c) p_m."""
        return 1 - (1 - self.p_c) * self.p_m


class TopicModelSettings(MaskingSettings):
    """The words and how they are masked."""

    T: int = Field(ge=2)
    """Topics."""
    v: int = Field(ge=2)
    """Words in each topic, none in two (words)."""


class DocumentSettings(Block):
    """Documents of an experiment."""

    N: WordRange
    """Fewest and most words of a document (words)."""
    documents: int = Field(ge=2)
    """Documents (documents)."""

    @pydantic.model_validator(mode="after")
    def _ordered(self) -> "DocumentSettings":
        if not 8 <= self.N[0] <= self.N[1]:
            raise ValueError(f"words N = {list(self.N)}: fewest, then most, at least 8")
        return self


class OptimizerSettings(Block):
    """An optimiser and its learning rate."""

    optimizer: OptimizerKind
    """`adam` or `sgd`."""
    learning_rate: Positive
    """Learning rate."""


class TheorySettings(DocumentSettings):
    """Uniform attention: W_V alone, and the embeddings alone, against the theorems' gap."""

    N: WordRange
    """Fewest and most words of a document; the theorems are about long ones (words)."""
    tau: int = Field(ge=1)
    """Topics in a document."""
    weight_decays: list[Annotated[float, Field(ge=0)]] = Field(min_length=1)
    """Weight decays: the gradient of half of it times the squared norm."""
    adam_rate: Positive
    """Adam's learning rate under squared loss."""
    sgd_rate_value: Positive
    """SGD's learning rate for W_V under squared loss."""
    sgd_rate_embedding: Positive
    """SGD's learning rate for W_E under squared loss."""
    steps: int = Field(ge=1)
    """Updates (steps)."""
    seeds: int = Field(ge=2)
    """Runs of each setting (seeds)."""
    cross_entropy_rates: dict[OptimizerKind, Positive]
    """Learning rates of W_V and W_E under cross-entropy."""


class ComponentSettings(DocumentSettings):
    """All components trained together: the four heat maps of the paper's Figure 1."""

    tau: int = Field(ge=1)
    """Topics in a document."""
    rates: dict[LossKind, dict[OptimizerKind, Positive]]
    """Learning rates by loss and optimiser."""
    steps: int = Field(ge=1)
    """Updates (steps)."""


class AttentionVariant(Block):
    """One way to train the attention of the published table."""

    name: Name
    """Its name in the table."""
    embedding: EmbeddingKind
    """`one_hot` as in the paper, `layer_norm` as in the authors' code, or `residual`: as in the
    paper, and a matrix takes each word to the output at its own position, past attention."""
    masked_attended: bool = True
    """Selected positions are keys, as in the paper; else, as in the authors' code, they are none
    and START and END frame the words."""
    tau: int | None = Field(None, ge=1)
    """Topics of a document, which is uniform over them, as in the paper's theory; null: their
    weights are of the Dirichlet distribution of `concentration`, as the authors release them."""
    p_c: float | None = Field(None, ge=0, le=1)
    """Of the selected words, share that stays as it is, where it is not that of `model`."""
    p_r: float | None = Field(None, ge=0, le=1)
    """Of the selected words, share that shows a random word, where it is not that of `model`."""
    frozen_value: bool = False
    """W_V is frozen at the optimum of stage 1; only W_K and W_Q are trained."""
    loss: LossKind = "cross_entropy"
    """The loss."""
    optimizers: list[OptimizerSettings] = Field(min_length=1)
    """Rows of the table."""

    def masked(self, model: TopicModelSettings) -> TopicModelSettings:
        """The words, masked as they are here."""
        return model.but(**self.own_masks)

    @property
    def own_masks(self) -> dict[str, float]:
        """What is said here of how words are masked."""
        shares = {"p_c": self.p_c, "p_r": self.p_r}
        return {name: share for name, share in shares.items() if share is not None}

    @property
    def authors(self) -> bool:
        """Whether it is what the authors' code trains, of which the published table is."""
        return self.embedding == "layer_norm" and not self.frozen_value and not self.own_masks

    @property
    def printed(self) -> bool:
        """Whether the published table's rows are set beside it."""
        one_hot = self.embedding in ("one_hot", "layer_norm")
        return one_hot and self.tau is None and not self.frozen_value and not self.own_masks


class AttentionTableSettings(DocumentSettings):
    """The published table of attention by optimiser and learning rate."""

    concentration: Positive
    """Dirichlet concentration of the topic weights."""
    variants: Annotated[list[AttentionVariant], each_once("name")] = Field(min_length=1)
    """Ways to train."""
    steps: int = Field(ge=1)
    """Updates (steps)."""
    seeds: int = Field(ge=2)
    """Runs of each row (seeds)."""
    evaluated_documents: int = Field(ge=1)
    """Fresh, unmasked documents on which attention is averaged (documents)."""
    evaluated_tokens: int = Field(ge=8)
    """Tokens that documents are cut to, START included (tokens)."""

    def variant(self, name: str) -> AttentionVariant:
        """The variant of this name."""
        return next(variant for variant in self.variants if variant.name == name)


class OverStepsSettings(Block):
    """One variant of the attention table trained for longer, and looked at on the way."""

    variant: Name
    """A name of `attention.variants`."""
    steps: dict[OptimizerKind, Annotated[int, Field(ge=1)]]
    """Updates by optimiser (steps)."""
    seeds: dict[OptimizerKind, Annotated[int, Field(ge=2)]]
    """Runs of each learning rate by optimiser (seeds)."""
    epochs: int = Field(ge=1)
    """The released configuration's passes over the documents, where the table looks (epochs)."""
    looks: int = Field(ge=1)
    """Looks in every factor of ten of steps, from 10 steps on."""
    held_out_documents: int = Field(ge=1)
    """Masked documents that no run trains on (documents)."""


class StageSetting(OptimizerSettings):
    """One training from near-zero matrices."""

    name: Title
    """Its name in the table and the figure."""
    embedding: EmbeddingKind
    """`one_hot` or `layer_norm` (the authors' code)."""
    loss: LossKind
    """The loss; `mean_squared` is divided by the vocabulary, as PyTorch's MSELoss."""
    noise: Positive
    """W_K, W_Q and W_V start uniform in [0, noise)."""
    masked_attended: bool = True
    """As of `attention.variants`."""
    two_stages_expected: bool = True
    """The two stages are claimed for this setting."""
    pictured: bool = False
    """It is the paper's own, whose steps of the two stages are published."""
    seeds: int | None = Field(None, ge=1)
    """Runs of this setting where they are not `two_stages.seeds` (seeds)."""


class StageMap(Block):
    """Where two stages appear, over learning rate and initial noise."""

    name: Title
    """The panel's title."""
    embedding: EmbeddingKind
    """`one_hot` or `layer_norm`."""
    loss: LossKind
    """The loss."""
    optimizer: OptimizerKind
    """`adam` or `sgd`."""
    learning_rates: list[Positive] = Field(min_length=1)
    """Columns."""
    noises: list[Positive] = Field(min_length=1)
    """Rows."""
    masked_attended: bool = True
    """As of `attention.variants`."""
    two_stages_expected: bool = True
    """The two stages are claimed for this loss and optimiser, from a careful start."""


class TwoStageSettings(DocumentSettings):
    """Norms of W_K, W_Q and W_V from near-zero initial values on."""

    concentration: Positive
    """Dirichlet concentration of the topic weights."""
    settings: Annotated[list[StageSetting], each_once("name")] = Field(min_length=1)
    """What is trained."""
    maps: Annotated[list[StageMap], each_once("name")] = Field(min_length=1)
    """Panels of the map."""
    steps: int = Field(ge=10)
    """Updates (steps)."""
    seeds: int = Field(ge=1)
    """Runs of each setting that names no number of its own (seeds)."""
    map_seeds: int = Field(ge=1)
    """Runs of each cell of the map (seeds)."""

    @pydantic.model_validator(mode="after")
    def _one_pictured(self) -> "TwoStageSettings":
        if sum(setting.pictured for setting in self.settings) > 1:
            raise ValueError("settings: one of them at most is `pictured`, the paper's own")
        return self


class StageTwoSettings(DocumentSettings):
    """The optimal attention when W_V is frozen at the optimum of stage 1, against tau."""

    taus: list[Annotated[int, Field(ge=1)]] = Field(min_length=2)
    """Topics in a document; T itself is degenerate."""
    N_long: WordRange
    """Fewest and most words of long documents (words)."""
    documents_long: int = Field(ge=2)
    """Long documents (documents)."""
    learning_rate: Positive
    """Adam's learning rate for W_K and W_Q."""
    steps: int = Field(ge=1)
    """Updates (steps)."""
    seeds: int = Field(ge=1)
    """Draws of documents, and runs, for each tau (seeds)."""


class GapGridSettings(DocumentSettings):
    """The theorems' gap in other settings: each value of a list beside the model's own."""

    documents: int = Field(ge=2)
    """Documents of each seed (documents)."""
    seeds: int = Field(ge=2)
    """Draws of documents for each setting (seeds)."""
    tau: int = Field(ge=1)
    """Topics in a document where they do not vary."""
    taus: list[Annotated[int, Field(ge=1)]]
    """Topics in a document."""
    v: list[Annotated[int, Field(ge=2)]]
    """Words in each topic (words)."""
    T: list[Annotated[int, Field(ge=2)]]
    """Topics."""
    p_m: list[Annotated[float, Field(gt=0, lt=1)]]
    """Shares of the words that are selected."""
    p_c: list[Annotated[float, Field(ge=0, le=1)]]
    """Of these, shares that stay as they are."""
    d: list[Annotated[int, Field(ge=2)]]
    """Dimensions of embeddings that are smaller than the vocabulary."""


class RatioOverTSettings(DocumentSettings):
    """The optimal attention of stage 2 over the number of topics there are."""

    documents: int = Field(ge=2)
    """Documents of each seed (documents)."""
    T: list[Annotated[int, Field(ge=2)]] = Field(min_length=2)
    """Topics."""
    taus: list[Annotated[int, Field(ge=1)]] = Field(min_length=2)
    """Topics in a document; less than T, which is degenerate."""
    seeds: int = Field(ge=2)
    """Draws of documents for each setting (seeds)."""


class OverMasksSettings(DocumentSettings):
    """The optimal attention of stage 2 over what becomes of words to predict."""

    documents: int = Field(ge=2)
    """Documents of each seed (documents)."""
    taus: list[Annotated[int, Field(ge=1)]] = Field(min_length=1)
    """Topics in a document; less than T, which is degenerate."""
    kept: list[Annotated[float, Field(ge=0, le=1)]]
    """Of the words to predict that show a word, shares that show their own: p_c / (p_c + p_r).
    Without any there is no such table."""
    seeds: int = Field(ge=2)
    """Draws of documents for each setting (seeds)."""


class DescentSettings(Block):
    """Stage 1 by gradient descent on documents as those of `theory`, from many starts."""

    weight_decays: list[Annotated[float, Field(ge=0)]] = Field(min_length=1)
    """Weight decays."""
    starts: int = Field(ge=2)
    """Random starts (seeds)."""
    steps: int = Field(ge=10)
    """Updates (steps)."""


class StageGradientsSettings(Block):
    """Gradients of W_K, W_Q and W_V in some of the two-stage trainings."""

    settings: list[str] = Field(min_length=1)
    """Names under `two_stages.settings`."""
    seeds: int = Field(ge=2)
    """Runs of each (seeds)."""
    every: int = Field(ge=1)
    """Updates between looks (steps)."""


class ComponentsOverStepsSettings(Block):
    """All components trained, over steps; documents and rates are those of `components`."""

    d: list[Annotated[int, Field(ge=2)]]
    """Dimensions of the embeddings, beside as many as there are words."""
    steps: int = Field(ge=10)
    """Updates (steps)."""
    every: int = Field(ge=1)
    """Updates between looks (steps)."""
    seeds: int = Field(ge=2)
    """Runs of each setting (seeds)."""


class DyckSettings(DocumentSettings):
    """Well-nested bracket words in place of documents of topics."""

    documents: int = Field(ge=2)
    """Documents of each seed (documents)."""
    types: int = Field(ge=2)
    """Types of brackets."""
    depth: int = Field(ge=1)
    """Most brackets that are open at once."""
    learning_rate: Positive
    """Adam's learning rate."""
    noise: Positive
    """W_K, W_Q and W_V start uniform in [0, noise) for the two stages."""
    steps: int = Field(ge=1)
    """Updates (steps)."""
    seeds: int = Field(ge=2)
    """Draws of documents, and runs (seeds)."""


class SyntheticTraining(Computing):
    """What all trainings on synthetic documents have in common."""

    model: TopicModelSettings
    """The words and their masking."""
    batch: int = Field(ge=1)
    """Documents in a training step (documents)."""
    chunk: int = Field(ge=1)
    """Most runs in one tensor program on a CPU; a GPU takes what its memory holds (runs)."""


class SyntheticSettings(SyntheticTraining):
    """The synthetic experiments."""

    theory: TheorySettings
    """The gap of W_V and of the embeddings."""
    gap_grid: GapGridSettings
    """The gap over settings."""
    descent: DescentSettings
    """Descent from many starts."""
    components: ComponentSettings
    """Heat maps with all components trained."""
    components_over_steps: ComponentsOverStepsSettings
    """The same over steps."""
    attention: AttentionTableSettings
    """Attention by optimiser."""
    attention_over_steps: OverStepsSettings
    """Attention against steps."""
    two_stages: TwoStageSettings
    """Two-stage dynamics."""
    stage_gradients: StageGradientsSettings
    """Gradients of the two stages."""
    stage_two: StageTwoSettings
    """Optimal attention against tau."""
    ratio_over_T: RatioOverTSettings
    """The optimal attention over T."""
    over_masks: OverMasksSettings
    """The optimal attention over masks."""
    dyck: DyckSettings
    """Bracket words."""

    @property
    def in_common(self) -> SyntheticTraining:
        """What all trainings have in common."""
        return SyntheticTraining.of_fields(self)

    @property
    def over_steps_variant(self) -> AttentionVariant:
        """The variant that is trained for longer."""
        return self.attention.variant(self.attention_over_steps.variant)

    @property
    def released_steps(self) -> int:
        """Updates of the released configuration: its passes over our documents (steps)."""
        return self.attention_over_steps.epochs * (self.attention.documents // self.batch)

    @pydantic.model_validator(mode="after")
    def _a_batch_at_least(self) -> "SyntheticSettings":
        for key in ("theory", "components", "attention", "two_stages", "stage_two", "dyck"):
            if self.batch > (fewer := getattr(self, key).documents):
                raise ValueError(f"{key}.documents = {fewer}: at least one batch of {self.batch}")
        return self

    @pydantic.model_validator(mode="after")
    def _topics_and_shares_fit(self) -> "SyntheticSettings":
        for key, tau, T in (
            ("theory.tau", self.theory.tau, self.model.T),
            ("components.tau", self.components.tau, self.model.T),
            ("stage_two.taus", max(self.stage_two.taus), self.model.T),
            ("over_masks.taus", max(self.over_masks.taus), self.model.T),
            ("ratio_over_T.taus", max(self.ratio_over_T.taus), min(self.ratio_over_T.T)),
        ):
            if tau >= T:
                raise ValueError(
                    f"{key}: {tau} must be below T = {T}, where every document has all topics and "
                    "there is nothing to learn"
                )
        grid = self.gap_grid
        if max([grid.tau, *grid.taus]) >= self.model.T or any(grid.tau >= T for T in grid.T):
            raise ValueError("gap_grid: each tau must be below each T that it stands beside")
        if (most := max(grid.p_c, default=0)) + self.model.p_r > 1:
            raise ValueError(f"gap_grid.p_c: {most:.15g} + p_r = {self.model.p_r:.15g}: at most 1")
        if self.over_masks.kept and not self.model.p_c + self.model.p_r:
            raise ValueError("over_masks.kept: with p_c + p_r = 0 no word to predict shows a word")
        for variant in self.attention.variants:
            shares = {"p_c": self.model.p_c, "p_r": self.model.p_r} | variant.own_masks
            if (share := sum(shares.values())) > 1:
                raise ValueError(
                    f"attention.variants, {variant.name}: p_c + p_r = {share:.15g}: at most 1"
                )
        return self

    @pydantic.model_validator(mode="after")
    def _over_steps_fit(self) -> "SyntheticSettings":
        block, names = self.attention_over_steps, [v.name for v in self.attention.variants]
        if block.variant not in names:
            raise ValueError(
                f"attention_over_steps.variant = {block.variant}: one of {', '.join(names)}"
            )
        for optimizer in dict.fromkeys(row.optimizer for row in self.over_steps_variant.optimizers):
            if optimizer not in block.seeds or optimizer not in block.steps:
                raise ValueError(
                    f"attention_over_steps: steps and seeds for {optimizer}, which "
                    f"{block.variant} is trained with"
                )
            if block.steps[optimizer] < self.released_steps:
                raise ValueError(
                    f"attention_over_steps.steps.{optimizer} = {block.steps[optimizer]}: at least "
                    f"the {self.released_steps} steps of epochs = {block.epochs}"
                )
        return self
