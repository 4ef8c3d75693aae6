"""Embedding similarity of words that share a topic and of words that do not, over all pairs.

Implements the embedding probe of Li, Li & Risteski (2023): the mean dot product (or, on unit
vectors, the mean cosine) of same-topic and of different-topic pairs of distinct words. The means
are exact over all pairs, in closed form, with no sampling and no words x words matrix: a word is
never paired with itself, unlike in the authors' released code.

Shapes: W words, N labelled words, K topics, G distinct topic sets, d embedding width.
"""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from onelayer.errors import OnelayerError

# A topic set of more than this many topics is never expanded into its 2^n - 1 subsets.
_LARGEST_EXPANDED_SET = 8
# Multiply-adds of a dense product that take as long as one of a sparse product (measured: 8-20).
_DENSE_SPEEDUP = 12


class PairMeans(NamedTuple):
    """Mean similarity of same-topic and different-topic pairs of distinct words.

    Means and numbers of unordered pairs of labelled words whose topic sets meet, and do not meet;
    numbers are weighted, see `PairSimilarity.means`.
    """

    same_mean: float
    different_mean: float
    same_pairs: int
    different_pairs: int


def unit_vectors(vectors: ArrayLike) -> np.ndarray:
    """Word embeddings [words, d] at length 1, whose mean dot product is their mean cosine: float64.

    Raises:
        OnelayerError: when rows are zero or not finite, with their number.
    """
    vectors = np.asarray(vectors, dtype=np.float64)
    lengths = np.linalg.norm(vectors, axis=1)
    bad = int((~(np.isfinite(lengths) & (lengths > 0))).sum())
    if bad:
        raise OnelayerError(
            f"word embeddings: {bad} of {len(vectors)} vectors are zero or not finite: no cosine"
        )
    return vectors / lengths[:, None]


class TopicSets:
    """Topic sets of words, arranged so that sums over all meeting pairs are cheap.

    Words with the same set form a group. With group sums S_g, the sum over all ordered pairs of
    groups whose sets meet is computed in two exact parts. Small sets are expanded by
    inclusion-exclusion, [A meets B] = sum over non-empty T in A and B of (-1)^(|T|+1), which gives
    sum_T (-1)^(|T|+1) |sum_{g: T in A_g} S_g|^2; disjoint topics are the case where every T is one
    topic. Large sets (few words, but 2^n subsets) are compared with all groups directly. The size
    that parts small from large is chosen to make the work smallest.

    Args:
        membership: bool [W, K].

    Attributes:
        words: number W of all words.
        labelled: int [N], those with a topic.
    """

    def __init__(self, membership: np.ndarray) -> None:
        self.words = len(membership)
        self.labelled = np.flatnonzero(membership.any(axis=1))  # [N]
        topics = membership[self.labelled]  # [N, K]
        packed = np.packbits(topics, axis=1)  # eight topics a byte: rows are compared faster
        _, first, group = np.unique(packed, axis=0, return_index=True, return_inverse=True)
        self.sets = topics[first]  # [G, K]
        # Members of the groups, one group after the other: the constant part of the indicator.
        self._members = np.argsort(group, kind="stable").astype(np.int32)
        sizes = np.bincount(group, minlength=len(self.sets))
        self._starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)
        large = self.sets.sum(axis=1) > self._expansion_limit()
        self._expand(np.flatnonzero(~large))
        self._large = np.flatnonzero(large)
        meets = self.sets[large].astype(np.float32) @ self.sets.T.astype(np.float32) > 0
        # Large-small pairs appear once here but in both orders in the sum.
        self._large_meets = meets * np.where(large, 1.0, 2.0)  # [large, G]

    def meeting_sum(self, group_sums: np.ndarray) -> float:
        """Sum over ordered pairs (g, h) of groups whose sets meet, g = h included, of S_g . S_h.

        With S `group_sums`, float64 [G, columns].
        """
        expanded = self._subsets @ group_sums  # [subsets, columns]
        total = self._signs @ np.einsum("sd,sd->s", expanded, expanded)
        if len(self._large):
            total += np.vdot(self._large_meets @ group_sums, group_sums[self._large])
        return float(total)

    def indicator(
        self, weights: ArrayLike | None = None, permutation: ArrayLike | None = None
    ) -> tuple[sparse.csr_matrix, np.ndarray]:
        """How often each labelled word counts in each group, [G, N], and in all, [N].

        With resampled words, permuted labels, both or neither: see `PairSimilarity.means`.
        """
        drawn = np.ones(self.words) if weights is None else np.asarray(weights, np.float64)
        multiplicity = drawn[self.labelled]  # [N]
        members = self._members if permutation is None else self._permuted(permutation)
        shape = (len(self._starts) - 1, len(members))
        counts = (multiplicity[members], members, self._starts)
        return sparse.csr_matrix(counts, shape=shape, copy=False), multiplicity

    def _permuted(self, permutation: ArrayLike) -> np.ndarray:
        """Members of the groups after the labels moved: the word that now holds each label."""
        holder = np.full(self.words, -1, dtype=np.int32)
        moved = np.asarray(permutation)[self.labelled]
        holder[moved] = np.arange(len(moved), dtype=np.int32)
        return holder[self.labelled][self._members]

    def _expansion_limit(self) -> int:
        """Size of the largest sets to expand: the cheapest in multiply-adds per column."""
        groups = len(self.sets)
        limits = np.arange(_LARGEST_EXPANDED_SET + 1)
        sizes = np.bincount(self.sets.sum(axis=1), minlength=len(limits))[: len(limits)]
        expanded = np.cumsum(sizes * (2.0**limits - 1))
        compared = (groups - np.cumsum(sizes)) * groups / _DENSE_SPEEDUP
        return int(np.argmin(expanded + compared))

    def _expand(self, groups: np.ndarray) -> None:
        """Lists the non-empty subsets of the sets of `groups`: a 0/1 matrix [subsets, G]."""
        index: dict[tuple[int, ...], int] = {}
        rows: list[int] = []
        columns: list[int] = []
        for group in groups.tolist():
            topics = np.flatnonzero(self.sets[group]).tolist()
            for size in range(1, len(topics) + 1):
                for subset in combinations(topics, size):
                    rows.append(index.setdefault(subset, len(index)))
                    columns.append(group)
        shape = (len(index), len(self.sets))
        self._subsets = sparse.csr_matrix((np.ones(len(rows)), (rows, columns)), shape=shape)
        self._signs = np.array([1.0 if len(subset) % 2 else -1.0 for subset in index])


