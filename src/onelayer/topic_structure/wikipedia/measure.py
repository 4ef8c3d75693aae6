"""Step 3: a model's rows, ratios of attention and of embeddings with intervals and nulls.

The paper reports plain ratios. Word frequency and distance alone move them. So every ratio is set
beside the same ratio under permuted topics, and attention also at equal distance and within
documents. Intervals are bootstraps over documents (attention) or words (embeddings). A model that
is made here stands for S checkpoints, one per seed: rows of seed `all` are means over them, with
intervals over seeds, too. All models and seeds share resamples and permutations.

Shapes: W words, K topics, P pairs, D documents, B distance bins, R resamples, M permutations.
"""

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from onelayer.errors import OnelayerError
from onelayer.evidence import intervals
from onelayer.seeds import generator
from onelayer.settings.probe import UncertaintySettings
from onelayer.topic_structure.wikipedia import ratio, similarity
from onelayer.topic_structure.wikipedia.ratio import EDGES, Labels, Pairs, Variant
from onelayer.topic_structure.wikipedia.similarity import SOURCES, pair_means

B = len(EDGES)
ALL = "all"
AUTHORS, OURS = "authors", "ours"  # ways to probe: whose topics, words a topic, weights
ATTENTION, EQUAL = "attention_ratio", "attention_ratio_distance_standardised"
WITHIN_DOCUMENTS = f"{ATTENTION}_within_documents"
OVER_TOPICS = "_over_topics"  # behind the name of a quantity
TOPIC_GROUPS = 20  # of the jackknife over topics
TIGHTER = f"{ATTENTION}_tightest_minus_loosest"
DISJOINT = f"{ATTENTION}_disjoint_minus_overlapping"
# On what is not an article (module `variations`).
WITHIN, ACROSS = "inputs, words of one article", "inputs, words across articles"
DRAWN = "inputs, topics that words were drawn from"
ROUNDING = 1e-12  # of means in float64, relative


class Draws(NamedTuple):
    """A quantity with what its interval and its null are made of."""

    values: np.ndarray  # [S]
    replicates: np.ndarray  # of resampled units, [R, S]
    null: np.ndarray  # of permuted topics, [M, S]
    n: int  # units resampled
    without: np.ndarray = np.empty(0)  # each group of topics in turn, [G], if topics are varied

    def __sub__(self, other: "Draws") -> "Draws":
        """The difference of two quantities of the same units."""
        parts = map(np.subtract, self[:3], other[:3])
        return Draws(*parts, self.n, self.without - other.without)

    def interval(self) -> tuple[float, float, float]:
        """The mean over checkpoints with its interval over units and seeds."""
        ends = intervals.bootstrap_interval(self.replicates.mean(axis=1), self.n)
        return intervals.over_seeds(self.values, *map(float, ends))

    @property
    def finite(self) -> bool:
        """Whether there were pairs enough, in each resample and permutation."""
        return all(np.isfinite(numbers).all() for numbers in self[:3])


def measure_model(
    pairs: Pairs,
    vectors: Sequence[pd.DataFrame],
    labels: Mapping[str, Labels],
    settings: UncertaintySettings,
    seeds: Sequence[int] = (),
) -> pd.DataFrame:
    """Rows of `measure_attention` and `measure_embeddings` for each `way` in `labels`.

    The authors' way has weights as they are, and topics vary; ours has weights times keys. Of the
    authors' thousands of words, in several topics each, embeddings are at the tightest alone.
    """
    tables = []
    for way, topics in labels.items():
        authors = way == AUTHORS
        weighed = pairs if authors else pairs.length_corrected()
        attention = measure_attention(weighed, topics, settings, seeds, vary_topics=authors)
        embeddings = measure_embeddings(vectors, topics, settings, seeds, tightest=authors)
        tables += [attention.assign(way=way), embeddings.assign(way=way)]
    return pd.concat(tables, ignore_index=True)


