"""Findings: claims with the one row that decides each, and the sentences made of it."""

import math
import subprocess
import sys

import pandas as pd
import pytest

from onelayer.errors import OnelayerError
from onelayer.evidence.findings import BEYOND, Finding, Published, Remark, check
from onelayer.evidence.sentences import (
    ANALOGUES,
    AS_CLAIMED,
    AS_PREDICTED,
    CONTROLS,
    FEW,
    HOLM,
    NOT_AS_CLAIMED,
    NOT_AS_PREDICTED,
    NOT_DECIDED,
    OPEN,
    PARTLY,
    REMARKS,
    SCOREBOARD,
    Places,
    Said,
    all_said,
    came,
    page,
    primary_row,
    quoted,
    say,
    scores,
)
from onelayer.evidence.tables import tidy
from onelayer.evidence.verdicts import KINDS, THEORY, VERDICTS, Direction, Number, UpperBound, judge
from onelayer.papers import PAPERS
from onelayer.papers.findings import BY_TITLE, CLAIMS, FINDINGS
from tests.quoted import quotes


def claim(**changed) -> Finding:
    """A claim about models, its row that of size 1."""
    given = {
        "name": "claim",
        "claim": "ratios exceed 1",
        "place": "section 5",
        "kind": "claim",
        "table": "paper/table",
        "primary": {"size": 1, "quantity": "ratio"},
        "subject": "the ratio",
        "does": "exceeds 1",
        "does_not": "does not exceed 1",
    }
    return Finding(**given | changed)


def rows(compared, *ends, **more) -> dict[str, pd.DataFrame]:
    """A judged table with a row for each size, by (value, low, high)."""
    table = [
        {"size": size, "quantity": "ratio", "n": 10, "runs": 10}
        | dict(zip(("value", "low", "high"), end, strict=True))
        | more
        for size, end in enumerate(ends, 1)
    ]
    return {"paper/table": judge(tidy(table, ["size"]), compared)}


RATIO = Number(1.0)
CONTROL = Number(1.0, kind="control", unit=0.4)
GAP = Number(0.0, kind="theory")
NAN = math.nan


