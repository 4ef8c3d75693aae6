"""The training text: articles as segments of word ids, and the batches in which they are read.

Segments never mix articles: what the probe looks for is which words go together in one. Batches
hold segments of (almost) one length, cut to the shortest, so that nothing is padded.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from tokenizers import Tokenizer

from onelayer.errors import OnelayerError
from onelayer.seeds import generator, stable_seed
from onelayer.text.corpus.articles import BATCH, tokens

# A text, and of each word which of an input's articles (or topics) it is of, if there are several.
COLUMNS = {"ids": pa.list_(pa.int32()), "held_out": pa.bool_(), "articles": pa.list_(pa.int16())}


class EncodedArticles(NamedTuple):
    """The articles of a corpus as word ids."""

    ids: np.ndarray  # all articles one after the other, without special pieces, [tokens] int32
    starts: np.ndarray  # where each article starts in `ids`, and the end, [articles + 1] int64
    held_out: np.ndarray  # articles that are never trained on, [articles] bool
    sentence_ends: np.ndarray  # ids of full stop, question mark and exclamation mark


def encode_articles(
    articles: Iterable[tuple[str, str]], tokenizer: Tokenizer, held_out_share: float
) -> Iterator[dict]:
    """Rows `ids` and `held_out` of articles, `id` and `text`; what is held out follows from ids."""
    for batch in _batches(articles):
        texts = [tokens(text) for _, text in batch]
        encodings = tokenizer.encode_batch(texts, is_pretokenized=True, add_special_tokens=False)
        for (article, _), encoding in zip(batch, encodings, strict=True):
            held_out = stable_seed("held out", article) < held_out_share * 2**32
            yield {"ids": encoding.ids, "held_out": held_out}


def write_texts(rows: Iterable[dict], path: Path, columns: Sequence[str]) -> None:
    """Write rows, some of `COLUMNS`, to an Arrow file, batch by batch."""
    schema = pa.schema({name: COLUMNS[name] for name in columns})
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, schema) as writer:
        for batch in _batches(rows):
            writer.write_batch(pa.RecordBatch.from_pylist(batch, schema))


def _batches(rows: Iterable) -> Iterator[list]:
    rows = iter(rows)
    return iter(lambda: list(islice(rows, BATCH)), [])


def read_texts(path: Path) -> pa.Table:
    """What `write_texts` wrote, mapped from the disk."""
    return pa.ipc.open_stream(pa.memory_map(str(path))).read_all()


def read_encoded(path: Path, pieces: Sequence[str]) -> EncodedArticles:
    """Encoded articles, or mixed ones; `pieces` are all of the vocabulary, by id."""
    rows = read_texts(path)
    lengths = pc.list_value_length(rows["ids"]).to_numpy()
    return EncodedArticles(
        pc.list_flatten(rows["ids"]).to_numpy(),
        np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]),
        rows["held_out"].to_numpy(),
        np.flatnonzero([piece in (".", "?", "!") for piece in pieces]),
    )


class Segments(NamedTuple):
    """Pieces of articles."""

    name: str  # `training` or `held-out`, under which their masks are drawn
    ids: np.ndarray  # of the words of all segments, without special pieces, [tokens] int64
    starts: np.ndarray  # where each segment starts in `ids`, and the end, [segments + 1]
    # Where in each segment its second half starts, [segments]: after the sentence end that is
    # nearest to its middle, or at the middle itself if there is none.
    middles: np.ndarray

    @property
    def lengths(self) -> np.ndarray:
        """Words of each segment, [segments]."""
        return np.diff(self.starts)

    def places(self, rows: np.ndarray) -> np.ndarray:
        """Indices into `ids` of these segments, cut to the shortest, [rows, words]."""
        return self.starts[rows][:, None] + np.arange(self.lengths[rows].min())


def segment(encoded: EncodedArticles, held_out: bool, longest: int) -> Segments:
    """The training or held-out articles, in segments of at most `longest` words, equally long."""
    parts = []
    for place in np.flatnonzero(encoded.held_out == held_out):
        words = np.arange(*encoded.starts[place : place + 2])
        parts += np.array_split(words, -(-len(words) // longest)) if len(words) else []
    parts = [part for part in parts if len(part) >= 2]
    kind = "held-out" if held_out else "training"
    if not parts:
        found = f"no {kind} article of two words or more is left of {len(encoded.held_out)}"
        raise OnelayerError(f"pretraining.text.held_out_share: {found}")
    ends, middles = np.isin(encoded.ids, encoded.sentence_ends), []
    for part in parts:
        begin = np.flatnonzero(ends[part[:-1]]) + 1  # where sentences begin
        middle = begin[np.abs(begin - len(part) / 2).argmin()] if len(begin) else len(part) // 2
        middles.append(int(middle))
    ids = encoded.ids[np.concatenate(parts)].astype(np.int64)
    starts = np.cumsum([0] + [len(part) for part in parts])
    return Segments(kind, ids, starts, np.array(middles))


class Batch(NamedTuple):
    """Which segments are read together, and when."""

    rows: np.ndarray  # the segments, [rows]
    epoch: int  # how often the text was read before
    step: int  # batches read before
    before: int  # tokens seen before
    after: int  # tokens seen with it; special pieces count


def plan_batches(
    segments: Segments, budget: int, batch_tokens: int, special: int, seed: int
) -> list[Batch]:
    """All batches until the budget (tokens seen), each epoch in a new order.

    A batch has at most `batch_tokens`, but at least one segment, each with `special` more pieces.
    """
    plan, epoch, before = [], 0, 0
    while before < budget:
        rng = generator("order of segments", seed, epoch)
        # Segments of similar length together, each in exactly one group; ties in random order.
        order = np.lexsort((rng.random(len(segments.lengths)), segments.lengths))
        lengths, edges = segments.lengths[order] + special, [0]
        while edges[-1] < len(order):
            edges.append(edges[-1] + max(1, batch_tokens // int(lengths[edges[-1]])))
        groups = np.split(order, edges[1:-1])
        for place in rng.permutation(len(groups)):
            if before >= budget:
                break
            rows = groups[place]
            after = before + len(rows) * (int(segments.lengths[rows].min()) + special)
            plan.append(Batch(rows, epoch, len(plan), before, after))
            before = after
        epoch += 1
    return plan