def measure_attention(
    pairs: Pairs,
    labels: Labels,
    settings: UncertaintySettings,
    seeds: Sequence[int] = (),
    vary_topics: bool = False,
) -> pd.DataFrame:
    """Attention ratios of one model under every variant.

    Returns rows `seed`, `overlap`, `threshold`, `quantity` and what `estimate_rows` adds, of
    `attention_ratio`; `..._distance_standardised`; at the tightest threshold
    `..._within_documents`; the paper's two directions as differences, `..._tightest_minus_loosest`
    and `..._disjoint_minus_overlapping`; and, to `vary_topics`, all but within documents again,
    `..._over_topics`, with intervals for topics like these.

    Raises:
        OnelayerError: a variant has too few pairs of some class.
    """
    resampled = resamples(pairs.documents, settings)
    ratios = {}  # by overlap, threshold and quantity, in the order of the rows
    for variant, topics in zip(labels.variants, labels.topics, strict=True):
        known = topics.any(axis=1)
        among = pairs.select(known[pairs.first] & known[pairs.second])
        moved = ratio.permutations(topics, labels.occurrences, settings)
        strata = [(among.distance, B)]
        if variant in labels.first:
            strata.append((among.document, pairs.documents))
        same = ratio.meets(ratio.topic_bits(topics), among.first, among.second)
        nulls = ratio.permuted_sums(among, topics, moved, strata)
        without = without_topics(among, same, topics) if vary_topics else {}
        for quantity, draws in _ratio_draws(among, same, resampled, *nulls).items():
            if not draws.finite:
                raise OnelayerError(
                    f"topics: threshold {variant.threshold}, {variant.overlap}: too few pairs of "
                    f"{known.sum()} words of {topics.any(axis=0).sum()} topics for {quantity}, its "
                    "interval and its null; a looser threshold or more documents"
                )
            left = without.get(quantity, draws.without)
            ratios[*variant, quantity] = draws._replace(without=left)
    # The paper's two directions as differences, from the same resamples of documents.
    overlaps, thresholds = (list(dict.fromkeys(n)) for n in zip(*labels.variants, strict=True))
    tight, loose = thresholds[0], thresholds[-1]
    if tight != loose:
        for mode in overlaps:
            more, less = (ratios[mode, at, ATTENTION] for at in (tight, loose))
            ratios[mode, f"{tight} - {loose}", TIGHTER] = more - less
    if len(overlaps) > 1:
        for at in thresholds:
            more, less = (ratios[mode, at, ATTENTION] for mode in ("disjoint", "overlapping"))
            ratios["disjoint - overlapping", at, DISJOINT] = more - less
    measured = []
    for (*variant, quantity), draws in ratios.items():
        measured += (rows := [*estimate_rows(Variant(*variant), quantity, seeds, draws)])
        if len(draws.without):
            measured.append(over_topics(rows[0], draws.without))
    return pd.DataFrame(measured)


def measure_classes(
    pairs: Pairs,
    same: np.ndarray,
    null: Iterable[np.ndarray],
    variant: Variant,
    settings: UncertaintySettings,
    seeds: Sequence[int],
) -> pd.DataFrame:
    """Ratios of pairs whose classes are known: `same`, bool [P], and draws of it as the null."""
    numbers, distance = pairs.numbers, pairs.distance
    null = np.stack([ratio.class_sums(numbers, drawn, distance, B) for drawn in null])
    found = _ratio_draws(pairs, same, resamples(pairs.documents, settings), null)
    rows = [estimate_rows(variant, quantity, seeds, draws) for quantity, draws in found.items()]
    return pd.DataFrame(itertools.chain(*rows))


