"""Claims about the one rule that judges a number, and about what it says was compared."""

import math

import numpy as np
import pytest

from onelayer.tables import tidy
from onelayer.verdicts import (
    FLOAT32,
    KINDS,
    Direction,
    Measured,
    Number,
    UpperBound,
    judge,
    rounding,
    worded,
)

NAN = math.nan
THEORY = Number(0.5, kind="theory", relative=1e-3)


@pytest.mark.parametrize(
    ("ours", "published", "std", "expected"),
    [
        ((NAN, NAN, NAN), 1.32, NAN, "not run"),
        ((1.30, 1.2, 1.4), NAN, NAN, ""),
        ((1.30, 1.25, 1.35), 1.32, NAN, "within"),
        ((1.50, 1.46, 1.54), 1.32, 0.08, "within"),  # two published standard deviations
        ((1.30, NAN, NAN), 1.30, NAN, "within"),
        ((1.30, NAN, NAN), 1.31, NAN, "direction"),
        ((1.50, 1.46, 1.54), 1.32, NAN, "direction"),
        ((1.02, 1.01, 1.03), 6.29, NAN, "direction"),  # negligible; the share says so
        ((0.50, 0.46, 0.54), 0.70, NAN, "direction"),  # an effect below 1
        ((0.90, 0.85, 0.95), 1.32, NAN, "differs"),
        ((1.00, 1.00, 1.00), 1.32, NAN, "differs"),  # at the reference: none of it above
        ((1.50, 1.46, 1.54), 0.70, NAN, "differs"),
        ((1.50, 0.90, 2.00), 2.50, NAN, "open"),  # reaches both sides
        ((1.20, 0.90, 1.50), 1.32, NAN, "open"),  # the published number and 'no effect' alike
        ((1.20, 1.00, 1.40), 1.32, NAN, "open"),
        ((1.20, 1.01, 1.40), 1.32, NAN, "within"),
        ((1.20, 0.90, 1.50), 1.001, NAN, "within"),  # no effect claimed
        ((0.95, 0.80, 1.10), 1.32, NAN, "open"),
        ((0.95, 0.80, 1.10), 0.50, NAN, "open"),
        ((1.002, 1.001, 1.003), 0.999, NAN, "direction"),  # no effect claimed, none found
        ((1.02, 1.01, 1.03), 0.999, NAN, "differs"),
        ((0.98, 0.97, 0.99), 1.001, NAN, "differs"),
        ((1.01, 1.001, 1.02), 0.999, NAN, "open"),
        ((0.99, 0.98, 0.999), 1.001, NAN, "open"),
    ],
)
def test_verdict(ours, published, std, expected) -> None:
    assert Number().verdict(Measured(*ours, published, std)) == expected


@pytest.mark.parametrize(
    ("ours", "published", "tolerance", "expected"),
    [
        ((1.304, NAN, NAN), 1.30, 0.005, "within"),
        ((1.306, NAN, NAN), 1.30, 0.005, "direction"),
        ((1.29, 1.28, 1.296), 1.30, 0.005, "within"),
        ((1.02, 1.016, 1.024), 1.01, 0.005, "direction"),
        # .01 that is known to .01 may be none: nothing is claimed but that it is that small.
        ((1.03, 1.025, 1.035), 1.01, 0.01, "differs"),
        ((1.015, 1.005, 1.025), 0.99, 0.01, "open"),
    ],
)
def test_what_was_rounded_away_is_no_difference(ours, published, tolerance, expected) -> None:
    assert Number().verdict(Measured(*ours, published, NAN, tolerance)) == expected


def test_an_interval_without_width_needs_the_tolerance_of_its_method() -> None:
    entropy, final = 0.666278442, 0.66627850
    exact = Measured(final, final, final, entropy)
    assert Number(0.64, kind="theory").verdict(exact) == "direction"
    assert Number(0.64, kind="theory", relative=FLOAT32).verdict(exact) == "within"
    assert 1e-7 < FLOAT32 < 2e-6
    assert THEORY.tolerance(Measured(0.9, published=2.0)) == pytest.approx(0.002)
    assert THEORY.tolerance(Measured(0.9, published=2.0, tolerance=0.1)) == 0.1
    assert math.isnan(Number().tolerance(Measured(0.9, published=2.0)))


