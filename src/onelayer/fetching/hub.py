"""Files of a pinned commit on a Hugging Face hub: downloaded with retries, checked, copied.

The only module that asks a hub for anything; every step that does not download runs offline.
Where the hub is and who asks are the client's own environment variables: HF_ENDPOINT (a mirror),
HF_HOME (where downloads are kept for the next project), HF_TOKEN (for gated repositories).
"""

import errno
import functools
import hashlib
import os
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeVar

from huggingface_hub import (
    _CACHED_NO_EXIST,
    HfApi,
    constants,
    get_token,
    hf_hub_download,
    logging,
    try_to_load_from_cache,
)
from huggingface_hub.errors import (
    DisabledRepoError,
    EntryNotFoundError,
    GatedRepoError,
    HfHubHTTPError,
    HTTPError,  # of the HTTP library that this version of the client uses
    LocalEntryNotFoundError,
    OfflineModeIsEnabled,
    RemoteEntryNotFoundError,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)
from tqdm import tqdm

from onelayer.errors import MissingFileError, OnelayerError
from onelayer.fetching.fetch import with_retries
from onelayer.run.provenance import file_sha256
from onelayer.settings.hub import HubRepository

MOST_RESTARTS = 3
Answer = TypeVar("Answer")
_BUSY = {408, 429}  # beside 5xx: worth another attempt


class PassingError(OnelayerError):
    """A download failed in a way that may pass: an overloaded hub, a broken connection."""


@dataclass(frozen=True)
class Repository:
    """A repository at one commit."""

    kind: Literal["model", "dataset"]
    settings: HubRepository  # its name, its commit and the sums pinned in the settings

    def __str__(self) -> str:
        return f"{self.kind} {self.settings.repository} at {self.settings.revision}"

    def fetch(self, file: str, target: Path) -> None:
        """Download one file, named by its path in the repository, check its content and copy it.

        Raises:
            MissingFileError: this commit holds no such file.
            OnelayerError: repository or commit do not exist or may not be read, the hub cannot
                be reached, or the content is not what it should be; one line.
        """

        def download(repository: str, **where: str) -> Path:
            path = Path(hf_hub_download(repository, file, tqdm_class=_Progress, **where))
            if self.settings.revision not in path.parts:
                raise OnelayerError(f"{file} of {self}: {_hub()} answers with another commit")
            _check_content(path, f"{file} of {self}")
            return path

        cached = self._ask(download, file)
        expected = self.settings.sums.get(file)
        if expected and (actual := file_sha256(cached)) != expected:
            raise OnelayerError(f"{file} of {self}: expected sha256 {expected}, found {actual}")
        shutil.copyfile(cached, target)

    def files(self) -> list[str]:
        """Paths of all files of this commit.

        Raises:
            OnelayerError: as for `fetch`.
        """
        return self._ask(HfApi().list_repo_files, "the list of files")

    def pinned(self) -> tuple[str, dict[str, tuple[int, str]]]:
        """The commit that a revision is now; size (bytes) and SHA-256 of its files, '' if unknown.

        The hub knows the SHA-256 of large files alone.

        Raises:
            OnelayerError: as for `fetch`.
        """
        info = self._ask(HfApi().repo_info, "what it holds", files_metadata=True)
        files = {
            file.rfilename: (file.size or 0, file.lfs.sha256 if file.lfs else "")
            for file in info.siblings or ()
        }
        return info.sha, files

    def _ask(self, question: Callable[..., Answer], file: str, **options: object) -> Answer:
        """What the client answers about this commit, asked again where a failure may pass."""
        _settle_client()
        where = {"repo_type": self.kind, "revision": self.settings.revision}

        def attempt() -> Answer:
            try:
                return question(self.settings.repository, **where, **options)
            except (EntryNotFoundError, HTTPError, OSError) as error:
                raise self._explain(error, file) from None

        return with_retries(attempt, passing=PassingError)

    def _explain(self, error: Exception, file: str) -> Exception:
        """One line for what the client raised; what the disk says comes back as it is."""
        if isinstance(error, LocalEntryNotFoundError) and error.__cause__:
            error = error.__cause__  # why it looked for a kept file in vain
        if getattr(error, "errno", None) in (errno.ENOSPC, errno.EACCES, errno.EROFS):
            return error
        for kind, explanation in _EXPLANATIONS.items():
            if isinstance(error, kind):
                if kind is OfflineModeIsEnabled and self._known_to_miss(file):
                    kind, explanation = RemoteEntryNotFoundError, _MISSING
                missing = kind is RemoteEntryNotFoundError
                said = self._filled_in(explanation, file)
                return MissingFileError(said) if missing else OnelayerError(said)
        status = error.response.status_code if isinstance(error, HfHubHTTPError) else 0
        if status in (401, 403):
            return OnelayerError(
                self._filled_in("{hub} refuses {file} of {it} (HF_TOKEN is {token}): ", file)
                + f"status {status}"
            )
        reason = f"status {status}" if status else _first_line(error)
        passing = not status or status >= 500 or status in _BUSY
        return (PassingError if passing else OnelayerError)(
            self._filled_in("could not download {file} of {it} from {hub}: ", file) + reason
        )

    def _known_to_miss(self, file: str) -> bool:
        """Whether the client kept a note that this commit has no such file."""
        where = {"repo_type": self.kind, "revision": self.settings.revision}
        kept = try_to_load_from_cache(self.settings.repository, file, **where)
        return kept is _CACHED_NO_EXIST

    def _filled_in(self, line: str, file: str) -> str:
        return line.format(
            kind=self.kind,
            name=self.settings.repository,
            revision=self.settings.revision,
            it=self,
            file=file,
            hub=_hub(),
            token="set" if get_token() else "not set",
        )


