"""Why a step would run again."""

import json
import os
import shlex

import pytest

from onelayer.run.provenance import code_digest, library_versions
from onelayer.run.reasons import reason

STEP = "solve_gap_grid"
LIBRARIES = library_versions(STEP)


@pytest.fixture
def outputs(tmp_path, monkeypatch):
    """The outputs of a step that has run, in the working directory."""
    monkeypatch.chdir(tmp_path)
    record = tmp_path / "results/records/x.json"
    record.parent.mkdir(parents=True)
    before = {
        "step": STEP,
        "settings": {"a": {"b": 1, "default": 7}, "list": [1, 2, 3], "text": "it's"},
        "code": code_digest(STEP),
        "libraries": LIBRARIES,
        "portable": False,
    }
    record.write_text(json.dumps(before))
    return ["results/x.csv", "results/records/x.json"]


def command(portable: bool = False, **changed) -> str:
    settings = {"a": {"b": 1}, "list": [1, 2, 3], "text": "it's"} | changed
    words = ["python", "scripts/x.py", "--settings", json.dumps(settings)]
    return shlex.join(words + ["--portable"] * portable)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({}, ""),
        ({"a": {"b": 2}}, "a.b: 1 -> 2"),
        ({"text": "its"}, 'text: "it\'s" -> "its"'),
        ({"list": [1, 2]}, "list.3: 3 -> nothing"),
        ({"list": [1, 2, 3, 4]}, "list.4: nothing -> 4"),
        ({"new": True}, "new: nothing -> true"),
        ({"portable": True}, "portable: False -> True"),
        (
            {"list": [5, 6, 7, 8, 9]},
            "list.1: 1 -> 5, list.2: 2 -> 6, list.3: 3 -> 7, list.4: nothing -> 8, and 1 more",
        ),
    ],
)
def test_what_changed_is_named(outputs, changed, said):
    assert reason(command(**changed), outputs) == said


def test_code_and_libraries_are_named(outputs, monkeypatch):
    monkeypatch.setattr("onelayer.run.reasons.code_digest", lambda step: "other")
    monkeypatch.setattr(
        "onelayer.run.reasons.library_versions",
        lambda step: LIBRARIES.replace("numpy 2", "numpy 3"),
    )
    monkeypatch.setattr("onelayer.run.reasons.code_closure", lambda step: ())
    code, libraries = reason(command(), outputs).split(", ", 1)
    numpy = LIBRARIES.split("numpy ")[1].split(",")[0]
    assert code == "its code"
    assert libraries == f"libraries: numpy {numpy}, numpy 3{numpy[1:]}"


@pytest.mark.parametrize(
    ("younger", "said"),
    [("", ""), ("b", " (b.py)"), ("abcde", " (a.py, b.py, c.py, d.py, and 1 more)")],
)
def test_the_modules_that_were_edited_are_named(outputs, tmp_path, monkeypatch, younger, said):
    names = [f"{letter}.py" for letter in "abcde"]
    made = (tmp_path / outputs[1]).stat().st_mtime
    for name in names:
        (tmp_path / name).touch()
        age = 9 if name[0] in younger else -9
        os.utime(tmp_path / name, (made + age, made + age))
    monkeypatch.setattr("onelayer.run.reasons.REPOSITORY", tmp_path)
    monkeypatch.setattr("onelayer.run.reasons.code_closure", lambda step: names)
    monkeypatch.setattr("onelayer.run.reasons.code_digest", lambda step: "other")
    assert reason(command(), outputs) == f"its code{said}"


def test_a_step_that_has_not_run_is_new(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert reason(command(), ["results/x.csv", "results/records/x.json"]) == "not made yet"
