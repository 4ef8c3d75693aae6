"""From rows of pairs of words to attention ratios, with nulls and intervals.

The paper reports plain ratios. Word frequency and distance alone move them. So every ratio is set
beside the same ratio under permuted topics, and attention also at equal distance. Intervals are
bootstraps over documents (attention) or words (embeddings), and over topics.

A model that is made here stands for S checkpoints, one per seed. Rows of seed `all` are means over
them, with intervals over seeds and documents (or words) together; all seeds share resamples and
permutations. A row of one seed has an interval over documents alone.

Shapes: W words, K topics, D documents, B distance bins, S checkpoints, R resamples, P permutations.
Sums are [..., 1 + S, 2, B]: numbers of pairs, then weights of each checkpoint; same topic, other.
"""

from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd
from scipy.sparse import coo_array

from onelayer.errors import OnelayerError
from onelayer.evidence import intervals
from onelayer.seeds import generator
from onelayer.settings.probe import UncertaintySettings
from onelayer.topic_structure.wikipedia.probe import EDGES
from onelayer.topic_structure.wikipedia.words import Labels, Variant, meets, topic_bits

B = len(EDGES)
ALL = "all"
ATTENTION, EQUAL = "attention_ratio", "attention_ratio_distance_standardised"
TIGHTER, DISJOINT = (
    "attention_ratio_tightest_minus_loosest",
    "attention_ratio_disjoint_minus_overlapping",
)
ROUNDING = 1e-12  # of means in float64, relative


