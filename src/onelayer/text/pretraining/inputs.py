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
import pyarrow as pa

from onelayer.errors import OnelayerError
from onelayer.seeds import generator
from onelayer.settings.pretraining import InputSettings
from onelayer.text.pretraining.text import EncodedArticles

ALIKE = 32  # groups among which articles of about one length are chosen


def mix_articles(
    encoded: EncodedArticles, settings: InputSettings, word_probability: np.ndarray | None = None
) -> Iterator[dict]:
    """Every article, several in one text, `draws` times in other company; or words of topics.

    Articles of about one length stand together, so that their pieces end together; what is held
    out stays so. `word_probability` is, for `drawn` words, P(piece | topic), [topics, pieces].
    Yields `ids`, `held_out`, and of each word which of the text's `articles` (or topics) it is of.
    """
    drawn = settings.order == "drawn"
    if drawn and settings.articles > len(word_probability):
        found = f"the topic model has {len(word_probability)} topics to draw words from"
        raise OnelayerError(f"inputs.articles: {settings.articles}; {found}")
    for held_out in (False, True):
        rng = generator("inputs", settings.seed, settings.articles, held_out)
        times = 1 if held_out else settings.draws
        # Articles stand in other company each time; words of topics are drawn anew at once.
        rounds, draws = (1, times) if drawn else (times, 1)
        groups = (_groups(encoded, held_out, settings.articles, rng) for _ in range(rounds))
        for group in chain.from_iterable(groups):
            texts = [encoded.ids[encoded.starts[a] : encoded.starts[a + 1]] for a in group]
            for _ in range(draws):
                if drawn:
                    ids, of = _draw(sum(map(len, texts)), settings.articles, word_probability, rng)
                else:  # pieces of the texts in turn until all have ended
                    of = np.repeat(np.arange(len(texts)), [len(text) for text in texts])
                    turn = [np.arange(len(text)) // settings.piece for text in texts]
                    order = np.lexsort((of, np.concatenate(turn)))
                    ids, of = np.concatenate(texts)[order], of[order]
                if settings.order == "shuffled":
                    order = rng.permutation(len(ids))
                    ids, of = ids[order], of[order]
                yield {"ids": ids, "held_out": held_out, "articles": of}


def probability_of_pieces(
    word_probability: np.ndarray, words: Sequence[str], pieces: Sequence[str]
) -> np.ndarray:
    """P(piece | topic), [topics, pieces], of those words of a topic model that are pieces."""
    place = pd.Index(pieces).get_indexer(words)
    probability = word_probability[:, place >= 0]
    of_pieces = np.zeros((len(probability), len(pieces)))
    of_pieces[:, place[place >= 0]] = probability / probability.sum(axis=1, keepdims=True)
    return of_pieces


def input_sample(
    rows: pa.Table, longest: int, count: int, seed: int
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Some inputs as they are trained on: word ids, and which article each word is of.

    One of each text drawn, without replacement: the first of the equal parts into which it is cut,
    each at most `longest` words.
    """
    order = generator("probed inputs", seed).permutation(len(rows))[:count]
    inputs = []
    for row in rows.take(np.sort(order)).to_pylist():
        size = -(-len(row["ids"]) // -(-len(row["ids"]) // longest))
        inputs.append((np.array(row["ids"][:size]), np.array(row["articles"][:size])))
    return inputs


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


def _draw(
    words: int, topics: int, word_probability: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Words of some topics, each topic as likely: a document of the theory's generative model."""
    chosen = rng.choice(len(word_probability), size=topics, replace=False)
    of = rng.integers(topics, size=words)
    ids, pieces = np.empty(words, dtype=np.int64), word_probability.shape[1]
    for place, topic in enumerate(chosen):
        mine = of == place
        ids[mine] = rng.choice(pieces, size=int(mine.sum()), p=word_probability[topic])
    return ids, of
