"""From sums and vectors to measures: ratios with intervals, nulls and z, one table per model.

A model that is made here stands for several checkpoints, one per seed. Its rows of seed `all` are
means over them, with intervals over seeds and documents (or words) together; the rows of each seed
have intervals over documents alone. All seeds share resamples and permutations. A checkpoint that
comes from elsewhere, or a single seed, has rows of seed `all` alone, whose intervals leave the
training out.
"""

import functools
import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass

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
from onelayer.papers.topic_structure.wikipedia.probe.uncertainty import Replicates
from onelayer.settings.probe import UncertaintySettings

BOTH = [SAME_TOPIC, DIFFERENT_TOPIC]
# Behind a quantity's name: the same value with an interval over topics, too.
OVER_TOPICS = "_over_topics"
AT_EQUAL_DISTANCE = "attention_ratio_distance_standardised"


@dataclass(frozen=True)
class Sampled:
    """A quantity of every checkpoint of one model, and how far chance alone would move it.

    Attributes:
        values: of each checkpoint, [S].
        replicates: with documents or words resampled, the same for all, [S, R]; None: no interval.
        n: documents or words.
        null: with topics permuted, in the same way for all, [S, P]; None: not a ratio.
        topics: with `topics_drawn` whole topics resampled, the same for all, [S, R]; None: not
            measured.
        corrected: how a value is set beside the mean of its null: divided by it, as a ratio is, or
            that subtracted.
    """

    variant: Variant
    quantity: str
    values: np.ndarray
    replicates: np.ndarray | None
    n: int
    null: np.ndarray | None = None
    topics: np.ndarray | None = None
    topics_drawn: int = 0
    corrected: np.ufunc = np.divide

    def rows(self, seed: str, chosen: Sequence[int]) -> list[dict]:
        """Rows of the mean over the chosen checkpoints: of a ratio also its null, z and p.

        Columns: `seed`, `overlap`, `threshold`, `quantity`, `value`, its 95% interval `low` and
        `high`, and `n`.
        """
        of = {"seed": seed} | asdict(self.variant)

        def row(suffix: str, value: float, low: float = np.nan, high: float = np.nan) -> dict:
            numbers = {"value": float(value), "low": float(low), "high": float(high), "n": self.n}
            return of | {"quantity": f"{self.quantity}{suffix}"} | numbers

        values = self.values[chosen]
        if self.replicates is None:
            return [row("", values.mean())]
        replicates = self.replicates[chosen]
        mean = self._over_seeds(values, replicates)
        rows = [row("", *mean)]
        if self.null is not None:
            null = self.null[chosen]
            mean_null, centres = null.mean(axis=0), null.mean(axis=1)
            ends = intervals.percentile_interval(mean_null)
            corrected = self._over_seeds(
                self.corrected(values, centres), self.corrected(replicates, centres[:, None])
            )
            rows += [
                row("_null", mean_null.mean(), *ends),
                row("_null_corrected", *corrected),
                row("_z", uncertainty.z_score(values, null)),
                row("_p", uncertainty.permutation_p(values, null)),
            ]
        if self.topics is not None:
            ends = self._over_topics(*mean, self.topics[chosen].mean(axis=0))
            rows.append(row(OVER_TOPICS, mean[0], *ends) | {"n": self.topics_drawn})
        return rows

    def _over_seeds(self, values: np.ndarray, replicates: np.ndarray) -> tuple[float, float, float]:
        low, high = intervals.bootstrap_interval(replicates.mean(axis=0), self.n)
        return intervals.over_seeds(values, float(low), float(high))

    def _over_topics(
        self, value: float, low: float, high: float, topics: np.ndarray
    ) -> tuple[float, float]:
        """The interval over topics as well: distances to the ends of both, added as squares.

        Where topics are so few that a draw of them leaves no pairs there is none: NaN.
        """
        if self.topics_drawn < 2 or np.isnan(topics).any():
            return np.nan, np.nan
        least, most = intervals.bootstrap_interval(topics, self.topics_drawn)
        below, above = max(value - least, 0.0), max(most - value, 0.0)
        return value - np.hypot(value - low, below), value + np.hypot(high - value, above)


