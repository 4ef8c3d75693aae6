"""Times online LDA against gensim's serial model, which gives the same bits, on one core."""

from collections.abc import Callable
from time import process_time
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse
from gensim.matutils import Sparse2Corpus
from gensim.models import LdaModel

from onelayer.settings.topics import LdaSettings
from onelayer.topics.bags import BagOfWords
from onelayer.topics.lda import fit_lda

DOCUMENTS, WORDS, DRAWN = 2000, 10_000, 300


def rows() -> list[dict[str, Any]]:
    """CPU seconds of ours and of gensim's, and their ratio."""
    return [_fit(20), _fit(100)]


def _fit(topics: int) -> dict[str, Any]:
    bag = _bag()
    lda = LdaSettings(topics=topics, passes=1, chunksize=1000)
    alpha, eta = lda.priors
    model = LdaModel(
        id2word=dict(enumerate(bag.words)),
        num_topics=topics,
        alpha=alpha,
        eta=eta,
        chunksize=lda.chunksize,
        decay=lda.decay,
        offset=lda.offset,
        dtype=np.float64,
        eval_every=None,
        random_state=0,
    )
    documents = list(Sparse2Corpus(bag.counts, documents_columns=False))
    ours = _seconds(lambda: fit_lda(bag, lda))
    baseline = _seconds(lambda: model.update(documents))
    return {
        "name": f"online LDA, {DOCUMENTS:,} documents, {topics} topics, one pass",
        "ours_seconds": ours,
        "baseline_seconds": baseline,
        "note": "gensim's LdaModel (CPU time)",
        "ratio": baseline / ours,
    }


def _bag() -> BagOfWords:
    """Documents of a few of 50 topics, with words as unlike in frequency as in a language."""
    rng = np.random.default_rng(0)
    frequency = 1 / np.arange(1, WORDS + 1)
    words = frequency * rng.gamma(0.3, size=(50, WORDS))
    words /= words.sum(axis=1, keepdims=True)
    mixtures = rng.dirichlet(np.full(50, 0.05), size=DOCUMENTS)
    counts = [rng.multinomial(DRAWN, mixture @ words) for mixture in mixtures]
    vocabulary = pd.DataFrame({"word": [f"word{word}" for word in range(WORDS)]})
    return BagOfWords(vocabulary, scipy.sparse.csr_matrix(np.array(counts, np.int32)))


def _seconds(call: Callable[[], Any]) -> float:
    start = process_time()
    call()
    return process_time() - start
