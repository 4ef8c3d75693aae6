"""A run beside another: which rows are equal, agree or moved."""

import pandas as pd
import pytest

from onelayer.compare import compare, side_by_side
from onelayer.evidence.tables import tidy, write


def save(folder, rows, name="p/t"):
    place = folder / "tables" / name
    place.parent.mkdir(parents=True, exist_ok=True)
    files = [place.with_suffix(f".{form}") for form in ("csv", "md", "tex")]
    write(tidy([{"quantity": "x", "value": 1} | row for row in rows], ["L"]), *files, title="t")
    return files[0]


def outcome(tmp_path, ours, theirs):
    files = save(tmp_path / "a", [{"L": 1} | ours]), save(tmp_path / "b", [{"L": 1} | theirs])
    return side_by_side(*files)["outcome"].tolist()


@pytest.mark.parametrize(
    ("ours", "theirs", "expected"),
    [
        ({"low": 0.5, "high": 1.5}, {"low": 0.9, "high": 1.1}, ["equal"]),
        ({"low": 0.5, "high": 1.5}, {"value": 1.4, "low": 0.9, "high": 1.9}, ["agree"]),
        ({"low": 0.5, "high": 1.5}, {"value": 1.4, "low": 1.3, "high": 1.5}, ["moved"]),
        ({}, {"value": 1 + 1e-8}, ["agree"]),  # rounding
        ({}, {"value": 1.1}, ["moved"]),
        ({"low": 0.5}, {"value": 9, "low": 0.7}, ["agree"]),  # open at the other end
        ({}, {"value": None}, ["only one"]),
        ({"value": None}, {"value": None}, []),
    ],
)
def test_each_value_must_lie_in_the_others_interval(tmp_path, ours, theirs, expected):
    assert outcome(tmp_path, ours, theirs) == expected


def test_rows_are_found_by_their_keys_in_any_order(tmp_path):
    ours = save(tmp_path / "a", [{"L": 1}, {"L": 2, "value": 2}, {"L": 3}])
    theirs = save(tmp_path / "b", [{"L": 2, "value": 2}, {"L": "all"}, {"L": 1}])
    found = side_by_side(ours, theirs).set_index("row")["outcome"].to_dict()
    assert found == {"1, x": "equal", "2, x": "equal", "3, x": "only one", "all, x": "only one"}


def test_changed_verdicts_are_named(tmp_path):
    for folder, verdict in (("a", "larger"), ("b", "undecided")):
        save(tmp_path / folder, [{"L": 1}])
        board = pd.DataFrame({"paper": ["P"], "claim": ["c"], "verdict": [verdict]})
        (tmp_path / folder / "tables/all_papers").mkdir()
        board.to_csv(tmp_path / folder / "tables/all_papers/scoreboard.csv", index=False)
    said = compare(tmp_path / "a", tmp_path / "b")
    assert "Verdicts that changed: 1 of 1\n  P: c: undecided -> larger" in said
