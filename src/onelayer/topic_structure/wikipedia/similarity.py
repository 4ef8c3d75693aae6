"""Step 2 for embeddings: mean similarity of words that share a topic, and of words that do not.

The embedding probe of Li, Li & Risteski (2023): means over all pairs of distinct words, exact, with
neither sampling nor a table of words by words. Their theorem is about E = W_E^T W_E, the dot
products of the raw matrix. The embedding layer's output has a part that all words share: a mean
cosine of c across topics bounds its ratio by 1 / c, whatever the model has learned.

Shapes: W words, K topics, G distinct topic sets, d width of the vectors.
"""

import itertools
from collections.abc import Iterable

import numpy as np
from scipy.sparse import csr_array

COSINE, DOT = "embedding_cosine_ratio", "embedding_dot_ratio"
RAW, RAW_DOT = "embedding_raw_cosine_ratio", "embedding_raw_dot_ratio"
RAW_DIFFERENCE = "embedding_raw_dot_difference"  # of E = W_E^T W_E, the theorem's
SOURCES = {COSINE: "output", DOT: "output", RAW: "raw", RAW_DOT: "raw"}
COSINES = COSINE, RAW


def pair_means(
    vectors: Iterable[np.ndarray], topics: np.ndarray, draws: Iterable[tuple[np.ndarray, ...]]
) -> np.ndarray:
    """Mean x_i . y_j over pairs of words that share a topic, and over others: [kinds, draws, 2].

    Exact over all pairs of distinct words, of any kinds of `vectors`, [W, d] each, and `topics`,
    bool [W, K]. Words with the same topics are a group; of all groups that meet, the sum over
    topics counts a pair as often as it shares topics, and pairs that share several are then counted
    once. A draw has multiplicities n, [W]: a pair counts n_i n_j times, a word never pairs with its
    own copies; and a permutation p, [W]: word w takes the topics of word p[w].
    """
    bits, group = np.unique(np.packbits(topics, axis=1), axis=0, return_inverse=True)
    sets = np.unpackbits(bits, axis=1, count=topics.shape[1])
    shape = len(sets), len(topics)
    by_topic = csr_array(sets.T.astype(np.float64))  # [K, G]
    shared = sets.astype(np.float64) @ sets.T
    again = csr_array(np.where(shared > 1, 1.0 - shared, 0.0))  # [G, G]
    members = []  # [G, W], with multiplicities
    for n, p in draws:
        drawn = np.flatnonzero(n)
        entries = n[drawn].astype(np.float64), (group[p[drawn]], drawn)
        members.append((csr_array(entries, shape), n))
    sums = []  # of pairs and of each kind: of pairs that share a topic, and of others, [draws, 2]
    for x in itertools.chain([np.ones((len(topics), 1))], vectors):  # one at a time in memory
        squares = np.einsum("wd,wd->w", x, x)
        sums.append(by_draw := [])
        for member, n in members:
            grouped, itself = member @ x, (n * n) @ squares
            whole, topic_sums = grouped.sum(axis=0), by_topic @ grouped
            same = np.vdot(topic_sums, topic_sums) - itself + np.vdot(again @ grouped, grouped)
            by_draw.append([same, whole @ whole - itself - same])
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.array(sums[1:]) / np.array(sums[0])
