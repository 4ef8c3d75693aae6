"""The smoke overlay on a real Slurm: the same results, every step a job, and what goes wrong."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.cluster.slurm import Slurm
from tests.conftest import SMOKE, check_in, run_command, snakemake
from tests.processes import kill_all, processes_in, start, wait_for
from tests.workflow.conftest import ask, products

pytestmark = pytest.mark.workflow

# The plugin waits this long before it first asks for a job, and 10 s longer each time that none
# has ended. Five lost queries in a row hang it for good, so every run here has a time limit.
CLUSTER = ("--profile", "workflow/profiles/slurm", "--slurm-init-seconds-before-status-checks", "2")
TABLE = "results/tables/topic_structure/corpora"
ONELAYER = (sys.executable, "-m", "onelayer")


def submitted(output: str) -> int:
    """How many jobs went to Slurm."""
    return len(re.findall(r"has been submitted with SLURM jobid \d+", output))


def rules_of(jobs: list[dict[str, str]]) -> set[str]:
    """The rules that Slurm jobs name in their comments."""
    return {re.sub(r"^rule_|_wildcards_.*$", "", job["rule"]) for job in jobs}


def test_one_table_through_slurm_is_the_local_one(slurm, fresh, smoke_run):
    run = snakemake(
        fresh, *CLUSTER, *SMOKE, "--", "table_corpora", timeout=180, **slurm.environment
    )
    assert run.returncode == 0, run.stdout
    jobs = [job for job in slurm.jobs() if job["folder"] == str(fresh)]
    assert [job["state"] for job in jobs] == ["COMPLETED"] * 2
    assert rules_of(jobs) == {"parse_articles"}
    assert {(job["mem"], job["cpus"], job["minutes"]) for job in jobs} == {
        ("1000M", "1", "1:00:00")
    }
    for kind in ("csv", "md", "tex", "html"):
        table = f"{TABLE}.{kind}"
        assert (fresh / table).read_bytes() == (smoke_run / table).read_bytes()
    options = ("--yes", "--no-install", "--cores", "2")
    again = run_command(
        *ONELAYER, "again", archive_of(fresh), "table_corpora", *options, folder=fresh
    )
    assert again.stdout.splitlines()[-1].startswith("The same bytes: 4 files"), again.stdout


@pytest.fixture(scope="module")
def slurm_run(slurm: Slurm, smoke_run: Path, tmp_path_factory) -> SimpleNamespace:
    """A project in which the smoke overlay ran once on Slurm; not to be changed.

    Attributes:
        project: where.
        output: what Snakemake said.
        jobs: the Slurm jobs.
    """
    project = tmp_path_factory.mktemp("slurm") / "project"
    kept = shutil.ignore_patterns("results", ".snakemake")
    shutil.copytree(smoke_run, project, symlinks=True, ignore=kept)
    run = snakemake(project, *CLUSTER, *SMOKE, timeout=900, **slurm.environment)
    assert run.returncode == 0, run.stdout
    jobs = [job for job in slurm.jobs() if job["folder"] == str(project)]
    return SimpleNamespace(project=project, output=run.stdout, jobs=jobs)


@pytest.mark.slurm
def test_every_step_that_is_not_local_was_a_slurm_job(slurm_run):
    steps = ask(slurm_run.project, "config/smoke.yaml").steps
    assert rules_of(slurm_run.jobs) == {step.rule for step in steps if not step.local}
    assert {job["state"] for job in slurm_run.jobs} == {"COMPLETED"}
    assert submitted(slurm_run.output) == len(slurm_run.jobs)


@pytest.mark.slurm
def test_slurm_and_one_machine_give_the_same_bytes(slurm_run, smoke_run):
    on_slurm, here = products(slurm_run.project), products(smoke_run)
    assert on_slurm.keys() == here.keys()
    assert [path for path in here if on_slurm[path] != here[path]] == []


@pytest.mark.slurm
@pytest.mark.parametrize("where", ["on Slurm", "here"])
def test_a_second_run_repeats_nothing(where, slurm_run, slurm):
    how = (*CLUSTER, *SMOKE) if where == "on Slurm" else ("--cores", "2", *SMOKE)
    run = snakemake(slurm_run.project, *how, timeout=120, **slurm.environment)
    assert run.returncode == 0, run.stdout
    assert "Nothing to be done" in run.stdout
    assert submitted(run.stdout) == 0


@pytest.mark.slurm
def test_a_run_on_slurm_packs_and_its_archive_holds(project):
    archive_of(project)


def archive_of(project: Path) -> str:
    """Pack a finished run as its user would, and verify the archive; its path."""
    check_in(project)
    source = {"PYTHONPATH": str(project / "src")}
    packed = run_command(*ONELAYER, "pack", "results", folder=project, **source)
    assert packed.returncode == 0, packed.stdout
    archive = packed.stdout.splitlines()[-1]
    verified = run_command(*ONELAYER, "verify", archive, folder=project, **source)
    assert verified.returncode == 0, verified.stdout
    assert "hold" in verified.stdout
    return archive


@pytest.fixture
def project(slurm_run: SimpleNamespace, tmp_path: Path) -> Iterator[Path]:
    """A copy of the finished run that a test may change; whatever it leaves running is ended."""
    copy = Path(shutil.copytree(slurm_run.project, tmp_path / "project", symlinks=True))
    yield copy
    kill_all(copy)


def edit_rule(project: Path, file: str, rule: str, old: str, new: str) -> None:
    """Change what one rule asks for."""
    path = project / "workflow/rules" / file
    before, head, after = path.read_text().partition(f'    "{rule}/')
    assert old in after
    path.write_text(before + head + after.replace(old, new, 1))


def step_with_log(project: Path, log: str) -> int | None:
    """Process id of the step that writes this log, once it runs."""
    found = (pid for pid, line in processes_in(project).items() if log in line)
    return next(found, None)


def suspend(project: Path, run: subprocess.Popen, log: str) -> int:
    """Wait until the step that writes this log runs, and make it run for ever."""

    def at_work() -> int | None:
        assert run.poll() is None, "Snakemake ended"
        return step_with_log(project, log)

    pid = wait_for(at_work)
    os.kill(pid, signal.SIGSTOP)
    return pid


def jobs_of(slurm: Slurm, project: Path) -> dict[str, list[dict[str, str]]]:
    """The Slurm jobs of a project, oldest first, under the names of their rules."""
    found: dict[str, list[dict[str, str]]] = {}
    for job in slurm.jobs():
        if job["folder"] == str(project):
            [rule] = rules_of([job])
            found.setdefault(rule, []).append(job)
    return found


def kill_the_controller_for_seconds(slurm: Slurm) -> None:
    """`kill -9` the controller and start it again.

    It saves its state within five seconds; a younger job would be lost with it, which no client
    can make good. So this waits until no job has come or gone for longer than that.
    """
    before: list | None = None
    while before != (before := slurm.jobs()):
        time.sleep(6)
    slurm.kill_controller()
    time.sleep(4)
    slurm.start_controller()


@pytest.mark.slurm
def test_a_run_gets_over_memory_walltime_scancel_and_a_killed_controller(
    project, slurm, smoke_run, tmp_path
):
    # Too little memory at the first attempt and enough at a later one.
    edit_rule(project, "models.smk", "init_random_model", "(2000,", "(400,")
    edit_rule(project, "probe.smk", "measure_attention", "(1500, 10)", "(1500, 1)")
    targets = [
        "results/models/random-0/model.safetensors",
        "results/measures/vital-articles/minilm/attention.parquet",
        "results/corpus/dump-excerpt/articles.arrow",
    ]
    for target in targets:
        (project / target).unlink()
    log = tmp_path / "output"
    with open(log, "wb") as output:
        command = (*CLUSTER, *SMOKE, "--", *targets)
        run = start(project, *command, output=output, **slurm.environment)
        suspend(project, run, "results/logs/parse_articles/dump-excerpt.log")
        [parsing] = jobs_of(slurm, project)["parse_articles"]
        slurm.ask("scancel", parsing["id"])
        suspend(project, run, "results/logs/measure_attention/vital-articles/minilm.log")
        kill_the_controller_for_seconds(slurm)
        assert run.wait(timeout=400) == 0, log.read_text()
    jobs = jobs_of(slurm, project)
    asked = {rule: [(job["mem"], job["minutes"]) for job in jobs[rule]] for rule in jobs}
    assert asked == {
        "init_random_model": [("400M", "10:00"), ("800M", "20:00")],
        "measure_attention": [("1500M", "1:00"), ("3000M", "2:00")],
        "parse_articles": [("1000M", "10:00"), ("2000M", "20:00")],
    }
    assert {rule: [job["state"] for job in jobs[rule]] for rule in jobs} == {
        "init_random_model": ["FAILED", "COMPLETED"],
        "measure_attention": ["TIMEOUT", "COMPLETED"],
        "parse_articles": ["CANCELLED", "COMPLETED"],
    }
    for state in ("FAILED", "TIMEOUT", "CANCELLED"):
        assert f"SLURM status is: '{state}'" in log.read_text()
    for target in targets:
        assert (project / target).read_bytes() == (smoke_run / target).read_bytes()


@pytest.mark.slurm
def test_cuda_asks_slurm_for_a_gpu_and_a_failing_step_says_why(project, slurm):
    (project / "cuda.yaml").write_text("probe: {attention: {device: cuda}}\n")
    target = "results/probe/vital-articles/minilm/attention_by_head.parquet"
    run = snakemake(
        project,
        *CLUSTER,
        *("--retries", "0", *SMOKE, "cuda.yaml", "--", target),
        timeout=180,
        CUDA_VISIBLE_DEVICES="",  # a step that finds no GPU fails
        **slurm.environment,
    )
    assert run.returncode == 1
    assert "device: cuda was asked for, but torch sees no GPU" in run.stdout
    [job] = (job for job in slurm.jobs() if job["folder"] == str(project))
    assert job["state"] == "FAILED"
    assert "gres:gpu:1" in slurm.ask("scontrol", "show", "job", job["id"])
