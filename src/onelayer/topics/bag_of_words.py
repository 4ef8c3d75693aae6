"""Bag of words of a corpus: which words count as words, and how often each article uses them."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import scipy.sparse
from gensim.parsing.preprocessing import STOPWORDS
from tokenizers import Tokenizer

from onelayer.corpus.articles import words
from onelayer.errors import OnelayerError
from onelayer.models.tokenizer import piece_id
from onelayer.settings.topics import WordSettings


@dataclass(frozen=True)
class BagOfWords:
    """Word counts of a corpus.

    Attributes:
        vocabulary: one row per word, alphabetically: `word`, `documents` (how many articles use
            it), `occurrences` (how often in all).
        counts: [documents, words] int32, CSR.
    """

    vocabulary: pd.DataFrame
    counts: scipy.sparse.csr_matrix

    @property
    def words(self) -> list[str]:
        """The vocabulary's words, in column order of `counts`."""
        return self.vocabulary["word"].tolist()

    def documents(self) -> "Documents":
        """The articles as gensim reads them."""
        return Documents(self.counts)


class Documents:
    """Articles as lists of (word id, count); iterable as often as needed, never all in memory."""

    def __init__(self, counts: scipy.sparse.csr_matrix) -> None:
        self.counts = counts

    def __len__(self) -> int:
        return self.counts.shape[0]

    def __iter__(self) -> Iterator[list[tuple[int, int]]]:
        indptr, indices, data = self.counts.indptr, self.counts.indices, self.counts.data
        for start, end in pairwise(indptr):
            yield list(zip(indices[start:end].tolist(), data[start:end].tolist(), strict=True))


def count_words(
    texts: Sequence[str], settings: WordSettings, tokenizers: Iterable[Tokenizer] = ()
) -> BagOfWords:
    """Count the words that a topic model should see.

    A word is a lower-cased run of at least `min_letters` letters, no stop word (gensim's list),
    used by `min_documents` articles or more and by at most `max_document_share` of them, and
    exactly one piece in each tokenizer given.

    Raises:
        OnelayerError: no word is left; the line says after which condition.
    """
    counted = [Counter(w for w in words(t) if len(w) >= settings.min_letters) for t in texts]
    documents = Counter(word for counts in counted for word in counts)
    most = settings.max_document_share * len(counted)
    kept = sorted(
        word
        for word, n in documents.items()
        if settings.min_documents <= n <= most and word not in STOPWORDS
    )
    if not kept:
        raise OnelayerError(
            f"topics.words: no word of {len(counted)} articles has min_letters "
            f"{settings.min_letters}, min_documents {settings.min_documents} and "
            f"max_document_share {settings.max_document_share}"
        )
    for tokenizer in tokenizers:
        kept = [word for word in kept if piece_id(tokenizer, word) is not None]
    if not kept:
        raise OnelayerError("topics.words.single_piece_in: no word is one piece in every tokenizer")
    return _assemble(kept, documents, counted)


def _assemble(kept: list[str], documents: Counter, counted: list[Counter]) -> BagOfWords:
    column = {word: index for index, word in enumerate(kept)}
    rows = [
        sorted((column[word], n) for word, n in counts.items() if word in column)
        for counts in counted
    ]
    indptr = np.cumsum([0] + [len(row) for row in rows])
    indices = np.array([index for row in rows for index, _ in row], dtype=np.int32)
    data = np.array([n for row in rows for _, n in row], dtype=np.int32)
    counts = scipy.sparse.csr_matrix((data, indices, indptr), shape=(len(rows), len(kept)))
    vocabulary = pd.DataFrame(
        {
            "word": kept,
            "documents": [documents[word] for word in kept],
            "occurrences": np.asarray(counts.sum(axis=0)).ravel().astype(np.int64),
        }
    )
    return BagOfWords(vocabulary, counts)


def write_bag_of_words(bag: BagOfWords, vocabulary: Path, counts: Path) -> None:
    """Write the vocabulary as Parquet and the counts as a sparse `.npz` without pickle."""
    bag.vocabulary.to_parquet(vocabulary, index=False, compression="zstd")
    # save_npz appends .npz to any other name, and a temporary name must stay as it is.
    with open(counts, "wb") as file:
        scipy.sparse.save_npz(file, bag.counts)


def read_bag_of_words(vocabulary: Path, counts: Path) -> BagOfWords:
    """Read what `write_bag_of_words` wrote."""
    return BagOfWords(pd.read_parquet(vocabulary), scipy.sparse.load_npz(counts).tocsr())
