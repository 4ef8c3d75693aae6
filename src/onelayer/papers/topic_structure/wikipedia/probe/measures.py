"""From sums and vectors to measures: ratios with intervals, nulls and z, one table per model.

A model that is made here stands for several checkpoints, one per seed. Its rows of seed `all` are
means over them, with intervals over seeds and documents (or words) together; the rows of each seed
have intervals over documents alone. All seeds share resamples and permutations. A checkpoint that
comes from elsewhere, or a single seed, has rows of seed `all` alone, whose intervals leave the
training out.
"""

import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from onelayer.compute.seeds import generator
from onelayer.errors import OnelayerError
from onelayer.evidence import intervals
from onelayer.evidence.tables import ALL
from onelayer.papers.topic_structure.wikipedia.probe import uncertainty
from onelayer.papers.topic_structure.wikipedia.probe.labels import Variant
from onelayer.papers.topic_structure.wikipedia.probe.pairs import (
    DIFFERENT_TOPIC,
    PAIR_CLASSES,
    SAME_TOPIC,
    Labels,
)
from onelayer.papers.topic_structure.wikipedia.probe.similarity import (
    PairSimilarity,
    TopicSets,
    unit_vectors,
)
from onelayer.papers.topic_structure.wikipedia.probe.sums import AttentionSums
from onelayer.settings.probe import UncertaintySettings

BOTH = [SAME_TOPIC, DIFFERENT_TOPIC]
# Behind a quantity's name: the same value with an interval over topics, too.
OVER_TOPICS = "_over_topics"


@dataclass(frozen=True)
class Measure:
    """One measured quantity: its value, its 95% interval and what it rests on."""

    seed: str
    overlap: str
    threshold: str
    quantity: str
    value: float
    low: float
    high: float
    n: int


@dataclass(frozen=True)
class Sampled:
    """A quantity of every checkpoint of one model, and how far chance alone would move it.

    Attributes:
        variant, quantity: what was measured.
        values: of each checkpoint, [S].
        replicates: with documents or words resampled, the same for all, [S, R]; None: no interval.
        null: with topics permuted, in the same way for all, [S, P]; None: not a ratio.
        n: documents or words.
        topics: with whole topics resampled, the same for all, [S, R]; None: not measured.
        topics_drawn: how many topics.
    """

    variant: Variant
    quantity: str
    values: np.ndarray
    replicates: np.ndarray | None
    n: int
    null: np.ndarray | None = None
    topics: np.ndarray | None = None
    topics_drawn: int = 0

    def rows(self, seed: str, chosen: Sequence[int]) -> list[Measure]:
        """Rows of the mean over the chosen checkpoints: of a ratio also its null, z and p."""
        values = self.values[chosen]
        if self.replicates is None:
            return [self._row(seed, "", values.mean(), np.nan, np.nan)]
        replicates = self.replicates[chosen]
        found = self._over_seeds(values, replicates)
        rows = [self._row(seed, "", *found)]
        if self.null is not None:
            null = self.null[chosen]
            mean_null, centres = null.mean(axis=0), null.mean(axis=1)
            ends = uncertainty.percentile_interval(mean_null)
            corrected = self._over_seeds(values / centres, replicates / centres[:, None])
            z, p = uncertainty.z_score(values, null), uncertainty.permutation_p(values, null)
            rows += [
                self._row(seed, "_null", mean_null.mean(), *ends),
                self._row(seed, "_null_corrected", *corrected),
                self._row(seed, "_z", z, np.nan, np.nan),
                self._row(seed, "_p", p, np.nan, np.nan),
            ]
        if self.topics is not None:
            ends = self._over_topics(*found, self.topics[chosen].mean(axis=0))
            rows.append(self._row(seed, OVER_TOPICS, found[0], *ends))
        return rows

    def _over_seeds(self, values: np.ndarray, replicates: np.ndarray) -> tuple[float, float, float]:
        low, high = uncertainty.bootstrap_interval(replicates.mean(axis=0), self.n)
        return intervals.over_seeds(values, float(low), float(high))

    def _over_topics(
        self, value: float, low: float, high: float, topics: np.ndarray
    ) -> tuple[float, float]:
        """The interval over topics as well: distances to the ends of both, added as squares.

        Where topics are so few that a draw of them leaves no pairs there is none: NaN.
        """
        if self.topics_drawn < 2 or np.isnan(topics).any():
            return np.nan, np.nan
        least, most = uncertainty.bootstrap_interval(topics, self.topics_drawn)
        below, above = max(value - least, 0.0), max(most - value, 0.0)
        return value - np.hypot(value - low, below), value + np.hypot(high - value, above)

    def _row(self, seed: str, suffix: str, value: float, low: float, high: float) -> Measure:
        overlap, threshold = self.variant.overlap, self.variant.threshold
        ends = float(value), float(low), float(high)
        n = self.topics_drawn if suffix == OVER_TOPICS else self.n
        return Measure(seed, overlap, threshold, f"{self.quantity}{suffix}", *ends, n)


