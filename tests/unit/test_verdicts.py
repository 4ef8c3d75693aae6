"""Claims about the one rule that judges a number, and about what it says was compared."""

import math

import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats

from onelayer.evidence.tables import VALUE_COLUMNS, tidy
from onelayer.evidence.verdicts import (
    DIFFERENCE,
    FLOAT32,
    KINDS,
    THEORY,
    Direction,
    Measured,
    Number,
    UpperBound,
    excludes,
    judge,
    percent,
    rounding,
    worded,
)
from tests.faults.generated import GENERATED
from tests.oracle.judgement import share_of, verdicts_of

NAN = math.nan
PROPERTY = settings(GENERATED, max_examples=300)


def judged(compared, **row) -> pd.Series:
    """One row, judged."""
    differences = pd.DataFrame({end: [row.pop(end, NAN)] for end in DIFFERENCE})
    table = tidy([{"quantity": "ratio"} | row], [])
    return judge(table, compared, differences).iloc[0]


@pytest.mark.parametrize(
    ("ours", "published", "expected"),
    [
        ((NAN, NAN, NAN), 1.32, "not run"),
        ((1.30, 1.2, 1.4), NAN, ""),
        ((1.30, 1.25, 1.35), 1.32, "reproduced"),
        ((1.20, 1.001, 1.40), 1.32, "reproduced"),
        ((1.30, NAN, NAN), 1.30, "reproduced"),  # exact
        ((1.30, NAN, NAN), 1.31, "smaller"),
        ((1.50, 1.46, 1.54), 1.32, "larger"),
        ((0.50, 0.46, 0.54), 0.70, "larger"),  # an effect below 1
        ((0.80, 0.76, 0.84), 0.70, "smaller"),
        ((1.06, 1.02, 1.10), 1.32, "smaller"),  # excludes none, and a tenth is inside
        ((1.02, 1.01, 1.03), 6.29, "negligible"),  # not 1, and of the published effect nothing
        ((0.99, 0.97, 1.01), 1.32, "negligible"),
        ((1.00, 1.00, 1.00), 1.32, "negligible"),
        ((1.00, 0.96, 1.04), 1.32, "undecided"),  # a tenth is .032: a little too wide
        ((0.90, 0.85, 0.95), 1.32, "opposite"),
        ((1.50, 1.46, 1.54), 0.70, "opposite"),
        ((1.20, 0.90, 1.50), 1.32, "undecided"),  # reaches the published number and no effect
        ((1.20, 1.00, 1.40), 1.32, "undecided"),  # so does this one, at its end
        ((0.95, 0.80, 1.10), 1.32, "undecided"),
        ((1.50, 1.46, 1.54), 1.0, "undecided"),  # no effect was published: no share of it
    ],
)
def test_the_interval_of_the_effect_decides(ours, published, expected) -> None:
    assert Number().verdict(Measured(*ours, published)) == expected


def test_an_interval_that_ends_at_a_tenth_is_within_it_and_one_that_ends_at_nothing_holds_it():
    assert Number(0.0).verdict(Measured(0.0, -0.1, 0.1, 1.0)) == "negligible"
    assert Number(0.0).verdict(Measured(-0.5, -1.0, 0.0, 1.0)) == "undecided"


def test_the_reference_is_the_rows_own_null_with_its_spread() -> None:
    row = {"value": 0.974, "low": 0.954, "high": 0.994, "published": 1.40, "kind": "analogue"}
    assert judged(Number(), **row)["verdict"] == "opposite"
    # Permuted topics give .962 and not 1; ours minus that is .012 [-.003, .029].
    null = {"reference": 0.962, "difference_low": -0.003, "difference_high": 0.029}
    beside = judged(Number(), **row, **null)
    assert (beside["verdict"], beside["kind"]) == ("negligible", "analogue")
    assert beside["effect"] == pytest.approx(1.40 - 0.962)
    assert beside["effect_share"] == pytest.approx(0.012 / 0.438)
    assert beside["effect_low"] == pytest.approx(-0.003 / 0.438)
    assert beside["effect_high"] == pytest.approx(0.029 / 0.438)


