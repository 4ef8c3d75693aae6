"""Killed at any moment, a run leaves no half-made output, goes on, and ends in the same bytes."""

import hashlib
import os
import signal
import subprocess
import sys
import time

import pytest

from tests.conftest import ROOT, golden_arguments, snakemake

TARGET = "results/tables/topic_structure/two_stage.csv"  # some seconds of training, with a state


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


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_a_killed_run_goes_on_to_the_same_bytes(tmp_path, how):
    whole, folder = tmp_path / "whole", tmp_path / "killed"
    assert snakemake(TARGET, *golden_arguments(whole), cores=1).returncode == 0
    finished = outputs(whole)
    for wait in (5, 8):
        run = started(folder)
        time.sleep(wait)
        if how == signal.SIGKILL:
            run.kill()  # of Snakemake alone: its job must notice
        else:
            os.killpg(run.pid, how)
        run.wait()
        time.sleep(1)
        left = outputs(folder) if (folder / "results").exists() else {}
        shown = {name for name in left if not name.rpartition("/")[2].startswith(".")}
        assert {name: left[name] for name in shown} == {name: finished[name] for name in shown}
        snakemake("--unlock", *golden_arguments(folder), cores=1)
    done = snakemake(TARGET, *golden_arguments(folder), cores=1)
    assert done.returncode == 0, done.stdout[-2000:]
    assert outputs(folder) == finished
