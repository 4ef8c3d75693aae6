"""What the attention probe keeps of a corpus: sums by pair class, and how they are stored.

No step that only measures needs the model that the sums come from.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd

from onelayer.papers.topic_structure.wikipedia.probe.labels import Variant
from onelayer.papers.topic_structure.wikipedia.probe.pairs import (
    DISTANCE_LABELS,
    PAIR_CLASSES,
    Labels,
    PairSums,
    WordPairs,
    WordPairTotal,
)


@dataclass(frozen=True)
class AttentionSums:
    """Attention of one model on the probed documents, summed by pair class.

    Of documents and heads only the margins: every measure is a mean over one of them.

    Attributes:
        documents: ids of the articles, [documents].
        variants: overlap modes and thresholds, [variants].
        head_sums: [variants, classes, layers, heads] float64, length-corrected weights, summed over
            the documents.
        distance_sums: [documents, variants, classes, bins] float64, mean over layers and heads.
        distance_counts: [documents, variants, classes, bins] int64, ordered pairs of positions.
        word_pairs: sums per pair of different words and distance, over all documents, for the null.
        words: the words that `word_pairs` indexes.
    """

    documents: list[str]
    variants: list[Variant]
    head_sums: np.ndarray
    distance_sums: np.ndarray
    distance_counts: np.ndarray
    word_pairs: WordPairs
    words: tuple[str, ...]

    def of_documents(self, place: int) -> tuple[np.ndarray, np.ndarray]:
        """A variant's weights, mean over layers and heads, and pairs: two [documents, classes]."""
        both = self.distance_sums, self.distance_counts
        return tuple(one[:, place].sum(axis=-1) for one in both)

    def of_variant(self, place: int) -> "AttentionSums":
        """The sums of one variant alone, its axis kept."""
        return replace(
            self,
            variants=[self.variants[place]],
            head_sums=self.head_sums[[place]],
            distance_sums=self.distance_sums[:, [place]],
            distance_counts=self.distance_counts[:, [place]],
        )


class SumsOfDocuments:
    """Pair sums of documents as they are added; what is taken off again leaves counts of 0."""

    def __init__(self, documents: int, labels: Labels) -> None:
        shape = (documents, len(labels.membership), len(PAIR_CLASSES), len(DISTANCE_LABELS))
        self.distance_sums, self.distance_counts = np.zeros(shape), np.zeros(shape, dtype=np.int64)
        self.head_sums: np.ndarray | float = 0.0
        self.pairs, self.labels = WordPairTotal(len(labels.words)), labels

    def add(self, place: int, one: PairSums, sign: int = 1) -> None:
        """Add the sums of the document at a place, or take them off."""
        self.head_sums = self.head_sums + sign * one.head_sums
        self.distance_sums[place] += sign * one.distance_sums
        self.distance_counts[place] += sign * one.distance_counts
        pairs = one.word_pairs
        self.pairs.add(replace(pairs, sums=sign * pairs.sums, counts=sign * pairs.counts))

    def total(self, documents: Sequence[str], variants: Sequence[Variant]) -> AttentionSums:
        """The sums of all documents, under their ids and the variants' names."""
        pairs = self.pairs.total()
        there = pairs.counts > 0
        self.distance_sums[self.distance_counts == 0] = 0.0
        return AttentionSums(
            documents=list(documents),
            variants=list(variants),
            head_sums=self.head_sums,
            distance_sums=self.distance_sums,
            distance_counts=self.distance_counts,
            word_pairs=WordPairs(*(column[there] for column in vars(pairs).values())),
            words=self.labels.words,
        )


