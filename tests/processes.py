"""Processes of a project under test: started, found by the folder they work in, killed."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO

from tests.conftest import clean_environment


def start(
    project: Path, *arguments: str, output: IO | int = subprocess.DEVNULL, **environment: str
) -> subprocess.Popen:
    """Start Snakemake in a process group of its own; stdout and stderr both go to `output`."""
    return subprocess.Popen(
        [sys.executable, "-m", "snakemake", *arguments],
        cwd=project,
        env=clean_environment(**environment),
        stdout=output,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )


def processes_in(project: Path) -> dict[int, list[str]]:
    """Command lines of the processes that work in a folder, by process id."""
    found = {}
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if (entry / "cwd").readlink() == project:
                found[int(entry.name)] = (entry / "cmdline").read_text().split("\0")
        except OSError:
            continue  # it has ended, or is not ours to see
    return {pid: line for pid, line in found.items() if line != [""]}  # zombies have no command


def working_steps(project: Path) -> dict[str, int]:
    """Steps that have begun their work (their log is open), and their process ids."""
    steps = {}
    for pid, line in processes_in(project).items():
        script = next((word for word in line[:3] if word.startswith("scripts/")), None)
        if script and "--log" in line:
            log = project / line[line.index("--log") + 1]
            if log in open_files(pid):
                steps[Path(script).stem] = pid
    return steps


def open_files(pid: int) -> set[Path]:
    found = set()
    with contextlib.suppress(OSError):  # it has ended
        for descriptor in Path(f"/proc/{pid}/fd").iterdir():
            with contextlib.suppress(OSError):  # this one was closed meanwhile
                found.add(descriptor.readlink())
    return found


def wait_for(condition: Callable, seconds: float = 120.0):
    """Poll until the condition holds, and return its value."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if value := condition():
            return value
        time.sleep(0.02)
    raise TimeoutError(f"{condition} did not hold within {seconds:g} s")


def wait_for_step(
    project: Path, run: subprocess.Popen, steps: set[str], seconds: float = 120.0
) -> dict[str, int]:
    """Poll until some of the steps are at work, and return their process ids."""

    def at_work() -> dict[str, int]:
        assert run.poll() is None, f"Snakemake ended before {steps}: {run.returncode}"
        return {step: pid for step, pid in working_steps(project).items() if step in steps}

    return wait_for(at_work, seconds)


def kill_all(project: Path) -> None:
    """SIGKILL everything that works in the project, until nothing does."""

    def nobody_left() -> bool:
        left = processes_in(project)
        for pid in left:
            with contextlib.suppress(ProcessLookupError):  # it has ended
                os.kill(pid, signal.SIGKILL)
        return not left

    wait_for(nobody_left)
