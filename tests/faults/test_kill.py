"""`kill -9` in the middle of any long step, then the same command: it completes, same bytes."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.conftest import ROOT, SMOKE, clean_environment, snakemake
from tests.processes import kill_all, processes_in, start, wait_for, wait_for_step

COMMAND = ("--cores", "2", *SMOKE)
LONG_STEPS = (
    "fetch_model",
    "count_words",
    "fit_lda",
    "pretrain_model",
    "init_random_model",
    "probe_attention",
    "measure_attention",
    "measure_embeddings",
    "measure_snapshots",
)


def outputs_of(finished: Path, step: str) -> list[str]:
    """Outputs of all jobs of a step, as their records name them."""
    records = (finished / "results" / "records" / step).rglob("*.json")
    return [name for record in records for name in json.loads(record.read_text())["outputs"]]


def results(project: Path) -> dict[str, bytes]:
    """Content of every result by path, but for how long steps took and what they logged."""
    folder = project / "results"
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.relative_to(folder).parts[0] not in ("benchmarks", "logs")
    }


def parts(project: Path) -> list[Path]:
    return list((project / "results").rglob(".part-*"))


@pytest.fixture(scope="module")
def battered(smoke_run: Path, tmp_path_factory: pytest.TempPathFactory) -> SimpleNamespace:
    """A project in which one command was killed in every long step and then run to its end.

    Only these steps and what hangs on them are still to be done: the rest would take minutes.

    Attributes:
        project: where.
        unfinished: for each step, its outputs that were there right after it was killed.
        last: the run that was left alone.
    """
    project = tmp_path_factory.mktemp("killed") / "project"
    shutil.copytree(smoke_run, project, symlinks=True)
    # What asks for the outputs of the long steps.
    for name in ("manifest.json", "index.md"):
        (project / "results" / name).unlink()
    for kind in ("tables", "figures"):
        shutil.rmtree(project / "results" / kind / "topic_structure")
    # And what asks for the topics: a finished step above them asks for nothing by itself.
    for step in (*LONG_STEPS, "filter_ambiguous_words"):
        for name in outputs_of(smoke_run, step):
            (project / name).unlink()
    unfinished: dict[str, list[str]] = {}
    while waiting := set(LONG_STEPS) - set(unfinished):
        run = start(project, *COMMAND)
        try:
            steps = wait_for_step(project, run, waiting)
            os.killpg(run.pid, signal.SIGKILL)
        finally:
            kill_all(project)
            run.wait()
        for step in steps:
            names = outputs_of(smoke_run, step)
            unfinished[step] = [name for name in names if (project / name).exists()]
    return SimpleNamespace(
        project=project, unfinished=unfinished, last=snakemake(project, *COMMAND)
    )


@pytest.mark.workflow
@pytest.mark.parametrize("step", LONG_STEPS)
def test_a_step_killed_midway_has_no_output(step, battered):
    assert battered.unfinished[step] == []


@pytest.mark.workflow
def test_the_same_command_completes_after_kills(battered):
    assert battered.last.returncode == 0, battered.last.stdout


@pytest.mark.workflow
def test_a_killed_run_ends_with_the_same_bytes(battered, smoke_run):
    found, expected = results(battered.project), results(smoke_run)
    assert set(found) == set(expected)
    assert [name for name in expected if found[name] != expected[name]] == []


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
    os.kill(step, signal.SIGCONT)
    wait_for(lambda: not processes_in(lda_missing))
    again = snakemake(lda_missing, *FIT)
    assert again.returncode == 0, again.stdout
    assert (lda_missing / TOPICS).read_bytes() == (smoke_run / TOPICS).read_bytes()
    assert parts(lda_missing) == []


@pytest.mark.workflow
def test_two_runs_at_once_are_still_refused(lda_missing):
    run = start(lda_missing, *FIT)
    step = wait_for_step(lda_missing, run, {"fit_lda"})["fit_lda"]
    os.kill(step, signal.SIGSTOP)
    second = snakemake(lda_missing, *FIT)
    assert second.returncode == 1
    assert "Directory cannot be locked" in second.stdout


WAITING = """
import time
from onelayer.settings.block import Block
from onelayer.step import run

def main(step):
    step.outputs.articles.write_text("half")
    while True:
        time.sleep(1)

run(main, settings=Block, outputs=["articles"])
"""


def test_a_terminated_step_leaves_no_output(tmp_path):
    script, target = tmp_path / "parse_articles.py", tmp_path / "out" / "articles.parquet"
    script.write_text(WAITING)
    run = subprocess.Popen(
        [sys.executable, script, "--articles", target],
        env=clean_environment(PYTHONPATH=str(ROOT / "src")),
    )
    wait_for(lambda: target.parent.is_dir() and list(target.parent.iterdir()), seconds=30)
    run.terminate()
    assert run.wait(timeout=10) == 128 + signal.SIGTERM
    assert list(target.parent.iterdir()) == []
