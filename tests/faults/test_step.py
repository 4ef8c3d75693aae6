"""What every step promises: all outputs or none, a log, its own threads, a record."""

import json
import os
import re
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import safetensors.numpy

from onelayer.run.portable import SWITCHES
from onelayer.run.provenance import code_digest, file_sha256, library_versions, settings_json
from onelayer.run.step import atomic_outputs
from onelayer.settings.root import default_settings
from onelayer.text.corpus.storage import read_articles
from tests.conftest import ROOT, run_script, run_step
from tests.faults.conftest import error_line

ARTICLES = {
    f"Article {i}": {"title": f"Article {i}", "extract": f"Text {i}.", "topic": "Arts"}
    for i in range(4)
}


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A file of four lead sections."""
    path = tmp_path / "source"
    path.write_text(json.dumps(ARTICLES), encoding="utf-8")
    return path


def parse_articles(source: Path, target: Path, *more: object, **environment: str):
    settings = '{"parse": {"format": "lead-sections", "max_articles": 3}}'
    return run_step(
        ROOT,
        "parse_articles",
        *("--source", source, "--articles", target, "--settings", settings, *more),
        *("--summary", target.with_name(f"{target.name}.counts")),
        **environment,
    )


def run_program(tmp_path: Path, program: str, *arguments: object, **environment: str):
    """Run a step whose script a test wrote."""
    script = tmp_path / "count_words.py"
    script.write_text(program, encoding="utf-8")
    return run_script(sys.executable, script, *arguments, folder=ROOT, timeout=60, **environment)


def test_others_may_read_every_output_that_the_umask_lets_them(tmp_path):
    targets = [tmp_path / "a.txt", tmp_path / "b.safetensors"]
    with atomic_outputs(targets) as (text, tensors):
        text.touch()
        safetensors.numpy.save_file({"one": np.ones(1)}, tensors)
    os.umask(mask := os.umask(0))
    assert {path.stat().st_mode & 0o777 for path in targets} == {0o666 & ~mask}


def test_outputs_appear_only_when_the_block_has_ended(tmp_path):
    targets = [tmp_path / "new" / "a.txt", tmp_path / "b.txt"]
    with atomic_outputs(targets) as parts:
        for part, content in zip(parts, "ab", strict=True):
            part.write_text(content)
        assert not any(target.exists() for target in targets)
    assert [target.read_text() for target in targets] == ["a", "b"]
    assert not any(part.exists() for part in parts)


def test_nothing_is_left_when_the_block_raises(tmp_path):
    targets = [tmp_path / "a.txt", tmp_path / "b.txt"]
    with pytest.raises(RuntimeError, match="halfway"), atomic_outputs(targets) as parts:
        for part in parts:
            part.write_text("half")
        raise RuntimeError("halfway")
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_left_when_an_output_was_never_written(tmp_path):
    targets = [tmp_path / "a.txt", tmp_path / "b.txt"]
    with pytest.raises(FileNotFoundError), atomic_outputs(targets) as parts:
        parts[0].write_text("alone")
    assert list(tmp_path.iterdir()) == []


def test_earlier_outputs_survive_a_block_that_raises(tmp_path):
    target = tmp_path / "a.txt"
    target.write_text("earlier")
    with pytest.raises(RuntimeError, match="halfway"), atomic_outputs([target]) as parts:
        parts[0].write_text("half")
        raise RuntimeError("halfway")
    assert target.read_text() == "earlier"
    assert list(tmp_path.iterdir()) == [target]


def test_what_a_killed_run_left_is_overwritten(tmp_path):
    target = tmp_path / "a.txt"
    (tmp_path / ".part-a.txt").write_text("a longer text that a killed run left behind")
    with atomic_outputs([target]) as parts:
        parts[0].write_text("new")
    assert target.read_text() == "new"
    assert list(tmp_path.iterdir()) == [target]


def test_a_failing_step_keeps_earlier_outputs(source, tmp_path):
    target = tmp_path / "out" / "articles.arrow"
    assert parse_articles(source, target).returncode == 0
    before = {path: path.read_bytes() for path in target.parent.iterdir()}
    source.write_text("no JSON", encoding="utf-8")
    assert parse_articles(source, target).returncode == 1
    assert {path: path.read_bytes() for path in target.parent.iterdir()} == before


def test_an_unforeseen_error_leaves_its_traceback_in_the_log(tmp_path):
    # A broken file between two steps is nothing that a user could put right.
    words, log = tmp_path / "words.parquet", tmp_path / "logs" / "step.log"
    words.write_text("no Parquet")
    run = run_step(
        ROOT,
        "fit_lda",
        *("--vocabulary", words, "--counts", words, "--topics", tmp_path / "out" / "lda"),
        *("--settings", settings_json(lda=default_settings().topics.lda), "--log", log),
    )
    assert run.returncode == 1
    assert re.search(r"^ERROR fit_lda failed: \w+: ", log.read_text(), re.MULTILINE)
    assert "Traceback (most recent call last)" in log.read_text()
    assert list((tmp_path / "out").iterdir()) == []


COPYING = """
from onelayer.run.step import run

