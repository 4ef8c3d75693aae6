"""The 95% interval of a mean, a share and a median."""

import math

import numpy as np
import pytest
from scipy import stats

from onelayer.evidence.intervals import half_width, mean, median, over_seeds, share, worst


@pytest.mark.parametrize("n", [2, 3, 10, 200])
def test_the_interval_of_a_mean_is_students(n):
    values = np.random.default_rng(n).normal(5, 2, n)
    found = mean(values)
    expected = stats.ttest_1samp(values, 0).confidence_interval(0.95)
    assert found["value"] == values.mean() and found["n"] == n
    assert (found["low"], found["high"]) == pytest.approx((expected.low, expected.high))


def test_one_run_has_a_mean_and_no_interval_and_no_run_has_neither():
    one, none = mean([0.25]), mean([])
    assert one["value"] == 0.25 and one["n"] == 1
    assert none["n"] == 0
    assert all(map(math.isnan, (one["low"], one["high"], none["value"], none["low"])))
    assert np.isnan(half_width(np.array([np.nan, 1.0]), np.array([1, 2]))).tolist() == [True, False]


def test_a_missing_value_is_not_averaged_away():
    found = mean([1.0, math.nan, 3.0])
    assert all(math.isnan(found[name]) for name in ("value", "low", "high"))


def test_an_interval_is_cut_where_the_quantity_ends():
    assert mean([0.1, 0.9], least=0.0, most=1.0) == {"value": 0.5, "low": 0.0, "high": 1.0, "n": 2}


@pytest.mark.parametrize(("successes", "n"), [(0, 40), (3, 40), (40, 40)])
def test_the_interval_of_a_share_is_clopper_and_pearsons(successes, n):
    found = share(successes, n)
    expected = stats.binomtest(successes, n).proportion_ci(method="exact")
    assert (found["low"], found["high"]) == pytest.approx((expected.low, expected.high))
    assert found["value"] == successes / n and found["n"] == n


def test_equal_seeds_have_the_interval_of_the_data_and_equal_data_students():
    assert over_seeds([1.1], 0.9, 1.4) == (1.1, 0.9, 1.4)
    assert over_seeds([1.1] * 3, 0.9, 1.4) == pytest.approx((1.1, 0.9, 1.4))
    values = [1.0, 1.3, 1.2]
    student = mean(values)
    found = over_seeds(values, student["value"], student["value"])
    assert found == pytest.approx((student["value"], student["low"], student["high"]), rel=1e-12)


def test_distances_to_the_ends_add_as_squares():
    value, low, high = over_seeds([1.0, 3.0], 2.0 - 5.0, 2.0 + 30.0)
    assert value == 2
    assert (value - low) ** 2 == pytest.approx(12.7062**2 + 5.0**2, rel=1e-4)
    assert (high - value) ** 2 == pytest.approx(12.7062**2 + 30.0**2, rel=1e-4)


@pytest.mark.parametrize(("n", "k"), [(6, 1), (10, 2), (20, 6), (96, 38)])
def test_the_medians_interval_reaches_between_order_statistics(n, k):
    found = median(np.arange(1.0, n + 1))
    assert (found["low"], found["high"]) == (k, n + 1 - k)
    assert found["value"] == (n + 1) / 2 and found["n"] == n
    assert math.isnan(median(np.arange(5.0))["low"])


def test_the_worst_of_several_reaches_as_far_as_any_of_them():
    sure, unsure = mean([0.01, 0.011, 0.012]), mean([-0.5, 0.02, 0.6])
    assert worst([unsure, sure], 1) == (1, sure | {"low": unsure["low"]})
    place, largest = worst([mean([-0.01, -0.011, -0.012]), mean([0.5, -0.02, -0.6])], -1)
    assert place == 0 and largest["high"] == pytest.approx(-unsure["low"])
    place, least = worst([mean([]), sure], 1)
    assert place == 1 and math.isnan(least["low"])
