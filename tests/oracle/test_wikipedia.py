"""The probe, its ratios, nulls and intervals agree with plain loops (tests/oracle/wikipedia.py)."""

import math
from collections import defaultdict

import numpy as np
import pandas as pd
import pytest
import scipy.stats

from onelayer.evidence.intervals import bootstrap_interval
from onelayer.seeds import generator
from onelayer.settings.probe import UncertaintySettings
from onelayer.text.models.checkpoints import load_checkpoint
from onelayer.text.models.tokenizer import load_tokenizer, piece_ids
from onelayer.topic_structure.wikipedia.measure import (
    ALL,
    ATTENTION,
    DISJOINT,
    EQUAL,
    WITHIN_DOCUMENTS,
    measure_attention,
    measure_embeddings,
    over_topics,
    without_topics,
)
from onelayer.topic_structure.wikipedia.probe import encode_texts, pair_attention
from onelayer.topic_structure.wikipedia.ratio import (
    Labels,
    Pairs,
    Variant,
    label_words,
    permutations,
    topic_bits,
)
from onelayer.topic_structure.wikipedia.similarity import COSINE, RAW, pair_means
from tests.oracle import wikipedia as loops

SOME = ["frog", "toad", "pond", "bach", "opera", "mozart"]
RNG = np.random.default_rng(0)
TEXTS = [" ".join(RNG.choice([*SOME, "the", ",", "froglet"], size=30)) for _ in range(8)]
TEXTS += ["the . the", "the frog"]
TOPICS = {
    "disjoint": {"frog": {0}, "toad": {0}, "bach": {1}, "opera": {1}, "mozart": {1}},
    "overlapping": {"frog": {0}, "toad": {0, 1}, "pond": {0, 2}, "bach": {1}, "mozart": {2}},
}
KEPT = pd.DataFrame(
    [(o, "top 3", k, word) for o, of in TOPICS.items() for word, ks in of.items() for k in ks],
    columns=["overlap", "threshold", "topic", "word"],
)
VOCABULARY = pd.DataFrame({"word": loops.WORDS, "occurrences": [5, 5, 3, 2] * 4})
FEW = UncertaintySettings(document_resamples=100, word_resamples=50, permutations=50)
DOCUMENTS = list(range(len(TEXTS)))


@pytest.fixture(scope="module", params=["bert", "gpt2"])
def probed(request, tmp_path_factory):
    folder = loops.save_tiny(tmp_path_factory.mktemp("tiny") / "model", request.param)
    model, tokenizer = load_checkpoint(folder), load_tokenizer(folder)
    labels = label_words(KEPT, VOCABULARY, piece_ids(tokenizer, KEPT["word"].unique()))
    texts = encode_texts(tokenizer, TEXTS, labels.words, 64)
    pairs, heads = pair_attention(model, texts, topic_bits(labels.topics[0]))
    return folder, labels, pairs.length_corrected(), heads


def measured(probed) -> pd.DataFrame:
    _, labels, pairs, _ = probed
    table = measure_attention(pairs, labels, FEW)
    return table.set_index(["overlap", "threshold", "quantity"])


@pytest.mark.parametrize("overlap", TOPICS)
def test_ratios_and_their_intervals_agree_with_loops_over_the_texts(probed, overlap):
    by_hand = loops.pairs(probed[0], TEXTS, TOPICS[overlap], 7)
    sums, counts = by_hand["sums"], by_hand["counts"]
    drawn = generator("documents", 0).multinomial(10, np.full(10, 0.1), size=100)
    drawn = [np.repeat(DOCUMENTS, times).tolist() for times in drawn]
    by_quantity = {ATTENTION: loops.ratio, EQUAL: loops.ratio_at_equal_distance}
    by_quantity[WITHIN_DOCUMENTS] = loops.ratio_within_documents
    for quantity, of in by_quantity.items():
        row = measured(probed).loc[(overlap, "top 3", quantity)]
        assert row["value"] == pytest.approx(of(sums, counts, DOCUMENTS), rel=1e-10)
        ends = bootstrap_interval([of(sums, counts, documents) for documents in drawn], 10)
        assert list(row[["low", "high"]]) == pytest.approx(np.ravel(ends), rel=1e-10)
        assert row["n"] == 10


def test_ratios_of_single_heads_agree_with_loops(probed):
    folder, _, _, heads = probed
    by_hand = loops.pairs(folder, TEXTS, TOPICS["disjoint"], 7)
    pairs = dict.fromkeys(("same", "different"), 0)
    for (_, kind, _), number in by_hand["counts"].items():
        pairs[kind] += number
    for row in heads.itertuples():
        place = row.layer - 1, row.head - 1
        same, other = (by_hand["heads"][kind, *place] / pairs[kind] for kind in pairs)
        assert row.ratio == pytest.approx(same / other, rel=1e-10)


