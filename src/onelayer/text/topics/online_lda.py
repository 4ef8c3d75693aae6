"""LDA by online variational Bayes (Hoffman, Blei & Bach 2010, Algorithm 2), float64.

The numbers are those of gensim's serial `LdaModel` to the last bit, for any number of workers: they
share out the documents of a chunk, whose E-steps do not depend on each other, and then the topics,
each of which adds up the documents in their order. gensim's `LdaMulticore` is left alone: it is not
reproducible, and its worker count changes the algorithm.

Shapes: K topics, W words, D documents of a chunk, N words of these documents, each once a document.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice

import numpy as np
import scipy.sparse
from gensim.matutils import dirichlet_expectation, mean_absolute_difference

from onelayer.compute.seeds import generator
from onelayer.compute.workers import SharedArray, Workers
from onelayer.settings.topics import LdaSettings
from onelayer.text.topics.bags import Bag, Document
from onelayer.text.topics.model import Topics

INFERRED = 2000  # documents at once
TOPICS_AT_ONCE = 16  # of an M-step: bounds its memory, changes no number
CONVERGED = 0.001  # mean change of gamma at which a document's E-step ends
EPSILON = np.finfo(np.float64).eps
LOGGED = 5  # topics that gensim logs after each update; it draws which, if there are more


def fit_online(bag: Bag, settings: LdaSettings, progress: Callable[..., Iterable]) -> Topics:
    """Fit topics in passes over the corpus, chunk by chunk; see `topics.lda.fit_lda`."""
    # Online LDA takes each chunk for a sample of the whole corpus; corpora come sorted (by human
    # topic, by title), and learning them in that order costs coherence.
    order = generator("document order", settings.seed).permutation(bag.size)
    alpha, eta = settings.priors
    alpha, eta = np.full(settings.topics, alpha), np.full(len(bag.vocabulary), eta)
    model = _Model(alpha, eta, settings.workers)
    assigned = SharedArray((len(alpha), len(eta)), settings.workers)
    random = np.random.RandomState(settings.seed)
    for topic in range(settings.topics):  # gensim draws where a fit starts before anything else
        assigned.array[topic] = drawn = _drawn(random, len(eta))
        model.beta.array[:, topic] = np.exp(dirichlet_expectation(drawn))
    slots = _slots(bag.lengths[order], settings.chunksize, settings)
    ticks = iter(progress(range(settings.passes * bag.size), unit="doc"))

    def chunks() -> Iterator[_Chunk]:
        for _ in range(settings.passes):
            for documents in _cut(bag.documents(order), settings.chunksize):
                yield documents, _drawn(random, len(documents), settings.topics)
                if settings.topics > LOGGED:
                    random.rand(settings.topics)
                list(islice(ticks, len(documents)))

    share = (model, slots, settings.iterations, assigned)
    with Workers(settings.workers, _Share, *share) as workers:
        inferred = _inferred(workers, slots, chunks())
        for chunk, rho in zip(inferred, _rates(bag.size, settings), strict=True):
            workers.call("learn", *chunk, rho, bag.size)
    return Topics(eta + assigned.array, alpha, eta)


def document_topics(topics: Topics, bag: Bag, settings: LdaSettings) -> Iterator[np.ndarray]:
    """P(topic | document) by variational inference, [documents, topics] float64 a few at a time.

    The same for topics of every backend, so that what is measured on them compares the topics.
    Each inference starts at a random point, which the seed makes the same every time.
    """
    model = _Model(topics.alpha, topics.eta, settings.workers)
    random = np.random.RandomState(settings.seed)
    for topic in range(len(topics.alpha)):
        _drawn(random, len(topics.eta))
        # Rounded as after a fit, which keeps lambda without eta.
        dirichlet = topics.eta + (topics.dirichlet[topic] - topics.eta)
        model.beta.array[:, topic] = np.exp(dirichlet_expectation(dirichlet))
    slots = _slots(bag.lengths, INFERRED, settings)
    chunks = (
        (documents, _drawn(random, len(documents), settings.topics))
        for documents in _cut(bag.documents(), INFERRED)
    )
    with Workers(settings.workers, _Share, model, slots, settings.iterations) as workers:
        for slot, size in _inferred(workers, slots, chunks):
            gamma = slots[slot].gamma.array[:size]
            yield gamma / gamma.sum(axis=1, keepdims=True)


class _Model:
    """What documents are inferred with: priors, [K] and [W], and beta, zeros at first.

    `beta` is exp(E[log beta]), [W, K]: transposed, since a document takes the rows of its words.
    """

    def __init__(self, alpha: np.ndarray, eta: np.ndarray, workers: int) -> None:
        self.alpha, self.eta = alpha, eta
        self.beta = SharedArray((len(eta), len(alpha)), workers)


@dataclass(frozen=True)
class _Slot:
    """Memory of a chunk."""

    gamma: SharedArray  # [D, K]; before the E-step its start
    theta: SharedArray  # [D, K], exp(E[log theta]), after the E-step
    ends: SharedArray  # int64 [D + 1], where each document's words end
    words: SharedArray  # int64 [N]
    counts: SharedArray  # float64 [N]; after the E-step divided by the norm of phi

    def fill(self, documents: Sequence[Document], start: np.ndarray) -> None:
        """Put a chunk here."""
        self.gamma.array[: len(documents)] = start
        ends = np.cumsum([0] + [len(document) for document in documents])
        self.ends.array[: len(ends)] = ends
        entries = np.concatenate(documents)
        self.words.array[: len(entries)] = entries[:, 0]
        self.counts.array[: len(entries)] = entries[:, 1]


_Chunk = tuple[list[Document], np.ndarray]  # and where its E-steps start, [D, K]


def _slots(lengths: np.ndarray, chunk: int, settings: LdaSettings) -> tuple[_Slot, _Slot]:
    """Memory of the chunk in hand and the next, for documents of these lengths in their order."""
    documents = min(chunk, len(lengths))
    words = np.add.reduceat(lengths, range(0, len(lengths), chunk)).max()

    def slot() -> _Slot:
        shared = partial(SharedArray, workers=settings.workers)
        return _Slot(
            gamma=shared((documents, settings.topics)),
            theta=shared((documents, settings.topics)),
            ends=shared((documents + 1,), dtype=np.int64),
            words=shared((words,), dtype=np.int64),
            counts=shared((words,)),
        )

    return slot(), slot()


def _cut(documents: Iterable[Document], size: int) -> Iterator[list[Document]]:
    documents = iter(documents)
    while chunk := list(islice(documents, size)):
        yield chunk


def _drawn(random: np.random.RandomState, *shape: int) -> np.ndarray:
    """Where a topic starts, [W], or the gamma of a chunk's E-steps, [D, K]."""
    return random.gamma(100.0, 0.01, shape)