class PairSimilarity:
    """Pair means of one labelling, repeatable for permuted labels and resampled words.

    A pair counts once however many topics it shares; words without a topic are left out.

    Args:
        vectors: float64 [W, d].
        labels: bool [W, K], or the topic sets of such, which several vectors can share.

    Raises:
        ValueError: when vectors of labelled words are not finite.
    """

    def __init__(self, vectors: np.ndarray, labels: np.ndarray | TopicSets) -> None:
        self.sets = labels if isinstance(labels, TopicSets) else TopicSets(labels)
        self._rows = np.ascontiguousarray(vectors[self.sets.labelled], dtype=np.float64)
        self._squares = np.einsum("wd,wd->w", self._rows, self._rows)  # [N]
        bad = int((~np.isfinite(self._squares)).sum())
        if bad:
            raise ValueError(f"{bad} of {len(self._rows)} vectors of labelled words are not finite")

    def means(
        self, weights: ArrayLike | None = None, permutation: ArrayLike | None = None
    ) -> PairMeans:
        """Pair means with resampled words, permuted labels, both or neither.

        Args:
            weights: int [W], multiplicities of the words in a bootstrap sample: a pair w != w'
                counts n_w * n_w' times, a word never pairs with its own copies.
            permutation: int [W]; word w takes the topic set of word permutation[w]. It must keep
                the labelled words among themselves.

        Raises:
            ValueError: when a class has no pairs (it is named).
        """
        indicator, multiplicity = self.sets.indicator(weights, permutation)
        group_sums = indicator @ self._rows  # [G, d]
        sizes = indicator @ np.ones((len(multiplicity), 1))  # [G, 1]

        with_itself = multiplicity * multiplicity
        same = self.sets.meeting_sum(group_sums) - with_itself @ self._squares
        same_pairs = self.sets.meeting_sum(sizes) - with_itself.sum()
        whole = group_sums.sum(axis=0)
        pairs = sizes.sum() ** 2 - with_itself.sum()
        different = whole @ whole - with_itself @ self._squares - same
        return _means(same, different, round(same_pairs) // 2, round(pairs - same_pairs) // 2)


def _means(same: float, different: float, same_pairs: int, different_pairs: int) -> PairMeans:
    for name, pairs in (("same_topic", same_pairs), ("different_topic", different_pairs)):
        if pairs == 0:
            raise ValueError(f"{name}: no pair of distinct labelled words in this class")
    means = float(same) / (2 * same_pairs), float(different) / (2 * different_pairs)
    return PairMeans(*means, same_pairs, different_pairs)