def test_the_interval_of_an_effect_below_the_reference_is_turned_round() -> None:
    row = judged(Number(), value=0.5, low=0.4, high=0.7, published=0.6)
    assert row["effect"] == pytest.approx(-0.4)
    share = row[["effect_low", "effect_share", "effect_high"]].tolist()
    assert share == pytest.approx([0.75, 1.25, 1.5])


@pytest.mark.parametrize(
    ("ours", "published", "tolerance", "expected"),
    [
        ((1.304, NAN, NAN), 1.30, 0.005, "reproduced"),
        ((1.306, NAN, NAN), 1.30, 0.005, "larger"),
        ((1.29, 1.28, 1.294), 1.30, 0.005, "smaller"),
        ((1.29, 1.28, 1.295), 1.30, 0.005, "reproduced"),
        # .01 that is known to .01 may be none: nothing can be a share of it.
        ((1.03, 1.025, 1.035), 1.01, 0.01, "undecided"),
        ((1.010, 1.009, 1.011), 1.01, 0.005, "reproduced"),
    ],
)
def test_what_was_rounded_away_is_no_difference(ours, published, tolerance, expected) -> None:
    assert Number().verdict(Measured(*ours, published, NAN, tolerance)) == expected


@pytest.mark.parametrize(
    ("runs", "expected"), [(0, "larger"), (1, "larger"), (2, "reproduced"), (10, "reproduced")]
)
def test_the_spread_of_the_published_mean_is_granted_where_its_runs_are_known(runs, expected):
    ours = Measured(1.50, 1.46, 1.54, 1.43, published_std=0.12)
    assert Number(published_runs=runs).verdict(ours) == expected
    # The interval of the difference of two means, each with its own.
    half = math.hypot(0.04, stats.t.ppf(0.975, 9) * 0.12 / math.sqrt(10))
    assert 0.07 < half < 0.1
    farther = ours._replace(published=1.50 - half - 1e-6)
    assert Number(published_runs=10).verdict(farther) == "larger"
    assert Number(published_runs=10).verdict(farther._replace(published=1.50 - half + 1e-6)) == (
        "reproduced"
    )


def test_an_interval_without_width_needs_the_tolerance_of_its_method() -> None:
    entropy, final = 0.666278442, 0.66627850
    exact = Measured(final, final, final, entropy)
    assert Number(0.64, kind="theory").verdict(exact) == "larger"
    assert Number(0.64, kind="theory", relative=FLOAT32).verdict(exact) == "reproduced"
    assert 1e-7 < FLOAT32 < 2e-6
    theory = Number(0.5, kind="theory", relative=1e-3)
    assert theory.tolerance(Measured(0.9, published=2.0)) == pytest.approx(0.002)
    assert theory.tolerance(Measured(0.9, published=2.0, tolerance=0.1)) == 0.1
    assert math.isnan(Number().tolerance(Measured(0.9, published=2.0)))


@pytest.mark.parametrize(
    ("ours", "expected"),
    [
        ((0.6, NAN, NAN), "reproduced"),
        ((0.61, NAN, NAN), "larger"),
        ((0.59, 0.58, 0.595), "smaller"),
        ((0.6, 0.55, 0.65), "reproduced"),  # a tenth of .6 on either side is .06
        ((0.6, 0.53, 0.67), "undecided"),
        ((0.3, 0.0, 0.59), "smaller"),
    ],
)
def test_where_nothing_means_no_effect_the_interval_must_be_narrow(ours, expected) -> None:
    assert THEORY.verdict(Measured(*ours, 0.6)) == expected
    mirrored = (ours[0], *sorted(ours[1:], reverse=True))
    assert THEORY.verdict(Measured(*(-end for end in mirrored), -0.6)) == expected
    wide = Number(None, kind="theory", unit=2.0)  # a tenth of which is .2
    assert wide.verdict(Measured(0.6, 0.5, 0.7, 0.6)) == "reproduced"
    share = THEORY.effect(Measured(0.5, 0.4, 0.6, 0.25))
    assert share[1:] == pytest.approx((0.25, 2.0, 1.6, 2.4))
    assert THEORY.effect(Measured(0.5, 0.4, 0.6, 0.0)).effect == 1.0


