"""What the workflow tests share: plans read from dry-runs, and a copy of the code to ask about."""

import re
import subprocess
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml
from snakemake.utils import update_config

from tests.conftest import ROOT, SMOKE, copy_project, snakemake

DOWNSTREAM = "input files updated by another job"


@dataclass(frozen=True)
class Plan:
    """What a dry-run says would happen.

    Attributes:
        jobs: number of jobs of each rule.
        reasons: the rules under each of Snakemake's reasons.
    """

    jobs: dict[str, int]
    reasons: dict[str, set[str]]

    @property
    def rules(self) -> set[str]:
        """Every rule that would run."""
        return set(self.jobs)

    @property
    def triggered(self) -> set[str]:
        """Rules that would run for a reason of their own, not because others run before them."""
        return {
            rule for reason, rules in self.reasons.items() if reason != DOWNSTREAM for rule in rules
        }


def plan(project: Path, *arguments: str) -> Plan:
    """Dry-run the smoke overlay; `arguments` follow it (further overlays, then `--`, targets)."""
    run = snakemake(project, "--dry-run", *SMOKE, *arguments)
    assert run.returncode == 0, run.stdout
    if "Nothing to be done" in run.stdout:
        return Plan({}, {})
    table = run.stdout.split("Job stats:")[1].split("total")[0]
    jobs = {rule: int(count) for rule, count in re.findall(r"^(\w+) +(\d+)$", table, re.M)}
    reasons, reason = defaultdict(set), ""
    for line in run.stdout.split("\nReasons:\n")[1].splitlines():
        if line.startswith(" " * 8):
            reasons[reason].update(line.strip().split(", "))
        elif line.startswith(" " * 4):
            reason = line.strip().rstrip(":")
    return Plan(jobs, dict(reasons))


def merged_config(overlay: str | None) -> dict:
    """config.yaml with an overlay on top, as Snakemake merges them."""
    config = yaml.safe_load((ROOT / "config.yaml").read_text(encoding="utf-8"))
    if overlay:
        text = (ROOT / "config" / overlay).read_text(encoding="utf-8")
        update_config(config, yaml.safe_load(text))
    return config


def executed(output: str) -> set[str]:
    """The rules that a run finished."""
    return set(re.findall(r"^Finished jobid: \d+ \(Rule: (\w+)\)$", output, re.M))


def listed(run: subprocess.CompletedProcess) -> set[str]:
    """The rules that `--list-rules` or `--list-target-rules` printed."""
    assert run.returncode == 0, run.stdout
    return {line for line in run.stdout.splitlines() if re.fullmatch(r"[a-z_0-9]+", line)}


def products(project: Path) -> dict[str, bytes]:
    """Bytes of every file of every table, figure and animation, and of the index."""
    results = project / "results"
    kinds = ("tables", "figures", "animations")
    files = [path for kind in kinds for path in results.glob(f"{kind}/*/*")]
    files.append(results / "index.md")
    return {str(path.relative_to(project)): path.read_bytes() for path in sorted(files)}


@dataclass(frozen=True)
class JobGraph:
    """Which job needs which, of a project without results.

    Attributes:
        rule: of each job.
        needs: the jobs that each job needs at once.
    """

    rule: dict[str, str]
    needs: dict[str, set[str]]

    def below(self, target: str) -> Counter[str]:
        """Number of jobs of each rule that a named target plans, its own included."""
        (start,) = (job for job, rule in self.rule.items() if rule == target)
        found, waiting = {start}, [start]
        while waiting:
            new = self.needs[waiting.pop()] - found
            found |= new
            waiting += new
        return Counter(self.rule[job] for job in found)


def job_graph(project: Path, *targets: str) -> JobGraph:
    """The jobs of the smoke overlay that targets plan together, from Snakemake's own drawing."""
    run = snakemake(project, *SMOKE, "--quiet", "--dag", "dot", "--", *targets)
    assert run.returncode == 0, run.stdout
    rule = dict(re.findall(r'^\t(\d+)\[label = "(\w+)', run.stdout, re.M))
    needs = defaultdict(set)
    for needed, job in re.findall(r"^\t(\d+) -> (\d+)$", run.stdout, re.M):
        needs[job].add(needed)
    return JobGraph(rule, needs)


@pytest.fixture(scope="session")
def code(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the project without results, for dry-runs and questions. Do not change it."""
    return copy_project(tmp_path_factory.mktemp("code"))
