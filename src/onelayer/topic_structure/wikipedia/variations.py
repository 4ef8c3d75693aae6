"""Steps 1 to 3 on other texts, and in other ways than those of the tables.

`measure_inputs`: in an input of several articles attention to one's own article is no attention to
a topic, so pairs within and across articles are told apart; in an input of drawn words every word
has the topic that it was drawn from: the theory's own contrast. `measure_ways`: Li, Li & Risteski
(2023) report one way; their released code has another in some places. One choice changes at a time.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
import pandas as pd
from tokenizers import Tokenizer
from transformers import PreTrainedModel

from onelayer.errors import OnelayerError
from onelayer.job import silent
from onelayer.seeds import generator
from onelayer.settings.probe import AttentionProbeSettings, UncertaintySettings
from onelayer.settings.topic_structure import Way
from onelayer.text.models.tokenizer import piece_ids
from onelayer.text.pretraining.text import CLS_ID, SEP_ID
from onelayer.topic_structure.wikipedia import measure
from onelayer.topic_structure.wikipedia.measure import ACROSS, DRAWN, WITHIN
from onelayer.topic_structure.wikipedia.probe import Text, embed, encode_texts, pair_attention
from onelayer.topic_structure.wikipedia.ratio import label_words, tightest, topic_bits


def measure_inputs(
    models: Iterable[PreTrainedModel],
    tokenizer: Tokenizer,
    inputs: Sequence[tuple[np.ndarray, np.ndarray]],
    kept: pd.DataFrame,
    vocabulary: pd.DataFrame,
    uncertainty: UncertaintySettings,
    seeds: Sequence[int],
    drawn: bool = False,
    progress: Callable = silent,
) -> pd.DataFrame:
    """Attention ratios of one model on inputs, by which words are paired.

    `models`: one a seed, bidirectional. `inputs`: word ids, and which article (or, if `drawn`,
    which topic) each word is of, [words] each. Of `kept` the tightest variant is measured.

    Returns rows of `measure_attention` with `probed`: `WITHIN`, and `ACROSS` if there is such a
    pair; or `DRAWN`, whose null gives the words of each input its topics in random order.
    """
    kept = tightest(kept)
    pieces = piece_ids(tokenizer, kept["word"].unique())
    labels = label_words(kept, vocabulary, pieces)
    index = np.full(max(*pieces.values(), *(ids.max() for ids, _ in inputs)) + 1, -1)
    index[[pieces[word] for word in labels.words]] = range(len(labels.words))
    texts = []
    for ids, parts in inputs:
        places = np.flatnonzero(index[ids] >= 0)
        read = [CLS_ID, *ids.tolist(), SEP_ID]
        texts.append(Text(read, places + 1, index[ids][places], parts[places]))
    bits = topic_bits(labels.topics[0])
    by_model = [pair_attention(model, texts, bits, progress=progress)[0] for model in models]
    weights = np.concatenate([pairs.weights for pairs in by_model])
    pairs = by_model[0]._replace(weights=weights).length_corrected()
    if drawn:
        rng, null = generator("shuffled topics", uncertainty.seed), []
        for _ in range(uncertainty.permutations):
            shuffled = [(rng.permutation(text.parts), text.pairs) for text in texts]
            null.append(np.concatenate([topics[a] == topics[b] for topics, (a, b) in shuffled]))
        variant = labels.variants[0]
        rows = measure.measure_classes(pairs, pairs.together, null, variant, uncertainty, seeds)
        return rows.assign(probed=DRAWN)
    measured = []
    for probed, chosen in ((WITHIN, pairs.together), (ACROSS, ~pairs.together)):
        if chosen.any():
            rows = measure.measure_attention(pairs.select(chosen), labels, uncertainty, seeds)
            measured.append(rows.assign(probed=probed))
    return pd.concat(measured, ignore_index=True)


def measure_ways(
    model: PreTrainedModel,
    tokenizer: Tokenizer,
    articles: pd.DataFrame,
    ways: Sequence[Way],
    kept: Mapping[str, pd.DataFrame],
    vocabulary: pd.DataFrame,
    settings: AttentionProbeSettings,
    uncertainty: UncertaintySettings,
    progress: Callable = silent,
) -> pd.DataFrame:
    """Attention and embedding ratios of a checkpoint, by way; one forward pass serves all ways.

    `kept`: words that the ambiguity filter kept, by name of the way. Returns rows of `measure` with
    `way`; of a way with too few pairs of words there are none.
    """
    # Of words that share a piece the same one is left in all ways.
    pieces = piece_ids(tokenizer, pd.concat(kept.values())["word"].unique())
    words = sorted(pieces)
    texts = encode_texts(tokenizer, articles["text"], words, settings.max_tokens)
    pooled = sorted({way.pooling for way in ways})
    nothing = topic_bits(np.zeros((len(words), 1), dtype=bool))  # is asked of single heads
    probed, _ = pair_attention(model, texts, nothing, pooled, progress)
    vectors, tables = embed(model, tokenizer, words), []
    for way in ways:
        pairs = probed._replace(weights=probed.weights[[pooled.index(way.pooling)]])
        if way.length == "corrected":
            pairs = pairs.length_corrected()
        try:
            labels = label_words(kept[way.name], vocabulary, pieces)
            attention = measure.measure_attention(pairs, labels, uncertainty)
            embeddings = measure.measure_embeddings([vectors], labels, uncertainty)
        except OnelayerError:  # too few words or pairs of some class
            continue
        tables.append(pd.concat([attention, embeddings]).assign(way=way.name))
    return pd.concat(tables, ignore_index=True)
