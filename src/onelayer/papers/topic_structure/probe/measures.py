"""From sums and vectors to measures: ratios with intervals, nulls and z, one table per model.

A model may stand for several checkpoints (a random model, one per seed). Values are means over the
checkpoints; intervals pool the bootstrap replicates of all of them, so that they cover the spread
between checkpoints too; nulls use the same permutations for all and average over checkpoints.
"""

import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from onelayer.errors import OnelayerError
from onelayer.papers.topic_structure.probe import uncertainty
from onelayer.papers.topic_structure.probe.labels import Variant
from onelayer.papers.topic_structure.probe.pairs import (
    DIFFERENT_TOPIC,
    PAIR_CLASSES,
    SAME_TOPIC,
    Labels,
)
from onelayer.papers.topic_structure.probe.similarity import pair_means, unit_vectors
from onelayer.papers.topic_structure.probe.sums import AttentionSums
from onelayer.seeds import generator
from onelayer.settings.probe import UncertaintySettings

BOTH = [SAME_TOPIC, DIFFERENT_TOPIC]


@dataclass(frozen=True)
class Measure:
    """One measured quantity: its value, its 95% interval and what it rests on."""

    overlap: str
    threshold: str
    quantity: str
    value: float
    low: float
    high: float
    n: int


def measure_attention(
    checkpoints: Sequence[AttentionSums],
    labels: Labels,
    frequencies: np.ndarray,
    settings: UncertaintySettings,
) -> pd.DataFrame:
    """Attention ratios of one model, every variant.

    Args:
        checkpoints: sums of each checkpoint, over the same documents.
        labels: topic labels, [variants, words, topics].
        frequencies: occurrences of each labelled word in the corpus, [words].
        settings: resamples, permutations, strata, seed.

    Returns:
        Rows of `Measure`. Quantities: `attention_ratio`, `_null` (mean and 95% range),
        `_null_corrected`, `_z`, `_distance_standardised`; the mean weight of each pair class;
        and the two contrasts of the paper, `attention_ratio_tightest_minus_loosest` and
        `attention_ratio_disjoint_minus_overlapping`, from the same resamples.

    Raises:
        OnelayerError: a variant has no pair of some class (the line says which), or a checkpoint's
            sums are over other words than those labelled.
    """
    if any(sums.words != labels.words for sums in checkpoints):
        raise OnelayerError(
            "the checkpoints of one model know different words of the topics as one piece; give "
            "each a model of its own, or name the model in topics.words.single_piece_in"
        )
    documents, variants = len(checkpoints[0].documents), checkpoints[0].variants
    weights = uncertainty.document_weights(
        documents, settings.document_resamples, generator("documents", settings.seed)
    )
    rows: list[Measure] = []
    values, replicates = {}, {}
    for place, variant in enumerate(variants):
        try:
            samples = [_resampled(sums, place, weights) for sums in checkpoints]
            value = _mean([_ratio(sums, place) for sums in checkpoints])
            null = _attention_null(checkpoints, labels, place, frequencies, settings)
            standardised = _standardised(checkpoints, place, weights)
        except ValueError as error:
            raise _empty(variant, error) from None
        values[variant], replicates[variant] = value, np.concatenate(samples)
        rows += _ratio_rows(variant, "attention_ratio", value, replicates[variant], null, documents)
        rows.append(
            _row(variant, "attention_ratio_distance_standardised", *standardised, documents)
        )
        rows += _class_means(checkpoints, variant, place, documents)
    rows += _contrasts(values, replicates, documents)
    return pd.DataFrame(rows)


def measure_heads(checkpoints: Sequence[AttentionSums]) -> pd.DataFrame:
    """Attention ratio of every layer and head, mean over checkpoints: one row per head."""
    rows = []
    for place, variant in enumerate(checkpoints[0].variants):
        ratios = []
        for sums in checkpoints:
            pairs = sums.of_documents(place)[1].sum(axis=0)
            means = sums.head_sums[place, BOTH] / pairs[BOTH, None, None]
            ratios.append(means[0] / means[1])
        for (layer, head), ratio in np.ndenumerate(np.mean(ratios, axis=0)):
            rows.append((variant.overlap, variant.threshold, layer + 1, head + 1, ratio))
    return pd.DataFrame(rows, columns=["overlap", "threshold", "layer", "head", "ratio"])