@pytest.mark.parametrize(
    ("ours", "unit", "expected"),
    [
        ((1.000, 0.999, 1.001), 0.32, "negligible"),
        ((1.02, 1.01, 1.03), 0.32, "negligible"),
        ((1.00, 0.90, 1.10), 0.32, "undecided"),  # too wide to show that there is none
        ((1.10, 1.05, 1.15), 0.32, "smaller"),
        ((1.32, 1.28, 1.36), 0.32, "reproduced"),
        ((1.60, 1.55, 1.65), 0.32, "larger"),
        ((0.80, 0.75, 0.85), 0.32, "opposite"),
        ((1.10, 1.05, 1.15), -0.32, "opposite"),
        ((1.00, 0.99, 1.01), NAN, ""),
        ((1.00, 0.99, 1.01), 0.0, ""),  # a control of nothing
    ],
)
def test_a_control_is_negligible_only_if_its_interval_is_narrow_enough(ours, unit, expected):
    control = Number(kind="control", unit=unit)
    assert control.verdict(Measured(*ours)) == expected
    assert control.verdict(Measured(*ours, published=0.99)) == expected  # whatever was published
    assert control.verdict(Measured(NAN)) == ("not run" if expected else "")


@pytest.mark.parametrize(
    ("ours", "bound", "expected"),
    [
        ((1.0, NAN, NAN), 2.0, "reproduced"),
        ((2.0, NAN, NAN), 2.0, "reproduced"),
        ((3.0, NAN, NAN), 2.0, "opposite"),
        ((math.inf, NAN, NAN), 2.0, "opposite"),
        ((1.5, 1.0, 2.0), 2.0, "reproduced"),
        ((1.5, 1.0, 2.1), 2.0, "undecided"),
        ((2.5, 2.0, 3.0), 2.0, "undecided"),
        ((3.0, 2.1, 4.0), 2.0, "opposite"),
        ((NAN, NAN, NAN), 2.0, "not run"),
        ((1.0, NAN, NAN), NAN, ""),
    ],
)
def test_a_bound_holds_from_above_only(ours, bound, expected) -> None:
    assert UpperBound().verdict(Measured(*ours, bound)) == expected


def test_our_effect_beside_a_bound_is_our_share_of_it_also_of_a_negative_one() -> None:
    row = judged(UpperBound(), value=-3.0, low=-4.0, high=-2.5, published=-2.0)
    assert row["verdict"] == "reproduced"
    assert row[["effect_low", "effect_share", "effect_high"]].tolist() == [1.25, 1.5, 2.0]


@pytest.mark.parametrize(
    ("low", "high", "side", "matters", "expected"),
    [
        (0.1, 0.2, 1, 0.0, "reproduced"),
        (-0.1, 0.2, 1, 0.0, "undecided"),
        (0.0, 0.2, 1, 0.0, "undecided"),
        (-0.2, 0.1, -1, 0.0, "undecided"),
        (-0.2, -0.1, 1, 0.0, "opposite"),
        (0.1, 0.2, -1, 0.0, "opposite"),
        (-0.1, 0.0, 1, 0.0, "opposite"),  # nowhere above 0
        (-0.2, -0.1, -1, 0.0, "reproduced"),
        (0.0, 0.0, 1, 0.0, "negligible"),  # nothing but no effect
        (0.0, 0.0, -1, 0.0, "negligible"),
        (0.01, 0.04, 1, 0.05, "negligible"),
        (-0.04, 0.04, -1, 0.05, "negligible"),
        (0.01, 0.06, 1, 0.05, "reproduced"),
        (-0.06, 0.04, 1, 0.05, "undecided"),
        (NAN, NAN, 1, 0.05, "undecided"),  # one run decides nothing
    ],
)
def test_a_claim_holds_where_its_whole_interval_lies_on_its_side(
    low, high, side, matters, expected
) -> None:
    assert Direction(0.0, side, matters).verdict(Measured(0.02, low, high)) == expected


