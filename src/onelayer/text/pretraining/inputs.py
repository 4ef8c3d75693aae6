"""Inputs of several articles, and inputs drawn from a topic model: the text of a pretraining.

In the theory of Li, Li & Risteski (2023) a document is a bag of words of tau topics, and how much
attention topics earn depends on tau; with one topic a document, none. An encyclopedia's article
has one topic. Here pieces of several articles stand in turn, or their words in random order, or
words are drawn from the topics of the fitted topic model, as the theory has it.
"""

from collections.abc import Iterator, Sequence
from itertools import chain

import numpy as np
import pandas as pd
from datasets import Dataset, Features, List, Value

from onelayer.compute.seeds import generator
from onelayer.errors import OnelayerError
from onelayer.settings.pretraining import InputSettings
from onelayer.text.pretraining.text import EncodedArticles
from onelayer.text.topics.model import Topics

# As `text.ENCODED`, and of each word which of the input's articles (or topics) it is of.
MIXED = Features(
    {"ids": List(Value("int32")), "held_out": Value("bool"), "articles": List(Value("int16"))}
)
ALIKE = 32  # groups among which articles of about one length are chosen


def mix_articles(
    encoded: EncodedArticles, settings: InputSettings, word_probability: np.ndarray | None = None
) -> Dataset:
    """Every article, several in one text; or as many words drawn from topics.

    Once, or of `draws` texts each time among others.

    Articles of about one length stand together, so that their pieces end together; what is held
    out stays so. `word_probability` is, for `drawn` words, P(piece | topic), [topics, pieces].

    Returns:
        `ids`, `held_out`, `articles`, as `MIXED`, of each text.

    Raises:
        OnelayerError: a text would have more topics than there are.
    """
    drawn = settings.order == "drawn"
    if drawn and settings.articles > len(word_probability):
        raise OnelayerError(
            f"inputs.articles: {settings.articles}; the topic model has {len(word_probability)} "
            "topics to draw words from"
        )
    rows = []
    for held_out in (False, True):
        rng = generator("inputs", settings.seed, settings.articles, held_out)
        again = 1 if drawn or held_out else settings.draws
        groups = (_groups(encoded, held_out, settings.articles, rng) for _ in range(again))
        for group in chain.from_iterable(groups):
            texts = [encoded.ids[encoded.starts[a] : encoded.starts[a + 1]] for a in group]
            for _ in range(settings.draws if drawn and not held_out else 1):
                if drawn:
                    ids, of = _draw(sum(map(len, texts)), settings.articles, word_probability, rng)
                else:
                    ids, of = _interleave(texts, settings.piece)
                if settings.order == "shuffled":
                    order = rng.permutation(len(ids))
                    ids, of = ids[order], of[order]
                rows.append({"ids": ids, "held_out": held_out, "articles": of})
    return Dataset.from_list(rows, features=MIXED)


def probability_of_pieces(topics: Topics, words: pd.DataFrame, pieces: Sequence[str]) -> np.ndarray:
    """P(piece | topic), [topics, pieces], of those `word`s of a topic model that are pieces."""
    place = pd.Index(pieces).get_indexer(words["word"])
    probability = topics.word_probability[:, place >= 0]
    of_pieces = np.zeros((len(probability), len(pieces)))
    of_pieces[:, place[place >= 0]] = probability / probability.sum(axis=1, keepdims=True)
    return of_pieces


def _groups(
    encoded: EncodedArticles, held_out: bool, size: int, rng: np.random.Generator
) -> Iterator[np.ndarray]:
    """Articles that stand together, `size` of about one length; the last group may be smaller."""
    lengths = np.diff(encoded.starts)
    places = rng.permutation(np.flatnonzero((encoded.held_out == held_out) & (lengths > 0)))
    for first in range(0, len(places), ALIKE * size):
        alike = places[first : first + ALIKE * size]
        alike = alike[np.argsort(lengths[alike], kind="stable")]
        yield from np.split(alike, range(size, len(alike), size))


def _interleave(texts: Sequence[np.ndarray], piece: int) -> tuple[np.ndarray, np.ndarray]:
    """Pieces of the texts in turn until all have ended: their ids, and which text each is of."""
    ids = np.concatenate(texts)
    of = np.repeat(np.arange(len(texts)), [len(text) for text in texts])
    turn = np.concatenate([np.arange(len(text)) // piece for text in texts])
    order = np.lexsort((of, turn))
    return ids[order], of[order]


def _draw(
    words: int, topics: int, word_probability: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Words of some topics, each topic as likely: a document of the theory's generative model."""
    chosen = rng.choice(len(word_probability), size=topics, replace=False)
    of = rng.integers(topics, size=words)
    ids = np.empty(words, dtype=np.int64)
    for place, topic in enumerate(chosen):
        mine = of == place
        ids[mine] = rng.choice(
            word_probability.shape[1], size=int(mine.sum()), p=word_probability[topic]
        )
    return ids, of


def input_sample(
    rows: Dataset, longest: int, count: int, seed: int
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Some of the inputs as they are trained on: word ids, and which article each word is of.

    One of each text drawn, without replacement: the first of the equal parts into which it is cut,
    each at most `longest` words.
    """
    order = generator("probed inputs", seed).permutation(len(rows))[:count]
    inputs = []
    for row in rows.select(np.sort(order), new_fingerprint="sample"):
        parts = -(-len(row["ids"]) // longest)
        size = len(np.array_split(np.arange(len(row["ids"])), parts)[0])
        inputs.append((np.array(row["ids"][:size]), np.array(row["articles"][:size])))
    return inputs
