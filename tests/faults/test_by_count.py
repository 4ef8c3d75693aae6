"""Fault injection by count: kills at seeded random moments of a run, of its steps, of trainings.

`make test-faults`: each test prints how often it struck and how often that was survived.
"""

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from tests.conftest import ROOT, SMOKE, clean_environment, copy_project, snakemake
from tests.faults.conftest import parts, results
from tests.processes import kill_all, start, wait_for, working_steps
from tests.workflow.conftest import ask

pytestmark = [pytest.mark.workflow, pytest.mark.faults]

# Some of each kind: downloads, text, topics, a pretrained model, trainings, tables and figures.
TARGETS = (
    *("decision_lists", "table_topics", "table_entropy_sweep", "table_initialisation"),
    "results/models/bart-here-0/model.safetensors",
)
COMMAND = ("--cores", "1", *SMOKE, "--", *TARGETS)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> SimpleNamespace:
    """A run of the targets that was left alone.

    Attributes:
        project: where.
        results: every result's bytes by path.
        seconds: how long it took.
    """
    project = copy_project(tmp_path_factory.mktemp("undisturbed") / "project")
    begun = time.monotonic()
    run = snakemake(project, *COMMAND)
    assert run.returncode == 0, run.stdout
    seconds = time.monotonic() - begun
    return SimpleNamespace(project=project, results=results(project), seconds=seconds)


def kill_the_run(run: subprocess.Popen, project: Path, _: np.random.Generator) -> str:
    """SIGKILL for Snakemake, its shells and its steps, all at once."""
    at_work = " ".join(working_steps(project)) or "no step"
    os.killpg(run.pid, signal.SIGKILL)
    kill_all(project)  # whoever left the group
    run.wait()
    return at_work


def terminate_a_step(run: subprocess.Popen, project: Path, chance: np.random.Generator) -> str:
    """SIGTERM for one step; Snakemake sees a failed job and ends."""
    step, pid = wait_for(lambda: _any_step(project, chance))
    os.kill(pid, signal.SIGTERM)
    run.wait(timeout=120)
    kill_all(project)
    return step


def _any_step(project: Path, chance: np.random.Generator) -> tuple[str, int] | None:
    steps = sorted(working_steps(project).items())
    return steps[chance.integers(len(steps))] if steps else None


def wrong_in(project: Path, expected: dict[str, bytes]) -> list[str]:
    """Results that are there and are not what an undisturbed run made."""
    found = results(project)
    shown = sorted(name for name in found if ".part-" not in name)
    return [name for name in shown if found[name] != expected.get(name)]


def struck(
    project: Path,
    undisturbed: SimpleNamespace,
    times: int,
    strike: Callable[[subprocess.Popen, Path, np.random.Generator], str],
    seed: int,
) -> list[str]:
    """Run the command again and again, strike each run, and say what was not survived.

    A strike is survived if all results that stand there have the bytes of an undisturbed run and
    the same command goes on. Where a run ends before it is struck, the next begins with nothing.
    """
    chance, failures, blows = np.random.default_rng(seed), [], 0
    log = project.parent / "run.log"
    while blows < times:
        # Twice a step of the way through, as it were, and Snakemake's start (seconds) on top.
        moment = chance.uniform(0.5, 6 + 2 * undisturbed.seconds / times)
        with open(log, "w") as output:
            run = start(project, *COMMAND, output=output)
            try:
                code = run.wait(timeout=moment)
            except subprocess.TimeoutExpired:
                at_work = strike(run, project, chance)
                blows += 1
                wrong = wrong_in(project, undisturbed.results)
                print(f"{blows}: {moment:.1f} s, {at_work}: {len(wrong)} wrong", flush=True)
                failures += [f"{at_work}: {wrong}"] if wrong else []
                continue
        if code:
            failures.append(f"the command did not go on: {log.read_text()[-2000:]}")
        if code or wrong_in(project, undisturbed.results):
            break
        shutil.rmtree(project / "results")
        shutil.rmtree(project / ".snakemake")
    last = snakemake(project, *COMMAND)
    if last.returncode:
        failures.append(last.stdout[-2000:])
    found = results(project)
    if missing := set(undisturbed.results) ^ set(found) or wrong_in(project, undisturbed.results):
        failures.append(f"at the end: {missing}")
    print(f"tried {blows}, survived {blows - min(len(failures), blows)}", flush=True)
    return failures if blows == times else [*failures, f"struck {blows} times, not {times}"]


def test_a_run_killed_at_twenty_random_moments_ends_with_the_same_bytes(undisturbed, tmp_path):
    project = copy_project(tmp_path / "project")
    print("\nkill -9 of the whole run")
    assert struck(project, undisturbed, 20, kill_the_run, seed=18) == []
    assert parts(project) == []


def test_a_run_whose_steps_are_terminated_ends_with_the_same_bytes(undisturbed, tmp_path):
    project = copy_project(tmp_path / "project")
    print("\nSIGTERM of a step")
    assert struck(project, undisturbed, 10, terminate_a_step, seed=19) == []
    assert parts(project) == []


# One of each kind that keeps its state.
TRAININGS = ("pretrain_model", "train_transformers", "train_decision_list_attention")
# The smoke overlay's trainings are too short to keep their state; here they do after every step,
# and wait for what comes.
KEEP_ALL = """
import runpy, sys, time
from onelayer.compute.checkpoint import Checkpoint

def keep(self, state, steps):
    self.write(state(), steps)
    time.sleep(0.1)

Checkpoint.write_if_due = keep
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


@pytest.fixture(scope="module")
def commands(undisturbed) -> dict[str, tuple[list[str], list[str]]]:
    """The command line of one job of each step that ran, and the files that it made, by step."""
    found = {}
    for job in ask(undisturbed.project, "config/smoke.yaml").steps:
        words = shlex.split(job.command)
        record = undisturbed.project / words[words.index("--record") + 1]
        if record.is_file():
            found[job.script] = words, list(json.loads(record.read_text())["outputs"])
    return found


def kept(folder: Path) -> dict[Path, int]:
    """Files in which trainings keep their state, and when they were written."""
    return {path: path.stat().st_mtime_ns for path in folder.rglob(".part-checkpoint-*[!w]")}


@pytest.mark.parametrize("step", TRAININGS)
def test_a_training_killed_in_the_middle_and_again_on_resume(step, undisturbed, commands, tmp_path):
    project = Path(shutil.copytree(undisturbed.project, tmp_path / "project", symlinks=True))
    command, made = commands[step]
    for name in made:
        (project / name).unlink()
    folder, blows = project / "results", 0

    def begin(*how: str) -> subprocess.Popen:
        return subprocess.Popen(
            [sys.executable, *how, *command[1:]],
            cwd=project,
            env=clean_environment(PYTHONPATH=str(ROOT / "src")),
            start_new_session=True,
        )

    while blows < 2:
        before, run = kept(folder), begin("-c", KEEP_ALL)
        wait_for(lambda run=run, before=before: run.poll() is not None or kept(folder) != before)
        assert run.poll() is None, "it ended before it was killed"
        os.killpg(run.pid, signal.SIGKILL)
        kill_all(project)
        run.wait()
        blows += 1
        assert kept(folder) and not [name for name in made if (project / name).exists()]
    last = begin().wait(timeout=600)
    wrong = wrong_in(project, undisturbed.results)
    held = last == 0 and set(results(project)) == set(undisturbed.results) and not wrong
    print(f"\n{step}, killed in training and on resume: tried {blows}, survived {blows * held}")
    assert (last, wrong) == (0, []) and held
