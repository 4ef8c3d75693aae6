"""Files that other tools read say what they must, and the version is one everywhere."""

import re
import tomllib
from pathlib import Path

import pytest
import yaml

import onelayer
from tests.conftest import ROOT
from tests.workflow.browser import BROWSERS

FORMS = sorted(ROOT.glob(".github/ISSUE_TEMPLATE/*.yml"))
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")


def read(path: str | Path) -> dict:
    return yaml.safe_load((ROOT / path).read_text(encoding="utf-8"))


def project() -> dict:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def made_by(target: str) -> list[str]:
    """The commands of a target of the Makefile."""
    found = re.search(rf"^{target}:.*\n((?:\t.*\n)+)", MAKEFILE, re.M)
    assert found, target
    return [line.strip() for line in found[1].splitlines()]


def test_the_version_and_its_date_are_the_same_everywhere() -> None:
    version, citation = onelayer.__version__, read("CITATION.cff")
    assert str(citation["version"]) == version
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    newest, date = re.search(r"^## (\S+), (\S+)$", changes, re.M).groups()
    assert newest == version
    assert date == str(citation["date-released"])
    [tag] = re.findall(r'tag="v(.*?)"', (ROOT / "docs/overlays.md").read_text(encoding="utf-8"))
    assert tag == version


def test_a_citation_has_what_the_format_requires() -> None:
    citation = read("CITATION.cff")
    assert {"cff-version", "message", "title", "authors"} <= citation.keys()
    assert citation["license"] == project()["license"]


def test_the_checks_of_a_change_are_those_of_the_makefile_on_every_python() -> None:
    workflow = read(".github/workflows/ci.yml")
    jobs = workflow["jobs"].values()
    steps = [step for job in jobs for step in job["steps"]]
    commands = [step["run"].split() for step in steps if "run" in step]
    targets = {command[1] for command in commands if command[0] == "make"}
    assert targets == {"lint", "test", "audit"}
    assert {"command", "-v", *BROWSERS} in map(set, commands)
    assert all(made_by(target) for target in targets)
    for step in steps:
        assert "run" in step or re.fullmatch(r"[\w/-]+@v\d+\.\d+\.\d+", step["uses"])
    pythons = workflow["jobs"]["test"]["strategy"]["matrix"]["python"]
    assert pythons == ["3.11", "3.12", "3.13"]
    assert project()["requires-python"] == f">={pythons[0]}"
    assert workflow["permissions"] == {"contents": "read"}


def test_the_audit_asks_for_every_version_of_the_lock() -> None:
    [audit] = [line for line in made_by("audit") if "pip-audit " in line]
    assert audit.split()[1:3] == ["--requirement", "requirements.lock"]


def test_hooks_check_what_make_lint_checks_with_tools_of_the_environment() -> None:
    [local] = read(".pre-commit-config.yaml")["repos"]
    assert local["repo"] == "local"
    lint = made_by("lint")
    for hook in local["hooks"]:
        assert hook["language"] == "system"
        words = [word for word in hook["entry"].split() if word != "--force-exclude"]
        assert any(line.split()[: len(words)] == words for line in lint), hook["id"]
    checked = {"ruff check", "ruff format", "snakefmt --check", "onelayer schema"}
    assert {" ".join(hook["entry"].split()[:2]) for hook in local["hooks"]} == checked


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.stem)
def test_an_issue_form_has_what_the_format_requires(path) -> None:
    form = read(path)
    if path.stem == "config":
        assert form == {"blank_issues_enabled": True}
        return
    assert form["name"] and form["description"]
    names = [field["id"] for field in form["body"]]
    assert len(names) == len(set(names)) > 0
    for field in form["body"]:
        assert field["type"] in ("input", "textarea")
        assert field["attributes"]["label"]
    assert any(field.get("validations", {}).get("required") for field in form["body"])


def test_the_catalog_names_deployments_that_are_there() -> None:
    usage = read(".snakemake-workflow-catalog.yml")["usage"]
    assert usage["software-stack-deployment"]["conda"] is True
    assert (ROOT / "envs/onelayer.yaml").is_file()
    assert "conda:" in (ROOT / "workflow/rules/step.smk").read_text(encoding="utf-8")
    # Its container is a recipe to build, named by no rule.
    assert usage["software-stack-deployment"]["apptainer"] is False
    assert usage["report"] is True
    assert usage["mandatory-flags"]["desc"]