@pytest.mark.parametrize(
    ("compared", "ends", "more", "section", "sentence"),
    [
        (RATIO, (1.4, 1.3, 1.5), {"published": 1.4}, AS_CLAIMED,
         "The ratio exceeds 1: 1.40 [1.30, 1.50] (published: 1.4)."),
        (RATIO, (1.2, 1.1, 1.3), {"published": 1.4}, NOT_AS_CLAIMED,
         "The ratio exceeds 1, but less than published: 1.20 [1.10, 1.30] (published: 1.4); so "
         "it is."),
        (RATIO, (1.6, 1.5, 1.7), {"published": 1.4}, NOT_AS_CLAIMED,
         "The ratio exceeds 1, and more than published: 1.60 [1.50, 1.70] (published: 1.4); so "
         "it is."),
        (RATIO, (1.0, 0.98, 1.02), {"published": 1.4}, NOT_AS_CLAIMED,
         "The ratio does not exceed 1, or by less than a tenth of the published effect: "
         "1.00 [0.98, 1.02] (published: 1.4); so it is."),
        (RATIO, (0.8, 0.7, 0.9), {"published": 1.4}, NOT_AS_CLAIMED,
         "The ratio does not exceed 1: 0.80 [0.70, 0.90] (published: 1.4); so it is."),
        (RATIO, (1.0, 0.8, 1.2), {"published": 1.4}, OPEN,
         "Whether the ratio exceeds 1 is undecided: 1.00 [0.80, 1.20], at most 50% of the "
         "published effect."),
        (RATIO, (1.2, 0.8, 1.6), {"published": 1.4}, OPEN,
         "Whether the ratio exceeds 1 is undecided: 1.20 [0.80, 1.60] (published: 1.4)."),
        (RATIO, (1.2, 1.1, 1.3), {"published": 1.4, "kind": "analogue"}, ANALOGUES,
         "The ratio exceeds 1, but only in part: 1.20 [1.10, 1.30] (theory: 1.4); so it is."),
        (RATIO, (NAN, NAN, NAN), {"published": 1.4, "note": "no hub"}, OPEN,
         "Whether the ratio exceeds 1 was not measured: no hub."),
        (RATIO, (1.2, NAN, NAN), {"published": 1.4, "verdict": "not reached", "note": "it stood"},
         OPEN,
         "Whether the ratio exceeds 1 cannot be said: it stood; by then 1.20 (published: 1.4)."),
        (RATIO, (1.02, 1.01, 1.03), {"published": 1.4}, NOT_AS_CLAIMED,
         "The ratio exceeds 1, but by less than a tenth of the published effect: 1.02 [1.01, 1.03] "
         "(published: 1.4); so it is."),
        (CONTROL, (1.0, 0.99, 1.01), {}, CONTROLS,
         "The ratio does not exceed 1: 1.00 [0.99, 1.01]."),
        (CONTROL, (1.0, 0.90, 1.10), {}, CONTROLS,
         "Whether the ratio exceeds 1 is undecided: 1.00 [0.90, 1.10]."),
        (CONTROL, (1.2, 1.10, 1.30), {}, CONTROLS,
         "The ratio exceeds 1, but less than what it is a control of: 1.20 [1.10, 1.30]; so "
         "it is."),
        (CONTROL, (1.6, 1.50, 1.70), {}, CONTROLS,
         "The ratio exceeds 1, and more than what it is a control of: 1.60 [1.50, 1.70]; so "
         "it is."),
        (GAP, (0.5, 0.4, 0.6), {"published": 0.5}, AS_CLAIMED,
         "The ratio exceeds 1: 0.50 [0.40, 0.60] (theory: 0.5)."),
        (GAP, (0.3, 0.2, 0.4), {"published": 0.5}, NOT_AS_CLAIMED,
         "The ratio does not exceed 1: 0.30 [0.20, 0.40] (theory: 0.5); so it is."),
        (GAP, (0.0, -0.01, 0.01), {"published": 0.5}, NOT_AS_CLAIMED,
         "The ratio does not exceed 1: 0.00 [-0.01, 0.01] (theory: 0.5); so it is."),
        (THEORY, (12345.0, NAN, NAN), {"published": 12346.0}, NOT_AS_CLAIMED,
         "The ratio does not exceed 1: 12345.00 (theory: 12,346); so it is."),
        (THEORY, (1.4, 1.3, 1.5), {"published": 1.2, "kind": "analogue"}, ANALOGUES,
         "The ratio does not exceed 1: 1.40 [1.30, 1.50] (theory: 1.2); so it is."),
        (THEORY, (0.3, -0.3, 0.9), {"published": 1.05, "kind": "analogue",
         "verdict": "undecided"}, ANALOGUES,
         "Whether the ratio exceeds 1 is undecided: 0.30 [-0.30, 0.90] (theory: 1.05)."),
        (UpperBound(), (3.0, NAN, NAN), {"published": 2.0}, NOT_AS_CLAIMED,
         "The ratio does not exceed 1: 3.00 (bound: 2); so it is."),
        (UpperBound(), (1.0, NAN, NAN), {"published": 2.0, "kind": "analogue"}, ANALOGUES,
         "The ratio exceeds 1: 1.00 (bound: 2)."),
        (Direction(1.0, 1), (1.2, 1.1, 1.3), {}, AS_CLAIMED,
         "The ratio exceeds 1: 1.20 [1.10, 1.30]."),
        (Direction(1.0, 1, 0.1), (1.02, 1.01, 1.03), {}, NOT_AS_CLAIMED,
         "The ratio does not exceed 1 to an extent that matters: 1.02 [1.01, 1.03]; so it is."),
        (Direction(1.0, 1), (1.0, 1.0, 1.0), {}, NOT_AS_CLAIMED,
         "The ratio does not exceed 1: 1.00 [1.00, 1.00]; so it is."),
        (Direction(1.0, 1), (0.8, 0.7, 0.9), {}, NOT_AS_CLAIMED,
         "The ratio does not exceed 1: 0.80 [0.70, 0.90]; so it is."),
        (Direction(1.0, 1), (1.0, 0.9, 1.1), {}, OPEN,
         "Whether the ratio exceeds 1 is undecided: 1.00 [0.90, 1.10]."),
    ],
)  # fmt: skip
def test_the_primary_rows_verdict_chooses_the_sentence_and_its_section(
    compared, ends, more, section, sentence
) -> None:
    said = say(claim(why="so it is"), rows(compared, ends, **more))
    assert (said.section, said.sentence) == (section, sentence)


