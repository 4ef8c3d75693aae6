"""What the probe's statistics promise: pair classes, closed forms, nulls and intervals."""

from __future__ import annotations

import numpy as np
import pytest

from onelayer.errors import OnelayerError
from onelayer.evidence import intervals
from onelayer.papers.topic_structure.wikipedia.probe import pairs, uncertainty
from onelayer.papers.topic_structure.wikipedia.probe.pairs import (
    DISTANCE_EDGES,
    PAIR_CLASSES,
    Labels,
    PairCounter,
)
from onelayer.papers.topic_structure.wikipedia.probe.similarity import PairSimilarity, unit_vectors
from onelayer.papers.topic_structure.wikipedia.probe.uncertainty import Replicates

SAME, DIFFERENT = PAIR_CLASSES.index("same_topic"), PAIR_CLASSES.index("different_topic")


def disjoint(words, topics):
    """Words dealt out to topics in turn: bool [words, topics]."""
    return np.arange(words)[:, None] % topics == np.arange(topics)


def labels_of(*variants):
    """`Labels` of membership matrices."""
    words = tuple(f"word{index}" for index in range(len(variants[0])))
    return Labels(words, np.stack(variants))


def uniform_attention(tokens, layers=1, heads=1):
    return np.full((layers, heads, tokens, tokens), 1 / tokens, dtype=np.float32)


def planted_vectors(rng, labels, strength):
    """Word vectors: a common part, a part of the topic and noise."""
    centres = strength * rng.standard_normal((labels.shape[1], 20))
    return 1.0 + labels @ centres + rng.standard_normal((len(labels), 20))


def similarity_ratio(vectors, labels):
    means = PairSimilarity(vectors, labels).means()
    return means.same_mean / means.different_mean


def similarity_null(vectors, labels, strata, permutations, rng):
    """Similarity under so many permutations of the labels within strata."""
    similarity = PairSimilarity(vectors, labels)
    drawn = (uncertainty.permute_within(strata, rng) for _ in range(permutations))
    return Replicates.of(similarity.means(permutation=permutation) for permutation in drawn)


def similarity_bootstrap(vectors, labels, resamples, rng):
    """Similarity with the words drawn anew so many times."""
    drawn = uncertainty.word_multiplicities(labels, resamples, rng)
    similarity = PairSimilarity(vectors, labels)
    return Replicates.of(similarity.means(weights=weights) for weights in drawn)


def attention_null(word_pairs, labels, strata, permutations, rng):
    """Mean attention under so many permutations of the labels within strata."""
    drawn = [uncertainty.permute_within(strata, rng) for _ in range(permutations)]
    return uncertainty.permuted_attention(word_pairs, labels, drawn)[0]


def standardised_ratio(sums, counts):
    """At equal distances, of sums and counts [2, bins]."""
    return uncertainty.standardised_means(sums[None], counts[None]).ratio[0]


def attention_bootstrap(sums, counts, resamples, rng):
    """Mean attention with the documents drawn anew so many times."""
    drawn = uncertainty.document_weights(len(sums), resamples, rng)
    return uncertainty.class_means(*uncertainty.resampled(drawn, sums, counts))


# Attention pair sums


def test_uniform_attention_gives_ratio_one_at_any_length():
    counter = PairCounter(labels_of(disjoint(6, 2)), reference_length=100)
    sums, counts = 0.0, 0
    for tokens, words in ((9, [0, 1, 0, 2, 4]), (300, [0, 1, 3, 5, 2, 4])):
        result = counter.pair_sums(uniform_attention(tokens), np.arange(len(words)) + 1, words)
        chosen = np.array([SAME, DIFFERENT])
        of_document = result.head_sums[0, chosen, 0, 0]
        pairs_of_document = result.distance_counts[0, chosen].sum(axis=1)
        np.testing.assert_allclose(of_document / pairs_of_document, 0.01, rtol=1e-7)
        sums, counts = sums + of_document, counts + pairs_of_document
    same, different = sums / counts
    assert same / different == pytest.approx(1, rel=1e-7)