def ratio(sums: np.ndarray) -> np.ndarray:
    """The attention ratio: mean weight within topics over that across them, [..., S]."""
    totals = sums.sum(axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        means = totals[..., 1:, :] / totals[..., :1, :]
        return means[..., 0] / means[..., 1]


def ratio_at_equal_distance(sums: np.ndarray) -> np.ndarray:
    """The same with pairs of two topics weighted to the distances of pairs of one, [..., S].

    Words of one topic stand closer together, and close words attend to each other more. Bins that
    lack one of the classes are left out on both sides.
    """
    shared = (sums[..., :1, :, :] > 0).all(axis=-2, keepdims=True)
    pairs, weights = sums[..., :1, :, :], np.where(shared, sums[..., 1:, :, :], 0.0)
    same_pairs = np.where(shared, pairs, 0.0)[..., 0, :]
    across = same_pairs * (weights[..., 1, :] / np.maximum(pairs[..., 1, :], 1.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        return weights[..., 0, :].sum(axis=-1) / across.sum(axis=-1)


def permutations(labels: np.ndarray, occurrences: np.ndarray, settings: UncertaintySettings):
    """The null: word w takes the topics of word p[w], of like frequency; int [P, W].

    Words with a topic (`labels`, bool [W, K]) are permuted within strata of frequency, of two words
    at least; others stay.
    """
    rng = generator("permutations", settings.seed)
    labelled = np.flatnonzero(labels.any(axis=1))
    order = labelled[np.argsort(occurrences[labelled].astype(np.float64), kind="stable")]
    strata = np.empty(len(labels), dtype=np.int64)
    bins = max(1, min(settings.frequency_bins, len(order) // 2))
    strata[order] = np.arange(len(order)) * bins // max(1, len(order))
    drawn = np.tile(np.arange(len(labels)), (settings.permutations, 1))
    places = labelled[np.argsort(strata[labelled], kind="stable")]
    for one in drawn:
        one[places] = labelled[np.lexsort((rng.random(len(labelled)), strata[labelled]))]
    return drawn


def resamples(units: int, count: int, *seed: object) -> np.ndarray:
    """How often each unit is drawn in each bootstrap resample, float64 [R, units]."""
    drawn = generator(*seed).multinomial(units, np.full(units, 1.0 / units), size=count)
    return drawn.astype(np.float64)


def summary(
    values: np.ndarray,
    replicates: np.ndarray,
    n: int,
    null: np.ndarray | None = None,
    over_topics: tuple[np.ndarray, int] | None = None,
) -> dict[str, float]:
    """The mean over checkpoints with its interval, and what permuted topics show.

    Args:
        values: [S]; replicates: [R, S]; n: units resampled.
        null: [P, S].
        over_topics: values with whole topics resampled [R, S], and their number. The distances to
            the ends of both intervals are added as squares. Where a draw leaves no pairs: NaN.
    """
    ends = intervals.bootstrap_interval(replicates.mean(axis=1), n)
    value, low, high = intervals.over_seeds(values, *map(float, ends))
    row = {"value": value, "low": low, "high": high, "n": n}
    if over_topics is not None:
        drawn, topics = over_topics
        row |= {"low": np.nan, "high": np.nan, "n": topics}
        if topics > 1 and np.isfinite(drawn).all():
            least, most = intervals.bootstrap_interval(drawn.mean(axis=1), topics)
            row["low"] = value - np.hypot(value - low, max(value - least, 0.0))
            row["high"] = value + np.hypot(high - value, max(most - value, 0.0))
    if null is not None:
        means = null.mean(axis=1)
        spread = means.std(ddof=1)
        ends = intervals.percentile_interval(means)
        row |= dict(zip(("null", "null_low", "null_high"), (means.mean(), *ends), strict=True))
        varies = spread > ROUNDING * np.abs(means).max()
        row["z"] = (value - means.mean()) / spread if varies else np.nan
        reached = means >= value - ROUNDING * abs(value)
        row["p"] = (1 + reached.sum()) / (len(means) + 1)
        centres = null.mean(axis=0)  # of each checkpoint: its own null is what it is measured by
        ends = intervals.bootstrap_interval((replicates / centres).mean(axis=1), n)
        over = intervals.over_seeds(values / centres, *map(float, ends))
        row |= dict(zip(("over_null", "over_low", "over_high"), over, strict=True))
    return {name: float(number) for name, number in row.items()}


def rows_of(
    variant: Variant,
    quantity: str,
    seeds: Sequence[int],
    values: np.ndarray,
    replicates: np.ndarray,
    n: int,
    null: np.ndarray | None = None,
    over_topics: tuple[np.ndarray, int] | None = None,
) -> Iterator[dict]:
    """The row over all seeds, then, where there are several, one of each; see `summary`."""
    chosen = {ALL: slice(None)}
    if len(values) > 1:
        chosen |= {str(seed): slice(i, i + 1) for i, seed in enumerate(seeds)}
    for seed, of in chosen.items():
        permuted = None if null is None else null[:, of]
        drawn = None if over_topics is None else (over_topics[0][:, of], over_topics[1])
        named = {"seed": seed, **variant._asdict(), "quantity": quantity}
        yield named | summary(values[of], replicates[:, of], n, permuted, drawn)


def measure_attention(
    checkpoints: Sequence[pd.DataFrame],
    labels: Labels,
    settings: UncertaintySettings,
    seeds: Sequence[int] = (),
    weight: str = "mean",
) -> pd.DataFrame:
    """Attention ratios of one model under every variant.

    Args:
        checkpoints: rows of `probe`, of the same texts.
        weight: which of their columns.

    Returns:
        Rows `seed`, `overlap`, `threshold`, `quantity`, `value`, `low`, `high`, `n` and, of the
        null, `null` (mean), `null_low`, `null_high` (95% of it), `z`, `p` (one-sided), and of the
        ratio over its null `over_null`, `over_low`, `over_high`. Quantities:
        `attention_ratio`; `..._distance_standardised`; of disjoint topics `..._over_topics`, with
        an interval for topics like these; and the paper's two directions as differences,
        `..._tightest_minus_loosest` and `..._disjoint_minus_overlapping`.

    Raises:
        OnelayerError: a variant has too few pairs of some class.
    """
    rows = checkpoints[0]
    names = "first", "second", "document"
    first, second, document = (rows[name].cat.codes.to_numpy(np.int64) for name in names)
    bins, documents = rows["distance"].to_numpy(np.int64), len(rows["document"].cat.categories)
    if list(rows["first"].cat.categories) != list(labels.words):
        raise OnelayerError("the rows are of other words than those of the topics; probe again")
    numbers = np.stack([np.ones(len(rows)), *(one[weight] for one in checkpoints)])  # [1 + S, rows]
    drawn = resamples(documents, settings.document_resamples, "documents", settings.seed)
    measured, ratios = [], {}
    for variant, topics in zip(labels.variants, labels.topics, strict=True):
        labelled = topics.any(axis=1)
        kept = labelled[first] & labelled[second]
        pairs = first[kept], second[kept], bins[kept], numbers[:, kept]
        sums = _by_document(document[kept], documents, *pairs, topics)
        resampled = np.tensordot(drawn, sums, 1)
        moved = permutations(topics, labels.occurrences, settings)
        null = _permuted(*pairs, topics, moved)
        for quantity, measure in ((ATTENTION, ratio), (EQUAL, ratio_at_equal_distance)):
            three = measure(sums.sum(axis=0)), measure(resampled), measure(null)
            if not all(np.isfinite(one).all() for one in three):
                raise OnelayerError(
                    f"topics.ambiguity: threshold {variant.threshold}, {variant.overlap}: too few "
                    f"pairs of {labelled.sum()} words of {topics.any(axis=0).sum()} topics for "
                    f"{quantity}, its interval and its null; a looser threshold or more documents"
                )
            values, replicates, permuted = three
            measured += rows_of(variant, quantity, seeds, values, replicates, documents, permuted)
            ratios.setdefault(variant, (values, replicates))
        if not (topics.sum(axis=1) > 1).any():  # else a pair of words is of no one pair of topics
            over = _over_topics(*pairs, topics[:, topics.any(axis=0)], settings)
            of = variant, f"{ATTENTION}_over_topics", seeds, *ratios[variant], documents
            measured += rows_of(*of, over_topics=over)
    if len(labels.variants) > 1:
        null = _common_null(first, second, numbers, labels, settings)
        measured += _contrasts(labels, null, ratios, documents, seeds)
    return pd.DataFrame(measured)


def _by_document(document, documents, first, second, bins, numbers, topics) -> np.ndarray:
    """Sums of each document, [D, 1 + S, 2, B], of pairs of labelled words."""
    apart = ~meets(topic_bits(topics), first, second)
    code, size = (2 * document + apart) * B + bins, documents * 2 * B
    sums = np.stack([np.bincount(code, one, size) for one in numbers])
    return sums.reshape(len(numbers), documents, 2, B).swapaxes(0, 1)


def _permuted(a, b, bins, numbers, topics, moved) -> np.ndarray:
    """Sums with topics permuted, [P, 1 + S, 2, B], of pairs of labelled words a, b."""
    codes, pair = np.unique(a * len(topics) + b, return_inverse=True)
    first, second = np.divmod(codes, len(topics))
    shape = (len(numbers) * B, len(codes))
    row = (np.arange(len(numbers))[:, None] * B + bins).ravel()
    # A row for each number and bin, a column for each pair of words.
    values = coo_array((numbers.ravel(), (row, np.tile(pair, len(numbers)))), shape).tocsr()
    bits = topic_bits(topics)
    meeting = (meets(bits[:, p], first, second).astype(np.float64) for p in moved)
    same = np.stack([values @ one for one in meeting])
    both = np.stack([same, values.sum(axis=1) - same], axis=-1)
    return both.reshape(len(moved), len(numbers), B, 2).swapaxes(-1, -2)


def _over_topics(a, b, bins, numbers, topics, settings) -> tuple[np.ndarray, int]:
    """Ratios with whole topics drawn with replacement, [R, S], and their number.

    A topic that is drawn twice is two topics without pairs between them.
    """
    count, topic = topics.shape[1], topics.argmax(axis=1)
    drawn = resamples(count, settings.document_resamples, "topics", settings.seed)
    code, means = topic[a] * count + topic[b], []
    for one in numbers:
        table = np.bincount(code, one, count**2).reshape(count, count)
        within = np.diag(table)
        apart = table - np.diag(within)
        means.append([drawn @ within, ((drawn @ apart) * drawn).sum(axis=1)])
    sums = np.array(means).transpose(2, 0, 1)[..., None]  # [R, 1 + S, 2, 1]
    return ratio(sums), count


def _common_null(first, second, numbers, labels, settings) -> dict[Variant, np.ndarray]:
    """Ratios [P, S] of all variants under the same permutations of all their words.

    NaN where a permutation leaves a class without pairs.
    """
    anywhere = labels.topics.any(axis=0)
    moved = permutations(anywhere, labels.occurrences, settings)
    codes, pair = np.unique(first * len(anywhere) + second, return_inverse=True)
    a, b = np.divmod(codes, len(anywhere))
    values = np.stack([np.bincount(pair, one, len(codes)) for one in numbers])  # [1 + S, pairs]
    nulls = {}
    for variant, topics in zip(labels.variants, labels.topics, strict=True):
        labelled, bits = topics.any(axis=1), topic_bits(topics)
        same = np.stack([values @ meets(bits[:, p], a, b).astype(np.float64) for p in moved])
        kept = ((labelled[p][a] & labelled[p][b]).astype(np.float64) for p in moved)
        total = np.stack([values @ one for one in kept])
        nulls[variant] = ratio(np.stack([same, total - same], axis=-1)[..., None])
    return nulls


def _contrasts(labels, nulls, ratios, documents, seeds) -> Iterator[dict]:
    """The paper's two directions as differences, from the same resamples and permutations.

    No null where permutations without pairs are more than one in ten, or no two of them differ.
    """
    overlaps = list(dict.fromkeys(variant.overlap for variant in labels.variants))
    thresholds = list(dict.fromkeys(variant.threshold for variant in labels.variants))
    ends = {}
    for overlap in overlaps if len(thresholds) > 1 else ():
        tight, loose = thresholds[0], thresholds[-1]
        of = Variant(overlap, tight), Variant(overlap, loose)
        ends[Variant(overlap, f"{tight} - {loose}"), TIGHTER] = of
    for threshold in thresholds if len(overlaps) > 1 else ():
        of = Variant("disjoint", threshold), Variant("overlapping", threshold)
        ends[Variant("disjoint - overlapping", threshold), DISJOINT] = of
    for (variant, quantity), (one, other) in ends.items():
        values, replicates = map(np.subtract, ratios[one], ratios[other])
        null = nulls[one] - nulls[other]
        usable = np.isfinite(null).all(axis=1)
        null = null[usable]
        differ = usable.mean() >= 0.9 and np.ptp(null.mean(axis=1)) > ROUNDING
        yield from rows_of(
            variant, quantity, seeds, values, replicates, documents, null if differ else None
        )
