"""Claims about the one 95% interval of a mean, a median and a share."""

import math

import numpy as np
import pytest
from scipy import stats

from onelayer.evidence.intervals import half_width, mean, median, over_seeds, share, worst


@pytest.mark.parametrize("n", [2, 3, 10, 200])
def test_the_interval_of_a_mean_is_students(n) -> None:
    values = np.random.default_rng(n).normal(5, 2, n)
    found = mean(values)
    expected = stats.ttest_1samp(values, 0).confidence_interval(0.95)
    assert found["value"] == values.mean() and found["n"] == n
    assert (found["low"], found["high"]) == pytest.approx((expected.low, expected.high))


def test_one_run_has_a_mean_and_no_interval_and_no_run_neither() -> None:
    one, none = mean([0.25]), mean([])
    assert one["value"] == 0.25 and one["n"] == 1
    assert none["n"] == 0
    bounds = (one["low"], one["high"], none["value"], none["low"], none["high"])
    assert all(math.isnan(bound) for bound in bounds)
    assert np.isnan(half_width(np.array([np.nan, 1.0]), np.array([1, 2]))).tolist() == [True, False]


def test_a_missing_value_is_not_averaged_away() -> None:
    found = mean([1.0, math.nan, 3.0])
    assert all(math.isnan(found[name]) for name in ("value", "low", "high"))


def test_an_interval_is_cut_where_the_quantity_ends() -> None:
    assert mean([0.1, 0.9], least=0.0, most=1.0) == {"value": 0.5, "low": 0.0, "high": 1.0, "n": 2}


@pytest.mark.parametrize(("successes", "n"), [(0, 40), (3, 40), (40, 40)])
def test_the_interval_of_a_share_is_clopper_and_pearsons(successes, n) -> None:
    found = share(successes, n)
    expected = stats.binomtest(successes, n).proportion_ci(method="exact")
    assert (found["low"], found["high"]) == pytest.approx((expected.low, expected.high))
    assert found["value"] == successes / n and found["n"] == n


def test_alike_seeds_have_the_interval_of_the_data_and_alike_data_students() -> None:
    assert over_seeds([1.1], 0.9, 1.4) == (1.1, 0.9, 1.4)
    assert over_seeds([1.1] * 3, 0.9, 1.4) == pytest.approx((1.1, 0.9, 1.4))
    values = [1.0, 1.3, 1.2]
    alone = mean(values)
    centre = alone["value"]
    assert over_seeds(values, centre, centre) == pytest.approx(
        (centre, alone["low"], alone["high"]), rel=1e-12
    )


def test_distances_to_both_ends_are_added_as_squares_on_either_side() -> None:
    values = [1.0, 3.0]  # Student's half width of one degree of freedom, 12.706 * sqrt(2) / sqrt(2)
    value, low, high = over_seeds(values, 2.0 - 5.0, 2.0 + 30.0)
    assert value == 2
    assert (value - low) ** 2 == pytest.approx(12.7062**2 + 5.0**2, rel=1e-4)
    assert (high - value) ** 2 == pytest.approx(12.7062**2 + 30.0**2, rel=1e-4)


def test_an_interval_of_the_data_that_misses_the_mean_narrows_nothing() -> None:
    _, low, high = over_seeds([1.0, 3.0], 2.5, 3.0)
    assert low == mean([1.0, 3.0])["low"]
    assert high > mean([1.0, 3.0])["high"]


@pytest.mark.parametrize(("n", "k"), [(6, 1), (10, 2), (20, 6), (96, 38)])
def test_the_medians_interval_reaches_between_order_statistics(n, k) -> None:
    """k as tables of the sign test have it; five runs have no interval."""
    found = median(np.arange(1.0, n + 1))
    assert (found["low"], found["high"]) == (k, n + 1 - k)
    assert found["value"] == (n + 1) / 2 and found["n"] == n
    assert math.isnan(median(np.arange(5.0))["low"])


def test_the_worst_of_several_reaches_as_far_as_any_of_them() -> None:
    sure, unsure = mean([0.01, 0.011, 0.012]), mean([-0.5, 0.02, 0.6])
    assert sure["low"] > 0 and sure["value"] < unsure["value"]
    assert worst([unsure, sure], 1) == (1, sure | {"low": unsure["low"]})
    swapped = [mean([-0.01, -0.011, -0.012]), mean([0.5, -0.02, -0.6])]
    place, largest = worst(swapped, -1)
    assert place == 0 and largest["high"] == pytest.approx(-unsure["low"])
    assert largest["low"] == swapped[0]["low"]
    # One without an interval leaves nothing to be said of all; without a value it is not the worst.
    place, least = worst([mean([]), sure], 1)
    assert place == 1 and math.isnan(least["low"])