def merge_attention_sums(parts: Iterable[AttentionSums]) -> AttentionSums:
    """The sums of several parts of the probed documents as one; takes up one part at a time.

    Sums over documents come out as those of one part but for rounding.
    """
    documents, head_sums, distances, pairs = [], 0.0, [], None
    for part in parts:
        pairs = pairs or WordPairTotal(len(part.words))
        documents += part.documents
        head_sums = head_sums + part.head_sums
        distances.append((part.distance_sums, part.distance_counts))
        pairs.add(part.word_pairs)
    distance_sums, distance_counts = map(np.concatenate, zip(*distances, strict=True))
    return replace(
        part,
        documents=documents,
        head_sums=head_sums,
        distance_sums=distance_sums,
        distance_counts=distance_counts,
        word_pairs=pairs.total(),
    )


def write_attention_sums(
    sums: AttentionSums, by_head: Path, by_distance: Path, by_words: Path
) -> None:
    """Write three tidy Parquet tables.

    Sums by head over all documents, by distance for each document, and by pair of words and
    distance.
    """
    axes = {"variant": [str(variant) for variant in sums.variants], "pair_class": PAIR_CLASSES}
    # Words, because Parquet keeps the levels of a categorical column only where they are words.
    layers, heads = (map(str, range(1, n + 1)) for n in sums.head_sums.shape[-2:])
    pairs = sums.distance_counts.sum(axis=(0, -1))[..., None, None]
    words = {
        name: pd.Categorical.from_codes(getattr(sums.word_pairs, name), list(sums.words))
        for name in ("query", "key")
    }
    words["distance"] = pd.Categorical.from_codes(sums.word_pairs.distance, DISTANCE_LABELS)
    tables = {
        by_head: _tidy(
            axes | {"layer": layers, "head": heads},
            sum=sums.head_sums,
            pairs=np.broadcast_to(pairs, sums.head_sums.shape),
        ),
        by_distance: _tidy(
            {"document": sums.documents} | axes | {"distance": DISTANCE_LABELS},
            sum=sums.distance_sums,
            pairs=sums.distance_counts,
        ),
        by_words: pd.DataFrame(
            words | {"sum": sums.word_pairs.sums, "pairs": sums.word_pairs.counts}
        ),
    }
    for path, table in tables.items():
        table.to_parquet(path, index=False, compression="zstd")


def read_attention_sums(by_head: Path, by_distance: Path, by_words: Path) -> AttentionSums:
    """Read what `write_attention_sums` wrote."""
    heads, _ = _arrays(by_head)
    distances, axes = _arrays(by_distance)
    pairs = pd.read_parquet(by_words)
    return AttentionSums(
        documents=axes["document"],
        variants=[Variant(*reversed(name.split(", "))) for name in axes["variant"]],
        head_sums=heads["sum"],
        distance_sums=distances["sum"],
        distance_counts=distances["pairs"],
        word_pairs=WordPairs(
            *(pairs[name].cat.codes.to_numpy(np.int64) for name in ("query", "key", "distance")),
            pairs["sum"].to_numpy(),
            pairs["pairs"].to_numpy(),
        ),
        words=tuple(pairs["query"].cat.categories),
    )


def _tidy(axes: dict[str, Iterable[str]], **values: np.ndarray) -> pd.DataFrame:
    """Arrays as one row per cell, with a categorical column per axis."""
    levels = {name: list(names) for name, names in axes.items()}
    codes = np.indices([len(names) for names in levels.values()], np.int32)
    columns = {
        name: pd.Categorical.from_codes(place.ravel(), names)
        for place, (name, names) in zip(codes, levels.items(), strict=True)
    }
    return pd.DataFrame(columns | {name: array.ravel() for name, array in values.items()})


def _arrays(path: Path) -> tuple[dict[str, np.ndarray], dict[str, list]]:
    """The inverse of `_tidy`: arrays by value column, levels by axis."""
    table = pd.read_parquet(path)
    categorical = table.select_dtypes("category")
    axes = {name: column.cat.categories.tolist() for name, column in categorical.items()}
    shape, values = tuple(map(len, axes.values())), table.drop(columns=list(axes))
    return {name: column.to_numpy().reshape(shape) for name, column in values.items()}, axes