def test_without_a_reference_there_are_no_sides() -> None:
    exact = Number(None, kind="theory")
    assert exact.verdict(Measured(0.6, published=0.6 + 1e-13, tolerance=1e-12)) == "within"
    assert exact.verdict(Measured(0.6, published=0.7, tolerance=1e-12)) == "differs"
    assert math.isnan(exact.effect_share(Measured(0.6, published=0.7)))


def test_a_difference_is_judged_against_zero() -> None:
    difference = Number(reference=0.0)
    assert difference.verdict(Measured(0.13, 0.10, 0.16, 0.05)) == "direction"
    assert difference.verdict(Measured(-0.13, -0.16, -0.10, 0.05)) == "differs"


def test_what_no_effect_means_grows_with_the_unit() -> None:
    uniform = Number(reference=0.01, unit=0.01)
    assert uniform.verdict(Measured(0.01004, published=0.00997)) == "direction"
    assert uniform.verdict(Measured(0.0104, published=0.0097)) == "differs"
    assert Number(reference=0.01).verdict(Measured(0.0104, published=0.0097)) == "direction"


@pytest.mark.parametrize(
    ("value", "published", "tolerance", "share"),
    [
        (1.02, 6.29, NAN, 0.02 / 5.29),
        (1.5, 1.25, NAN, 2.0),
        (0.9, 1.2, NAN, -0.5),
        (0.75, 0.5, NAN, 0.5),  # an effect below the reference
        (1.5, 1.004, NAN, NAN),  # no effect is published
        (1.5, 1.01, 0.01, NAN),
        (NAN, 1.5, NAN, NAN),
        (1.5, NAN, NAN, NAN),
    ],
)
def test_our_effect_is_a_share_of_the_published_one(value, published, tolerance, share) -> None:
    ours = Measured(value, published=published, tolerance=tolerance)
    assert Number().effect_share(ours) == pytest.approx(share, nan_ok=True)


@pytest.mark.parametrize(
    ("ours", "bound", "expected"),
    [
        ((1.0, NAN, NAN), 2.0, "within"),
        ((2.0, NAN, NAN), 2.0, "within"),
        ((3.0, NAN, NAN), 2.0, "differs"),
        ((math.inf, NAN, NAN), 2.0, "differs"),
        ((1.5, 1.0, 2.0), 2.0, "within"),
        ((1.5, 1.0, 2.1), 2.0, "open"),
        ((3.0, 2.1, 4.0), 2.0, "differs"),
        ((NAN, NAN, NAN), 2.0, "not run"),
        ((1.0, NAN, NAN), NAN, ""),
    ],
)
def test_a_bound_holds_from_above_only(ours, bound, expected) -> None:
    assert UpperBound().verdict(Measured(*ours, bound)) == expected


@pytest.mark.parametrize(
    ("low", "high", "side", "expected"),
    [
        (0.1, 0.2, 1, "direction"),
        (-0.1, 0.2, 1, "open"),
        (-0.2, 0.1, -1, "open"),
        (-0.2, -0.1, 1, "differs"),
        (0.1, 0.2, -1, "differs"),
        (-0.2, -0.1, -1, "direction"),
        (0.0, 0.0, 1, "differs"),
        (-0.1, 0.0, 1, "differs"),
        (NAN, NAN, 1, "open"),  # one run decides nothing
    ],
)
def test_a_claim_holds_where_its_whole_interval_lies_on_its_side(low, high, side, expected) -> None:
    assert Direction(0.0, side).verdict(Measured(0.1, low, high)) == expected


def test_a_claim_without_a_value_was_not_run() -> None:
    assert Direction(0.0, 1).verdict(Measured(NAN)) == "not run"


