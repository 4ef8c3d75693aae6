"""The fast pair statistics agree with the plain loops of attention_loops."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from onelayer.papers.topic_structure.wikipedia.probe import pairs
from onelayer.papers.topic_structure.wikipedia.probe.pairs import (
    DISTANCE_EDGES,
    Labels,
    PairCounter,
    WordPairTotal,
)
from tests.oracle import attention_loops, cases

REFERENCE_LENGTH = 110

# layers, heads, tokens, words, topics, variants
SIZES = [(1, 1, 2, 3, 2, 1), (2, 3, 17, 6, 3, 2), (1, 2, 40, 12, 5, 4), (2, 2, 150, 30, 10, 6)]


def places_of(found):
    """(query, key, distance) of every row of word pairs."""
    return list(
        zip(*(one.tolist() for one in (found.query, found.key, found.distance)), strict=True)
    )


def compare(attention, positions, word_index, labels, causal=False):
    """Asserts that the fast sums and the loops agree to 1e-10."""
    counter = PairCounter(labels, REFERENCE_LENGTH, causal)
    fast = counter.pair_sums(attention, positions, word_index)
    topics = [cases.topic_sets(variant) for variant in labels.membership]
    head_sums, counts, distance_sums, distance_counts, word_pairs = attention_loops.pair_sums(
        attention, positions.tolist(), word_index.tolist(), topics, REFERENCE_LENGTH, causal
    )
    np.testing.assert_array_equal(fast.distance_counts.sum(axis=2), counts)
    np.testing.assert_array_equal(fast.distance_counts, distance_counts)
    np.testing.assert_allclose(fast.head_sums, head_sums, rtol=1e-10, atol=0)
    np.testing.assert_allclose(fast.distance_sums, distance_sums, rtol=1e-10, atol=0)
    assert places_of(fast.word_pairs) == sorted(word_pairs)
    expected = np.array([word_pairs[pair] for pair in sorted(word_pairs)]).reshape(-1, 2)
    np.testing.assert_allclose(fast.word_pairs.sums, expected[:, 0], rtol=1e-10, atol=0)
    np.testing.assert_array_equal(fast.word_pairs.counts, expected[:, 1])


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("seed", range(3))
def test_random_documents_agree(size, seed, causal):
    layers, heads, tokens, words, topics, variants = size
    rng = np.random.default_rng([seed, tokens])
    attention = cases.attention(rng, layers, heads, tokens, causal=causal)
    positions, word_index = cases.document(rng, tokens, words)
    compare(attention, positions, word_index, cases.labels(rng, words, topics, variants), causal)


@pytest.mark.parametrize("causal", [False, True])
def test_torch_attention_and_unsorted_positions_agree(causal):
    rng = np.random.default_rng(1)
    attention = cases.attention(rng, 2, 2, 30, causal=causal)
    attention = torch.from_numpy(attention)
    positions, word_index = cases.document(rng, 30, 8)
    order = rng.permutation(len(positions))
    compare(attention, positions[order], word_index[order], cases.labels(rng, 8, 3), causal)


def test_sets_that_share_two_topics_agree():
    rng = np.random.default_rng(2)
    membership = np.array([[[1, 1, 0], [1, 1, 1], [0, 0, 1], [0, 0, 0]]], dtype=bool)
    labels = Labels(("a", "b", "c", "d"), membership)
    positions, word_index = cases.document(rng, 20, 4, share=1.0, known=1.0)
    compare(cases.attention(rng, 1, 2, 20), positions, word_index, labels)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("size", [0, 1])
def test_documents_without_a_pair_agree(size, causal):
    rng = np.random.default_rng(3)
    positions, word_index = np.arange(size) + 2, np.zeros(size, dtype=int)
    attention = cases.attention(rng, 1, 2, 9, causal=causal)
    compare(attention, positions, word_index, cases.labels(rng, 3, 2), causal)


def test_document_without_labelled_words_agrees():
    rng = np.random.default_rng(4)
    positions = np.arange(1, 9)
    attention = cases.attention(rng, 2, 2, 10)
    compare(attention, positions, np.full(8, -1), cases.labels(rng, 3, 2))


def test_document_of_labelled_words_only_agrees():
    rng = np.random.default_rng(5)
    labels = Labels(("a", "b"), np.ones((2, 2, 1), dtype=bool))
    positions, word_index = cases.document(rng, 12, 2, share=1.0, known=1.0)
    compare(cases.attention(rng, 1, 1, 12), positions, word_index, labels)


def test_distance_bins_are_those_of_the_loops():
    lows = tuple(low for low, _ in attention_loops.DISTANCES)
    assert lows == DISTANCE_EDGES


@pytest.mark.parametrize("rows", [0, 200, 10**6])
def test_added_word_pairs_are_the_sums_over_documents(rows, monkeypatch):
    monkeypatch.setattr(pairs, "ROWS_AT_ONCE", rows)
    rng = np.random.default_rng(6)
    labels = cases.labels(rng, 10, 4)
    topics = [cases.topic_sets(variant) for variant in labels.membership]
    counter = PairCounter(labels, REFERENCE_LENGTH)
    total, expected = WordPairTotal(words=10), {}
    for tokens in (12, 25, 31):
        attention = cases.attention(rng, 1, 2, tokens)
        positions, words = cases.document(rng, tokens, 10)
        total.add(counter.pair_sums(attention, positions, words).word_pairs)
        loops = attention_loops.pair_sums(attention, positions, words, topics, REFERENCE_LENGTH)
        for pair, (weight, count) in loops[-1].items():
            entry = expected.setdefault(tuple(map(int, pair)), [0.0, 0])
            entry[0] += weight
            entry[1] += count
    merged = total.total()
    rows = np.array([expected[pair] for pair in sorted(expected)])
    assert places_of(merged) == sorted(expected)
    np.testing.assert_allclose(merged.sums, rows[:, 0], rtol=1e-10)
    np.testing.assert_array_equal(merged.counts, rows[:, 1])


def test_word_pairs_are_added_in_the_order_of_the_documents(monkeypatch):
    rng = np.random.default_rng(7)
    counter = PairCounter(cases.labels(rng, 10, 4), REFERENCE_LENGTH)
    parts = []
    for tokens in rng.integers(8, 30, size=40):
        positions, words = cases.document(rng, tokens, 10)
        found = counter.pair_sums(cases.attention(rng, 1, 2, tokens), positions, words)
        parts.append(found.word_pairs)
    one_by_one = np.zeros((10, 10, len(DISTANCE_EDGES)))
    for part in parts:
        one_by_one[part.query, part.key, part.distance] += part.sums
    for rows in (0, 50, 10**6):
        monkeypatch.setattr(pairs, "ROWS_AT_ONCE", rows)
        total = WordPairTotal(words=10)
        for part in parts:
            total.add(part)
        merged = total.total()
        assert places_of(merged) == sorted(set(places_of(merged)))
        assert (merged.sums == one_by_one[merged.query, merged.key, merged.distance]).all()
        assert merged.sums.sum() == pytest.approx(one_by_one.sum())
