"""The probe many times in one process: at every snapshot of a pretraining, or by topic model."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import pandas as pd
from tokenizers import Tokenizer
from transformers import PreTrainedModel

from onelayer.errors import OnelayerError
from onelayer.papers.topic_structure.wikipedia.probe.attention import probe_attention
from onelayer.papers.topic_structure.wikipedia.probe.embeddings import extract_embeddings
from onelayer.papers.topic_structure.wikipedia.probe.labels import (
    frequencies_of,
    labels_of,
    probed_words,
    stack_labels,
    tightest_variant,
    variants_of,
)
from onelayer.papers.topic_structure.wikipedia.probe.measures import (
    measure_attention,
    measure_embeddings,
)
from onelayer.papers.topic_structure.wikipedia.probe.pairs import Labels
from onelayer.papers.topic_structure.wikipedia.probe.value_circuit import FIRST, measure_vectors
from onelayer.settings.probe import ProbeSettings
from onelayer.settings.topics import AmbiguitySettings
from onelayer.text.models.tokenizer import piece_ids
from onelayer.text.topics.ambiguity import filter_ambiguous_words
from onelayer.text.topics.model import Fit, read_topic_models

Snapshots = Iterable[tuple[int, PreTrainedModel]]


def measure_snapshots(
    seeds: Mapping[int, Snapshots],
    tokenizer: Tokenizer,
    articles: pd.DataFrame,
    kept: pd.DataFrame,
    vocabulary: pd.DataFrame,
    probe: ProbeSettings,
    progress: Callable[..., Iterable] = lambda items, **_: items,
) -> pd.DataFrame:
    """Attention and embedding ratios and value circuits' gaps at every snapshot.

    Args:
        seeds: by seed, tokens seen and the model at every snapshot.
        kept: of which the tightest variant is measured.

    Returns:
        Rows of `probe.measures` and `measure_circuits`, over seeds and of each, with `tokens` seen
        behind them: the mean over seeds, whose snapshots end with the batch that reaches the same
        number.

    Raises:
        OnelayerError: see `labels_of`, `probe_attention`, `measure_attention`.
    """
    kept = tightest_variant(kept)
    pieces = piece_ids(tokenizer, kept["word"].unique())
    variants, labels, frequencies = probed_words(kept, vocabulary, [pieces])
    probed, how = (labels, variants, probe.attention), (probe.uncertainty, list(seeds))
    parts = []
    for moment in progress(zip(*seeds.values(), strict=True), unit="snapshot"):
        sums, embeddings = [], []
        for _, model in moment:
            sums.append(probe_attention(model, tokenizer, articles, *probed))
            embeddings.append(extract_embeddings(model, tokenizer, labels.words))
        measured = [
            measure_attention(sums, labels, frequencies, *how),
            *measure_vectors(embeddings, variants, labels, frequencies, *how, [FIRST]),
        ]
        tokens = sum(tokens for tokens, _ in moment) // len(moment)
        parts += [table.assign(tokens=tokens) for table in measured]
    return pd.concat(parts, ignore_index=True)


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
    probe: ProbeSettings,
    progress: Callable[..., Iterable] = lambda items, **_: items,
) -> pd.DataFrame:
    """Attention and embedding ratios of a checkpoint, by topic model, in one pass over documents.

    Args:
        kept: words that the ambiguity filter kept, by topic model; one overlap mode and threshold.

    Returns:
        Rows of `probe.measures`, and `words_kept` and `topics_kept`, of each topic model:
        `backend`, `topics`, `seed`.

    Raises:
        OnelayerError: a topic model leaves no word that is one piece, or no pair of some class (it
            is named), or see `probe_attention`.
    """
    # Of words that share a piece the same one is left for all topic models.
    pieces = piece_ids(tokenizer, pd.concat(kept.values())["word"].unique())
    parts = []
    for fit, words in kept.items():
        with _named(fit):
            parts.append(labels_of(words, [pieces]))
    variants = [variant for words in kept.values() for variant in variants_of(words)]
    labels = stack_labels(parts)
    how = labels, variants, probe.attention, progress
    sums = probe_attention(model, tokenizer, articles, *how)
    vectors = extract_embeddings(model, tokenizer, labels.words).of(labels.words)
    frequencies = frequencies_of(labels, vocabulary)
    measures = []
    for place, (fit, words) in enumerate(progress(kept.items(), unit="model")):
        one = Labels(labels.words, labels.membership[[place]]), frequencies, probe.uncertainty
        with _named(fit):
            rows = [
                measure_attention([sums.of_variant(place)], *one),
                measure_embeddings([vectors], [variants[place]], *one),
                _kept(words),
            ]
        # `seed` is the topic model's from here on: of one checkpoint there is nothing over seeds.
        measures += [part.assign(**fit._asdict()) for part in rows]
    return pd.concat(measures, ignore_index=True)


@contextmanager
def _named(fit: Fit) -> Iterator[None]:
    """Errors name the topic model."""
    try:
        yield
    except OnelayerError as error:
        raise OnelayerError(f"topic model ({fit}): {error}") from None


def _kept(words: pd.DataFrame) -> pd.DataFrame:
    """How much of a topic model the filter left."""
    counts = {"words_kept": words["word"].nunique(), "topics_kept": words["topic"].nunique()}
    rows = pd.DataFrame({"quantity": counts.keys(), "n": counts.values()})
    of = words.iloc[0][["overlap", "threshold"]]
    return rows.assign(**of, value=rows["n"].astype(float))
