"""What the workflow tests share: plans read from dry-runs, and what Snakemake says of the code."""

import json
import re
import subprocess
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml
from snakemake.utils import update_config

from onelayer.report.crate.described import Described, read_metadata
from onelayer.report.crate.metadata import METADATA
from tests.conftest import ROOT, SMOKE, copy_project, run_command, snakemake
from tests.steps import forking

DOWNSTREAM = "input files updated by another job"
# Every table, figure and animation has a caption, which it may share with its like.
CAPTIONS = sorted(path.stem for path in (ROOT / "workflow/report").glob("*_*.rst"))
OVERLAYS = sorted(path.name for path in (ROOT / "config").glob("*.yaml"))


def _plans_anew(overlay: str) -> bool:
    """Whether an overlay has jobs of other kinds than the default.

    The others change numbers, or have more models that are pretrained here: those plan what
    config/smoke.yaml and config/reference.yaml do of such models.
    """
    config = yaml.safe_load((ROOT / "config" / overlay).read_text(encoding="utf-8"))
    models = merged_config(overlay)["models"]
    sources = {models[name]["source"] for name in config.pop("models", {})}
    return bool({"corpora", "stability"} & config.keys() or sources - {"pretrain"})


def merged_config(overlay: str | None) -> dict:
    """config.yaml with an overlay on top, as Snakemake merges them."""
    config = yaml.safe_load((ROOT / "config.yaml").read_text(encoding="utf-8"))
    if overlay:
        text = (ROOT / "config" / overlay).read_text(encoding="utf-8")
        update_config(config, yaml.safe_load(text))
    return config


PLANNED_ANEW = [name for name in OVERLAYS if _plans_anew(name)]


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


def jobs(output: str) -> dict[str, int]:
    """Number of jobs of each rule that a dry-run lists."""
    table = output.split("Job stats:")[1].split("total")[0]
    return {rule: int(count) for rule, count in re.findall(r"^(\w+) +(\d+)$", table, re.M)}


def plan(project: Path, *arguments: str) -> Plan:
    """Dry-run the smoke overlay; `arguments` follow it (further overlays, then `--`, targets)."""
    run = snakemake(project, "--dry-run", *SMOKE, *arguments)
    assert run.returncode == 0, run.stdout
    if "Nothing to be done" in run.stdout:
        return Plan({}, {})
    reasons, reason = defaultdict(set), ""
    for line in run.stdout.split("\nReasons:\n")[1].splitlines():
        if line.startswith(" " * 8):
            reasons[reason].update(line.strip().split(", "))
        elif line.startswith(" " * 4):
            reason = line.strip().rstrip(":")
    return Plan(jobs(run.stdout), dict(reasons))


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


class Answer:
    """What Snakemake says of a project without results, as `ask.py` asks it.

    Attributes:
        commands: shell command of every rule; a named target has none.
        jobs: all of them, with their rule, settings and what they ask for.
        results: every table, figure and animation, as declared.
    """

    def __init__(self, commands: dict, jobs: list, needs: list, results: list) -> None:
        self.commands: dict[str, str | None] = commands
        self.jobs = [SimpleNamespace(**job) for job in jobs]
        self.results = [SimpleNamespace(**result) for result in results]
        self._needs = needs

    @cached_property
    def steps(self) -> list[SimpleNamespace]:
        """The jobs that run something."""
        return [job for job in self.jobs if job.command]

    @property
    def targets(self) -> set[str]:
        """Named targets but `all`: of results, papers and parts of papers."""
        made = {result.target for result in self.results}
        rules = self.commands.items()
        return {name for name, command in rules if not command or name in made} - {"all"}

    @property
    def groups(self) -> dict[str, list[SimpleNamespace]]:
        """The results under the name of each paper and part of a paper."""
        found = defaultdict(list)
        for result in self.results:
            for group in result.groups:
                found[group].append(result)
        return found

    def below(self, target: str) -> set[int]:
        """The jobs that a named target plans, by place; its own where it computes."""
        [start] = (place for place, job in enumerate(self.jobs) if job.rule == target)
        found, waiting = {start} if self.jobs[start].command else set(), [start]
        while waiting:
            new = set(self._needs[waiting.pop()]) - found
            found |= new
            waiting += new
        return found

    def count(self, places: Iterable[int]) -> Counter[str]:
        """How many jobs of each rule these are."""
        return Counter(self.jobs[place].rule for place in places)


def ask(project: Path, *overlays: str | Path, paths: Iterable[str] = ()) -> Answer:
    """Ask Snakemake about a project under overlays, and about how it makes these paths."""
    command = (forking(), ROOT / "tests/workflow/ask.py", *overlays, "--", *paths)
    run = run_command(*command, folder=project, stderr=subprocess.PIPE)
    assert run.returncode == 0, run.stderr
    return Answer(**json.loads(run.stdout))


@pytest.fixture(scope="session")
def code(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the project without results, for dry-runs and questions. Do not change it."""
    return copy_project(tmp_path_factory.mktemp("code"))


@pytest.fixture(scope="session")
def answer(code: Path) -> Callable[[str], Answer]:
    """What Snakemake says under an overlay, asked once."""
    return cache(lambda overlay: ask(code, f"config/{overlay}"))


@pytest.fixture(scope="session")
def answers(answer: Callable[[str], Answer]) -> dict[str, Answer]:
    """What Snakemake says under each overlay that plans other jobs than the default."""
    return {name: answer(name) for name in PLANNED_ANEW}


@pytest.fixture(scope="session")
def smoke(answer: Callable[[str], Answer]) -> Answer:
    """What Snakemake says under the smoke overlay."""
    return answer("smoke.yaml")


@pytest.fixture(scope="session")
def crate(smoke_run: Path) -> Described:
    """What the finished smoke run says of itself."""
    return read_metadata(smoke_run / "results" / METADATA)
