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
    """Word counts of a corpus."""

    # A word a row, alphabetically: `word`, `documents` (that use it), `occurrences` (in all).
    vocabulary: pd.DataFrame
    counts: scipy.sparse.csr_matrix  # [documents, words] int32


def count_words(
    texts: Callable[[], Iterable[str]], settings: WordSettings, known=lambda word: True
) -> Bag:
    """Count the words that a topic model should see, in texts that are read twice.

    `texts()` gives them, from the first on. The words are as `WordSettings` says, no stop words
    (gensim's list), and `known` (to every tokenizer as one piece); an OnelayerError says where none
    is left. Memory grows with the counts of the words that are kept alone.
    """
    # All of gensim comes with it, which takes longer to load than many a corpus to count.
    from gensim.parsing.preprocessing import STOPWORDS

    documents, articles = Counter(), 0  # that use a word; in all
    for text in texts():
        documents.update(set(words(text)))
        articles += 1
    least, most = settings.min_documents, settings.max_document_share * articles
    fitting = [word for word, used_by in documents.items() if least <= used_by <= most]
    fitting = [w for w in fitting if len(w) >= settings.min_letters and w not in STOPWORDS]
    chosen = [word for word in fitting if known(word)]
    if not chosen:
        problem = f"has {settings.min_letters} letters and is in {least} to {most:g} articles"
        problem = "is one piece in every tokenizer (`single_piece_in`)" if fitting else problem
        raise OnelayerError(f"topics.words: no word of {articles} articles {problem}")
    by_use = sorted(chosen, key=lambda word: (-documents[word], word))
    chosen = sorted(by_use[: settings.max_words])
    column = {word: place for place, word in enumerate(chosen)}
    columns, counts, starts = array("i"), array("i"), array("q", [0])
    for text in texts():
        found = Counter(filter(column.__contains__, words(text)))
        columns.extend(map(column.get, found))
        counts.extend(found.values())
        starts.append(len(columns))
    counts = scipy.sparse.csr_matrix((counts, columns, starts), (articles, len(chosen)), np.int32)
    counts.sort_indices()
    vocabulary = {"word": chosen, "documents": [documents[word] for word in chosen]}
    return Bag(pd.DataFrame(vocabulary | {"occurrences": counts.sum(axis=0, dtype=int).A1}), counts)


def write_bag(bag: Bag, vocabulary: Path, counts: Path) -> None:
    """Write the vocabulary as Parquet and the counts as a sparse `.npz`."""
    bag.vocabulary.to_parquet(vocabulary, index=False, compression="zstd")
    scipy.sparse.save_npz(counts, bag.counts)


def read_bag(vocabulary: Path, counts: Path) -> Bag:
    """Read what `write_bag` wrote."""
    return Bag(pd.read_parquet(vocabulary), scipy.sparse.load_npz(counts).tocsr())
