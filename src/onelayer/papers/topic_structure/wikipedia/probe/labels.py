"""Topic labels of words, from the table of the ambiguity filter to the probe's arrays.

Only words that are one piece in a model's tokenizer can be probed: an embedding and an attention
weight belong to a piece. `labels_of` leaves out the others; every probe takes its words from it. Of
words that share a piece one is left (`onelayer.text.models.tokenizer.piece_ids`).
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from onelayer.errors import OnelayerError
from onelayer.papers.topic_structure.wikipedia.probe.pairs import Labels


@dataclass(frozen=True)
class Variant:
    """One way to keep words: an overlap mode and a threshold's label."""

    overlap: str
    threshold: str

    def __str__(self) -> str:
        return f"{self.threshold}, {self.overlap}"

    def of(self, rows: pd.DataFrame) -> pd.DataFrame:
        """Its rows, of kept words or of measures."""
        chosen = (rows["overlap"] == self.overlap) & (rows["threshold"] == self.threshold)
        return rows[chosen]


def variants_of(kept: pd.DataFrame) -> list[Variant]:
    """Variants of a table of kept words, in the table's order."""
    pairs = kept[["overlap", "threshold"]].drop_duplicates().itertuples(index=False)
    return [Variant(overlap, threshold) for overlap, threshold in pairs]


def tightest_variant(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows of the first overlap mode and threshold alone, of kept words or of measures."""
    return Variant(*rows.iloc[0][["overlap", "threshold"]]).of(rows)


def labels_of(kept: pd.DataFrame, one_piece: Iterable[Collection[str]]) -> Labels:
    """Membership in every topic, by variant, of every kept word that can be probed.

    Args:
        kept: rows `overlap`, `threshold`, `topic`, `word` of the ambiguity filter.
        one_piece: for every checkpoint that is measured together, the words that are one piece in
            its tokenizer; a word that is several pieces in one of them is left out for all.

    Returns:
        Labels over the union of the words left, alphabetically; [variants, words, topics], with
        the variants of `variants_of(kept)`.

    Raises:
        OnelayerError: no word of a variant is left; the line says which.
    """
    variants = {variant: index for index, variant in enumerate(variants_of(kept))}
    whole = kept
    for pieces in one_piece:
        whole = whole[whole["word"].isin(set(pieces))]
    probed = variants_of(whole)
    for variant in variants:
        if variant not in probed:
            words = variant.of(kept)["word"].nunique()
            raise OnelayerError(
                f"topics.ambiguity: threshold {variant}: none of the {words} words of the topics "
                "is one piece in this model's tokenizer; name the model in "
                "topics.words.single_piece_in"
            )
    words = tuple(sorted(whole["word"].unique()))
    column = {word: index for index, word in enumerate(words)}
    membership = np.zeros((len(variants), len(words), int(kept["topic"].max()) + 1), dtype=bool)
    for row in whole.itertuples(index=False):
        variant = variants[Variant(row.overlap, row.threshold)]
        membership[variant, column[row.word], row.topic] = True
    return Labels(words, membership)


def check_words(labels: Labels, kept: pd.DataFrame) -> None:
    """Refuse words without a pair of one topic or of two, before any article is read.

    Args:
        labels: `labels_of` the table `kept`.

    Raises:
        OnelayerError: so few words of a variant are one piece; the line says how many.
    """
    for variant, membership in zip(variants_of(kept), labels.membership, strict=True):
        words_of_topic = membership.sum(axis=0)
        if (words_of_topic > 0).sum() < 2 or words_of_topic.max() < 2:
            whole, words = membership.any(axis=1).sum(), variant.of(kept)["word"].nunique()
            raise OnelayerError(
                f"topics.ambiguity: threshold {variant}: {whole} of the {words} words of the "
                "topics are one piece in this model's tokenizer; pairs of one topic and of two are "
                "needed (topics.words.single_piece_in has the topics made of such words)"
            )


def stack_labels(parts: Sequence[Labels]) -> Labels:
    """Labels of several topic models as one, so that one pass over the documents serves all.

    Over the union of the words, alphabetically; the variants of the parts one after the other; as
    many topics as the largest part has.
    """
    words = tuple(sorted(set().union(*(part.words for part in parts))))
    column = {word: index for index, word in enumerate(words)}
    topics = max(part.membership.shape[2] for part in parts)
    stacked = []
    for part in parts:
        rows = np.zeros((len(part.membership), len(words), topics), dtype=bool)
        rows[:, [column[word] for word in part.words], : part.membership.shape[2]] = part.membership
        stacked.append(rows)
    return Labels(words, np.concatenate(stacked))


def probed_words(
    kept: pd.DataFrame, vocabulary: pd.DataFrame, one_piece: Iterable[Collection[str]]
) -> tuple[list[Variant], Labels, np.ndarray]:
    """What every measure asks of words: `variants_of`, `labels_of` and `frequencies_of` them."""
    labels = labels_of(kept, one_piece)
    return variants_of(kept), labels, frequencies_of(labels, vocabulary)


def frequencies_of(labels: Labels, vocabulary: pd.DataFrame) -> np.ndarray:
    """Occurrences of each labelled word in the corpus, [words]."""
    return vocabulary.set_index("word")["occurrences"].loc[list(labels.words)].to_numpy()