def measure_embeddings(
    checkpoints: Sequence[pd.DataFrame],
    labels: Labels,
    settings: UncertaintySettings,
    seeds: Sequence[int] = (),
    tightest: bool = False,
) -> pd.DataFrame:
    """Similarity of one model's embeddings, every variant, exact over all pairs of words.

    Returns, of each checkpoint's rows of `embed`, rows as of attention, `n` words: of the embedding
    layer's output `embedding_cosine_ratio` and `embedding_dot_ratio`; at the tightest threshold of
    the raw matrix `embedding_raw_cosine_ratio` and `embedding_raw_dot_ratio`. Behind each ratio the
    mean within topics less that across, `embedding_cosine_difference`, ..., and the mean across,
    `embedding_cosine_different`, ...: where 0 is within its interval the ratio means nothing.
    Of `tightest` looser thresholds are left out, and what is judged is again, `..._over_topics`.

    Raises:
        OnelayerError: vectors are zero or not finite, or a variant has too few pairs.
    """
    measured, matrices = [], _matrices(checkpoints, labels.words)
    for variant, topics in zip(labels.variants, labels.topics, strict=True):
        if tightest and variant not in labels.first:
            continue
        chosen = np.flatnonzero(topics.any(axis=1))
        rng, size = generator("words", settings.seed), len(chosen)
        drawn = [rng.choice(chosen, size=size) for _ in range(settings.word_resamples)]
        times = [np.bincount(words, minlength=len(topics))[chosen] for words in drawn]
        moved = ratio.permutations(topics, labels.occurrences, settings)[:, chosen]
        once, stay = np.ones(size, dtype=np.int64), np.arange(size)
        draws = [(once, stay), *((n, stay) for n in times)]
        draws += [(once, p) for p in np.searchsorted(chosen, moved)]
        kinds = [q for q, of in SOURCES.items() if of != "raw" or variant in labels.first]
        means = [pair_means(_vectors(matrices, kinds, chosen), topics[chosen], draws)]
        if not np.isfinite(means[0]).all():
            raise OnelayerError(
                f"topics: threshold {variant.threshold}, {variant.overlap}: too few pairs of "
                f"{size} words for embeddings, their interval and null; a looser threshold"
            )
        for left in fewer_topics(topics[chosen]) if tightest else []:
            alone = [(left.any(axis=1).astype(int), stay)]
            means.append(pair_means(_vectors(matrices, kinds, chosen), left, alone))
        means = np.concatenate(means, axis=1).reshape(len(kinds), len(checkpoints), -1, 2)
        for quantity, of_kind in zip(kinds, means, strict=True):
            within, across = of_kind.transpose(2, 1, 0)  # [draws, S]
            name = quantity.removesuffix("ratio")
            with np.errstate(divide="ignore", invalid="ignore"):
                numbers = {quantity: within / across, f"{name}difference": within - across}
            for derived, by_draw in (numbers | {f"{name}different": across}).items():
                whole, *parts, fewer = np.split(by_draw, np.cumsum([1, len(times), len(moved)]))
                rows = [*estimate_rows(variant, derived, seeds, Draws(whole[0], *parts, size))]
                measured += rows
                if tightest and derived in (similarity.RAW, similarity.RAW_DIFFERENCE):
                    measured.append(over_topics(rows[0], fewer.mean(axis=1)))
    return pd.DataFrame(measured)


def _matrices(checkpoints: Sequence[pd.DataFrame], words: Sequence[str]) -> dict[str, list]:
    """Of each source the words' vectors, [W, d] of each checkpoint, and their lengths, [W, 1]."""
    matrices = {source: [] for source in SOURCES.values()}
    for embedded, source in itertools.product(checkpoints, matrices):
        matrix = np.stack(embedded.set_index("word")[source][list(words)].to_list())
        lengths = np.linalg.norm(matrix, axis=1, keepdims=True)
        if bad := int((~(np.isfinite(lengths) & (lengths > 0))).sum()):
            raise OnelayerError(
                f"word embeddings: {bad} of {len(matrix)} vectors are zero or not finite: no cosine"
            )
        matrices[source].append((matrix, lengths))
    return matrices


def _vectors(matrices: Mapping, kinds: Sequence[str], chosen: np.ndarray) -> Iterator[np.ndarray]:
    """Of each kind and checkpoint some words' vectors, of length 1 for cosines."""
    for quantity in kinds:
        for matrix, lengths in matrices[SOURCES[quantity]]:
            yield matrix[chosen] / (lengths[chosen] if quantity in similarity.COSINES else 1)


def resamples(D: int, settings: UncertaintySettings) -> np.ndarray:
    """How often each document is drawn in each bootstrap resample, float64 [R, D]."""
    rng = generator("documents", settings.seed)
    drawn = rng.multinomial(D, np.full(D, 1.0 / D), size=settings.document_resamples)
    return drawn.astype(np.float64)


def _ratio_draws(
    pairs: Pairs,
    same: np.ndarray,
    resampled: np.ndarray,
    null: np.ndarray,
    null_by_document: np.ndarray | None = None,
) -> dict[str, Draws]:
    """The ratio, at equal distance and, if its null is given, within documents.

    `resampled` [R, D]; nulls are sums by distance [M, 1 + S, 2, B], or by document.
    """
    D = resampled.shape[1]
    sums = ratio.class_sums(pairs.numbers, same, pairs.document * B + pairs.distance, D * B)
    sums = np.moveaxis(sums.reshape(-1, 2, D, B), 2, 0)  # [D, 1 + S, 2, B]
    total, replicates = sums.sum(axis=0), np.tensordot(resampled, sums, 1)
    found = {
        quantity: Draws(estimate(total), estimate(replicates), estimate(null), D)
        for quantity, estimate in {ATTENTION: ratio.plain, EQUAL: ratio.at_equal}.items()
    }
    if null_by_document is not None:
        like = ratio.like_strata(sums.sum(axis=-1)[..., None])[..., 0]  # [D, S, 2]
        drawn = like.sum(axis=0), np.tensordot(resampled, like, 1)
        within = Draws(*map(ratio.first_over_second, drawn), ratio.at_equal(null_by_document), D)
        if within.finite:  # few texts have words of one topic
            found[WITHIN_DOCUMENTS] = within
    return found


