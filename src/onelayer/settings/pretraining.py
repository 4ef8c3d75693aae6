"""Settings of pretraining: text, vocabulary, size, budget, optimizer, objectives."""

from typing import Annotated, Literal, Self, get_args

from pydantic import Field, model_validator

from onelayer.settings.block import (
    Block,
    Computing,
    Credited,
    Name,
    Seed,
    Share,
    Threads,
    each_once,
)

FamilyName = Literal["bert", "roberta", "albert", "electra", "bart"]
Tokens = Annotated[int, Field(ge=1)]


class TextSettings(Block):
    """The training text: a word-level vocabulary built from the corpus, one piece a word."""

    most_words: int = Field(12_000, ge=10)
    """The most frequent words are kept, at most so many (words)."""
    min_documents: int = Field(5, ge=1)
    """A word must occur in at least this many articles."""
    held_out_share: float = Field(0.05, gt=0, lt=1)
    """Share of the articles that are never trained on; the held-out loss is theirs."""
    workers: Threads = 1
    """Processes that encode articles; the text is the same for any number."""


class SizeSettings(Block):
    """The shape of the models; what a family has beyond it follows from these."""

    layers: int = Field(2, ge=1, le=48)
    """Layers; an encoder-decoder has so many on each side."""
    width: int = Field(128, ge=8)
    """Hidden width d."""
    heads: int = Field(4, ge=1)
    """Attention heads a layer; must divide the width."""
    factorised_width: int = Field(64, ge=4)
    """Width of ALBERT's factorised word embeddings."""
    longest: int = Field(128, ge=8, le=4096)
    """Longest input (tokens, special ones included)."""
    tied: bool = True
    """Whether word embeddings are the output layer too; ELECTRA's and BART's always are."""
    dropout: float = Field(0.0, ge=0, lt=1)
    """Chance that an activation or attention weight is dropped in training (the original: .1)."""

    @model_validator(mode="after")
    def _heads_divide_the_width(self) -> "SizeSettings":
        if self.width % self.heads:
            raise ValueError(f"heads {self.heads} must divide width {self.width}")
        return self


class AdamWSettings(Block):
    """AdamW, and a rate that follows tokens seen."""

    learning_rate: float = Field(1e-3, gt=0)
    """Highest learning rate."""
    warmup: float = Field(0.05, ge=0, lt=1)
    """Share of the budget in which the rate rises."""
    warmup_tokens: Tokens | None = None
    """In place of `warmup`, tokens. Under a `constant` rate a training is then the same as one of
    any longer budget until its cool-down begins, and so is each of its snapshots."""
    schedule: Literal["linear", "constant"] = "linear"
    """After the warm-up: `linear` falls to 0 over all that is left of the budget; `constant` stays,
    and falls to 0 in the cool-down alone. Snapshots before that are not cooled down: they compare
    with one another and with those of other budgets, not with the finished model."""
    cool_down: float = Field(0.1, gt=0, le=1)
    """Share of the budget, at its end, in which a `constant` rate falls."""
    weight_decay: float = Field(0.01, ge=0)
    """Decoupled weight decay of matrices (not of biases and norms)."""
    beta_1: float = Field(0.9, ge=0, lt=1)
    """Decay of the mean gradient."""
    beta_2: float = Field(0.98, ge=0, lt=1)
    """Decay of the mean squared gradient."""
    most_norm: float = Field(1.0, gt=0)
    """Gradients are clipped to this norm."""


class HiddenAs(Block):
    """What becomes of the words that a masked-word model must predict; the rest of them stay."""

    mask: Share
    """Share of them that becomes the mask."""
    another: float = Field(ge=0, le=1)
    """Share of them that becomes another word of the vocabulary."""

    @model_validator(mode="after")
    def _no_more_than_all(self) -> Self:
        if self.mask + self.another > 1:
            raise ValueError(
                f"mask {self.mask:.15g} and another {self.another:.15g} are more than 1"
            )
        return self


class ObjectiveSettings(Block):
    """What is hidden from the models and predicted."""

    predicted_share: Share = 0.3
    """Share of the predictable words of a text that are predicted; of all words for spans."""
    predictable_document_share: Share = 0.1
    """A word is predictable if it occurs in at most this share of the articles: words of the
    topics are, `the` and commas are not."""
    span_length: float = Field(3.0, gt=0)
    """Mean length of BART's spans (words)."""
    sentence_order_weight: float = Field(3.0, gt=0)
    """Weight of ALBERT's sentence-order loss beside its masked words' (the original: 1, with which
    nothing is learnt of the order within 600,000 tokens; with 10 words are learnt late)."""
    generator_width: int = Field(64, ge=4)
    """Hidden width of ELECTRA's generator (its heads are as wide as the discriminator's, or wider
    where these do not divide it)."""
    hidden_as: HiddenAs | None = None
    """What words to predict become, where it is not as the family's paper has it; BART hides spans
    and has no use for it."""
    discriminator_weight: float = Field(50.0, gt=0)
    """Weight of ELECTRA's discriminator loss beside its generator's."""


