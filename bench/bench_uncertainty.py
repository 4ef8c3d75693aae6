"""Times the permutation nulls and the bootstrap of the probe; the authors have none of them."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from bench.bench_probe import labelled_vectors
from bench.case import Case, Numbers, Way, Work
from onelayer.papers.topic_structure.wikipedia.probe import uncertainty
from onelayer.papers.topic_structure.wikipedia.probe.pairs import DISTANCE_EDGES, WordPairs
from onelayer.papers.topic_structure.wikipedia.probe.similarity import PairSimilarity
from onelayer.papers.topic_structure.wikipedia.probe.uncertainty import Replicates

NONE = "the authors have no interval and no null"


def cases(small: bool = False) -> Iterator[Case]:
    """Embeddings and attention, disjoint and overlapping labels."""
    words, topics, repeats, pairs = (80, 5, 6, 500) if small else (5000, 50, 200, 500_000)
    for overlapping in (False, True):
        yield _embedding_null(words, topics, overlapping, repeats)
        yield _embedding_bootstrap(words, topics, overlapping, repeats)
        yield _attention_null(words // 2, topics, overlapping, repeats, pairs)


def _numbers(replicates: Replicates) -> Numbers:
    return {"same": replicates.same, "different": replicates.different}


def _replicates(
    vectors: np.ndarray, membership: np.ndarray, kind: str, drawn: Sequence[np.ndarray]
) -> Replicates:
    similarity = PairSimilarity(vectors, membership)
    return Replicates.of(similarity.means(**{kind: one}) for one in drawn)


def _mode(overlapping: bool) -> str:
    return "overlapping" if overlapping else "disjoint"


def _embedding_null(words: int, topics: int, overlapping: bool, repeats: int) -> Case:
    rng, vectors, membership = labelled_vectors(words, topics, overlapping)
    strata = uncertainty.frequency_strata(rng.zipf(1.5, size=words))
    drawn = [uncertainty.permute_within(strata, rng) for _ in range(repeats)]
    part = min(4, repeats)
    simple = Way("numpy: sums by topic, a product a permutation", lambda: _by_topic(vectors, moved))
    moved = [membership[permutation] for permutation in drawn]
    if overlapping:
        products = vectors @ vectors.T
        simple = Way(
            "numpy: words x words product (not timed), a mask a permutation",
            lambda: _masked(products, moved[:part]),
            of=lambda ours: {name: value[:part] for name, value in ours.items()},
            share=part / repeats,
        )
    return _of_embeddings(
        f"embedding null, {repeats} x {words:,} words, {_mode(overlapping)}",
        lambda: _replicates(vectors, membership, "permutation", drawn),
        simple,
        lambda: _sums_work(membership, repeats),
    )


def _of_embeddings(
    name: str, ours: Callable[[], Replicates], simple: Way, count_work: Callable[[], Work]
) -> Case:
    return Case(
        name=name,
        steps=("measure_embeddings", "measure_snapshots"),
        ours=Way("ours", lambda: _numbers(ours())),
        simple=simple,
        authors=NONE,
        count_work=count_work,
    )


def _sums_work(membership: np.ndarray, repeats: int, width: int = 384) -> Work:
    return Work(
        flops=repeats * width * (membership.sum() + 2 * membership.shape[1]),
        bytes=0,
        rate="numpy float64",
        formula="for each replicate d flops a label (the topics' sums) and 2 K d (their squares)",
    )


def _by_topic(vectors: np.ndarray, labels: list[np.ndarray], weights=None) -> Numbers:
    """Disjoint labels of all words: sums by topic give all pairs, squares those with themselves."""
    found, squares = [], (vectors * vectors).sum(axis=1)
    for place, membership in enumerate(labels):
        n = np.ones(len(vectors)) if weights is None else weights[place].astype(float)
        M = membership * n[:, None]
        sums, sizes = M.T @ vectors, M.sum(axis=0)
        own, own_pairs = n**2 @ squares, (n**2).sum()
        same, whole = (sums**2).sum() - own, (sums.sum(axis=0) ** 2).sum() - own
        pairs, all_pairs = (sizes**2).sum() - own_pairs, n.sum() ** 2 - own_pairs
        found.append((same / pairs, (whole - same) / (all_pairs - pairs)))
    return dict(zip(("same", "different"), np.transpose(found), strict=True))


def _masked(products: np.ndarray, labels: list[np.ndarray]) -> Numbers:
    """Labels that overlap: the products of pairs that share a topic, picked for each replicate."""
    found, own, words = [], products.trace(), len(products)
    whole = products.sum() - own
    for membership in labels:
        M = membership.astype(np.float32)
        shared = M @ M.T > 0
        same, pairs = products.sum(where=shared) - own, shared.sum() - words
        found.append((same / pairs, (whole - same) / (words**2 - words - pairs)))
    return dict(zip(("same", "different"), np.transpose(found), strict=True))


def _embedding_bootstrap(words: int, topics: int, overlapping: bool, repeats: int) -> Case:
    rng, vectors, membership = labelled_vectors(words, topics, overlapping)
    drawn = np.array(list(uncertainty.word_multiplicities(membership, repeats, rng)))
    simple = Way(
        "numpy: sums by topic, a product a resample",
        lambda: _by_topic(vectors, [membership] * repeats, drawn),
    )
    if overlapping:
        simple = Way(
            "numpy: words x words products, times all resamples at once",
            lambda: _weighted(vectors, membership, drawn),
        )
    return _of_embeddings(
        f"embedding bootstrap, {repeats} x {words:,} words, {_mode(overlapping)}",
        lambda: _replicates(vectors, membership, "weights", drawn),
        simple,
        lambda: _sums_work(membership, repeats),
    )


def _weighted(vectors: np.ndarray, membership: np.ndarray, drawn: np.ndarray) -> Numbers:
    """n^T (products of a class) n for every resample n, by one matrix product a class."""
    M, n = membership.astype(np.float32), drawn.astype(float)
    same = M @ M.T > 0
    np.fill_diagonal(same, False)
    products, different = vectors @ vectors.T, ~same
    np.fill_diagonal(different, False)
    means = {}
    for name, mask in (("same", same), ("different", different)):
        sums = (n @ np.where(mask, products, 0.0) * n).sum(axis=1)
        means[name] = sums / (n @ mask.astype(float) * n).sum(axis=1)
    return means


def _attention_null(words: int, topics: int, overlapping: bool, repeats: int, pairs: int) -> Case:
    rng, _, membership = labelled_vectors(words, topics, overlapping)
    codes = rng.choice(words**2, size=pairs, replace=False)
    query, key = codes // words, codes % words
    query, key = query[query != key], key[query != key]
    distance = rng.integers(0, len(DISTANCE_EDGES), len(query))
    sums, counts = rng.random(len(query)), rng.integers(1, 4, len(query))
    word_pairs = WordPairs(query, key, distance, sums, counts)
    strata = uncertainty.frequency_strata(rng.zipf(1.5, size=words))
    drawn = [uncertainty.permute_within(strata, rng) for _ in range(repeats)]

    def simple() -> Numbers:
        """Sums and counts of the pairs whose labels meet, looked up for each permutation."""
        values, found = np.stack([word_pairs.sums, word_pairs.counts], axis=1).T.copy(), []
        M, topic = membership.astype(np.float32), membership.argmax(axis=1)
        shared = M @ M.T > 0
        for permutation in drawn:
            if overlapping:
                meets = shared[permutation[query], permutation[key]]
            else:
                moved = topic[permutation]
                meets = moved[query] == moved[key]
            found.append(values @ meets)
        same, whole = np.array(found), values.sum(axis=1)
        other = whole - same
        return {"same": same[:, 0] / same[:, 1], "different": other[:, 0] / other[:, 1]}

    return Case(
        name=f"attention null, {repeats} x {len(query):,} pairs, {_mode(overlapping)}",
        steps=("probe_attention", "merge_attention"),
        ours=Way(
            "ours",
            lambda: _numbers(uncertainty.permuted_attention(word_pairs, membership, drawn)[0]),
        ),
        simple=Way("numpy: topics of both words looked up and compared", simple),
        authors=NONE,
        # Both directions of a pair share a class: half of the pairs, two numbers each, at least.
        count_work=lambda: Work(
            flops=2 * repeats * len(query) / 2,
            bytes=repeats * 4 * len(query) / 2,
            rate="numpy float64",
            formula="half of the ordered pairs; for each replicate two flops and, of two words, "
            "2 bytes each",
        ),
    )
