"""The closed-form similarity means agree with the plain loops of similarity_loops."""

from __future__ import annotations

import numpy as np
import pytest

from onelayer.papers.topic_structure.wikipedia.probe.similarity import (
    PairSimilarity,
    TopicSets,
    unit_vectors,
)
from tests.oracle import cases, similarity_loops

# words, topics, width, largest topic set; 12 topics a set are never expanded into subsets
SIZES = [(12, 2, 3, 1), (25, 5, 4, 2), (60, 8, 7, 4), (90, 70, 5, 3), (60, 20, 6, 12)]


def compare(fast, expected):
    """Asserts that means (to 1e-10) and counts agree."""
    assert (fast.same_pairs, fast.different_pairs) == tuple(expected[2:])
    np.testing.assert_allclose([fast.same_mean, fast.different_mean], expected[:2], rtol=1e-10)


def case(size, seed):
    """Vectors with a common part (so that means are not near 0) and labels."""
    words, topics, width, largest = size
    rng = np.random.default_rng([seed, words])
    vectors = rng.standard_normal((words, width)) + 1.0
    return rng, vectors, cases.membership(rng, words, topics, largest > 1, largest=largest)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("seed", range(3))
def test_dot_products_agree(size, seed):
    _, vectors, labels = case(size, seed)
    expected = similarity_loops.pair_means(vectors.tolist(), cases.topic_sets(labels))
    compare(PairSimilarity(vectors, labels).means(), expected)


@pytest.mark.parametrize("size", SIZES)
def test_cosines_agree(size):
    _, vectors, labels = case(size, 7)
    expected = similarity_loops.pair_means(
        vectors.tolist(), cases.topic_sets(labels), similarity=similarity_loops.cosine
    )
    compare(PairSimilarity(unit_vectors(vectors), labels).means(), expected)


@pytest.mark.parametrize("size", SIZES)
def test_weighted_means_agree(size):
    rng, vectors, labels = case(size, 11)
    weights = rng.integers(0, 4, size=len(vectors))
    expected = similarity_loops.pair_means(
        vectors.tolist(), cases.topic_sets(labels), weights.tolist()
    )
    compare(PairSimilarity(vectors, labels).means(weights), expected)


@pytest.mark.parametrize("limit", range(5))
def test_every_split_into_small_and_large_sets_agrees(limit, monkeypatch):
    monkeypatch.setattr(TopicSets, "_expansion_limit", lambda self: limit)
    _, vectors, labels = case((50, 6, 4, 4), 13)
    expected = similarity_loops.pair_means(vectors.tolist(), cases.topic_sets(labels))
    compare(PairSimilarity(vectors, labels).means(), expected)


def test_permuted_labels_and_weights_together_agree():
    rng, vectors, labels = case((40, 6, 4, 3), 17)
    labelled = np.flatnonzero(labels.any(axis=1))
    permutation = np.arange(len(labels))
    permutation[labelled] = rng.permutation(labelled)
    weights = rng.integers(0, 3, size=len(labels))
    fast = PairSimilarity(vectors, labels).means(weights, permutation)
    topics = cases.topic_sets(labels[permutation])
    compare(fast, similarity_loops.pair_means(vectors.tolist(), topics, weights.tolist()))
