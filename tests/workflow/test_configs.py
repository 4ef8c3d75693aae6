"""Every configuration plans and validates; rules, pins and files keep the rules of the house."""

import ast
import importlib
import json
import re
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest
import yaml

from onelayer.allocation import gpus, growing
from onelayer.settings.block import Block
from onelayer.settings.schema import PATH as SCHEMA
from onelayer.settings.schema import schema_text
from tests.conftest import ROOT, clean_environment, snakemake
from tests.workflow.conftest import listed, merged_config
from tests.workflow.rooms import NEEDS, TOGETHER

pytestmark = pytest.mark.workflow

OVERLAYS = sorted(path.name for path in (ROOT / "config").glob("*.yaml"))
RULE_FILES = sorted((ROOT / "workflow/rules").glob("*.smk"))
# A rule whose only output is its exit status always runs: it caches nothing; rule -> script.
CHECKS = {"verify": "verify_results"}


def rules() -> dict[str, str]:
    """The text of every rule of the workflow, by name."""
    texts = [path.read_text(encoding="utf-8") for path in [ROOT / "Snakefile", *RULE_FILES]]
    blocks = re.findall(r"^rule (\w+):\n((?:(?: {4}.*)?\n)+)", "\n".join(texts), re.M)
    return dict(blocks)


def pins(text: str) -> list[str]:
    """Lines of a requirements file that are not comments."""
    return [line for line in text.splitlines() if line and not line.startswith("#")]


def test_the_default_plans_everything(code):
    run = snakemake(code, "--dry-run")
    assert run.returncode == 0, run.stdout
    assert "write_index" in run.stdout


def test_the_default_profile_is_loaded_by_itself(code):
    assert "workflow specific profile profiles/default" in snakemake(code, "--dry-run").stdout


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_every_overlay_plans_everything(code, overlay):
    run = snakemake(code, "--dry-run", "--configfile", f"config/{overlay}")
    assert run.returncode == 0, run.stdout
    assert "write_index" in run.stdout


