"""Topic-model documents, their masking, and what a model without positions needs of them: counts.

Li, Li & Risteski (2023), 'Data: topic model' and 'Training loss: masked language modeling'. Topics
are disjoint and uniform over their v words. A document's topic weights are either uniform over tau
topics (the theory) or Dirichlet (the authors' released data).

Without positions, the output at a query depends on its token and on how often each key occurs, so
a document is its key counts n and the targets of each distinct query token: a few rows instead of
a sequence. `CountRows` keeps exactly that.
"""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from onelayer.compute.seeds import generator
from onelayer.settings.topic_structure_synthetic import MaskingSettings, TopicModelSettings

PAD, MASK, START, END = range(4)
SPECIAL = 4  # ids below are no words


@dataclass(frozen=True)
class Vocabulary:
    """T topics of v words each, after the special ids; topic of id t is (t - 4) // v."""

    T: int
    v: int

    @property
    def size(self) -> int:
        """Ids in all: D."""
        return SPECIAL + self.T * self.v

    @cached_property
    def topic(self) -> np.ndarray:
        """Topic of each id, int64 [D]; -1 for special ids."""
        return np.concatenate([np.full(SPECIAL, -1), np.repeat(np.arange(self.T), self.v)])

    @cached_property
    def membership(self) -> np.ndarray:
        """float64 [D, T]: 1 where an id belongs to a topic."""
        return (self.topic[:, None] == np.arange(self.T)).astype(np.float64)


def uniform_weights(rng: np.random.Generator, T: int, tau: int, documents: int) -> np.ndarray:
    """Weights 1 / tau on tau random topics, float64 [documents, T]."""
    place = rng.random((documents, T)).argsort(axis=1).argsort(axis=1)
    return (place < tau) / tau


def draw_documents(
    rng: np.random.Generator,
    vocabulary: Vocabulary,
    weights: np.ndarray,
    lengths: tuple[int, int],
    framed: bool = False,
) -> np.ndarray:
    """Draw documents word by word.

    Args:
        weights: topic weights, [documents, T]; rows sum to 1.
        lengths: fewest and most words of a document; uniform between them.
        framed: put START before and END after the words, as the authors' data has them.

    Returns:
        Token ids, int64 [documents, longest], padded with PAD.
    """
    documents = len(weights)
    length = rng.integers(lengths[0], lengths[1] + 1, documents)
    edges = weights.cumsum(axis=1)
    edges[:, -1] = 1.0  # rounding must not leave a draw without a topic
    # Row d's edges lie in (d, d + 1]: one search over all of them finds every word's topic.
    draws = rng.random((documents, length.max())) + np.arange(documents)[:, None]
    flat = (edges + np.arange(documents)[:, None]).ravel()
    topic = np.searchsorted(flat, draws, side="right") % vocabulary.T
    tokens = SPECIAL + topic * vocabulary.v + rng.integers(vocabulary.v, size=topic.shape)
    tokens[np.arange(tokens.shape[1]) >= length[:, None]] = PAD
    if not framed:
        return tokens
    frame = np.full((documents, tokens.shape[1] + 2), PAD)
    frame[:, 0], frame[:, 1:-1] = START, tokens
    frame[np.arange(documents), length + 1] = END
    return frame


def selected_words(N: np.ndarray, p_m: float) -> np.ndarray:
    """How many of N words are exactly the proportion p_m: rounded, at least 1; int64, as N."""
    return np.maximum(np.rint(p_m * N).astype(np.int64), np.minimum(N, 1))


def mask_documents(
    rng: np.random.Generator, vocabulary: Vocabulary, tokens: np.ndarray, masking: MaskingSettings
) -> tuple[np.ndarray, np.ndarray]:
    """Select words of documents, int64 [documents, longest], and replace them.

    Returns:
        What the model sees, int64 [documents, longest]; and which positions are selected, bool.
    """
    draws, words = rng.random(tokens.shape), tokens >= SPECIAL
    if masking.selection == "independent":
        selected = (draws < masking.p_m) & words
    else:  # those of the smallest draws, in each document as many as it is to have
        draws = np.where(words, draws, 2.0)
        k = selected_words(words.sum(axis=1), masking.p_m)
        largest = np.sort(draws, axis=1)[np.arange(len(draws)), np.maximum(k, 1) - 1]
        selected = (draws <= largest[:, None]) & words
    kind = rng.random(tokens.shape)
    shown = tokens.copy()
    randomised = selected & (kind >= masking.p_c) & (kind < masking.p_c + masking.p_r)
    shown[randomised] = rng.integers(SPECIAL, vocabulary.size, int(randomised.sum()))
    shown[selected & (kind >= masking.p_c + masking.p_r)] = MASK
    return shown, selected


