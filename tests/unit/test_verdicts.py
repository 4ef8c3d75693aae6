"""The one rule that judges a number, by cases, and Holm's procedure."""

from math import inf, isnan, nan

import numpy as np
import pytest
from scipy import stats

from onelayer.evidence.verdicts import effect, holm, judge, p_value


def row(value, low=nan, high=nan, null=nan, n=nan, state=""):
    return {"value": value, "low": low, "high": high, "null": null, "n": n, "state": state}


@pytest.mark.parametrize(
    ("ours", "published", "expected"),
    [
        ((nan, nan, nan), 1.32, "not run"),
        ((1.30, 1.25, 1.35), 1.32, "reproduced"),
        ((1.20, 1.001, 1.40), 1.32, "reproduced"),
        ((1.30,), 1.30, "reproduced"),  # exact
        ((1.30,), 1.31, "smaller"),
        ((1.50, 1.46, 1.54), 1.32, "larger"),
        ((0.50, 0.46, 0.54), 0.70, "larger"),  # an effect below 1
        ((0.80, 0.76, 0.84), 0.70, "smaller"),
        ((1.06, 1.02, 1.10), 1.32, "smaller"),  # excludes none, and a tenth is inside
        ((1.02, 1.01, 1.03), 6.29, "negligible"),  # not 1, and next to nothing of 5.29
        ((0.99, 0.97, 1.01), 1.32, "negligible"),
        ((1.00, 0.96, 1.04), 1.32, "smaller or none"),  # a tenth is .032
        ((1.00, 0.68, 1.32), 1.32, "undecided"),  # the published effect at its end
        ((0.90, 0.85, 0.95), 1.32, "opposite"),
        ((1.50, 1.46, 1.54), 0.70, "opposite"),
        ((1.20, 0.90, 1.50), 1.32, "undecided"),  # reaches the published number and no effect
        ((1.20, 1.00, 1.40), 1.32, "undecided"),  # so does this one, at its end
        ((1.50, 1.46, 1.54), 1.0, "undecided"),  # no effect was published: no share of it
    ],
)
def test_the_interval_of_the_effect_decides(ours, published, expected):
    assert judge(row(*ours), {"rule": "effect", "no_effect": 1, "published": published}) == expected


def test_the_rows_own_null_counts_before_the_claims():
    claim = {"rule": "effect", "no_effect": 1, "published": 1.40}
    assert judge(row(0.974, 0.954, 0.994), claim) == "opposite"
    assert judge(row(0.974, 0.959, 0.991, null=0.962), claim) == "negligible"
    assert effect(row(0.974, 0.954, 0.994, null=0.962), claim)[0] == pytest.approx(0.012 / 0.438)


@pytest.mark.parametrize(
    ("ours", "published", "tolerance", "expected"),
    [
        ((1.304,), 1.30, 0.005, "reproduced"),
        ((1.306,), 1.30, 0.005, "larger"),
        ((1.29, 1.28, 1.294), 1.30, 0.005, "smaller"),
        ((1.03, 1.025, 1.035), 1.01, 0.01, "undecided"),  # .01 known to .01 may be none
    ],
)
def test_what_was_rounded_away_is_no_difference(ours, published, tolerance, expected):
    claim = {"rule": "effect", "no_effect": 1, "published": published, "tolerance": tolerance}
    assert judge(row(*ours), claim) == expected


@pytest.mark.parametrize(
    ("ours", "expected"),
    [
        ((-1.0, -1.04, -0.96), "reproduced"),
        ((-0.5, -0.54, -0.46), "smaller"),
        ((-1.2, -1.24, -1.16), "larger"),
        ((-1.0, -1.2, -0.8), "undecided"),  # reaches it, and is wider than a tenth
        ((0.5, 0.4, 0.6), "smaller"),
    ],
)
def test_of_a_theorems_number_nothing_means_no_effect(ours, expected):
    assert judge(row(*ours), {"rule": "number", "published": -1.0}) == expected


def test_a_number_that_is_zero_needs_to_be_told_what_matters():
    claim = {"rule": "number", "published": 0, "tolerance": 1e-6}
    assert judge(row(0.0, -0.1, 0.1), claim) == "undecided"
    assert judge(row(0.0, -0.1, 0.1), claim | {"matters": 0.2}) == "reproduced"