_MISSING = "{it} holds no file {file}"
# In this order: a gated repository is reported as a kind of missing one.
_EXPLANATIONS: dict[type[Exception], str] = {
    GatedRepoError: "{kind} {name} is gated: accept its conditions on its page on {hub}, and set "
    "HF_TOKEN to a token that may read it (HF_TOKEN is {token})",
    DisabledRepoError: "{kind} {name} is disabled on {hub}",
    RepositoryNotFoundError: "{kind} {name} is not on {hub}, or is private (HF_TOKEN is {token})",
    RevisionNotFoundError: "{kind} {name} has no commit {revision}: its page on {hub} lists them "
    "under 'Files and versions', 'History'",
    RemoteEntryNotFoundError: _MISSING,
    OfflineModeIsEnabled: "{file} of {it} is not in HF_HOME, and HF_HUB_OFFLINE forbids to ask "
    "{hub}",
}


class _Progress(tqdm):
    """The client's progress bar, where somebody watches; and a bound on how often it starts over.

    A server that breaks off every answer and knows no ranges would keep the client busy forever:
    it starts over from the first byte, without counting.
    """

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **(kwargs | {"disable": None, "leave": False}))
        self.restarts = 0

    def update(self, n: float | None = 1) -> bool | None:
        if n is not None and n < 0:
            self.restarts += 1
            if self.restarts > MOST_RESTARTS:
                raise OSError("the answer breaks off, again and again")
        return super().update(n)


def _check_content(path: Path, what: str) -> None:
    """Compare a cached file with the sum that git or git-lfs knows it by.

    The client names cached content by it: SHA-256 for large files, git's SHA-1 for others. It
    compares sizes alone.

    Raises:
        PassingError: they differ; the file has left the cache, so that it comes anew.
    """
    blob = path.resolve()
    if re.fullmatch("[0-9a-f]{64}", blob.name):
        possible = [file_sha256(blob)]
    elif re.fullmatch("[0-9a-f]{40}", blob.name):
        # Some mirrors give the plain SHA-1 instead of git's.
        possible = [_sha1(blob, f"blob {blob.stat().st_size}\0".encode()), _sha1(blob)]
    else:
        return  # a file system without links, where the name is lost, or sums of another kind
    if blob.name not in possible:
        path.unlink()
        blob.unlink(missing_ok=True)
        raise PassingError(f"{what} is altered: expected sum {blob.name}, found {possible[0]}")


def _sha1(path: Path, header: bytes = b"") -> str:
    with open(path, "rb") as file:
        start = functools.partial(hashlib.sha1, header, usedforsecurity=False)
        return hashlib.file_digest(file, start).hexdigest()


def _settle_client() -> None:
    """Make the client say nothing of its own, and take the plain road.

    Its warnings name addresses, which may hold a password; what fails is said here. It asks for
    the files and nothing else, over plain HTTP, which mirrors understand too, unless
    HF_HUB_DISABLE_XET is 0.
    """
    logging.set_verbosity_error()
    constants.HF_HUB_DISABLE_TELEMETRY = True
    constants.HF_HUB_DISABLE_XET = os.getenv("HF_HUB_DISABLE_XET", "1") != "0"


def _hub() -> str:
    """The hub's address, without a name and password in it."""
    return re.sub(r"://[^/\s]+@", "://", constants.ENDPOINT)


def _first_line(error: Exception) -> str:
    text = str(error).strip().splitlines()
    return re.sub(r"\w+://\S+", _hub(), text[0]).rstrip(".") if text else type(error).__name__
