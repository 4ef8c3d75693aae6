"""Claims about the scoreboard: every claim once, with the verdict that holds for all together."""

import math
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from onelayer.evidence.findings import BEYOND, Finding
from onelayer.evidence.intervals import mean
from onelayer.evidence.pages import Link
from onelayer.evidence.sentences import HOLM, SCOREBOARD
from onelayer.evidence.tables import tidy
from onelayer.evidence.verdicts import THEORY, Direction, Number, UpperBound, judge
from onelayer.report.scoreboard import (
    TOGETHER,
    _digits,
    claims,
    holm,
    p_value,
    readable,
    report,
    scoreboard,
)
from onelayer.report.scoreboard_figure import MARKS
from onelayer.report.scoreboard_figure import scoreboard as scoreboard_figure
from tests.faults.generated import GENERATED

NAN = math.nan
PROPERTY = settings(GENERATED, max_examples=200)


def holm_in_a_loop(p: list[float]) -> list[float]:
    """Holm (1979): which hypotheses fall at a level, asked at every level that can matter."""
    known = [one for one in p if not math.isnan(one)]

    def falls(place: int, level: float) -> bool:
        left = sorted(known)
        for rank, one in enumerate(left):
            if one > level / (len(left) - rank):
                return False  # here the procedure stops: this one and all larger ones stay
            if one >= p[place]:
                return True
        raise AssertionError

    adjusted = []
    for place, own in enumerate(p):
        if math.isnan(own):
            adjusted.append(NAN)
            continue
        levels = sorted({1.0, *(one * k for one in known for k in range(1, len(known) + 1))})
        adjusted.append(next((lv for lv in levels if lv <= 1 and falls(place, lv)), 1.0))
    return adjusted


@PROPERTY
@given(st.lists(st.sampled_from([0.0, 0.001, 0.01, 0.0125, 0.02, 0.05, 0.3, 1.0, NAN]), max_size=9))
def test_adjusted_p_values_are_those_of_holms_procedure(p) -> None:
    found = holm(np.array(p, dtype=float))
    assert found == pytest.approx(holm_in_a_loop(p), nan_ok=True)


def test_equal_p_values_stay_equal_and_missing_ones_do_not_count() -> None:
    assert holm(np.array([0.01, NAN, 0.01, 0.04])).tolist() == pytest.approx(
        [0.03, NAN, 0.03, 0.04], nan_ok=True
    )
    assert holm(np.array([])).tolist() == []


def judged(compared, **row) -> pd.Series:
    return judge(tidy([{"quantity": "ratio"} | row], []), compared).iloc[0]


def test_the_p_value_of_a_mean_over_runs_is_that_of_students_test() -> None:
    rng = np.random.default_rng(0)
    samples = [rng.normal(1.2, 0.3, runs) for runs in range(2, 13) for _ in range(20)]
    rows = [
        {"quantity": "ratio", "runs": len(one), "published": 40.0} | mean(one) for one in samples
    ]
    published = judge(tidy(rows, []), Number(1.0))
    claimed = judge(tidy(rows, []).assign(published=NAN), Direction(1.0, 1))
    for values, number, claim in zip(samples, published.iloc, claimed.iloc, strict=True):
        assert p_value(claim) == pytest.approx(stats.ttest_1samp(values, 1.0).pvalue, rel=1e-6)
        if number["verdict"] != "negligible":
            assert p_value(number) == pytest.approx(p_value(claim), rel=1e-6)


@pytest.mark.parametrize(("value", "low", "high"), [(1.3, 1.2, 1.7), (0.7, 0.3, 0.8)])
def test_an_interval_counts_on_the_side_of_no_effect(value, low, high) -> None:
    row = judged(Direction(1.0, 1), value=value, low=low, high=high)
    assert p_value(row) == pytest.approx(2 * stats.norm.sf(3 * stats.norm.ppf(0.975)))


@pytest.mark.parametrize(
    ("value", "low", "high", "digits"),
    [
        (1.0, 0.97, 1.03, 3),
        (1.0, 0.4, 1.6, 2),
        (1234.0, 1200.0, 1268.0, 2),
        (0.5, 0.499999, 0.500001, 5),
        (0.4, NAN, NAN, 4),
        (40.0, 40.0, 40.0, 2),
        (0.0, 0.0, 0.0, 2),
        (NAN, NAN, NAN, 2),
    ],
)
def test_numbers_have_two_digits_of_their_intervals_half(value, low, high, digits) -> None:
    assert _digits(pd.Series({"value": value, "low": low, "high": high})) == digits


