"""Fig. 6's cells together: Welch's statistic, slope and pooled intervals, one cell at a time."""

import numpy as np
import pandas as pd
import pytest
import scipy.stats

from onelayer.evidence.intervals import mean
from onelayer.evidence.tables import tidy
from onelayer.papers.scan_snap import entropy_sweep
from onelayer.papers.scan_snap.entropy_sweep import INITIAL_ENTROPY, PUBLISHED_RUNS
from onelayer.papers.scan_snap.measures import SETTINGS

SEEDS = 10


def table_of(entropies: np.ndarray, published: np.ndarray, stds: np.ndarray) -> pd.DataFrame:
    """Tidy cells, two numbers of query tokens; entropies [cells, seeds]."""
    rows = [
        {"num_last": 1 + place % 2, "lr_Z": place, "lr_Y_multiplier": 1, "quantity": "entropy"}
        | {"published": published[place], "published_std": stds[place]}
        | mean(seeds)
        for place, seeds in enumerate(entropies)
    ]
    return tidy(rows, SETTINGS)


def test_z_is_welchs_statistic_of_two_means_of_seeds():
    rng = np.random.default_rng(0)
    ours, published = rng.normal(1.9, 0.03, (6, SEEDS)), rng.normal(1.9, 0.03, 6)
    stds = rng.uniform(0.01, 0.05, 6)
    table = entropy_sweep.judged(table_of(ours, published, stds))
    found = table[table["quantity"] == "entropy_z"].set_index("lr_Z")["value"]
    for place, seeds in enumerate(ours):
        expected = scipy.stats.ttest_ind_from_stats(
            seeds.mean(), seeds.std(ddof=1), SEEDS, published[place], stds[place], PUBLISHED_RUNS,
            equal_var=False,
        )  # fmt: skip
        assert found[place] == pytest.approx(expected.statistic)


def test_the_slope_is_that_of_least_squares_through_the_start():
    rng = np.random.default_rng(1)
    published = rng.uniform(1.5, 2.1, 8)
    ours = 0.7 * (published - INITIAL_ENTROPY) + INITIAL_ENTROPY
    ours = ours[:, None] + rng.normal(0, 0.02, (8, SEEDS))
    found = entropy_sweep.slope(table_of(ours, published, np.full(8, 0.02)))
    x, y = published - INITIAL_ENTROPY, ours.mean(axis=1) - INITIAL_ENTROPY
    [expected], *_ = np.linalg.lstsq(x[:, None], y, rcond=None)
    assert found["value"] == pytest.approx(expected) and found["n"] == SEEDS
    below, above, theirs = 0.0, 0.0, 0.0
    for size in (0, 1):  # of one size all of them move together, of two each by itself
        half = spread = 0.0
        for cell in range(size, 8, 2):
            one = mean(ours[cell])
            half += abs(x[cell]) / (x**2).sum() * (one["high"] - one["value"])
            spread += abs(x[cell]) / (x**2).sum() * 0.02
        below, above, theirs = below + half**2, above + half**2, theirs + spread**2
    assert found["value"] - found["low"] == pytest.approx(np.sqrt(below))
    assert found["high"] - found["value"] == pytest.approx(np.sqrt(above))
    assert found["std"] == pytest.approx(np.sqrt(theirs))


@pytest.mark.parametrize(("shared", "least"), [(True, 0.93), (False, 0.99)])
def test_intervals_of_the_slope_cover_it_however_the_cells_of_a_size_vary(shared, least):
    """About 95% where one seed moves all cells alike, more where it does not: never too narrow."""
    rng = np.random.default_rng(2)
    published, covered, times = np.linspace(1.6, 2.0, 8), 0, 400
    for _ in range(times):
        noise = rng.normal(0, 0.05, (8, SEEDS))
        if shared:
            noise[::2], noise[1::2] = noise[:1], noise[1:2]
        found = entropy_sweep.slope(table_of(published[:, None] + noise, published, np.zeros(8)))
        covered += found["low"] <= 1 <= found["high"]
    assert covered / times >= least and (not shared or covered / times <= 0.975)