def rows_of(quantities: Sequence[Sampled], seeds: Sequence[int]) -> pd.DataFrame:
    """Rows over all seeds, then, where there are several, those of each."""
    checkpoints = range(len(quantities[0].values))
    parts = [(ALL, list(checkpoints))]
    if len(checkpoints) > 1:
        parts += [(str(seed), [place]) for seed, place in zip(seeds, checkpoints, strict=True)]
    rows = []
    for part, one in itertools.product(parts, quantities):
        try:
            rows += one.rows(*part)
        except ValueError as error:
            raise OnelayerError(
                f"topics.ambiguity: threshold {one.variant}: {one.quantity}: {error}; a looser "
                "threshold, or topics of more words"
            ) from None
    return pd.DataFrame(rows)


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

    Returns:
        Rows of `Sampled`. Quantities: `attention_ratio`, `_null` (mean and 95% range),
        `_null_corrected`, `_z`, `_p` (one-sided, of the permutations); the same of
        `attention_ratio_distance_standardised`; of disjoint topics `attention_ratio_over_topics`,
        with an interval for topics like these, n their number, and not for these alone; the mean
        weight of each pair class (with an interval where there are several checkpoints); and the
        two contrasts of the paper, `attention_ratio_tightest_minus_loosest` and
        `attention_ratio_disjoint_minus_overlapping`, from the same resamples, with a null of their
        own from the same permutations at both ends.

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
        membership = labels.membership[place]
        try:
            ratio = _ratios(checkpoints, place, weights, by_distance=False)
            permutations = permutations_of(membership, frequencies, settings)
            standardised = _ratios(checkpoints, place, weights, by_distance=True)
            null, null_standardised = _nulls(checkpoints, membership, permutations)
        except ValueError as error:
            raise _empty(variant, error, membership) from None
        topics = _topics(checkpoints, membership, settings)
        ratios[variant] = Sampled(variant, "attention_ratio", *ratio, documents, null, *topics)
        apart = Sampled(variant, AT_EQUAL_DISTANCE, *standardised, documents, null_standardised)
        quantities += [ratios[variant], apart]
        quantities += _class_means(checkpoints, variant, place, weights)
    if len(variants) == 1:
        return rows_of(quantities, seeds)
    # Of differences between variants both ends have labels of the same permutations.
    moved = permutations_of(labels.membership.any(axis=0), frequencies, settings)
    of_checkpoints = [
        uncertainty.permuted_ratios(sums.word_pairs, labels.membership, moved)
        for sums in checkpoints
    ]
    nulls = dict(zip(variants, np.stack(of_checkpoints, axis=1), strict=True))
    return rows_of([*quantities, *_contrasts(ratios, nulls)], seeds)


def measure_heads(checkpoints: Sequence[AttentionSums], seeds: Sequence[int] = ()) -> pd.DataFrame:
    """Attention ratio of every layer and head under every variant: one row per seed of each.

    Heads of one layer are exchangeable: which of them a training gives which part is chance, and
    the mean over seeds of 'head 1' means nothing. In rows of seed `all` of several checkpoints
    `head` is therefore the rank within the layer, the largest ratio first, and the value the mean
    over seeds of the ratio of that rank. Rows of one seed, or of the only checkpoint, have the
    head's own number.
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
            by_seed |= {str(seed): grid for seed, grid in zip(seeds, ratios, strict=True)}
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
        Rows of `Sampled`: `embedding_cosine_ratio` and `embedding_dot_ratio` on the embedding
        layer's output, `embedding_raw_...` on the raw word embeddings, each with `_null`,
        `_null_corrected`, `_z`, `_p`, and the means and difference that the ratio comes from.

    Raises:
        OnelayerError: a variant has no pair of some class, or vectors are zero or not finite.
    """
    vectors = {
        f"{prefix}_{kind}": [prepare(checkpoint[space]) for checkpoint in checkpoints]
        for space, prefix in (("output", "embedding"), ("raw", "embedding_raw"))
        for kind, prepare in (("cosine", unit_vectors), ("dot", np.asarray))
    }

    @functools.lru_cache(maxsize=1)
    def drawn(place: int) -> tuple[TopicSets, list[np.ndarray], list[np.ndarray]]:
        """What all vectors share under a variant: topic sets, resamples and permutations."""
        membership, rng = labels.membership[place], generator("words", settings.seed)
        resamples = uncertainty.word_multiplicities(membership, settings.word_resamples, rng)
        permutations = permutations_of(membership, frequencies, settings)
        return TopicSets(membership), resamples, permutations

    by_vectors: dict[str, list[Sampled]] = {name: [] for name in vectors}
    for (place, variant), name in progress(
        list(itertools.product(enumerate(variants), vectors)), unit="ratio"
    ):
        try:
            by_vectors[name] += _similarities(vectors[name], variant, name, *drawn(place))
        except ValueError as error:
            raise _empty(variant, error, labels.membership[place]) from None
    return rows_of(list(itertools.chain(*by_vectors.values())), seeds)


def permutations_of(
    membership: np.ndarray, frequencies: np.ndarray, settings: UncertaintySettings
) -> list[np.ndarray]:
    """Of the labelled words within strata of frequency, int [W] each."""
    labelled, rng = membership.any(axis=1), generator("permutations", settings.seed)
    strata = uncertainty.frequency_strata(frequencies, settings.frequency_bins, labelled)
    return [uncertainty.permute_within(strata, rng) for _ in range(settings.permutations)]


