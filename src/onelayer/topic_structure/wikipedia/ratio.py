"""THE attention ratio and its null: what pairs of words of one topic get, over pairs of two.

Li, Li & Risteski (2023), section 6. The probe asks a model for one row a pair of positions with two
different words; everything here is sums over such rows, by class (one topic, two topics) and by
stratum (the pair's distance, or its document).

Shapes: W words, K topics, U strata, S checkpoints, P permutations. Sums are [..., 1 + S, 2, U]:
numbers of pairs, then weights of each checkpoint; of one topic, of two.
"""

from collections.abc import Sequence

import numpy as np

from onelayer.seeds import generator
from onelayer.settings.probe import UncertaintySettings

# Smallest distance |i - j| of each bin; the last one is open.
EDGES = np.array([1, 2, 3, 4, 5, 6, 7, 8, 9, 13, 17, 25, 33, 49, 65, 97, 129])


def class_sums(numbers: np.ndarray, same: np.ndarray, stratum: np.ndarray, U: int) -> np.ndarray:
    """Sums of rows by class and stratum, [1 + S, 2, U].

    Args:
        numbers: 1 and the weights of each row, [1 + S, rows].
        same: whether its words share a topic, bool [rows].
        stratum: int [rows].
    """
    code = np.where(same, stratum, U + stratum)
    return np.stack([np.bincount(code, one, 2 * U) for one in numbers]).reshape(-1, 2, U)


def ratio(sums: np.ndarray) -> np.ndarray:
    """The attention ratio: mean weight within topics / mean weight across, [..., S]."""
    totals = sums.sum(axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return over(totals[..., 1:, :] / totals[..., :1, :])


def over(two: np.ndarray) -> np.ndarray:
    """The first over the second of the last axis; NaN or infinite without pairs."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return two[..., 0] / two[..., 1]


def like_strata(sums: np.ndarray) -> np.ndarray:
    """Weights of pairs of one topic, and what as many pairs of two get in the same strata.

    [..., S, 2, U], 0 in strata that lack one of the classes.
    """
    shared = (sums[..., :1, :, :] > 0).all(axis=-2, keepdims=True)
    pairs, weights = sums[..., :1, :, :], np.where(shared, sums[..., 1:, :, :], 0.0)
    across = pairs[..., 0, :] * weights[..., 1, :] / np.maximum(pairs[..., 1, :], 1.0)
    return np.stack([weights[..., 0, :], across], axis=-2)


def ratio_at_equal(sums: np.ndarray) -> np.ndarray:
    """The ratio with pairs of two topics weighted to the strata of pairs of one, [..., S].

    Strata are distances: words of one topic stand closer together, and close words attend to each
    other more. Or documents: some have more pairs of one topic, and some more attention.
    """
    return over(like_strata(sums).sum(axis=-1))


def topic_bits(topics: np.ndarray) -> np.ndarray:
    """Topic sets as bits, 64 topics a number: uint64 [blocks, W], of topics bool [W, K]."""
    padded = np.pad(topics, ((0, 0), (0, -topics.shape[1] % 64)))
    return np.ascontiguousarray(np.packbits(padded, axis=1).view(np.uint64).T)


def meets(bits: np.ndarray, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Which pairs of words share a topic, bool [pairs]; `bits[:, p]` are permuted topics.

    A table of words by words would say the same, and not fit a processor's cache.
    """
    return np.any([(one[first] & one[second]) != 0 for one in bits], axis=0)


def permutations(
    labels: np.ndarray, occurrences: np.ndarray, settings: UncertaintySettings
) -> np.ndarray:
    """The null: word w takes the topics of word p[w], of like frequency; int [P, W].

    Words with a topic (`labels`, bool [W, K]) are permuted within strata of frequency, of two words
    at least; others stay.
    """
    rng = generator("permutations", settings.seed)
    labelled = np.flatnonzero(labels.any(axis=1))
    order = labelled[np.argsort(occurrences[labelled].astype(np.float64), kind="stable")]
    strata = np.empty(len(labels), dtype=np.int64)
    bins = max(1, min(settings.frequency_bins, len(order) // 2))
    strata[order] = np.arange(len(order)) * bins // max(1, len(order))
    drawn = np.tile(np.arange(len(labels)), (settings.permutations, 1))
    places = labelled[np.argsort(strata[labelled], kind="stable")]
    for one in drawn:
        one[places] = labelled[np.argsort(strata[labelled] + rng.random(len(labelled)))]
    return drawn


def permuted_sums(
    first: np.ndarray,
    second: np.ndarray,
    numbers: np.ndarray,
    topics: np.ndarray,
    moved: np.ndarray,
    strata: Sequence[tuple[np.ndarray, int]],
) -> list[np.ndarray]:
    """`class_sums` with topics permuted, of pairs of words with a topic.

    Args:
        moved: `permutations`, [P, W].
        strata: of each row, and how many there are: [rows] and U.

    Returns:
        For each of `strata` sums [P, 1 + S, 2, U].
    """
    bits, alone = topic_bits(topics), not (topics.sum(axis=1) > 1).any()
    topic = topics.argmax(axis=1).astype(np.int16)
    totals = [np.stack([np.bincount(of, one, U) for one in numbers]) for of, U in strata]
    sums = [np.empty((len(moved), len(numbers), 2, U)) for _, U in strata]
    for place, p in enumerate(moved):
        if alone:  # the same, in half of the time
            same = np.flatnonzero(topic[p][first] == topic[p][second])
        else:
            same = np.flatnonzero(meets(bits[:, p], first, second))
        weights = numbers[:, same]  # few of all
        for (of, U), total, out in zip(strata, totals, sums, strict=True):
            out[place, :, 0] = [np.bincount(of[same], one, U) for one in weights]
            out[place, :, 1] = total - out[place, :, 0]
    return sums