def estimate_rows(
    variant: Variant, quantity: str, seeds: Sequence[int], draws: Draws
) -> Iterator[dict]:
    """The row over all seeds, then, where there are several, one of each.

    `value`, `low`, `high`, `n`; of the null `null` (mean), `null_low`, `null_high` (95% of it) and
    `p` (one-sided; of these topics: that others might be fitted is no part of it). Of attention
    also the ratio over each checkpoint's own null, `over_null`, `over_low`, `over_high`, and its
    resamples, `over_replicates` [R], to compare models by.
    """
    chosen = {ALL: slice(None)}
    if len(draws.values) > 1:
        chosen |= {str(seed): slice(i, i + 1) for i, seed in enumerate(seeds)}
    for seed, checkpoints in chosen.items():
        part = Draws(*(numbers[..., checkpoints] for numbers in draws[:3]), draws.n)
        (value, low, high), means = part.interval(), part.null.mean(axis=1)
        least, most = intervals.percentile_interval(means)
        row = {"value": value, "low": low, "high": high, "n": part.n, "null": means.mean()}
        row |= {"null_low": least, "null_high": most}
        row["p"] = (1 + (means >= value - ROUNDING * abs(value)).sum()) / (len(means) + 1)
        row = {name: float(number) for name, number in row.items()}
        row = {"seed": seed, **variant._asdict(), "quantity": quantity} | row
        if quantity in (ATTENTION, EQUAL):
            centres = part.null.mean(axis=0)
            corrected = Draws(part.values / centres, part.replicates / centres, part.null, part.n)
            ends = corrected.interval()
            row |= dict(zip(("over_null", "over_low", "over_high"), ends, strict=True))
            row["over_replicates"] = corrected.replicates.mean(axis=1)
        yield row


def without_topics(pairs: Pairs, same: np.ndarray, topics: np.ndarray) -> dict[str, np.ndarray]:
    """Both ratios without each of G groups of topics in turn, mean over checkpoints, [G] each.

    Every G-th of the K topics is in one group. A word that is left with none is no word of a topic.
    """
    numbers, distance, sums = pairs.numbers, pairs.distance, []
    whole = ratio.class_sums(numbers, same, distance, B)
    for left in fewer_topics(topics):
        loses = (left != topics).any(axis=1)
        rows = np.flatnonzero(loses[pairs.first] | loses[pairs.second])
        first, second = pairs.first[rows], pairs.second[rows]
        kept = left.any(axis=1)[first] & left.any(axis=1)[second]
        now = ratio.meets(ratio.topic_bits(left), first, second)[kept]
        before = ratio.class_sums(numbers[:, rows], same[rows], distance[rows], B)
        rows = rows[kept]
        sums.append(whole - before + ratio.class_sums(numbers[:, rows], now, distance[rows], B))
    left_out = np.stack(sums)  # [G, 1 + S, 2, B]
    ratios = {ATTENTION: ratio.plain(left_out), EQUAL: ratio.at_equal(left_out)}
    return {quantity: each.mean(axis=-1) for quantity, each in ratios.items()}


def fewer_topics(topics: np.ndarray) -> list[np.ndarray]:
    """The words' topics, bool [W, K], without each of G groups of them in turn."""
    groups = np.arange(topics.shape[1]) % TOPIC_GROUPS
    return [topics & (groups != group) for group in np.unique(groups)]


def over_topics(row: dict, without: np.ndarray) -> dict:
    """A `row` over documents with an interval over topics, too; NaN ends if it cannot be had.

    The grouped jackknife over topics (Tukey 1958): a difference of two ratios that share topics is
    one number of each group, and `n` is how many groups there are.
    """
    G = len(without)
    # Of pseudo-values: G times the whole less (G - 1) times what is left.
    half = intervals.half_width((G - 1) * without.std(ddof=1), G) if G > 1 else np.nan
    low, high = intervals.widened(row["value"], row["low"], row["high"], half)
    row = {name: number for name, number in row.items() if not name.startswith("over_")}
    return row | {"quantity": row["quantity"] + OVER_TOPICS, "low": low, "high": high, "n": G}
