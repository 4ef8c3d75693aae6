"""Times the probe's statistics against the plain loops, on one thread.

The plain loop over a document of 512 tokens takes most of its time.
"""

from collections.abc import Callable
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np

from onelayer.papers.topic_structure.probe import similarity, uncertainty
from onelayer.papers.topic_structure.probe.labels import stack_labels
from onelayer.papers.topic_structure.probe.pairs import Labels, PairCounter, WordPairs
from tests.oracle import attention_loops, cases, similarity_loops

LAYERS, HEADS, VARIANTS, TOPICS, VOCABULARY = 6, 12, 6, 50, 2500


def rows() -> list[dict[str, Any]]:
    """Measurements: name, seconds of ours and of the plain loop (None if not run), their ratio."""
    measurements = [_attention(tokens) for tokens in (100, 512)]
    measurements.append(_topic_models())
    measurements += [_similarity_small(), _similarity_large(False), _similarity_large(True)]
    for overlapping in (False, True):
        measurements.append(_similarity_null(overlapping))
        measurements.append(_similarity_bootstrap(overlapping))
        measurements.append(_attention_null(overlapping))
    return measurements


def _seconds(call: Callable[[], Any], repetitions: int) -> float:
    """Median wall time of a call."""
    times = []
    for _ in range(repetitions):
        start = perf_counter()
        call()
        times.append(perf_counter() - start)
    return median(times)


def _row(name: str, ours: float, loop: float | None = None) -> dict[str, Any]:
    return {
        "name": name,
        "ours_seconds": ours,
        "baseline_seconds": loop,
        "note": "" if loop is None else "plain loop of tests/oracle",
        "ratio": None if loop is None else loop / ours,
    }


def _nested_labels(rng: np.random.Generator) -> Labels:
    """Top 10/20/50 words of 50 topics, disjoint and overlapping: six variants as in the paper."""
    overlapping = np.stack([rng.permutation(VOCABULARY) for _ in range(TOPICS)], axis=1)
    disjoint = np.full((VOCABULARY, TOPICS), VOCABULARY)
    owner = rng.integers(0, TOPICS, size=VOCABULARY)
    disjoint[np.arange(VOCABULARY), owner] = overlapping[np.arange(VOCABULARY), owner] // TOPICS
    ranks = ((rank, top) for rank in (disjoint, overlapping) for top in (10, 20, 50))
    membership = np.stack([rank < top for rank, top in ranks])
    return Labels(tuple(f"word{word}" for word in range(VOCABULARY)), membership)


def _attention(tokens: int) -> dict[str, Any]:
    """One document: 80% of the tokens are single-piece words, 75% of these in the vocabulary."""
    rng = np.random.default_rng(tokens)
    labels = _nested_labels(rng)
    counter = PairCounter(labels, reference_length=128)
    attention = cases.attention(rng, LAYERS, HEADS, tokens)
    positions, words = cases.document(rng, tokens, VOCABULARY, share=0.8, known=0.75)
    topics = [cases.topic_sets(variant) for variant in labels.membership]

    ours = _seconds(lambda: counter.pair_sums(attention, positions, words), 9)
    arguments = (attention, positions.tolist(), words.tolist(), topics, 128)
    loop = _seconds(lambda: attention_loops.pair_sums(*arguments), 3 if tokens < 200 else 1)
    return _row(f"attention pairs, one document of {tokens} tokens", ours, loop)


def _topic_models(models: int = 18, tokens: int = 128) -> dict[str, Any]:
    """One document under many topic models: stacked labels, or one topic model after the other."""
    rng = np.random.default_rng(tokens)
    words = tuple(f"word{word}" for word in range(VOCABULARY))
    parts = [
        Labels(words, np.eye(TOPICS + 1, TOPICS, dtype=bool)[topic][None])
        for topic in rng.integers(0, TOPICS + 1, size=(models, VOCABULARY))
    ]
    attention = cases.attention(rng, LAYERS, HEADS, tokens)
    positions, known = cases.document(rng, tokens, VOCABULARY, share=0.8, known=0.75)
    together, alone = PairCounter(stack_labels(parts), 128), [PairCounter(p, 128) for p in parts]

    ours = _seconds(lambda: together.pair_sums(attention, positions, known), 9)
    each = _seconds(lambda: [c.pair_sums(attention, positions, known) for c in alone], 5)
    return {
        "name": f"attention pairs of {models} topic models, one document of {tokens} tokens",
        "ours_seconds": ours,
        "baseline_seconds": each,
        "note": "the same function once per topic model (forward passes not counted)",
        "ratio": each / ours,
    }


def _labelled_vectors(
    words: int, topics: int, overlapping: bool
) -> tuple[np.random.Generator, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(words)
    membership = cases.membership(rng, words, topics, overlapping, unlabelled=0.0, largest=3)
    return rng, rng.standard_normal((words, 384)), membership


def _similarity_small() -> dict[str, Any]:
    _, vectors, membership = _labelled_vectors(300, 20, overlapping=True)
    topics, lists = cases.topic_sets(membership), vectors.tolist()
    ours = _seconds(lambda: similarity.pair_means(vectors, membership), 9)
    loop = _seconds(lambda: similarity_loops.pair_means(lists, topics), 1)
    return _row("embedding means, 300 words, d 384, overlapping", ours, loop)


def _similarity_large(overlapping: bool) -> dict[str, Any]:
    _, vectors, membership = _labelled_vectors(30_000, 100, overlapping)
    ours = _seconds(lambda: similarity.pair_means(vectors, membership), 5)
    return _row(f"embedding means, 30,000 words, d 384, {_mode(overlapping)}", ours)


def _similarity_null(overlapping: bool) -> dict[str, Any]:
    rng, vectors, membership = _labelled_vectors(5_000, 50, overlapping)
    strata = uncertainty.frequency_strata(rng.zipf(1.5, size=5_000))
    seconds = _seconds(
        lambda: uncertainty.similarity_null(vectors, membership, strata, 200, rng), 3
    )
    return _row(f"embedding null, 200 x 5,000 words, {_mode(overlapping)}", seconds)


def _similarity_bootstrap(overlapping: bool) -> dict[str, Any]:
    rng, vectors, membership = _labelled_vectors(5_000, 50, overlapping)
    seconds = _seconds(lambda: uncertainty.similarity_bootstrap(vectors, membership, 200, rng), 3)
    return _row(f"embedding bootstrap, 200 x 5,000 words, {_mode(overlapping)}", seconds)


def _attention_null(overlapping: bool) -> dict[str, Any]:
    """Half a million rows of word pairs."""
    rng, _, membership = _labelled_vectors(VOCABULARY, TOPICS, overlapping)
    codes = rng.choice(VOCABULARY**2, size=500_000, replace=False)
    query, key = codes // VOCABULARY, codes % VOCABULARY
    query, key = query[query != key], key[query != key]
    word_pairs = WordPairs(query, key, rng.random(len(query)), rng.integers(1, 4, len(query)))
    strata = uncertainty.frequency_strata(rng.zipf(1.5, size=VOCABULARY))
    seconds = _seconds(
        lambda: uncertainty.attention_null(word_pairs, membership, strata, 200, rng), 3
    )
    return _row(f"attention null, 200 x 500,000 pairs, {_mode(overlapping)}", seconds)


def _mode(overlapping: bool) -> str:
    return "overlapping" if overlapping else "disjoint"
