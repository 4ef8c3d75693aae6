"""Settings that name files on a Hugging Face hub or on this machine."""

import re
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field

from onelayer.settings.block import Block, Sha256


def _commit(revision: object) -> object:
    if not re.fullmatch("[0-9a-f]{40}", str(revision)):
        raise ValueError(
            "a revision is the 40 hexadecimal digits of a commit (branches and tags move); a "
            "repository's page lists them under 'Files and versions', 'History'"
        )
    return revision


def _on_disk(path: str) -> str:
    if not path.strip() or not path.isprintable() or set(path) & set("<{}"):
        raise ValueError("a path is one line, not empty, and without < { } (Snakemake reads those)")
    try:
        Path(path).expanduser().exists()
    except (OSError, RuntimeError) as error:  # a name that is too long, a user whom nobody knows
        raise ValueError(f"no such path can be: {error.args[-1]}") from None
    return path


DiskPath = Annotated[str, AfterValidator(_on_disk)]
_PART = r"[A-Za-z0-9]([A-Za-z0-9_.-]{0,94}[A-Za-z0-9_])?"
RepositoryName = Annotated[str, Field(pattern=f"^{_PART}/{_PART}$")]


class Commit(Block):
    """A commit of a repository, which fixes the content of every file."""

    revision: Annotated[str, BeforeValidator(_commit)] = Field(None, validate_default=True)
    sums: dict[str, Sha256] = {}  # SHA-256 of files whose content is pinned here, too, by path


class HubRepository(Commit):
    """A repository on a Hugging Face hub at one commit."""

    repository: RepositoryName  # owner and name: google-bert/bert-base-uncased


class HubDataset(Commit):
    """One split of a dataset on a Hugging Face hub at one commit."""

    dataset: RepositoryName  # owner and name: wikimedia/wikipedia
    config: str | None = None  # which configuration: 20231101.en; null where there is one only
    split: str = "train"
    files: list[str] = ["*"]  # only files of the split that fit a pattern (*, ?)

    @property
    def repository(self) -> HubRepository:
        """Where its files are."""
        return HubRepository(repository=self.dataset, revision=self.revision, sums=self.sums)


class DiskFolder(Block):
    """A folder on this machine."""

    path: DiskPath  # from where Snakemake runs, or absolute, or from ~


class DiskFiles(Block):
    """Files on this machine."""

    paths: list[DiskPath] = Field(min_length=1)  # in this order; folders or files

    def files(self, endings: tuple[str, ...]) -> list[str]:
        """The files; of a folder all within whose names end so, but no link out of it."""
        files = []
        for path in (Path(path).expanduser() for path in self.paths):
            inside = sorted(p for p in path.rglob("*") if p.name.endswith(endings) and p.is_file())
            for file in map(_on_disk, map(str, inside)):
                if leads_out(Path(file), path):
                    raise ValueError(f"paths: {file} is a link out of its folder; name the file")
            files += map(str, inside) if path.is_dir() else [str(path)]
        return files


def leads_out(path: Path, folder: Path) -> bool:
    """Whether a file of a folder lies elsewhere: what somebody packed may hold such links."""
    home = folder.resolve()  # a snapshot in a hub client's cache links into the `blobs` beside it
    home = home.parent.parent if home.parent.name == "snapshots" else home
    return not path.resolve().is_relative_to(home)