@pytest.mark.parametrize("overlap", TOPICS)
def test_the_null_is_the_ratio_of_words_with_the_topics_of_others(probed, overlap):
    _, labels, pairs, _ = probed
    place = [variant.overlap for variant in labels.variants].index(overlap)
    moved = permutations(labels.topics[place], labels.occurrences, FEW)
    nulls = []
    for p in moved:
        words, old = labels.words, TOPICS[overlap]
        topics = {word: old.get(words[p[w]], set()) for w, word in enumerate(words)}
        same, other = _means(pairs, labels.words, topics)
        nulls.append(same / other)
    row = measured(probed).loc[(overlap, "top 3", ATTENTION)]
    assert row["null"] == pytest.approx(np.mean(nulls), rel=1e-10)
    reached = sum(null >= row["value"] - 1e-12 for null in nulls)
    assert row["p"] == pytest.approx((1 + reached) / 51)
    assert list(row[["null_low", "null_high"]]) == pytest.approx(np.quantile(nulls, [0.025, 0.975]))
    ends = [row[end] / row["null"] for end in ("low", "high")]
    assert list(row[["over_low", "over_high"]]) == pytest.approx(ends, rel=1e-10)


def _means(pairs: Pairs, words: list[str], topics: dict[str, set]) -> tuple[float, float]:
    """Mean weights of same and different topics, pair by pair."""
    means = {True: [], False: []}
    for a, b, weight in zip(pairs.first, pairs.second, pairs.weights[0], strict=True):
        first, second = topics[words[a]], topics[words[b]]
        if first and second:
            means[bool(first & second)].append(weight)
    return np.mean(means[True]), np.mean(means[False])


def test_disjoint_against_overlapping_is_the_difference_of_both(probed):
    table = measured(probed)
    both = [table.loc[(overlap, "top 3", ATTENTION), "value"] for overlap in TOPICS]
    row = table.loc[("disjoint - overlapping", "top 3", DISJOINT)]
    assert row["value"] == pytest.approx(both[0] - both[1])


def test_permutations_keep_strata_of_frequency_and_words_without_topics():
    topics = np.ones((40, 1), dtype=bool)
    topics[::4] = False
    occurrences = np.arange(40)[::-1]
    settings = UncertaintySettings(permutations=50, frequency_bins=5)
    drawn = permutations(topics, occurrences, settings)
    assert (drawn[:, ::4] == np.arange(0, 40, 4)).all()
    assert (np.sort(drawn, axis=1) == np.arange(40)).all()
    order = np.argsort(occurrences[topics.any(axis=1)], kind="stable")
    strata = np.full(40, -1)
    strata[np.flatnonzero(topics.any(axis=1))[order]] = np.arange(30) * 5 // 30
    assert (strata[drawn] == strata).all() and len(np.unique(drawn, axis=0)) == 50


@pytest.mark.parametrize("topics", ["disjoint", "overlapping"])
def test_similarities_agree_with_loops_over_all_pairs(topics):
    rng = np.random.default_rng(1)
    member = np.eye(4, dtype=bool)[rng.integers(0, 4, 25)]
    if topics == "overlapping":
        member |= rng.random(member.shape) < 0.3
    vectors = rng.standard_normal((2, 25, 3)) + 1
    times, p = rng.integers(0, 3, 25), rng.permutation(25)
    draws = [(np.ones(25, int), np.arange(25)), (times, np.arange(25)), (np.ones(25, int), p)]
    found = pair_means(vectors, member, draws)
    for (n, moved), means in zip(draws, found.swapaxes(0, 1), strict=True):
        sets = [set(np.flatnonzero(member[w]).tolist()) for w in moved]
        for kind in range(2):
            expected = loops.mean_dots(vectors[kind].tolist(), sets, n.tolist())
            assert means[kind] == pytest.approx(expected, rel=1e-10)


def test_embedding_ratios_are_those_of_unit_vectors_over_all_pairs():
    rng, words = np.random.default_rng(3), [f"w{place:02}" for place in range(30)]
    topics = np.eye(3, dtype=bool)[np.arange(30) % 3]
    labels = Labels(words, [Variant("disjoint", "top 9")], topics[None], np.arange(30))
    vectors = rng.standard_normal((30, 4)) + 1 + topics[:, :1]
    table = pd.DataFrame({"word": words, "raw": list(vectors), "output": list(vectors)})
    row = measure_embeddings([table], labels, FEW).set_index("quantity").loc[COSINE]
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    sets = [{place % 3} for place in range(30)]
    same, other = loops.mean_dots(unit.tolist(), sets, [1] * 30)
    assert row["value"] == pytest.approx(same / other, rel=1e-10)
    assert row["low"] < row["value"] < row["high"] and row["n"] == 30
    by = measure_embeddings([table], labels, FEW, tightest=True).set_index("quantity")
    without = []  # each topic in turn, and its words
    for topic in range(3):
        within, across = loops.mean_dots(unit.tolist(), sets, [k % 3 != topic for k in range(30)])
        without.append(within / across)
    raw, over = by.loc[RAW], by.loc[f"{RAW}_over_topics"]
    half = scipy.stats.t.ppf(0.975, 2) * 2 * np.std(without, ddof=1) / math.sqrt(3)
    assert over["high"] == pytest.approx(
        over["value"] + math.hypot(raw["high"] - raw["value"], half)
    )
    assert over["n"] == 3 and f"{COSINE}_over_topics" not in by.index
    assert by.loc["embedding_cosine_difference", "value"] == pytest.approx(same - other)
    same, other = loops.mean_dots(vectors.tolist(), sets, [1] * 30)
    assert by.loc["embedding_raw_dot_difference", "value"] == pytest.approx(same - other)