@dataclass(frozen=True, eq=False)
class CountRows:
    """Documents as counts: one row per distinct (document, query token) with a target.

    Attributes:
        keys: how often each id is a key, float32 [documents, D].
        first: first row of each document, int64 [documents + 1]; the last entry counts all rows.
        query: query token of each row, int64 [rows].
        targets: how often each id is to be predicted there, float32 [rows, D].
    """

    keys: np.ndarray
    first: np.ndarray
    query: np.ndarray
    targets: np.ndarray

    @property
    def document(self) -> np.ndarray:
        """Document of each row, int64 [rows]."""
        return np.repeat(np.arange(len(self.keys)), np.diff(self.first))

    def averages(self) -> tuple[np.ndarray, np.ndarray]:
        """All that uniform attention needs: key shares and targets, both float64 [documents, D]."""
        shares = self.keys.astype(np.float64)
        shares /= shares.sum(axis=1, keepdims=True)
        targets = np.zeros_like(shares)
        some = np.diff(self.first) > 0
        if some.any():  # rows of a document stand together
            rows = self.targets.astype(np.float64)
            targets[some] = np.add.reduceat(rows, self.first[:-1][some])
        return shares, targets

    def by_document(self) -> "CountRows":
        """One row per document, whatever the query: enough for uniform attention."""
        documents = len(self.keys)
        targets = self.averages()[1].astype(np.float32)
        return CountRows(self.keys, np.arange(documents + 1), np.full(documents, MASK), targets)


def count_rows(
    vocabulary: Vocabulary,
    tokens: np.ndarray,
    shown: np.ndarray,
    selected: np.ndarray,
    masked_attended: bool = True,
) -> CountRows:
    """Reduce masked documents to counts.

    Args:
        tokens, shown, selected: [documents, longest], as drawn and masked.
        masked_attended: selected positions are keys too; the authors' code hides them, and keeps
            START and END.
    """
    documents, D = len(tokens), vocabulary.size
    row, _ = np.indices(tokens.shape, sparse=True)
    key = (shown != PAD) & (masked_attended | ~selected)
    keys = np.bincount((row * D + shown)[key], minlength=documents * D).reshape(documents, D)
    place, index = np.unique((row * D + shown)[selected], return_inverse=True)
    targets = np.bincount(index * D + tokens[selected], minlength=len(place) * D)
    first = np.searchsorted(place, np.arange(documents + 1) * D)
    targets = targets.reshape(len(place), D).astype(np.float32)
    return CountRows(keys.astype(np.float32), first, place % D, targets)


def topic_weights(
    rng: np.random.Generator, T: int, documents: int, tau: int | None, concentration: float
) -> np.ndarray:
    """Of each document, [documents, T]; `tau` and `concentration` as of `draw`."""
    if tau is None:
        return rng.dirichlet(np.full(T, concentration), documents)
    return uniform_weights(rng, T, tau, documents)


def draw(
    settings: TopicModelSettings,
    documents: int,
    N: tuple[int, int],
    use: str,
    *,
    tau: int | None = None,
    concentration: float = math.nan,
    masked_attended: bool = True,
    seed: int = 0,
) -> CountRows:
    """Masked documents as counts.

    Args:
        documents, N: how many, and their fewest and most words.
        use: what they are for; another use gives other documents, the same use the same ones.
        tau: topics of a document, which is uniform over them; None: topic weights are of a
            symmetric Dirichlet distribution of this `concentration`, as the authors release them.
        masked_attended: False as in the authors' code: START and END frame the words, and selected
            positions are no keys.
    """
    rng = generator("topic documents", use, tau, seed)
    weights = topic_weights(rng, settings.T, documents, tau, concentration)
    vocabulary = Vocabulary(settings.T, settings.v)
    tokens = draw_documents(rng, vocabulary, weights, N, not masked_attended)
    shown, selected = mask_documents(rng, vocabulary, tokens, settings)
    return count_rows(vocabulary, tokens, shown, selected, masked_attended)
