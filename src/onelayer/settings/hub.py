"""Settings that name files on a Hugging Face hub or on this machine's disk."""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, Field, model_validator

from onelayer.settings.block import Block, Sha256

# As Snakemake knows it; there is no way to say that one is none.
_WILDCARD = re.compile(r"\{\s*[.\w]+\s*(,[^{}]*(\{[\d,]*\}[^{}]*)*)?\}")
PINNED = (
    "a revision is the 40 hexadecimal digits of a commit (branches and tags move); a repository's "
    "page lists them under 'Files and versions', 'History'"
)


def _commit(revision: str) -> str:
    if len(revision) != 40 or set(revision) - set("0123456789abcdef"):
        raise ValueError(PINNED)
    return revision


def _repository(name: str) -> str:
    if "--" in name or ".." in name or name.endswith(".git"):
        raise ValueError("a hub has no repository whose name has -- or .., or ends in .git")
    return name


def _inside(path: str) -> str:
    if path.startswith("/") or not set(path.split("/")).isdisjoint({"", ".", ".."}):
        raise ValueError("a file is named by its path inside the repository")
    return path


def check_braces(path: str) -> None:
    """Refuse a path in which Snakemake would fill in the value of a wildcard, and read another."""
    if match := _WILDCARD.search(path):
        raise ValueError(
            f"{match[0]} in {path} would be a wildcard to Snakemake; rename it or link to it"
        )


def _on_disk(path: str) -> str:
    if not path.strip() or "\n" in path or "<" in path:  # Snakemake's report shows it as it is
        raise ValueError("a path is one line, not empty, and without <")
    check_braces(path)
    try:
        Path(path).expanduser().exists()
    except (OSError, RuntimeError) as error:  # a name that is too long, a user whom nobody knows
        raise ValueError(f"no such path can be: {error.args[-1]}") from None
    return path


Tokens = Annotated[int, Field(ge=1)]
DiskPath = Annotated[str, AfterValidator(_on_disk)]
Revision = Annotated[
    str, AfterValidator(_commit), Field(json_schema_extra={"pattern": "^[0-9a-f]{40}$"})
]
_OF_A_REPOSITORY = r"[A-Za-z0-9]([A-Za-z0-9_.-]{0,94}[A-Za-z0-9_])?"
RepositoryName = Annotated[
    str, Field(pattern=f"^{_OF_A_REPOSITORY}/{_OF_A_REPOSITORY}$"), AfterValidator(_repository)
]
RepositoryFile = Annotated[str, AfterValidator(_inside)]


class Commit(Block):
    """A commit of a repository on a Hugging Face hub, which fixes the content of every file.

    Files are checked against the hub's own sums of their content (git's, or SHA-256 for large
    files), and their SHA-256 is recorded.
    """

    revision: Revision
    """Commit (40 hexadecimal digits)."""
    sums: dict[RepositoryFile, Sha256] = {}
    """SHA-256 of files whose content is to be pinned here too, by path."""

    @model_validator(mode="before")
    @classmethod
    def _say_what_a_revision_is(cls, values: object) -> object:
        if isinstance(values, dict) and values.get("revision") is None:
            raise ValueError(f"no revision is given: {PINNED}")
        return values


class HubRepository(Commit):
    """A repository on a Hugging Face hub at one commit."""

    repository: RepositoryName
    """Owner and name, as in `google-bert/bert-base-uncased`."""


class HubRevisions(Block):
    """A repository on a Hugging Face hub at several commits: one model on its way."""

    repository: RepositoryName
    """Owner and name, as in `EleutherAI/pythia-160m`."""
    revisions: dict[Tokens, Revision] = Field(min_length=1)
    """Commits (40 hexadecimal digits each) by tokens seen."""


class HubDataset(Commit):
    """One split of a dataset on a Hugging Face hub at one commit."""

    dataset: RepositoryName
    """Owner and name, as in `wikimedia/wikipedia`."""
    config: str | None = None
    """Which of its configurations, as in `20231101.en`; null where it has only one."""
    split: str = "train"
    """Which of the configuration's splits."""
    files: list[str] = []
    """Only those files of the split whose paths fit one of these patterns (`*`, `?`); none: all."""

    @property
    def repository(self) -> HubRepository:
        """Where its files are."""
        return HubRepository(repository=self.dataset, revision=self.revision, sums=self.sums)


class DiskFiles(Block):
    """Files on this machine."""

    paths: list[DiskPath] = Field(min_length=1)
    """Paths from where Snakemake runs, or absolute, or from `~`; read in this order. Of a folder
    all files whose names end as the format's do, those in folders in it too, in order of path."""

    def files(self, endings: Sequence[str]) -> list[str]:
        """The files, folders replaced by what they hold."""
        files = []
        for path in (Path(path).expanduser() for path in self.paths):
            within = sorted(p for p in path.rglob("*") if p.name.endswith(tuple(endings)))
            files += [str(p) for p in within if p.is_file()] if path.is_dir() else [str(path)]
        return files


def leads_out(path: Path, folder: Path) -> Path | None:
    """Where a file of a folder lies if that is elsewhere: what somebody packed may hold such links.

    A snapshot in the cache of a hub's client consists of links into the `blobs` beside it.
    """
    target, home = path.resolve(), folder.resolve()
    if home.parent.name == "snapshots":
        home = home.parent.parent
    return None if target.is_relative_to(home) else target


class DiskFolder(Block):
    """A folder on this machine."""

    path: DiskPath
    """Path from where Snakemake runs, or absolute, or from `~`."""

    def present(self, names: Iterable[str]) -> list[str]:
        """Paths of those files that are there."""
        paths = [Path(self.path).expanduser() / name for name in names]
        return [str(path) for path in paths if path.is_file()]
