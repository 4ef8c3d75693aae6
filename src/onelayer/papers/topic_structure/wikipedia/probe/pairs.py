"""Attention pair statistics of one document: how much attention words of one topic pay each other.

Implements the attention probe of Li, Li & Risteski (2023), "How do transformers learn topic
structure": the attention weight of ordered pairs of positions is summed by pair class, for every
layer and head, for all variants of the topic labels (overlap mode x threshold) in one pass.

Shapes: V variants, W words, K topics, T tokens of the document, S single-piece positions,
C candidate positions (words that some variant labels), D distinct words among them, P unordered
pairs of candidates, Q ordered pairs of positions that are not both candidates, B distance bins.

Where attention is causal, only pairs of a query with an earlier key exist: the lower triangle.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

PAIR_CLASSES = ("same_word", "same_topic", "different_topic", "no_topic")
SAME_WORD, SAME_TOPIC, DIFFERENT_TOPIC, NO_TOPIC = range(len(PAIR_CLASSES))

# Smallest token distance |i - j| of each bin; the last bin is open.
DISTANCE_EDGES = (1, 2, 3, 4, 5, 6, 7, 8, 9, 13, 17, 25, 33, 49, 65, 97, 129)
DISTANCE_LABELS = tuple(
    str(low) if high - low == 1 else f"{low}-{high - 1}" for low, high in pairwise(DISTANCE_EDGES)
) + (f"{DISTANCE_EDGES[-1]}+",)

ROWS_AT_ONCE = 2**18  # rows of word pairs that wait to be added up: 8 MB


@dataclass(frozen=True, eq=False)
class Labels:
    """Topic labels of words under several variants (overlap mode x threshold).

    Attributes:
        words: the W distinct words that any variant labels.
        membership: bool [V, W, K]; True where a word belongs to a topic. A word without a topic
            in a variant has an all-False row there.
    """

    words: tuple[str, ...]
    membership: np.ndarray


@dataclass(frozen=True, eq=False)
class WordPairs:
    """Attention between different words, as coordinate lists: the input of the permutation null.

    Attributes:
        query: int64 [rows], index of the attending word in `Labels.words`.
        key: int64 [rows], index of the attended word; never equal to `query`.
        distance: int64 [rows], how far apart they are, as an index of `DISTANCE_EDGES`.
        sums: float64 [rows], length-corrected weight, averaged over layers and heads, summed over
            the pairs of positions.
        counts: int64 [rows], number of pairs of positions.
    """

    query: np.ndarray
    key: np.ndarray
    distance: np.ndarray
    sums: np.ndarray
    counts: np.ndarray


@dataclass(frozen=True, eq=False)
class PairSums:
    """Sums and counts of one document, over ordered pairs of positions i != j (causal: i > j > 0).

    Attributes:
        head_sums: float64 [V, classes, layers, heads], length-corrected attention weight.
        distance_sums: float64 [V, classes, B], weight averaged over layers and heads.
        distance_counts: int64 [V, classes, B], pairs of positions.
        word_pairs: pairs of different words, one row per ordered pair of words in the document and
            distance.
    """

    head_sums: np.ndarray
    distance_sums: np.ndarray
    distance_counts: np.ndarray
    word_pairs: WordPairs


@dataclass(frozen=True, eq=False)
class Document:
    """All of a document but its attention: where its pairs lie, how far apart, of which class.

    Attributes:
        tokens: T.
        words: int [C], word of each candidate.
        first, second: int [P], two candidates, first < second, as indices of the C candidates.
        flats: int [P], [P], [Q], flat indices: forward, of (first, second); backward, of (second,
            first); outside, of ordered pairs with a word that no variant labels.
        bins, outside_bins: int [P] and [Q], distance bins.
        behind: bool [P], whether `first` stands behind `second`, where attention is causal and only
            the later of two can attend; None: both do.
        keys: float64 [T], share of the tokens that each row can attend to; None: all of them.
        classes: int8 [V, P].
    """

    tokens: int
    words: np.ndarray
    first: np.ndarray
    second: np.ndarray
    flats: tuple[np.ndarray, np.ndarray, np.ndarray]
    bins: np.ndarray
    outside_bins: np.ndarray
    behind: np.ndarray | None
    keys: np.ndarray | None
    classes: np.ndarray


class PairCounter:
    """Sums attention by pair class for one set of labels, document after document.

    The class of an ordered pair of positions, in this order of precedence: either word has no
    topic in the variant -> no_topic; the same word -> same_word; the topic sets meet ->
    same_topic; else different_topic.

    Every weight is multiplied by tokens / reference_length. Attention rows sum to one, so the mean
    weight falls as 1 / tokens, and long documents hold more different-topic pairs: without the
    correction a randomly initialised model shows ratios of 1.016-1.059 instead of 1.

    Where attention is causal, row i (counted from 0) has i + 1 keys, not as many as the document
    has tokens, and its mean weight is 1 / (i + 1): the first rows have the largest weights, and all
    of their pairs are close. There a weight is multiplied by (i + 1) / reference_length, so that
    uniform attention again gives every pair one value, whatever stands where, and ratios of 1. What
    this leaves: a head that looks at its nearest neighbours alone has weights that do not fall with
    i, so that at equal distance later pairs count for more (as in long documents above).
    The first token is left out, as beginning-of-text tokens are: trained causal models send it
    whatever attention no other token is worth, whether a tokenizer puts such a token there or not.

    Args:
        labels: topic labels of all variants.
        reference_length: number of tokens at which a weight counts as it is.
        causal: whether no token attends to a later one.
    """

    def __init__(self, labels: Labels, reference_length: float, causal: bool = False) -> None:
        self.labels = labels
        self.reference_length = float(reference_length)
        self.causal = causal
        self._membership = labels.membership.astype(np.float32)
        self._labelled = labels.membership.any(axis=2)  # [V, W]
        self._labelled_any = self._labelled.any(axis=0)  # [W]

    def pair_sums(
        self, attention: ArrayLike, positions: ArrayLike, word_index: ArrayLike
    ) -> PairSums:
        """Pair sums of one document.

        Args:
            attention: float32 tensor or array [layers, heads, T, T], rows are queries and sum to 1
                (the caller checks that; dropout breaks it).
            positions: int [S], distinct token indices of all single-piece words, special tokens
                excluded.
            word_index: int [S], index of each word in `labels.words`, or -1.

        Returns:
            The sums, accumulated in float64 (float32 sums err by 4e-4, the size of the effects of
            a random model). `no_topic` covers all ordered pairs of `positions` that are in no
            other class.

        Raises:
            ValueError: when attention is not finite, or it looks ahead and is said to be causal.
        """
        attention = np.asarray(attention)
        looks_ahead = self.causal and np.triu(attention, 1).any()
        document = self.document(attention.shape[-1], positions, word_index)
        return self.sums_of(document, *_layer_sums(attention, document), looks_ahead)

    def document(self, tokens: int, positions: ArrayLike, word_index: ArrayLike) -> Document:
        """What the sums of a document of T tokens need beside its attention; see `pair_sums`."""
        positions = np.asarray(positions, dtype=np.int64)
        word_index = np.asarray(word_index, dtype=np.int64)
        if self.causal:
            positions, word_index = positions[positions > 0], word_index[positions > 0]
        # Words labelled in some variant first: only they can be in a class other than no_topic, so
        # only pairs of them are cast to float64 and multiplied with the class masks.
        candidate = word_index >= 0
        candidate[candidate] = self._labelled_any[word_index[candidate]]
        order = np.argsort(~candidate, kind="stable")
        positions, candidates = positions[order], int(candidate.sum())
        words = word_index[order][:candidates]

        bin_of = np.searchsorted(DISTANCE_EDGES, np.arange(tokens), side="right") - 1
        flat = positions[:, None] * tokens + positions  # [S, S]
        bins = bin_of[np.abs(positions[:, None] - positions)]  # [S, S]
        first, second = np.triu_indices(candidates, 1)
        is_outside = ~np.eye(len(positions), dtype=bool)
        is_outside[:candidates, :candidates] = False
        if self.causal:
            is_outside &= positions[:, None] > positions
        return Document(
            tokens=tokens,
            words=words,
            first=first,
            second=second,
            flats=(flat[first, second], flat[second, first], flat[is_outside]),
            bins=bins[first, second],
            outside_bins=bins[is_outside],
            behind=positions[first] > positions[second] if self.causal else None,
            keys=np.arange(1, tokens + 1) / tokens if self.causal else None,
            classes=self._pair_classes(words, first * candidates + second),
        )

    def sums_of(
        self,
        document: Document,
        head_sums: np.ndarray,
        means: Sequence[np.ndarray],
        looks_ahead: bool,
    ) -> PairSums:
        """The sums of a document, from what was added up over its attention, as `_layer_sums` does.

        Raises:
            ValueError: as `pair_sums`; `looks_ahead`, whether any token attends to a later one, is
                asked of causal attention alone.
        """
        if looks_ahead:
            raise ValueError("causal attention has weights on later tokens")
        if not np.isfinite(head_sums).all():
            raise ValueError("attention has values that are not finite")
        scale = document.tokens / self.reference_length
        forward, backward, outside = (scale * mean for mean in means)
        distance_sums, distance_counts = _distance_sums(forward + backward, outside, document)
        return PairSums(
            head_sums=scale * head_sums,
            distance_sums=distance_sums,
            distance_counts=distance_counts,
            word_pairs=_word_pairs(forward, backward, document),
        )

    def _pair_classes(self, words: np.ndarray, pairs: np.ndarray) -> np.ndarray:
        """Class in every variant, int8 [V, P], of pairs of candidates by their place in [C, C]."""
        membership = self._membership[:, words]  # [V, C, K]
        labelled = self._labelled[:, words]  # [V, C]
        shared = membership @ membership.transpose(0, 2, 1)  # topics in common, [V, C, C]
        classes = np.where(shared > 0, np.int8(SAME_TOPIC), np.int8(DIFFERENT_TOPIC))
        np.copyto(classes, np.int8(SAME_WORD), where=words[:, None] == words)
        both_labelled = labelled[:, :, None] & labelled[:, None, :]
        np.copyto(classes, np.int8(NO_TOPIC), where=~both_labelled)
        return classes.reshape(len(classes), len(words) ** 2).take(pairs, axis=1)


class WordPairTotal:
    """Adds up the word pairs of documents as they come.

    At most `ROWS_AT_ONCE` rows wait beside the total. Sums are added in the order of the documents,
    so that their bits do not depend on how many rows wait. Indices refer to `words` words.
    """

    def __init__(self, words: int) -> None:
        self._shape = words, words, len(DISTANCE_EDGES)
        self._codes = np.zeros(0, dtype=np.int64)  # of (query, key, distance), sorted
        self._sums, self._counts = np.zeros(0), np.zeros(0, dtype=np.int64)
        self._waiting: list[tuple[np.ndarray, WordPairs]] = []
        self._rows_waiting = 0

    def add(self, pairs: WordPairs) -> None:
        """Add those of a document, or the total of some; no row is of one place with another."""
        codes = np.ravel_multi_index((pairs.query, pairs.key, pairs.distance), self._shape)
        self._waiting.append((codes, pairs))
        self._rows_waiting += len(pairs.query)
        if self._rows_waiting > ROWS_AT_ONCE:
            self._add_waiting()

    def total(self) -> WordPairs:
        """The sums so far; rows sorted by (query, key, distance)."""
        self._add_waiting()
        places = np.unravel_index(self._codes, self._shape)
        return WordPairs(*places, self._sums, self._counts)

    def _add_waiting(self) -> None:
        if not self._waiting:
            return
        codes = np.unique(np.concatenate([codes for codes, _ in self._waiting]))
        codes = codes[np.isin(codes, self._codes, assume_unique=True, invert=True)]
        places = np.searchsorted(self._codes, codes)
        self._codes = np.insert(self._codes, places, codes)
        self._sums = np.insert(self._sums, places, 0.0)
        self._counts = np.insert(self._counts, places, 0)
        for codes, pairs in self._waiting:
            rows = np.searchsorted(self._codes, codes)
            self._sums[rows] += pairs.sums
            self._counts[rows] += pairs.counts
        self._waiting, self._rows_waiting = [], 0


def _layer_sums(attention: np.ndarray, document: Document) -> tuple[np.ndarray, list[np.ndarray]]:
    """Attention sums by class for every head, and means over heads for every pair.

    Goes layer by layer so that what is gathered stays small. Both directions of a pair have one
    class, so that half the products do (one of them is 0 in causal attention). All sums are of
    non-negative terms (no differences of totals), so that small classes keep their precision.

    Returns:
        float64 [V, classes, layers, heads], and the means forward [P], backward [P], outside [Q].
    """
    flats, classes, keys = document.flats, document.classes, document.keys
    layers, heads, tokens = attention.shape[:3]
    variants = len(classes)
    chosen = classes[:, None] == np.arange(len(PAIR_CLASSES), dtype=np.int8)[:, None]
    masks = chosen.reshape(variants * len(PAIR_CLASSES), -1).T.astype(np.float64, order="F")
    means = [np.zeros(len(flat)) for flat in flats]
    # Written to anew for every layer: fresh memory would cost as much as the sums themselves.
    dtype = attention.dtype if keys is None else np.float64
    gathered = [np.empty((heads, len(flat)), dtype=dtype) for flat in flats]
    both = np.empty((heads, len(document.first)))
    head_sums = np.empty((layers, heads, variants, len(PAIR_CLASSES)))
    for layer in range(layers):
        weights = attention[layer] if keys is None else attention[layer] * keys[:, None]
        weights = weights.reshape(heads, tokens * tokens)
        for flat, part, mean in zip(flats, gathered, means, strict=True):
            weights.take(flat, axis=1, out=part, mode="clip")  # all in range; unbuffered
            mean += part.sum(axis=0, dtype=np.float64)
        forward, backward, outside = gathered
        np.add(forward, backward, out=both, dtype=np.float64)
        head_sums[layer] = (both @ masks).reshape(heads, variants, -1)
        head_sums[layer, :, :, NO_TOPIC] += outside.sum(axis=1, dtype=np.float64)[:, None]
    return head_sums.transpose(2, 3, 0, 1).copy(), [mean / (layers * heads) for mean in means]


def _distance_sums(
    both: np.ndarray, outside: np.ndarray, document: Document
) -> tuple[np.ndarray, np.ndarray]:
    """Sums of the mean attention and counts of pairs, by class and distance: two [V, classes, B].

    Means are float64, of two candidates both directions added [P], and of other ordered pairs [Q].
    """
    variants, bins = len(document.classes), len(DISTANCE_EDGES)
    shape = (variants, len(PAIR_CLASSES), bins)
    size = variants * len(PAIR_CLASSES) * bins
    row = np.arange(variants)[:, None] * len(PAIR_CLASSES) + document.classes
    code = (row * bins + document.bins).ravel()
    sums = _sums_by_code(code, np.tile(both, variants), size).reshape(shape)
    directions = 2 if document.behind is None else 1
    counts = directions * np.bincount(code, minlength=size).reshape(shape)
    sums[:, NO_TOPIC] += _sums_by_code(document.outside_bins, outside, bins)
    counts[:, NO_TOPIC] += np.bincount(document.outside_bins, minlength=bins)
    return sums, counts


def _word_pairs(forward: np.ndarray, backward: np.ndarray, document: Document) -> WordPairs:
    """Mean attention between different words, added up within the document.

    One row per ordered pair of distinct words and distance at which one attends to the other: where
    attention is causal, those whose query stands behind a key; sorted by (query, key, distance).
    `forward` [P] is from the first candidate of a pair to the second, `backward` the reverse.
    """
    distinct, row = np.unique(document.words, return_inverse=True)
    shape = len(distinct), len(distinct), len(DISTANCE_EDGES)
    first, second = row[document.first], row[document.second]
    there = np.ravel_multi_index((first, second, document.bins), shape)
    back = np.ravel_multi_index((second, first, document.bins), shape)
    size = int(np.prod(shape))
    sums = _sums_by_code(there, forward, size) + _sums_by_code(back, backward, size)
    if document.behind is None:
        counts = np.bincount(there, minlength=size) + np.bincount(back, minlength=size)
    else:
        counts = np.bincount(np.where(document.behind, there, back), minlength=size)
    same = np.arange(len(distinct))
    counts.reshape(shape)[same, same] = 0
    rows = np.flatnonzero(counts)
    query, key, distance = np.unravel_index(rows, shape)
    return WordPairs(distinct[query], distinct[key], distance, sums[rows], counts[rows])


def _sums_by_code(code: np.ndarray, weights: np.ndarray, size: int) -> np.ndarray:
    """Sums of weights by code, [size]; float64 even where there are no rows."""
    return np.bincount(code, weights=weights, minlength=size).astype(np.float64, copy=False)
