"""Nulls, bootstraps and standardisation agree with null_loops, given the same draws."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from onelayer.papers.topic_structure.wikipedia.probe import uncertainty
from onelayer.papers.topic_structure.wikipedia.probe.pairs import WordPairs
from onelayer.papers.topic_structure.wikipedia.probe.similarity import PairSimilarity
from onelayer.papers.topic_structure.wikipedia.probe.uncertainty import Replicates
from tests.oracle import cases, null_loops

DISJOINT_AND_OVERLAPPING = pytest.mark.parametrize("overlapping", [False, True])


def compare(replicates, expected):
    """Asserts that means and ratios agree to 1e-10 with [(same mean, different mean)]."""
    expected = np.array(expected)
    np.testing.assert_allclose(replicates.same, expected[:, 0], rtol=1e-10)
    np.testing.assert_allclose(replicates.different, expected[:, 1], rtol=1e-10)
    np.testing.assert_allclose(replicates.ratio, expected[:, 0] / expected[:, 1], rtol=1e-10)


def labelled_vectors(overlapping, words=40, topics=6):
    """Vectors, labels and strata of a random case."""
    rng = np.random.default_rng([words, overlapping])
    labels = cases.membership(rng, words, topics, overlapping)
    frequencies = rng.integers(1, 9, size=words)
    strata = uncertainty.frequency_strata(frequencies, 4, labels.any(axis=1))
    return rng, rng.standard_normal((words, 5)) + 1.0, labels, strata


def permutations(strata, number):
    rng = np.random.default_rng(8)
    return [uncertainty.permute_within(strata, rng) for _ in range(number)]


@DISJOINT_AND_OVERLAPPING
def test_similarity_null_agrees(overlapping):
    _, vectors, labels, strata = labelled_vectors(overlapping)
    drawn = permutations(strata, 5)
    similarity = PairSimilarity(vectors, labels)
    fast = Replicates.of(similarity.means(permutation=permutation) for permutation in drawn)
    topics = cases.topic_sets(labels)
    compare(fast, null_loops.similarity_null(vectors.tolist(), topics, drawn))


@DISJOINT_AND_OVERLAPPING
def test_similarity_bootstrap_agrees(overlapping):
    _, vectors, labels, _ = labelled_vectors(overlapping)
    drawn = uncertainty.word_multiplicities(labels, 5, np.random.default_rng(8))
    similarity = PairSimilarity(vectors, labels)
    fast = Replicates.of(similarity.means(weights=weights) for weights in drawn)
    topics = cases.topic_sets(labels)
    compare(fast, null_loops.similarity_bootstrap(vectors.tolist(), topics, drawn))


def pairs_of(rng, places):
    """Random sums and counts at places (query, key, distance): as rows, and for the loops."""
    sums, counts = rng.random(len(places)), rng.integers(1, 5, len(places))
    rows = zip(places, sums.tolist(), counts.tolist(), strict=True)
    loops = {place: [weight, count] for place, weight, count in rows}
    return WordPairs(*np.array(places).T, sums, counts), loops


@DISJOINT_AND_OVERLAPPING
@pytest.mark.parametrize("topics", [6, 64, 130])
def test_attention_null_agrees(overlapping, topics):
    rng, _, labels, strata = labelled_vectors(overlapping, words=150, topics=topics)
    query, key = rng.integers(0, 150, size=(2, 3000))
    places = zip(query.tolist(), key.tolist(), rng.integers(0, 17, 3000).tolist(), strict=True)
    word_pairs, loops = pairs_of(rng, sorted({place for place in places if place[0] != place[1]}))

    drawn = permutations(strata, 4)
    plain, standardised = null_loops.attention_null(loops, cases.topic_sets(labels), drawn)
    found = uncertainty.permuted_attention(word_pairs, labels, drawn)
    compare(found[0], plain)
    compare(found[1], standardised)


def test_the_null_of_several_variants_moves_labels_of_some_words_among_all():
    rng, _, labels, _ = labelled_vectors(overlapping=True, words=60)
    pairs = itertools.permutations(range(60), 2)
    word_pairs, loops = pairs_of(rng, [(*pair, sum(pair) % 17) for pair in pairs])
    labels[~labels.any(axis=1), 0] = True
    few, drawn = labels & (np.arange(60) < 30)[:, None], permutations(np.zeros(60), 4)
    variants = np.stack([labels, few, few & False])
    *found, none = uncertainty.permuted_ratios(word_pairs, variants, drawn)
    for ratios, sets in zip(found, variants, strict=False):
        plain, _ = null_loops.attention_null(loops, cases.topic_sets(sets), drawn)
        same, different = np.array(plain).T
        np.testing.assert_allclose(ratios, same / different, rtol=1e-10)
    assert np.isnan(none).all()


def document_sums(rng, *shape):
    """Random sums and counts of documents; some bins of some documents have no pairs."""
    counts = rng.integers(0, 4, size=shape)
    return counts * rng.random(shape), counts


def test_attention_bootstrap_agrees():
    rng = np.random.default_rng(0)
    sums, counts = document_sums(rng, 20, 2)
    weights = uncertainty.document_weights(20, 6, np.random.default_rng(8))
    fast = uncertainty.class_means(*uncertainty.resampled(weights, sums, counts))
    compare(fast, null_loops.attention_bootstrap(sums.tolist(), counts.tolist(), weights))


def test_attention_bootstrap_of_several_permutations_agrees():
    rng = np.random.default_rng(0)
    counts, sums = rng.integers(1, 9, size=(15, 2, 4)), rng.random((15, 2, 4))
    weights = uncertainty.document_weights(15, 5, rng)
    fast = uncertainty.class_means(*uncertainty.resampled(weights, sums, counts))
    assert fast.ratio.shape == (5, 4)
    for place in range(4):
        one = Replicates(fast.same[:, place], fast.different[:, place])
        compare(one, null_loops.attention_bootstrap(sums[..., place], counts[..., place], weights))


def test_distance_standardised_ratio_agrees():
    rng = np.random.default_rng(3)
    sums, counts = document_sums(rng, 20, 2, 9)
    loops = map(null_loops.distance_standardised_means, sums.tolist(), counts.tolist())
    compare(uncertainty.standardised_means(sums, counts), list(loops))


def test_topics_drawn_anew_agree():
    rng = np.random.default_rng(5)
    topics, words = 5, 40
    topic = rng.integers(-1, topics, words)
    labels = topic[:, None] == np.arange(topics)
    loops = {(q, k): (rng.random(), int(rng.integers(1, 9))) for q in range(words)
             for k in range(words) if q != k and rng.random() < 0.5}  # fmt: skip
    query, key = np.array(list(loops)).T
    attention, counts = map(np.array, zip(*loops.values(), strict=True))
    distance = rng.integers(0, 17, len(query))
    tables = uncertainty.topic_sums(WordPairs(query, key, distance, attention, counts), labels)
    drawn = [rng.integers(0, topics, topics) for _ in range(6)]
    weights = [np.bincount(one, minlength=topics) for one in drawn]
    fast = uncertainty.resampled_topics(*tables, weights)
    compare(fast, null_loops.attention_over_topics(loops, topic.tolist(), drawn))
    # All topics once: the means themselves.
    once = uncertainty.resampled_topics(*tables, np.ones((1, topics)))
    compare(once, null_loops.attention_over_topics(loops, topic.tolist(), [range(topics)]))


def test_a_draw_of_one_topic_alone_has_no_pairs_of_two():
    found = uncertainty.resampled_topics(np.ones((2, 2)), np.ones((2, 2)), [[2, 0], [1, 1]])
    assert np.isnan(found.different).tolist() == [True, False]
