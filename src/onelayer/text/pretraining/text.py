"""The training text: articles as segments of word ids, and the batches in which they are read.

Segments never mix articles: what the probe looks for is which words go together in one. Batches
hold segments of (almost) one length, cut to the shortest, so that nothing is padded.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from pathlib import Path

import numpy as np
import pyarrow.compute as pc
from datasets import Dataset, Features, List, Value
from tokenizers import Tokenizer

from onelayer.compute.seeds import generator, stable_seed
from onelayer.errors import OnelayerError
from onelayer.run.step import scratch_folder
from onelayer.settings.pretraining import TextSettings
from onelayer.text.corpus.articles import tokens
from onelayer.text.corpus.storage import BATCH, open_rows, read_articles, write_rows

ENCODED = Features({"ids": List(Value("int32")), "held_out": Value("bool")})


@dataclass(frozen=True)
class EncodedArticles:
    """The articles of a corpus as word ids."""

    ids: np.ndarray  # all articles one after the other, without special pieces, [tokens] int32
    starts: np.ndarray  # where each article starts in `ids`, and the end, [articles + 1] int64
    held_out: np.ndarray  # articles that are never trained on, [articles] bool
    sentence_ends: np.ndarray  # ids of full stop, question mark and exclamation mark
    # Where a text is of several articles, which of them each word is of, [tokens] int16.
    articles: np.ndarray | None = None


def encode_articles(
    articles: Dataset,
    tokenizer: Tokenizer,
    settings: TextSettings,
    place: Path | None = None,
    ends: Sequence[int] = (),
) -> Dataset:
    """Encode every article, `id` and `text`; which are held out depends on their ids alone.

    Of several corpora, which `ends` says the last places of, it is their `title`: an article that
    is in two under different ids is held out of both or of none. Of one without a title it is its
    id and the number of its corpus. `place` is a file for what is encoded while it is used; None
    where `articles` are in memory.

    Returns:
        `ids`, word ids without special pieces, and `held_out`, of each article, in their order.
    """

    def encode(batch: dict[str, list], places: list[int]) -> dict[str, list]:
        encodings = tokenizer.encode_batch(
            [tokens(text) for text in batch["text"]], is_pretokenized=True, add_special_tokens=False
        )
        share, keys = settings.held_out_share * 2**32, batch["id"]
        if ends:
            corpora = np.searchsorted(ends, places, side="right")
            titles = zip(batch["title"], corpora, keys, strict=True)
            keys = [title or f"{corpus} {key}" for title, corpus, key in titles]
        return {
            "ids": [encoding.ids for encoding in encodings],
            "held_out": [stable_seed("held out", key) < share for key in keys],
        }

    return articles.map(
        encode,
        with_indices=True,
        batched=True,
        batch_size=BATCH,
        remove_columns=articles.column_names,
        features=ENCODED,
        num_proc=settings.workers if settings.workers > 1 else None,
        cache_file_name=place and str(place),
        new_fingerprint="encoded",
    )


def write_encoded(
    paths: Sequence[Path], tokenizer: Tokenizer, settings: TextSettings, path: Path
) -> None:
    """`encode_articles` of a corpus, or of several of one file each, into one Arrow file."""
    ends = list(accumulate(len(open_rows(one)) for one in paths)) if len(paths) > 1 else []
    with scratch_folder(path) as scratch:
        how = settings, scratch / "encoded.arrow", ends
        write_rows(encode_articles(read_articles(paths), tokenizer, *how), path)


def encoded_articles(rows: Dataset, pieces: Sequence[str]) -> EncodedArticles:
    """What `encode_articles` or `mix_articles` returned, as arrays; `pieces` are all, by id."""
    ids = rows.data.column("ids")
    mixed = "articles" in rows.column_names
    lengths = pc.list_value_length(ids).to_numpy()
    return EncodedArticles(
        pc.list_flatten(ids).to_numpy(),
        np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]),
        rows.data.column("held_out").to_numpy(),
        np.flatnonzero([piece in (".", "?", "!") for piece in pieces]),
        pc.list_flatten(rows.data.column("articles")).to_numpy() if mixed else None,
    )


@dataclass(frozen=True)
class Segments:
    """Pieces of articles.

    The second half of a segment starts after the sentence end that is nearest to its middle, or at
    the middle itself if there is none.
    """

    name: str  # `training` or `held-out`, under which their masks are drawn
    ids: np.ndarray  # of the words of all segments, without special pieces, [tokens] int64
    starts: np.ndarray  # where each segment starts in `ids`, and the end, [segments + 1]
    middles: np.ndarray  # where in each segment its second half starts, [segments]
    articles: np.ndarray | None = None  # as `EncodedArticles` has it

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

    def words(self, rows: np.ndarray) -> np.ndarray:
        """Their word ids, cut to the shortest, [rows, words]."""
        return self.ids[self.places(rows)]


def segment(encoded: EncodedArticles, held_out: bool, longest: int) -> Segments:
    """The training or held-out articles in segments of equal length within an article.

    `longest` is the most words of a segment.

    Raises:
        OnelayerError: no such article holds two words.
    """
    parts = []
    for place in np.flatnonzero(encoded.held_out == held_out):
        words = np.arange(*encoded.starts[place : place + 2])
        parts += np.array_split(words, -(-len(words) // longest)) if len(words) else []
    parts = [part for part in parts if len(part) >= 2]
    kind = "held-out" if held_out else "training"
    if not parts:
        raise OnelayerError(
            f"pretraining.text.held_out_share: no {kind} article of two words or more is left of "
            f"{len(encoded.held_out)}"
        )
    every = np.concatenate(parts)
    return Segments(
        kind,
        encoded.ids[every].astype(np.int64),
        np.cumsum([0] + [len(part) for part in parts]),
        np.array([_middle(encoded.ids[part], encoded.sentence_ends) for part in parts]),
        None if encoded.articles is None else encoded.articles[every],
    )


def _middle(ids: np.ndarray, sentence_ends: np.ndarray) -> int:
    half = len(ids) / 2
    starts = np.flatnonzero(np.isin(ids[:-1], sentence_ends)) + 1
    return int(starts[np.abs(starts - half).argmin()]) if len(starts) else len(ids) // 2


@dataclass(frozen=True)
class Batch:
    """Which segments are read together, and when."""

    rows: np.ndarray  # the segments, [rows]
    epoch: int  # how often the text was read before
    step: int  # batches read before
    before: int  # tokens seen before
    after: int  # tokens seen with it; special pieces count


def plan_batches(
    segments: Segments, budget: int, batch_tokens: int, special: int, seed: int
) -> list[Batch]:
    """All batches of a training, epoch after epoch, each epoch in a new order.

    The last batch is the one that reaches the budget (tokens seen). A batch has at most
    `batch_tokens`, but at least one segment; `special` pieces are added to each segment.
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