@pytest.mark.parametrize(
    ("runs", "said"),
    [
        (2, "The ratio exceeds 1: 1.2 [1.1, 1.3], over 2 runs."),
        (FEW, f"The ratio exceeds 1: 1.2 [1.1, 1.3], over {FEW} runs."),
        (FEW + 1, "The ratio exceeds 1: 1.2 [1.1, 1.3]."),
        (1, "The ratio exceeds 1: 1.2 [1.1, 1.3]."),
    ],
)
def test_a_number_of_few_runs_says_how_many(runs, said) -> None:
    above, ends = Direction(1.0, 1), (1.2, 1.1, 1.3)
    assert say(claim(number="{it:1}"), rows(above, ends, runs=runs)).sentence == said
    stood = rows(above, ends, runs=runs, verdict="not reached")
    assert "over" not in say(claim(number="{it:1}"), stood).sentence


def test_a_ratio_can_be_told_as_a_multiple_of_its_own_null() -> None:
    table = tidy([{"size": 1, "quantity": "ratio", "value": 1.05, "low": 1.0, "high": 1.1,
                   "published": 1.5, "reference": 1.25}], ["size"])  # fmt: skip
    ends = pd.DataFrame({"difference_low": [-0.5], "difference_high": [0.25]})
    said = say(claim(number="{it.corrected:2}"), {"paper/table": judge(table, Number(), ends)})
    assert "0.84 [0.60, 1.20]" in said.sentence


def test_a_multiple_of_a_null_is_not_said_of_a_row_that_was_not_compared() -> None:
    table = tidy([{"size": 1, "quantity": "ratio", "value": 1.05, "verdict": "not reached",
                   "reference": 1.25, "note": "it stood still"}], ["size"])  # fmt: skip
    judged = {"paper/table": judge(table, Direction(1.0, 1))}
    cannot = "Whether the ratio exceeds 1 cannot be said: it stood still"
    for number in ("{it.corrected:2}", "{it:2}, by chance {it.reference:.1f}"):
        assert say(claim(number=number), judged).sentence == f"{cannot}."
    assert say(claim(number="{it:2}"), judged).sentence == f"{cannot}; by then 1.05."


def test_a_number_that_means_nothing_decides_nothing() -> None:
    said = say(claim(), rows({}, (1.4, 1.3, 1.5), note="over a mean that is not positive"))
    assert (said.verdict, said.section) == ("not reached", OPEN)
    assert said.sentence.endswith("cannot be said: over a mean that is not positive.")
    assert primary_row(claim(), rows({}, (NAN, NAN, NAN)))["verdict"] == "not run"


def test_two_primary_rows_are_refused() -> None:
    tables = rows(RATIO, (1.4, 1.3, 1.5), (1.4, 1.3, 1.5), published=1.4)
    with pytest.raises(OnelayerError, match=r"^finding claim: a claim has one primary row; 2 rows"):
        primary_row(claim(primary={"quantity": "ratio"}), tables)
    with pytest.raises(ValueError, match="no column sise"):
        primary_row(claim(primary={"sise": 1}), tables)


# Remarks.


def remark(sentence, wanted=None, **changed) -> Remark:
    return Remark(
        "remark", "paper/table", {"quantity": "ratio"} | (wanted or {}), sentence, **changed
    )


