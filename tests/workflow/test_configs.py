"""Every configuration plans and validates; rules, pins and files keep the rules of the house."""

import json
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import jsonschema
import pytest
import yaml

from onelayer.evidence.declarations import read_declarations
from onelayer.run.allocation import gpus
from onelayer.run.portable import assignments
from onelayer.run.schema import PATH as SCHEMA
from onelayer.run.schema import schema_text
from onelayer.settings.root import load_settings
from tests.conftest import ROOT, snakemake
from tests.workflow.conftest import CAPTIONS, OVERLAYS, PLANNED_ANEW, ask, listed, merged_config

pytestmark = pytest.mark.workflow

# A file system that is nobody's: the checkpoints there are never read. And more than one thread.
FOLDER = """models:
  mine: {source: local, local: {path: /nowhere}}
  way: {source: series, folders: {9: /nowhere}}
probe: {attention: {threads: 3}, uncertainty: {threads: 2}}
"""
FROM_A_FOLDER = (
    "results/models/mine/config.json",
    "results/measures/vital-articles/way/snapshots.parquet",
    "results/measures/vital-articles/bert-here/snapshots.parquet",
)


@pytest.fixture(scope="module")
def steps(answers, code, tmp_path_factory):
    """The jobs of every overlay, and those that need a checkpoint or a series out of a folder."""
    overlay = tmp_path_factory.mktemp("folder") / "overlay.yaml"
    overlay.write_text(FOLDER)
    local = ask(code, overlay, paths=FROM_A_FOLDER)
    return [step for answer in (*answers.values(), local) for step in answer.steps]


def pins(text: str) -> list[str]:
    """Lines of a requirements file that are not comments."""
    return [line for line in text.splitlines() if line and not line.startswith("#")]


def test_the_default_plans_everything_with_the_default_profile(code):
    run = snakemake(code, "--dry-run")
    assert run.returncode == 0, run.stdout
    assert "write_index" in run.stdout
    assert "workflow specific profile profiles/default" in run.stdout


@pytest.mark.parametrize("overlay", PLANNED_ANEW)
def test_every_overlay_plans_everything(answers, overlay):
    planned = {job.rule for job in answers[overlay].jobs}
    assert {"write_index", "write_crate"} <= planned


@cache
def validator() -> jsonschema.Draft202012Validator:
    """What an editor checks a configuration with."""
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


@pytest.mark.parametrize("overlay", [None, *OVERLAYS])
def test_every_configuration_fits_the_schema(overlay):
    config = merged_config(overlay)
    validator().validate(config)
    load_settings(config)


def test_the_schema_knows_no_other_keys():
    config = merged_config(None)
    config["topics"]["lda"]["pases"] = 3
    with pytest.raises(jsonschema.ValidationError, match="pases"):
        validator().validate(config)


def test_the_schema_file_is_the_typed_settings():
    assert SCHEMA.read_text(encoding="utf-8") == schema_text()


def test_snakemake_finds_nothing_to_lint(code):
    run = snakemake(code, "--lint")
    assert run.returncode == 0, run.stdout


def test_every_caption_has_its_results_and_every_result_a_named_target(code, smoke):
    names = listed(snakemake(code, "--list-target-rules"))
    shown = {name for name in names if name.startswith(("table_", "figure_", "animation_"))}
    assert sorted({result.caption for result in smoke.results}) == CAPTIONS
    assert {result.target for result in smoke.results} == shown
    for result in smoke.results:
        assert result.target.startswith(result.caption)
    assert smoke.targets == shown | set(smoke.groups) | {"same_bytes"}
    assert {"all", *smoke.groups} <= names


def test_an_index_for_readers_names_every_target(smoke):
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    lines = [line for page in pages for line in page.read_text(encoding="utf-8").splitlines()]
    rows = "\n".join(line for line in lines if line.startswith("|"))
    named = set(re.findall(r"`((?:table|figure)_\w+)`", rows))
    assert named == {name for name in smoke.targets if name.startswith(("table_", "figure_"))}
    for group in smoke.groups:
        assert f"`{group}`" in rows


