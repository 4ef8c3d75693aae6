"""The one function that judges agrees with the rule as it is said in words."""

from math import nan

from hypothesis import given, settings
from hypothesis import strategies as st

from onelayer.evidence.verdicts import judge
from tests.oracle import judgement

# Whole numbers, and units that are powers of two: what lies on an edge lies there exactly.
WHOLE = st.integers(-40, 40)
WIDTH = st.integers(0, 40)
UNIT = st.sampled_from([4, 8, 16, 32, -4, -8, -16, -32])
SMALL = st.integers(0, 6)
often = settings(max_examples=400, deadline=None)


def row(low, high, null=nan):
    return {"value": (low + high) / 2, "low": low, "high": high, "null": null, "state": ""}


def judged(low, high, null=nan, **claim):
    return judge(row(low, high, null), claim)


@often
@given(WHOLE, WIDTH, WHOLE)
def test_a_bound(low, width, published):
    expected = judgement.bound(low, low + width, published)
    assert judged(low, low + width, rule="bound", published=published) == expected


@often
@given(WHOLE, WIDTH, WHOLE, SMALL, SMALL)
def test_a_theorems_number(low, width, published, tolerance, matters):
    said = {"published": published, "tolerance": tolerance, "matters": matters}
    expected = judgement.number(low, low + width, **said)
    assert judged(low, low + width, rule="number", **said) == expected


@often
@given(WHOLE, WIDTH, WHOLE, st.sampled_from([1, -1]), SMALL)
def test_a_direction(low, width, null, side, matters):
    said = {"side": side, "matters": matters}
    expected = judgement.direction(low, low + width, null, **said)
    assert judged(low, low + width, null, rule="direction", **said) == expected
    assert (
        judge(row(low, low + width), {"rule": "direction", "no_effect": null, **said}) == expected
    )


@often
@given(WHOLE, WIDTH, WHOLE, UNIT, SMALL)
def test_an_effect(low, width, null, unit, tolerance):
    said = {"published": null + unit, "tolerance": tolerance}
    expected = judgement.effect(low, low + width, null, **said)
    assert judged(low, low + width, null, rule="effect", **said) == expected


@often
@given(WHOLE, WIDTH, WHOLE, UNIT, WIDTH, WIDTH)
def test_an_effect_beside_the_range_of_its_null(low, width, null, unit, below, above):
    claim = {"rule": "effect", "published": null + unit}
    ours = row(low, low + width, null)
    ranged = ours | {"null_low": null - below, "null_high": null + above}
    drawn = null - below <= ours["value"] <= null + above
    expected = judgement.effect(low, low + width, null, null + unit, 0, drawn)
    assert judge(ranged, claim) == expected


@often
@given(WHOLE, WIDTH, WHOLE, UNIT)
def test_a_control(low, width, null, unit):
    expected = judgement.effect(low, low + width, null, null + unit, 0)
    assert judged(low, low + width, null, rule="effect", unit=unit) == expected
