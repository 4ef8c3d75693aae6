"""Online LDA is gensim's serial model to the last bit, for any number of workers."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from gensim.models import LdaModel

from onelayer.compute.seeds import generator
from onelayer.settings.root import default_settings
from onelayer.settings.topics import LdaSettings
from onelayer.text.topics.bags import BagOfWords, StoredBag, write_counts
from onelayer.text.topics.lda import fit_lda
from onelayer.text.topics.online_lda import document_topics

LDA = default_settings().topics.lda
WORDS = 90


@pytest.fixture(scope="module")
def bag() -> BagOfWords:
    """Documents of most lengths, some of none."""
    rng = np.random.default_rng(0)
    words = rng.dirichlet(np.full(WORDS, 0.1), size=5)
    lengths = rng.integers(0, 60, size=67) * rng.integers(0, 3, size=67)
    counts = [rng.multinomial(n, words[rng.integers(5)]) for n in lengths]
    vocabulary = pd.DataFrame({"word": [f"word{word}" for word in range(WORDS)]})
    return BagOfWords(vocabulary, scipy.sparse.csr_matrix(np.array(counts, np.int32)))


@pytest.fixture(scope="module")
def stored(bag, tmp_path_factory) -> StoredBag:
    folder = tmp_path_factory.mktemp("parts")
    paths = tuple(folder / f"{part}.safetensors" for part in range(3))
    for path, rows in zip(paths, np.array_split(np.arange(bag.size), 3), strict=True):
        write_counts(bag.counts[rows], path)
    return StoredBag(bag.vocabulary, paths)


def settings(topics: int, chunksize: int = 20) -> LdaSettings:
    return LDA.but(topics=topics, passes=2, chunksize=chunksize, eta=0.3, seed=3)


def gensim_model(bag: BagOfWords, lda: LdaSettings, documents: list) -> LdaModel:
    alpha, eta = lda.priors
    model = LdaModel(
        id2word=dict(enumerate(bag.vocabulary["word"])),
        num_topics=lda.topics,
        alpha=alpha,
        eta=eta,
        passes=lda.passes,
        chunksize=lda.chunksize,
        decay=lda.decay,
        offset=lda.offset,
        iterations=lda.iterations,
        dtype=np.float64,
        eval_every=None,
        random_state=lda.seed,
    )
    model.update(documents)
    return model


def as_lists(bag: BagOfWords) -> list[list[tuple[int, int]]]:
    rows = (bag.counts[place] for place in range(bag.size))
    return [list(zip(row.indices.tolist(), row.data.tolist(), strict=True)) for row in rows]


# gensim draws more random numbers where there are more than five topics; topics are learned by
# sixteens; the last chunk is shorter, or the only one is longer than the corpus.
@pytest.mark.parametrize(
    ("topics", "chunksize", "workers"),
    [(3, 20, 1), (7, 20, 1), (18, 100, 1), (7, 20, 2), (18, 100, 3)],
)
def test_a_fit_is_that_of_gensim(bag, stored, topics, chunksize, workers) -> None:
    lda = settings(topics, chunksize)
    order = generator("document order", lda.seed).permutation(bag.size)
    documents = as_lists(bag)
    model = gensim_model(bag, lda, [documents[place] for place in order])
    together = lda.model_copy(update={"workers": workers})
    for corpus in (bag, stored) if topics == 7 else (bag,):
        fitted = fit_lda(corpus, together)
        assert (fitted.dirichlet == model.state.get_lambda()).all()
        assert (fitted.alpha == model.alpha).all() and (fitted.eta == model.eta).all()


@pytest.mark.parametrize("workers", [1, 2])
def test_topics_of_documents_are_those_of_gensim(bag, stored, workers) -> None:
    lda = settings(7).model_copy(update={"workers": workers})
    topics = fit_lda(bag, settings(7))
    model = gensim_model(bag, lda, [])
    model.state.sstats = topics.dirichlet - topics.eta
    model.sync_state()
    gamma, _ = model.inference(as_lists(bag))
    for corpus in (bag, stored):
        found = np.concatenate(list(document_topics(topics, corpus, lda)))
        assert (found == gamma / gamma.sum(axis=1, keepdims=True)).all()