@pytest.mark.parametrize(
    ("ours", "expected"),
    [
        ((0.9, 0.8, 1.0), "reproduced"),
        ((1.0, 0.9, 1.1), "undecided"),
        ((1.2, 1.1, inf), "opposite"),
    ],
)
def test_a_bound_holds_where_the_whole_interval_does(ours, expected):
    assert judge(row(*ours), {"rule": "bound", "published": 1}) == expected


@pytest.mark.parametrize(
    ("ours", "expected"),
    [
        ((-0.3, -0.5, -0.1), "reproduced"),
        ((-0.3, -0.5, 0.1), "undecided"),
        ((-0.3, -0.5, -0.04), "undecided"),  # so little would not matter
        ((0.3, 0.04, 0.5), "undecided"),
        ((0.3, 0.05, 0.5), "opposite"),
        ((-0.01, -0.03, 0.01), "negligible"),
        ((-0.3,), "undecided"),  # a single run
    ],
)
def test_a_direction_is_judged_by_its_side(ours, expected):
    assert judge(row(*ours), {"rule": "direction", "side": -1, "matters": 0.05}) == expected


@pytest.mark.parametrize(
    ("value", "null_high", "expected"),
    [
        (1.30, 1.20, "reproduced"),
        (1.30, 1.31, "undecided"),
        (1.20, 1.21, "smaller or none"),  # the published effect is excluded, too
        (1.01, 1.20, "negligible"),
    ],
)
def test_what_random_labels_give_as_well_shows_no_effect(value, null_high, expected):
    ours = row(value, value - 0.02, value + 0.02, null=1.0)
    ours |= {"null_low": 0.9, "null_high": null_high}
    assert judge(ours, {"rule": "effect", "published": 1.32}) == expected


def test_what_cannot_be_judged_says_why():
    claim = {"rule": "bound", "published": 1}
    assert judge(None, claim) == "not run"
    assert judge(row(0.5, state="not reached"), claim) == "not reached"
    assert judge(row(0.5, state="undecided"), claim) == "undecided"
    assert judge(row(nan, state="not reached"), claim) == "not reached"
    assert judge(row(nan), claim) == "not run"


def test_holm_multiplies_the_smallest_most_and_skips_what_is_no_test():
    found = holm([0.01, nan, 0.04, 0.03])
    assert found[[0, 2, 3]] == pytest.approx([0.03, 0.06, 0.06])
    assert isnan(found[1])
    assert np.isnan(holm([nan])).all()
    assert holm([0.6, 0.7]).tolist() == [1, 1]  # no p is above 1


def test_p_is_a_twentieth_where_the_interval_ends_at_what_is_excluded():
    direction = {"rule": "direction", "side": 1}
    for n in (nan, 2, 5, 100):
        assert p_value(row(1, 0, 2, n=n), direction, "undecided") == pytest.approx(0.05)
    t = stats.t(2)
    p = p_value(row(2.5, 1.5, 3.5, n=3), direction, "reproduced")
    assert p == pytest.approx(2 * t.sf(2.5 * t.ppf(0.975)))
    for skewed in (row(1, 0, 4), row(-1, -4, 0)):  # the end between it and no effect
        assert p_value(skewed, direction, "undecided") == pytest.approx(0.05)
    matters = direction | {"matters": 1}
    assert p_value(row(2, 1, 3), matters, "reproduced") == pytest.approx(0.05)
    assert p_value(row(-2, -3, -1), matters, "opposite") == pytest.approx(0.05)
    effect_claim = {"rule": "effect", "published": 10}
    assert p_value(row(0, -1, 1), effect_claim, "negligible") == pytest.approx(0.05)
    assert p_value(row(2, 0, 4), effect_claim, "undecided") == pytest.approx(0.05)
    assert p_value(row(4, -2, 10), effect_claim, "smaller or none") == pytest.approx(0.05)
    assert isnan(p_value(row(1), direction, "undecided"))
    assert isnan(p_value(row(1, 0, 2), {"rule": "bound", "published": 3}, "reproduced"))
    assert isnan(p_value(None, direction, "not run"))