def test_one_checkpoint_twice_has_the_ratio_of_one(probed):
    _, labels, pairs, _ = probed
    twice = pairs._replace(weights=np.concatenate([pairs.weights] * 2))
    one, both = (measure_attention(each, labels, FEW, [3, 7]) for each in (pairs, twice))
    assert list(dict.fromkeys(both["seed"])) == [ALL, "3", "7"]
    again = both[both["seed"] == ALL].reset_index(drop=True)
    np.testing.assert_allclose(again["value"], one["value"], rtol=1e-12)
    np.testing.assert_allclose(again["null"], one["null"], rtol=1e-12)


def test_topics_drawn_anew_widen_the_interval_on_both_sides():
    rng = np.random.default_rng(2)
    topics = np.eye(6, dtype=bool)[np.arange(60) % 6]
    words = [f"w{place:02}" for place in range(60)]
    labels = Labels(words, [Variant("disjoint", "top 9")], topics[None], np.arange(60))
    first, second = np.sort(rng.integers(0, 60, size=(2, 4000)), axis=0)
    kept = first < second
    first, second = first[kept], second[kept]
    # Topics differ in how much their words attend to each other.
    weight = rng.random(len(first)) * np.where(first % 6 == second % 6, 1 + first % 6, 1)
    distance, document = rng.integers(0, 17, len(first)), rng.integers(0, 30, len(first))
    every = np.ones(len(first), dtype=int)
    pairs = Pairs(first, second, document, distance, every, every > 0, weight[None], 30)
    table = measure_attention(pairs, labels, FEW, vary_topics=True)
    table = table.set_index("quantity")
    for quantity in (ATTENTION, EQUAL):
        plain, over = table.loc[quantity], table.loc[f"{quantity}_over_topics"]
        assert over["value"] == plain["value"] and over["n"] == 6
        assert over["low"] < plain["low"] and over["high"] > plain["high"]


@pytest.mark.parametrize("overlap", [False, True])
def test_the_jackknife_leaves_out_topics_as_a_loop_over_pairs_does(overlap):
    rng, K = np.random.default_rng(5), 27  # the first seven groups have two topics
    topics = np.eye(K, dtype=bool)[rng.integers(0, K, 80)]
    if overlap:
        topics |= rng.random((80, K)) < 0.04
    first, second = rng.integers(0, 80, size=(2, 3000))
    first, second = first[first != second], second[first != second]
    distance, weight = rng.integers(0, 3, len(first)), rng.random(len(first))
    nought = np.zeros_like(first)
    pairs = Pairs(first, second, nought, distance, nought, nought > 0, weight[None], 1)
    same = (topics[first] & topics[second]).any(axis=1)
    found = without_topics(pairs, same, topics)
    ratios = {ATTENTION: [], EQUAL: []}
    for group in range(20):
        left = [{k for k in np.flatnonzero(sets) if k % 20 != group} for sets in topics]
        sums, counts = defaultdict(float), defaultdict(int)
        for a, b, place, number in zip(first, second, distance, weight, strict=True):
            if left[a] and left[b]:
                kind = "same" if left[a] & left[b] else "different"
                sums[0, kind, place] += number
                counts[0, kind, place] += 1
        ratios[ATTENTION].append(loops.ratio(sums, counts, [0]))
        ratios[EQUAL].append(loops.ratio_at_equal_distance(sums, counts, [0]))
    for quantity, by_hand in ratios.items():
        np.testing.assert_allclose(found[quantity], by_hand, rtol=1e-12)
    ratios = ratios[ATTENTION]
    row = over_topics({"quantity": "q", "value": 1, "low": 0.6, "high": 1.3}, found[ATTENTION])
    spread = math.sqrt(sum((one - np.mean(ratios)) ** 2 for one in ratios) * 19 / 20)
    half = scipy.stats.t.ppf(0.975, 19) * spread
    assert row["high"] == pytest.approx(1 + math.hypot(0.3, half))
    assert row["low"] == pytest.approx(1 - math.hypot(0.4, half)) and row["n"] == 20
