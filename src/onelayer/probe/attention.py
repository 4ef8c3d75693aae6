"""The attention probe of a corpus: one forward pass per document, sums by pair class kept.

Li, Li & Risteski (2023), 'Experiment setting on Wikipedia'. What is kept are sums and counts per
document, so that thresholds, intervals and nulls are computed later without another forward pass.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from tokenizers import Tokenizer
from transformers import PreTrainedModel

from onelayer.errors import OnelayerError
from onelayer.models.checkpoints import forward
from onelayer.models.families import longest_text
from onelayer.models.tokenizer import EncodedText, encode
from onelayer.probe.labels import Variant
from onelayer.probe.pairs import (
    DISTANCE_LABELS,
    PAIR_CLASSES,
    Labels,
    PairCounter,
    WordPairs,
    merge_word_pairs,
)
from onelayer.seeds import generator
from onelayer.settings.probe import AttentionProbeSettings


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


def sample_articles(articles: pd.DataFrame, settings: AttentionProbeSettings) -> pd.DataFrame:
    """Draw the articles to probe, without replacement, in corpus order.

    The draw depends on the seed and the corpus alone, so that all models see the same articles.
    """
    order = generator("probed articles", settings.seed).permutation(len(articles))
    return articles.iloc[np.sort(order[: settings.documents])]


def probe_attention(
    model: PreTrainedModel,
    tokenizer: Tokenizer,
    articles: pd.DataFrame,
    labels: Labels,
    variants: Sequence[Variant],
    settings: AttentionProbeSettings,
    progress: Callable[..., Iterable] = lambda items, **_: items,
) -> AttentionSums:
    """Run the model over the articles and sum its attention weights by pair class.

    Raises:
        OnelayerError: `max_tokens` exceeds what the model can read, or no article holds two
            labelled words.
    """
    _check_length(model, settings.max_tokens)
    index = {word: place for place, word in enumerate(labels.words)}
    counter = PairCounter(labels, settings.reference_length)
    sums = []
    for text in progress(articles["text"].tolist(), unit="doc"):
        encoded = encode(tokenizer, text, settings.max_tokens)
        sums.append(_document_sums(model, encoded, index, counter))
    pairs = merge_word_pairs([one.word_pairs for one in sums], len(labels.words))
    if not len(pairs.counts):
        raise OnelayerError(
            f"none of {len(articles)} articles holds two different words of any topic within "
            f"{settings.max_tokens} tokens"
        )
    return AttentionSums(
        documents=articles["id"].tolist(),
        variants=list(variants),
        head_sums=np.stack([one.head_sums for one in sums]),
        counts=np.stack([one.counts for one in sums]),
        distance_sums=np.stack([one.distance_sums for one in sums]),
        distance_counts=np.stack([one.distance_counts for one in sums]),
        word_pairs=pairs,
        words=labels.words,
    )


def _check_length(model: PreTrainedModel, max_tokens: int) -> None:
    longest = longest_text(model)
    if max_tokens > longest:
        raise OnelayerError(
            f"probe.attention.max_tokens: {max_tokens}; this model reads at most {longest} tokens"
        )


def _document_sums(
    model: PreTrainedModel, encoded: EncodedText, index: dict[str, int], counter: PairCounter
):
    word_index = [index.get(word, -1) for word in encoded.words]
    return counter.pair_sums(forward(model, encoded.ids), encoded.positions, word_index)


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
