"""Intervals cover the truth in as many simulated experiments as they say."""

import numpy as np
import pytest

from onelayer.evidence.intervals import bootstrap_interval, over_seeds, percentile_interval

DOCUMENTS, TRIALS = 80, 500
DRAWN = np.random.default_rng(0).multinomial(DOCUMENTS, [1 / DOCUMENTS] * DOCUMENTS, 400).T
# Student's quantile of S - 1 degrees of freedom over the normal one, and some slack.
WIDEST = {3: 2.2, 10: 1.16}


def simulate(seeds, spread, interaction):
    """Share of intervals that cover 0, and their mean half width in ideal half widths.

    Every seed reads the same documents, and a document may suit one seed better than another;
    `spread` and `interaction` are in standard deviations of the mean over documents.
    """
    rng = np.random.default_rng([seeds, spread, interaction])
    covered, halves = 0, []
    for _ in range(TRIALS):
        of_document = rng.normal(0, np.sqrt(DOCUMENTS), DOCUMENTS)
        of_pair = rng.normal(0, interaction * np.sqrt(DOCUMENTS), (seeds, DOCUMENTS))
        measured = rng.normal(0, spread, (seeds, 1)) + of_document + of_pair
        replicates = (measured @ DRAWN / DOCUMENTS).mean(axis=0)
        limits = map(float, percentile_interval(replicates))
        _, low, high = over_seeds(measured.mean(axis=1), *limits)
        covered += low <= 0 <= high
        halves.append((high - low) / 2)
    ideal = 1.96 * np.sqrt(1 + (spread**2 + interaction**2) / seeds)
    return covered / TRIALS, float(np.mean(halves) / ideal)


@pytest.mark.parametrize("interaction", [0, 1])
@pytest.mark.parametrize("spread", [0, 1, 5])
@pytest.mark.parametrize("seeds", [3, 10])
def test_the_interval_covers_seeds_and_documents_together(seeds, spread, interaction):
    covered, width = simulate(seeds, spread, interaction)
    assert 0.925 <= covered <= 0.998
    assert width <= WIDEST[seeds]


@pytest.mark.parametrize("units", [8, 15, 40])
def test_an_expanded_bootstrap_covers_the_mean_of_few_units(units):
    rng = np.random.default_rng(units)
    drawn = rng.multinomial(units, [1 / units] * units, 600).T / units
    trials, covered = 1000, 0
    for _ in range(trials):
        low, high = bootstrap_interval(rng.normal(0, 1, units) @ drawn, units)
        covered += low <= 0 <= high
    assert 0.93 <= covered / trials <= 0.975


def test_one_unit_has_no_bootstrap():
    with pytest.raises(ValueError, match="1 unit"):
        bootstrap_interval(np.zeros(9), 1)