def test_quantities_that_only_describe_are_not_judged() -> None:
    rows = [
        {"run": 1, "quantity": "loss", "value": 1.0, "published": 1.0},
        {"run": 1, "quantity": "steps", "value": np.nan},
    ]
    table = tidy(rows, ["run"])
    assert judge(table, {"loss": Number()})["verdict"].tolist() == ["within", ""]
    assert judge(table, Number())["verdict"].tolist() == ["within", "not run"]
    assert judge(table, [Number(), Direction(0, 1)])["kind"].tolist() == ["published", "claim"]


def test_every_row_says_what_it_was_compared_with() -> None:
    rows = [
        {"quantity": "ratio", "value": 1.5, "published": 2.0},
        {"quantity": "ratio", "value": 1.0, "published": 1.001, "kind": "control"},
        {"quantity": "ratio", "value": 1.5},
        {"quantity": "ratio", "value": 1.5, "kind": "control"},
        {"quantity": "ratio", "published": 2.0},
        {"quantity": "gap", "value": 0.5, "published": 0.5},
        {"quantity": "time", "value": 0.5, "published": 1.0},
        {"quantity": "order", "value": 0.5, "low": 0.1, "high": 0.9},
    ]
    compared = {"ratio": Number(), "time": UpperBound(), "order": Direction(0.0, 1)}
    table = judge(tidy(rows, []), compared | {"gap": Number(0.0, kind="theory")})
    assert table["kind"].tolist() == [
        "published", "control", "", "", "published", "theory", "bound", "claim",
    ]  # fmt: skip
    assert set(table["kind"]) <= {*KINDS, ""}
    assert table["verdict"].tolist() == [
        "direction", "direction", "", "", "not run", "within", "within", "direction",
    ]  # fmt: skip
    assert table["effect_share"].dropna().tolist() == [0.5, 1.0]


def test_a_run_that_stood_still_is_never_judged_by_where_it_stands() -> None:
    still = {"quantity": "weight", "value": 0.01, "published": 0.01, "verdict": "not reached"}
    [row] = judge(tidy([still], []), Number(0.0)).to_dict("records")
    assert (row["verdict"], row["kind"]) == ("not reached", "published")
    assert math.isnan(row["effect_share"])
    never = {"quantity": "time", "verdict": "not reached"}
    [row] = judge(tidy([never], []), {}).to_dict("records")
    assert (row["verdict"], row["kind"]) == ("not reached", "")


@pytest.mark.parametrize(
    ("printed", "half"),
    [("1.30", 0.005), ("1.3", 0.05), ("0.0000239", 5e-8), ("2", 0.5), ("0.99996", 5e-6)],
)
def test_a_number_is_known_to_half_a_unit_of_its_last_digit(printed, half) -> None:
    assert rounding(printed) == pytest.approx(half, rel=1e-12)


@pytest.mark.parametrize(
    ("verdict", "share", "words"),
    [
        ("direction", 0.0038, "direction (0% of the effect: negligible)"),
        ("direction", 0.099, "direction (10% of the effect: negligible)"),
        ("direction", 0.1, "direction (10% of the effect)"),
        ("direction", 1.23, "direction (123% of the effect)"),
        ("differs", -0.5, "differs (-50% of the effect)"),
        ("open", 0.4, "open (40% of the effect)"),
        ("within", 0.97, "within"),
        ("within", 0.05, "within (5% of the effect: negligible)"),
        ("not reached", NAN, "not reached"),
        ("", NAN, "–"),
    ],
)
def test_readers_see_how_much_of_the_effect_there_is(verdict, share, words) -> None:
    assert worded(verdict, share) == words


def test_a_row_that_rests_on_one_training_stays_open():
    rows = [{"quantity": "ratio", "value": 2.0, "verdict": "open"} | ends for ends in (
        {"published": 2.0}, {}, {"published": 9.0}
    )]  # fmt: skip
    assert list(judge(tidy(rows, []), Number())["verdict"]) == ["open", "", "open"]
