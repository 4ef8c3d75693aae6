"""Claims about topics in articles to which they were not fitted."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

from onelayer.papers.topic_structure.wikipedia import topic_tables
from onelayer.settings.root import default_settings
from onelayer.settings.topics import NamedLda
from onelayer.text.topics.bags import BagOfWords
from onelayer.text.topics.variation import halves, held_out_coherence

SMALL = default_settings().topics.lda.but(topics=2, passes=30, chunksize=20)
MODELS = [
    NamedLda.of_fields(SMALL, name="topics.lda"),
    NamedLda.of_fields(SMALL, name="sparse", eta=0.01),
]


@pytest.fixture(scope="module")
def bag() -> BagOfWords:
    """Eighty articles, each of all five words of one of two topics."""
    counts = np.zeros((80, 10), np.int32)
    counts[::2, :5] = counts[1::2, 5:] = 3
    vocabulary = pd.DataFrame({"word": list("abcdefghij"), "documents": 40, "occurrences": 120})
    return BagOfWords(vocabulary, scipy.sparse.csr_matrix(counts))


@pytest.fixture(scope="module")
def coherence(bag: BagOfWords) -> pd.DataFrame:
    return held_out_coherence(bag, MODELS, [0, 1], 5)


def test_halves_share_no_article_and_leave_none_out(bag: BagOfWords) -> None:
    numbered = scipy.sparse.csr_matrix(np.arange(1, 10)[:, None])
    fitted, other = halves(BagOfWords(bag.vocabulary, numbered), 3)
    both = [set(half.counts.toarray().ravel()) for half in (fitted, other)]
    assert not both[0] & both[1] and both[0] | both[1] == set(range(1, 10))
    again, elsewhere = (halves(BagOfWords(bag.vocabulary, numbered), s)[0] for s in (3, 4))
    assert (again.counts != fitted.counts).nnz == 0
    assert (elsewhere.counts != fitted.counts).nnz > 0


def test_words_that_always_meet_are_as_coherent_as_can_be(coherence: pd.DataFrame) -> None:
    assert len(coherence) == 2 * 2 * 2
    np.testing.assert_allclose(coherence["value"], 1.0)


def test_words_that_meet_in_one_half_alone_are_not_coherent_in_the_other(bag, monkeypatch) -> None:
    fitted, _ = halves(bag, 0)
    apart = BagOfWords(bag.vocabulary, scipy.sparse.csr_matrix(np.eye(10, dtype=np.int32)))
    monkeypatch.setattr("onelayer.text.topics.variation.halves", lambda *_: (fitted, apart))
    by = held_out_coherence(bag, MODELS[:1], [0], 5).set_index("quantity")["value"]
    assert by["npmi_fitted"] == pytest.approx(1) and by["npmi_held_out"] == -1


def test_tables_have_the_coherence_in_the_other_half(coherence: pd.DataFrame) -> None:
    worse = coherence["setting"].eq("sparse") & coherence["quantity"].eq("npmi_held_out")
    coherence = coherence.assign(value=coherence["value"].mask(worse, 0.5 + coherence["seed"] / 5))
    quality = pd.DataFrame({"quantity": ["npmi"], "value": [0.9], "n": [2]})
    table = topic_tables.topic_quality(quality, [coherence], "tiny").table
    assert table["quantity"].tolist() == ["npmi", "npmi_held_out"]
    assert table["value"].tolist() == [0.9, 1.0]
    alone = topic_tables.topic_quality(quality, [], "tiny").table
    assert alone["quantity"].tolist() == ["npmi"]
    report = topic_tables.topic_settings(coherence, "tiny", MODELS)
    shown = report.shown
    assert shown["topic model"].tolist() == ["topics.lda", "sparse"]
    assert shown["NPMI in the other half [95%]"].iloc[1].startswith("0.600 [")
    assert "eta 0.01" in shown["settings"].iloc[1]
    assert not shown["settings"].str.contains("seed").any()  # that of the half replaces it
    assert set(report.table["seed"]) == {"all", "0", "1"}
    assert "The first one" not in " ".join(report.notes)


def test_halves_that_share_articles_are_no_independent_runs() -> None:
    """Of articles that a population gave, the interval over halves covers its mean."""
    rng, covered = np.random.default_rng(0), []
    for _ in range(400):
        articles = rng.normal(size=40)
        found = [rng.permutation(articles)[:20].mean() for _ in range(5)]
        of_halves = pd.DataFrame({"setting": "a", "value": found})
        [row] = topic_tables._over_halves(of_halves, ["setting"]).to_dict("records")
        covered.append(row["low"] <= 0 <= row["high"])
    assert 0.9 < np.mean(covered) < 0.99
