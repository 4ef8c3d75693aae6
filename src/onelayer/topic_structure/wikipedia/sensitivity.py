"""Does what the probe finds depend on how it was done? One choice changed at a time.

Li, Li & Risteski (2023) report one way to probe; their released code has another in some places.
One forward pass a document serves all ways.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
import pandas as pd
from tokenizers import Tokenizer
from transformers import PreTrainedModel

from onelayer.errors import OnelayerError
from onelayer.settings.probe import AttentionProbeSettings, UncertaintySettings
from onelayer.settings.topic_structure import Way
from onelayer.text.models.tokenizer import piece_ids
from onelayer.topic_structure.wikipedia.measure import as_it_is, measure_attention
from onelayer.topic_structure.wikipedia.probe import check_length, embed, encode_texts, probe
from onelayer.topic_structure.wikipedia.ratio import label_words, topic_bits
from onelayer.topic_structure.wikipedia.similarity import measure_embeddings


def measure_ways(
    model: PreTrainedModel,
    tokenizer: Tokenizer,
    articles: pd.DataFrame,
    ways: Sequence[Way],
    kept: Mapping[str, pd.DataFrame],
    vocabulary: pd.DataFrame,
    settings: AttentionProbeSettings,
    uncertainty: UncertaintySettings,
    progress: Callable[..., Iterable] = lambda items, **_: items,
) -> pd.DataFrame:
    """Attention and embedding ratios of a checkpoint, by way.

    Args:
        kept: words that the ambiguity filter kept, by name of the way.

    Returns:
        Rows of `measure` with `way`; of a way with too few pairs of words there are none.
    """
    check_length(model, settings.max_tokens)
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
