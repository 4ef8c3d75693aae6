"""What tests share: throwaway copies of the project, and one finished smoke run to start from.

`make test` runs them in several processes; this module says which start first, which stay together.
"""

import fcntl
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import psutil
import pytest

from tests.steps import forking, read_yaml_fast

ROOT = Path(__file__).resolve().parents[1]
SMOKE = ("--configfile", "config/smoke.yaml")

# What takes long to make and is made once, by the process that has all tests of it.
STAY_TOGETHER = ("battered", "unchanged", "slurm", "report", "answers", "shell")

read_yaml_fast()

# Tests are compiled anew in every process unless that is kept, which some environments forbid.
sys.dont_write_bytecode = False

# Before any test loads torch: one thread in pytest's own process, as steps have. Several threads on
# shared cores spend their time waiting for each other.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# Copies of the project are tens of thousands of small files, which some disks take seconds to make:
# they are made in memory where there is plenty.
MEMORY, PLENTY = Path("/dev/shm"), 8 << 30  # noqa: S108, pytest makes a folder of its own there
if (
    MEMORY.is_dir()
    and not os.statvfs(MEMORY).f_flag & os.ST_NOEXEC
    and min(shutil.disk_usage(MEMORY).free, psutil.virtual_memory().available) > PLENTY
):
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave `tests/gpu` to `tests/unit/test_gpu.py` unless it was asked for by name."""
    asked_for = any("gpu" in Path(argument.split("::")[0]).parts for argument in config.args)
    return True if collection_path == ROOT / "tests/gpu" and not asked_for else None


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """One more than there are cores, four at most: some tests wait for a clock or a server."""
    return min(4, len(os.sched_getaffinity(0)) + 1)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Longest first; the tests of one costly thing, or of one module of quick ones, together.

    One test has the smoke run made, which keeps its process; the other processes do what is long
    and needs no smoke run, so that nobody waits for it.
    """

    def urgency(item: pytest.Item) -> int:
        if "battered" in item.fixturenames:
            return 2
        if "smoke_run" in item.fixturenames:
            return 3
        return 1 if {"workflow", "faults"} & {*item.path.parts} else 4

    def left_out(item: pytest.Item) -> bool:
        """Whether it is for another command, or a machine with a browser."""
        return any(item.get_closest_marker(name) for name in ("faults", "slurm", "chromium"))

    items.sort(key=urgency)
    alone = (i for i in items if "smoke_run" in i.fixturenames and not left_out(i))
    if starter := next((i for i in alone if not {*STAY_TOGETHER} & {*i.fixturenames}), None):
        items.remove(starter)
        items.insert(0, starter)
    if config.pluginmanager.hasplugin("xdist"):
        for item in items:
            shared = [name for name in STAY_TOGETHER if name in item.fixturenames]
            if not item.get_closest_marker("workflow"):
                shared.append(str(item.path))
            for name in shared[:1]:
                item.add_marker(pytest.mark.xdist_group(name))


def pytest_collection_finish(session: pytest.Session) -> None:
    """Groups that the scheduler does not see would be scattered in silence, and made many times."""
    if getattr(session.config.option, "loadgroup", False):
        lost = [item for item in session.items if item.get_closest_marker("xdist_group")]
        lost = [item.nodeid for item in lost if "@" not in item.nodeid]
        assert not lost, (
            f"pytest-xdist does not see the group of {lost[0]} and {len(lost) - 1} more"
        )


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how many cases of bad input were generated, and which pages nobody opened."""
    unseen = [r for r in terminalreporter.getreports("skipped") if "chromium" in r.keywords]
    if unseen:
        terminalreporter.write_line("Without Chromium (apt-get install chromium) no test opened:")
        for report in unseen:
            terminalreporter.write_line(f"  {report.nodeid}")
    reports = terminalreporter.getreports("passed") + terminalreporter.getreports("failed")
    tried = sum(
        value
        for report in reports
        if report.when == "call"
        for name, value in report.user_properties
        if name == "generated cases"
    )
    if tried:
        terminalreporter.write_line(f"{tried} cases of generated bad input")


def copy_project(target: Path) -> Path:
    """Copy what git would hand out: tracked files and new ones that it does not ignore."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    for name in listed:
        if (ROOT / name).is_symlink() or (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target / name, follow_symlinks=False)
    return target


