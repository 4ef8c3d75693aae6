"""Two runs beside each other: rows that agree, rows that moved, verdicts that changed."""

import pandas as pd
import pytest

from onelayer.evidence.tables import tidy
from onelayer.report.comparison import (
    CHANGES,
    OUTCOMES,
    SCOREBOARD,
    compare,
    compare_runs,
    counted,
    summary,
)


def table(value=1.0, low=0.8, high=1.2, verdict="reproduced", key="a"):
    row = {"model": key, "quantity": "ratio", "value": value, "low": low, "high": high}
    return tidy([row | {"verdict": verdict}], ["model"])


def counts(ours, theirs):
    found = compare(ours, theirs, "paper/table")
    return tuple(counted(found, found["table"]).loc["paper/table", OUTCOMES])


def test_the_same_value_is_equal_whatever_its_interval():
    assert counts(table(), table(low=0.9)) == (1, 0, 0, 0)


@pytest.mark.parametrize(
    ("ours", "agrees"),
    [
        (table(1.1, 0.9, 1.3), True),
        (table(1.3, 0.9, 1.5), False),  # outside of theirs
        (table(1.1, 1.05, 1.15), False),  # theirs is outside of ours
    ],
)
def test_rows_agree_where_each_value_lies_in_the_others_interval(ours, agrees):
    assert counts(ours, table()) == ((0, 1, 0, 0) if agrees else (0, 0, 1, 0))


def test_without_an_interval_only_rounding_agrees():
    nan = float("nan")
    theirs = table(1.0, nan, nan)
    assert counts(table(1.0 + 1e-9, nan, nan), theirs) == (0, 1, 0, 0)
    assert counts(table(1.0 + 1e-3, nan, nan), theirs) == (0, 0, 1, 0)


def test_an_interval_with_one_end_is_open_at_the_other():
    """A median of iterations whose upper end never came."""
    theirs = table(145.0, 110.0, float("nan"))
    assert counts(table(148.0, 113.0, float("nan")), theirs) == (0, 1, 0, 0)
    assert counts(table(148.0, 146.0, float("nan")), theirs) == (0, 0, 1, 0)


def test_a_z_score_is_compared_by_its_own_noise():
    nan = float("nan")
    z = [table(value, nan, nan).assign(quantity="ratio_z") for value in (0.3, 1.9, 3.0)]
    assert [counts(one, z[0]) for one in z[1:]] == [(0, 1, 0, 0), (0, 0, 1, 0)]


def test_counts_of_a_papers_tables_are_added():
    same, moved = compare(table(), table(), "p/a"), compare(table(9, 8, 10), table(), "p/b")
    other = compare(table(verdict="opposite"), table(), "q/a")
    found = pd.concat([same, moved, other])
    counts = counted(found, found["table"].str[0])
    assert [*counts.loc["p"]] == [2, 1, 0, 1, 0, 0, 0]
    assert [*counts.loc["q"]] == [1, 1, 0, 0, 0, 1, 0]


def test_rows_of_one_run_alone_are_counted_apart():
    assert counts(table(key="a"), table(key="b")) == (0, 0, 0, 2)
    assert counts(table(), table(value=float("nan"))) == (0, 0, 0, 1)


def test_numeric_keys_are_the_same_as_whole_numbers_and_as_fractions():
    assert counts(table(key=1), table(key=1.0)) == (1, 0, 0, 0)
    assert counts(table(key=1_000_000), table(key=1_000_000.0)) == (1, 0, 0, 0)


def test_large_numbers_that_differ_by_one_are_two_keys():
    ours = pd.concat([table(key=1_000_000.0), table(key=1_000_001.0, value=2.0)])
    assert counts(ours, ours) == (2, 0, 0, 0)


@pytest.mark.parametrize(
    ("old", "new", "changed", "undecided"),
    [
        ("reproduced", "reproduced", 0, 0),
        ("reproduced", "opposite", 1, 0),
        ("smaller", "negligible", 1, 0),
        ("undecided", "smaller", 0, 1),
        ("opposite", "not reached", 0, 1),
        ("not run", "larger", 0, 1),
    ],
)
def test_verdicts_that_change_from_or_to_undecided_are_counted_apart(old, new, changed, undecided):
    found = compare(table(verdict=new), table(verdict=old), "paper/table")
    assert [sum(found["change"] == change) for change in CHANGES] == [changed, undecided]
    brief, full = (summary(found, {"cpu": "some"}, verbose) for verbose in (False, True))
    assert f"Verdicts that changed: {changed}" in brief
    line = f"paper/table: a, ratio: {old} -> {new}"
    assert (line in brief, line in full) == (bool(changed), bool(changed or undecided))


def test_tables_of_both_runs_are_compared_and_not_the_scoreboard_which_restates_them(tmp_path):
    both = ["paper/both", SCOREBOARD]
    for run, names in (("ours", [*both, "paper/one"]), ("theirs", both)):
        for name in names:
            path = tmp_path / run / f"{name}.csv"
            path.parent.mkdir(parents=True, exist_ok=True)
            table().to_csv(path, index=False)
    found = compare_runs((tmp_path / "ours").rglob("*.csv"), (tmp_path / "theirs").rglob("*.csv"))
    assert found[["table", "outcome"]].to_numpy().tolist() == [["paper/both", "equal"]]
