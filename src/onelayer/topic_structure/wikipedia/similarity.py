"""Embeddings of words that share a topic beside those of words that do not.

The embedding probe of Li, Li & Risteski (2023): means over all pairs of distinct words, exact, with
neither sampling nor a table of words by words. Their theorem is about E = W_E^T W_E, the dot
products of the raw matrix. The embedding layer's output has a part that all words share: a mean
cosine of c across topics bounds its ratio by 1 / c, whatever the model has learned.

Shapes: W words, K topics, G distinct topic sets, S checkpoints, d width of the vectors.
"""

import itertools
from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd
from scipy.sparse import csr_array

from onelayer.errors import OnelayerError
from onelayer.seeds import generator
from onelayer.settings.probe import UncertaintySettings
from onelayer.topic_structure.wikipedia.measure import Draws, rows_of
from onelayer.topic_structure.wikipedia.ratio import Labels, permutations

COSINE, DOT = "embedding_cosine_ratio", "embedding_dot_ratio"
RAW, RAW_DOT = "embedding_raw_cosine_ratio", "embedding_raw_dot_ratio"
SOURCES = {COSINE: "output", DOT: "output", RAW: "raw", RAW_DOT: "raw"}
TIGHTEST_ALONE = (RAW, RAW_DOT)  # measured at the tightest threshold


def pair_means(
    vectors: np.ndarray, topics: np.ndarray, draws: Iterable[tuple[np.ndarray, np.ndarray]]
) -> np.ndarray:
    """Mean x_i . y_j over pairs of words that share a topic, and over others: [kinds, draws, 2].

    Exact over all pairs of distinct words, of any kinds of `vectors`, [W, d] each, and `topics`,
    bool [W, K]. Words with the same topics are a group; of all groups that meet, the sum over
    topics counts a pair as often as it shares topics, and pairs that share several are then counted
    once. A draw has multiplicities n, [W]: a pair counts n_i n_j times, a word never pairs with its
    own copies; and a permutation p, [W]: word w takes the topics of word p[w].
    """
    sets, group = np.unique(topics, axis=0, return_inverse=True)
    shape = len(sets), len(topics)
    by_topic = csr_array(sets.T.astype(np.float64))  # [K, G]
    shared = sets.astype(np.float64) @ sets.T
    again = csr_array(np.where(shared > 1, 1.0 - shared, 0.0))  # [G, G]
    members = [  # [G, W], with multiplicities
        (csr_array((n.astype(np.float64), (group[p], np.arange(len(topics)))), shape), n)
        for n, p in draws
    ]
    sums = []  # of pairs and of each kind: of pairs that share a topic, and of others, [draws, 2]
    for x in (np.ones((len(topics), 1)), *vectors):
        squares = np.einsum("wd,wd->w", x, x)
        sums.append(of_draws := [])
        for of_groups, n in members:
            grouped, itself = of_groups @ x, (n * n) @ squares
            whole, of_topics = grouped.sum(axis=0), by_topic @ grouped
            same = np.vdot(of_topics, of_topics) - itself + np.vdot(again @ grouped, grouped)
            of_draws.append([same, whole @ whole - itself - same])
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.array(sums[1:]) / np.array(sums[0])


def measure_embeddings(
    checkpoints: Sequence[pd.DataFrame],
    labels: Labels,
    settings: UncertaintySettings,
    seeds: Sequence[int] = (),
) -> pd.DataFrame:
    """Similarity of one model's embeddings, every variant, exact over all pairs of words.

    Returns, of each checkpoint's rows of `embed`, rows as of attention, `n` words: of the embedding
    layer's output `embedding_cosine_ratio` and `embedding_dot_ratio`; at the tightest threshold of
    the raw matrix `embedding_raw_cosine_ratio` and `embedding_raw_dot_ratio`. Behind each ratio the
    mean within topics less that across, `embedding_cosine_difference`, ..., and the mean across,
    `embedding_cosine_different`, ...: where 0 is within its interval the ratio means nothing.

    Raises:
        OnelayerError: vectors are zero or not finite, or a variant has too few pairs.
    """
    vectors = {quantity: [] for quantity in SOURCES}  # [W, d] of each checkpoint
    for one, (quantity, source) in itertools.product(checkpoints, SOURCES.items()):
        of = np.stack(one.set_index("word")[source][list(labels.words)].to_list())
        lengths = np.linalg.norm(of, axis=1)
        if bad := int((~(np.isfinite(lengths) & (lengths > 0))).sum()):
            raise OnelayerError(
                f"word embeddings: {bad} of {len(of)} vectors are zero or not finite: no cosine"
            )
        vectors[quantity].append(of if quantity in (DOT, RAW_DOT) else of / lengths[:, None])
    measured = []
    for variant, topics in zip(labels.variants, labels.topics, strict=True):
        chosen = np.flatnonzero(topics.any(axis=1))
        rng, size = generator("words", settings.seed), len(chosen)
        drawn = [rng.choice(chosen, size=size) for _ in range(settings.word_resamples)]
        times = [np.bincount(one, minlength=len(topics))[chosen] for one in drawn]
        moved = permutations(topics, labels.occurrences, settings)
        once, stay = np.ones(size, dtype=np.int64), np.arange(size)
        moved = np.searchsorted(chosen, moved[:, chosen])
        draws = [(once, stay), *((n, stay) for n in times), *((once, p) for p in moved)]
        for quantity, of in vectors.items():
            if quantity in TIGHTEST_ALONE and variant not in labels.first:
                continue
            means = pair_means([one[chosen] for one in of], topics[chosen], draws)
            if not np.isfinite(means).all():
                raise OnelayerError(
                    f"topics: threshold {variant.threshold}, {variant.overlap}: too few "
                    f"pairs of {size} words for embeddings, their interval and null; a looser "
                    "threshold"
                )
            within, across = means.transpose(2, 1, 0)  # [draws, S]
            name, end = quantity.removesuffix("ratio"), 1 + len(times)
            with np.errstate(divide="ignore", invalid="ignore"):
                numbers = {quantity: within / across, f"{name}difference": within - across}
            for called, one in (numbers | {f"{name}different": across}).items():
                of_draws = Draws(one[0], one[1:end], one[end:], size)
                measured += rows_of(variant, called, seeds, of_draws)
    return pd.DataFrame(measured)