def _similarities(
    vectors: Sequence[np.ndarray],
    variant: Variant,
    name: str,
    sets: TopicSets,
    resamples: Sequence[np.ndarray],
    permutations: Sequence[np.ndarray],
) -> list[Sampled]:
    """Ratio, means and difference of one kind of vectors."""
    means, boots, nulls = [], [], []
    for similarity in [PairSimilarity(one, sets) for one in vectors]:
        means.append(Replicates.of([similarity.means()]))
        boots.append(Replicates.of(similarity.means(weights=drawn) for drawn in resamples))
        null = Replicates.of(similarity.means(permutation=moved) for moved in permutations)
        nulls.append(null.ratio)
    return [
        Sampled(
            variant,
            f"{name}_{part}",
            np.concatenate([getattr(mean, part) for mean in means]),
            np.array([getattr(boot, part) for boot in boots]),
            len(sets.labelled),
            np.array(nulls) if part == "ratio" else None,
        )
        for part in ("ratio", "same", "different", "difference")
    ]


def _topics(
    checkpoints: Sequence[AttentionSums], membership: np.ndarray, settings: UncertaintySettings
) -> tuple[np.ndarray | None, int]:
    """Ratios with topics resampled, [S, R], and how many topics; none where topics overlap.

    A pair of words that share one of several topics belongs to no one pair of topics, so that no
    draw of topics says how often it counts.
    """
    if (membership.sum(axis=1) > 1).any():
        return None, 0
    with_words = membership[:, membership.any(axis=0)]
    topics = with_words.shape[1]
    weights = uncertainty.document_weights(
        topics, settings.document_resamples, generator("topics", settings.seed)
    )
    sums = [uncertainty.topic_sums(one.word_pairs, with_words) for one in checkpoints]
    drawn = [uncertainty.resampled_topics(*tables, weights).ratio for tables in sums]
    return np.array(drawn), topics


def _ratios(
    checkpoints: Sequence[AttentionSums], place: int, weights: np.ndarray, by_distance: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Of a variant, as measured [S] and with documents resampled [S, R]."""
    means = uncertainty.standardised_means if by_distance else uncertainty.class_means
    values, replicates = [], []
    for sums in checkpoints:
        by_bin = sums.distance_sums[:, place], sums.distance_counts[:, place]
        totals = [part[:, BOTH] for part in (by_bin if by_distance else sums.of_documents(place))]
        replicates.append(means(*uncertainty.resampled(weights, *totals)).ratio)
        values.append(means(*(total.sum(axis=0)[None] for total in totals)).ratio[0])
    return np.array(values), np.array(replicates)


def _nulls(
    checkpoints: Sequence[AttentionSums], membership: np.ndarray, permutations: Sequence[np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """Ratios with topics permuted, at any distance and standardised for it, two [S, P]."""
    nulls = [
        uncertainty.permuted_attention(sums.word_pairs, membership, permutations)
        for sums in checkpoints
    ]
    return tuple(np.array([null.ratio for null in of]) for of in zip(*nulls, strict=True))


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


def _contrasts(
    ratios: Mapping[Variant, Sampled], nulls: Mapping[Variant, np.ndarray]
) -> list[Sampled]:
    """The paper's two directions as differences, from the same resamples and permutations.

    `nulls` are ratios with the words of all variants permuted at once, [S, P]. Permutations that
    leave a class of either end without pairs (NaN) are left out. There is no null where
    these are more than one in ten, or where no two differ, as with the same labels at both ends.
    """
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
    contrasts = []
    for variant, name, *ends in pairs:
        first, second = (ratios[end] for end in ends)
        null = np.subtract(*(nulls[end] for end in ends))
        difference = first.values - second.values, first.replicates - second.replicates
        usable = ~np.isnan(null).any(axis=0)
        null = null[:, usable]
        differ = usable.mean() >= 0.9 and np.ptp(null.mean(axis=0)) > uncertainty.ROUNDING
        null = null if differ else None
        contrasts.append(Sampled(variant, name, *difference, first.n, null, corrected=np.subtract))
    return contrasts


def _empty(variant: Variant, error: ValueError, membership: np.ndarray) -> OnelayerError:
    """What is missing, behind how many words there were: too few are a common cause."""
    words, topics = (int(membership.any(axis=axis).sum()) for axis in (1, 0))
    return OnelayerError(
        f"topics.ambiguity: threshold {variant}: {words} words of {topics} topics are one piece in "
        f"this model's tokenizer; {error}; a looser threshold or more documents"
    )