def test_pair_classes_follow_their_precedence():
    membership = np.array([[1, 0], [1, 1], [0, 1], [0, 0]], dtype=bool)
    counter = PairCounter(labels_of(membership), reference_length=10)
    # word 0 twice: same word; 0-1 and 1-2 share a topic; 0-2 do not; 3 and -1 have no topic,
    # also where the word without a topic meets itself
    words = [0, 0, 1, 2, 3, 3, -1]
    counts = counter.pair_sums(uniform_attention(10), np.arange(7), words).distance_counts[0]
    assert dict(zip(PAIR_CLASSES, counts.sum(axis=1).tolist(), strict=True)) == {
        "same_word": 2,
        "same_topic": 2 * (2 + 1),
        "different_topic": 2 * 2,
        "no_topic": 7 * 6 - 12,
    }


def test_classes_add_up_to_all_ordered_pairs_in_every_variant():
    rng = np.random.default_rng(0)
    counter = PairCounter(labels_of(disjoint(9, 3), rng.random((9, 3)) < 0.4), 30)
    result = counter.pair_sums(uniform_attention(30), np.arange(20), rng.integers(-1, 9, 20))
    assert result.distance_counts.sum(axis=(1, 2)).tolist() == [20 * 19] * 2
    np.testing.assert_allclose(result.head_sums.sum(axis=(1, 2, 3)), 20 * 19 / 30, rtol=1e-6)


def test_sums_are_float64_also_for_documents_without_words():
    counter = PairCounter(labels_of(disjoint(4, 2)), reference_length=10)
    for size in (0, 1, 4):
        result = counter.pair_sums(uniform_attention(10), np.arange(size), np.arange(size))
        assert result.head_sums.dtype == result.distance_sums.dtype == np.float64
        assert result.word_pairs.sums.dtype == np.float64
        assert result.distance_counts.dtype == np.int64


def test_float64_accumulation_keeps_a_long_document_exact():
    counter = PairCounter(labels_of(disjoint(2, 2)), reference_length=400)
    attention = uniform_attention(400)
    result = counter.pair_sums(attention, np.arange(400), np.arange(400) % 2)
    expected = float(attention[0, 0, 0, 0]) * result.distance_counts[0].sum(axis=1)
    np.testing.assert_allclose(result.head_sums[0, :, 0, 0], expected, rtol=1e-12)


def test_distance_bins_end_where_they_say():
    assert pairs.DISTANCE_LABELS[7:10] == ("8", "9-12", "13-16")
    assert pairs.DISTANCE_LABELS[-1] == "129+"
    counter = PairCounter(labels_of(disjoint(2, 2)), reference_length=1)
    for distance, index in ((1, 0), (8, 7), (9, 8), (12, 8), (13, 9), (128, 15), (129, 16)):
        result = counter.pair_sums(uniform_attention(200), [3, 3 + distance], [0, 1])
        assert np.flatnonzero(result.distance_counts[0, DIFFERENT]).tolist() == [index]


def test_attention_that_is_not_finite_is_named():
    counter = PairCounter(labels_of(disjoint(4, 2)), reference_length=10)
    with pytest.raises(ValueError, match="not finite"):
        counter.pair_sums(np.full((1, 1, 10, 10), np.nan), [0, 1], [0, 1])


# Embedding similarity


def test_a_pair_that_shares_two_topics_counts_once():
    membership = np.array([[1, 1, 0], [1, 1, 0], [1, 0, 0], [0, 0, 1]], dtype=bool)
    vectors = np.array([[1.0, 0], [3, 0], [0, 1], [0, 1]])
    # Of one topic 3 and twice 0, of none in common twice 0 and 1.
    assert PairSimilarity(vectors, membership).means() == (1.0, 1 / 3, 3, 3)


