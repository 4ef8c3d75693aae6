"""The line below Snakemake's log: on a terminal, and nowhere else."""

import os
import pty
import re
import subprocess
import sys

import pytest

from tests.conftest import SMOKE, clean_environment, snakemake

pytestmark = pytest.mark.workflow

RUN = ("--logger", "onelayer", "--cores", "1", *SMOKE, "--", "table_theorem_1")


def on_a_terminal(project, *arguments: str) -> str:
    """What a run writes to a terminal of 80 columns."""
    ours, theirs = pty.openpty()
    run = subprocess.Popen(
        [sys.executable, "-m", "snakemake", *arguments],
        cwd=project,
        env=clean_environment(PYTHONPATH=str(project / "src"), COLUMNS="80", TERM="xterm"),
        stdout=theirs,
        stderr=theirs,
    )
    os.close(theirs)
    written = b""
    try:
        while found := os.read(ours, 65536):
            written += found
    except OSError:  # how a terminal ends
        pass
    os.close(ours)
    assert run.wait() == 0, written.decode()
    return written.decode()


def test_a_terminal_shows_how_far_the_run_is_and_what_runs(fresh):
    before = on_a_terminal(fresh, *RUN)
    lines = re.findall(r"\r\x1b\[K(\d of \d jobs[^\r\n]*)", before)
    assert "0 of 2 jobs: solve_decision_lists" in lines
    assert not [line for line in lines if "left" in line or len(line) > 79]
    assert "2 of 2 steps (100%) done" in before

    # Once there are benchmarks, there is time left; both of these jobs have them.
    benchmark = fresh / "results/benchmarks/table_theorem_1.tsv"
    benchmark.write_text("s\n0\n")
    again = on_a_terminal(fresh, "--forceall", *RUN)
    assert "0 of 2 jobs, less than a minute left: solve_decision_lists" in again


def test_elsewhere_nothing_is_added_a_dry_run_says_why_and_a_failure_ends_in_its_line(fresh):
    run = snakemake(fresh, *RUN, PYTHONPATH=str(fresh / "src"))
    assert run.returncode == 0, run.stdout
    assert "2 of 2 steps (100%) done" in run.stdout
    assert "of 2 jobs" not in run.stdout and "\r" not in run.stdout
    few = fresh / "config/few.yaml"
    few.write_text("decision_lists: {theorem_1: {max_steps: 1}}\n")
    changed = (*RUN[:-2], str(few), *RUN[-2:])
    dry = snakemake(fresh, "--dry-run", *changed, PYTHONPATH=str(fresh / "src"))
    assert re.search(r"^ +theorem_1\.max_steps: \d+ -> 1$", dry.stdout, re.MULTILINE), dry.stdout
    run = snakemake(fresh, *changed, PYTHONPATH=str(fresh / "src"))
    error = r"solve_decision_lists: .* is not perfect within 1 steps"
    assert run.returncode == 1
    assert re.fullmatch(rf"{error}: see .*\.log", run.stdout.splitlines()[-1]), run.stdout
    assert len(re.findall(error, run.stdout)) == 2  # as it came, and last
