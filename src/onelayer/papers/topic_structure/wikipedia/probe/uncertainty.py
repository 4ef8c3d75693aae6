"""Null models, bootstraps and intervals for the probe of Li, Li & Risteski (2023).

The paper reports plain ratios. Word frequency and distance alone move them, so every ratio is set
beside a permutation null (topic labels permuted among words of like frequency), a bootstrap
interval (over documents for attention, over words for embeddings) and, for attention, a ratio
standardised for the distance between the words, and an interval over topics.

Shapes: W words, K topics, D documents, B distance bins, P permutations, R resamples.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import coo_array, csr_array, vstack

from onelayer.papers.topic_structure.wikipedia.probe.pairs import DISTANCE_EDGES, WordPairs
from onelayer.papers.topic_structure.wikipedia.probe.similarity import PairMeans

CLASSES = ("same_topic", "different_topic")
ROUNDING = 1e-12  # of means in float64, relative: 2^-53 through some thousand terms


@dataclass(frozen=True, eq=False)
class Replicates:
    """Same-topic and different-topic means of permuted or resampled data.

    Attributes:
        same, different: float64 [replicates, ...].
    """

    same: np.ndarray
    different: np.ndarray

    @classmethod
    def of(cls, means: Iterable[PairMeans]) -> Replicates:
        """Of `PairSimilarity.means`, a replicate each."""
        return cls(*np.array([(mean.same_mean, mean.different_mean) for mean in means]).T)

    @property
    def ratio(self) -> np.ndarray:
        """Same over different, [replicates, ...]; inf or nan where the different-mean is 0."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return self.same / self.different

    @property
    def difference(self) -> np.ndarray:
        """Same minus different, [replicates, ...]."""
        return self.same - self.different