def test_a_remark_of_which_a_part_was_not_measured_is_not_said() -> None:
    tables = rows(RATIO, (1.4, 1.3, 1.5), (NAN, NAN, NAN), published=1.4)
    whole = remark("{it:1} and {other:1}", {"size": 1}, beside={"other": {"size": 1}})
    assert say(whole, tables).sentence == "1.4 [1.3, 1.5] and 1.4 [1.3, 1.5]"
    for missing in (2, 3):  # a row without a value, and none
        part = remark("{it:1} and {other:1}", {"size": 1}, beside={"other": {"size": missing}})
        assert say(part, tables) is None


def test_a_remark_describes_several_rows_and_decides_nothing() -> None:
    tables = rows(RATIO, (1.4, 1.3, 1.5), (1.1, 1.0, 1.2), (0.9, 0.8, 1.0), published=1.4)
    said = say(remark("{it.rows} ratios are {it:1}; {it.n} each."), tables)
    assert said.sentence == "3 ratios are 0.9 to 1.4; 10 each."
    assert (said.verdict, said.section) == ("", REMARKS)
    two = say(remark("{it.least:g} {it.most:g}, " + "{big:1}", {"size": (1, 3)},
                     beside={"big": {"size": 2}}), tables)  # fmt: skip
    assert two.sentence == "0.9 1.4, 1.1 [1.0, 1.2]"


def test_a_remark_on_rows_that_the_run_has_not_is_not_made() -> None:
    tables = rows(RATIO, (NAN, NAN, NAN), published=1.4)
    assert say(remark("{it:1}"), {}) is None
    assert say(remark("{it:1}"), tables) is None
    assert say(remark("{it:1}", {"size": 9}), tables) is None


def test_an_entry_that_differs_between_rows_cannot_be_told() -> None:
    tables = rows(RATIO, (1.4, 1.3, 1.5), (1.1, 1.0, 1.2), published=1.4)
    with pytest.raises(ValueError, match="value differs between 2 rows"):
        say(remark("{it.value}"), tables)


# The page.


def test_a_page_opens_with_the_score_and_tells_discrepancies_first() -> None:
    tables = rows(Direction(1.0, 1), (1.2, 1.1, 1.3), (0.8, 0.7, 0.9))
    against = claim(name="against", primary={"size": 2, "quantity": "ratio"})
    missing = claim(name="missing", table="paper/none")
    findings = [claim(), against, missing, remark("{it.rows} rows.")]
    text = page(all_said({"A paper": findings}, tables), Places(tables))
    assert [name for name, _ in quotes(text)] == ["against", "claim", "missing", "remark"]
    cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines()]
    assert ["A paper", "3", "1", "0", "0", "0", "1", "0", "0", "1"] in cells
    assert text.index("| A paper") < text.index("## What did not") < text.index("### A paper")
    assert "- **Opposite.** <!-- finding: against -->" in text
    assert text.count("([table](tables/paper/table.md))") == 3
    assert "(none)" in text  # a table that this run has not made is no link
    said = say(claim(), tables)
    assert quotes("a\n" + quoted("claim", said.sentence).replace("1.10,", "1.10,\n")) == [
        ("claim", said.sentence)
    ]


def test_what_other_settings_ask_beyond_the_papers_is_counted_and_not_told() -> None:
    tables = rows(Direction(1.0, 1), (1.2, 1.1, 1.3))
    asked = claim(place=BEYOND)
    not_measured = rows(Direction(1.0, 1), (NAN, NAN, NAN))["paper/table"]
    tables["paper/other"] = not_measured.assign(verdict="not run", note="needs a hub")
    needs = claim(name="needs", table="paper/other", place=BEYOND)
    others = [claim(name=f"other_{n}", table="paper/none", place=BEYOND) for n in range(3)]
    own = claim(name="own", table="paper/none")
    text = page(all_said({"A paper": [asked, needs, *others, own]}, tables), Places(tables))
    assert [name for name, _ in quotes(text)] == ["own", "claim", "needs"]
    assert "- **Not run.** 3 of the claims, which other settings ask for." in text
    counts = [line for line in text.splitlines() if line.startswith("| A paper: beyond")]
    assert counts[0].split("|")[-2].strip() == "4"