def test_a_direction_has_its_null_before_its_reference() -> None:
    row = judged(Direction(1.0, 1), value=1.02, low=1.01, high=1.03, reference=1.03,
                 difference_low=-0.03, difference_high=0.01)  # fmt: skip
    assert (row["verdict"], row["reference"]) == ("undecided", 1.03)
    assert row["effect_high"] == pytest.approx(0.01)
    for compared in (Direction(1.0, 1), Number(1.0, kind="control", unit=1.0)):
        row = judged(compared, value=1.02, low=1.01, high=1.03, reference=1.03)
        assert row["effect_low"] == pytest.approx(-0.02)  # of a null without a spread


# Properties.

SHARES = st.floats(-3, 5).map(lambda share: round(share, 3))
HALVES = st.floats(0.001, 3).map(lambda half: round(half, 3))
UNITS = st.sampled_from([-7.0, -0.3, 0.004, 1.0, 12.5])


def measured(share, half, unit, reference):
    """A number that lies so many effects away from its reference."""
    ends = sorted((share + sign * half) * unit + reference for sign in (-1, 1))
    return Measured(share * unit + reference, *ends, published=reference + unit)


@PROPERTY
@given(SHARES, HALVES, UNITS, st.sampled_from([0.0, 1.0, -40.0]))
def test_neither_the_unit_nor_the_sign_nor_the_reference_changes_a_verdict(
    share, half, unit, reference
) -> None:
    # Away from the edges, where rounding decides.
    for edge in (-0.1, 0.0, 0.1, 1.0):
        assume(min(abs(share - half - edge), abs(share + half - edge)) > 1e-9)
    plain = Number(0.0).verdict(measured(share, half, 1.0, 0.0))
    assert Number(reference).verdict(measured(share, half, unit, reference)) == plain
    own_null = measured(share, half, unit, reference)._replace(reference=reference)
    assert Number(99.0).verdict(own_null) == plain


@PROPERTY
@given(st.floats(-3, 5), HALVES, st.floats(0, 8))
def test_a_larger_effect_never_has_a_lower_verdict(share, half, more) -> None:
    order = ["opposite", "negligible", "smaller", "reproduced", "larger"]
    found = [Number(0.0).verdict(measured(e, half, 1.0, 0.0)) for e in (share, share + more)]
    assume("undecided" not in found)
    assert order.index(found[0]) <= order.index(found[1])


@PROPERTY
@given(SHARES, HALVES, st.floats(1.0, 50))
def test_a_wider_interval_decides_no_more(share, half, times) -> None:
    narrow = Number(0.0).verdict(measured(share, half, 1.0, 0.0))
    wide = Number(0.0).verdict(measured(share, half * times, 1.0, 0.0))
    # It may lose an exclusion, never gain one: of no effect, the published one, or an effect.
    excluded = {
        "smaller": {"none", "published"},
        "larger": {"none", "published"},
        "reproduced": {"none"},
        "negligible": {"published"},
        "opposite": {"none", "published"},
        "undecided": set(),
    }
    if narrow == "negligible":
        assert wide not in {"reproduced", "larger"}
    else:
        assert excluded[wide] <= excluded[narrow]


