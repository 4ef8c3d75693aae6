"""Times online LDA against gensim's serial model, which gives the same bits."""

from collections.abc import Iterator
from unittest.mock import patch

import numpy as np
import pandas as pd
import scipy.sparse
from gensim.models import LdaModel, ldamodel

from bench.case import Case, Numbers, Way, Work
from onelayer.compute.seeds import generator
from onelayer.settings.root import default_settings
from onelayer.settings.topics import LdaSettings
from onelayer.text.topics.bags import BagOfWords
from onelayer.text.topics.lda import fit_lda

LDA = default_settings().topics.lda


def cases(small: bool = False) -> Iterator[Case]:
    """One pass over a corpus with few and with many topics."""
    documents, words = (40, 300) if small else (2000, 10_000)
    for topics in (20,) if small else (20, 100):
        yield _case(_bag(documents, words), topics)


def _case(bag: BagOfWords, topics: int) -> Case:
    settings = LDA.but(topics=topics, passes=1, chunksize=1000)
    order = generator("document order", settings.seed).permutation(bag.size)
    rows = [bag.counts[place] for place in order]
    documents = [list(zip(row.indices.tolist(), row.data.tolist(), strict=True)) for row in rows]
    return Case(
        name=f"online LDA, {bag.size:,} documents, {topics} topics, one pass",
        steps=("fit_lda", "fit_topic_models", "measure_held_out_topics"),
        ours=Way("ours", lambda: {"dirichlet": fit_lda(bag, settings).dirichlet}),
        simple=Way("gensim's LdaModel", lambda: _gensim(bag, documents, settings), tolerance=0),
        authors="the same gensim",
        count_work=lambda: _work(bag, documents, settings),
    )


def _gensim(bag: BagOfWords, documents: list, settings: LdaSettings) -> Numbers:
    alpha, eta = settings.priors
    model = LdaModel(
        id2word=dict(enumerate(bag.vocabulary["word"])),
        num_topics=settings.topics,
        alpha=np.full(settings.topics, alpha),
        eta=np.full(len(bag.vocabulary), eta),
        chunksize=settings.chunksize,
        decay=settings.decay,
        offset=settings.offset,
        iterations=settings.iterations,
        dtype=np.float64,
        eval_every=None,
        random_state=settings.seed,
    )
    model.update(documents)
    return {"dirichlet": model.state.get_lambda()}


def _work(bag: BagOfWords, documents: list, settings: LdaSettings) -> Work:
    """4 K n a document of n words and iteration: two products with its rows of beta."""
    iterations = 0

    def counted(*vectors: np.ndarray) -> float:
        nonlocal iterations
        iterations += 1
        return difference(*vectors)

    difference = ldamodel.mean_absolute_difference
    with patch.object(ldamodel, "mean_absolute_difference", counted):
        _gensim(bag, documents, settings)
    words, K = bag.counts.nnz / bag.size, settings.topics
    return Work(
        flops=4 * K * words * iterations,
        bytes=8 * 2 * K * len(bag.vocabulary),
        rate="numpy float64",
        formula=f"4 K n flops for each of {iterations:,} iterations of a document's E-step, "
        f"n = {words:.0f} distinct words",
    )


def _bag(documents: int, words: int, drawn: int = 300) -> BagOfWords:
    """Documents of a few of 50 topics, with words as unlike in frequency as in a language."""
    rng = np.random.default_rng(0)
    frequency = 1 / np.arange(1, words + 1)
    topics = frequency * rng.gamma(0.3, size=(50, words))
    topics /= topics.sum(axis=1, keepdims=True)
    mixtures = rng.dirichlet(np.full(50, 0.05), size=documents)
    counts = [rng.multinomial(drawn, mixture @ topics) for mixture in mixtures]
    vocabulary = pd.DataFrame({"word": [f"word{word}" for word in range(words)]})
    return BagOfWords(vocabulary, scipy.sparse.csr_matrix(np.array(counts, np.int32)))
