"""Bag of words of a corpus: which words count as words, and how often each article uses them."""

from array import array
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import scipy.sparse

from onelayer.errors import OnelayerError
from onelayer.settings.topics import WordSettings
from onelayer.text.corpus.articles import words


@dataclass(frozen=True)
class Bag:
    """Word counts of a corpus.

    `vocabulary` has one row per word, alphabetically: `word`, `documents` (how many articles use
    it), `occurrences` (how often in all).
    """

    vocabulary: pd.DataFrame
    counts: scipy.sparse.csr_matrix  # [documents, words] int32

    @property
    def lengths(self) -> np.ndarray:
        """How many different words each document has, [documents]."""
        return np.diff(self.counts.indptr)

    def documents(self, rows: np.ndarray) -> "Bag":
        """Some of the documents, over the same vocabulary."""
        return Bag(self.vocabulary, self.counts[rows])


def count_words(
    texts: Iterable[str], settings: WordSettings, known: Callable[[str], bool] = lambda word: True
) -> Bag:
    """Count the words that a topic model should see; texts are read once.

    A word is a lower-cased run of at least `min_letters` letters, no stop word (gensim's list),
    used by `min_documents` articles or more and by at most `max_document_share` of them, `known`
    (to every tokenizer as one piece), and among the `max_words` most widespread of such words.

    Raises:
        OnelayerError: no word is left; the line says after which condition.
    """
    # All of gensim comes with it, which takes longer to load than many a corpus to count.
    from gensim.parsing.preprocessing import STOPWORDS

    ids: dict[str, int] = {}
    # Machine integers: lists of Python's own would take ten times the memory.
    ends, indices, counts = array("q", [0]), array("i"), array("i")
    for text in texts:
        for word, count in Counter(words(text)).items():
            if len(word) >= settings.min_letters:
                indices.append(ids.setdefault(word, len(ids)))
                counts.append(count)
        ends.append(len(indices))
    arrays = np.array(counts, np.int32), np.array(indices, np.int32), np.array(ends)
    articles = len(ends) - 1
    everything = scipy.sparse.csr_matrix(arrays, shape=(articles, len(ids)))
    documents = np.bincount(arrays[1], minlength=len(ids))
    occurrences = np.bincount(arrays[1], arrays[0], minlength=len(ids)).astype(np.int64)
    most = settings.max_document_share * articles
    candidates = [
        word
        for word, place in ids.items()
        if settings.min_documents <= documents[place] <= most and word not in STOPWORDS
    ]
    if not candidates:
        raise OnelayerError(
            f"topics.words: no word of {articles} articles has min_letters "
            f"{settings.min_letters}, min_documents {settings.min_documents} and "
            f"max_document_share {settings.max_document_share}"
        )
    chosen = [word for word in candidates if known(word)]
    if not chosen:
        raise OnelayerError("topics.words.single_piece_in: no word is one piece in every tokenizer")
    widespread = sorted(chosen, key=lambda word: (-documents[ids[word]], word))
    chosen = sorted(widespread[: settings.max_words])
    columns = [ids[word] for word in chosen]
    vocabulary = pd.DataFrame(
        {"word": chosen, "documents": documents[columns], "occurrences": occurrences[columns]}
    )
    counted = everything[:, columns]
    counted.sort_indices()
    return Bag(vocabulary, counted)


def write_bag(bag: Bag, vocabulary: Path, counts: Path) -> None:
    """Write the vocabulary as Parquet and the counts as a sparse `.npz`."""
    bag.vocabulary.to_parquet(vocabulary, index=False, compression="zstd")
    # save_npz appends .npz to any other name, and a temporary name must stay as it is.
    with open(counts, "wb") as file:
        scipy.sparse.save_npz(file, bag.counts)


def read_bag(vocabulary: Path, counts: Path) -> Bag:
    """Read what `write_bag` wrote."""
    return Bag(pd.read_parquet(vocabulary), scipy.sparse.load_npz(counts).tocsr())