@pytest.mark.parametrize(
    ("predicted", "exact", "as_predicted", "otherwise"),
    [
        ("reproduced", False, "reproduced smaller larger", "negligible opposite"),
        ("reproduced", True, "reproduced", "smaller larger negligible opposite"),
        ("opposite", False, "opposite", "reproduced smaller larger negligible"),
        ("undecided", False, "negligible opposite", "reproduced smaller larger"),
    ],
)
def test_what_becomes_of_a_prediction_follows_from_the_verdict(
    predicted, exact, as_predicted, otherwise
) -> None:
    finding = claim(predicted=predicted)
    outcome = {v: came(Said(finding, v, "analogue", "", exact=exact)) for v in VERDICTS}
    for verdict in as_predicted.split():
        assert outcome[verdict] == AS_PREDICTED, verdict
    for verdict in otherwise.split():
        assert outcome[verdict] == NOT_AS_PREDICTED, verdict
    assert outcome["not run"] == outcome["not reached"] == NOT_DECIDED
    assert outcome["undecided"] == NOT_DECIDED


@pytest.mark.parametrize(
    ("compared", "more", "came_out"),
    [
        (Number(None), {}, NOT_AS_PREDICTED),  # nothing means 'no effect'
        (THEORY, {"kind": "analogue"}, NOT_AS_PREDICTED),
        (GAP, {}, NOT_AS_PREDICTED),
        (Number(0.0), {"kind": "analogue"}, AS_PREDICTED),
    ],
)
def test_who_predicts_a_number_is_wrong_about_another_where_there_is_no_part_of_it(
    compared, more, came_out
) -> None:
    assert came(say(claim(), rows(compared, (1.1, 1.05, 1.15), published=1.0, **more))) == came_out


@pytest.mark.parametrize(
    ("predicted", "ends", "came_out"),
    [
        ("reproduced", (1.02, 1.01, 1.03), NOT_DECIDED),
        ("reproduced", (1.0, 0.99, 1.01), NOT_AS_PREDICTED),
        ("reproduced", (0.98, 0.97, 0.99), NOT_AS_PREDICTED),
        ("opposite", (0.98, 0.97, 0.99), NOT_DECIDED),
        ("opposite", (1.02, 1.01, 1.03), NOT_AS_PREDICTED),
        ("negligible", (1.02, 1.01, 1.03), AS_PREDICTED),
    ],
)
def test_too_small_an_effect_on_the_side_that_was_predicted_does_not_refute_it(
    predicted, ends, came_out
) -> None:
    tables = rows(Direction(1.0, 1, 0.1), ends)
    assert came(say(claim(predicted=predicted), tables)) == came_out
    strict = came(say(claim(predicted=predicted, refuted_if_undecided=True), tables))
    assert strict == (NOT_AS_PREDICTED if came_out == NOT_DECIDED else came_out)


def test_a_prediction_that_is_refuted_unless_shown_is_not_left_open() -> None:
    tables = rows(RATIO, (1.0, 0.8, 1.2), published=1.4)
    for refuted, came_out in ((True, NOT_AS_PREDICTED), (False, NOT_DECIDED)):
        assert came(say(claim(refuted_if_undecided=refuted), tables)) == came_out


def test_a_prediction_of_two_rows_is_right_in_part_where_one_of_them_is_not_as_predicted() -> None:
    two = {"beside": {"two": {"size": 2}}, "also_predicted": "two"}
    for other, came_out in (((1.4, 1.3, 1.5), AS_PREDICTED), ((0.8, 0.7, 0.9), PARTLY),
                            ((1.2, 0.8, 1.6), PARTLY)):  # fmt: skip
        tables = rows(RATIO, (1.4, 1.3, 1.5), other, published=1.4)
        assert came(say(claim(**two), tables)) == came_out
    tables = rows(RATIO, (0.8, 0.7, 0.9), (1.4, 1.3, 1.5), published=1.4)
    assert came(say(claim(**two), tables)) == NOT_AS_PREDICTED