class TrainingSettings(Computing):
    """Size, objective, budget and optimizer of one training."""

    size: SizeSettings = SizeSettings()
    """The model."""
    objective: ObjectiveSettings = ObjectiveSettings()
    """What it learns to predict."""
    optimizer: AdamWSettings = AdamWSettings()
    """How."""
    batch_tokens: int = Field(1024, ge=16)
    """Tokens a batch, all of whose inputs are cut to its shortest."""
    held_out_tokens: int = Field(16_384, ge=16)
    """At most so many held-out tokens are read for the held-out loss, always the same, in batches
    of at most 1,024 (tokens)."""
    first_snapshot: int = Field(32_768, ge=1)
    """Snapshots are kept at every power of two of tokens seen from here on, unless the end is less
    than a batch away, and at the end."""
    precision: Literal["float32", "bfloat16"] = "float32"
    """Of matrix products; under `bfloat16` weights stay float32, on a CPU attention as well."""


class OwnTraining(Block):
    """How one model is trained otherwise than `pretraining` says."""

    tokens: Tokens | None = None
    """Budget (tokens seen), where it is not that of `pretraining`."""
    layers: int | None = Field(None, ge=1, le=48)
    """Layers, where they are not those of `pretraining.size`."""
    width: int | None = Field(None, ge=8)
    """Hidden width d, where it is not that of `pretraining.size`."""
    dropout: float | None = Field(None, ge=0, lt=1)
    """Dropout, where it is not that of `pretraining.size`."""
    tied: bool | None = None
    """Whether word embeddings are the output layer too, where not as `pretraining.size` has it."""
    hidden_as: HiddenAs | None = None
    """What words to predict become, where it is not as `pretraining.objective` has it."""

    def changed(self, block: Block) -> Block:
        """A block with what is said here of its fields."""
        said = {key: getattr(self, key, None) for key in type(block).model_fields}
        return block.model_copy(update={k: value for k, value in said.items() if value is not None})


class PretrainingSettings(TrainingSettings):
    """Small models of the five families, each pretrained with its family's objective."""

    corpus: Name | Annotated[list[Name], Field(min_length=1), each_once()]
    """A corpus of `corpora`, or several: the articles of all under one vocabulary. What is held out
    follows from ids, of several corpora from titles."""
    text: TextSettings = TextSettings()
    """Its vocabulary, and what is held out."""
    tokens: Tokens | dict[FamilyName, Tokens]
    """Budget of each family, or of all alike: training ends with the batch that reaches it (tokens
    seen, special ones included)."""

    @model_validator(mode="after")
    def _every_family_has_a_budget(self) -> Self:
        if isinstance(self.tokens, dict):
            for family in get_args(FamilyName):
                if family not in self.tokens:
                    raise ValueError(f"tokens has no budget for {family}; one number is for all")
        return self

    @property
    def corpora(self) -> list[str]:
        """The corpora whose articles are the text."""
        return [self.corpus] if isinstance(self.corpus, str) else self.corpus

    @property
    def text_name(self) -> str:
        """The text, as its folder is named: a name has no `+`."""
        return "+".join(self.corpora)

    def of(
        self, family: FamilyName, seed: int, model: OwnTraining | None = None
    ) -> "PretrainModelSettings":
        """What one training needs to know."""
        model = model or OwnTraining()
        budget = self.tokens[family] if isinstance(self.tokens, dict) else self.tokens
        return PretrainModelSettings.of_fields(
            self,
            family=family,
            seed=seed,
            tokens=model.tokens or budget,
            size=model.changed(self.size),
            objective=model.changed(self.objective),
        )


class PretrainModelSettings(TrainingSettings):
    """One training."""

    family: FamilyName
    """Architecture and objective."""
    tokens: Tokens
    """Budget (tokens seen)."""
    seed: Seed
    """Seed of weights, order and masks."""


class InputSettings(Block):
    """What stands together in an input of pretraining, in place of one article.

    The theory of Li, Li & Risteski (2023) has bags of words of tau topics; a lead section has one.
    """

    articles: int = Field(ge=1, le=32)
    """Articles whose words stand in one input; of `drawn` words their topics (tau)."""
    order: Literal["pieces", "shuffled", "drawn"] = "pieces"
    """`pieces`: some consecutive words of each article in turn. `shuffled`: their words in random
    order. `drawn`: no article's words, but words drawn from topics of the fitted topic model."""
    piece: int = Field(6, ge=1)
    """Consecutive words of a piece (words)."""
    draws: int = Field(1, ge=1, le=100)
    """So many texts in place of each, so that none is seen twice: words drawn anew, or an article
    each time among others (texts)."""
    seed: Seed = 0
    """Seed of which articles stand together, and of what is shuffled or drawn."""


PublishedRow = Literal["bert", "albert", "bart", "electra", "roberta", "random"]


class ShownModel(Credited):
    """What tables say of a model, wherever it comes from."""

    published_as: PublishedRow | None = None
    """Row of the published table beside which this model is set (a series: whose colour it has)."""
    note: str = ""
    """What a reader of the table must know about this model."""


class PretrainedModel(ShownModel, OwnTraining):
    """A small model that the pipeline pretrains itself."""

    source: Literal["pretrain"]
    """Where it comes from."""
    family: FamilyName
    """Architecture, and with it the objective."""
    seeds: Annotated[list[Seed], each_once()] = Field([0], min_length=1)
    """One model per seed; tables show their mean."""
    inputs: InputSettings | None = None
    """What stands together in an input; null: words of one article, as they are."""

    @model_validator(mode="after")
    def _family_has_use_for_it(self) -> Self:
        if self.family == "bart" and self.hidden_as:
            raise ValueError("hidden_as: bart hides spans, so that it has no use for this")
        if self.family in ("bart", "electra") and self.tied is False:
            raise ValueError(f"tied: {self.family} is trained with tied embeddings alone")
        return self
