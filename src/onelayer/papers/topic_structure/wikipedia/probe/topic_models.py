"""The probe of one checkpoint under many topic models: all share one pass over the documents."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from tokenizers import Tokenizer
from transformers import PreTrainedModel

from onelayer.errors import OnelayerError
from onelayer.papers.topic_structure.wikipedia.probe.attention import probe_attention
from onelayer.papers.topic_structure.wikipedia.probe.embeddings import extract_embeddings
from onelayer.papers.topic_structure.wikipedia.probe.labels import (
    frequencies_of,
    labels_of,
    stack_labels,
    variants_of,
)
from onelayer.papers.topic_structure.wikipedia.probe.measures import (
    measure_attention,
    measure_embeddings,
)
from onelayer.papers.topic_structure.wikipedia.probe.pairs import Labels
from onelayer.settings.probe import AttentionProbeSettings, UncertaintySettings
from onelayer.settings.topics import AmbiguitySettings
from onelayer.text.models.tokenizer import piece_ids
from onelayer.text.topics.ambiguity import filter_ambiguous_words
from onelayer.text.topics.model import Fit, read_topic_models


def kept_words(
    paths: Sequence[Path], vocabulary: pd.DataFrame, ambiguity: AmbiguitySettings
) -> dict[Fit, pd.DataFrame]:
    """Words that the ambiguity filter keeps of every topic model in the files."""
    words = vocabulary["word"].tolist()
    return {
        fit: filter_ambiguous_words(topics.word_probability, words, ambiguity, allow_empty=True)
        for path in paths
        for fit, topics in read_topic_models(path).items()
    }


def measure_topic_models(
    model: PreTrainedModel,
    tokenizer: Tokenizer,
    articles: pd.DataFrame,
    kept: Mapping[Fit, pd.DataFrame],
    vocabulary: pd.DataFrame,
    attention: AttentionProbeSettings,
    uncertainty: UncertaintySettings,
    progress: Callable[..., Iterable] = lambda items, **_: items,
) -> pd.DataFrame:
    """Attention and embedding ratios of a checkpoint, once per topic model.

    Args:
        model, tokenizer: the checkpoint.
        articles: what it reads.
        kept: words that the ambiguity filter kept, by topic model; one overlap mode and threshold.
        vocabulary: rows `word`, `occurrences` of the bag of words.
        attention, uncertainty: of the probe and of the measures.
        progress: wraps articles, and then topic models, in a progress bar.

    Returns:
        Rows of `probe.measures`, and `words_kept` and `topics_kept`, of each topic model:
        `backend`, `topics`, `seed`.

    Raises:
        OnelayerError: a topic model leaves no word that is one piece, or no pair of some class (it
            is named), or see `probe_attention`.
    """
    parts = [_labels(fit, words, tokenizer) for fit, words in kept.items()]
    variants = [variant for words in kept.values() for variant in variants_of(words)]
    labels = stack_labels(parts)
    sums = probe_attention(model, tokenizer, articles, labels, variants, attention, progress)
    vectors = extract_embeddings(model, tokenizer, labels.words).of(labels.words)
    frequencies = frequencies_of(labels, vocabulary)
    measures = []
    for place, (fit, words) in enumerate(progress(kept.items(), unit="model")):
        alone = Labels(labels.words, labels.membership[[place]])
        one = (alone, frequencies, uncertainty)
        try:
            rows = [
                measure_attention([sums.of_variant(place)], *one),
                measure_embeddings([vectors], [variants[place]], *one),
            ]
        except OnelayerError as error:
            raise OnelayerError(f"topic model ({fit}): {error}") from None
        # `seed` is the topic model's from here on: of one checkpoint there is nothing over seeds.
        measures += [part.assign(**fit._asdict()) for part in (*rows, _kept(words))]
    return pd.concat(measures, ignore_index=True)


def _labels(fit: Fit, words: pd.DataFrame, tokenizer: Tokenizer) -> Labels:
    try:
        return labels_of(words, [piece_ids(tokenizer, words["word"].unique())])
    except OnelayerError as error:
        raise OnelayerError(f"topic model ({fit}): {error}") from None


def _kept(words: pd.DataFrame) -> pd.DataFrame:
    """How much of a topic model the filter left."""
    counts = {"words_kept": words["word"].nunique(), "topics_kept": words["topic"].nunique()}
    rows = [
        (*words.iloc[0][["overlap", "threshold"]], name, float(count), np.nan, np.nan, count)
        for name, count in counts.items()
    ]
    columns = ["overlap", "threshold", "quantity", "value", "low", "high", "n"]
    return pd.DataFrame(rows, columns=columns)
