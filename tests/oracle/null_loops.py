"""Permutation null, bootstraps and distance standardisation, written as plain loops."""

from __future__ import annotations

from tests.oracle import similarity_loops


def permuted_topics(topics, permutation):
    """Topic sets after word w took the set of word permutation[w]."""
    return [topics[source] for source in permutation]


def similarity_null(vectors, topics, permutations):
    """(same mean, different mean) for every permutation of the labels."""
    return [
        similarity_loops.pair_means(vectors, permuted_topics(topics, permutation))[:2]
        for permutation in permutations
    ]


def similarity_bootstrap(vectors, topics, multiplicities):
    """(same mean, different mean) for every resample, with its copies written out.

    Copies of one word are no pair of distinct words.
    """
    replicates = []
    for copies_of in multiplicities:
        sample = [word for word, copies in enumerate(copies_of) for _ in range(copies)]
        sums, pairs = [0.0, 0.0], [0, 0]
        for first, word in enumerate(sample):
            for other in sample[first + 1 :]:
                if word == other or not topics[word] or not topics[other]:
                    continue
                kind = 0 if topics[word] & topics[other] else 1
                sums[kind] += similarity_loops.dot(vectors[word], vectors[other])
                pairs[kind] += 1
        replicates.append((sums[0] / pairs[0], sums[1] / pairs[1]))
    return replicates


def attention_means(word_pairs, topics):
    """(same mean, different mean) over {(query, key, bin): [sum, count]}: plain, standardised."""
    bins = 1 + max(distance for _, _, distance in word_pairs)
    sums, counts = ([[0.0] * bins for _ in range(2)] for _ in range(2))
    for (query, key, distance), (weight, count) in word_pairs.items():
        if not topics[query] or not topics[key]:
            continue
        kind = 0 if topics[query] & topics[key] else 1
        sums[kind][distance] += weight
        counts[kind][distance] += count
    plain = tuple(sum(sums[kind]) / sum(counts[kind]) for kind in range(2))
    return plain, distance_standardised_means(sums, counts)


def attention_null(word_pairs, topics, permutations):
    """(same mean, different mean) for every permutation of the labels: plain, standardised."""
    permuted = [permuted_topics(topics, permutation) for permutation in permutations]
    return tuple(zip(*(attention_means(word_pairs, one) for one in permuted), strict=True))


def attention_bootstrap(sums, counts, weights):
    """(same mean, different mean) for every resample of documents given by its weights."""
    replicates = []
    for copies_of in weights:
        sample = [document for document, copies in enumerate(copies_of) for _ in range(copies)]
        means = []
        for kind in range(2):
            weight = sum(sums[document][kind] for document in sample)
            count = sum(counts[document][kind] for document in sample)
            means.append(weight / count)
        replicates.append(tuple(means))
    return replicates


def distance_standardised_means(sums, counts):
    """(same mean, different mean at the same-topic pairs' distances) of [2][bins] lists.

    Every same-topic pair is set against the mean of the different-topic pairs in its bin; pairs in
    bins that lack the other class are left out.
    """
    same, different, pairs = 0.0, 0.0, 0
    for index in range(len(sums[0])):
        if counts[0][index] == 0 or counts[1][index] == 0:
            continue
        same += sums[0][index]
        for _ in range(int(counts[0][index])):
            different += sums[1][index] / counts[1][index]
            pairs += 1
    return same / pairs, different / pairs


def attention_over_topics(pairs, topic, draws):
    """Means [(same, different)] with topics drawn anew, one copy of a topic after the other.

    Args:
        pairs: {(query, key): (attention, count)}.
        topic: of each word, or -1.
        draws: topics drawn, in each draw.
    """
    found = []
    for draw in draws:
        draw = list(draw)
        same, different = [0.0, 0], [0.0, 0]
        for i, first in enumerate(draw):
            for j, second in enumerate(draw):
                for (query, key), (attention, count) in pairs.items():
                    if (topic[query], topic[key]) != (first, second):
                        continue
                    if i == j:
                        total = same
                    elif first != second:  # a topic has no pairs with its own copy
                        total = different
                    else:
                        continue
                    total[0] += attention
                    total[1] += count
        found.append((same[0] / same[1], different[0] / different[1]))
    return found
