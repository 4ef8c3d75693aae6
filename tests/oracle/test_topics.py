"""Topics beside slow and obvious ways: words counted one by one, gensim's calls, NPMI by pairs."""

import math
from collections import Counter
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from gensim.models import LdaModel, TfidfModel
from gensim.parsing.preprocessing import STOPWORDS

from onelayer.seeds import generator
from onelayer.settings.topics import LdaSettings, WordSettings
from onelayer.text.corpus.articles import words
from onelayer.text.topics.bag import Bag, count_words
from onelayer.text.topics.lda import document_topics, fit_topics
from onelayer.text.topics.quality import coherence

WORDS = 90
LDA = LdaSettings(
    backend="gensim", topics=7, passes=2, chunksize=20, decay=0.7, offset=10,
    sweeps=5, seed=3,
)  # fmt: skip


@pytest.fixture(scope="module")
def bag() -> Bag:
    """Documents of most lengths, some of none."""
    rng = np.random.default_rng(0)
    words = rng.dirichlet(np.full(WORDS, 0.1), size=5)
    lengths = rng.integers(0, 60, size=67) * rng.integers(0, 3, size=67)
    counts = np.array([rng.multinomial(n, words[rng.integers(5)]) for n in lengths], np.int32)
    documents = np.maximum((counts > 0).sum(axis=0), 1)
    vocabulary = pd.DataFrame({"word": [f"word{n}" for n in range(WORDS)], "documents": documents})
    return Bag(vocabulary, scipy.sparse.csr_matrix(counts))


def as_lists(bag: Bag) -> list[list[tuple[int, int]]]:
    rows = bag.counts.toarray()
    return [[(int(w), int(n)) for w, n in enumerate(row) if n] for row in rows]


def gensim_model(bag: Bag, lda: LdaSettings, documents: list) -> LdaModel:
    """As anybody would call gensim, but on documents in a seeded order."""
    order = generator("document order", lda.seed).permutation(len(documents))
    return LdaModel(
        [documents[place] for place in order],
        id2word=dict(enumerate(bag.vocabulary["word"])),
        num_topics=lda.topics,
        alpha=1 / lda.topics,
        eta=1 / lda.topics,
        passes=lda.passes,
        chunksize=lda.chunksize,
        decay=lda.decay,
        offset=lda.offset,
        iterations=50,
        dtype=np.float64,
        eval_every=None,
        random_state=lda.seed,
    )


@pytest.mark.parametrize(("topics", "chunksize"), [(3, 20), (7, 20), (18, 100)])
def test_a_fit_is_that_of_gensim_on_documents_in_a_seeded_order(bag, topics, chunksize) -> None:
    lda = LDA.model_copy(update={"topics": topics, "chunksize": chunksize})
    model, fitted = gensim_model(bag, lda, as_lists(bag)), fit_topics(bag, lda)
    assert (fitted.dirichlet == model.state.get_lambda()).all()
    assert (fitted.alpha == model.alpha).all() and (fitted.eta == model.eta).all()
    fresh = gensim_model(bag, lda, [])  # the inference starts at random points, drawn from the seed
    fresh.state = model.state
    fresh.sync_state()
    gamma, _ = fresh.inference(as_lists(bag))
    found = np.concatenate(list(document_topics(fitted, bag.counts, lda)))
    assert found == pytest.approx(gamma / gamma.sum(axis=1, keepdims=True), rel=1e-9)


def test_weights_are_those_of_gensims_tf_idf(bag) -> None:
    documents = as_lists(bag)
    tf_idf = TfidfModel(documents, normalize=True)
    weighted = [tf_idf[document] for document in documents]
    model, fitted = gensim_model(bag, LDA, weighted), fit_topics(bag, LDA, "tf-idf")
    assert fitted.dirichlet == pytest.approx(model.state.get_lambda(), rel=1e-9)


def test_words_are_counted_as_one_would_by_hand() -> None:
    rng = np.random.default_rng(0)
    known = ["frog", "toad", "the", "pond", "ox", "bach", "opera", "née"]
    # Documents without a word keep their places, the last one too.
    texts = [" ".join(rng.choice(known, 12)).title() + " 7 frogs!" for _ in range(30)]
    texts[6] = texts[29] = "7 !"
    for place in range(28):  # `edge` is in as many as may be, `over` in one more
        texts[place] += " over" + " edge" * (place < 27)
    settings = WordSettings(
        min_letters=3, min_documents=2, max_document_share=0.9, max_words=4, single_piece_in=[]
    )
    bag = count_words(lambda: texts, settings, lambda word: word != "bach")
    each = [Counter(words(text)) for text in texts]
    documents = {
        word: sum(word in count for count in each) for word in {*known, "frogs", "edge", "over"}
    }
    allowed = [
        word
        for word in documents
        if len(word) >= 3 and 2 <= documents[word] <= 27 and word not in {*STOPWORDS, "bach"}
    ]
    expected = sorted(sorted(allowed, key=lambda word: (-documents[word], word))[:4])
    assert bag.vocabulary["word"].tolist() == expected
    assert bag.vocabulary["documents"].tolist() == [documents[word] for word in expected]
    by_hand = [[count[word] for word in expected] for count in each]
    assert bag.counts.toarray().tolist() == by_hand
    assert bag.vocabulary["occurrences"].tolist() == np.sum(by_hand, axis=0).tolist()


def test_npmi_agrees_with_a_plain_count(bag) -> None:
    tops = np.array([[0, 1, 2, 12], [3, 11, 14, 15]])
    present = [{word for word, _ in document} for document in as_lists(bag)]

    def share(*asked: int) -> float:
        return sum(set(asked) <= document for document in present) / len(present)

    for row, got in zip(tops, coherence(bag.counts, tops), strict=True):
        values = []
        for v, w in combinations(row, 2):
            both = share(v, w)
            values.append(math.log(both / (share(v) * share(w))) / -math.log(both) if both else -1)
        assert got == pytest.approx(np.mean(values), abs=1e-12)
