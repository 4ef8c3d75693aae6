"""This workflow as a module of another one, by a path and from a repository."""

import re
import subprocess
from pathlib import Path

import pytest
import yaml

from tests.conftest import ROOT, SMOKE, copy_project, snakemake
from tests.workflow.conftest import jobs, listed, plan

pytestmark = pytest.mark.workflow

TABLE = "results/tables/scan_snap/entropy_sweep.csv"
[SNIPPET] = re.findall(
    r"^```python\n(module onelayer:.*?)^```$",
    (ROOT / "docs/overlays.md").read_text(encoding="utf-8"),
    re.M | re.S,
)
PATH = '"/path/to/onelayer/Snakefile"'


def write_outer(folder: Path, snakefile: str, **settings: object) -> Path:
    """Another workflow, as the documentation shows it, with this one as its module."""
    folder.mkdir()
    assert PATH in SNIPPET
    text = SNIPPET.replace(PATH, snakefile)
    (folder / "Snakefile").write_text(f'configfile: "config.yaml"\n{text}')
    (folder / "config.yaml").write_text(yaml.safe_dump({"onelayer": settings}))
    return folder


@pytest.fixture(scope="module")
def smoke_settings() -> dict:
    return yaml.safe_load((ROOT / SMOKE[1]).read_text(encoding="utf-8"))


@pytest.fixture
def outer(code, tmp_path, smoke_settings) -> Path:
    """Another workflow with the smoke settings in its own configuration."""
    return write_outer(tmp_path / "outer", repr(str(code / "Snakefile")), **smoke_settings)


def test_a_module_plans_what_the_workflow_plans(outer, code):
    run = snakemake(outer, "--dry-run", "onelayer_all")
    assert run.returncode == 0, run.stdout
    assert jobs(run.stdout) == {f"onelayer_{rule}": n for rule, n in plan(code).jobs.items()}


def test_a_module_makes_the_same_table_below_its_prefix(outer, code, tmp_path):
    run = snakemake(outer, "--cores", "1", PYTHONPATH="/nowhere/of/theirs")
    assert run.returncode == 0, run.stdout
    assert (outer / "summary.txt").read_text().endswith(f"topics/{TABLE}\n")
    assert not (outer / "results").exists()
    again = snakemake(outer, "--cores", "1")
    assert "Nothing to be done" in again.stdout, again.stdout
    alone = ("--snakefile", str(code / "Snakefile"), "--directory", str(tmp_path / "alone"))
    overlay = ("--configfile", str(code / SMOKE[1]))
    run = snakemake(tmp_path, "--cores", "1", *alone, *overlay, "--", "table_entropy_sweep")
    assert run.returncode == 0, run.stdout
    made = (outer / "topics" / TABLE).read_bytes()
    assert made == (tmp_path / "alone" / TABLE).read_bytes()


def test_a_module_comes_from_a_repository(tmp_path, smoke_settings):
    repository = copy_project(tmp_path / "repository")
    own = ["-c", "user.name=test", "-c", "user.email=test@test"]
    for words in (["init"], ["add", "."], [*own, "commit", "-m", "one"], ["tag", "v0.2.0"]):
        subprocess.run(["git", *words], cwd=repository, check=True, capture_output=True)
    place = 'github("owner/onelayer", path="Snakefile", tag="v0.2.0")'
    assert place in " ".join((ROOT / "docs/overlays.md").read_text(encoding="utf-8").split())
    outer = write_outer(tmp_path / "outer", place, **smoke_settings)
    # The address of the hosting service leads to the folder; nothing leaves this machine.
    git = {
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": f"url.{repository.as_uri()}.insteadOf",
        "GIT_CONFIG_VALUE_0": "https://github.com/owner/onelayer",
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
    }
    run = snakemake(outer, "--cores", "1", **git)
    assert run.returncode == 0, run.stdout
    assert (outer / "topics" / TABLE).is_file()
    [checkout] = (outer / ".snakemake/onelayer").iterdir()
    assert (checkout / "Snakefile").is_file()
    again = snakemake(outer, "--cores", "1", **git)
    assert "Nothing to be done" in again.stdout, again.stdout


def test_a_module_without_config_has_the_default(outer):
    snakefile = outer / "Snakefile"
    text = snakefile.read_text()
    assert '    config:\n        config["onelayer"]\n' in text
    snakefile.write_text(text.replace('    config:\n        config["onelayer"]\n', ""))
    run = snakemake(outer, "--dry-run", "onelayer_table_entropy_sweep")
    assert run.returncode == 0, run.stdout
    assert "onelayer_simulate_scan_snap" in run.stdout


def test_other_rules_keep_their_search_path_and_their_lock(outer, code):
    with open(outer / "Snakefile", "a") as snakefile:
        snakefile.write('rule path:\n    output: "path"\n    shell: "echo $PYTHONPATH > path"\n')
    run = snakemake(outer, "--cores", "1", "path", PYTHONPATH="/nowhere/of/theirs")
    assert run.returncode == 0, run.stdout
    assert (outer / "path").read_text() == f"{code / 'src'}:/nowhere/of/theirs\n"
    (outer / "path").unlink()
    (outer / ".snakemake/locks").mkdir()
    (outer / ".snakemake/locks/0.output.lock").write_text("path\n")
    run = snakemake(outer, "--cores", "1", "path")
    assert run.returncode == 1 and "LockException" in run.stdout


@pytest.mark.parametrize(
    ("settings", "line"),
    [
        ({}, "config: the module has an empty configuration; give it the keys of config.yaml"),
        ({"scan_snip": {}}, "config: (top level): unknown key 'scan_snip'"),
        ({"topics": {"lda": {"topics": 0}}}, "config: topics.lda.topics: input should be"),
    ],
)
def test_a_module_with_a_wrong_configuration_is_refused_in_one_line(code, tmp_path, settings, line):
    outer = write_outer(tmp_path / "outer", repr(str(code / "Snakefile")), **settings)
    run = snakemake(outer, "--dry-run")
    assert run.returncode == 1
    assert "Traceback" not in run.stdout
    said = [text for text in run.stdout.splitlines() if text.startswith("config: ")]
    assert len(said) == 1 and said[0].startswith(line), run.stdout


def test_every_rule_and_target_of_a_module_has_its_name(outer, code):
    alone = listed(snakemake(code, "--list-target-rules", *SMOKE))
    outside = listed(snakemake(outer, "--list-target-rules"))
    assert outside == {f"onelayer_{name}" for name in alone} | {"summary"}