def test_of_a_negligible_effect_the_p_value_is_that_of_the_tenth_on_the_nearer_side() -> None:
    for sign in (-1, 1):
        ends = sorted((0.01 * sign, 0.07 * sign))
        row = judged(Number(0.0), value=0.04 * sign, low=ends[0], high=ends[1], published=1.0)
        assert p_value(row) == pytest.approx(2 * stats.norm.sf(0.06 / 0.03 * stats.norm.ppf(0.975)))
    row = judged(Direction(0.0, 1, matters=0.5), value=0.2, low=0.0, high=0.4)
    assert p_value(row) == pytest.approx(2 * stats.norm.sf(0.3 / 0.2 * stats.norm.ppf(0.975)))
    # Nearer in units of the interval's half: .14 / .09 below, .06 / .015 above.
    row = judged(Number(0.0), value=0.04, low=-0.05, high=0.055, published=1.0)
    assert p_value(row) == pytest.approx(2 * stats.norm.sf(0.14 / 0.09 * stats.norm.ppf(0.975)))


@pytest.mark.parametrize(
    "row",
    [
        judged(Number(), value=1.2, published=1.3),  # no interval
        judged(Number(), value=1.2, low=1.2, high=1.2, published=1.3),
        judged(Number(), published=1.3),
        judged(Number(), value=1.2, low=1.1, high=1.3, published=1.3, verdict="not reached"),
        judged(THEORY, value=1.2, low=1.1, high=1.3, published=1.3),  # nothing means 'no effect'
        judged(Number(None), value=1.2, low=1.1, high=1.3, published=1.3),
        judged(UpperBound(), value=1.2, low=1.1, high=1.3, published=2.0),
    ],
)
def test_without_an_interval_of_an_effect_there_is_no_p_value(row) -> None:
    assert math.isnan(p_value(row))


# The table.


def claim(name: str, kind: str = "claim", table: str = "paper/table", **changed) -> Finding:
    primary = {"model": name, "quantity": "ratio"}
    given = {"name": name, "claim": f"{name} exceeds 1", "place": "section 5", "kind": kind}
    words = {"subject": name, "does": "does", "does_not": "does not"}
    return Finding(**given, table=table, primary=primary, **words, **changed)


# The second is decided alone (p = .04), not together with the others.
ENDS = {
    "a": (2.0, 1.9, 2.1),
    "b": (1.1, 1.005, 1.195),
    "c": (1.0, 0.8, 1.2),
    "d": (1.001, 1.0, 1.002),
}


@pytest.fixture
def tables() -> dict[str, pd.DataFrame]:
    rows = [
        {"model": model, "quantity": "ratio", "value": value, "low": low, "high": high}
        for model, (value, low, high) in ENDS.items()
    ]
    return {"paper/table": judge(tidy(rows, ["model"]), Direction(1.0, 1, matters=0.01))}


PAPERS = {"P": [*map(claim, "abc"), claim("d", "analogue"), claim("e"), claim("f", table="p/none")],
          "Q": [claim("a")]}  # fmt: skip


def test_every_claim_stands_once_as_its_table_has_it(tables) -> None:
    found = scoreboard(PAPERS, tables)
    own = claims(found)
    assert own[["paper", "finding"]].to_numpy().tolist() == [
        *(["P", name] for name in "abcdef"), ["Q", "a"]
    ]  # fmt: skip
    given = tables["paper/table"].set_index("model")
    for row in own[own["verdict"] != "not run"].to_dict("records"):
        there = given.loc[row["finding"]]
        for column in ("value", "low", "high", "reference", "effect_low", "verdict", "kind"):
            assert row[column] == there[column]


