"""What the attention probe keeps of a corpus: sums by pair class, and how they are stored.

No step that only measures needs the model that the sums come from.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd

from onelayer.papers.topic_structure.probe.labels import Variant
from onelayer.papers.topic_structure.probe.pairs import (
    DISTANCE_LABELS,
    PAIR_CLASSES,
    WordPairs,
    merge_word_pairs,
)


@dataclass(frozen=True)
class AttentionSums:
    """Attention of one model on the probed documents, summed by pair class.

    Attributes:
        documents: ids of the articles, [documents].
        variants: overlap modes and thresholds, [variants].
        head_sums: [documents, variants, classes, layers, heads] float64, length-corrected weights.
        counts: [documents, variants, classes] int64, ordered pairs of positions.
        distance_sums: [documents, variants, classes, bins] float64, mean over layers and heads.
        distance_counts: [documents, variants, classes, bins] int64.
        word_pairs: sums per pair of different words, over all documents, for the null.
        words: the words that `word_pairs` indexes.
    """

    documents: list[str]
    variants: list[Variant]
    head_sums: np.ndarray
    counts: np.ndarray
    distance_sums: np.ndarray
    distance_counts: np.ndarray
    word_pairs: WordPairs
    words: tuple[str, ...]

    def of_variant(self, place: int) -> "AttentionSums":
        """The sums of one variant alone, its axis kept."""
        names = ("head_sums", "counts", "distance_sums", "distance_counts")
        chosen = {name: getattr(self, name)[:, [place]] for name in names}
        return replace(self, variants=[self.variants[place]], **chosen)


def merge_attention_sums(parts: Sequence[AttentionSums]) -> AttentionSums:
    """The sums of several parts of the probed documents as one."""
    first = parts[0]
    names = ("head_sums", "counts", "distance_sums", "distance_counts")
    return replace(
        first,
        documents=[document for part in parts for document in part.documents],
        word_pairs=merge_word_pairs([part.word_pairs for part in parts], len(first.words)),
        **{name: np.concatenate([getattr(part, name) for part in parts]) for name in names},
    )


def write_attention_sums(
    sums: AttentionSums, by_head: Path, by_distance: Path, by_words: Path
) -> None:
    """Write three tidy Parquet tables: sums by head, by distance, and by pair of words."""
    names = [str(variant) for variant in sums.variants]
    layers, heads = sums.head_sums.shape[-2:]
    axes = {"document": sums.documents, "variant": names, "pair_class": list(PAIR_CLASSES)}
    table = _tidy(
        axes | {"layer": _numbered(layers), "head": _numbered(heads)},
        sum=sums.head_sums,
        pairs=np.broadcast_to(sums.counts[..., None, None], sums.head_sums.shape),
    )
    table.to_parquet(by_head, index=False, compression="zstd")
    table = _tidy(
        axes | {"distance": list(DISTANCE_LABELS)},
        sum=sums.distance_sums,
        pairs=sums.distance_counts,
    )
    table.to_parquet(by_distance, index=False, compression="zstd")
    table = pd.DataFrame(
        {
            "query": pd.Categorical.from_codes(sums.word_pairs.query, list(sums.words)),
            "key": pd.Categorical.from_codes(sums.word_pairs.key, list(sums.words)),
            "sum": sums.word_pairs.sums,
            "pairs": sums.word_pairs.counts,
        }
    )
    table.to_parquet(by_words, index=False, compression="zstd")


def read_attention_sums(by_head: Path, by_distance: Path, by_words: Path) -> AttentionSums:
    """Read what `write_attention_sums` wrote."""
    heads, axes = _arrays(by_head)
    distances, _ = _arrays(by_distance)
    pairs = pd.read_parquet(by_words)
    return AttentionSums(
        documents=axes["document"],
        variants=[Variant(*reversed(name.split(", "))) for name in axes["variant"]],
        head_sums=heads["sum"],
        counts=heads["pairs"][..., 0, 0],
        distance_sums=distances["sum"],
        distance_counts=distances["pairs"],
        word_pairs=WordPairs(
            pairs["query"].cat.codes.to_numpy(np.int64),
            pairs["key"].cat.codes.to_numpy(np.int64),
            pairs["sum"].to_numpy(),
            pairs["pairs"].to_numpy(),
        ),
        words=tuple(pairs["query"].cat.categories),
    )


def _numbered(count: int) -> list[str]:
    # Words, because Parquet keeps the levels of a categorical column only where they are words.
    return [str(place + 1) for place in range(count)]


def _tidy(axes: dict[str, Sequence], **values: np.ndarray) -> pd.DataFrame:
    """Arrays as one row per cell, with a categorical column per axis."""
    shape = tuple(len(levels) for levels in axes.values())
    codes = np.indices(shape).reshape(len(shape), -1)
    columns = {
        name: pd.Categorical.from_codes(code, list(levels))
        for (name, levels), code in zip(axes.items(), codes, strict=True)
    }
    return pd.DataFrame(columns | {name: array.ravel() for name, array in values.items()})


def _arrays(path: Path) -> tuple[dict[str, np.ndarray], dict[str, list]]:
    """The inverse of `_tidy`: arrays by value column, levels by axis."""
    table = pd.read_parquet(path)
    axes = {
        name: table[name].cat.categories.tolist()
        for name in table.columns
        if isinstance(table[name].dtype, pd.CategoricalDtype)
    }
    shape = tuple(len(levels) for levels in axes.values())
    values = [name for name in table.columns if name not in axes]
    return {name: table[name].to_numpy().reshape(shape) for name in values}, axes