def main(step):
    assert step.inputs.model.is_dir() and step.outputs.copy.is_dir()
    for path in sorted(step.inputs.model.glob("[!.]*")):
        (step.outputs.copy / path.name).write_text(path.read_text())

run(main, inputs=["model/"], outputs=["copy/"])
"""


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A folder of three files, and a hidden one that is none of its content."""
    folder = tmp_path / "model"
    folder.mkdir()
    for name in ("config", "weights", "words", ".hidden"):
        (folder / name).write_text(name)
    return folder


def test_a_folder_of_inputs_is_named_by_the_files_that_are_read(model, tmp_path):
    target, record = tmp_path / "copy" / "config", tmp_path / "record.json"
    run = run_program(
        tmp_path,
        COPYING,
        *("--model", model / "weights", model / "config"),
        *("--copy", target, "--record", record),
    )
    assert run.returncode == 0, run.stderr
    recorded = json.loads(record.read_text())
    assert set(recorded["inputs"]) == {str(model / name) for name in ("weights", "config")}
    assert recorded["outputs"] == {str(target): file_sha256(target)}


def test_a_folder_of_inputs_can_be_given_as_such(model, tmp_path):
    target, record = tmp_path / "copy" / "config", tmp_path / "record.json"
    run = run_program(tmp_path, COPYING, *("--model", model, "--copy", target, "--record", record))
    assert run.returncode == 0, run.stderr
    inputs = {str(model / name) for name in ("config", "weights", "words")}
    assert set(json.loads(record.read_text())["inputs"]) == inputs


def test_files_of_two_folders_are_refused_in_one_line(model, tmp_path):
    other = tmp_path / "other" / "weights"
    other.parent.mkdir()
    other.touch()
    target = tmp_path / "copy" / "config"
    run = run_program(tmp_path, COPYING, *("--model", model / "config", other, "--copy", target))
    folders = f"{model}, {other.parent}"
    message = f"--model: files of one folder are needed, found {folders}"
    assert error_line(run) == f"ERROR count_words: {message}"
    assert not target.exists()


def test_of_a_folder_of_outputs_just_what_was_asked_for_is_kept(model, tmp_path):
    targets = [tmp_path / "copy" / name for name in ("words", "config")]
    run = run_program(tmp_path, COPYING, *("--model", model, "--copy", *targets))
    assert run.returncode == 0, run.stderr
    assert sorted(path.name for path in targets[0].parent.iterdir()) == ["config", "words"]
    assert [target.read_text() for target in targets] == ["words", "config"]


def test_a_file_of_a_folder_that_was_not_written_takes_the_others_with_it(model, tmp_path):
    targets = [tmp_path / "copy" / name for name in ("config", "vocabulary")]
    run = run_program(tmp_path, COPYING, *("--model", model, "--copy", *targets))
    assert run.returncode == 1
    assert list(targets[0].parent.iterdir()) == []


READING = """
from onelayer.run.step import run

def main(step):
    [one], [first, second] = step.read("one")["word"], step.read("several")
    names = [one, *first["word"], *second["word"], *(path.name for path in step.inputs.models)]
    step.write(table=second, text=" ".join(names))

run(main, inputs=["one", "several*", "models/*"], outputs=["table", "text"])
"""


def test_tables_are_read_and_written_and_several_folders_stay_in_their_order(model, tmp_path):
    for word in ("frog", "toad", "pond"):
        pd.DataFrame({"word": [word]}).to_parquet(tmp_path / word)
    other = tmp_path / "earlier"
    other.mkdir()
    (other / "config").touch()
    files = [model / "config", model / "words", other / "config"]
    run = run_program(
        tmp_path,
        READING,
        *("--one", tmp_path / "frog", "--several", tmp_path / "toad", tmp_path / "pond"),
        *("--models", *files, "--table", tmp_path / "table", "--text", tmp_path / "text"),
    )
    assert run.returncode == 0, run.stderr
    assert (tmp_path / "text").read_text() == "frog toad pond model earlier"
    assert pd.read_parquet(tmp_path / "table")["word"].tolist() == ["pond"]


KEEPING = """
import sys
from onelayer.run.step import run

def main(step):
    state = step.checkpoint(step.outputs.weights)
    for path in (state, state.with_name(f"{state.name}-1")):
        path.write_text("state")
    step.outputs.weights.write_text("weights")
    if "fails" not in sys.argv[0]:
        step.outputs.history.write_text("history")

run(main, outputs=["weights", "history"])
"""


