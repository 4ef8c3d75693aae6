"""Step 2, the attention ratio: mean attention of pairs of words of one topic over pairs of two.

Li, Li & Risteski (2023), section 6. A pair (`Pairs`, from module `probe`) is of one topic if both
words are in it (`Labels`). Ratios and their null are sums over pairs, by class (one topic, two
topics) and by stratum (the pair's distance, or its document).

Only words that are one piece in a model's tokenizer can be probed: an embedding and an attention
weight belong to a piece. `kept` is the table of the ambiguity filter: `overlap`, `threshold`,
`topic`, `word`.

Shapes: W words, K topics, P pairs, D texts, U strata, S checkpoints, M permutations. Sums are
[..., 1 + S, 2, U]: numbers of pairs, then weights of each checkpoint; of one topic, of two.
"""

import functools
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from onelayer.errors import OnelayerError
from onelayer.seeds import generator
from onelayer.settings.probe import UncertaintySettings
from onelayer.settings.topics import AmbiguitySettings
from onelayer.text.topics.lda import filter_ambiguous_words, read_topics

# Smallest distance |i - j| of each bin; the last one is open.
EDGES = np.array([1, 2, 3, 4, 5, 6, 7, 8, 9, 13, 17, 25, 33, 49, 65, 97, 129])


class Variant(NamedTuple):
    """One way to keep words: an overlap mode and a threshold's label."""

    overlap: str
    threshold: str

    def rows_in(self, rows: pd.DataFrame) -> pd.DataFrame:
        """Its rows, of kept words or of measures."""
        return rows[(rows["overlap"] == self.overlap) & (rows["threshold"] == self.threshold)]


class Labels(NamedTuple):
    """Topics of the W probed words under V variants."""

    words: Sequence[str]  # [W], alphabetical
    variants: list[Variant]  # [V]
    topics: np.ndarray  # bool [V, W, K]: a word is one of the topic's
    occurrences: np.ndarray  # [W], in the corpus

    @property
    def first(self) -> set[Variant]:
        """The tightest variant of each overlap mode."""
        return set({variant.overlap: variant for variant in reversed(self.variants)}.values())


def variants_of(rows: pd.DataFrame) -> list[Variant]:
    """Variants of kept words or measures, in order; the first is the tightest."""
    pairs = rows[["overlap", "threshold"]].drop_duplicates()
    return [Variant(*pair) for pair in pairs.itertuples(index=False, name=None)]


