"""Attention on inputs as a model was pretrained on them, which may hold words of several articles.

In an input of several articles attention to one's own article is no attention to a topic: pairs of
words of one article and pairs across articles are told apart. In an input of drawn words every word
has the topic that it was drawn from: there the ratio is the theory's own contrast, all pairs of one
generating topic over all pairs of two.
"""

from collections.abc import Callable, Iterable, Sequence

import numpy as np
import pandas as pd
from tokenizers import Tokenizer
from transformers import PreTrainedModel

from onelayer.seeds import generator
from onelayer.settings.probe import UncertaintySettings
from onelayer.text.models.tokenizer import piece_ids
from onelayer.text.pretraining.text import CLS_ID, SEP_ID
from onelayer.topic_structure.wikipedia.measure import Pairs, measure_attention, measure_classes
from onelayer.topic_structure.wikipedia.probe import Text, probe
from onelayer.topic_structure.wikipedia.ratio import topic_bits
from onelayer.topic_structure.wikipedia.words import label_words, tightest

WITHIN, ACROSS = "inputs, words of one article", "inputs, words across articles"
DRAWN = "inputs, topics that words were drawn from"
Inputs = Sequence[tuple[np.ndarray, np.ndarray]]


def measure_inputs(
    models: Iterable[PreTrainedModel],
    tokenizer: Tokenizer,
    inputs: Inputs,
    kept: pd.DataFrame,
    vocabulary: pd.DataFrame,
    reference_length: int,
    uncertainty: UncertaintySettings,
    seeds: Sequence[int],
    drawn: bool = False,
    progress: Callable[..., Iterable] = lambda items, **_: items,
) -> pd.DataFrame:
    """Attention ratios of one model on inputs, by which words are paired.

    Args:
        models: one a seed, bidirectional.
        inputs: word ids, and which article (or, if `drawn`, which topic) each word is of: two
            [words] of each input.
        kept: of which the tightest variant is measured.

    Returns:
        Rows of `measure_attention` with `probed`: `WITHIN`, and `ACROSS` if there is such a pair;
        or `DRAWN`, whose null gives the words of each input its topics in random order.
    """
    kept = tightest(kept)
    pieces = piece_ids(tokenizer, kept["word"].unique())
    labels = label_words(kept, vocabulary, pieces)
    index = np.full(max(*pieces.values(), *(ids.max() for ids, _ in inputs)) + 1, -1)
    index[[pieces[word] for word in labels.words]] = range(len(labels.words))
    texts = []
    for ids, of in inputs:
        places = np.flatnonzero(index[ids] >= 0)
        read = [CLS_ID, *ids.tolist(), SEP_ID]
        texts.append(Text(read, places + 1, index[ids][places], of[places]))
    given = range(len(inputs)), labels.words, topic_bits(labels.topics[0]), reference_length
    tables = [probe(model, texts, *given, progress=progress)[0] for model in models]
    rows, weights = tables[0], [one["mean"].to_numpy() for one in tables]
    if drawn:
        rng, null = generator("shuffled topics", uncertainty.seed), []
        for _ in range(uncertainty.permutations):
            topics = [rng.permutation(text.parts) for text in texts]
            parts = zip(topics, (text.pairs for text in texts), strict=True)
            null.append(np.concatenate([of[a] == of[b] for of, (a, b) in parts]))
        pairs = Pairs.read(rows, weights, labels.words)
        of = rows["together"].to_numpy(), null, labels.variants[0], uncertainty, seeds
        return measure_classes(pairs, *of).assign(probed=DRAWN)
    measured = []
    for probed, of in ((WITHIN, rows["together"]), (ACROSS, ~rows["together"])):
        if of.any():
            chosen = rows[of], [one[of] for one in weights]
            part = measure_attention(*chosen, labels, uncertainty, seeds)
            measured.append(part.assign(probed=probed))
    return pd.concat(measured, ignore_index=True)
