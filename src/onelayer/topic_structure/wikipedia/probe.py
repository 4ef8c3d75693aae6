"""The probe: one forward pass a document, and of its attention what pairs of words get.

Li, Li & Risteski (2023), 'Experiment setting on Wikipedia'. Kept is one row for each pair of
positions with two different words of topics, so that ratios, nulls and intervals are computed
later without the model.

Every weight is multiplied by tokens / reference_length: rows of attention sum to 1, so that the
mean weight falls as 1 / tokens, and long documents hold more pairs of different topics. Without it
a random model shows ratios of 1.016 to 1.059. Where attention is causal, row i (from 0) has i + 1
keys, and that number stands in place of the tokens. There the first token is left out: trained
causal models send it whatever attention no other token is worth.

Shapes: L layers, H heads, T tokens, C places of words of topics, P pairs of them.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
import torch
from tokenizers import Tokenizer
from transformers import PreTrainedModel

from onelayer.errors import OnelayerError
from onelayer.seeds import generator
from onelayer.settings.probe import AttentionProbeSettings
from onelayer.text.models.checkpoints import forward, longest_text, word_embeddings
from onelayer.text.models.tokenizer import encode, piece_ids
from onelayer.topic_structure.wikipedia.words import meets

# Smallest distance |i - j| of each bin; the last one is open.
EDGES = np.array([1, 2, 3, 4, 5, 6, 7, 8, 9, 13, 17, 25, 33, 49, 65, 97, 129])
# Attention of pairs, [L, H, P], over layers and heads; the paper takes the mean.
POOLED = {
    "mean": lambda weights: weights.mean(dim=(0, 1)),
    "last layer": lambda weights: weights[-1].mean(dim=0),
    "largest head": lambda weights: weights.amax(dim=1).mean(dim=0),
}


class Text(NamedTuple):
    """What a model reads at once, and where words of topics stand in it."""

    ids: list[int]  # special tokens included, [T]
    places: np.ndarray  # int [C]
    words: np.ndarray  # int [C], index of the word at each place
    parts: np.ndarray  # int [C], which of the text's articles it is of


def sample_articles(articles: pd.DataFrame, settings: AttentionProbeSettings) -> pd.DataFrame:
    """The articles to probe: drawn without replacement, in the corpus's order, for all models."""
    order = generator("probed articles", settings.seed).permutation(len(articles))
    return articles.iloc[np.sort(order[: settings.documents])].reset_index(drop=True)


def encode_texts(
    tokenizer: Tokenizer, texts: Iterable[str], words: Sequence[str], max_tokens: int
) -> Iterable[Text]:
    """Articles as a model reads them."""
    index = {word: place for place, word in enumerate(words)}
    for text in texts:
        encoded = encode(tokenizer, text, max_tokens)
        pairs = zip(encoded.positions, encoded.words, strict=True)
        labelled = [(place, index[word]) for place, word in pairs if word in index]
        places, of = np.array(labelled, dtype=np.int64).reshape(-1, 2).T
        yield Text(encoded.ids, places, of, np.zeros_like(places))


def check_length(model: PreTrainedModel, max_tokens: int) -> None:
    """Refuse texts longer than the model reads.

    Raises:
        OnelayerError: `max_tokens` is more.
    """
    if max_tokens > (longest := longest_text(model)):
        raise OnelayerError(
            f"probe.attention.max_tokens: {max_tokens}; this model reads at most {longest} tokens"
        )


def probe(
    model: PreTrainedModel,
    texts: Iterable[Text],
    ids: Sequence[str],
    words: Sequence[str],
    bits: np.ndarray,
    reference_length: int,
    pooled: Sequence[str] = ("mean",),
    progress: Callable[..., Iterable] = lambda items, **_: items,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The one loop that probes: articles or inputs, any checkpoint, any device.

    Args:
        ids: of the texts, in order.
        words: the W words that `Text.words` counts.
        bits: `topic_bits` of the words, for the sums of single heads.
        pooled: names of `POOLED`.

    Returns:
        Rows `document`, `first`, `second` (categories), `distance` (place in `EDGES`), `tokens`,
        `together` (both of one article) and a column for each name in `pooled`: the mean weight of
        the two directions, or of the one that causal attention has.
        And of every `layer` and `head` the `ratio` of mean weights, pairs that meet over others.

    Raises:
        OnelayerError: no text holds two of the words.
    """
    causal, rows, sums, pairs = None, [], 0.0, np.zeros(2)
    has_topic = bits.any(axis=0)
    for document, text in enumerate(progress(texts, total=len(ids), unit="text")):
        a, b = np.triu_indices(len(text.places), 1)
        a, b = (end[text.words[a] != text.words[b]] for end in (a, b))
        if not len(a):
            continue
        attention = forward(model, text.ids)  # [L, H, T, T]
        if causal is None:
            causal = not attention.triu(1).any().item()
        early, late = np.sort([text.places[a], text.places[b]], axis=0)
        if causal:
            kept = early > 0
            a, b, early, late = a[kept], b[kept], early[kept], late[kept]
        ways = [(late, early)] if causal else [(late, early), (early, late)]
        keys = torch.as_tensor(late + 1.0 if causal else np.full(len(late), len(text.ids) + 0.0))
        scale = keys.to(attention.device) / (reference_length * len(ways))
        both = [attention[:, :, query, key].double() * scale for query, key in ways]
        words_ab = text.words[a], text.words[b]
        columns = {
            "document": np.full(len(a), document),
            "first": np.minimum(*words_ab),
            "second": np.maximum(*words_ab),
            "distance": np.searchsorted(EDGES, late - early, side="right") - 1,
            "tokens": np.full(len(a), len(text.ids)),
            "together": text.parts[a] == text.parts[b],
        }
        for name in pooled:
            columns[name] = sum(POOLED[name](weights) for weights in both).cpu().numpy()
        rows.append(pd.DataFrame(columns))
        same, labelled = meets(bits, *words_ab), has_topic[words_ab[0]] & has_topic[words_ab[1]]
        classes = np.stack([same, labelled & ~same], axis=1).astype(np.float64)  # [P, 2]
        sums = sums + (sum(both) @ torch.as_tensor(classes).to(attention.device)).cpu().numpy()
        pairs += classes.sum(axis=0)
    if not rows:
        raise OnelayerError(f"none of {len(ids)} texts holds two different words of any topic")
    table = pd.concat(rows, ignore_index=True)
    for column, names in (("document", ids), ("first", words), ("second", words)):
        table[column] = pd.Categorical.from_codes(table[column], list(map(str, names)))
    with np.errstate(divide="ignore", invalid="ignore"):
        means = sums / pairs  # [L, H, 2]
        ratios = means[..., 0] / means[..., 1]
    heads = [(layer + 1, head + 1, ratio) for (layer, head), ratio in np.ndenumerate(ratios)]
    return table, pd.DataFrame(heads, columns=["layer", "head", "ratio"])


def embed(model: PreTrainedModel, tokenizer: Tokenizer, words: Iterable[str]) -> pd.DataFrame:
    """Rows `word`, `raw`, `output` (vectors, float64) of the words that are one piece.

    `raw` is the row of the word-embedding matrix, `output` the embedding layer's output at position
    0: without its LayerNorm the mean cosine of random embeddings is 0, and a ratio meaningless.
    """
    pieces = piece_ids(tokenizer, words)
    raw, output = word_embeddings(model, list(pieces.values()))
    return pd.DataFrame(
        {"word": list(pieces), "raw": list(raw.numpy()), "output": list(output.numpy())}
    )
