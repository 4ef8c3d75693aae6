"""Killed in the middle of a training, a run leaves nothing half-made, goes on, ends the same."""

import hashlib
import os
import re
import signal
import subprocess
import sys
import time

import pytest

from tests.conftest import ROOT, golden_arguments, snakemake

STEP = "train_two_stages"
TARGET = "results/tables/topic_structure/two_stage.csv"
WAIT = 120  # seconds, for a state that never comes


def started(folder):
    command = [sys.executable, "-m", "snakemake", TARGET, "--snakefile", str(ROOT / "Snakefile")]
    return subprocess.Popen(
        [*command, "--cores", "1", *golden_arguments(folder)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def outputs(folder):
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in (folder / "results").rglob("*")
        if path.is_file() and "logs" not in path.parts and "benchmarks" not in path.parts
    }


def states(folder):
    """Whole states of trainings; one that is being written does not count."""
    return [path for path in folder.rglob(".state-*") if path.suffix != ".new"]


def resumed_at(folder):
    log = folder / f"results/logs/{STEP}.log"
    return [int(n) for n in re.findall(r"going on from step (\d+)", log.read_text())]


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    assert snakemake(TARGET, *golden_arguments(folder), cores=1).returncode == 0
    return outputs(folder)


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_a_training_killed_in_the_middle_goes_on_to_the_same_bytes(
    tmp_path, finished, monkeypatch, how
):
    monkeypatch.setenv("ONELAYER_STATE_EVERY", "0.1")
    run, end = started(tmp_path), time.monotonic() + WAIT
    while not states(tmp_path) and time.monotonic() < end:
        time.sleep(0.02)
    if how == signal.SIGKILL:
        run.kill()  # of Snakemake alone: its job must notice
    else:
        os.killpg(run.pid, how)
    run.wait()
    time.sleep(1)
    assert states(tmp_path), "the training ended before it was killed"
    left = outputs(tmp_path)
    shown = {name for name in left if not name.rpartition("/")[2].startswith(".")}
    assert {name: left[name] for name in shown} == {name: finished[name] for name in shown}
    snakemake("--unlock", *golden_arguments(tmp_path), cores=1)
    done = snakemake(TARGET, *golden_arguments(tmp_path), cores=1)
    assert done.returncode == 0, done.stdout[-2000:]
    assert any(step > 0 for step in resumed_at(tmp_path))
    assert outputs(tmp_path) == finished
