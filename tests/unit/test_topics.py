"""Claims about words, topics, their quality and the ambiguity filter."""

import importlib.util
import math
import platform
import sys
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace

from onelayer.errors import OnelayerError
from onelayer.settings.root import default_settings
from onelayer.settings.topics import AmbiguitySettings, Threshold
from onelayer.text.topics.ambiguity import filter_ambiguous_words
from onelayer.text.topics.bag_of_words import count_words, read_bag_of_words, write_bag_of_words
from onelayer.text.topics.bags import BagOfWords
from onelayer.text.topics.lda import fit_lda
from onelayer.text.topics.model import read_topics, top_words, write_topics
from onelayer.text.topics.online_lda import document_topics
from onelayer.text.topics.quality import (
    agreement_with_labels,
    coherence,
    measure_topics,
    topics_used,
)

SEEN_WORDS = default_settings().topics.words
LDA = default_settings().topics.lda
TEXTS = ["frog toad frog pond", "toad frog the pond", "bach mozart opera", "mozart opera ox bach"]
LOOSE = SEEN_WORDS.but(min_documents=2, max_document_share=1.0)


def planted(documents: int = 400, seed: int = 0):
    """Texts of two topics of ten words each, and the topic of each text."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 2, documents)
    names = np.array([[f"{t}{chr(97 + w)}{chr(97 + w)}" for w in range(10)] for t in "xy"])
    return [" ".join(rng.choice(names[label], 30)) for label in labels], labels


def test_a_word_has_letters_enough_is_no_stop_word_and_is_neither_rare_nor_everywhere() -> None:
    bag = count_words(TEXTS, SEEN_WORDS.but(min_documents=2, max_document_share=0.5))
    assert [*bag.vocabulary["word"]] == ["bach", "frog", "mozart", "opera", "pond", "toad"]
    assert bag.counts.toarray()[0].tolist() == [0, 2, 0, 0, 1, 1]
    frog = bag.vocabulary.set_index("word").loc["frog"]
    assert (frog["documents"], frog["occurrences"]) == (2, 3)


def test_a_word_must_be_one_piece_and_not_the_unknown_one() -> None:
    tokenizer = Tokenizer(WordLevel({"[UNK]": 0, "frog": 1, "toad": 2}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = Whitespace()
    vocabulary = count_words(TEXTS, LOOSE, [tokenizer]).vocabulary
    assert [*vocabulary["word"]] == ["frog", "toad"]


def test_a_bag_of_words_reads_back(tmp_path) -> None:
    bag = count_words(TEXTS, LOOSE)
    write_bag_of_words(bag, tmp_path / "v.parquet", tmp_path / ".part-counts.npz")
    back = read_bag_of_words(tmp_path / "v.parquet", [tmp_path / ".part-counts.npz"])
    assert [*back.vocabulary["word"]] == [*bag.vocabulary["word"]]
    assert (back.counts != bag.counts).nnz == 0
    assert (back.counts.indptr == bag.counts.indptr).all()


NEEDS_TOMOTOPY = pytest.mark.skipif(
    importlib.util.find_spec("tomotopy") is None, reason="needs the extra tomotopy"
)
BACKENDS = ["gensim", pytest.param("tomotopy", marks=NEEDS_TOMOTOPY)]


@pytest.mark.parametrize("backend", BACKENDS)
def test_lda_finds_planted_topics_in_float64_and_the_same_every_time(backend, tmp_path) -> None:
    texts, labels = planted()
    bag = count_words(texts, LOOSE)
    settings = LDA.but(backend=backend, topics=2, passes=3, chunksize=50, sweeps=30)
    topics = fit_lda(bag, settings)
    assert topics.word_probability.dtype == np.float64
    assert topics.word_probability.sum(axis=1) == pytest.approx(1, abs=1e-12)
    again = fit_lda(bag, settings)
    assert (again.dirichlet == topics.dirichlet).all()
    other = fit_lda(bag, settings.model_copy(update={"seed": 1}))
    assert (other.dirichlet != topics.dirichlet).any()
    found = np.concatenate(list(document_topics(topics, bag, settings)))
    best = found.argmax(axis=1)
    assert agreement_with_labels(best, [str(label) for label in labels]) == pytest.approx(1)
    assert topics_used(best, found.mean(axis=0))[0] == 2
    write_topics(topics, tmp_path / "t.safetensors")
    back = read_topics(tmp_path / "t.safetensors")
    assert (np.concatenate(list(document_topics(back, bag, settings))) == found).all()
    measured = measure_topics(bag, topics, [str(label) for label in labels], settings, 5)
    assert measured.shares["share"].tolist() == [1, 1]
    assert measured.words.groupby("topic")["prevalence"].first().sum() == pytest.approx(1)


def test_documents_without_a_word_of_the_vocabulary_have_no_topic() -> None:
    texts, labels = planted(40)
    labels, bag = [str(label) for label in labels], count_words(texts, LOOSE)
    settings = LDA.but(topics=2, passes=3, chunksize=50)
    topics = fit_lda(bag, settings)
    empty = scipy.sparse.csr_matrix((30, len(bag.vocabulary)), dtype=np.int32)
    more = BagOfWords(bag.vocabulary, scipy.sparse.vstack([bag.counts, empty]).tocsr())
    expected = measure_topics(bag, topics, labels, settings, 5)
    found = measure_topics(more, topics, [*labels, *["0"] * 30], settings, 5)
    pd.testing.assert_frame_equal(found.shares, expected.shares)
    of_articles, expected = (  # NPMI's shares are of all articles
        one.quality[one.quality["quantity"] != "npmi"] for one in (found, expected)
    )
    pd.testing.assert_frame_equal(of_articles, expected)


@pytest.mark.parametrize("backend", BACKENDS)
def test_both_backends_take_their_priors_from_the_settings(backend) -> None:
    bag = count_words(planted(40)[0], LOOSE)
    settings = LDA.but(backend=backend, topics=4, passes=1, sweeps=2)
    topics = fit_lda(bag, settings)
    assert topics.alpha == pytest.approx(np.full(4, 0.25))
    assert topics.eta == pytest.approx(np.full(20, 0.25))
    topics = fit_lda(bag, settings.model_copy(update={"alpha": 0.3, "eta": 0.01}))
    assert topics.alpha == pytest.approx(np.full(4, 0.3))
    assert topics.eta == pytest.approx(np.full(20, 0.01))


@NEEDS_TOMOTOPY
def test_the_sampler_keeps_the_priors_to_its_last_sweep(monkeypatch) -> None:
    import tomotopy

    models = []

    class Watched(tomotopy.LDAModel):
        def __init__(self, **options: object) -> None:
            super().__init__(**options)
            models.append(self)

    monkeypatch.setattr(tomotopy, "LDAModel", Watched)
    fit_lda(count_words(planted(40)[0], LOOSE), LDA.but(backend="tomotopy", topics=4, sweeps=30))
    assert models[0].alpha == pytest.approx(np.full(4, 0.25))


@NEEDS_TOMOTOPY
def test_a_gibbs_sample_assigns_every_word_of_the_corpus_to_a_topic() -> None:
    bag = count_words(planted(40)[0], LOOSE)
    topics = fit_lda(bag, LDA.but(backend="tomotopy", topics=3, sweeps=2, eta=0.01))
    assigned = topics.dirichlet - topics.eta
    assert assigned == pytest.approx(np.rint(assigned), abs=1e-9)
    assert assigned.sum(axis=0) == pytest.approx(bag.counts.toarray().sum(axis=0))


@NEEDS_TOMOTOPY
@pytest.mark.skipif(platform.machine() != "x86_64", reason="instruction sets of x86-64")
def test_the_sampler_runs_on_instructions_that_every_processor_has() -> None:
    fit_lda(count_words(TEXTS, LOOSE), LDA.but(backend="tomotopy", topics=2, sweeps=1))
    assert sys.modules["tomotopy"].isa == "sse2"


def test_a_backend_that_is_not_installed_is_named_with_its_extra(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "tomotopy", None)
    with pytest.raises(OnelayerError, match=r"not installed.* onelayer\[tomotopy\]: pip install"):
        fit_lda(count_words(TEXTS, LOOSE), LDA.but(backend="tomotopy", topics=2))


def test_lda_does_not_care_that_a_corpus_is_sorted_by_topic() -> None:
    texts, labels = planted()
    ordered = [texts[i] for i in np.argsort(labels, kind="stable")]
    bag = count_words(ordered, LOOSE)
    settings = LDA.but(topics=2, passes=1, chunksize=50)
    found = np.concatenate(list(document_topics(fit_lda(bag, settings), bag, settings)))
    assert (
        agreement_with_labels(found.argmax(axis=1), [str(label) for label in sorted(labels)]) > 0.9
    )


def test_online_lda_reads_a_corpus_in_another_order_than_its_own() -> None:
    orders = []

    class Watched(BagOfWords):
        def documents(self, order=None):
            orders.append(order)
            return super().documents(order)

    bag = count_words(planted(40)[0], LOOSE)
    fit_lda(Watched(bag.vocabulary, bag.counts), LDA.but(topics=2, passes=2))
    own = list(range(40))
    assert len(orders) > 0
    assert all(sorted(order) == own and list(order) != own for order in orders)


def test_npmi_agrees_with_a_plain_count() -> None:
    texts, _ = planted(40)
    texts += ["xaa ybb", "xaa yaa"]
    bag = count_words(texts, LOOSE)
    tops = np.array([[0, 1, 2, 12], [3, 11, 14, 15]])
    present = [{w for w, _ in document} for document in bag.documents()]

    def share(*words: int) -> float:
        return sum(set(words) <= document for document in present) / len(present)

    for row, got in zip(tops, coherence(bag, tops), strict=True):
        values = []
        for v, w in combinations(row, 2):
            both = share(v, w)
            values.append(
                math.log(both / (share(v) * share(w))) / -math.log(both) if both else -1.0
            )
        assert got == pytest.approx(np.mean(values), abs=1e-12)


def test_agreement_leaves_out_unlabelled_documents() -> None:
    topics = np.array([0, 0, 1, 1, 0])
    assert agreement_with_labels(topics, ["a", "a", "b", "b", None]) == pytest.approx(1)
    assert math.isnan(agreement_with_labels(topics, [None] * 5))


def test_ties_in_probability_go_to_the_first_word() -> None:
    assert top_words(np.array([[0.25, 0.25, 0.4, 0.1]]), 3).tolist() == [[2, 0, 1]]


PROBABILITY = np.array([[0.4, 0.3, 0.2, 0.1, 0.0], [0.0, 0.35, 0.05, 0.2, 0.4]])
WORDS = ["a", "b", "c", "d", "e"]


def kept(overlap: str, **threshold) -> dict[int, str]:
    settings = AmbiguitySettings(overlaps=[overlap], thresholds=[Threshold(**threshold)])
    table = filter_ambiguous_words(PROBABILITY, WORDS, settings)
    return table.groupby("topic")["word"].agg("".join).to_dict()


def test_overlapping_topics_share_words_and_disjoint_ones_do_not() -> None:
    assert kept("overlapping", count=2) == {0: "ab", 1: "eb"}
    assert kept("disjoint", count=2) == {0: "a", 1: "eb"}


def test_a_fraction_counts_words_of_the_vocabulary() -> None:
    for fraction in (0.6, 0.75):  # of five words three, and never a part of the fourth
        assert kept("overlapping", fraction=fraction) == kept("overlapping", count=3)


def test_disjoint_topics_partition_the_words_they_keep() -> None:
    rng = np.random.default_rng(1)
    probability = rng.dirichlet(np.full(300, 0.1), size=8)
    settings = AmbiguitySettings(overlaps=["disjoint"], thresholds=[Threshold(count=30)])
    table = filter_ambiguous_words(probability, [f"w{i}" for i in range(300)], settings)
    assert table["word"].is_unique
    best = probability.argmax(axis=0)
    assert all(best[int(row.word[1:])] == row.topic for row in table.itertuples())


def test_a_topic_without_a_word_can_be_left_out() -> None:
    probability = np.array([[0.5, 0.5], [0.6, 0.4], [0.1, 0.9]])
    settings = AmbiguitySettings(overlaps=["disjoint"], thresholds=[Threshold(count=1)])
    table = filter_ambiguous_words(probability, ["a", "b"], settings, allow_empty=True)
    assert table["topic"].tolist() == [1, 2]


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
