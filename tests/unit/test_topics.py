"""Claims about words, topics, their quality and the ambiguity filter."""

import math
import platform
import sys

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

from onelayer.errors import OnelayerError
from onelayer.settings.topics import AmbiguitySettings, LdaSettings, Threshold, WordSettings
from onelayer.text.topics.bag import Bag, count_words, read_bag, write_bag
from onelayer.text.topics.lda import (
    Topics,
    document_topics,
    filter_ambiguous_words,
    fit_topics,
    read_topics,
    top_words,
    write_topics,
)
from onelayer.text.topics.quality import (
    agreement_with_labels,
    coherence,
    halves,
    held_out_coherence,
    measure_quality,
)

LOOSE = WordSettings(
    min_letters=3, min_documents=2, max_document_share=1.0, max_words=None, single_piece_in=[]
)
BACKENDS = ["gensim", "tomotopy"]


def lda(**changed: object) -> LdaSettings:
    ours = dict(backend="gensim", topics=2, passes=3, chunksize=50)  # noqa: C408
    more = dict(decay=0.7, offset=10, sweeps=30, seed=0)  # noqa: C408
    return LdaSettings(**ours | more | changed)


def planted(documents: int = 400, seed: int = 0) -> tuple[list[str], list[str]]:
    """Texts of two topics of ten words each, and the topic of each text."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 2, documents)
    names = np.array([[f"{t}{chr(97 + w)}{chr(97 + w)}" for w in range(10)] for t in "xy"])
    return [" ".join(rng.choice(names[label], 30)) for label in labels], [*map(str, labels)]


def bag_of(texts: list[str], *how: object) -> Bag:
    return count_words(lambda: texts, *(how or [LOOSE]))


def test_a_bag_of_words_reads_back(tmp_path) -> None:
    bag = bag_of(planted(40)[0])
    assert bag.counts.has_canonical_format and bag.counts.dtype == np.int32
    write_bag(bag, tmp_path / "v.parquet", tmp_path / ".part-counts.npz")
    back = read_bag(tmp_path / "v.parquet", tmp_path / ".part-counts.npz")
    pd.testing.assert_frame_equal(back.vocabulary, bag.vocabulary)
    assert (back.counts != bag.counts).nnz == 0


def test_the_most_used_words_stay_that_are_in_enough_articles() -> None:
    texts = ["common rare twice", "common also twice", "common also other", "common also"]
    for most, kept in ((None, ["common", "twice"]), (1, ["common"])):
        bag = bag_of(texts, LOOSE.model_copy(update={"max_words": most}))
        assert bag.vocabulary["word"].tolist() == kept


@pytest.mark.parametrize(
    ("known", "settings", "message"),
    [
        (lambda word: False, LOOSE, "is one piece in every tokenizer"),
        (lambda word: True, LOOSE.model_copy(update={"min_documents": 99}), "no word of 40 artic"),
    ],
)
def test_a_vocabulary_without_words_is_refused(known, settings, message) -> None:
    with pytest.raises(OnelayerError, match=message):
        bag_of(planted(40)[0], settings, known)


@pytest.mark.parametrize("backend", BACKENDS)
def test_lda_finds_planted_topics_and_the_same_every_time(backend, tmp_path) -> None:
    texts, labels = planted()
    bag, settings = bag_of(texts), lda(backend=backend)
    topics = fit_topics(bag, settings)
    assert topics.word_probability.dtype == np.float64
    assert topics.word_probability.sum(axis=1) == pytest.approx(1, abs=1e-12)
    assert (fit_topics(bag, settings).dirichlet == topics.dirichlet).all()
    other = fit_topics(bag, settings.model_copy(update={"seed": 1}))
    assert (other.dirichlet != topics.dirichlet).any()
    found = np.concatenate(list(document_topics(topics, bag.counts, settings)))
    assert agreement_with_labels(found.argmax(axis=1), labels) == pytest.approx(1)
    write_topics(topics, tmp_path / "t.safetensors")
    back = read_topics(tmp_path / "t.safetensors")
    assert (np.concatenate(list(document_topics(back, bag.counts, settings))) == found).all()
    quality, words = measure_quality(bag, topics, labels, settings, 5)
    values = quality.set_index("quantity")["value"]
    assert values["nmi"] == pytest.approx(1) and values["topics_used"] == 2
    assert values["topics_effective"] == pytest.approx(2, abs=0.02)
    assert words["label_share"].tolist() == [1, 1] and set(words["label"]) == set("01")
    assert words["prevalence"].sum() == pytest.approx(1)
    unlabelled = measure_quality(bag, topics, [None] * 400, settings, 5)[1]
    assert unlabelled["label"].isna().all() and len(unlabelled) == 2


def test_lda_does_not_care_that_a_corpus_is_sorted_by_topic() -> None:
    texts, labels = planted()
    ordered = [texts[i] for i in np.argsort(labels, kind="stable")]
    bag, settings = bag_of(ordered), lda(passes=1)
    found = np.concatenate(list(document_topics(fit_topics(bag, settings), bag.counts, settings)))
    assert agreement_with_labels(found.argmax(axis=1), sorted(labels)) > 0.9


def test_documents_without_a_word_of_the_vocabulary_have_no_topic() -> None:
    texts, labels = planted(40)
    bag, settings = bag_of(texts), lda()
    topics = fit_topics(bag, settings)
    empty = scipy.sparse.csr_matrix((30, len(bag.vocabulary)), dtype=np.int32)
    more = Bag(bag.vocabulary, scipy.sparse.vstack([bag.counts, empty]).tocsr())
    expected, words = measure_quality(bag, topics, labels, settings, 5)
    found, words_of_more = measure_quality(more, topics, [*labels, *["0"] * 30], settings, 5)
    pd.testing.assert_frame_equal(*(one.drop(columns="npmi") for one in (words_of_more, words)))
    of_articles = [one[one["quantity"] != "npmi"] for one in (found, expected)]
    pd.testing.assert_frame_equal(*of_articles)  # NPMI's shares are of all articles


@pytest.mark.parametrize("backend", BACKENDS)
def test_both_backends_have_priors_of_one_over_the_topics(backend) -> None:
    bag = bag_of(planted(40)[0])
    topics = fit_topics(bag, lda(backend=backend, topics=4, passes=1))
    assert topics.alpha == pytest.approx(np.full(4, 0.25))
    assert topics.eta == pytest.approx(np.full(20, 0.25))


def test_a_gibbs_sample_gives_each_word_of_the_corpus_a_topic_and_keeps_its_priors() -> None:
    bag = bag_of(planted(40)[0])
    topics = fit_topics(bag, lda(backend="tomotopy", topics=3, sweeps=12))
    assigned = topics.dirichlet - topics.eta
    assert assigned == pytest.approx(np.rint(assigned), abs=1e-9)
    assert assigned.sum(axis=0) == pytest.approx(bag.counts.toarray().sum(axis=0))


@pytest.mark.skipif(platform.machine() != "x86_64", reason="instruction sets of x86-64")
def test_the_sampler_runs_on_instructions_that_every_processor_has() -> None:
    fit_topics(bag_of(planted(40)[0]), lda(backend="tomotopy", sweeps=1))
    assert sys.modules["tomotopy"].isa == "sse2"


def test_what_cannot_be_fitted_is_said_in_one_line() -> None:
    bag = bag_of(planted(40)[0])
    with pytest.raises(OnelayerError, match="tf-idf needs gensim"):
        fit_topics(bag, lda(backend="tomotopy"), "tf-idf")


def test_progress_counts_the_documents_of_all_passes() -> None:
    seen = []

    def progress(items, unit: str):
        for item in items:
            seen.append(unit)
            yield item

    fit_topics(bag_of(planted(40)[0]), lda(), progress=progress)
    assert seen == ["doc"] * 120


def test_agreement_leaves_out_unlabelled_documents() -> None:
    topics = np.array([0, 0, 1, 1, 0])
    assert agreement_with_labels(topics, ["a", "a", "b", "b", None]) == pytest.approx(1)
    assert math.isnan(agreement_with_labels(topics, [None] * 5))


def test_words_that_always_meet_cohere_and_words_that_never_meet_do_not() -> None:
    counts = scipy.sparse.csr_matrix(np.array([[1, 1, 0], [2, 1, 0], [0, 0, 5]]))
    assert coherence(counts, np.array([[0, 1], [0, 2]])) == pytest.approx([1, -1])


def test_halves_share_no_article_and_leave_none_out() -> None:
    fitted, other = halves(9, 3)
    assert sorted([*fitted, *other]) == list(range(9)) and len(fitted) == 4
    assert (np.diff(fitted) > 0).all() and (halves(9, 3)[0] == fitted).all()
    assert (halves(9, 4)[0] != fitted).any()


def test_the_commonest_human_topic_of_a_topic_is_named() -> None:
    texts, labels = planted()
    bag, settings = bag_of(texts), lda()
    mixed = ["x" if label == "0" and place % 4 else label for place, label in enumerate(labels)]
    _, words = measure_quality(bag, fit_topics(bag, settings), mixed, settings, 5)
    named = words.set_index("label")["label_share"]
    of_x = mixed.count("x") / labels.count("0")
    assert named.to_dict() == pytest.approx({"x": of_x, "1": 1})


def test_topics_are_judged_in_the_half_that_they_were_not_fitted_to() -> None:
    counts = np.zeros((80, 10), np.int32)
    counts[::2, :5] = counts[1::2, 5:] = 3
    vocabulary = pd.DataFrame({"word": list("abcdefghij"), "documents": 40, "occurrences": 120})
    bag = Bag(vocabulary, scipy.sparse.csr_matrix(counts))
    found = held_out_coherence(bag, lda(passes=30, chunksize=20), [0, 1], 5)
    assert found == pytest.approx(1)
    _, other = halves(80, 0)
    counts[other] = np.eye(10, dtype=np.int32)[other % 10]  # there no two words meet
    apart = Bag(vocabulary, scipy.sparse.csr_matrix(counts))
    assert held_out_coherence(apart, lda(), [0], 5) == -1


def test_each_half_has_a_topic_model_of_its_own_seed(monkeypatch) -> None:
    seeds = []

    def fit(half: Bag, settings: LdaSettings, **_: object) -> Topics:
        seeds.append(settings.seed)
        return fit_topics(half, settings)

    monkeypatch.setattr("onelayer.text.topics.quality.fit_topics", fit)
    held_out_coherence(bag_of(planted(40)[0]), lda(), [3, 5], 5)
    assert seeds == [3, 5]


# The ambiguity filter.

PROBABILITY = np.array([[0.4, 0.3, 0.2, 0.1, 0.0], [0.0, 0.35, 0.05, 0.2, 0.4]])


def kept(overlap: str, **threshold) -> dict[int, str]:
    settings = AmbiguitySettings(overlaps=[overlap], thresholds=[Threshold(**threshold)])
    table = filter_ambiguous_words(PROBABILITY, list("abcde"), settings)
    return table.groupby("topic")["word"].agg("".join).to_dict()


def test_ties_in_probability_go_to_the_first_word() -> None:
    assert top_words(np.array([[0.25, 0.25, 0.4, 0.1]]), 3).tolist() == [[2, 0, 1]]
    often = np.tile([0.1, 0.3, 0.2], 60)[None]
    assert top_words(often, 120).tolist() == [[*range(1, 180, 3), *range(2, 180, 3)]]


def test_overlapping_topics_share_words_and_disjoint_ones_do_not() -> None:
    assert kept("overlapping", count=2) == {0: "ab", 1: "eb"}
    assert kept("disjoint", count=2) == {0: "a", 1: "eb"}


def test_a_fraction_counts_words_of_the_vocabulary() -> None:
    for fraction in (0.6, 0.75):  # of five words three, and never a part of the fourth
        assert kept("overlapping", fraction=fraction) == kept("overlapping", count=3)


def test_disjoint_topics_partition_the_words_they_keep() -> None:
    probability = np.random.default_rng(1).dirichlet(np.full(300, 0.1), size=8)
    settings = AmbiguitySettings(overlaps=["disjoint"], thresholds=[Threshold(count=30)])
    table = filter_ambiguous_words(probability, [f"w{i}" for i in range(300)], settings)
    assert table["word"].is_unique
    best = probability.argmax(axis=0)
    assert all(best[int(row.word[1:])] == row.topic for row in table.itertuples())


def test_a_topic_without_a_word_is_refused_or_left_out() -> None:
    probability = np.array([[0.5, 0.5], [0.6, 0.4], [0.1, 0.9]])
    settings = AmbiguitySettings(overlaps=["disjoint"], thresholds=[Threshold(count=1)])
    table = filter_ambiguous_words(probability, ["a", "b"], settings, allow_empty=True)
    assert table["topic"].tolist() == [1, 2]
    with pytest.raises(OnelayerError, match="top 1, disjoint: leaves no word in topic 0"):
        filter_ambiguous_words(probability, ["a", "b"], settings)


@pytest.mark.parametrize(
    ("threshold", "line"),
    [
        ({"fraction": 0.1}, "threshold 0.1, overlapping: keeps 0 of 5 words a topic"),
        ({"count": 7}, "threshold top 7, overlapping: keeps 7 of 5 words a topic; 1 to 5 allowed"),
    ],
)
def test_a_threshold_that_keeps_no_word_or_more_than_there_are_is_named(threshold, line) -> None:
    with pytest.raises(OnelayerError, match=f"^topics.ambiguity: {line}"):
        kept("overlapping", **threshold)


@pytest.mark.parametrize("threshold", [{}, {"count": 1, "fraction": 0.5}, {"fraction": 0}])
def test_a_threshold_is_a_count_or_a_fraction(threshold) -> None:
    with pytest.raises(ValueError, match=r"either count or fraction|greater than 0"):
        Threshold(**threshold)