def test_the_state_of_a_training_stays_until_every_output_is_in_place(tmp_path):
    files = [tmp_path / "out" / name for name in ("weights", "history")]
    (tmp_path / "fails").mkdir()
    for folder, ends, left in (
        (tmp_path / "fails", 1, {".part-checkpoint-weights", ".part-checkpoint-weights-1"}),
        (tmp_path, 0, {"weights", "history"}),
    ):
        run = run_program(folder, KEEPING, "--weights", files[0], "--history", files[1])
        assert run.returncode == ends, run.stderr
        assert {path.name for path in files[0].parent.iterdir()} == left


THREADS = """
import json, torch
from threadpoolctl import threadpool_info
from onelayer.settings.block import Computing
from onelayer.run.step import run

def main(step):
    pools = {pool["internal_api"]: pool["num_threads"] for pool in threadpool_info()}
    step.outputs.threads.write_text(json.dumps({"torch": torch.get_num_threads()} | pools))

run(main, settings=Computing, outputs=["threads"])
"""


@pytest.mark.parametrize("asked", [1, 2])
def test_threads_come_from_settings_and_from_nowhere_else(asked, tmp_path):
    target = tmp_path / "threads.json"
    variables = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "3")
    run = run_program(
        tmp_path,
        THREADS,
        *("--threads", target, "--settings", json.dumps({"threads": asked})),
        **variables,
    )
    assert run.returncode == 0, run.stderr
    threads = json.loads(target.read_text())
    assert {"torch", "openmp"} <= set(threads)
    assert set(threads.values()) == {asked}, threads


def test_a_record_says_what_decided_the_outputs(source, tmp_path):
    target, record = tmp_path / "articles.arrow", tmp_path / "record.json"
    run = parse_articles(source, target, "--record", record)
    summary = tmp_path / "articles.arrow.counts"
    assert run.returncode == 0, run.stderr
    assert len(read_articles([target])) == 3
    written = json.loads(record.read_text())
    assert written.pop("started") <= written.pop("ended")
    assert written == {
        "step": "parse_articles",
        "settings": {"parse": {"columns": {}, "format": "lead-sections", "max_articles": 3}},
        "code": code_digest("parse_articles"),
        "libraries": library_versions("parse_articles"),
        "device": "cpu",
        "portable": False,
        "switches": {name: os.environ[name] for name in SWITCHES if name in os.environ},
        "inputs": {str(source): file_sha256(source)},
        "outputs": {str(path): file_sha256(path) for path in (target, summary)},
        "warnings": [],
    }


EDITED = """
from onelayer.run import step as steps
from onelayer.run.step import program

@program(inputs="own", outputs="copy")
def main(step):
    step.outputs.copy.write_bytes(step.inputs.own.read_bytes())
    step.inputs.own.write_text("edited")
    steps.code_digest = steps.library_versions = lambda name: "edited"
"""


def test_a_record_names_what_ran_and_not_what_was_edited_meanwhile(source, tmp_path):
    record, read = tmp_path / "record.json", file_sha256(source)
    files = ("--own", source, "--copy", tmp_path / "copy", "--record", record)
    run = run_program(tmp_path, EDITED, *files)
    assert run.returncode == 0, run.stderr
    written = json.loads(record.read_text())
    assert written["inputs"] == {str(source): read}
    assert written["code"] == code_digest("count_words")
    assert written["libraries"] == library_versions("count_words")


WARNING = """
import os
from pathlib import Path
from onelayer.run.step import log, program

@program(inputs="own", outputs="copy")
def main(step):
    log.info("WARNING is no level here")
    log.warning("%s and %s/x are slow", Path("scripts").resolve(), os.path.expanduser("~"))
    step.outputs.copy.write_bytes(step.inputs.own.read_bytes())
"""


def test_a_record_says_what_was_warned_of_and_no_folder_of_this_machine(source, tmp_path):
    record, log = tmp_path / "record.json", tmp_path / "a.log"
    files = ("--own", source, "--copy", tmp_path / "copy", "--record", record, "--log", log)
    run = run_program(tmp_path, WARNING, *files, HOME=str(tmp_path))
    assert run.returncode == 0, run.stderr
    assert json.loads(record.read_text())["warnings"] == ["WARNING ./scripts and ~/x are slow"]


def test_two_runs_by_hand_write_the_same_bytes(source, tmp_path):
    targets = [tmp_path / "one.arrow", tmp_path / "two.arrow"]
    for target, seed in zip(targets, "12", strict=True):
        assert parse_articles(source, target, PYTHONHASHSEED=seed).returncode == 0
    assert targets[0].read_bytes() == targets[1].read_bytes()
