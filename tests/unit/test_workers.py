"""Claims about workers: what they share, and how they and their parent end."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from onelayer.compute.workers import SharedArray, Workers
from onelayer.errors import OnelayerError

PROGRAM = """
import signal, sys, time
from onelayer.compute.workers import SharedArray, Workers
from tests.unit.test_workers import Worker

if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    pids = SharedArray((2,), 2)
    with Workers(2, Worker, pids) as workers:
        workers.call("sign")
        print(*pids.array.astype(int), flush=True)
        workers.start("rest", {rest})
        time.sleep(60)
"""


class Worker:
    """Leaves marks in a shared array, or goes wrong."""

    def __init__(self, place: int, count: int, shared: SharedArray) -> None:
        self.place, self.count, self.shared = place, count, shared

    def add(self, value: float) -> None:
        self.shared.array[self.place :: self.count] += value + self.place

    def sign(self) -> None:
        self.shared.array[self.place] = os.getpid()

    def rest(self, seconds: float) -> None:
        time.sleep(seconds)

    def fail(self, place: int) -> None:
        if self.place == place:
            raise OnelayerError("42 is not the answer")

    def die(self, place: int) -> None:
        if self.place == place:
            os.kill(os.getpid(), signal.SIGKILL)


def test_workers_see_one_array_and_keep_their_place() -> None:
    marks = SharedArray((6,), 3, np.int64)
    with Workers(3, Worker, marks) as workers:
        workers.call("add", 1)
        workers.start("add", 10)
        workers.wait()
    assert marks.array.tolist() == [11, 13, 15, 11, 13, 15]


def test_one_worker_is_this_process() -> None:
    shared = SharedArray((1,), 1)
    with Workers(1, Worker, shared) as workers:
        workers.call("sign")
    assert shared.array.tolist() == [os.getpid()]


@pytest.mark.parametrize("count", [1, 2])
def test_what_a_worker_raises_is_raised(count) -> None:
    with (
        pytest.raises(OnelayerError, match="42 is not the answer"),
        Workers(count, Worker, SharedArray((1,), count)) as workers,
    ):
        workers.call("fail", count - 1)


def test_a_killed_worker_is_one_line() -> None:
    with Workers(2, Worker, SharedArray((2,), 2)) as workers:
        with pytest.raises(OnelayerError, match=r"^worker process 2 of 2 ended: SIGKILL \(out of"):
            workers.call("die", 1)
        with pytest.raises(OnelayerError, match="worker process 2 of 2 ended"):
            workers.call("add", 1)


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="asks /proc who is alive")
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
@pytest.mark.parametrize("rest", [0, 1])
def test_no_worker_outlives_its_parent(how, rest, tmp_path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM.format(rest=rest))
    root = Path(__file__).resolve().parents[2]
    environment = os.environ | {"PYTHONPATH": f"{root}{os.pathsep}{root / 'src'}"}
    with subprocess.Popen(
        [sys.executable, program], stdout=subprocess.PIPE, text=True, env=environment
    ) as parent:
        pids = [int(pid) for pid in parent.stdout.readline().split()]
        assert len(pids) == 2 and all(map(alive, pids))
        parent.send_signal(how)
    end = time.monotonic() + 10
    while any(map(alive, pids)):
        assert time.monotonic() < end, "a worker is still there"
        time.sleep(0.05)