def test_holms_verdict_is_that_over_all_claims_of_one_paper(tables) -> None:
    found = scoreboard(PAPERS, tables)
    together = found[found["quantity"] == HOLM].set_index(["paper", "finding"])
    alone = {row["finding"]: p_value(row) for row in claims(found).to_dict("records")}
    p = [alone[name] for name in "abcd"]
    assert together.loc["P", "value"].tolist() == pytest.approx(holm_in_a_loop(p))
    assert together.loc["P", "n"].tolist() == [4] * 4
    assert together.loc["Q", "value"].tolist() == pytest.approx(p[:1])
    assert together.loc["P", "verdict"].to_dict() == {
        "a": "reproduced", "b": "undecided", "c": "undecided", "d": "negligible"
    }  # fmt: skip
    assert claims(found).set_index("finding").loc["b", "verdict"] == "reproduced"


def test_both_verdicts_are_shown_where_they_differ_and_tables_are_links_if_they_are_there(tables):
    made = report(PAPERS, tables)
    shown = made.shown
    assert shown["claim"][0] == "a exceeds 1" and shown["what was tested"][0] == "A does."
    assert shown[TOGETHER].tolist() == ["", "undecided", "", "", "", "", ""]
    assert shown["verdict"].tolist()[:4] == ["reproduced", "reproduced", "undecided", "negligible"]
    link = shown["table"][0]
    assert isinstance(link, Link) and (link.text, link.to) == ("table", "../paper/table")
    assert shown["table"][5] == "none"
    assert TOGETHER not in readable(scoreboard({"Q": [claim("a")]}, tables), tables)
    assert list(readable(scoreboard({}, {}), {})) == [*shown.drop(columns=TOGETHER)]
    assert shown["ours [95%]"].tolist()[0] == "2.00 [1.90, 2.10]"


def test_the_notes_tell_how_many_false_verdicts_chance_would_make(tables) -> None:
    notes = report(PAPERS, tables).notes
    assert (
        "P: 4 claims are judged by an interval. Were there no effect in any of them, 0.2 false "
        "verdicts would be expected by chance; 3 are decided, and 2 of these hold for all of the "
        "paper's claims together (Holm)."
    ) in notes


def test_the_readers_forms_lead_to_their_like(tables, tmp_path) -> None:
    forms = {form: tmp_path / f"scoreboard.{form}" for form in ("csv", "md", "tex", "html")}
    report(PAPERS, tables).write(**forms)
    text = {form: path.read_text(encoding="utf-8") for form, path in forms.items()}
    assert "[table](../paper/table.md)" in text["md"]
    assert '<a href="../paper/table.html">table</a>' in text["html"]
    assert "../paper" not in text["tex"] and "table" in text["tex"]
    assert SCOREBOARD == "all_papers/scoreboard"


def test_claims_of_other_runs_have_a_line_of_their_own_in_the_picture(tables) -> None:
    """Marks by what they look like: the picture has no other order than that of what came out."""
    board = scoreboard(PAPERS, tables)
    missing = claims(board).set_index("verdict").loc[["not run"], "finding"].iloc[0]
    of_others = [("x", "P", missing, "opposite"), ("y", "P", missing, "undecided")]
    others = pd.DataFrame(of_others, columns=["run", "paper", "finding", "verdict"])

    def marks(axes) -> Counter:
        return Counter(line.get_marker() for line in axes.lines)

    alone, beside = (scoreboard_figure(board, of).axes[0] for of in (None, others))
    # The legend has one of each, in both.
    assert marks(beside) - marks(alone) == Counter([MARKS[v][0] for _, _, _, v in of_others])
    assert marks(alone) - marks(beside) == Counter([MARKS["not run"][0]])
    texts = [text.get_text() for text in beside.texts]
    assert texts.count("other runs") == 1 and any("a mark for each run" in one for one in texts)
    assert "other runs" not in [text.get_text() for text in alone.texts]


def test_what_is_beyond_the_papers_and_not_run_is_counted_below_the_picture(tables) -> None:
    board = scoreboard(PAPERS, tables)
    missed = (
        board["finding"] == claims(board).set_index("verdict").loc[["not run"], "finding"].iloc[0]
    )
    pictures = {}
    for place in ("Theorem 1", BEYOND):
        board.loc[missed, "place"] = place
        axes = scoreboard_figure(board).axes[0]
        texts = " ".join(text.get_text() for text in axes.texts)
        marks = [line.get_marker() for line in axes.lines].count(MARKS["not run"][0])
        pictures[place] = marks, "not run here and left out: 1." in texts
    (shown, told), (left, told_beyond) = pictures.values()
    assert left == shown - 1 and told_beyond and not told
