"""Claims about the one rule that judges a number."""

import math

import numpy as np
import pytest

from onelayer.tables import tidy
from onelayer.verdicts import Direction, Measured, Number, UpperBound, judge

NAN = math.nan


@pytest.mark.parametrize(
    ("ours", "published", "std", "expected"),
    [
        ((1.30, 1.25, 1.35), 1.32, NAN, "within"),
        ((1.50, 1.46, 1.54), 1.32, NAN, "direction"),
        ((1.50, 0.90, 2.00), 2.50, NAN, "differs"),  # our interval does not exclude 1
        ((0.90, 0.85, 0.95), 1.32, NAN, "differs"),
        ((1.50, 1.46, 1.54), 1.32, 0.08, "within"),  # two published standard deviations
        ((1.002, 1.001, 1.003), 0.999, NAN, "direction"),  # neither sees an effect
        ((1.02, 1.01, 1.03), 0.999, NAN, "differs"),
        ((1.30, NAN, NAN), 1.30, NAN, "within"),
        ((1.30, NAN, NAN), 1.31, NAN, "direction"),
        ((1.30, 1.2, 1.4), NAN, NAN, ""),
        ((NAN, NAN, NAN), 1.32, NAN, "not run"),
    ],
)
def test_verdict(ours, published, std, expected) -> None:
    assert Number().verdict(Measured(*ours, published, std)) == expected


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
    ("value", "bound", "expected"),
    [
        (1.0, 2.0, "within"),
        (2.0, 2.0, "within"),
        (3.0, 2.0, "differs"),
        (math.inf, 2.0, "differs"),
        (NAN, 2.0, "not run"),
        (1.0, NAN, ""),
    ],
)
def test_a_bound_holds_from_above_only(value, bound, expected) -> None:
    assert UpperBound().verdict(Measured(value, published=bound)) == expected


@pytest.mark.parametrize(
    ("low", "high", "side", "expected"),
    [
        (0.1, 0.2, 1, "direction"),
        (-0.1, 0.2, 1, "differs"),
        (-0.2, -0.1, 1, "differs"),
        (-0.2, -0.1, -1, "direction"),
        (0.0, 0.0, 1, "differs"),
        (NAN, NAN, 1, "not run"),
    ],
)
def test_a_claim_holds_where_its_whole_interval_lies_on_its_side(low, high, side, expected) -> None:
    assert Direction(0.0, side).verdict(Measured(0.1, low, high)) == expected


def test_quantities_that_only_describe_are_not_judged() -> None:
    rows = [
        {"run": 1, "quantity": "loss", "value": 1.0, "published": 1.0},
        {"run": 1, "quantity": "steps", "value": np.nan},
    ]
    table = tidy(rows, ["run"])
    assert judge(table, {"loss": Number()})["verdict"].tolist() == ["within", ""]
    assert judge(table, Number())["verdict"].tolist() == ["within", "not run"]
