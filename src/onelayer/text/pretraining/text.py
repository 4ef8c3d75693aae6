"""The training text: articles as segments of word ids, and the batches in which they are read.

Segments never mix articles: what the probe looks for is which words go together in one. Batches
hold segments of (almost) one length, cut to the shortest, so that nothing is padded.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow.compute as pc
from datasets import Dataset, Features, List, Value
from tokenizers import Tokenizer

from onelayer.compute.seeds import generator, stable_seed
from onelayer.errors import OnelayerError
from onelayer.settings.pretraining import TextSettings
from onelayer.text.corpus.articles import tokens
from onelayer.text.corpus.storage import BATCH

ENCODED = Features({"ids": List(Value("int32")), "held_out": Value("bool")})


@dataclass(frozen=True)
class EncodedArticles:
    """The articles of a corpus as word ids.

    Attributes:
        ids: all articles one after the other, without special pieces, [tokens] int32.
        starts: where each article starts in `ids`, and the end, [articles + 1] int64.
        held_out: articles that are never trained on, [articles] bool.
        sentence_ends: ids of full stop, question mark and exclamation mark.
    """

    ids: np.ndarray
    starts: np.ndarray
    held_out: np.ndarray
    sentence_ends: np.ndarray


def encode_articles(
    articles: Dataset, tokenizer: Tokenizer, settings: TextSettings, place: Path | None = None
) -> Dataset:
    """Encode every article; which ones are held out depends on their ids alone.

    Args:
        articles: with `id` and `text`.
        tokenizer: see `onelayer.text.pretraining.vocabulary`.
        settings: the share that is held out, and how many processes encode.
        place: a file for what is encoded while it is used; None where `articles` are in memory.

    Returns:
        `ids`, word ids without special pieces, and `held_out`, of each article, in their order.
    """

    def encode(batch: dict[str, list]) -> dict[str, list]:
        encodings = tokenizer.encode_batch(
            [tokens(text) for text in batch["text"]], is_pretokenized=True, add_special_tokens=False
        )
        share = settings.held_out_share * 2**32
        return {
            "ids": [encoding.ids for encoding in encodings],
            "held_out": [stable_seed("held out", i) < share for i in batch["id"]],
        }

    return articles.map(
        encode,
        batched=True,
        batch_size=BATCH,
        remove_columns=articles.column_names,
        features=ENCODED,
        num_proc=settings.workers if settings.workers > 1 else None,
        cache_file_name=place and str(place),
        new_fingerprint="encoded",
    )


def encoded_articles(rows: Dataset, pieces: Sequence[str]) -> EncodedArticles:
    """What `encode_articles` returned, as arrays.

    Args:
        rows: of `encode_articles`.
        pieces: the vocabulary, by id.
    """
    ids = rows.data.column("ids")
    lengths = pc.list_value_length(ids).to_numpy()
    return EncodedArticles(
        pc.list_flatten(ids).to_numpy(),
        np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]),
        rows.data.column("held_out").to_numpy(),
        np.flatnonzero([piece in (".", "?", "!") for piece in pieces]),
    )


@dataclass(frozen=True)
class Segments:
    """Pieces of articles.

    Attributes:
        ids: word ids of all segments one after the other, without special pieces, [tokens] int64.
        starts: where each segment starts in `ids`, and the end, [segments + 1].
        middles: where in each segment its second half starts: after the sentence end that is
            nearest to its middle, or at the middle itself if there is none, [segments].
    """

    ids: np.ndarray
    starts: np.ndarray
    middles: np.ndarray

    @property
    def lengths(self) -> np.ndarray:
        """Words of each segment, [segments]."""
        return np.diff(self.starts)

    def __len__(self) -> int:
        return len(self.middles)

    def places(self, rows: np.ndarray) -> np.ndarray:
        """Indices into `ids` of these segments, cut to the shortest, [rows, words]."""
        shortest = int(self.lengths[rows].min())
        return self.starts[rows][:, None] + np.arange(shortest)


def segment(encoded: EncodedArticles, held_out: bool, longest: int) -> Segments:
    """Cut the training or the held-out articles into segments of equal length within an article.

    Args:
        encoded: all articles.
        held_out: which of the two.
        longest: words of a segment at most.

    Raises:
        OnelayerError: no such article holds two words.
    """
    pieces = []
    for place in np.flatnonzero(encoded.held_out == held_out):
        ids = encoded.ids[encoded.starts[place] : encoded.starts[place + 1]].astype(np.int64)
        pieces += np.array_split(ids, -(-len(ids) // longest)) if len(ids) else []
    pieces = [piece for piece in pieces if len(piece) >= 2]
    if not pieces:
        kind = "held-out" if held_out else "training"
        raise OnelayerError(
            f"pretraining.text.held_out_share: no {kind} article of two words or more is left of "
            f"{len(encoded.held_out)}"
        )
    return Segments(
        np.concatenate(pieces),
        np.cumsum([0] + [len(piece) for piece in pieces]),
        np.array([_middle(piece, encoded.sentence_ends) for piece in pieces]),
    )


def _middle(ids: np.ndarray, sentence_ends: np.ndarray) -> int:
    half = len(ids) / 2
    starts = np.flatnonzero(np.isin(ids[:-1], sentence_ends)) + 1
    return int(starts[np.abs(starts - half).argmin()]) if len(starts) else len(ids) // 2


@dataclass(frozen=True)
class Batch:
    """Which segments are read together, and when.

    Attributes:
        rows: the segments, [rows].
        epoch: how often the text was read before.
        step: batches read before.
        before: tokens seen before.
        after: tokens seen with it; special pieces count.
    """

    rows: np.ndarray
    epoch: int
    step: int
    before: int
    after: int


def plan_batches(
    segments: Segments, budget: int, batch_tokens: int, special: int, seed: int
) -> list[Batch]:
    """All batches of a training, epoch after epoch, each epoch in a new order.

    Args:
        segments: what is read.
        budget: the last batch is the one that reaches it (tokens seen).
        batch_tokens: at most so many tokens a batch (but at least one segment).
        special: special pieces that the objective adds to each segment.
        seed: of the order.
    """
    plan: list[Batch] = []
    epoch = before = 0
    while before < budget:
        rng = generator("order of segments", seed, epoch)
        groups = _group_by_length(segments.lengths, batch_tokens, special, rng)
        for place in rng.permutation(len(groups)):
            if before >= budget:
                break
            rows = groups[place]
            after = before + len(rows) * (int(segments.lengths[rows].min()) + special)
            plan.append(Batch(rows, epoch, len(plan), before, after))
            before = after
        epoch += 1
    return plan


def _group_by_length(
    lengths: np.ndarray, batch_tokens: int, special: int, rng: np.random.Generator
) -> list[np.ndarray]:
    """Segments of similar length together, each in exactly one group; ties in random order."""
    order = np.lexsort((rng.random(len(lengths)), lengths))
    edges = [0]
    while edges[-1] < len(order):
        shortest = int(lengths[order[edges[-1]]]) + special
        edges.append(min(len(order), edges[-1] + max(1, batch_tokens // shortest)))
    return [order[first:last] for first, last in pairwise(edges)]