def frequency_strata(
    frequencies: ArrayLike, bins: int = 20, labelled: ArrayLike | None = None
) -> np.ndarray:
    """Quantile strata of words by frequency rank; ties keep the order of the words.

    Args:
        frequencies: [W], corpus frequencies.
        bins: number of strata. Where words are few, at most one stratum per two words is made, so
            that a permutation has something to move.
        labelled: bool [W], words to stratify; all when not given.

    Returns:
        int64 [W], strata 0 (rarest).. ; -1 for words that are not labelled.
    """
    frequencies = np.asarray(frequencies, dtype=np.float64)
    chosen = np.arange(len(frequencies)) if labelled is None else np.flatnonzero(labelled)
    order = chosen[np.argsort(frequencies[chosen], kind="stable")]
    bins = max(1, min(bins, len(order) // 2))
    strata = np.full(len(frequencies), -1, dtype=np.int64)
    strata[order] = np.arange(len(order)) * bins // max(1, len(order))
    return strata


def permute_within(strata: ArrayLike, rng: np.random.Generator) -> np.ndarray:
    """A uniformly random permutation p of the indices, int64 [W], with strata[p] == strata.

    Word w then takes the topic set of word p[w]. Where a stratum is negative the index stays.
    """
    strata = np.asarray(strata)
    permutation = np.arange(len(strata))
    moving = np.flatnonzero(strata >= 0)
    places = moving[np.argsort(strata[moving], kind="stable")]
    drawn = moving[np.lexsort((rng.random(len(moving)), strata[moving]))]
    permutation[places] = drawn
    return permutation


def word_multiplicities(
    membership: np.ndarray, resamples: int, rng: np.random.Generator
) -> list[np.ndarray]:
    """How often each labelled word is drawn when they are resampled with replacement.

    Returns:
        int64 [W] for each resample, 0 at words without a topic (rows of `membership`, [W, K]).
    """
    labelled = np.flatnonzero(membership.any(axis=1))
    return [
        np.bincount(rng.choice(labelled, size=len(labelled)), minlength=len(membership))
        for _ in range(resamples)
    ]


def document_weights(documents: int, resamples: int, rng: np.random.Generator) -> np.ndarray:
    """How often each document is drawn in each bootstrap resample: int64 [R, D]."""
    return rng.multinomial(documents, np.full(documents, 1.0 / documents), size=resamples)


def permuted_attention(
    word_pairs: WordPairs, membership: np.ndarray, permutations: Iterable[ArrayLike]
) -> tuple[Replicates, Replicates]:
    """Mean attention between different words under permuted topic labels: plain, standardised.

    Args:
        word_pairs: sums and counts of pairs of different words, over all documents.
        membership: bool [W, K], labels of one variant; pairs with an unlabelled word drop out.
        permutations: int [W] each, of the labelled words among themselves.

    Raises:
        ValueError: when a class has no pairs (it is named).
    """
    rows, pair, first, second = _unordered(word_pairs, membership.any(axis=1))
    shape = len(DISTANCE_EDGES), len(first)
    columns = (word_pairs.sums[rows], word_pairs.counts[rows].astype(np.float64))
    values = [coo_array((one, (word_pairs.distance[rows], pair)), shape) for one in columns]
    values = vstack(values, format="csr")  # [(sums, counts) x B, pairs]
    same = _sums(values, meetings(first, second, membership, permutations))
    both = np.stack([same, values.sum(axis=1) - same], axis=1).reshape(-1, 2, 2, shape[0])
    by_bin = both[:, :, 0], both[:, :, 1]  # sums and counts, [P, classes, B] each
    return class_means(*(one.sum(axis=-1) for one in by_bin)), standardised_means(*by_bin)


def permuted_ratios(
    word_pairs: WordPairs, memberships: np.ndarray, permutations: Sequence[ArrayLike]
) -> np.ndarray:
    """Ratios of same to different topics of several variants under the same permutations, [V, P].

    Labels of each move among the words of all, so that ratios may be subtracted. NaN where a
    permutation leaves a class without pairs.

    Args:
        word_pairs: as of `permuted_attention`.
        memberships: bool [V, W, K], labels of every variant.
        permutations: int [W] each, of the words that have a label in any variant.
    """
    among = memberships.any(axis=(0, 2))
    first, second, values = unordered(word_pairs, among)
    ratios = []
    for membership in memberships:
        labelled, total = membership.any(axis=1), values.sum(axis=1)
        if (among & ~labelled).any():  # of a pair both words need a label
            total = _sums(values, meetings(first, second, labelled[:, None], permutations))
        same = _sums(values, meetings(first, second, membership, permutations))
        with np.errstate(divide="ignore", invalid="ignore"):
            means = [part[:, 0] / part[:, 1] for part in (same, total - same)]
            ratios.append(means[0] / means[1])
    return np.array(ratios)


def _sums(values: np.ndarray | csr_array, meeting: Iterable[np.ndarray]) -> np.ndarray:
    """Of `values` of pairs, [n, pairs], over those that meet, [P, n]."""
    return np.array([values @ meets for meets in meeting]).reshape(-1, values.shape[0])


def meetings(
    first: np.ndarray, second: np.ndarray, membership: np.ndarray, permutations: Iterable[ArrayLike]
) -> Iterator[np.ndarray]:
    """Whether the topic sets of pairs of words meet, float64 [pairs] for each permutation.

    Args:
        first, second: int [pairs], words.
        membership, permutations: as of `permuted_attention`.
    """
    padded = np.pad(membership, ((0, 0), (0, -membership.shape[1] % 64)))
    # Topic sets as bits, 64 topics a number, [blocks, W].
    bits = np.ascontiguousarray(np.packbits(padded, axis=1).view(np.uint64).T)
    for permutation in permutations:
        meets = np.zeros(len(first), dtype=bool)
        for block in bits:
            moved = block[permutation]
            meets |= (moved[first] & moved[second]) != 0
        yield meets.astype(np.float64)


def resampled(weights: ArrayLike, *totals: ArrayLike) -> list[np.ndarray]:
    """Totals of each document [D, ...] over those drawn by `document_weights`, [R, ...] float64."""
    weights = np.asarray(weights, np.float64)
    return [np.tensordot(weights, np.asarray(total, np.float64), 1) for total in totals]


def class_means(sums: np.ndarray, counts: np.ndarray) -> Replicates:
    """Mean attention of [replicates, 2, ...], of (same_topic, different_topic) pairs.

    Raises:
        ValueError: when a class has no pairs (it is named) in any replicate.
    """
    for index, name in enumerate(CLASSES):
        empty = int((counts[:, index] == 0).any(axis=tuple(range(1, counts.ndim - 1))).sum())
        if empty:
            raise ValueError(f"{name}: no pairs in {empty} of {len(counts)} replicates")
    means = sums / counts
    return Replicates(same=means[:, 0], different=means[:, 1])


def standardised_means(sums: np.ndarray, counts: np.ndarray) -> Replicates:
    """Same-topic and different-topic mean attention at equal distances between the words.

    Words of one topic sit closer together, and close words attend to each other more. By direct
    standardisation the different-topic means of the distance bins are weighted by the number of
    same-topic pairs in them. Bins that lack one of the classes are left out on both sides.

    Args:
        sums, counts: [replicates, 2, B], of (same_topic, different_topic) pairs.

    Raises:
        ValueError: when a class has no pairs (it is named), or no bin has pairs of both.
    """
    pairs = counts.sum(axis=2)
    for index, name in enumerate(CLASSES):
        if (pairs[:, index] == 0).any():
            raise ValueError(f"{name}: no pairs at any distance")
    shared = (counts > 0).all(axis=1)  # [replicates, B]
    weights = np.where(shared, counts[:, 0], 0.0)
    total = weights.sum(axis=1)
    if (total == 0).any():
        raise ValueError("no distance bin has pairs of both classes")
    same = np.where(shared, sums[:, 0], 0.0).sum(axis=1) / total
    different_means = sums[:, 1] / np.maximum(counts[:, 1], 1.0)
    return Replicates(same=same, different=(weights * different_means).sum(axis=1) / total)


def z_score(values: ArrayLike, null: ArrayLike) -> float:
    """How far the mean over trainings lies from what permuted topics give these trainings.

    (mean - mean of the null) / standard deviation of the null, with n - 1 in its denominator; the
    null is that of the mean over seeds. z answers whether these trainings tell these topics from
    permuted ones: how far trainings differ is no part of it, and under permuted labels its standard
    deviation is about 1 however far they do. Whether other trainings would show the same is what
    the interval answers.

    Args:
        values: one per seed [S], or one.
        null: [S, P], permuted in the same way for all seeds, or [P] for one.

    Raises:
        ValueError: when the null does not vary by more than its rounding.
    """
    value, null = _mean_over_seeds(values, null)
    spread = null.std(ddof=1) if null.size > 1 else 0.0
    # Sums in another order differ in their last digits, by processor.
    if not spread > ROUNDING * np.abs(null).max():
        raise ValueError(f"the null ({null.size} values) does not vary: no z score")
    return float((value - null.mean()) / spread)


def permutation_p(values: ArrayLike, null: ArrayLike) -> float:
    """How often permuted topics give these trainings at least the ratio that was measured.

    (1 + number of permutations at or above the mean) / (P + 1): one-sided, the chance of such a
    ratio under permuted labels whatever the shape of the null, and never below 1 / (P + 1). What
    differs by its rounding alone is a tie, and counts.
    """
    value, null = _mean_over_seeds(values, null)
    reached = null >= value - ROUNDING * abs(value)
    return float((1 + reached.sum()) / (len(null) + 1))


def _mean_over_seeds(values: ArrayLike, null: ArrayLike) -> tuple[float, np.ndarray]:
    value = np.mean(np.asarray(values, dtype=np.float64))
    return float(value), np.atleast_2d(np.asarray(null, dtype=np.float64)).mean(axis=0)


def topic_sums(word_pairs: WordPairs, membership: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Attention between words of every two topics: sums and counts, float64 [K, K] each.

    Args:
        word_pairs: sums and counts of pairs of different words, over all documents.
        membership: bool [W, K], each word in at most one topic.
    """
    topic = np.where(membership.any(axis=1), membership.argmax(axis=1), -1)
    first, second = topic[word_pairs.query], topic[word_pairs.key]
    kept, topics = (first >= 0) & (second >= 0), membership.shape[1]
    code = first[kept] * topics + second[kept]
    sums, counts = (
        np.bincount(code, weights=column[kept], minlength=topics**2).reshape(topics, topics)
        for column in (word_pairs.sums, word_pairs.counts)
    )
    return sums, counts


def resampled_topics(sums: np.ndarray, counts: np.ndarray, weights: ArrayLike) -> Replicates:
    """Mean attention with whole topics drawn with replacement: [R].

    With S and N the sums and counts between two topics and w how often each is drawn, the mean of
    one topic is sum_k w_k S_kk / sum_k w_k N_kk, that of different topics sum_{k != l} w_k w_l S_kl
    / sum_{k != l} w_k w_l N_kl. A topic that is drawn twice is two topics without pairs between
    them. NaN where a draw leaves a class without pairs.

    Args:
        sums, counts: float64 [K, K], of `topic_sums`.
        weights: int [R, K].
    """
    weights, parts = np.asarray(weights, dtype=np.float64), []
    for table in (sums, counts):
        same_topic = np.diag(table)
        apart = table - np.diag(same_topic)
        parts.append((weights @ same_topic, ((weights @ apart) * weights).sum(axis=1)))
    with np.errstate(divide="ignore", invalid="ignore"):
        return Replicates(*(total / number for total, number in zip(*parts, strict=True)))


def unordered(
    word_pairs: WordPairs, labelled: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Pairs of two labelled words without their order: first < second [rows], values [2, rows].

    Whether topic sets meet does not depend on the order, and half the rows take half the time.
    """
    rows, pair, first, second = _unordered(word_pairs, labelled)
    columns = (word_pairs.sums[rows], word_pairs.counts[rows])
    values = [np.bincount(pair, weights=column, minlength=len(first)) for column in columns]
    return first, second, np.array(values, dtype=np.float64)


def _unordered(
    word_pairs: WordPairs, labelled: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Which rows are of two labelled words, the pair of each, and the words of every pair."""
    rows = np.flatnonzero(labelled[word_pairs.query] & labelled[word_pairs.key])
    query, key = word_pairs.query[rows], word_pairs.key[rows]
    codes = np.minimum(query, key) * len(labelled) + np.maximum(query, key)
    codes, pair = np.unique(codes, return_inverse=True)
    return rows, pair, *np.divmod(codes, len(labelled))
