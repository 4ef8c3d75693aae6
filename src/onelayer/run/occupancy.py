"""What a run asks of the folder in which it works: that it may write there, and works there alone.

Snakemake's own locks name files; but whichever run ends first removes those of all, and a third
would then write what the first is writing.
"""

import contextlib
import fcntl
import os
from pathlib import Path

from onelayer.errors import OnelayerError
from onelayer.run.liveness import FOLDER


def check_writable() -> None:
    """Refuse a folder in which nothing can be made: another user's, or on a read-only or full disk.

    Raises:
        OnelayerError: the working directory, or what Snakemake and steps keep in it, may only be
            read; or there is no space left.
    """
    for place in (Path(), FOLDER, FOLDER / "alive", FOLDER / "locks", Path("results")):
        if place.exists() and not os.access(place, os.W_OK):
            owner = ""
            with contextlib.suppress(KeyError):  # a user without a name
                owner = f", which belongs to {place.owner()},"
            raise OnelayerError(
                f"directory: {place.resolve()}{owner} may not be written: name a folder of your "
                "own by `--directory`; `onelayer verify results` verifies what is here"
            )
    disk = os.statvfs(Path())
    if disk.f_blocks and not disk.f_bavail:
        raise OnelayerError(
            f"directory: {Path.cwd()}: the disk is full; with space on it the command goes on"
        )


def memory_lost() -> bool:
    """Whether steps were run here of which Snakemake no longer knows the settings and the code."""
    metadata = FOLDER / "metadata"
    return Path("results/records").is_dir() and not (metadata.is_dir() and any(metadata.iterdir()))


def occupy() -> None:
    """Be the only run at work in this working directory, for as long as this process lives.

    Raises:
        OnelayerError: there is another one.
    """
    # Never closed: the lock ends with the process. Where the file system knows no locks, there
    # are still Snakemake's.
    file = os.open(FOLDER / "running", os.O_RDWR | os.O_CREAT, 0o666)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise OnelayerError(
            f"directory: {Path.cwd()}: another run is at work here: wait for its end, or name "
            "another folder by `--directory`"
        ) from None
    except OSError:
        pass