def test_what_stands_beside_is_told_where_the_run_has_it() -> None:
    """Also of what is undecided; in a run without those rows the rest of the sentence stays."""
    beside = {"also": "at size 2 {two.value:.1f}", "beside": {"two": {"size": 2}}}
    told = say(claim(**beside), rows(RATIO, (1.4, 1.3, 1.5), (0.8, 0.7, 0.9), published=1.4))
    assert told.sentence.endswith("(published: 1.4); at size 2 0.8.")
    told = say(claim(**beside), rows(RATIO, (1.2, 0.8, 1.6), (0.8, 0.7, 0.9), published=1.4))
    assert told.sentence.endswith("[0.80, 1.60] (published: 1.4); at size 2 0.8.")
    told = say(claim(**beside), rows(RATIO, (1.4, 1.3, 1.5), published=1.4))
    assert told.sentence.endswith("1.40 [1.30, 1.50] (published: 1.4).")


def test_the_contrary_is_said_as_such() -> None:
    more = {"does": "attends more than chance", "does_not": "attends no more than chance"}
    tables = rows(RATIO, (0.8, 0.7, 0.9), published=1.4)
    assert say(claim(**more), tables).sentence.startswith("The ratio attends less than chance: ")
    tables = rows(RATIO, (1.0, 0.98, 1.02), published=1.4)
    assert say(claim(**more), tables).sentence.startswith("The ratio attends no more than chance, ")
    more = {"does": "is larger", "does_not": "", "contrary": "is smaller"}
    for ends, told in (((0.8, 0.7, 0.9), "smaller"), ((1.01, 0.99, 1.03), "not larger to an ext")):
        tables = rows(Direction(1.0, 1, 0.1), ends)
        assert say(claim(**more), tables).sentence.startswith(f"The ratio is {told}")


def test_a_verdict_that_does_not_hold_for_all_claims_together_says_so() -> None:
    tables = rows(RATIO, (1.4, 1.3, 1.5), published=1.4)
    board = pd.DataFrame({"finding": ["claim"], "quantity": [HOLM], "n": [7.0]})
    for verdict, told in (("undecided", "; undecided once corrected for all claims of the paper."),
                          ("reproduced", "(published: 1.4).")):  # fmt: skip
        tables[SCOREBOARD] = board.assign(verdict=verdict)
        assert say(claim(), tables).sentence.endswith(told)


def test_a_prediction_expects_a_verdict() -> None:
    assert {finding.predicted for claims in CLAIMS.values() for finding in claims} <= {*VERDICTS}


def test_analogues_and_controls_are_counted_apart_and_nothing_twice() -> None:
    kinds = [*KINDS, "analogue", "analogue"]
    judged = pd.DataFrame({"paper": "P", "kind": kinds, "verdict": "reproduced"})
    judged["place"] = ["Fig. 1"] * (len(kinds) - 1) + [BEYOND]
    found = scores(judged).set_index("paper")
    counts = {"P": "4", "P: analogues": "2", f"P: {BEYOND}": "1", "P: controls": "1"}
    assert found["claims"].to_dict() == counts
    assert list(found.index) == list(counts)
    assert found["reproduced"].tolist() == found["claims"].tolist()
    assert set(found["smaller"]) == {"0"}
    assert list(scores(judged[:0])) == ["paper", "claims", *VERDICTS]


# What is checked when the workflow is read.

NUMBERS = "model,ratio\nbert,1.32\nbart,\ntwin,1\ntwin,2\n"


@pytest.fixture
def reference(tmp_path):
    (tmp_path / "numbers.csv").write_text(NUMBERS)
    return tmp_path


def stands(model="bert", column="ratio", file="numbers.csv") -> Published:
    return Published(file, {"model": model}, column)


