"""Bag of words of a corpus: which words count as words, and how often each article uses them."""

import itertools
import tempfile
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np
import pandas as pd
import scipy.sparse

from onelayer.errors import OnelayerError
from onelayer.settings.topics import WordSettings
from onelayer.text.corpus.articles import BATCH, words


@dataclass(frozen=True)
class Bag:
    """Word counts of a corpus."""

    # A word a row, alphabetically: `word`, `documents` (that use it), `occurrences` (in all).
    vocabulary: pd.DataFrame
    counts: scipy.sparse.csr_matrix  # [documents, words] int32


def count_words(
    texts: Iterable[str],
    settings: WordSettings,
    known: Callable[[str], bool] = lambda word: True,
    scratch: Path | None = None,
) -> Bag:
    """Count the words that a topic model should see; texts are read once.

    They are words as `WordSettings` says, no stop words (gensim's list), and `known` (to every
    tokenizer as one piece); an OnelayerError says where none is left. Until all are counted they
    wait in a file in `scratch`: memory grows with the words that are kept alone.
    """
    # All of gensim comes with it, which takes longer to load than many a corpus to count.
    from gensim.parsing.preprocessing import STOPWORDS

    ids: dict[str, int] = {}
    texts, lengths = iter(texts), []
    with tempfile.TemporaryFile(dir=scratch) as waiting:
        while batch := list(itertools.islice(texts, BATCH)):
            pairs = array("i")  # a word, how often; document after document
            for text in batch:
                before = len(pairs)
                for word, count in Counter(words(text)).items():
                    if len(word) >= settings.min_letters:
                        pairs.extend((ids.setdefault(word, len(ids)), count))
                lengths.append((len(pairs) - before) // 2)
            pairs.tofile(waiting)
        documents, occurrences = np.zeros((2, len(ids)), np.int64)
        for pairs, _ in _batches(waiting, lengths):
            documents += np.bincount(pairs[:, 0], minlength=len(ids))
            occurrences += np.bincount(pairs[:, 0], pairs[:, 1], len(ids)).astype(np.int64)
        used_by = dict(zip(ids, documents.tolist(), strict=True))
        articles, least = len(lengths), settings.min_documents
        most = settings.max_document_share * articles
        fitting = [w for w, n in used_by.items() if least <= n <= most and w not in STOPWORDS]
        chosen = [word for word in fitting if known(word)]
        if not chosen:
            problem = f"has {settings.min_letters} letters and is in {least} to {most:g} articles"
            problem = "is one piece in every tokenizer (`single_piece_in`)" if fitting else problem
            raise OnelayerError(f"topics.words: no word of {articles} articles {problem}")
        by_use = sorted(chosen, key=lambda word: (-used_by[word], word))
        chosen = sorted(by_use[: settings.max_words])
        columns = [ids[word] for word in chosen]
        vocabulary = {"documents": documents[columns], "occurrences": occurrences[columns]}
        parts = []
        for pairs, of in _batches(waiting, lengths):
            arrays = pairs[:, 1], pairs[:, 0], np.cumsum([0, *of])
            part = scipy.sparse.csr_matrix(arrays, shape=(len(of), len(ids)))
            parts.append(part[:, columns])
    counts = scipy.sparse.vstack(parts, format="csr")
    counts.sort_indices()
    return Bag(pd.DataFrame({"word": chosen} | vocabulary), counts)


def _batches(waiting: BinaryIO, lengths: list[int]) -> Iterator[tuple[np.ndarray, list[int]]]:
    # Pairs of word and count, [n, 2], of some documents at once, and how many each has.
    waiting.seek(0)
    for first in range(0, len(lengths), BATCH):
        of = lengths[first : first + BATCH]
        yield np.fromfile(waiting, np.int32, 2 * sum(of)).reshape(-1, 2), of


def write_bag(bag: Bag, vocabulary: Path, counts: Path) -> None:
    """Write the vocabulary as Parquet and the counts as a sparse `.npz`."""
    bag.vocabulary.to_parquet(vocabulary, index=False, compression="zstd")
    with open(counts, "wb") as file:  # to a path it would append .npz
        scipy.sparse.save_npz(file, bag.counts)


def read_bag(vocabulary: Path, counts: Path) -> Bag:
    """Read what `write_bag` wrote."""
    return Bag(pd.read_parquet(vocabulary), scipy.sparse.load_npz(counts).tocsr())
