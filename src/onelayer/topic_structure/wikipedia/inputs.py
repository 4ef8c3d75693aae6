"""Attention on inputs as a model was pretrained on them, which may hold words of several articles.

Pairs of words of one article and pairs across articles are told apart: in an input of several
articles attention to one's own article is no attention to a topic.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np
import pandas as pd
from tokenizers import Tokenizer
from transformers import PreTrainedModel

from onelayer.settings.probe import UncertaintySettings
from onelayer.text.models.tokenizer import piece_ids
from onelayer.text.pretraining.vocabulary import CLS_ID, SEP_ID
from onelayer.topic_structure.wikipedia.measure import measure_attention
from onelayer.topic_structure.wikipedia.probe import Text, probe
from onelayer.topic_structure.wikipedia.words import label_words, tightest, topic_bits

WITHIN, ACROSS = "inputs, words of one article", "inputs, words across articles"
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
    progress: Callable[..., Iterable] = lambda items, **_: items,
) -> pd.DataFrame:
    """Attention ratios of one model on inputs, by which words are paired.

    Args:
        models: one a seed, bidirectional.
        inputs: word ids, and which article each word is of: two [words] of each input.
        kept: of which the tightest variant is measured.

    Returns:
        Rows of `measure_attention` with `probed`: `WITHIN`, and `ACROSS` if there is such a pair.
    """
    kept = tightest(kept)
    pieces = piece_ids(tokenizer, kept["word"].unique())
    labels = label_words(kept, vocabulary, pieces)
    index = np.full(max(*pieces.values(), *(ids.max() for ids, _ in inputs)) + 1, -1)
    index[[pieces[word] for word in labels.words]] = range(len(labels.words))
    given = range(len(inputs)), labels.words, topic_bits(labels.topics[0]), reference_length
    rows = [probe(model, _texts(inputs, index), *given, progress=progress)[0] for model in models]
    tables = []
    for probed, of in ((WITHIN, rows[0]["together"]), (ACROSS, ~rows[0]["together"])):
        if of.any():
            chosen = [one[of] for one in rows]
            measured = measure_attention(chosen, labels, uncertainty, seeds)
            tables.append(measured.assign(probed=probed))
    return pd.concat(tables, ignore_index=True)


def _texts(inputs: Inputs, index: np.ndarray) -> Iterator[Text]:
    for ids, articles in inputs:
        places = np.flatnonzero(index[ids] >= 0)
        words = index[ids][places]
        yield Text([CLS_ID, *ids.tolist(), SEP_ID], places + 1, words, articles[places])