def test_planted_topics_raise_the_cosine():
    labels = disjoint(60, 4)
    vectors = planted_vectors(np.random.default_rng(0), labels, strength=1.0)
    means = PairSimilarity(unit_vectors(vectors), labels).means()
    assert means.same_mean / means.different_mean > 1.3
    assert means.same_mean - means.different_mean > 0.1


def test_unit_vectors_count_the_bad_ones():
    vectors = np.ones((5, 3))
    vectors[1] = 0
    vectors[3, 0] = np.nan
    with pytest.raises(OnelayerError, match="2 of 5 vectors"):
        unit_vectors(vectors)


def test_a_word_in_very_many_topics_needs_no_subsets():
    rng = np.random.default_rng(1)
    membership = disjoint(80, 40)
    membership[:4] = True  # 2^40 subsets if they were expanded
    vectors = rng.standard_normal((80, 6))
    one_way = np.triu_indices(80, 1)
    meets, products = (membership @ membership.T)[one_way], (vectors @ vectors.T)[one_way]
    expected = products[meets].mean(), products[~meets].mean()
    means = PairSimilarity(vectors, membership).means()
    assert means[:2] == pytest.approx(expected)
    assert means.same_pairs == 4 * 3 // 2 + 4 * 76 + sum(
        n * (n - 1) // 2 for n in membership[4:].sum(axis=0).tolist()
    )


# Permutation nulls and bootstraps


def test_frequency_strata_are_even_and_ordered_and_stable_for_ties():
    frequencies = np.array([5, 1, 1, 1, 1, 9, 7, 1])
    assert uncertainty.frequency_strata(frequencies, bins=4).tolist() == [2, 0, 0, 1, 1, 3, 3, 2]
    labelled = np.array([1, 1, 0, 0, 0, 1, 1, 0], dtype=bool)
    strata = uncertainty.frequency_strata(frequencies, bins=2, labelled=labelled)
    assert strata.tolist() == [0, 0, -1, -1, -1, 1, 1, -1]


def test_few_words_get_strata_of_at_least_two():
    for words in (1, 2, 5, 30):
        sizes = np.bincount(uncertainty.frequency_strata(np.arange(words), bins=20))
        assert sizes.sum() == words
        assert sizes.min() >= min(words, 2) or words == 1


def test_permutation_keeps_frequency_strata():
    rng = np.random.default_rng(0)
    strata = rng.integers(-1, 5, size=200)
    moved = 0
    for _ in range(20):
        permutation = uncertainty.permute_within(strata, rng)
        assert sorted(permutation.tolist()) == list(range(200))
        np.testing.assert_array_equal(strata[permutation], strata)
        fixed = strata < 0
        np.testing.assert_array_equal(permutation[fixed], np.flatnonzero(fixed))
        moved += (permutation != np.arange(200)).sum()
    assert moved > 20 * 100


def test_permutations_within_a_stratum_are_equally_likely():
    rng = np.random.default_rng(1)
    drawn = [tuple(uncertainty.permute_within(np.zeros(3, int), rng)) for _ in range(3000)]
    counts = np.unique(drawn, axis=0, return_counts=True)[1]
    assert len(counts) == 6
    assert np.abs(counts - 500).max() < 5 * np.sqrt(500)


@pytest.mark.parametrize("overlapping", [False, True])
def test_null_of_planted_topics_is_below_the_ratio(overlapping):
    rng = np.random.default_rng(2)
    labels = disjoint(100, 5)
    if overlapping:
        labels = labels | (rng.random(labels.shape) < 0.1)
    vectors = planted_vectors(rng, labels, strength=0.7)
    ratio = similarity_ratio(vectors, labels)
    strata = uncertainty.frequency_strata(rng.random(100))
    null = similarity_null(vectors, labels, strata, 100, rng).ratio
    assert null.max() < ratio
    assert uncertainty.z_score(ratio, null) > 5


