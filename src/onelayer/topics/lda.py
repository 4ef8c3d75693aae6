"""Online LDA (Hoffman, Blei & Bach 2010) by gensim: fitted serially in float64, saved as arrays.

`LdaMulticore` is left alone: it is not reproducible, and its worker count changes the algorithm.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import safetensors.numpy
from gensim.models import LdaModel

from onelayer.errors import OnelayerError
from onelayer.seeds import generator
from onelayer.settings.topics import LdaSettings
from onelayer.topics.bag_of_words import BagOfWords, Documents


@dataclass(frozen=True)
class Topics:
    """A fitted topic model.

    Attributes:
        variational: [topics, words] float64, lambda: parameters of q(beta), all positive.
        alpha: [topics] float64, Dirichlet prior of a document's topics.
        eta: [words] float64, Dirichlet prior of a topic's words.
    """

    variational: np.ndarray
    alpha: np.ndarray
    eta: np.ndarray

    @property
    def word_probability(self) -> np.ndarray:
        """P(word | topic), [topics, words] float64; rows sum to 1."""
        return self.variational / self.variational.sum(axis=1, keepdims=True)

    def document_topics(self, bag: BagOfWords, settings: LdaSettings) -> np.ndarray:
        """P(topic | document), [documents, topics] float64, by variational inference.

        gensim starts each inference at a random point; the seed makes it the same every time.
        """
        model = _empty_model(bag, settings)
        model.alpha, model.eta = self.alpha, self.eta
        model.state.eta = self.eta
        model.state.sstats = self.variational - self.eta
        model.sync_state()
        gamma, _ = model.inference(list(bag.documents()))
        return gamma / gamma.sum(axis=1, keepdims=True)


def fit_lda(
    bag: BagOfWords,
    settings: LdaSettings,
    progress: Callable[..., Iterable] = lambda items, **_: items,
) -> Topics:
    """Fit topics to a bag of words.

    Args:
        bag: the corpus.
        settings: topics, passes, schedule and seed.
        progress: wraps an iterable of documents (`total=` of all passes) in a progress bar.

    Raises:
        OnelayerError: no document has a word, or the fit is not finite.
    """
    if not bag.counts.nnz:
        raise OnelayerError("the bag of words is empty: no article has a word of the vocabulary")
    # Online LDA takes each chunk for a sample of the whole corpus; corpora come sorted (by human
    # topic, by title), and learning them in that order costs coherence.
    order = generator("document order", settings.seed).permutation(bag.counts.shape[0])
    documents = Documents(bag.counts[order])
    model = _empty_model(bag, settings)
    model.update(_Watched(documents, settings.passes, progress))
    topics = Topics(
        model.state.get_lambda(), np.asarray(model.alpha, float), np.asarray(model.eta, float)
    )
    if not np.isfinite(topics.word_probability).all():
        raise OnelayerError(
            f"LDA with {settings.topics} topics gave a word probability that is not finite"
        )
    return topics


def _empty_model(bag: BagOfWords, settings: LdaSettings) -> LdaModel:
    return LdaModel(
        id2word=dict(enumerate(bag.words)),
        num_topics=settings.topics,
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
        self, documents: Documents, passes: int, progress: Callable[..., Iterable]
    ) -> None:
        self.documents = documents
        self.ticks = iter(progress(range(passes * len(self.documents)), unit="doc"))

    def __len__(self) -> int:
        return len(self.documents)

    def __iter__(self):
        for document in self.documents:
            next(self.ticks, None)
            yield document


def write_topics(topics: Topics, path: Path) -> None:
    """Write a topic model as `.safetensors`."""
    tensors = {"variational": topics.variational, "alpha": topics.alpha, "eta": topics.eta}
    safetensors.numpy.save_file({k: np.ascontiguousarray(v) for k, v in tensors.items()}, path)


def read_topics(path: Path) -> Topics:
    """Read what `write_topics` wrote."""
    return Topics(**safetensors.numpy.load_file(path))