@pytest.mark.parametrize("overlay", [None, *OVERLAYS])
def test_every_configuration_fits_the_schema(overlay):
    schema = yaml.safe_load(SCHEMA.read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(merged_config(overlay), schema, jsonschema.Draft202012Validator)


def test_the_schema_knows_no_other_keys():
    schema = yaml.safe_load(SCHEMA.read_text(encoding="utf-8"))
    config = merged_config(None)
    config["topics"]["lda"]["pases"] = 3
    with pytest.raises(jsonschema.ValidationError, match="pases"):
        jsonschema.validate(config, schema, jsonschema.Draft202012Validator)


def test_the_schema_file_is_the_typed_settings():
    assert SCHEMA.read_text(encoding="utf-8") == schema_text()


def test_snakemake_finds_nothing_to_lint(code):
    run = snakemake(code, "--lint")
    assert run.returncode == 0, run.stdout


def test_rules_are_formatted():
    run = subprocess.run(
        [sys.executable, "-m", "snakefmt", "--check", "Snakefile", "workflow"],
        cwd=ROOT,
        env=clean_environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr


def test_every_table_and_figure_has_a_named_target(code):
    names = listed(snakemake(code, "--list-target-rules"))
    shown = "".join(rules().values())
    tables = re.findall(r'csv="results/tables/(\w+)/(\w+)\.csv"', shown)
    # Every paper has claims: their target says whose.
    tables = {f"{paper}_{name}" if name == "claims" else name for paper, name in tables}
    figures = set(re.findall(r'pdf="results/figures/\w+/(\w+)\.pdf"', shown))
    assert tables and figures
    expected = {f"table_{name}" for name in tables} | {f"figure_{name}" for name in figures}
    expected |= {"table_wikipedia_disjoint", "table_wikipedia_overlapping"}
    named = {name for name in names if name.startswith(("table_", "figure_"))}
    assert named == expected
    assert {"all", "verify", *NEEDS, *TOGETHER} <= names


def test_the_readme_index_names_every_target(code):
    names = listed(snakemake(code, "--list-target-rules"))
    targets = {name for name in names if name.startswith(("table_", "figure_"))}
    readme = (code / "README.md").read_text(encoding="utf-8")
    rows = [line for line in readme.splitlines() if line.startswith("|")]
    assert set(re.findall(r"`((?:table|figure)_\w+)`", "\n".join(rows))) == targets
    for paper in (*NEEDS, *TOGETHER):
        assert any(f"`{paper}`" in row for row in rows), paper


def test_every_compute_rule_declares_what_a_step_needs():
    compute = {name: text for name, text in rules().items() if "    shell:\n" in text}
    assert len(compute) > 20
    for name, text in compute.items():
        step = CHECKS.get(name, name)
        wanted = {"log", "message", "conda"}
        if name not in CHECKS:
            wanted |= {"input", "output", "benchmark", "threads", "resources", "params"}
            assert f'code=code_closure("{step}")' in text, name
            assert f'libraries=library_versions("{step}")' in text, name
            # Measured at the first attempt, and more of it at every later one.
            assert re.search(r"mem_mb=growing\(.+\),\n +runtime=growing\(.+\),", text), name
        assert wanted <= set(re.findall(r"^ {4}(\w+):", text, re.M)), name
        assert f'"python scripts/{step}.py' in text, name


def settings_block(step: str) -> type[Block]:
    """The settings that a script hands to `run`."""
    tree = ast.parse((ROOT / "scripts" / f"{step}.py").read_text(encoding="utf-8"))
    calls = [n for n in ast.walk(tree) if isinstance(n, ast.Call)]
    [name] = [k.value.id for c in calls for k in c.keywords if k.arg == "settings"]
    origins = [n for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)]
    modules = [n.module for n in origins if name in [alias.name for alias in n.names]]
    # A block that the script itself defines comes without a module: it holds captions, not devices.
    return getattr(importlib.import_module(modules[0]), name) if modules else Block


def test_a_rule_counts_gpus_if_its_settings_have_a_device():
    compute = {name for name, text in rules().items() if "    shell:\n" in text}
    with_device = {
        name
        for name in compute - set(CHECKS)
        if '"device"' in json.dumps(settings_block(name).model_json_schema())
    }
    assert "probe_attention" in with_device
    assert with_device == {
        name for name, text in rules().items() if re.search(r" gpu=.*gpus\(", text)
    }


def test_a_retry_asks_for_more_and_only_cuda_for_a_gpu():
    assert [growing(500)(None, attempt=attempt) for attempt in (1, 2, 3)] == [500, 1000, 1500]
    assert [gpus(device) for device in ("cpu", "auto", "cuda")] == [0, 0, 1]


def test_the_default_profile_overrides_nothing_of_the_slurm_profile():
    # Snakemake reads both, and the default one goes first.
    default, slurm = (
        yaml.safe_load((ROOT / f"workflow/profiles/{name}/config.yaml").read_text())
        for name in ("default", "slurm")
    )
    assert {key: default[key] for key in default.keys() & slurm} == {
        key: slurm[key] for key in default.keys() & slurm
    }


def test_the_slurm_profile_plans_everything(code):
    run = snakemake(code, "--profile", "workflow/profiles/slurm", "--dry-run")
    assert run.returncode == 0, run.stdout
    assert "write_index" in run.stdout


def test_every_script_has_its_rule_and_every_rule_its_script():
    compute = {name for name, text in rules().items() if "    shell:\n" in text}
    scripts = {path.stem for path in (ROOT / "scripts").glob("*.py")}
    assert scripts == {CHECKS.get(name, name) for name in compute}


def test_the_thread_count_of_a_rule_is_never_that_of_the_machine():
    for name, text in rules().items():
        assert "workflow.cores" not in text and "{threads}" not in text, name


def test_the_conda_environment_has_the_pins_of_the_lock():
    environment = yaml.safe_load((ROOT / "envs/onelayer.yaml").read_text(encoding="utf-8"))
    pip = next(item["pip"] for item in environment["dependencies"] if isinstance(item, dict))
    assert pip == pins((ROOT / "requirements.lock").read_text(encoding="utf-8"))


@pytest.mark.parametrize("definition", ["Dockerfile", "onelayer.def"])
def test_a_container_has_the_python_of_the_conda_environment_and_the_lock(definition):
    text = (ROOT / "envs" / definition).read_text(encoding="utf-8")
    environment = yaml.safe_load((ROOT / "envs/onelayer.yaml").read_text(encoding="utf-8"))
    [python] = re.findall(r"^From:? python:(3\.\d+)-", text, re.M | re.I)
    assert f"python={python}" in environment["dependencies"]
    [installed] = re.findall(r"pip install .*--requirement (\S+)$", text, re.M)
    assert re.search(rf"requirements\.lock {installed}$", text, re.M)


def test_hadolint_finds_nothing_in_the_dockerfile():
    hadolint = Path(sys.executable).parent / "hadolint"
    run = subprocess.run(
        [hadolint, "envs/Dockerfile"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stdout + run.stderr


def test_the_apptainer_definition_has_the_sections_that_it_needs():
    text = (ROOT / "envs/onelayer.def").read_text(encoding="utf-8")
    header, *sections = re.split(r"^%(?=\w)", text, flags=re.M)
    assert re.findall(r"^(\w+): \S+$", header, re.M) == ["Bootstrap", "From"]
    scripts = {name: body for name, _, body in (s.partition("\n") for s in sections)}
    assert set(scripts) == {"files", "post", "runscript"}
    for name in ("post", "runscript"):
        run = subprocess.run(["sh", "-n"], input=scripts[name], text=True, check=False)
        assert run.returncode == 0, name


def test_the_lock_pins_versions_and_nothing_else():
    lines = pins((ROOT / "requirements.lock").read_text(encoding="utf-8"))
    assert all(re.fullmatch(r"[\w.-]+==[\w.]+", line) for line in lines)
    assert "torch==2.13.0" in lines
    assert not [line for line in lines if re.match(r"(?i)nvidia|cuda|triton", line)]
    assert len(lines) == len({line.split("==")[0].lower().replace("_", "-") for line in lines})


def test_the_lock_covers_every_requirement():
    def name(requirement: str) -> str:
        return re.match(r"[\w.-]+", requirement)[0].lower().replace("_", "-")

    lock = pins((ROOT / "requirements.lock").read_text(encoding="utf-8"))
    locked = {name(line): line.split("==")[1] for line in lock}
    for line in pins((ROOT / "requirements.in").read_text(encoding="utf-8")):
        wanted = line.partition("==")[2].removesuffix("*")
        assert locked[name(line)].startswith(wanted), line


def test_no_file_names_a_place_on_the_machine_it_was_written_on(code):
    places = ["..", "shared"], ["", "work", ""], ["", "root", ""], ["", "tmp", "w", ""]
    pattern = re.compile("|".join(rf"(?<![\w./-]){re.escape('/'.join(p))}" for p in places))
    for path in (p for p in code.rglob("*") if p.is_file() and ".snakemake" not in p.parts):
        found = pattern.search(path.read_text(encoding="utf-8", errors="ignore"))
        assert not found, f"{path.relative_to(code)}: {found[0]}"