def tightest(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows of the first variant alone."""
    return variants_of(rows)[0].rows_in(rows)


def keep_words(
    topics: Path, vocabulary: pd.DataFrame, ambiguity: AmbiguitySettings
) -> pd.DataFrame:
    """`kept` of a topic model that is fitted for comparison; a topic may be left without words."""
    probability = read_topics(topics).word_probability
    return filter_ambiguous_words(
        probability, list(vocabulary["word"]), ambiguity, allow_empty=True
    )


def label_words(kept: pd.DataFrame, vocabulary: pd.DataFrame, known: Collection[str]) -> Labels:
    """Topics, by variant, of the words that are one piece (`known`); some may have none.

    Raises:
        OnelayerError: the words of a variant have no pair of one topic, or of two.
    """
    whole, variants = kept[kept["word"].isin(set(known))], variants_of(kept)
    words = sorted(set(known))
    place = {word: index for index, word in enumerate(words)}
    topics = np.zeros((len(variants), len(words), int(kept["topic"].max()) + 1), dtype=bool)
    for variant, member in zip(variants, topics, strict=True):
        rows = variant.rows_in(whole)
        member[rows["word"].map(place).to_numpy(int), rows["topic"]] = True
        words_of_topic = member.sum(axis=0)
        if (words_of_topic > 0).sum() < 2 or words_of_topic.max() < 2:
            words_kept = variant.rows_in(kept)["word"].nunique()
            raise OnelayerError(
                f"topics: threshold {variant.threshold}, {variant.overlap}: "
                f"{member.any(axis=1).sum()} of {words_kept} words of the "
                "topics are one piece in this model's tokenizer; pairs of one topic and of two are "
                "needed (topics.words.single_piece_in has the topics made of such words)"
            )
    occurrences = vocabulary.set_index("word")["occurrences"].loc[words].to_numpy()
    return Labels(words, variants, topics, occurrences)


class Pairs(NamedTuple):
    """Pairs of places with two different words of topics, and the attention between them."""

    first: np.ndarray  # index of one word, int [P]
    second: np.ndarray  # of the other, behind it in the alphabet
    document: np.ndarray  # index of the text
    distance: np.ndarray  # place in `EDGES`
    keys: np.ndarray  # how many tokens the weights of a query are shared among
    together: np.ndarray  # bool [P], both places are of one article
    weights: np.ndarray  # mean attention, of S checkpoints, float64 [S, P]
    documents: int  # D, texts without pairs included

    @property
    def numbers(self) -> np.ndarray:
        """What is summed: 1 and the weights, [1 + S, P]."""
        return np.concatenate([np.ones((1, len(self.first))), self.weights])

    def select(self, kept: np.ndarray) -> "Pairs":
        """Some of the pairs, bool [P]."""
        return Pairs(*(column[..., kept] for column in self[:-1]), self.documents)

    def length_corrected(self) -> "Pairs":
        """The same with weights times keys, so that uniform attention gives every pair 1.

        Weights of a query sum to 1: long texts have smaller ones, and more pairs of two topics.
        """
        return self._replace(weights=self.weights * self.keys)


def class_sums(numbers: np.ndarray, same: np.ndarray, stratum: np.ndarray, U: int) -> np.ndarray:
    """Sums of `numbers` [1 + S, P] by class (`same`, bool [P]) and stratum, [1 + S, 2, U]."""
    code = np.where(same, stratum, U + stratum)
    return np.stack([np.bincount(code, row, 2 * U) for row in numbers]).reshape(-1, 2, U)


def plain(sums: np.ndarray) -> np.ndarray:
    """The attention ratio: mean weight within topics / mean weight across, [..., S]."""
    totals = sums.sum(axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return first_over_second(totals[..., 1:, :] / totals[..., :1, :])


def first_over_second(numbers: np.ndarray) -> np.ndarray:
    """Of the last axis; NaN or infinite without pairs."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return numbers[..., 0] / numbers[..., 1]


def like_strata(sums: np.ndarray) -> np.ndarray:
    """Weights of pairs of one topic, and what as many pairs of two get in the same strata.

    [..., S, 2, U], 0 in strata that lack one of the classes.
    """
    shared = (sums[..., :1, :, :] > 0).all(axis=-2, keepdims=True)
    pairs, weights = sums[..., :1, :, :], np.where(shared, sums[..., 1:, :, :], 0.0)
    across = pairs[..., 0, :] * weights[..., 1, :] / np.maximum(pairs[..., 1, :], 1.0)
    return np.stack([weights[..., 0, :], across], axis=-2)


def at_equal(sums: np.ndarray) -> np.ndarray:
    """The ratio with pairs of two topics weighted to the strata of pairs of one, [..., S].

    Strata are distances: words of one topic stand closer together, and close words attend to each
    other more. Or documents: some have more pairs of one topic, and some more attention.
    """
    return first_over_second(like_strata(sums).sum(axis=-1))


def topic_bits(topics: np.ndarray) -> np.ndarray:
    """Topic sets as bits, 64 topics a number: uint64 [blocks, W], of topics bool [W, K]."""
    padded = np.pad(topics, ((0, 0), (0, -topics.shape[1] % 64)))
    return np.ascontiguousarray(np.packbits(padded, axis=1).view(np.uint64).T)


def meets(bits: np.ndarray, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Which pairs of words share a topic, bool [pairs]; `bits[:, p]` are permuted topics.

    A table of words by words would say the same, and not fit a processor's cache.
    """
    shared = (block.take(first) & block.take(second) for block in bits)
    return functools.reduce(np.bitwise_or, shared) != 0


def permutations(
    labels: np.ndarray, occurrences: np.ndarray, settings: UncertaintySettings
) -> np.ndarray:
    """The null: word w takes the topics of word p[w], of like frequency; int [M, W].

    Words with a topic (`labels`, bool [W, K]) are permuted within strata of frequency, of two words
    at least; others stay.
    """
    rng = generator("permutations", settings.seed)
    labelled = np.flatnonzero(labels.any(axis=1))
    order = labelled[np.argsort(occurrences[labelled], kind="stable")]
    strata = np.empty(len(labels), dtype=np.int64)
    bins = max(1, min(settings.frequency_bins, len(order) // 2))
    strata[order] = np.arange(len(order)) * bins // max(1, len(order))
    drawn = np.tile(np.arange(len(labels)), (settings.permutations, 1))
    places = labelled[np.argsort(strata[labelled], kind="stable")]
    for permuted in drawn:
        permuted[places] = labelled[np.argsort(strata[labelled] + rng.random(len(labelled)))]
    return drawn


def permuted_sums(
    pairs: Pairs, topics: np.ndarray, moved: np.ndarray, strata: Sequence[tuple[np.ndarray, int]]
) -> list[np.ndarray]:
    """`class_sums` of pairs of words with a topic, [M, 1 + S, 2, U], topics `moved` [M, W].

    For each of `strata`: that of each pair, [P], and how many there are, U.
    """
    numbers = pairs.numbers
    bits, alone = topic_bits(topics), not (topics.sum(axis=1) > 1).any()
    topic = topics.argmax(axis=1).astype(np.int16)
    totals = [np.stack([np.bincount(places, row, U) for row in numbers]) for places, U in strata]
    sums = [np.empty((len(moved), len(numbers), 2, U)) for _, U in strata]
    for draw, p in enumerate(moved):
        if alone:  # the same, in half of the time
            permuted = topic[p]
            same = np.flatnonzero(permuted.take(pairs.first) == permuted.take(pairs.second))
        else:
            same = np.flatnonzero(meets(bits[:, p], pairs.first, pairs.second))
        weights = numbers[:, same]  # few of all
        for (places, U), total, found in zip(strata, totals, sums, strict=True):
            found[draw, :, 0] = [np.bincount(places[same], row, U) for row in weights]
            found[draw, :, 1] = total - found[draw, :, 0]
    return sums
