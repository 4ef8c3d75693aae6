"""Similarity of the embeddings of words that share a topic and of words that do not.

The embedding probe of Li, Li & Risteski (2023): means over all pairs of distinct words, exact, with
neither sampling nor a table of words by words.

Shapes: W words, K topics, G distinct topic sets, S checkpoints, M kinds of vectors, d their width.
"""

from collections.abc import Callable, Iterable, Sequence

import numpy as np
import pandas as pd
from scipy.sparse import csr_array

from onelayer.errors import OnelayerError
from onelayer.seeds import generator
from onelayer.settings.probe import UncertaintySettings
from onelayer.topic_structure.wikipedia.measure import permutations, rows_of
from onelayer.topic_structure.wikipedia.words import Labels

COSINE, DOT, RAW = "embedding_cosine_ratio", "embedding_dot_ratio", "embedding_raw_cosine_ratio"


def similarities(
    vectors: np.ndarray, topics: np.ndarray, draws: Iterable[tuple[np.ndarray, np.ndarray]]
) -> np.ndarray:
    """Mean x_i . y_j over pairs of words that share a topic, and over others: [draws, M, 2].

    Exact over all pairs of distinct words, without a table of words by words. Words with the same
    topics are a group; of all groups that meet, the sum over topics counts a pair as often as it
    shares topics, and pairs that share several are then counted once.

    Args:
        vectors: [W, M, d], of words with a topic each.
        topics: bool [W, K].
        draws: multiplicities n, [W]: a pair counts n_i n_j times, a word never pairs with its own
            copies; and permutations p, [W]: word w takes the topics of word p[w].
    """
    words, kinds, width = vectors.shape
    sets, group = np.unique(topics, axis=0, return_inverse=True)
    by_topic = csr_array(sets.T.astype(np.float64))  # [K, G]
    shared = sets.astype(np.float64) @ sets.T
    again = csr_array(np.where(shared > 1, 1.0 - shared, 0.0))  # [G, G]
    flat = np.hstack([vectors.reshape(words, -1), np.ones((words, 1))])
    squares = np.einsum("wmd,wmd->wm", vectors, vectors)

    def products(one: np.ndarray, other: np.ndarray) -> np.ndarray:
        """One of each kind of vectors, then of pairs, [M + 1]."""
        each = np.einsum("gc,gc->c", one, other)
        return np.append(each[:-1].reshape(kinds, width).sum(axis=1), each[-1])

    means = []
    for n, p in draws:
        place = group[p], np.arange(words)
        sums = csr_array((n.astype(np.float64), place), shape=(len(sets), words)) @ flat
        itself = np.append((n**2) @ squares, n @ n)
        of_topics = by_topic @ sums
        same = products(of_topics, of_topics) + products(again @ sums, sums) - itself
        whole = sums.sum(axis=0, keepdims=True)
        other = products(whole, whole) - itself - same
        with np.errstate(divide="ignore", invalid="ignore"):
            means.append(np.stack([same[:-1] / same[-1], other[:-1] / other[-1]], axis=-1))
    return np.array(means)


def measure_embeddings(
    checkpoints: Sequence[pd.DataFrame],
    labels: Labels,
    settings: UncertaintySettings,
    seeds: Sequence[int] = (),
    progress: Callable[..., Iterable] = lambda items, **_: items,
) -> pd.DataFrame:
    """Similarity ratios of one model's embeddings, every variant, exact over all pairs of words.

    Args:
        checkpoints: rows of `embed`.

    Returns:
        Rows as of attention, `n` words: `embedding_cosine_ratio` and `embedding_dot_ratio` of the
        embedding layer's output, `embedding_raw_cosine_ratio` of the raw word embeddings, and
        behind each the mean over different topics, `embedding_cosine_different`, ..., where 0 is
        within its interval the ratio means nothing.

    Raises:
        OnelayerError: vectors are zero or not finite, or a variant has too few pairs.
    """
    stacked = {
        (quantity, i): _vectors(one.set_index("word").loc[list(labels.words), column], quantity)
        for quantity, column in ((COSINE, "output"), (DOT, "output"), (RAW, "raw"))
        for i, one in enumerate(checkpoints)
    }
    vectors, measured = np.stack(list(stacked.values()), axis=1), []
    parts = list(zip(labels.variants, labels.topics, strict=True))
    for variant, topics in progress(parts, unit="variant"):
        chosen = np.flatnonzero(topics.any(axis=1))
        rng, size = generator("words", settings.seed), len(chosen)
        draw = [rng.choice(chosen, size=size) for _ in range(settings.word_resamples)]
        times = [np.bincount(one, minlength=len(topics))[chosen] for one in draw]
        moved = permutations(topics, labels.occurrences, settings)
        once, stay = np.ones(size, dtype=np.int64), np.arange(size)
        moved = np.searchsorted(chosen, moved[:, chosen])
        draws = [(once, stay), *((n, stay) for n in times), *((once, p) for p in moved)]
        means = similarities(vectors[chosen], topics[chosen], draws)
        if not np.isfinite(means).all():
            raise OnelayerError(
                f"topics.ambiguity: threshold {variant.threshold}, {variant.overlap}: too few "
                f"pairs of {size} words for embeddings, their interval and null; a looser threshold"
            )
        means = means.reshape(len(draws), 3, len(checkpoints), 2)
        for kind, quantity in enumerate((COSINE, DOT, RAW)):
            within, across = np.moveaxis(means[:, kind], -1, 0)  # [draws, S]
            with np.errstate(divide="ignore", invalid="ignore"):
                all_ratios = within / across
            apart = quantity.removesuffix("ratio") + "different"
            drawn = slice(1, 1 + len(times))
            of = all_ratios[0], all_ratios[drawn], size, all_ratios[1 + len(times) :]
            measured += rows_of(variant, quantity, seeds, *of)
            measured += rows_of(variant, apart, seeds, across[0], across[drawn], size)
    return pd.DataFrame(measured)


def _vectors(column: pd.Series, quantity: str) -> np.ndarray:
    """Vectors [W, d] whose mean dot product is asked for; of unit length for a cosine."""
    vectors = np.stack(column.to_list())
    lengths = np.linalg.norm(vectors, axis=1)
    if bad := int((~(np.isfinite(lengths) & (lengths > 0))).sum()):
        raise OnelayerError(
            f"word embeddings: {bad} of {len(vectors)} vectors are zero or not finite: no cosine"
        )
    return vectors if quantity == DOT else vectors / lengths[:, None]
