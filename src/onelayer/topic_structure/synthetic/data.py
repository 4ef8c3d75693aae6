"""Documents of topics, their masking, and their counts: 'Data: topic model', 'Training loss'.

Topics are disjoint, and each is uniform over its v words. A document's topic weights are uniform
over tau topics (the theory) or Dirichlet (the authors' released data).

Without positions the output at a query depends only on its token and on how often each key occurs.
So a document is its key counts n, and the targets of each distinct query token: about five rows
instead of a sequence. `CountRows` keeps exactly that.
"""

from dataclasses import dataclass

import numpy as np

from onelayer.seeds import generator
from onelayer.settings.topic_structure_synthetic import DocumentSettings, TopicModelSettings

# Ids: four special ones, then v words of each topic.
PAD, MASK, START, END, SPECIAL = range(5)
# Pairs of words in a document whose attention is averaged.
PAIR_CLASSES = ["same_word", "same_topic", "different_topic"]


def topics_of_ids(words: TopicModelSettings) -> np.ndarray:
    """Topic of each id, int64 [D]; -1 for special ids."""
    return np.concatenate([np.full(SPECIAL, -1), np.repeat(np.arange(words.T), words.v)])


def membership(words: TopicModelSettings) -> np.ndarray:
    """float64 [D, T]: 1 where an id belongs to a topic."""
    return (topics_of_ids(words)[:, None] == np.arange(words.T)).astype(np.float64)


def topic_weights(
    rng: np.random.Generator, T: int, documents: int, tau: int | None, concentration: float | None
) -> np.ndarray:
    """Topic weights of each document, float64 [documents, T].

    1 / tau on tau random topics; with tau None, of a symmetric Dirichlet distribution.
    """
    if tau is None:
        return rng.dirichlet(np.full(T, concentration), documents)
    place = rng.random((documents, T)).argsort(axis=1).argsort(axis=1)
    return (place < tau) / tau


def draw_documents(
    rng: np.random.Generator, v: int, weights: np.ndarray, N: tuple[int, int], framed: bool = False
) -> np.ndarray:
    """Draw documents word by word: token ids, int64 [documents, longest], padded with PAD.

    `weights` of topics are [documents, T]; N the fewest and most words, uniform between them.
    `framed` puts START before and END after the words, as the authors' data has them.
    """
    documents = len(weights)
    row, length = np.arange(documents)[:, None], rng.integers(N[0], N[1] + 1, documents)
    edges = weights.cumsum(axis=1)
    edges[:, -1] = 1.0  # rounding must not leave a draw without a topic
    # Row d's edges lie in (d, d + 1]: one search over all of them finds every word's topic.
    draws = rng.random((documents, length.max())) + row
    topic = np.searchsorted((edges + row).ravel(), draws, side="right") % weights.shape[1]
    tokens = SPECIAL + topic * v + rng.integers(v, size=topic.shape)
    tokens[np.arange(tokens.shape[1]) >= length[:, None]] = PAD
    if not framed:
        return tokens
    frame = np.full((documents, tokens.shape[1] + 2), PAD)
    frame[:, 0], frame[:, 1:-1] = START, tokens
    frame[np.arange(documents), length + 1] = END
    return frame


def mask_documents(
    rng: np.random.Generator, tokens: np.ndarray, words: TopicModelSettings
) -> tuple[np.ndarray, np.ndarray]:
    """What the model sees of documents, and which positions are selected, [documents, longest]."""
    draws, is_word = rng.random(tokens.shape), tokens >= SPECIAL
    if words.selection == "independent":
        selected = (draws < words.p_m) & is_word
    else:  # those of the smallest draws
        draws = np.where(is_word, draws, 2.0)
        k = np.maximum(np.rint(words.p_m * is_word.sum(axis=1)).astype(int), 1)
        largest = np.sort(draws, axis=1)[np.arange(len(draws)), k - 1]
        selected = (draws <= largest[:, None]) & is_word
    kind = rng.random(tokens.shape)
    shown = tokens.copy()
    randomised = selected & (kind >= words.p_c) & (kind < words.p_c + words.p_r)
    shown[randomised] = rng.integers(SPECIAL, SPECIAL + words.T * words.v, randomised.sum())
    shown[selected & (kind >= words.p_c + words.p_r)] = MASK
    return shown, selected


@dataclass(frozen=True, eq=False)
class CountRows:
    """Documents as counts: one row per distinct (document, query token) with a target."""

    keys: np.ndarray  # how often each id is a key, float32 [documents, D]
    first: np.ndarray  # first row of each document, int64 [documents + 1]
    query: np.ndarray  # query token of each row, int64 [rows]
    targets: np.ndarray  # how often each id is to be predicted there, float32 [rows, D]

    @property
    def document(self) -> np.ndarray:
        """Document of each row, int64 [rows]."""
        return np.repeat(np.arange(len(self.keys)), np.diff(self.first))

    def averages(self) -> tuple[np.ndarray, np.ndarray]:
        """All that uniform attention needs: key shares and targets, float64 [documents, D]."""
        shares = self.keys.astype(np.float64)
        shares /= shares.sum(axis=1, keepdims=True)
        targets, some = np.zeros_like(shares), np.diff(self.first) > 0
        targets[some] = np.add.reduceat(self.targets.astype(np.float64), self.first[:-1][some])
        return shares, targets

    def by_document(self) -> "CountRows":
        """One row per document, whatever the query: enough for uniform attention."""
        documents, targets = len(self.keys), self.averages()[1].astype(np.float32)
        return CountRows(self.keys, np.arange(documents + 1), np.full(documents, MASK), targets)


def count_rows(
    D: int, tokens: np.ndarray, shown: np.ndarray, selected: np.ndarray, attended: bool = True
) -> CountRows:
    """Reduce masked documents, [documents, longest], to counts; are selected words `attended`?"""
    documents = len(tokens)
    row = np.arange(documents)[:, None]
    key = (shown != PAD) & (attended | ~selected)
    keys = np.bincount((row * D + shown)[key], minlength=documents * D).reshape(documents, D)
    place, index = np.unique((row * D + shown)[selected], return_inverse=True)
    targets = np.bincount(index * D + tokens[selected], minlength=len(place) * D)
    first = np.searchsorted(place, np.arange(documents + 1) * D)
    targets = targets.reshape(len(place), D).astype(np.float32)
    return CountRows(keys.astype(np.float32), first, place % D, targets)


def draw(
    words: TopicModelSettings,
    block: DocumentSettings,
    use: str,
    tau: int | None = None,
    masked_attended: bool = True,
    seed: int = 0,
) -> CountRows:
    """Masked documents as counts; another `use` gives other documents, the same use the same ones.

    Topics are tau a document, or else of the block's Dirichlet distribution. With `masked_attended`
    False it is as in the authors' code: START and END frame the words, and selected positions are
    no keys.
    """
    rng = generator("topic documents", use, tau, seed)
    concentration = None if tau else block.concentration
    weights = topic_weights(rng, words.T, block.documents, tau, concentration)
    tokens = draw_documents(rng, words.v, weights, block.N, not masked_attended)
    shown, selected = mask_documents(rng, tokens, words)
    return count_rows(SPECIAL + words.T * words.v, tokens, shown, selected, masked_attended)