def copy_run(run: Path, target: Path) -> Path:
    """Copy a project with its results; its models, most of the bytes, are the same files."""

    def copy(source: str, target: str) -> None:
        link = source.endswith("/model.safetensors")
        (os.link if link else shutil.copy2)(source, target)

    return Path(shutil.copytree(run, target, symlinks=True, copy_function=copy))


def clean_environment(**extra: str) -> dict[str, str]:
    """The environment of a user's shell: nothing of pytest's own paths or thread counts."""
    own = ("PYTHONPATH", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
    return {k: v for k, v in os.environ.items() if k not in own} | extra


def check_in(folder: Path) -> None:
    """Make a repository of a folder, with one commit of all that it holds."""
    author = ("-c", "user.name=tester", "-c", "user.email=tester@example.org")
    for words in (["init", "-q"], ["add", "."], [*author, "commit", "-q", "-m", "A checkout"]):
        run_command("git", *words, folder=folder)


def run_command(
    *command: object,
    folder: Path,
    timeout: float | None = None,
    stderr: int = subprocess.STDOUT,
    **environment: str,
) -> subprocess.CompletedProcess:
    """Run a command as from a user's shell; `stderr` comes back as a part of `stdout`, or apart."""
    return subprocess.run(
        list(map(str, command)),
        cwd=folder,
        env=clean_environment(**environment),
        stdout=subprocess.PIPE,
        stderr=stderr,
        text=True,
        timeout=timeout,
        check=False,
    )


def snakemake(
    project: Path, *arguments: str, timeout: float = 1200, anew: bool = False, **environment: str
) -> subprocess.CompletedProcess:
    """Run Snakemake in a project, as `run_command` runs it.

    It and its steps are forked from a process that has their imports behind it, unless they are to
    start Python anew or have an environment of their own, which Python may read as it starts.
    """
    python = sys.executable if anew or environment.keys() - {"PYTHONPATH"} else forking()
    command = [python, "-m", "snakemake", *arguments]
    return run_command(*command, folder=project, timeout=timeout, **environment)


def cpu_seconds() -> float:
    """What all processes that have ended since the tests began used, whoever else is at work."""
    times = os.times()
    return times.children_user + times.children_system


def run_step(project: Path, step: str, *arguments: object, **environment: str):
    """Run one script by hand, as the README shows."""
    python = sys.executable if environment else forking()
    return run_script(python, f"scripts/{step}.py", *arguments, folder=project, **environment)


def run_script(
    *command: object, folder: Path, timeout: float = 300, **environment: str
) -> subprocess.CompletedProcess:
    """Run a script with the library of this folder or of PYTHONPATH; stderr comes back apart."""
    environment = {"PYTHONPATH": str(folder / "src")} | environment
    apart = subprocess.PIPE
    return run_command(*command, folder=folder, timeout=timeout, stderr=apart, **environment)


class StoppedError(Exception):
    """What a test stops a training with."""


def stopping_at(step: int) -> Callable[..., Iterator[int]]:
    """The progress of an `Execution` that stops a training before this step."""

    def progress(steps: Iterable[int], **_: object) -> Iterator[int]:
        for now in steps:
            if now == step:
                raise StoppedError
            yield now

    return progress


@pytest.fixture(scope="session")
def smoke_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the project in which the smoke overlay ran once on two cores; not to be changed.

    The first of several test processes runs it, the others wait for it.
    """
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent
    project, ended = folder / "smoke", folder / "smoke.log"
    with open(folder / "smoke.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not project.exists():
            run = snakemake(copy_project(project), "--cores", "2", *SMOKE)
            ended.write_text("" if run.returncode == 0 else run.stdout, encoding="utf-8")
    assert ended.exists(), "the smoke run did not come to its end"
    assert not (failure := ended.read_text(encoding="utf-8")), failure
    return project


@pytest.fixture
def finished(smoke_run: Path, tmp_path: Path) -> Path:
    """A copy of the finished smoke run, Snakemake's memory included, that a test may change."""
    return copy_run(smoke_run, tmp_path / "project")


@pytest.fixture
def fresh(tmp_path: Path) -> Path:
    """A copy of the project without results, that a test may change."""
    return copy_project(tmp_path / "project")
