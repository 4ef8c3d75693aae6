"""The attention probe on inputs as they were trained on, which may hold words of several articles.

Pairs of words of one article and pairs across articles are told apart: in an input of several
articles attention to one's own article is no attention to a topic.
"""

from collections.abc import Callable, Iterable, Sequence

import numpy as np
from transformers import PreTrainedModel

from onelayer.errors import OnelayerError
from onelayer.papers.topic_structure.wikipedia.probe.labels import Variant
from onelayer.papers.topic_structure.wikipedia.probe.pairs import (
    DISTANCE_LABELS,
    PAIR_CLASSES,
    Labels,
    PairCounter,
    PairSums,
    WordPairs,
    WordPairTotal,
)
from onelayer.papers.topic_structure.wikipedia.probe.sums import AttentionSums
from onelayer.text.models.checkpoints import forward
from onelayer.text.pretraining.vocabulary import CLS_ID, SEP_ID

WITHIN, ACROSS = "of one article", "across articles"


def probe_inputs(
    model: PreTrainedModel,
    inputs: Sequence[tuple[np.ndarray, np.ndarray]],
    labels: Labels,
    variants: Sequence[Variant],
    label_of: np.ndarray,
    reference_length: float,
    progress: Callable[..., Iterable] = lambda items, **_: items,
) -> dict[str, AttentionSums]:
    """Sums of the model's attention over inputs, by whether two words are of one article.

    Args:
        model: bidirectional.
        inputs: word ids, and which article each word is of: two [words] of each input.
        labels, variants: topic labels of words.
        label_of: index in `labels.words` of every piece, or -1, [pieces].
        reference_length: as `PairCounter` takes it.

    Returns:
        `WITHIN`, and `ACROSS` where any input has words of two articles. Pairs with a word of no
        topic are left out.

    Raises:
        OnelayerError: no input holds two different words of a topic.
    """
    counter = PairCounter(labels, reference_length)
    sums = {kind: _Sums(len(inputs), labels) for kind in (WITHIN, ACROSS)}
    for place, (ids, articles) in enumerate(progress(inputs, unit="input")):
        index = label_of[ids]
        positions = np.flatnonzero(index >= 0)
        attention = forward(model, [CLS_ID, *ids.tolist(), SEP_ID])
        for article in np.unique(articles[positions]):
            mine = positions[articles[positions] == article]
            one = counter.pair_sums(attention, mine + 1, index[mine])
            sums[WITHIN].add(place, one, 1)
            sums[ACROSS].add(place, one, -1)
        sums[ACROSS].add(place, counter.pair_sums(attention, positions + 1, index[positions]), 1)
    names = [str(place) for place in range(len(inputs))]
    found = {kind: one.total(names, variants) for kind, one in sums.items()}
    if not len(found[WITHIN].word_pairs.counts):
        raise OnelayerError(f"none of {len(inputs)} inputs holds two different words of any topic")
    return {kind: one for kind, one in found.items() if len(one.word_pairs.counts)}


class _Sums:
    """Pair sums of inputs as they are added; what is taken off again leaves counts of 0."""

    def __init__(self, inputs: int, labels: Labels) -> None:
        shape = (inputs, labels.variants, len(PAIR_CLASSES), len(DISTANCE_LABELS))
        self.distance_sums, self.distance_counts = np.zeros(shape), np.zeros(shape, dtype=np.int64)
        self.head_sums: np.ndarray | float = 0.0
        self.pairs, self.labels = WordPairTotal(len(labels.words)), labels

    def add(self, place: int, one: PairSums, sign: int) -> None:
        self.head_sums = self.head_sums + sign * one.head_sums
        self.distance_sums[place] += sign * one.distance_sums
        self.distance_counts[place] += sign * one.distance_counts
        pairs = one.word_pairs
        self.pairs.add(WordPairs(pairs.query, pairs.key, sign * pairs.sums, sign * pairs.counts))

    def total(self, names: list[str], variants: Sequence[Variant]) -> AttentionSums:
        pairs = self.pairs.total()
        there = pairs.counts > 0
        return AttentionSums(
            documents=names,
            variants=list(variants),
            head_sums=self.head_sums,
            distance_sums=np.where(self.distance_counts > 0, self.distance_sums, 0.0),
            distance_counts=self.distance_counts,
            word_pairs=WordPairs(*(column[there] for column in vars(pairs).values())),
            words=self.labels.words,
        )
