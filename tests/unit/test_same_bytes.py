"""Sums of a run beside those that are kept: equal, or the first step that differs."""

import copy
import json
import os
from pathlib import Path

import pytest
import yaml
from snakemake.utils import update_config

from onelayer.errors import OnelayerError
from onelayer.report.comparison import REFERENCE, SUMS, to_the_byte
from onelayer.report.reference import judged_sums
from onelayer.report.same_bytes import compare_sums, in_order, main, sums_of
from onelayer.run.portable import SWITCHES
from onelayer.run.provenance import REPOSITORY, file_sha256
from onelayer.settings.root import load_settings

STEPS = {
    "a_table": ({"results/m/model.safetensors": ""}, "results/tables/p/t.csv"),
    "fetch": ({}, "results/text.parquet"),
    "train x": ({"results/text.parquet": ""}, "results/m/model.safetensors"),
}


@pytest.fixture
def run(tmp_path) -> Path:
    """The folder `results` of a portable run of three steps, the last first by name."""
    for name, (inputs, output) in STEPS.items():
        record = {"step": name, "code": f"code of {name}", "portable": True, "inputs": inputs}
        path = tmp_path / "results/records" / (name.replace(" ", "/") + ".json")
        path.parent.mkdir(parents=True, exist_ok=True)
        made = tmp_path / output
        made.parent.mkdir(parents=True, exist_ok=True)
        made.write_text(name)
        path.write_text(json.dumps(record | {"outputs": {output: file_sha256(made)}}))
    return tmp_path / "results"


def changed(sums: dict, *outputs: str, **of_step: str) -> dict:
    other = copy.deepcopy(sums)
    for step in other["steps"]:
        for path in step["outputs"]:
            if path in outputs:
                step["outputs"][path] = "another"
                step.update(of_step)
    return other


def test_sums_are_those_of_all_steps_in_the_order_of_the_workflow(run):
    sums = sums_of(run)
    assert [step["name"] for step in sums["steps"]] == ["fetch", "train x", "a_table"]
    weights = "results/m/model.safetensors"
    assert sums["steps"][1]["outputs"] == {weights: file_sha256(run.parent / weights)}
    assert sums["switches"] == dict(SWITCHES)
    assert {"cpu", "libraries", "libc"} <= set(sums["machine"])


def test_a_step_that_reads_what_it_wrote_before_is_placed_once():
    records = {"a": {"inputs": {"x": ""}, "outputs": {"x": ""}}}
    assert list(in_order(records)) == ["a"]


def test_a_step_whose_files_another_made_since_counts_no_more(run):
    """A step that was renamed leaves its record behind."""
    new = run / "records/a_table.json"
    old = run / "records/older.json"
    old.write_text(new.read_text())
    os.utime(old, (0, 0))
    assert [step["name"] for step in sums_of(run)["steps"]] == ["fetch", "train x", "a_table"]


def test_equal_sums_are_equal(run):
    equal, text = compare_sums(sums_of(run), sums_of(run))
    assert equal and text.startswith("Equal to the byte: 2 tables and weights")


def test_the_first_step_that_differs_is_named_with_both_machines(run):
    ours = sums_of(run)
    theirs = changed(ours, *(output for _, output in STEPS.values()))
    theirs["machine"]["cpu"] = "Their CPU"
    equal, text = compare_sums(ours, theirs)
    assert not equal
    assert "Not equal: 2 of 2 tables and weights differ" in text
    assert "The first step whose outputs differ is fetch:" in text
    sha256 = file_sha256(run / "text.parquet")
    assert f"results/text.parquet: here {sha256[:12]}, there another" in text
    assert "here: cpu " in text and "there: cpu Their CPU" in text
    assert "code" not in text


def test_one_table_that_differs_is_a_difference(run):
    ours = sums_of(run)
    equal, text = compare_sums(ours, changed(ours, "results/tables/p/t.csv", code="older"))
    assert not equal
    assert "1 of 2" in text and "differ is a_table:" in text
    assert "Its code is another than that of the sums." in text


def test_weights_that_are_missing_are_a_difference(run):
    ours = sums_of(run)
    theirs = copy.deepcopy(ours)
    ours["steps"] = [step for step in ours["steps"] if step["name"] != "train x"]
    equal, text = compare_sums(ours, theirs)
    assert not equal and "here no file" in text and "differ is train x:" in text


def test_tables_decide_and_not_how_a_file_before_them_was_packed(run):
    ours = sums_of(run)
    equal, _ = compare_sums(ours, changed(ours, "results/text.parquet"))
    assert equal


