"""Embedding similarity over all pairs of distinct words, written as plain loops."""

from __future__ import annotations


def dot(x, y):
    """Dot product of two lists."""
    total = 0.0
    for a, b in zip(x, y, strict=True):
        total += a * b
    return total


def cosine(x, y):
    """Cosine of two lists."""
    return dot(x, y) / (dot(x, x) ** 0.5 * dot(y, y) ** 0.5)


def pair_means(vectors, topics, weights=None, similarity=dot):
    """Mean similarity of same-topic and of different-topic pairs.

    Args:
        vectors: one list of floats per word.
        topics: one topic set per word.
        weights: one multiplicity per word, 1 when not given.
        similarity: function of two vectors.

    Returns:
        (same mean, different mean, same pairs, different pairs)
    """
    if weights is None:
        weights = [1 for _ in vectors]
    sums = [0.0, 0.0]
    pairs = [0, 0]
    for word in range(len(vectors)):
        for other in range(word + 1, len(vectors)):
            if not topics[word] or not topics[other]:
                continue
            copies = weights[word] * weights[other]
            if copies == 0:
                continue
            kind = 0 if topics[word] & topics[other] else 1
            sums[kind] += copies * similarity(vectors[word], vectors[other])
            pairs[kind] += copies
    return sums[0] / pairs[0], sums[1] / pairs[1], pairs[0], pairs[1]