def _rates(documents: int, settings: LdaSettings) -> Iterator[float]:
    """rho_t of every chunk. As in gensim, t grows by chunks in the first pass, then by passes."""
    chunk = min(documents, settings.chunksize)
    for number in range(settings.passes):
        for before in range(0, documents, chunk):
            seen = before if number == 0 else documents
            yield (settings.offset + number + seen / chunk) ** -settings.decay


def _inferred(
    workers: Workers, slots: tuple[_Slot, _Slot], chunks: Iterable[_Chunk]
) -> Iterator[tuple[int, int]]:
    """Slot and size of each chunk, inferred; the next is read while the workers are at it."""

    def fill() -> Iterator[tuple[int, int]]:
        for number, (documents, start) in enumerate(chunks):
            slots[number % 2].fill(documents, start)
            yield number % 2, len(documents)

    filled = fill()
    current = next(filled, None)
    while current:
        workers.start("infer", *current)
        following = next(filled, None)
        workers.wait()
        yield current
        current = following


class _Share:
    """What one of several workers computes: some documents' E-steps, some topics' M-steps."""

    def __init__(
        self,
        place: int,
        count: int,
        model: _Model,
        slots: tuple[_Slot, _Slot],
        iterations: int,
        assigned: SharedArray | None = None,
    ) -> None:
        """`assigned`: [K, W], lambda without eta: how often words are expected to have topics."""
        self.place, self.count = place, count
        self.model, self.slots, self.iterations = model, slots, iterations
        self.assigned = assigned

    def infer(self, slot: int, size: int) -> None:
        """E-step of every `count`-th document of a chunk of so many."""
        chunk, beta = self.slots[slot], self.model.beta.array
        gamma, theta, counts = chunk.gamma.array, chunk.theta.array, chunk.counts.array
        words, ends = chunk.words.array, chunk.ends.array.tolist()
        for document in range(self.place, size, self.count):
            span = slice(ends[document], ends[document + 1])
            gamma[document], theta[document], counts[span] = self._infer(
                beta.take(words[span], axis=0), counts[span], gamma[document].copy()
            )

    def _infer(
        self, beta: np.ndarray, counts: np.ndarray, gamma: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Gamma, exp(E[log theta]) and counts over phi's norm of one document.

        In the form of Lee & Seung (2001), without phi itself. Which sums are formed of what, and
        by which of BLAS's routines, decides the bits.
        """
        alpha, transposed = self.model.alpha, beta.T
        theta = np.exp(dirichlet_expectation(gamma))
        norm = theta.dot(transposed)
        norm += EPSILON
        for _ in range(self.iterations):
            last = gamma
            gamma = np.divide(counts, norm, out=norm).dot(beta)
            gamma *= theta
            gamma += alpha
            theta = np.exp(dirichlet_expectation(gamma))
            norm = theta.dot(transposed)
            norm += EPSILON
            if mean_absolute_difference(gamma, last) < CONVERGED:
                break
        return gamma, theta, np.divide(counts, norm, out=norm)

    def learn(self, slot: int, size: int, rho: float, documents: int) -> None:
        """M-step of some topics: a step of length rho towards what the chunk says of all documents.

        Words are columns of what is added up, in the documents' order: no other order of sums,
        however many workers there are.
        """
        chunk = self.slots[slot]
        beta, assigned, eta = self.model.beta.array, self.assigned.array, self.model.eta
        ends = chunk.ends.array[: size + 1]
        arrays = chunk.counts.array[: ends[-1]], chunk.words.array[: ends[-1]], ends
        by_word = scipy.sparse.csr_matrix(arrays, shape=(size, len(beta))).tocsc().T  # [W, D]
        theta = chunk.theta.array[:size]
        first, last = (
            len(assigned) * place // self.count for place in (self.place, self.place + 1)
        )
        for start in range(first, last, TOPICS_AT_ONCE):
            topics = slice(start, min(start + TOPICS_AT_ONCE, last))
            expected = by_word @ theta[:, topics]  # [W, topics]
            expected *= beta[:, topics]
            assigned[topics] *= 1 - rho
            assigned[topics] += rho * (documents / size) * expected.T
            beta[:, topics] = np.exp(dirichlet_expectation(eta + assigned[topics])).T
