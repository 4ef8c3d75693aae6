"""Null models, bootstraps and intervals for the probe of Li, Li & Risteski (2023).

The paper reports plain ratios. Word frequency and distance alone move them, so every ratio is set
beside a permutation null (topic labels permuted among words of like frequency), a bootstrap
interval (over documents for attention, over words for embeddings) and, for attention, a ratio
standardised for the distance between the words, and an interval over topics.

Shapes: W words, K topics, D documents, B distance bins, P permutations, R resamples.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr, stdtrit

from onelayer.papers.topic_structure.wikipedia.probe.pairs import WordPairs
from onelayer.papers.topic_structure.wikipedia.probe.similarity import PairMeans, PairSimilarity

CLASSES = ("same_topic", "different_topic")


@dataclass(frozen=True, eq=False)
class Replicates:
    """Same-topic and different-topic means of permuted or resampled data.

    Attributes:
        same: float64 [replicates, ...], same-topic means.
        different: float64 [replicates, ...], different-topic means.
    """

    same: np.ndarray
    different: np.ndarray

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

    Raises:
        ValueError: when `bins` is not positive or frequencies are not finite.
    """
    frequencies = np.asarray(frequencies, dtype=np.float64)
    if bins < 1:
        raise ValueError(f"bins must be at least 1, not {bins}")
    if not np.isfinite(frequencies).all():
        raise ValueError("frequencies must be finite")
    chosen = np.arange(len(frequencies)) if labelled is None else np.flatnonzero(labelled)
    order = chosen[np.argsort(frequencies[chosen], kind="stable")]
    bins = max(1, min(bins, len(order) // 2))
    strata = np.full(len(frequencies), -1, dtype=np.int64)
    strata[order] = np.arange(len(order)) * bins // max(1, len(order))
    return strata


def permute_within(strata: ArrayLike, rng: np.random.Generator) -> np.ndarray:
    """A uniformly random permutation p of the indices, int64 [W], with strata[p] == strata.

    Args:
        strata: int [W]; where it is negative the index stays in place.
        rng: source of randomness.
    """
    strata = np.asarray(strata)
    permutation = np.arange(len(strata))
    moving = np.flatnonzero(strata >= 0)
    places = moving[np.argsort(strata[moving], kind="stable")]
    drawn = moving[np.lexsort((rng.random(len(moving)), strata[moving]))]
    permutation[places] = drawn
    return permutation


def label_permutations(
    membership: ArrayLike, strata: ArrayLike, permutations: int, rng: np.random.Generator
) -> Iterator[np.ndarray]:
    """Permutations of the labelled words within strata; other words stay in place.

    Args:
        membership: bool [W, K].
        strata: int [W], non-negative at labelled words; values at other words are ignored.
        permutations: number P.
        rng: source of randomness.

    Yields:
        int64 [W]: word w takes the topic set of word permutation[w].

    Raises:
        ValueError: when shapes disagree, a labelled word has no stratum, or P < 1.
    """
    labelled = np.asarray(membership).any(axis=1)
    strata = np.asarray(strata)
    if strata.shape != labelled.shape:
        raise ValueError(f"strata {list(strata.shape)} must be one per word [{len(labelled)}]")
    if (strata[labelled] < 0).any():
        raise ValueError("strata: a labelled word has no stratum")
    _check_positive("permutations", permutations)
    strata = np.where(labelled, strata, -1)
    return (permute_within(strata, rng) for _ in range(permutations))


def word_multiplicities(
    membership: ArrayLike, resamples: int, rng: np.random.Generator
) -> Iterator[np.ndarray]:
    """How often each labelled word is drawn when they are resampled with replacement.

    Yields:
        int64 [W], 0 at words without a topic.

    Raises:
        ValueError: when `resamples` < 1 or no word is labelled.
    """
    _check_positive("resamples", resamples)
    labelled = np.flatnonzero(np.asarray(membership).any(axis=1))
    _check_positive("labelled words", len(labelled))
    words = len(np.asarray(membership))
    return (
        np.bincount(rng.choice(labelled, size=len(labelled)), minlength=words)
        for _ in range(resamples)
    )


def document_weights(documents: int, resamples: int, rng: np.random.Generator) -> np.ndarray:
    """How often each document is drawn in each bootstrap resample: int64 [R, D].

    Raises:
        ValueError: when there is no document or no resample.
    """
    _check_positive("documents", documents)
    _check_positive("resamples", resamples)
    return rng.multinomial(documents, np.full(documents, 1.0 / documents), size=resamples)


def permuted_similarity(
    similarity: PairSimilarity, permutations: Iterable[ArrayLike]
) -> Replicates:
    """Embedding similarity under permuted topic labels, e.g. those of `label_permutations`.

    Args:
        similarity: of one labelling.
        permutations: int [W] each.

    Raises:
        ValueError: when a class has no pairs (it is named).
    """
    return _replicates(similarity.means(permutation=permutation) for permutation in permutations)


def resampled_similarity(
    similarity: PairSimilarity, multiplicities: Iterable[ArrayLike]
) -> Replicates:
    """Embedding similarity with the labelled words resampled, e.g. by `word_multiplicities`.

    Args:
        similarity: of one labelling.
        multiplicities: int [W] each.

    Raises:
        ValueError: when a class has no pairs (it is named).
    """
    return _replicates(similarity.means(weights=weights) for weights in multiplicities)


def attention_null(
    word_pairs: WordPairs,
    membership: ArrayLike,
    strata: ArrayLike,
    permutations: int,
    rng: np.random.Generator,
) -> Replicates:
    """Mean attention between different words under labels permuted within frequency strata.

    Args:
        word_pairs: sums and counts of pairs of different words, over all documents.
        membership: bool [W, K], labels of one variant; pairs with an unlabelled word drop out.
        strata, permutations, rng: see `label_permutations`.

    Raises:
        ValueError: when a class has no pairs (it is named), or inputs do not fit together.
    """
    drawn = label_permutations(membership, strata, permutations, rng)
    return permuted_attention(word_pairs, membership, drawn)


def permuted_attention(
    word_pairs: WordPairs, membership: ArrayLike, permutations: Iterable[ArrayLike]
) -> Replicates:
    """As `attention_null`, for given permutations (int [W] each)."""
    membership = np.asarray(membership, dtype=bool)
    first, second, values = _unordered(word_pairs, membership.any(axis=1))
    total = values.sum(axis=1)  # [sum, count]
    bits = _topic_bits(membership)  # [blocks, W]
    same = []
    for permutation in permutations:
        meets = np.zeros(len(first), dtype=bool)
        for block in bits:
            moved = block[permutation]
            meets |= (moved[first] & moved[second]) != 0
        same.append(values @ meets.astype(np.float64))
    same = np.array(same).reshape(-1, 2)  # [P, (sum, count)]
    both = np.stack([same, total - same], axis=1)  # [P, classes, (sum, count)]
    return _class_means(both[..., 0], both[..., 1])


def resampled_attention(sums: ArrayLike, counts: ArrayLike, weights: ArrayLike) -> Replicates:
    """Mean attention [R, ...] with the documents resampled.

    Args:
        sums: float64 [D, 2, ...], sums of the classes (same_topic, different_topic) in each
            document; further axes (layers, heads) are kept.
        counts: int [D, 2] or with the further axes of `sums`.
        weights: int [R, D], e.g. of `document_weights`.

    Raises:
        ValueError: when a class has no pairs (it is named) in any resample.
    """
    sums, counts = _as_classes(sums, counts, axis=1)
    counts = counts.reshape(counts.shape + (1,) * (sums.ndim - counts.ndim))
    weights = np.asarray(weights, dtype=np.float64)
    return _class_means(np.tensordot(weights, sums, 1), np.tensordot(weights, counts, 1))


def distance_standardised_ratio(distance_sums: ArrayLike, distance_counts: ArrayLike) -> float:
    """Same-topic over different-topic mean attention at equal distances between the words.

    Words of one topic sit closer together, and close words attend to each other more. By direct
    standardisation the different-topic means of the distance bins are weighted by the number of
    same-topic pairs in them. Bins that lack one of the classes are left out on both sides.

    Args:
        distance_sums: float64 [2, B], attention of (same_topic, different_topic) pairs.
        distance_counts: int [2, B].

    Raises:
        ValueError: when a class has no pairs (it is named), or no bin has pairs of both.
    """
    sums, counts = _as_classes(distance_sums, distance_counts, axis=0)
    return float(_standardised(sums[None], counts[None]).ratio[0])


def resampled_standardised(
    distance_sums: ArrayLike, distance_counts: ArrayLike, weights: ArrayLike
) -> Replicates:
    """`distance_standardised_ratio` with the documents resampled.

    Args:
        distance_sums, distance_counts: float64 and int [D, 2, B].
        weights: int [R, D], e.g. of `document_weights`.

    Raises:
        ValueError: as `distance_standardised_ratio`, in any resample.
    """
    sums, counts = _as_classes(distance_sums, distance_counts, axis=1)
    weights = np.asarray(weights, dtype=np.float64)
    return _standardised(np.tensordot(weights, sums, 1), np.tensordot(weights, counts, 1))


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
        ValueError: when the null has fewer than two permutations or does not vary.
    """
    value, null = _mean_over_seeds(values, null)
    spread = null.std(ddof=1) if null.size > 1 else 0.0
    if not spread > 0:
        raise ValueError(f"the null ({null.size} values) does not vary: no z score")
    return float((value - null.mean()) / spread)


def permutation_p(values: ArrayLike, null: ArrayLike) -> float:
    """How often permuted topics give these trainings at least the ratio that was measured.

    (1 + number of permutations at or above the mean) / (P + 1): one-sided, the chance of such a
    ratio under permuted labels whatever the shape of the null, and never below 1 / (P + 1).

    Args:
        values, null: as for `z_score`.
    """
    value, null = _mean_over_seeds(values, null)
    return float((1 + (null >= value).sum()) / (len(null) + 1))


def _mean_over_seeds(values: ArrayLike, null: ArrayLike) -> tuple[float, np.ndarray]:
    value = np.mean(np.asarray(values, dtype=np.float64))
    return float(value), np.atleast_2d(np.asarray(null, dtype=np.float64)).mean(axis=0)


def topic_sums(word_pairs: WordPairs, membership: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Attention between words of every two topics: sums and counts, float64 [K, K] each.

    Args:
        word_pairs: sums and counts of pairs of different words, over all documents.
        membership: bool [W, K], each word in at most one topic.

    Raises:
        ValueError: a word is in several topics: its pairs belong to no one pair of topics.
    """
    membership = np.asarray(membership, dtype=bool)
    if (membership.sum(axis=1) > 1).any():
        raise ValueError("a word is in several topics: its pairs belong to no two of them")
    topic = np.where(membership.any(axis=1), membership.argmax(axis=1), -1)
    first, second = topic[word_pairs.query], topic[word_pairs.key]
    kept, topics = (first >= 0) & (second >= 0), membership.shape[1]
    code = first[kept] * topics + second[kept]
    sums, counts = (
        np.bincount(code, weights=column[kept], minlength=topics**2).reshape(topics, topics)
        for column in (word_pairs.sums, word_pairs.counts)
    )
    return sums, counts


def resampled_topics(sums: ArrayLike, counts: ArrayLike, weights: ArrayLike) -> Replicates:
    """Mean attention with whole topics drawn with replacement: [R].

    With S and N the sums and counts between two topics and w how often each is drawn, the mean of
    one topic is sum_k w_k S_kk / sum_k w_k N_kk, that of different topics sum_{k != l} w_k w_l S_kl
    / sum_{k != l} w_k w_l N_kl. A topic that is drawn twice is two topics without pairs between
    them. NaN where a draw leaves a class without pairs.

    Args:
        sums, counts: float64 [K, K], of `topic_sums`.
        weights: int [R, K].
    """
    weights = np.asarray(weights, dtype=np.float64)
    means = []
    for between in (False, True):
        parts = []
        for table in (np.asarray(sums, np.float64), np.asarray(counts, np.float64)):
            own = np.diag(table)
            apart = table - np.diag(own)
            parts.append(((weights @ apart) * weights).sum(axis=1) if between else weights @ own)
        with np.errstate(divide="ignore", invalid="ignore"):
            means.append(parts[0] / parts[1])
    return Replicates(same=means[0], different=means[1])


def percentile_interval(
    replicates: ArrayLike, level: float = 0.95
) -> tuple[np.ndarray, np.ndarray]:
    """The middle `level` of the replicates over the first axis: (low, high), each [...].

    Of permutations; of a bootstrap `bootstrap_interval`.

    Raises:
        ValueError: when `level` is not between 0 and 1, or there are no replicates.
    """
    return _quantiles(replicates, (1 - level) / 2, level)


def bootstrap_interval(
    replicates: ArrayLike, n: int, level: float = 0.95
) -> tuple[np.ndarray, np.ndarray]:
    """Expanded percentile interval of a bootstrap over n units: (low, high), each [...].

    Plain percentiles are too narrow for few units: they divide by n and know nothing of Student's
    tails. The percentiles at Phi(-sqrt(n / (n - 1)) t_{alpha/2, n-1}) and its complement mend both
    (Hesterberg 2015, 'What teachers should know about the bootstrap', 5.3).

    Args:
        replicates: [R, ...].
        n: how many documents, words or topics were resampled.
        level: of the interval.

    Raises:
        ValueError: when `level` is not between 0 and 1, there are no replicates or fewer than two
            units.
    """
    if n < 2:
        raise ValueError(f"{n} unit was resampled: no interval")
    tail = ndtr(np.sqrt(n / (n - 1)) * stdtrit(n - 1, (1 - level) / 2))
    return _quantiles(replicates, tail, level)


def _quantiles(replicates: ArrayLike, tail: float, level: float) -> tuple[np.ndarray, np.ndarray]:
    replicates = np.asarray(replicates, dtype=np.float64)
    if not 0 < level < 1:
        raise ValueError(f"level must lie between 0 and 1, not {level}")
    if len(replicates) == 0:
        raise ValueError("no replicates: no interval")
    low, high = np.quantile(replicates, [tail, 1 - tail], axis=0)
    return low, high


def _check_positive(name: str, number: int) -> None:
    if number < 1:
        raise ValueError(f"{name} must be at least 1, not {number}")


def _replicates(means: Iterable[PairMeans]) -> Replicates:
    pairs = np.array([(mean.same_mean, mean.different_mean) for mean in means])
    return Replicates(same=pairs[:, 0], different=pairs[:, 1])


def _as_classes(sums: ArrayLike, counts: ArrayLike, axis: int) -> tuple[np.ndarray, np.ndarray]:
    sums = np.asarray(sums, dtype=np.float64)
    counts = np.asarray(counts, dtype=np.float64)
    if sums.ndim <= axis or sums.shape[axis] != 2 or counts.shape != sums.shape[: counts.ndim]:
        raise ValueError(
            f"sums {list(sums.shape)} and counts {list(counts.shape)} must agree and hold the "
            f"classes (same_topic, different_topic) on axis {axis}"
        )
    return sums, counts


def _class_means(sums: np.ndarray, counts: np.ndarray) -> Replicates:
    """Means of [replicates, 2, ...] sums and counts."""
    for index, name in enumerate(CLASSES):
        empty = int((counts[:, index] == 0).any(axis=tuple(range(1, counts.ndim - 1))).sum())
        if empty:
            raise ValueError(f"{name}: no pairs in {empty} of {len(counts)} replicates")
    means = sums / counts
    return Replicates(same=means[:, 0], different=means[:, 1])


def _standardised(sums: np.ndarray, counts: np.ndarray) -> Replicates:
    """Directly standardised means of [replicates, 2, B] sums and counts."""
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


def _unordered(
    word_pairs: WordPairs, labelled: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Pairs of two labelled words without their order: first < second [rows], values [2, rows].

    Whether topic sets meet does not depend on the order, and half the rows take half the time.
    """
    if (word_pairs.query == word_pairs.key).any():
        raise ValueError("word pairs must be of different words")
    kept = labelled[word_pairs.query] & labelled[word_pairs.key]
    query, key = word_pairs.query[kept], word_pairs.key[kept]
    codes = np.minimum(query, key) * len(labelled) + np.maximum(query, key)
    codes, row = np.unique(codes, return_inverse=True)
    columns = (word_pairs.sums[kept], word_pairs.counts[kept])
    values = [np.bincount(row, weights=column, minlength=len(codes)) for column in columns]
    return codes // len(labelled), codes % len(labelled), np.array(values, dtype=np.float64)


def _topic_bits(membership: np.ndarray) -> np.ndarray:
    """Topic sets as bits: uint64 [ceil(K / 64), W]."""
    words, topics = membership.shape
    padded = np.zeros((words, -(-topics // 64) * 64), dtype=bool)
    padded[:, :topics] = membership
    return np.ascontiguousarray(np.packbits(padded, axis=1).view(np.uint64).T)
