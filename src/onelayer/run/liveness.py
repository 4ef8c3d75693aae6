"""Who is alive in a working directory: a killed run must not block the next, a live one must.

Snakemake's lock is a plain file, which outlives `kill -9` and a power cut. Beside it, Snakemake
and every step hold a shared lock of the operating system, which ends with its holder.
"""

import contextlib
import fcntl
import os
import select
import signal
import threading
from pathlib import Path

FOLDER = Path(".snakemake")
RECORDS = "results/records/"  # every step writes one
RUN = "ONELAYER_RUN"  # the process whose steps these are, as the workflow says it


def count_as_alive() -> None:
    """Hold the shared lock of this working directory for as long as this process lives.

    Does nothing where Snakemake never ran, or where the file system knows no such locks.
    """
    if FOLDER.is_dir():
        _share(_open())


def end_with_the_run() -> None:
    """End this process, as SIGTERM does, when the Snakemake that started it has ended.

    Snakemake that is killed leaves its steps running. Does nothing by hand, in a container with
    processes of its own, and where the system hands out no descriptors of processes.
    """
    with contextlib.suppress(AttributeError, OSError, KeyError):
        run = os.pidfd_open(int(os.environ[RUN]))
        threading.Thread(target=_end_after, args=[run], daemon=True).start()


def _end_after(run: int) -> None:
    select.select([run], [], [])
    os.kill(os.getpid(), signal.SIGTERM)


def remove_stale_locks() -> None:
    """Remove this workflow's lock files if no process that needs them is alive; count as alive.

    They name records of steps, and have an input lock of the same number; those of another workflow
    that works in this folder stay.

    A step that outlived its Snakemake keeps them in place until it ends, so that no second one
    writes the same files.
    """
    FOLDER.mkdir(exist_ok=True)
    file = _open()
    with contextlib.suppress(OSError):  # somebody holds the shared lock, or there are no locks
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        for lock in FOLDER.glob("locks/*.output.lock"):
            if f"\n{RECORDS}" in "\n" + lock.read_text(encoding="utf-8", errors="replace"):
                lock.with_name(lock.name.replace("output", "input")).unlink(missing_ok=True)
                lock.unlink(missing_ok=True)
    _share(file)


def _open() -> int:
    # Never closed: the lock ends with the process.
    return os.open(FOLDER / "alive", os.O_RDWR | os.O_CREAT, 0o666)


def _share(file: int) -> None:
    with contextlib.suppress(OSError):
        fcntl.flock(file, fcntl.LOCK_SH)
