"""The interval over seeds and data covers the truth where both are drawn, and is no wider than due.

Two-way random effects, simulated: seeds and documents are both samples, every seed reads the same
documents, and a document may suit one seed better than another.
"""

import numpy as np
import pytest

from onelayer.intervals import over_seeds
from onelayer.papers.topic_structure.probe.uncertainty import (
    document_weights,
    percentile_interval,
    z_score,
)

DOCUMENTS, TRIALS = 80, 1000
# Drawn once: how often each document is drawn depends on no data.
DRAWN = document_weights(DOCUMENTS, 500, np.random.default_rng(0)).T / DOCUMENTS
IDEAL = 1.96  # half of the 95% interval where all standard deviations are known


def simulate(seeds: int, spread: float, interaction: float) -> tuple[float, float]:
    """Share of the intervals that cover 0, and their mean half width, in ideal half widths.

    Args:
        seeds: how many are drawn.
        spread: standard deviation of the seeds' effects, in those of the mean over documents.
        interaction: of the mean over documents of what one seed makes of each, in the same unit.
    """
    rng = np.random.default_rng([seeds, int(10 * spread), int(10 * interaction)])
    covered, halves = 0, []
    for _ in range(TRIALS):
        by_document = rng.normal(0, np.sqrt(DOCUMENTS), DOCUMENTS)
        own = rng.normal(0, interaction * np.sqrt(DOCUMENTS), (seeds, DOCUMENTS))
        measured = rng.normal(0, spread, (seeds, 1)) + by_document + own
        replicates = measured @ DRAWN  # the same documents for all seeds
        limits = percentile_interval(replicates.mean(axis=0))
        _, low, high = over_seeds(measured.mean(axis=1), *map(float, limits))
        covered += low <= 0 <= high
        halves.append((high - low) / 2)
    ideal = IDEAL * np.sqrt(1 + (spread**2 + interaction**2) / seeds)
    return covered / TRIALS, float(np.mean(halves) / ideal)


# Student's quantile of S - 1 degrees of freedom over the normal one, and some slack: what an
# interval that knew nothing of the documents' share would be.
WIDEST = {3: 2.2, 5: 1.42, 10: 1.16}


@pytest.mark.parametrize("interaction", [0, 1])
@pytest.mark.parametrize("spread", [0, 1, 5])
@pytest.mark.parametrize("seeds", [3, 5, 10])
def test_the_interval_covers_seeds_and_documents_together(seeds, spread, interaction) -> None:
    covered, width = simulate(seeds, spread, interaction)
    assert 0.93 <= covered <= 0.995
    assert width <= WIDEST[seeds]


@pytest.mark.parametrize("seeds", [3, 10])
def test_seeds_that_do_not_differ_cost_nothing(seeds) -> None:
    _, width = simulate(seeds, 0, 0)
    assert width == pytest.approx(1, abs=0.05)


def test_documents_alone_miss_the_truth_where_seeds_differ() -> None:
    """What the intervals of one training leave out: the reason for this one."""
    rng = np.random.default_rng(0)
    missed = 0
    for _ in range(300):
        measured = rng.normal(0, 10) + rng.normal(0, np.sqrt(DOCUMENTS), DOCUMENTS)
        low, high = percentile_interval(measured @ DRAWN)
        missed += not low <= 0 <= high
    assert missed > 200


def test_z_is_standard_normal_where_neither_seeds_nor_labels_matter() -> None:
    """Mean over seeds, null and seeds drawn around the same value: z has the size of chance."""
    rng = np.random.default_rng(1)
    found = []
    for _ in range(2000):
        values = 1 + rng.normal(0, 0.3) + rng.normal(0, 0.2, 10)
        found.append(z_score(values, 1 + rng.normal(0, 0.3, 100) + np.zeros((10, 1))))
    assert np.std(found) == pytest.approx(1, abs=0.1)