def test_null_keeps_an_effect_that_is_all_frequency():
    rng = np.random.default_rng(3)
    frequency = rng.permutation(np.arange(200))
    rare = frequency < 100
    labels = np.stack([rare, ~rare], axis=1)
    vectors = 1.0 + np.where(rare, 1.0, -1.0)[:, None] * np.eye(8)[0] + rng.normal(0, 0.1, (200, 8))
    ratio = similarity_ratio(vectors, labels)
    strata = uncertainty.frequency_strata(frequency, bins=10)
    null = similarity_null(vectors, labels, strata, 20, rng).ratio
    assert ratio > 1.1
    np.testing.assert_allclose(null, ratio, rtol=0.01)


def test_attention_null_of_planted_topics_is_below_the_ratio():
    rng = np.random.default_rng(4)
    labels = disjoint(40, 4)
    query, key = np.nonzero(~np.eye(40, dtype=bool))
    meets = (labels[query] & labels[key]).any(axis=1)
    counts = rng.integers(1, 6, size=len(query))
    distance = np.zeros_like(query)
    word_pairs = pairs.WordPairs(query, key, distance, counts * (1 + 0.3 * meets), counts)
    strata = uncertainty.frequency_strata(np.arange(40), bins=4)
    null = attention_null(word_pairs, labels, strata, 200, rng).ratio
    assert null.max() < 1.3
    assert abs(null.mean() - 1) < 0.01


def test_bootstrap_interval_covers_the_true_ratio():
    rng = np.random.default_rng(5)
    documents, trials, covered = 60, 200, 0
    for _ in range(trials):
        counts = rng.integers(20, 60, size=(documents, 2))
        shared = rng.lognormal(0, 0.3, size=(documents, 1))  # documents differ, classes do not
        sums = counts * shared * np.array([1.5, 1.0]) * rng.lognormal(0, 0.2, (documents, 2))
        replicates = attention_bootstrap(sums, counts, 200, rng).ratio
        low, high = intervals.percentile_interval(replicates)
        covered += low <= 1.5 <= high
    assert 0.88 <= covered / trials <= 0.99


def test_an_interval_leaves_a_fortieth_of_the_replicates_on_each_side():
    assert intervals.percentile_interval(np.arange(1001.0)) == pytest.approx((25, 975))


def test_an_expanded_interval_is_wider_for_few_units_and_plain_for_many():
    replicates = np.arange(100_001.0)
    low, high = intervals.bootstrap_interval(replicates, 10)
    # Phi(-sqrt(10 / 9) 2.262) = Phi(-2.3845)
    assert low == pytest.approx(855, abs=2) and high == pytest.approx(100_000 - low)
    wide = intervals.bootstrap_interval(replicates, 1_000_000)
    assert wide == pytest.approx((2500, 97500), abs=2)
    with pytest.raises(ValueError, match="1 unit"):
        intervals.bootstrap_interval(replicates, 1)


def test_word_bootstrap_surrounds_the_ratio():
    rng = np.random.default_rng(6)
    labels = disjoint(120, 4)
    vectors = planted_vectors(rng, labels, strength=0.7)
    replicates = similarity_bootstrap(vectors, labels, 200, rng)
    low, high = intervals.percentile_interval(replicates.ratio)
    assert low < similarity_ratio(vectors, labels) < high


def test_distance_standardisation_removes_a_pure_distance_effect():
    rng = np.random.default_rng(7)
    by_distance = 1.0 / np.array(DISTANCE_EDGES)
    counts = np.stack([rng.integers(1, 900, 17) * by_distance, rng.integers(1, 900, 17)])
    counts = np.ceil(counts).astype(int)
    sums = counts * by_distance
    plain = (sums / counts.sum(axis=1, keepdims=True)).sum(axis=1)
    assert plain[0] / plain[1] > 1.5
    assert standardised_ratio(sums, counts) == pytest.approx(1, rel=1e-12)
    topical = sums * np.array([[1.4], [1.0]])
    assert standardised_ratio(topical, counts) == pytest.approx(1.4)


def test_distance_bins_without_both_classes_are_left_out():
    counts = np.array([[4, 3, 0], [2, 0, 5]])
    sums = np.array([[8.0, 99.0, 0.0], [2.0, 0.0, 99.0]])
    assert standardised_ratio(sums, counts) == pytest.approx(2.0)