@pytest.mark.parametrize(
    ("findings", "line"),
    [
        ([claim(primary={})],
         "p/claim: a claim has one primary row; this one has none: `primary` is empty"),
        ([claim(), claim(primary={"size": 2})],
         "p/claim: a claim has one primary row; this one has two"),
        ([claim(primary={"size": (1, 2), "quantity": "ratio"})],
         "p/claim: a claim has one primary row; `primary` has several values of size"),
        ([claim(subject="the {it.n} ratios")],
         "p/claim: only `number`, `why` and `also` take numbers of rows"),
        ([claim(), claim(name="again")], "p/again: its primary row decides claim already"),
        ([claim(table="paper/tabel")], "p/claim: no table paper/tabel"),
        ([Remark("said", "paper/tabel", {}, "")], "p/said: no table paper/tabel"),
        ([claim(name="a-b")], "p/a-b: a name has small letters, digits and _"),
        ([claim(place="")], "p/claim: `place` does not say where the paper claims it"),
        ([claim(kind="published")],
         "p/claim: `published` does not say where the number stands"),
        ([claim(published=stands(file="none.csv"))],
         "p/claim: the published numbers {reference}/none.csv do not exist"),
        ([claim(published=stands("gpt"))],
         "p/claim: no rows with model = gpt in {reference}/numbers.csv, not one"),
        ([claim(published=stands("twin"))],
         "p/claim: 2 rows with model = twin in {reference}/numbers.csv, not one"),
        ([claim(published=stands("bart"))],
         "p/claim: no number in column ratio, model = bart, of {reference}/numbers.csv"),
        ([claim(published=stands(column="std"))],
         "p/claim: no number in column std, model = bert, of {reference}/numbers.csv"),
    ],
)  # fmt: skip
def test_a_claim_without_its_row_or_its_reference_is_one_line(reference, findings, line) -> None:
    with pytest.raises(OnelayerError) as caught:
        check({"p": findings}, ["paper/table"], reference)
    assert str(caught.value) == "finding " + line.format(reference=reference)


@pytest.mark.parametrize(
    ("does", "does_not"),
    [
        ("ends", "does not end"),
        ("has two ends", "does not have two ends"),
        ("is larger", "is not larger"),
        ("are larger", "are not larger"),
        ("fall early", "do not fall early"),
    ],
)
def test_what_is_claimed_is_negated_in_plain_words(does, does_not) -> None:
    assert claim(does=does, does_not="").does_not == does_not


def test_two_papers_have_no_findings_of_one_name(reference) -> None:
    with pytest.raises(
        OnelayerError, match=r"^finding q/claim: p has a finding of this name, too$"
    ):
        check({"p": [claim()], "q": [claim(primary={"size": 2})]}, ["paper/table"], reference)


def test_the_workflow_reads_findings_without_numpy_and_pandas() -> None:
    code = (
        "import sys, onelayer.papers.findings; "
        "sys.exit(' '.join({'numpy', 'pandas', 'scipy', 'torch'} & sys.modules.keys()))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.stderr.strip() == ""


# The papers' own.

NO = {"no", "not", "cannot"}


def test_every_paper_has_its_list() -> None:
    assert list(FINDINGS) == list(PAPERS) and list(BY_TITLE) == list(PAPERS.values())
    assert all(isinstance(one, Finding) for own in CLAIMS.values() for one in own)


@pytest.mark.parametrize(
    "finding",
    [one for own in CLAIMS.values() for one in own],
    ids=lambda finding: finding.name,
)
def test_a_claim_is_told_in_plain_words(finding) -> None:
    assert finding.kind in KINDS
    assert finding.claim and finding.subject and finding.does and finding.does_not
    # What does not matter, either, is said by a negation: the contrary has a place of its own.
    assert NO & {*finding.does.split(), *finding.does_not.split()}
    texts = (finding.claim, finding.subject, finding.does, finding.does_not, finding.why)
    texts += (finding.also, finding.contrary)
    for jargon in ("come back", "comes back", "here", "beside"):
        assert all(jargon not in text.split() for text in texts), jargon
    # The paper's number stands beside ours, and a third may say of how many.
    assert finding.number.count("{") + finding.why.count("{") <= 3
    assert finding.also.count("{") <= 3
