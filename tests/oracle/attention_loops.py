"""The attention pair statistics of one document, written as plain loops."""

from __future__ import annotations

DISTANCES = [(d, d) for d in range(1, 9)] + [
    (9, 12),
    (13, 16),
    (17, 24),
    (25, 32),
    (33, 48),
    (49, 64),
    (65, 96),
    (97, 128),
    (129, 10**9),
]


def pair_class(word, other, topics):
    """Class of a pair of words, given the topic set of every word in one variant."""
    topics_of_word = topics[word] if word >= 0 else set()
    topics_of_other = topics[other] if other >= 0 else set()
    if not topics_of_word or not topics_of_other:
        return 3
    if word == other:
        return 0
    if topics_of_word & topics_of_other:
        return 1
    return 2


def distance_bin(i, j):
    """Index of the bin that the distance of two positions falls into."""
    for index, (low, high) in enumerate(DISTANCES):
        if low <= abs(i - j) <= high:
            return index
    raise AssertionError(f"positions {i} and {j} are one")


def pair_sums(attention, positions, words, topics, reference_length, causal=False):
    """Sums and counts of one document.

    Args:
        attention: array or tensor [layers, heads, tokens, tokens].
        positions: token indices of the single-piece words.
        words: word index at each of these positions, -1 for none.
        topics: for every variant, a list with the topic set of every word.
        reference_length: see `onelayer.papers.topic_structure.wikipedia.probe.pairs`.
        causal: whether only later tokens attend to earlier ones, the first of all left out.

    Returns:
        head_sums[v][c][l][h], counts[v][c], distance_sums[v][c][b], distance_counts[v][c][b] and
        {(query word, key word, bin): [sum, count]}.
    """
    layers, heads, tokens = attention.shape[0], attention.shape[1], attention.shape[2]
    variants = range(len(topics))
    head_sums = [
        [[[0.0 for _ in range(heads)] for _ in range(layers)] for _ in range(4)] for _ in variants
    ]
    counts = [[0 for _ in range(4)] for _ in variants]
    distance_sums = [[[0.0 for _ in DISTANCES] for _ in range(4)] for _ in variants]
    distance_counts = [[[0 for _ in DISTANCES] for _ in range(4)] for _ in variants]
    word_pairs = {}

    for i, word in zip(positions, words, strict=True):
        for j, other in zip(positions, words, strict=True):
            if i == j or (causal and (j > i or j == 0)):
                continue
            keys = i + 1 if causal else tokens  # that row i attends to
            weights = attention[:, :, i, j].tolist()  # Python floats are float64
            total = 0.0
            classes = [pair_class(word, other, topics[v]) for v in variants]
            for layer in range(layers):
                for head in range(heads):
                    weight = weights[layer][head] * keys / reference_length
                    total += weight
                    for v in variants:
                        head_sums[v][classes[v]][layer][head] += weight
            mean = total / (layers * heads)
            for v in variants:
                counts[v][classes[v]] += 1
                distance_sums[v][classes[v]][distance_bin(i, j)] += mean
                distance_counts[v][classes[v]][distance_bin(i, j)] += 1
            if is_labelled(word, topics) and is_labelled(other, topics) and word != other:
                row = word_pairs.setdefault((word, other, distance_bin(i, j)), [0.0, 0])
                row[0] += mean
                row[1] += 1
    return head_sums, counts, distance_sums, distance_counts, word_pairs


def is_labelled(word, topics):
    """Whether some variant gives the word a topic."""
    return word >= 0 and any(topics_of[word] for topics_of in topics)
