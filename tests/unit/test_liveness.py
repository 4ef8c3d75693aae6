"""Claims about the locks that a killed run leaves and a living one needs, and their folder."""

import fcntl
import os
from collections import namedtuple
from pathlib import Path

import pytest

from onelayer.errors import OnelayerError
from onelayer.run import liveness, occupancy


@pytest.fixture
def lock(tmp_path: Path, monkeypatch) -> Path:
    """A lock of Snakemake's in an empty working directory."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / liveness.FOLDER / "locks" / "0.output.lock"
    path.parent.mkdir(parents=True)
    path.write_text("results/topics/a\nresults/records/fit_lda/a.json\n")
    path.with_name("0.input.lock").write_text("results/counts/a\n")
    return path


def test_the_locks_of_a_killed_run_are_removed(lock: Path) -> None:
    liveness.remove_stale_locks()
    assert list(lock.parent.iterdir()) == []


def test_the_locks_of_another_workflow_stay(lock: Path) -> None:
    others = [lock.with_name(f"1.{kind}.lock") for kind in ("input", "output")]
    for other in others:
        other.write_text("results/a\nother/results/records/b\n")
    liveness.remove_stale_locks()
    assert sorted(lock.parent.iterdir()) == others


def test_the_locks_of_a_step_that_is_alive_stay(lock: Path) -> None:
    # A second opening of the file holds a lock as another process would.
    alive = os.open(liveness.FOLDER / "alive", os.O_RDWR | os.O_CREAT)
    fcntl.flock(alive, fcntl.LOCK_SH)
    liveness.remove_stale_locks()
    assert lock.exists()
    os.close(alive)


def test_one_run_is_at_work_in_a_folder(lock: Path) -> None:
    occupancy.occupy()
    with pytest.raises(OnelayerError, match=r"^directory: .*: another run is at work here"):
        occupancy.occupy()


def test_a_folder_on_a_full_disk_is_refused(lock: Path, monkeypatch) -> None:
    occupancy.check_writable()
    full = namedtuple("full", ("f_blocks", "f_bavail"))
    monkeypatch.setattr(os, "statvfs", lambda _: full(10, 0))
    with pytest.raises(OnelayerError, match="the disk is full"):
        occupancy.check_writable()
    monkeypatch.setattr(os, "statvfs", lambda _: full(0, 0))  # of a file system that does not say
    occupancy.check_writable()


def test_memory_is_lost_where_steps_ran_and_snakemake_knows_none_of_them(lock: Path) -> None:
    assert not occupancy.memory_lost()
    Path("results/records").mkdir(parents=True)
    assert occupancy.memory_lost()
    known = liveness.FOLDER / "metadata" / "table"
    known.parent.mkdir()
    assert occupancy.memory_lost()
    known.touch()
    assert not occupancy.memory_lost()
