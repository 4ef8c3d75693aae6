"""Bag of words of a corpus: which words count as words, and how often each article uses them.

A corpus in one piece is counted at once. Of a corpus in parts, each part's words are listed, the
lists are merged and pruned to the vocabulary, and each part is counted in it; the result is the
same, and no step holds more than a part, or the vocabulary, in memory.
"""

import heapq
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import scipy.sparse
from tokenizers import Tokenizer

from onelayer.errors import OnelayerError
from onelayer.settings.topics import WordSettings
from onelayer.text.corpus.articles import words
from onelayer.text.models.tokenizer import piece_id
from onelayer.text.topics.bags import Bag, BagOfWords, StoredBag

WORDS_AT_ONCE = 10_000  # of a list on disk
_ARTICLES = b"articles"
_LIST = pa.schema([("word", pa.string()), ("documents", pa.int64()), ("occurrences", pa.int64())])


class WordUse(NamedTuple):
    """How a corpus, or a part of it, uses a word."""

    word: str  # lower-case
    documents: int  # how many articles use it
    occurrences: int  # how often in all


def count_words(
    texts: Sequence[str], settings: WordSettings, tokenizers: Sequence[Tokenizer] = ()
) -> BagOfWords:
    """Count the words that a topic model should see, those of `prune`, in a corpus in one piece."""
    uses = list_words(texts, settings.min_letters)
    vocabulary = prune(uses, len(texts), settings, tokenizers)
    return BagOfWords(vocabulary, count_in_vocabulary(texts, vocabulary))


def list_words(texts: Iterable[str], min_letters: int) -> list[WordUse]:
    """Every word of at least `min_letters` letters, alphabetically, and how the texts use it."""
    documents: Counter[str] = Counter()
    occurrences: Counter[str] = Counter()
    for text in texts:
        counts = Counter(word for word in words(text) if len(word) >= min_letters)
        documents.update(counts.keys())
        occurrences.update(counts)
    return [WordUse(word, documents[word], occurrences[word]) for word in sorted(documents)]


def merge_words(parts: Iterable[Iterable[WordUse]]) -> Iterable[WordUse]:
    """The word lists of several parts as one, alphabetically; reads each list once, in order."""
    merged = heapq.merge(*parts, key=attrgetter("word"))
    for word, uses in groupby(merged, key=attrgetter("word")):
        _, documents, occurrences = zip(*uses, strict=True)
        yield WordUse(word, sum(documents), sum(occurrences))


def prune(
    uses: Iterable[WordUse],
    articles: int,
    settings: WordSettings,
    tokenizers: Sequence[Tokenizer] = (),
) -> pd.DataFrame:
    """The words that a topic model should see.

    A word is a lower-cased run of at least `min_letters` letters, no stop word (gensim's list),
    used by `min_documents` articles or more and by at most `max_document_share` of them, exactly
    one piece in each tokenizer of `single_piece_in`, and among the `max_words` most widespread of
    such words. All words, alphabetically, are read once; only what is kept is held.

    Returns:
        One row per word, alphabetically: `word`, `documents`, `occurrences`.

    Raises:
        OnelayerError: no word is left; the line says after which condition.
    """
    # All of gensim comes with it, which takes longer to load than many a corpus to count.
    from gensim.parsing.preprocessing import STOPWORDS

    most = settings.max_document_share * articles
    any_kept = False

    def kept() -> Iterable[WordUse]:
        nonlocal any_kept
        for use in uses:
            if settings.min_documents <= use.documents <= most and use.word not in STOPWORDS:
                any_kept = True
                if all(piece_id(tokenizer, use.word) is not None for tokenizer in tokenizers):
                    yield use

    chosen = kept()
    if (count := settings.max_words) is not None:
        widespread = heapq.nsmallest(count, chosen, key=lambda use: (-use.documents, use.word))
        chosen = sorted(widespread)
    chosen = list(chosen)
    if not any_kept:
        raise OnelayerError(
            f"topics.words: no word of {articles} articles has min_letters "
            f"{settings.min_letters}, min_documents {settings.min_documents} and "
            f"max_document_share {settings.max_document_share}"
        )
    if not chosen:
        raise OnelayerError("topics.words.single_piece_in: no word is one piece in every tokenizer")
    return pd.DataFrame(chosen, columns=list(WordUse._fields))


def count_in_vocabulary(texts: Iterable[str], vocabulary: pd.DataFrame) -> scipy.sparse.csr_matrix:
    """How often each text uses each word of the vocabulary, [documents, words] int32."""
    column = {word: index for index, word in enumerate(vocabulary["word"])}
    # Machine integers: lists of Python's own would take ten times the memory.
    ends, indices, counts = array("q", [0]), array("i"), array("i")
    for text in texts:
        uses = Counter(column[word] for word in words(text) if word in column)
        for index in sorted(uses):
            indices.append(index)
            counts.append(uses[index])
        ends.append(len(indices))
    arrays = np.array(counts, np.int32), np.array(indices, np.int32), np.array(ends)
    return scipy.sparse.csr_matrix(arrays, shape=(len(ends) - 1, len(column)))


def write_bag_of_words(bag: BagOfWords, vocabulary: Path, counts: Path) -> None:
    """Write the vocabulary as Parquet and the counts as a sparse `.npz`."""
    bag.vocabulary.to_parquet(vocabulary, index=False, compression="zstd")
    # save_npz appends .npz to any other name, and a temporary name must stay as it is.
    with open(counts, "wb") as file:
        scipy.sparse.save_npz(file, bag.counts)


def read_bag_of_words(vocabulary: Path, counts: Sequence[Path]) -> Bag:
    """Read what `write_bag_of_words` wrote; or open the counts of a corpus in parts, in order."""
    table = pd.read_parquet(vocabulary)
    if [path.suffix for path in counts] == [".npz"]:
        return BagOfWords(table, scipy.sparse.load_npz(counts[0]).tocsr())
    return StoredBag(table, tuple(counts))


def write_word_list(texts: Iterable[str], min_letters: int, path: Path) -> None:
    """List the words of texts, and write them and how many texts there are."""
    articles = 0

    def counted() -> Iterator[str]:
        nonlocal articles
        for text in texts:
            articles += 1
            yield text

    uses = [use._asdict() for use in list_words(counted(), min_letters)]
    table = pa.Table.from_pylist(uses, _LIST.with_metadata({_ARTICLES: str(articles)}))
    pq.write_table(table, path, compression="zstd", row_group_size=WORDS_AT_ONCE)


def read_word_list(path: Path) -> Iterator[WordUse]:
    """The words of `write_word_list`, in order, no more than `WORDS_AT_ONCE` in memory."""
    # With pre_buffer Arrow reads ahead until it holds the whole file.
    with pq.ParquetFile(path, pre_buffer=False) as file:
        for batch in file.iter_batches(batch_size=WORDS_AT_ONCE):
            columns = (batch[name].to_pylist() for name in WordUse._fields)
            yield from map(WordUse._make, zip(*columns, strict=True))


def articles_listed(path: Path) -> int:
    """How many articles the words come from."""
    return int(pq.read_schema(path).metadata[_ARTICLES])