def measure_embeddings(
    checkpoints: Sequence[dict[str, np.ndarray]],
    variants: Sequence[Variant],
    labels: Labels,
    frequencies: np.ndarray,
    settings: UncertaintySettings,
    progress: Callable[..., Iterable] = lambda items, **_: items,
) -> pd.DataFrame:
    """Embedding similarity ratios of one model, every variant, exact over all pairs of words.

    Args:
        checkpoints: `raw` and `output` vectors of each checkpoint, [words, d] float64.
        variants, labels, frequencies, settings: as for attention.

    Returns:
        Rows of `Measure`: `embedding_cosine_ratio` and `embedding_dot_ratio` on the embedding
        layer's output, `embedding_raw_...` on the raw word embeddings, each with `_null`,
        `_null_corrected`, `_z`, and the means and difference that the ratio comes from.

    Raises:
        OnelayerError: a variant has no pair of some class, or vectors are zero or not finite.
    """
    rows: list[Measure] = []
    spaces = (("output", "embedding"), ("raw", "embedding_raw"))
    vectors = {
        f"{prefix}_{kind}": [_vectors(checkpoint[space], kind) for checkpoint in checkpoints]
        for space, prefix in spaces
        for kind in ("cosine", "dot")
    }
    tasks = list(itertools.product(vectors, enumerate(variants)))
    for name, (place, variant) in progress(tasks, unit="ratio"):
        membership = labels.membership[place]
        try:
            rows += _similarity_rows(
                vectors[name], variant, name, membership, frequencies, settings
            )
        except ValueError as error:
            raise _empty(variant, error) from None
    return pd.DataFrame(rows)


def _vectors(vectors: np.ndarray, kind: str) -> np.ndarray:
    try:
        return unit_vectors(vectors) if kind == "cosine" else vectors
    except ValueError as error:
        raise OnelayerError(f"word embeddings: {error}") from None


def _similarity_rows(
    vectors: list[np.ndarray],
    variant: Variant,
    name: str,
    membership: np.ndarray,
    frequencies: np.ndarray,
    settings: UncertaintySettings,
) -> list[Measure]:
    labelled = membership.any(axis=1)
    words = int(labelled.sum())
    strata = uncertainty.frequency_strata(frequencies, settings.frequency_bins, labelled)
    means = [pair_means(v, membership) for v in vectors]
    boots, nulls = [], []
    for v in vectors:
        rng = generator("words", settings.seed)
        boots.append(uncertainty.similarity_bootstrap(v, membership, settings.word_resamples, rng))
        rng = generator("permutations", settings.seed)
        nulls.append(uncertainty.similarity_null(v, membership, strata, settings.permutations, rng))
    rows = _ratio_rows(
        variant,
        f"{name}_ratio",
        _mean([m.ratio for m in means]),
        np.concatenate([boot.ratio for boot in boots]),
        np.mean([null.ratio for null in nulls], axis=0),
        words,
    )
    for part, value, pooled in (
        ("same", [m.same_mean for m in means], [b.same for b in boots]),
        ("different", [m.different_mean for m in means], [b.different for b in boots]),
        ("difference", [m.difference for m in means], [b.difference for b in boots]),
    ):
        low, high = uncertainty.percentile_interval(np.concatenate(pooled))
        rows.append(_row(variant, f"{name}_{part}", _mean(value), low, high, words))
    return rows


def _ratio_rows(
    variant: Variant,
    name: str,
    value: float,
    replicates: np.ndarray,
    null: np.ndarray,
    n: int,
) -> list[Measure]:
    low, high = uncertainty.percentile_interval(replicates)
    centre = float(null.mean())
    return [
        _row(variant, name, value, low, high, n),
        _row(variant, f"{name}_null", centre, *uncertainty.percentile_interval(null), n),
        _row(variant, f"{name}_null_corrected", value / centre, low / centre, high / centre, n),
        _row(variant, f"{name}_z", uncertainty.z_score(value, null), np.nan, np.nan, n),
    ]


