"""Which words are probed, and which topics each has, under every variant of the topics.

Only words that are one piece in a model's tokenizer can be probed: an embedding and an attention
weight belong to a piece. `kept` is the table of the ambiguity filter: `overlap`, `threshold`,
`topic`, `word`.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from onelayer.errors import OnelayerError
from onelayer.settings.topics import AmbiguitySettings
from onelayer.text.topics.ambiguity import filter_ambiguous_words
from onelayer.text.topics.lda import read_topics


class Variant(NamedTuple):
    """One way to keep words: an overlap mode and a threshold's label."""

    overlap: str
    threshold: str

    def of(self, rows: pd.DataFrame) -> pd.DataFrame:
        """Its rows, of kept words or of measures."""
        return rows[(rows["overlap"] == self.overlap) & (rows["threshold"] == self.threshold)]


@dataclass(frozen=True)
class Labels:
    """Topics of the W probed words under V variants."""

    words: Sequence[str]  # [W], alphabetical
    variants: list[Variant]  # [V]
    topics: np.ndarray  # bool [V, W, K]: a word is one of the topic's
    occurrences: np.ndarray  # [W], in the corpus

    @property
    def first(self) -> set[Variant]:
        """The tightest variant of each overlap mode."""
        modes = {variant.overlap: variant for variant in reversed(self.variants)}
        return set(modes.values())

    def only_first(self) -> "Labels":
        """Without the looser variants."""
        kept = [variant in self.first for variant in self.variants]
        variants = [variant for variant in self.variants if variant in self.first]
        return replace(self, variants=variants, topics=self.topics[kept])


def variants_of(rows: pd.DataFrame) -> list[Variant]:
    """Variants of kept words or measures, in order; the first is the tightest."""
    pairs = rows[["overlap", "threshold"]].drop_duplicates()
    return [Variant(*pair) for pair in pairs.itertuples(index=False, name=None)]


def tightest(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows of the first variant alone."""
    return variants_of(rows)[0].of(rows)


def keep_words(topics: Path, vocabulary: pd.DataFrame, how: AmbiguitySettings) -> pd.DataFrame:
    """`kept` of a topic model that is fitted for comparison; a topic may be left without words."""
    probability = read_topics(topics).word_probability
    return filter_ambiguous_words(probability, list(vocabulary["word"]), how, allow_empty=True)


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
        rows = variant.of(whole)
        member[rows["word"].map(place).to_numpy(int), rows["topic"]] = True
        words_of_topic = member.sum(axis=0)
        if (words_of_topic > 0).sum() < 2 or words_of_topic.max() < 2:
            raise OnelayerError(
                f"topics.ambiguity: threshold {variant.threshold}, {variant.overlap}: "
                f"{member.any(axis=1).sum()} of {variant.of(kept)['word'].nunique()} words of the "
                "topics are one piece in this model's tokenizer; pairs of one topic and of two are "
                "needed (topics.words.single_piece_in has the topics made of such words)"
            )
    occurrences = vocabulary.set_index("word")["occurrences"].loc[words].to_numpy()
    return Labels(words, variants, topics, occurrences)