def test_every_script_has_its_rule_and_every_rule_its_script(smoke, steps):
    scripts = {path.stem for path in (ROOT / "scripts").glob("*.py")}
    assert {step.script for step in steps} == scripts
    declared = {declaration.rule: declaration for declaration in read_declarations()}
    for step in steps:
        command = step.command.removeprefix(assignments())
        assert command.startswith(f"python scripts/{step.script}.py ")
        if step.rule in declared:
            script, _, function = declared[step.rule].step.partition(":")
            assert step.script == script and f".py {function} " in command
        else:
            assert step.rule == step.script
    own = scripts - {"make_table", "make_figure"}
    assert {r for r, command in smoke.commands.items() if command} == own | {*declared}


def test_every_step_has_a_log_a_benchmark_an_environment_and_says_what_it_does(steps):
    for step in steps:
        [log] = step.log
        place = log.removeprefix(f"results/logs/{step.rule}").removesuffix(".log")
        assert step.benchmark == f"results/benchmarks/{step.rule}{place}.tsv"
        assert f"--record results/records/{step.rule}{place}.json " in step.command
        assert (ROOT / "workflow/rules" / step.environment).resolve().is_file(), step.rule
        assert len(step.message) > 10 and "\n" not in step.message, step.rule


def test_a_step_counts_gpus_if_its_settings_have_a_device(steps):
    def devices(settings: object) -> list[str]:
        if isinstance(settings, list):
            return [device for value in settings for device in devices(value)]
        if not isinstance(settings, dict):
            return []
        inside = [device for value in settings.values() for device in devices(value)]
        return [*inside, settings["device"]] if "device" in settings else inside

    assert {step.rule for step in steps if devices(step.settings)} > {"probe_attention"}
    for step in steps:
        found = devices(step.settings)
        wanted = max(map(gpus, found)) if found else None
        assert [asked["gpu"] for asked in step.asked] == [wanted, wanted], step.rule


def test_a_step_asks_for_more_memory_and_time_when_it_is_tried_again(steps):
    for step in steps:
        first, second = step.asked
        for name in ("mem_mb", "runtime"):
            assert second[name] == 2 * first[name] > 0, (step.rule, name)


def test_the_threads_of_a_step_are_those_of_its_settings(steps):
    several = {step.rule for step in steps if step.threads > 1}
    assert several >= {"probe_attention", "measure_attention", "measure_snapshots"}
    for step in steps:
        # A table may be told of a block that computed what it shows.
        inside = [] if step.script.startswith("make_") else step.settings.values()
        blocks = [step.settings, *(value for value in inside if isinstance(value, dict))]
        own = next((block["threads"] for block in blocks if "threads" in block), 1)
        assert step.threads == own, step.rule


def test_downloads_tables_and_figures_run_where_snakemake_runs_also_on_a_cluster(steps):
    for step in steps:
        near = ("fetch_", "table_", "figure_", "tabulate_", "write_")
        assert step.local == step.rule.startswith(near), step.rule


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


def test_the_oldest_snakemake_that_is_allowed_is_the_one_that_is_tested():
    lock = pins((ROOT / "requirements.lock").read_text(encoding="utf-8"))
    [version] = (line.split("==")[1] for line in lock if line.startswith("snakemake=="))
    major, minor, _ = version.split(".")
    snakefile = (ROOT / "Snakefile").read_text(encoding="utf-8")
    assert f'\nmin_version("{major}.{minor}")\n' in snakefile


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


def test_no_file_names_a_place_on_the_machine_it_was_written_on(code):
    places = ["..", "shared"], ["", "work", ""], ["", "root", ""], ["", "tmp", "w", ""]
    pattern = re.compile("|".join(rf"(?<![\w./-]){re.escape('/'.join(p))}" for p in places))
    for path in (p for p in code.rglob("*") if p.is_file() and ".snakemake" not in p.parts):
        found = pattern.search(path.read_text(encoding="utf-8", errors="ignore"))
        assert not found, f"{path.relative_to(code)}: {found[0]}"
