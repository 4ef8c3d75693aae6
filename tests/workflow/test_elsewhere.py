"""Results of each configuration apart: `make ... CONFIG=`, and Snakemake from any directory."""

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.conftest import SMOKE, copy_project, run_command, snakemake

pytestmark = pytest.mark.workflow

TABLE = "results/tables/scan_snap/entropy_sweep.csv"
SIMULATED = "results/scan_snap/entropy_sweep.parquet"


def make(project: Path, *arguments: str) -> subprocess.CompletedProcess:
    """Run make with what is installed already."""
    return run_command("make", "--old-file=.venv/.installed", *arguments, folder=project)


def test_snakemake_runs_from_anywhere(tmp_path):
    project = copy_project(tmp_path / "a project")  # quoted wherever it is named
    before = sorted(project.rglob("*"))
    overlay = ("--configfile", str(project / SMOKE[1]))
    place = ("--directory", "there", "--snakefile", str(project / "Snakefile"))
    run = snakemake(tmp_path, "--cores", "1", *place, *overlay, "--", "table_entropy_sweep")
    assert run.returncode == 0, run.stdout
    assert (tmp_path / "there" / TABLE).is_file()
    assert "Reason:" not in run.stdout  # the project's own profile was found
    written = {
        path for path in set(project.rglob("*")) - {*before} if "__pycache__" not in str(path)
    }
    assert written == set()
    again = snakemake(
        tmp_path / "there", "--dry-run", *place[2:], *overlay, "--", "table_entropy_sweep"
    )
    assert "Nothing to be done" in again.stdout, again.stdout
    # From a copy the way to the scripts is another; what was computed stays.
    shutil.copytree(tmp_path / "there", tmp_path / "much/deeper/there")
    copied = snakemake(
        tmp_path / "much/deeper/there", "--dry-run", *place[2:], *overlay, "--", SIMULATED
    )
    assert "Nothing to be done" in copied.stdout, copied.stdout


@pytest.mark.parametrize(
    ("arguments", "place"),
    [
        (("results",), "--directory . --cores"),
        (("quick",), "--directory runs/quick --configfile config/quick.yaml --cores"),
        (("quick", "CONFIG=config/smoke.yaml"), "--directory runs/smoke --configfile"),
        (("results", "CONFIG=config/smoke.yaml"), "--directory runs/smoke --configfile"),
        (("report", "CONFIG=config/smoke.yaml"), "--directory runs/smoke --configfile"),
        (("report", "CONFIG=../mine.v2.yaml"), "--directory runs/mine.v2 --configfile ../mine"),
    ],
)
def test_make_puts_each_configuration_in_a_folder_of_its_own(arguments, place, code):
    run = make(code, "--dry-run", *arguments)
    assert run.returncode == 0, run.stdout
    commands = [line for line in run.stdout.splitlines() if line.startswith("snakemake ")]
    assert commands and all(place in command for command in commands)


@pytest.mark.parametrize("target", ["quick", "results", "report", "verify"])
def test_a_configuration_that_is_not_there_is_refused_in_one_line(target, code):
    run = make(code, target, "CONFIG=config/missing.yaml")
    assert run.returncode != 0
    assert "CONFIG=config/missing.yaml: there is no such file" in run.stdout
    assert "Traceback" not in run.stdout and "snakemake" not in run.stdout


def test_a_dry_run_removes_no_lock(fresh):
    lock = fresh / ".snakemake/locks/0.output.lock"
    lock.parent.mkdir(parents=True)
    lock.write_text("results/x\nresults/records/x.json\n")
    run = snakemake(fresh, "--dry-run", "--quiet", "--", "table_theorem_1")
    assert run.returncode == 0 and lock.exists(), run.stdout
