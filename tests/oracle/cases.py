"""Random inputs for the comparison of the fast code with the plain loops."""

from __future__ import annotations

import numpy as np

from onelayer.papers.topic_structure.wikipedia.probe.pairs import Labels


def membership(rng, words, topics, overlapping, unlabelled=0.2, largest=4):
    """Random labels, bool [words, topics]: one topic a word, or up to `largest`."""
    labels = np.zeros((words, topics), dtype=bool)
    for word in range(words):
        if rng.random() < unlabelled:
            continue
        size = int(rng.integers(1, largest + 1)) if overlapping else 1
        labels[word, rng.choice(topics, size=min(size, topics), replace=False)] = True
    return labels


def topic_sets(labels):
    """Topic set of every word of a bool [words, topics]."""
    return [set(np.flatnonzero(row).tolist()) for row in labels]


def attention(rng, layers, heads, tokens, sharpness=2.0, causal=False):
    """Random attention, float32 [layers, heads, tokens, tokens], rows sum to one."""
    scores = np.exp(sharpness * rng.standard_normal((layers, heads, tokens, tokens)))
    scores = np.tril(scores) if causal else scores
    return (scores / scores.sum(axis=-1, keepdims=True)).astype(np.float32)


def labels(rng, words, topics, variants=4):
    """Random `Labels`; even variants are disjoint, odd ones overlap."""
    return Labels(
        words=tuple(f"word{index}" for index in range(words)),
        membership=np.stack(
            [membership(rng, words, topics, overlapping=bool(v % 2)) for v in range(variants)]
        ),
    )


def document(rng, tokens, words, share=0.7, known=0.7):
    """Positions of single-piece words (sorted) and their word index or -1."""
    size = round(share * tokens)
    positions = np.sort(rng.choice(tokens, size=size, replace=False))
    word_index = rng.integers(0, words, size=size)
    word_index[rng.random(size) > known] = -1
    return positions, word_index
