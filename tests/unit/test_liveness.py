"""Claims about the locks that a killed run leaves and that a living one needs."""

import fcntl
import os
from pathlib import Path

import pytest

from onelayer import liveness


@pytest.fixture
def lock(tmp_path: Path, monkeypatch) -> Path:
    """A lock of Snakemake's in an empty working directory."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / liveness.FOLDER / "locks" / "0.output.lock"
    path.parent.mkdir(parents=True)
    path.touch()
    return path


def test_the_locks_of_a_killed_run_are_removed(lock: Path) -> None:
    liveness.remove_stale_locks()
    assert not lock.exists()


def test_the_locks_of_a_step_that_is_alive_stay(lock: Path) -> None:
    # A second opening of the file holds a lock as another process would.
    alive = os.open(liveness.FOLDER / "alive", os.O_RDWR | os.O_CREAT)
    fcntl.flock(alive, fcntl.LOCK_SH)
    liveness.remove_stale_locks()
    assert lock.exists()
    os.close(alive)
