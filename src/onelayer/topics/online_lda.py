"""LDA by online variational Bayes (Hoffman, Blei & Bach 2010): gensim's serial model, float64.

`LdaMulticore` is left alone: it is not reproducible, and its worker count changes the algorithm.
"""

from collections.abc import Callable, Iterable, Iterator
from itertools import islice

import numpy as np
from gensim.models import LdaModel

from onelayer.seeds import generator
from onelayer.settings.topics import LdaSettings
from onelayer.topics.bags import Bag, Document, Documents, StoredDocuments
from onelayer.topics.model import Topics

INFERRED = 2000  # documents at once


def fit_online(bag: Bag, settings: LdaSettings, progress: Callable[..., Iterable]) -> Topics:
    """Fit topics in passes over the corpus, chunk by chunk; see `onelayer.topics.lda.fit_lda`."""
    # Online LDA takes each chunk for a sample of the whole corpus; corpora come sorted (by human
    # topic, by title), and learning them in that order costs coherence.
    order = generator("document order", settings.seed).permutation(bag.size)
    model = _empty_model(bag, settings)
    model.update(_Watched(bag.documents(order), settings.passes, progress))
    return Topics(
        model.state.get_lambda(), np.asarray(model.alpha, float), np.asarray(model.eta, float)
    )


def document_topics(topics: Topics, bag: Bag, settings: LdaSettings) -> Iterator[np.ndarray]:
    """P(topic | document) by variational inference, [documents, topics] float64 a few at a time.

    The same for topics of every backend, so that what is measured on them compares the topics.
    gensim starts each inference at a random point; the seed makes it the same every time.
    """
    model = _empty_model(bag, settings)
    model.alpha, model.eta = topics.alpha, topics.eta
    model.state.eta = topics.eta
    model.state.sstats = topics.dirichlet - topics.eta
    model.sync_state()
    documents = iter(bag.documents())
    while chunk := list(islice(documents, INFERRED)):
        gamma, _ = model.inference(chunk)
        yield gamma / gamma.sum(axis=1, keepdims=True)


def _empty_model(bag: Bag, settings: LdaSettings) -> LdaModel:
    alpha, eta = settings.priors
    return LdaModel(
        id2word=dict(enumerate(bag.words)),
        num_topics=settings.topics,
        alpha=alpha,
        eta=eta,
        passes=settings.passes,
        chunksize=settings.chunksize,
        decay=settings.decay,
        offset=settings.offset,
        iterations=settings.iterations,
        dtype=np.float64,
        eval_every=None,
        random_state=settings.seed,
    )


class _Watched:
    """The corpus as gensim iterates over it, once per pass, moving one progress bar."""

    def __init__(
        self, documents: Documents | StoredDocuments, passes: int, progress: Callable[..., Iterable]
    ) -> None:
        self.documents = documents
        self.ticks = iter(progress(range(passes * len(self.documents)), unit="doc"))

    def __len__(self) -> int:
        return len(self.documents)

    def __iter__(self) -> Iterator[Document]:
        for document in self.documents:
            next(self.ticks, None)
            yield document