@PROPERTY
@given(SHARES, HALVES)
def test_a_precise_nothing_is_negligible_and_what_holds_nothing_is_never_reproduced(share, half):
    found = Number(0.0).verdict(measured(share, half, 1.0, 0.0))
    if abs(share) + half <= 0.1 - 1e-9:
        assert found == "negligible"
    if abs(share) < half and half > 0.1 + abs(share) + 1e-9:
        assert found == "undecided"


NUMBERS = st.floats(-4, 4).map(lambda value: round(value, 4))
COMPARED = st.sampled_from(
    [
        Number(), Number(0.0), Number(None), THEORY, Number(None, kind="theory", unit=0.5),
        Number(0.5, kind="theory", relative=1e-3), Number(kind="control", unit=0.3),
        Number(0.0, kind="control", unit=-2.0), UpperBound(), Direction(0.0, 1),
        Direction(1.0, -1, matters=0.2), Direction(0.5, 1, 0.01, kind="analogue"),
    ]
)  # fmt: skip


@PROPERTY
@given(COMPARED, NUMBERS, HALVES | st.just(NAN), HALVES, NUMBERS | st.just(NAN),
       st.sampled_from([NAN, 0.0, 0.01]), NUMBERS | st.just(NAN),
       st.sampled_from(["", "analogue"]))  # fmt: skip
def test_whoever_has_the_columns_can_judge_again(
    compared, value, below, above, published, tolerance, null, kind
) -> None:
    ends = {"low": value - below, "high": value + above}
    if math.isnan(below):
        ends = {}
    if isinstance(compared, Direction):  # what has a published number is compared with that
        published = NAN
    if compared.kind == "control":
        kind = ""
    assume(published != 0 or not kind)
    row = judged(compared, value=value, published=published, tolerance=tolerance,
                 reference=null, kind=kind, **ends)  # fmt: skip
    assert row["verdict"] in verdicts_of(row)
    assert row["kind"] in {*KINDS, ""}
    if not math.isnan(row["effect_share"]):
        assert row["effect_share"] == pytest.approx(share_of(row))
        if ends:
            assert row["effect_low"] <= row["effect_share"] <= row["effect_high"]


# Tables.


def test_every_row_says_what_it_was_compared_with() -> None:
    rows = [
        {"quantity": "ratio", "value": 1.5, "published": 2.0},
        {"quantity": "ratio", "value": 1.5, "published": 2.0, "kind": "analogue"},
        {"quantity": "ratio", "value": 1.5},
        {"quantity": "ratio", "value": 1.5, "kind": "control"},
        {"quantity": "ratio", "published": 2.0},
        {"quantity": "gap", "value": 0.5, "published": 0.5},
        {"quantity": "time", "value": 0.5, "published": 1.0},
        {"quantity": "order", "value": 0.5, "low": 0.1, "high": 0.9},
        {"quantity": "random", "value": 1.0},
    ]
    compared = {"ratio": Number(), "time": UpperBound(), "order": Direction(0.0, 1)}
    compared |= {"random": Number(kind="control", unit=0.3)}
    table = judge(tidy(rows, []), compared | {"gap": Number(0.0, kind="theory")})
    assert table["kind"].tolist() == [
        "published", "analogue", "", "", "published", "theory", "bound", "claim", "control",
    ]  # fmt: skip
    assert set(table["kind"]) <= {*KINDS, ""}
    assert table["verdict"].tolist() == [
        "smaller", "smaller", "", "", "not run", "reproduced", "reproduced", "reproduced",
        "negligible",
    ]  # fmt: skip
    assert table.columns.tolist() == VALUE_COLUMNS
    assert table["effect_share"].dropna().tolist() == [0.5, 0.5, 1.0, 0.5, 0.5, 0.0]


