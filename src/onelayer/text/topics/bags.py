"""A corpus as word counts, in memory or on disk, read by topic models the same way."""

import json
import os
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import safetensors.numpy
import scipy.sparse

Document = np.ndarray  # int32 [entries, 2], a word's place in the vocabulary and its count


@dataclass(frozen=True)
class Bag(ABC):
    """Word counts of a corpus.

    `vocabulary` has one row per word, alphabetically: `word`, `documents` (how many articles use
    it), `occurrences` (how often in all).
    """

    vocabulary: pd.DataFrame

    @property
    @abstractmethod
    def lengths(self) -> np.ndarray:
        """How many counts of each document are not zero, int64 [documents]."""

    @abstractmethod
    def parts(self) -> Iterator[scipy.sparse.csr_matrix]:
        """The counts, part by part, [documents, words] int32."""

    @abstractmethod
    def documents(self, order: Sequence[int] | None = None) -> Iterator[Document]:
        """The articles, in the corpus's or a given order."""

    @property
    def size(self) -> int:
        """How many documents there are."""
        return len(self.lengths)


@dataclass(frozen=True)
class BagOfWords(Bag):
    """Word counts of a corpus in one piece, [documents, words] int32."""

    counts: scipy.sparse.csr_matrix

    @property
    def lengths(self) -> np.ndarray:
        """As `Bag`."""
        return np.diff(self.counts.indptr)

    def parts(self) -> Iterator[scipy.sparse.csr_matrix]:
        """As `Bag`; here there is one."""
        yield self.counts

    def documents(self, order: Sequence[int] | None = None) -> Iterator[Document]:
        """As `Bag`."""
        counts = self.counts if order is None else self.counts[order]
        entries = _entries(counts)
        for start, end in pairwise(counts.indptr):
            yield entries[start:end]


@dataclass(frozen=True)
class TfIdf(Bag):
    """Weights of words in place of their counts, as gensim's `TfidfModel(normalize=True)` has them.

    Count times log2(documents / documents that use the word), then length 1 of each document.
    """

    counted: Bag

    @property
    def lengths(self) -> np.ndarray:
        """As `Bag`."""
        return self.counted.lengths

    def parts(self) -> Iterator[scipy.sparse.csr_matrix]:
        """Nothing: topic models are fitted document by document."""
        raise NotImplementedError("weights are read document by document")

    def documents(self, order: Sequence[int] | None = None) -> Iterator[Document]:
        """As `Bag`, float64."""
        rarity = np.log2(self.size / self.vocabulary["documents"].to_numpy())
        for entries in self.counted.documents(order):
            weights = entries[:, 1] * rarity[entries[:, 0]]
            yield np.column_stack([entries[:, 0], weights / (np.linalg.norm(weights) or 1)])


@dataclass(frozen=True)
class StoredBag(Bag):
    """Word counts of a corpus in parts, the files of `write_counts` in the corpus's order.

    They stay on disk. In memory are the vocabulary and 16 bytes a document: where its counts lie.
    """

    paths: tuple[Path, ...]

    @property
    def lengths(self) -> np.ndarray:
        """As `Bag`."""
        return np.concatenate([np.diff(ends) for ends in self._ends])

    @cached_property
    def _ends(self) -> list[np.ndarray]:
        """Where each document's counts end, int64 [documents + 1] for every part."""
        return [_tensor(path, "indptr") for path in self.paths]

    def parts(self) -> Iterator[scipy.sparse.csr_matrix]:
        """As `Bag`."""
        for path, ends in zip(self.paths, self._ends, strict=True):
            entries = _tensor(path, "entries")
            arrays = entries[:, 1], entries[:, 0], ends
            yield scipy.sparse.csr_matrix(arrays, shape=(len(ends) - 1, len(self.vocabulary)))

    def documents(self, order: Sequence[int] | None = None) -> Iterator[Document]:
        """As `Bag`, each read when it is its turn."""
        first = np.cumsum([0] + [len(ends) - 1 for ends in self._ends])
        with ExitStack() as stack:
            files = [stack.enter_context(open(p, "rb", buffering=0)) for p in self.paths]
            starts = [_place(path, "entries") for path in self.paths]
            for document in range(self.size) if order is None else order:
                part = int(np.searchsorted(first, document, side="right")) - 1
                ends, row = self._ends[part], document - first[part]
                start, end = int(ends[row]), int(ends[row + 1])
                # Plain reads: mapped pages would count as this process's memory.
                data = os.pread(files[part].fileno(), 8 * (end - start), starts[part] + 8 * start)
                yield np.frombuffer(data, "<i4").reshape(-1, 2)


def write_counts(counts: scipy.sparse.csr_matrix, path: Path) -> None:
    """Write a part's counts so that single documents can be read: `.safetensors`, uncompressed.

    `indptr` int64 [documents + 1]: where each document's entries start and end;
    `entries` int32 [entries, 2]: word id and count.
    """
    arrays = {"indptr": counts.indptr.astype("<i8"), "entries": _entries(counts)}
    safetensors.numpy.save_file(arrays, path)


def _entries(counts: scipy.sparse.csr_matrix) -> np.ndarray:
    """Word id and count of every entry, document after document: int32 [entries, 2]."""
    entries = np.column_stack([counts.indices, counts.data]).astype("<i4")
    return np.ascontiguousarray(entries)


def _place(path: Path, name: str) -> int:
    """Where a tensor's data starts in a safetensors file (bytes)."""
    with open(path, "rb") as file:
        length = int.from_bytes(file.read(8), "little")
        return 8 + length + json.loads(file.read(length))[name]["data_offsets"][0]


def _tensor(path: Path, name: str) -> np.ndarray:
    with safetensors.safe_open(path, framework="numpy") as file:
        return file.get_tensor(name)
