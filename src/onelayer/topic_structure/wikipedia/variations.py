"""The same probe on other texts, and in other ways.

`measure_inputs`: on inputs as a model was pretrained on them. In an input of several articles
attention to one's own article is no attention to a topic: pairs of words of one article and pairs
across articles are told apart. In an input of drawn words every word has the topic that it was
drawn from: there the ratio is the theory's own contrast, all pairs of one generating topic over all
pairs of two.

`measure_ways`: does what the probe finds depend on how it was done? Li, Li & Risteski (2023) report
one way; their released code has another in some places. One choice is changed at a time.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
import pandas as pd
from tokenizers import Tokenizer
from transformers import PreTrainedModel

from onelayer.errors import OnelayerError
from onelayer.seeds import generator
from onelayer.settings.probe import AttentionProbeSettings, UncertaintySettings
from onelayer.settings.topic_structure import Way
from onelayer.text.models.tokenizer import piece_ids
from onelayer.text.pretraining.text import CLS_ID, SEP_ID
from onelayer.text.topics.lda import silent
from onelayer.topic_structure.wikipedia.measure import (
    ACROSS,
    DRAWN,
    WITHIN,
    as_it_is,
    measure_attention,
    measure_classes,
)
from onelayer.topic_structure.wikipedia.probe import Text, embed, encode_texts, probe
from onelayer.topic_structure.wikipedia.ratio import Pairs, label_words, tightest, topic_bits
from onelayer.topic_structure.wikipedia.similarity import measure_embeddings


def measure_inputs(
    models: Iterable[PreTrainedModel],
    tokenizer: Tokenizer,
    inputs: Sequence[tuple[np.ndarray, np.ndarray]],
    kept: pd.DataFrame,
    vocabulary: pd.DataFrame,
    reference_length: int,
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
    given = articles["id"], words, nothing, settings.reference_length, pooled, progress
    rows, _ = probe(model, texts, *given)
    vectors, tables = embed(model, tokenizer, words), []
    for way in ways:
        try:
            labels = label_words(kept[way.name], vocabulary, pieces)
            weight = rows[way.pooling].to_numpy()
            if way.length == "as it is":
                weight = as_it_is(rows, weight, settings.reference_length)
            measured = [
                measure_attention(rows, [weight], labels, uncertainty),
                measure_embeddings([vectors], labels, uncertainty),
            ]
        except OnelayerError:  # too few words or pairs of some class
            continue
        tables.append(pd.concat(measured).assign(way=way.name))
    return pd.concat(tables, ignore_index=True)