def _rows(quantities: Sequence[Sampled], seeds: Sequence[int]) -> pd.DataFrame:
    """Rows over all seeds, then, where there are several, those of each."""
    checkpoints = range(len(quantities[0].values))
    parts = [(ALL, list(checkpoints))]
    if len(checkpoints) > 1:
        parts += [(str(seed), [place]) for seed, place in zip(seeds, checkpoints, strict=True)]
    return pd.DataFrame([row for part in parts for one in quantities for row in one.rows(*part)])


def measure_attention(
    checkpoints: Sequence[AttentionSums],
    labels: Labels,
    frequencies: np.ndarray,
    settings: UncertaintySettings,
    seeds: Sequence[int] = (),
) -> pd.DataFrame:
    """Attention ratios of one model, every variant.

    Args:
        checkpoints: sums of each checkpoint, over the same documents.
        labels: topic labels, [variants, words, topics].
        frequencies: occurrences of each labelled word in the corpus, [words].
        settings: resamples, permutations, strata, seed.
        seeds: of each checkpoint, where there are several.

    Returns:
        Rows of `Measure`. Quantities: `attention_ratio`, `_null` (mean and 95% range),
        `_null_corrected`, `_z`, `_p` (one-sided, of the permutations), `_distance_standardised`; of
        disjoint topics `_over_topics`, with an interval for topics like these, n their number, and
        not for these alone; the mean weight of each pair class (with an interval where there are
        several checkpoints); and the two contrasts of the paper,
        `attention_ratio_tightest_minus_loosest` and `attention_ratio_disjoint_minus_overlapping`,
        from the same resamples.

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
    quantities: list[Sampled] = []
    ratios: dict[Variant, Sampled] = {}
    for place, variant in enumerate(variants):
        try:
            replicates = np.array([_resampled(sums, place, weights) for sums in checkpoints])
            values = np.array([_ratio(sums, place) for sums in checkpoints])
            null = _attention_null(checkpoints, labels, place, frequencies, settings)
            standardised = _standardised(checkpoints, place, weights)
            topics = _topics(checkpoints, labels.membership[place], settings)
        except ValueError as error:
            raise _empty(variant, error) from None
        ratios[variant] = Sampled(
            variant, "attention_ratio", values, replicates, documents, null, *topics
        )
        name = "attention_ratio_distance_standardised"
        quantities += [ratios[variant], Sampled(variant, name, *standardised, documents)]
        quantities += _class_means(checkpoints, variant, place, weights)
    return _rows([*quantities, *_contrasts(ratios)], seeds)


def measure_heads(checkpoints: Sequence[AttentionSums], seeds: Sequence[int] = ()) -> pd.DataFrame:
    """Attention ratio of every layer and head: one row per seed, layer and head.

    Heads of one layer are exchangeable: which of them a training gives which part is chance, and
    the mean over seeds of 'head 1' means nothing. In rows of seed `all` of several checkpoints
    `head` is therefore the rank within the layer, the largest ratio first, and the value the mean
    over seeds of the ratio of that rank. Rows of one seed, or of the only checkpoint, have the
    head's own number.

    Args:
        checkpoints, seeds: as for `measure_attention`.
    """
    tables = []
    for place, variant in enumerate(checkpoints[0].variants):
        ratios = []
        for sums in checkpoints:
            pairs = sums.of_documents(place)[1].sum(axis=0)
            means = sums.head_sums[place, BOTH] / pairs[BOTH, None, None]
            ratios.append(means[0] / means[1])
        by_seed = {ALL: ratios[0]}
        if len(ratios) > 1:
            ranked = -np.sort(-np.array(ratios), axis=-1)  # [S, layers, heads]
            by_seed = {ALL: ranked.mean(axis=0)}
            by_seed |= {str(seed): own for seed, own in zip(seeds, ratios, strict=True)}
        rows = [
            (seed, variant.overlap, variant.threshold, layer + 1, head + 1, ratio)
            for seed, grid in by_seed.items()
            for (layer, head), ratio in np.ndenumerate(grid)
        ]
        columns = ["seed", "overlap", "threshold", "layer", "head", "ratio"]
        tables.append(pd.DataFrame(rows, columns=columns))
    return pd.concat(tables, ignore_index=True)


def measure_embeddings(
    checkpoints: Sequence[dict[str, np.ndarray]],
    variants: Sequence[Variant],
    labels: Labels,
    frequencies: np.ndarray,
    settings: UncertaintySettings,
    progress: Callable[..., Iterable] = lambda items, **_: items,
    seeds: Sequence[int] = (),
) -> pd.DataFrame:
    """Embedding similarity ratios of one model, every variant, exact over all pairs of words.

    Args:
        checkpoints: `raw` and `output` vectors of each checkpoint, [words, d] float64.
        variants, labels, frequencies, settings, seeds: as for attention.

    Returns:
        Rows of `Measure`: `embedding_cosine_ratio` and `embedding_dot_ratio` on the embedding
        layer's output, `embedding_raw_...` on the raw word embeddings, each with `_null`,
        `_null_corrected`, `_z`, `_p`, and the means and difference that the ratio comes from.

    Raises:
        OnelayerError: a variant has no pair of some class, or vectors are zero or not finite.
    """
    spaces = (("output", "embedding"), ("raw", "embedding_raw"))
    vectors = {
        f"{prefix}_{kind}": [_vectors(checkpoint[space], kind) for checkpoint in checkpoints]
        for space, prefix in spaces
        for kind in ("cosine", "dot")
    }
    # By variant, whose permutations and resamples all vectors share; shown by kind of vectors.
    found: dict[str, list[Sampled]] = {name: [] for name in vectors}
    shared: _Drawn | None = None
    for (place, variant), name in progress(
        list(itertools.product(enumerate(variants), vectors)), unit="ratio"
    ):
        try:
            if shared is None or shared.place != place:
                shared = _drawn(place, labels.membership[place], frequencies, settings)
            found[name] += _similarities(vectors[name], variant, name, shared)
        except ValueError as error:
            raise _empty(variant, error) from None
    return _rows(list(itertools.chain(*found.values())), seeds)


def _vectors(vectors: np.ndarray, kind: str) -> np.ndarray:
    try:
        return unit_vectors(vectors) if kind == "cosine" else vectors
    except ValueError as error:
        raise OnelayerError(f"word embeddings: {error}") from None


@dataclass(frozen=True, eq=False)
class _Drawn:
    """What the vectors of all checkpoints share under one variant.

    Attributes:
        place: the variant's.
        sets: topic sets of the words.
        resamples: how often each word is drawn, int [W] each.
        permutations: of the labelled words within strata of frequency, int [W] each.
    """

    place: int
    sets: TopicSets
    resamples: list[np.ndarray]
    permutations: list[np.ndarray]


def _drawn(
    place: int, membership: np.ndarray, frequencies: np.ndarray, settings: UncertaintySettings
) -> _Drawn:
    strata = uncertainty.frequency_strata(
        frequencies, settings.frequency_bins, membership.any(axis=1)
    )
    rng = generator("words", settings.seed)
    resamples = uncertainty.word_multiplicities(membership, settings.word_resamples, rng)
    rng = generator("permutations", settings.seed)
    permutations = uncertainty.label_permutations(membership, strata, settings.permutations, rng)
    return _Drawn(place, TopicSets(membership), list(resamples), list(permutations))


def _similarities(
    vectors: list[np.ndarray], variant: Variant, name: str, shared: _Drawn
) -> list[Sampled]:
    words = len(shared.sets.labelled)
    similarities = [PairSimilarity(v, shared.sets) for v in vectors]
    means = [similarity.means() for similarity in similarities]
    boots = [uncertainty.resampled_similarity(one, shared.resamples) for one in similarities]
    nulls = [uncertainty.permuted_similarity(one, shared.permutations) for one in similarities]
    null = np.array([null.ratio for null in nulls])
    parts = (
        ("ratio", [m.ratio for m in means], [b.ratio for b in boots]),
        ("same", [m.same_mean for m in means], [b.same for b in boots]),
        ("different", [m.different_mean for m in means], [b.different for b in boots]),
        ("difference", [m.difference for m in means], [b.difference for b in boots]),
    )
    return [
        Sampled(
            variant,
            f"{name}_{part}",
            np.array(values),
            np.array(replicates),
            words,
            null if part == "ratio" else None,
        )
        for part, values, replicates in parts
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
    return np.array(nulls)


def _topics(
    checkpoints: Sequence[AttentionSums], membership: np.ndarray, settings: UncertaintySettings
) -> tuple[np.ndarray | None, int]:
    """Ratios with topics resampled, [S, R], and how many topics; none where topics overlap.

    A pair of words that share one of several topics belongs to no one pair of topics, so that no
    draw of topics says how often it counts.
    """
    if (membership.sum(axis=1) > 1).any():
        return None, 0
    known = membership[:, membership.any(axis=0)]
    topics = known.shape[1]
    weights = uncertainty.document_weights(
        topics, settings.document_resamples, generator("topics", settings.seed)
    )
    sums = [uncertainty.topic_sums(one.word_pairs, known) for one in checkpoints]
    drawn = [uncertainty.resampled_topics(*own, weights).ratio for own in sums]
    return np.array(drawn), topics


def _standardised(
    checkpoints: Sequence[AttentionSums], place: int, weights: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    values, replicates = [], []
    for sums in checkpoints:
        totals = sums.distance_sums[:, place, BOTH], sums.distance_counts[:, place, BOTH]
        values.append(uncertainty.distance_standardised_ratio(*(t.sum(axis=0) for t in totals)))
        replicates.append(uncertainty.resampled_standardised(*totals, weights).ratio)
    return np.array(values), np.array(replicates)


def _class_means(
    checkpoints: Sequence[AttentionSums], variant: Variant, place: int, weights: np.ndarray
) -> list[Sampled]:
    """Mean weight of each pair class; an interval where it has seeds to be over."""
    sums, pairs = zip(*(one.of_documents(place) for one in checkpoints), strict=True)
    sums, pairs = np.array(sums), pairs[0]  # [S, documents, classes], [documents, classes]
    with np.errstate(divide="ignore", invalid="ignore"):  # a class without pairs has no mean
        values = sums.sum(axis=1) / pairs.sum(axis=0)
        replicates = weights @ sums / (weights @ pairs)  # [S, R, classes]
    several = len(checkpoints) > 1
    return [
        Sampled(
            variant,
            f"attention_{pair_class}",
            values[:, c],
            replicates[..., c] if several else None,
            len(pairs),
        )
        for c, pair_class in enumerate(PAIR_CLASSES)
    ]


def _contrasts(ratios: dict[Variant, Sampled]) -> list[Sampled]:
    """The paper's two directions as differences, each from the same resampled documents."""
    overlaps = list(dict.fromkeys(variant.overlap for variant in ratios))
    thresholds = list(dict.fromkeys(variant.threshold for variant in ratios))
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
    quantities = []
    for variant, name, first, second in pairs:
        minuend, subtrahend = ratios[first], ratios[second]
        values = minuend.values - subtrahend.values
        replicates = minuend.replicates - subtrahend.replicates
        quantities.append(Sampled(variant, name, values, replicates, minuend.n))
    return quantities


def _empty(variant: Variant, error: ValueError) -> OnelayerError:
    return OnelayerError(
        f"topics.ambiguity: threshold {variant}: {error}; a looser threshold or more documents"
    )
