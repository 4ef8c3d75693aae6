"""What tests share: one run of config/golden.yaml, and how Snakemake is called."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

# Before any test loads torch: one thread, as steps have.
os.environ.setdefault("OMP_NUM_THREADS", "1")


def snakemake(*arguments: str | Path, cores: int = 2, **options) -> subprocess.CompletedProcess:
    """Snakemake on this project; arguments begin with targets. Output as one text."""
    command = [sys.executable, "-m", "snakemake", *map(str, arguments)]
    command += ["--snakefile", str(ROOT / "Snakefile"), "--cores", str(cores)]
    return subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options
    )


@pytest.fixture(scope="session")
def golden_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a whole portable run of config/golden.yaml, made once."""
    folder = tmp_path_factory.mktemp("golden")
    done = snakemake(*golden_arguments(folder))
    assert done.returncode == 0, done.stdout[-4000:]
    return folder


def golden_arguments(folder: Path) -> list[str]:
    """Snakemake's arguments for a portable run of config/golden.yaml."""
    overlay = str(ROOT / "config/golden.yaml")
    return ["--directory", str(folder), "--configfile", overlay, "--config", "portable=true"]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """One more than there are cores, four at most: some tests wait for a clock or a server."""
    return min(4, len(os.sched_getaffinity(0)) + 1)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The golden run first, in one process with all tests of it; then each module in one."""
    items.sort(key=lambda item: "golden_run" not in item.fixturenames)
    for item in items:
        golden = "golden_run" in item.fixturenames
        item.add_marker(pytest.mark.xdist_group("golden" if golden else str(item.path)))