def test_a_run_that_was_not_portable_is_refused(run):
    path = run / "records/fetch.json"
    path.write_text(path.read_text().replace("true", "false"))
    with pytest.raises(OnelayerError, match="fetch was not portable"):
        sums_of(run)


def test_sums_are_kept_and_compared(run, tmp_path, capsys):
    place = tmp_path / SUMS
    with pytest.raises(OnelayerError, match="no sums are kept yet"):
        main(run, place)
    place.write_text(json.dumps({"reference run": {"x": "y"}}))
    assert "sums of 3 steps" in main(run, place, keep=True)
    assert "Equal to the byte" in main(run, place)
    assert json.loads(place.read_text())["reference run"] == {"x": "y"}
    path = run / "records/a_table.json"
    table = run / "tables/p/t.csv"
    before = file_sha256(table)
    table.write_text("other")
    path.write_text(path.read_text().replace(before, file_sha256(table)))
    capsys.readouterr()
    with pytest.raises(OnelayerError, match=r"1 of 2 tables and weights differ$"):
        main(run, place)
    said = capsys.readouterr().out.splitlines()
    assert said[0] == "The first step whose outputs differ is a_table:"
    assert said[1].startswith(f"  results/tables/p/t.csv: here {file_sha256(table)[:8]}")


@pytest.mark.parametrize("keep", [True, False])
def test_files_that_are_not_what_records_say_are_neither_kept_nor_equal(run, tmp_path, keep):
    place, table = tmp_path / SUMS, run / "tables/p/t.csv"
    main(run, place, keep=True)
    kept = place.read_text()
    table.write_text("by hand")
    with pytest.raises(OnelayerError, match=r"^results/tables/p/t\.csv: a_table wrote sha256 "):
        main(run, place, keep)
    table.unlink()
    with pytest.raises(OnelayerError, match=r"t\.csv: a_table made it, and it is not there"):
        main(run, place, keep)
    assert place.read_text() == kept


def test_the_sums_that_are_kept_are_of_every_family_and_solver():
    kept = json.loads((REFERENCE / SUMS).read_text("utf-8"))
    assert kept["switches"] == dict(SWITCHES)
    assert not kept["commit"].endswith("+")
    outputs = {path for step in kept["steps"] for path in step["outputs"]}
    for family in ("bert", "albert", "bart", "electra", "roberta"):
        assert f"results/models/{family}-here-0/model.safetensors" in outputs
    papers = {Path(path).parent.name for path in outputs if path.endswith(".csv")}
    own = {"topic_structure", "decision_lists", "scan_snap", "local_to_global"}
    assert papers == own | {"all_papers"}


def test_what_is_compared_holds_the_quick_run_to_the_byte():
    """Corpora, topics, probe and models of `make quick`, and the default's trainings."""

    def merged(*overlays: str):
        config = yaml.safe_load((REPOSITORY / "config.yaml").read_text("utf-8"))
        for name in overlays:
            text = (REPOSITORY / f"config/{name}.yaml").read_text("utf-8")
            update_config(config, yaml.safe_load(text))
        return load_settings(config)

    quick, small = merged("quick"), merged("smoke", "same-bytes")
    assert small.portable and not quick.portable
    for part in ("corpora", "probe"):
        assert getattr(small, part) == getattr(quick, part), part
    for part in ("words", "lda", "ambiguity"):
        assert getattr(small.topics, part) == getattr(quick.topics, part), part
    wikipedia = small.topic_structure.wikipedia
    assert wikipedia.models == quick.topic_structure.wikipedia.models
    assert {name: small.models[name] for name in wikipedia.models} == {
        name: quick.models[name] for name in wikipedia.models
    }
    size = {"tokens": 100_000, "held_out_tokens": 2048}
    assert small.pretraining == quick.pretraining.model_copy(update=size)


def test_a_comparison_says_first_whether_the_bytes_are_the_reference_runs(tmp_path):
    results, place = tmp_path / "results", tmp_path / SUMS
    table = results / "tables/p/t.csv"
    for path in (table, results / "tables/stability/s.csv", results / "models/m/model.safetensors"):
        path.parent.mkdir(parents=True)
        path.write_text(path.name)
    assert "no sums of the reference run yet" in to_the_byte(results, place)
    sums = judged_sums(results)
    assert sums == {
        "results/models/m/model.safetensors": file_sha256(results / "models/m/model.safetensors"),
        "results/tables/p/t.csv": file_sha256(table),
    }
    place.write_text(json.dumps({"reference run": sums}))
    assert "all 2 tables and weights are those" in to_the_byte(results, place)
    table.write_text("other")
    assert "1 of 2 tables and weights differ, first results/tables/p/t.csv" in to_the_byte(
        results, place
    )
    table.unlink()
    assert "1 of 2" in to_the_byte(results, place)
