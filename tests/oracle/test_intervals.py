"""The interval over seeds and data covers the truth where both are drawn, and is no wider than due.

Two-way random effects, simulated: seeds and documents are both samples, every seed reads the same
documents, and a document may suit one seed better than another.
"""

import numpy as np
import pytest

from onelayer.evidence.intervals import bootstrap_interval, over_seeds, percentile_interval
from onelayer.papers.topic_structure.wikipedia.probe.uncertainty import (
    class_means,
    document_weights,
    permutation_p,
    resampled,
    resampled_topics,
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


@pytest.mark.parametrize("seeds", [1, 3, 10])
def test_z_and_p_have_the_size_of_chance_where_labels_mean_nothing(seeds) -> None:
    """Trainings that answer permutations each in its own way, and differ far in their level.

    Labels of 40 words in 4 topics are one more permutation, so that z and p must not know them
    from the others; each training has similarities of words of its own, beside some in common.
    """
    rng = np.random.default_rng(seeds)
    words, permutations, trials = 40, 200, 1500
    topic = np.array([rng.permutation(words) % 4 for _ in range(permutations + 1)])
    same = (topic[:, :, None] == topic[:, None]).reshape(permutations + 1, -1).astype(float)
    same /= same.sum(axis=1, keepdims=True)
    z, p = [], []
    for _ in range(trials):
        common = rng.normal(0, 1, words**2)
        own = rng.normal(0, 2, (seeds, words**2)) + rng.normal(0, 5, (seeds, 1))
        answers = (common + own) @ same.T  # [seeds, permutations], the first the labels
        z.append(z_score(answers[:, 0], answers[:, 1:]))
        p.append(permutation_p(answers[:, 0], answers[:, 1:]))
    # Of so many trials: sd of the sd .018, of a share of .05 .006. The labels are one draw for all.
    assert np.std(z) == pytest.approx(1, abs=0.06)
    assert np.mean(np.abs(z) > 1.96) == pytest.approx(0.05, abs=0.02)
    assert np.mean(np.array(p) <= 0.05) == pytest.approx(0.05, abs=0.02)


@pytest.mark.parametrize("documents", [8, 15, 40])
def test_an_expanded_interval_covers_the_ratio_of_few_documents(documents) -> None:
    """Ratios of sums over documents of unequal length: plain percentiles miss too often."""
    rng = np.random.default_rng(documents)
    drawn = document_weights(documents, 1000, rng).astype(float)
    expanded, plain, trials = 0, 0, 1500
    for _ in range(trials):
        counts = rng.integers(20, 60, size=(documents, 2))
        sums = counts * np.array([1.5, 1.0]) * rng.lognormal(0, 0.3, (documents, 2))
        ratios = class_means(*resampled(drawn, sums, counts)).ratio
        low, high = bootstrap_interval(ratios, documents)
        expanded += low <= 1.5 <= high
        low, high = percentile_interval(ratios)
        plain += low <= 1.5 <= high
    assert 0.93 <= expanded / trials <= 0.97
    assert documents > 15 or plain / trials < 0.93


def test_an_interval_over_topics_covers_the_ratio_of_other_topics() -> None:
    """Topics that differ in how much their words attend to each other, drawn anew each time."""
    rng = np.random.default_rng(0)
    topics, trials, covered = 30, 600, 0
    drawn = document_weights(topics, 500, rng)
    for _ in range(trials):
        counts = rng.integers(50, 150, (topics, topics)).astype(float)
        means = 1 + rng.normal(0, 0.1, (topics, topics))
        means[np.diag_indices(topics)] = 1.5 + rng.normal(0, 0.3, topics)
        ratios = resampled_topics(counts * means, counts, drawn).ratio
        low, high = bootstrap_interval(ratios, topics)
        covered += low <= 1.5 <= high
    assert 0.92 <= covered / trials <= 0.975
