"""Tests of a copy of the project, run in forks of a process that has the slow imports behind it.

A fault costs its tests and the import of the library, not that of torch and transformers.
"""

import atexit
import functools
import gc
import importlib
import itertools
import multiprocessing
import os
import select
import signal
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import TypeVar

import pytest

from tests.conftest import ROOT, clean_environment, copy_project, run_command
from tests.steps import IMPORTED

TOO_LONG = -1  # in place of pytest's exit status
_moments = itertools.count(1)

Task = TypeVar("Task")
Outcome = TypeVar("Outcome")


def in_copies(
    work: Callable[[Path, Task], Outcome], tasks: Iterable[Task], processes: int
) -> Iterator[Outcome]:
    """What `work` makes of a copy of the project and each task, in order; a copy for each process.

    Args:
        work: a function of a module, which leaves the copy as it found it.
        tasks: one by one to whichever process is free.
        processes: how many work at a time.
    """
    for module in IMPORTED:
        importlib.import_module(module)
    gc.collect()
    gc.freeze()  # looking for garbage would copy every page into every process
    fork = multiprocessing.get_context("fork")
    with (
        tempfile.TemporaryDirectory(prefix="onelayer-mutations-") as folder,
        ProcessPoolExecutor(processes, fork, _begin, (Path(folder),)) as pool,
    ):
        yield from pool.map(functools.partial(_work, work), tasks)


def _begin(folder: Path) -> None:
    """Copy the project for this process, with its history: tests ask when things were written."""
    global _project
    _project = folder / str(os.getpid())
    clone = ("clone", "--quiet", "--shared", "--no-checkout")
    run_command("git", *clone, ROOT, _project, folder=folder)
    copy_project(_project)
    run_command("git", "reset", "--quiet", folder=_project)


def _work(work: Callable[[Path, Task], Outcome], task: Task) -> Outcome:
    return work(_project, task)


def write(module: Path, text: str) -> None:
    """Write a module under a second of its own, by which Python tells its compiled files apart."""
    module.write_text(text, encoding="utf-8")
    moment = next(_moments)
    os.utime(module, (moment, moment))


def run_tests(
    tests: Sequence[str],
    project: Path,
    seconds: float,
    further: Sequence[str] = (),
    plugins: Sequence[object] = (),
) -> tuple[int, str]:
    """Exit status of pytest in the project, TOO_LONG of one that was stopped, and its output."""
    # Beside the project: what tests make is no part of its repository.
    place = project.with_name(f"{project.name}-tests")
    options = ["-q", "-p", "no:cacheprovider", f"--basetemp={place}", *further]
    with tempfile.TemporaryFile("w+", encoding="utf-8") as output:
        if not (process := os.fork()):
            _become_pytest([*options, *tests], project, output.fileno(), plugins)
        status = wait_for(process, seconds, os.killpg)
        output.seek(0)
        return TOO_LONG if status is None else status, output.read()


def wait_for(
    process: int, seconds: float, kill: Callable[[int, int], None] = os.kill
) -> int | None:
    """Exit status of a child; None of one that was killed after so many seconds."""
    ended, in_time = os.pidfd_open(process), []
    try:
        in_time = select.select([ended], [], [], seconds)[0]
    finally:  # nor does a child outlast who is interrupted
        os.close(ended)
        if not in_time:
            kill(process, signal.SIGKILL)
        _, status = os.waitpid(process, 0)
    return os.waitstatus_to_exitcode(status) if in_time else None


def _become_pytest(
    arguments: list[str], project: Path, output: int, plugins: Sequence[object]
) -> None:
    """Be `python -m pytest` in the project, of which nothing has been imported yet."""
    status = 1
    try:
        os.setsid()
        os.dup2(output, 1)
        os.dup2(output, 2)
        os.chdir(project)
        environment = clean_environment(PYTHONPATH=str(project / "src"))
        os.environ.clear()
        os.environ.update(environment)
        tempfile.tempdir = None
        atexit._clear()  # what is to be done at the end of the process that this was a part of
        for name in [name for name in sys.modules if name.split(".")[0] in ("tests", "onelayer")]:
            del sys.modules[name]
        # Its environment may lie in the project.
        others = [p for p in sys.path if p and Path(p) not in (ROOT, ROOT / "src")]
        sys.path[:] = [str(project), str(project / "src"), *others]
        status = pytest.main(arguments, list(plugins))
        atexit._run_exitfuncs()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
