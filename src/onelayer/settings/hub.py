"""Settings that name files on a Hugging Face hub or on this machine's disk."""

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, Field, model_validator

from onelayer.settings.block import Block, Sha256

PINNED = (
    "a revision is the 40 hexadecimal digits of a commit (branches and tags move); a repository's "
    "page lists them under 'Files and versions', 'History'"
)


def _commit(revision: str) -> str:
    if len(revision) != 40 or set(revision) - set("0123456789abcdef"):
        raise ValueError(PINNED)
    return revision


def _inside(path: str) -> str:
    if path.startswith("/") or not set(path.split("/")).isdisjoint({"", ".", ".."}):
        raise ValueError("a file is named by its path inside the repository")
    return path


Revision = Annotated[
    str,
    AfterValidator(_commit),
    Field(json_schema_extra={"pattern": "^[0-9a-f]{40}$"}),
]
RepositoryFile = Annotated[str, AfterValidator(_inside)]


class HubRepository(Block):
    """A repository on a Hugging Face hub at one commit, which fixes the content of every file.

    Files are checked against the hub's own sums of their content (git's, or SHA-256 for large
    files), and their SHA-256 is recorded.
    """

    repository: str = Field(pattern=r"^[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*$")
    """Owner and name, as in `google-bert/bert-base-uncased`."""
    revision: Revision
    """Commit (40 hexadecimal digits)."""
    sums: dict[RepositoryFile, Sha256] = {}
    """SHA-256 of files whose content is to be pinned here too, by path."""

    @model_validator(mode="before")
    @classmethod
    def _say_what_a_revision_is(cls, values: Any) -> Any:
        if isinstance(values, dict) and values.get("revision") is None:
            raise ValueError(f"no revision is given: {PINNED}")
        return values


class HubFiles(HubRepository):
    """Data files of a dataset repository on a Hugging Face hub."""

    files: list[RepositoryFile] = Field(min_length=1)
    """Paths inside the repository, read in this order."""


class DiskFiles(Block):
    """Files on this machine."""

    paths: list[str] = Field(min_length=1)
    """Paths from where Snakemake runs, or absolute, or from `~`; read in this order."""


class DiskFolder(Block):
    """A folder on this machine."""

    path: str
    """Path from where Snakemake runs, or absolute, or from `~`."""

    def present(self, names: Iterable[str]) -> list[str]:
        """Paths of those files that are there."""
        paths = [Path(self.path).expanduser() / name for name in names]
        return [str(path) for path in paths if path.is_file()]