def test_a_run_that_stood_still_is_never_judged_by_where_it_stands() -> None:
    row = judged(Number(0.0), value=0.01, published=0.01, verdict="not reached")
    assert (row["verdict"], row["kind"]) == ("not reached", "published")
    assert math.isnan(row["effect_share"]) and math.isnan(row["reference"])
    never = judged({}, value=NAN, verdict="not reached")
    assert (never["verdict"], never["kind"]) == ("not reached", "")


def test_a_row_that_rests_on_one_training_stays_undecided() -> None:
    rows = [{"quantity": "ratio", "value": 2.0, "verdict": "undecided"} | ends for ends in (
        {"published": 2.0}, {}, {"published": 9.0}
    )]  # fmt: skip
    assert list(judge(tidy(rows, []), Number())["verdict"]) == ["undecided", "", "undecided"]
    missing = judged(Number(), value=NAN, published=2.0, verdict="undecided")
    assert missing["verdict"] == "not run"


@pytest.mark.parametrize(
    ("printed", "half"),
    [("1.30", 0.005), ("1.3", 0.05), ("0.0000239", 5e-8), ("2", 0.5), ("0.99996", 5e-6)],
)
def test_a_number_is_known_to_half_a_unit_of_its_last_digit(printed, half) -> None:
    assert rounding(printed) == pytest.approx(half, rel=1e-12)


# What readers see.


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (0.0, "0%"), (-0.003, "0%"), (0.003, "0%"), (-0.006, "-1%"), (0.13, "13%"), (1.0, "100%"),
        (0.998, "99.8%"), (1.002, "100.2%"), (0.9998, "99.98%"), (2.5, "250%"), (-0.5, "-50%"),
    ],
)  # fmt: skip
def test_a_share_is_no_minus_zero_and_no_false_whole(share, text) -> None:
    assert percent(share) == text


def row_of(compared, **row):
    return judged(compared, **row).to_dict()


@pytest.mark.parametrize(
    ("value", "half", "words"),
    [
        (1.01, 0.01, "negligible (3% of the effect)"),
        (0.999, 0.001, "negligible (0% of the effect)"),
        (1.1, 0.05, "smaller (31% of the effect)"),
        (1.6, 0.05, "larger (188% of the effect)"),
        (0.8, 0.05, "opposite (-62% of the effect)"),
        (1.3, 0.1, "reproduced"),
        (1.0, 0.049, "undecided (at most 16% of the effect)"),  # .153: never less than what is left
        (1.2, 0.5, "undecided"),
        (NAN, NAN, "not run"),
    ],
)
def test_readers_see_how_much_of_the_effect_there_is(value, half, words) -> None:
    row = row_of(Number(), value=value, low=value - half, high=value + half, published=1.32)
    assert worded(row) == words


def test_what_one_training_leaves_undecided_excludes_nothing() -> None:
    for value, half in ((1.2, 0.01), (1.01, 0.001), (0.9, 0.01)):
        ends = {"low": value - half, "high": value + half, "published": 1.5}
        row = row_of(Number(), value=value, verdict="undecided", **ends)
        assert row["verdict"] == "undecided" and excludes(row) == ""


@pytest.mark.parametrize(
    ("low", "high", "said"),
    [
        (-0.5, 0.15, "at most 15%"),
        (-0.05, 0.15, "at most 15%"),  # one end within a tenth of nothing decides nothing
        (-0.5, 0.05, "at most 5%"),
        (0.0, 0.5, "at most 50%"),  # an end at nothing excludes no effect
        (-0.5, 0.0, "at most 0%"),
        (-0.5, 0.9999, "at most 100%"),
        (-0.5, 1.0, ""),  # not even all of it
        (-0.1, 0.1, ""),  # the interval alone would decide
        (0.2, 0.5, ""),
        (-0.5, -0.1, ""),
        (float("nan"), float("nan"), ""),
    ],
)
def test_what_an_undecided_row_excludes_is_its_intervals_upper_end(low, high, said) -> None:
    assert excludes({"effect_low": low, "effect_high": high}) == said