def _ratio(sums: AttentionSums, place: int) -> float:
    totals, pairs = (part[:, BOTH].sum(axis=0) for part in sums.of_documents(place))
    same, different = totals / pairs
    return float(same / different)


def _resampled(sums: AttentionSums, place: int, weights: np.ndarray) -> np.ndarray:
    totals, pairs = (part[:, BOTH] for part in sums.of_documents(place))
    return uncertainty.resampled_attention(totals, pairs, weights).ratio


def _attention_null(
    checkpoints: Sequence[AttentionSums],
    labels: Labels,
    place: int,
    frequencies: np.ndarray,
    settings: UncertaintySettings,
) -> np.ndarray:
    membership = labels.membership[place]
    strata = uncertainty.frequency_strata(
        frequencies, settings.frequency_bins, membership.any(axis=1)
    )
    nulls = [
        uncertainty.attention_null(
            sums.word_pairs,
            membership,
            strata,
            settings.permutations,
            generator("permutations", settings.seed),
        ).ratio
        for sums in checkpoints
    ]
    return np.mean(nulls, axis=0)


def _standardised(
    checkpoints: Sequence[AttentionSums], place: int, weights: np.ndarray
) -> tuple[float, float, float]:
    values, pooled = [], []
    for sums in checkpoints:
        totals = sums.distance_sums[:, place, BOTH], sums.distance_counts[:, place, BOTH]
        values.append(uncertainty.distance_standardised_ratio(*(t.sum(axis=0) for t in totals)))
        pooled.append(uncertainty.resampled_standardised(*totals, weights).ratio)
    low, high = uncertainty.percentile_interval(np.concatenate(pooled))
    return _mean(values), low, high


def _class_means(
    checkpoints: Sequence[AttentionSums], variant: Variant, place: int, documents: int
) -> list[Measure]:
    rows = []
    totals = [sums.of_documents(place)[0].sum(axis=0) for sums in checkpoints]
    pairs = checkpoints[0].of_documents(place)[1].sum(axis=0)
    for c, pair_class in enumerate(PAIR_CLASSES):
        value = _mean([total[c] for total in totals]) / pairs[c] if pairs[c] else np.nan
        rows.append(_row(variant, f"attention_{pair_class}", value, np.nan, np.nan, documents))
    return rows


def _contrasts(
    values: dict[Variant, float], replicates: dict[Variant, np.ndarray], n: int
) -> list[Measure]:
    """The paper's two directions as differences, each from the same resampled documents."""
    overlaps = list(dict.fromkeys(variant.overlap for variant in values))
    thresholds = list(dict.fromkeys(variant.threshold for variant in values))
    pairs = []
    if len(thresholds) > 1:
        name = "attention_ratio_tightest_minus_loosest"
        for overlap in overlaps:
            ends = Variant(overlap, thresholds[0]), Variant(overlap, thresholds[-1])
            pairs.append((Variant(overlap, f"{thresholds[0]} - {thresholds[-1]}"), name, *ends))
    if {"disjoint", "overlapping"} <= set(overlaps):
        name = "attention_ratio_disjoint_minus_overlapping"
        for threshold in thresholds:
            ends = Variant("disjoint", threshold), Variant("overlapping", threshold)
            pairs.append((Variant("disjoint - overlapping", threshold), name, *ends))
    rows = []
    for variant, name, first, second in pairs:
        low, high = uncertainty.percentile_interval(replicates[first] - replicates[second])
        rows.append(_row(variant, name, values[first] - values[second], low, high, n))
    return rows


def _row(variant: Variant, quantity: str, value: float, low: float, high: float, n: int) -> Measure:
    return Measure(
        variant.overlap, variant.threshold, quantity, float(value), float(low), float(high), n
    )


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values))


def _empty(variant: Variant, error: ValueError) -> OnelayerError:
    return OnelayerError(
        f"topics.ambiguity: threshold {variant}: {error}; a looser threshold or more documents"
    )