def test_z_score_counts_standard_deviations_of_the_null():
    assert uncertainty.z_score(7.0, [1.0, 3.0, 5.0]) == pytest.approx(2.0)
    for rounding in (0.0, 1e-15):
        with pytest.raises(ValueError, match="does not vary"):
            uncertainty.z_score(1.0, [2.0, 2.0 + rounding])


def test_z_over_seeds_is_that_of_their_mean():
    nulls = [[1.0, 3.0, 5.0], [3.0, 5.0, 7.0]]  # their mean over seeds: 2, 4, 6
    assert uncertainty.z_score([7.0, 7.0], nulls) == pytest.approx(1.5)
    assert uncertainty.z_score([5.0, 9.0], nulls) == pytest.approx(1.5)


def test_p_counts_the_value_among_its_permutations():
    assert uncertainty.permutation_p(7.0, [1.0, 3.0, 5.0]) == 1 / 4
    assert uncertainty.permutation_p(3.0, [1.0, 3.0, 5.0]) == 3 / 4
    nulls = [[1.0, 3.0, 5.0], [3.0, 5.0, 7.0]]  # their mean over seeds: 2, 4, 6
    assert uncertainty.permutation_p([3.0, 7.0], nulls) == 2 / 4


def test_a_tie_that_sums_in_another_order_hide_counts_in_p():
    one, other = 0.1 + 0.2 + 0.3, 0.3 + 0.2 + 0.1
    assert one > other and uncertainty.permutation_p(one, [other, 0.0]) == 2 / 3
    assert uncertainty.permutation_p(-other, [-one, -1.0]) == 2 / 3


def empty_class_calls(name):
    """Every statistic on data whose class `name` has no pair."""
    rng = np.random.default_rng(0)
    same = name == "same_topic"
    labels = np.eye(6, dtype=bool) if same else np.ones((6, 1), dtype=bool)
    strata, vectors = np.zeros(6, dtype=int), rng.random((6, 3))
    query, key = np.nonzero(~np.eye(6, dtype=bool))
    distance = np.zeros_like(query)
    word_pairs = pairs.WordPairs(query, key, distance, np.ones(30), np.ones(30, dtype=int))
    counts = np.array([[0, 3], [0, 2]]) if same else np.array([[3, 0], [2, 0]])
    binned = np.repeat(counts[:, :, None], 4, axis=2)
    return {
        "pair_means": lambda: PairSimilarity(vectors, labels).means(),
        "null": lambda: similarity_null(vectors, labels, strata, 3, rng),
        "bootstrap": lambda: similarity_bootstrap(vectors, labels, 3, rng),
        "attention": lambda: attention_null(word_pairs, labels, strata, 3, rng),
        "documents": lambda: attention_bootstrap(counts, counts, 3, rng),
        "distance": lambda: standardised_ratio(binned[0], binned[0]),
    }


@pytest.mark.parametrize("name", ["same_topic", "different_topic"])
@pytest.mark.parametrize("call", sorted(empty_class_calls("same_topic")))
def test_empty_class_is_named(name, call):
    with pytest.raises(ValueError, match=name) as error:
        empty_class_calls(name)[call]()
    assert "\n" not in str(error.value)


def test_no_labelled_word_at_all_is_an_empty_class():
    labels = np.zeros((4, 2), dtype=bool)
    with pytest.raises(ValueError, match="same_topic"):
        PairSimilarity(np.ones((4, 2)), labels).means()
    word_pairs = pairs.WordPairTotal(words=4).total()
    with pytest.raises(ValueError, match="same_topic"):
        attention_null(word_pairs, labels, np.zeros(4), 2, np.random.default_rng(0))


def test_a_distance_profile_without_a_shared_bin_is_named():
    counts = np.array([[2, 0], [0, 2]])
    with pytest.raises(ValueError, match="no distance bin"):
        standardised_ratio(counts, counts)
