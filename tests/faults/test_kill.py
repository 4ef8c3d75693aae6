"""`kill -9` in the middle of a step, then the same command: it completes, same bytes.

The killed run starts from nothing and differs from the undisturbed one in all that must not reach
a number: the number of cores, the hash seed, the locale and the time zone. A few targets here; the
rest of the workflow, at random moments, in `test_by_count.py`.
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.conftest import ROOT, SMOKE, clean_environment, copy_project, snakemake
from tests.faults.conftest import parts, results
from tests.processes import kill_all, processes_in, start, wait_for, wait_for_step

COMMAND = ("--cores", "2", *SMOKE)
TARGETS = ("table_topics", "table_theorem_1", "figure_time_to_perfect")
ONE_CORE = ("--cores", "1", *SMOKE, "--", *TARGETS)
ELSEWHERE = {"PYTHONHASHSEED": "7", "LC_ALL": "C.UTF-8", "TZ": "Asia/Tokyo"}
KILLED = ("count_words", "fit_lda")


def outputs_of(finished: Path, step: str) -> set[str]:
    """Outputs of all jobs of a step, as their records name them."""
    records = (finished / "results" / "records" / step).rglob("*.json")
    return {name for record in records for name in json.loads(record.read_text())["outputs"]}


@pytest.fixture(scope="module")
def battered(tmp_path_factory: pytest.TempPathFactory) -> SimpleNamespace:
    """A project in which one command was killed in two steps and then run to its end.

    Attributes:
        project: where.
        unfinished: for each step, its outputs that were there right after it was killed.
        last: the run that was left alone.
    """
    project = copy_project(tmp_path_factory.mktemp("killed") / "project")
    there: dict[str, set[str]] = {}
    while waiting := set(KILLED) - set(there):
        run = start(project, *ONE_CORE, **ELSEWHERE)
        try:
            # All other steps are still to be done as well, and come in between.
            steps = wait_for_step(project, run, waiting, seconds=600)
            os.killpg(run.pid, signal.SIGKILL)
        finally:
            kill_all(project)
            run.wait()
        files = {str(path.relative_to(project)) for path in (project / "results").rglob("*")}
        there |= dict.fromkeys(steps, files)
    last = snakemake(project, *ONE_CORE, **ELSEWHERE)
    unfinished = {step: files & outputs_of(project, step) for step, files in there.items()}
    return SimpleNamespace(project=project, unfinished=unfinished, last=last)


@pytest.mark.workflow
@pytest.mark.parametrize("step", KILLED)
def test_a_step_killed_midway_has_no_output(step, battered):
    assert outputs_of(battered.project, step)
    assert battered.unfinished[step] == set()


@pytest.mark.workflow
def test_the_same_command_completes_after_kills(battered):
    assert battered.last.returncode == 0, battered.last.stdout


@pytest.mark.workflow
def test_a_killed_run_on_one_core_ends_with_the_same_bytes(battered, smoke_run):
    found, expected = results(battered.project), results(smoke_run)
    assert {f"tables/topic_structure/topics.{form}" for form in ("csv", "md")} <= set(found)
    assert "figures/decision_lists/time_to_perfect.pdf" in found
    assert [name for name in found if found[name] != expected[name]] == []


@pytest.mark.workflow
def test_a_killed_run_leaves_no_temporary_file(battered):
    assert parts(battered.project) == []


TOPICS = "results/topics/vital-articles/lda.safetensors"
FIT = (TOPICS, *COMMAND)


@pytest.fixture
def lda_missing(finished: Path) -> Iterator[Path]:
    """A finished run without its topics; whatever a test leaves running there is ended."""
    (finished / TOPICS).unlink()
    yield finished
    kill_all(finished)


@pytest.mark.workflow
def test_a_step_killed_alone_fails_its_run_and_the_same_command_completes(lda_missing, smoke_run):
    run = start(lda_missing, *FIT)
    os.kill(wait_for_step(lda_missing, run, {"fit_lda"})["fit_lda"], signal.SIGKILL)
    assert run.wait(timeout=60) == 1
    assert not (lda_missing / TOPICS).exists()
    again = snakemake(lda_missing, *FIT)
    assert again.returncode == 0, again.stdout
    assert (lda_missing / TOPICS).read_bytes() == (smoke_run / TOPICS).read_bytes()
    assert parts(lda_missing) == []


@pytest.mark.workflow
def test_a_step_that_outlives_its_killed_snakemake_is_not_run_twice(lda_missing, smoke_run):
    run = start(lda_missing, *FIT)
    step = wait_for_step(lda_missing, run, {"fit_lda"})["fit_lda"]
    os.kill(step, signal.SIGSTOP)
    os.kill(run.pid, signal.SIGKILL)
    run.wait()
    refused = snakemake(lda_missing, *FIT)
    assert refused.returncode == 1
    assert "Directory cannot be locked" in refused.stdout
    # Stopped it could not end with its run; now it does, without its output.
    os.kill(step, signal.SIGCONT)
    wait_for(lambda: not processes_in(lda_missing), seconds=10)
    assert not (lda_missing / TOPICS).exists()
    again = snakemake(lda_missing, *FIT)
    assert again.returncode == 0, again.stdout
    assert (lda_missing / TOPICS).read_bytes() == (smoke_run / TOPICS).read_bytes()
    assert parts(lda_missing) == []


@pytest.mark.workflow
def test_nothing_outlives_a_run_that_timeout_ends(fresh):
    run = start(fresh, "--cores", "1", *SMOKE, "--", "table_theorem_1")
    wait_for_step(fresh, run, {"solve_decision_lists"})
    os.killpg(run.pid, signal.SIGTERM)  # as `timeout` does
    assert run.wait(timeout=120) != 0
    wait_for(lambda: not processes_in(fresh), seconds=20)
    assert parts(fresh) == []


@pytest.mark.workflow
def test_of_two_runs_at_once_the_second_is_refused_and_the_first_is_undisturbed(
    lda_missing, smoke_run
):
    run = start(lda_missing, *FIT)
    step = wait_for_step(lda_missing, run, {"fit_lda"})["fit_lda"]
    os.kill(step, signal.SIGSTOP)
    same = snakemake(lda_missing, *FIT)
    assert same.returncode == 1
    assert "Directory cannot be locked" in same.stdout
    # Snakemake would let in whoever makes other files, and then forget the first one's locks.
    (lda_missing / "results/tables/decision_lists/theorem_1.csv").unlink()
    other = snakemake(lda_missing, *COMMAND, "--", "table_theorem_1")
    assert other.returncode == 1
    [line] = [line for line in other.stdout.splitlines() if "another run is at work" in line]
    assert line.startswith(f"directory: {lda_missing}: ") and "--directory" in line
    assert "Traceback" not in other.stdout
    assert snakemake(lda_missing, "--dry-run", *FIT).returncode == 0
    os.kill(step, signal.SIGCONT)
    assert run.wait(timeout=120) == 0
    assert (lda_missing / TOPICS).read_bytes() == (smoke_run / TOPICS).read_bytes()
    assert snakemake(lda_missing, *COMMAND, "--", "table_theorem_1").returncode == 0


WAITING = """
import time
from onelayer.settings.block import Block
from onelayer.run.step import run

def main(step):
    step.outputs.articles.write_text("half")
    while True:
        time.sleep(1)

run(main, settings=Block, outputs=["articles"])
"""


def test_a_terminated_step_leaves_no_output(tmp_path):
    script, target = tmp_path / "parse_articles.py", tmp_path / "out" / "articles.arrow"
    script.write_text(WAITING)
    run = subprocess.Popen(
        [sys.executable, script, "--articles", target],
        env=clean_environment(PYTHONPATH=str(ROOT / "src")),
    )
    wait_for(lambda: target.parent.is_dir() and list(target.parent.iterdir()), seconds=30)
    run.terminate()
    assert run.wait(timeout=10) == 128 + signal.SIGTERM
    assert list(target.parent.iterdir()) == []
