"""The training text: its vocabulary, articles as segments of word ids, and their batches.

Segments never mix articles: the probe looks for words that go together in one. In the theory of
Li, Li & Risteski (2023) a document has words of tau topics, and with one topic, as in an
encyclopedia's article, topics earn no attention: hence `mix_articles`.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from tokenizers import Regex, Tokenizer, normalizers, pre_tokenizers, processors
from tokenizers.models import WordLevel

from onelayer.errors import OnelayerError
from onelayer.seeds import generator, stable_seed
from onelayer.settings.models import InputSettings, TextSettings
from onelayer.text.corpus.articles import BATCH, tokens

# The order of RoBERTa, which counts positions from the padding's id on.
CLS, PAD, SEP, UNK, MASK = SPECIAL = ("[CLS]", "[PAD]", "[SEP]", "[UNK]", "[MASK]")
CLS_ID, PAD_ID, SEP_ID, _, MASK_ID = range(len(SPECIAL))
# A text, and of each word which of an input's articles (or topics) it is of, if there are several.
COLUMNS = {"ids": pa.list_(pa.int32()), "held_out": pa.bool_(), "articles": pa.list_(pa.int16())}
ALIKE = 32  # groups among which articles of about one length are chosen to stand together


def build_vocabulary(texts: Iterable[str], settings: TextSettings) -> pd.DataFrame:
    """The words of a corpus (lower-cased `tokens`), most frequent first, after the special pieces.

    Columns `piece`, `document_share` (of the texts that use it); the row is the piece's id.
    """
    documents, occurrences, count = Counter(), Counter(), 0
    for text in texts:
        count += 1
        words = [token.lower() for token in tokens(text)]
        occurrences.update(words)
        documents.update(set(words))
    frequent = [word for word, n in documents.items() if n >= settings.min_documents]
    if not frequent:
        most = max(documents.values(), default=0)
        found = f"no word is used by so many articles, the commonest by {most}"
        raise OnelayerError(f"pretraining.text.min_documents: {settings.min_documents}; {found}")
    frequent.sort(key=lambda word: (-occurrences[word], word))
    pieces = [*SPECIAL, *frequent[: settings.most_words]]
    shares = [documents[piece] / count for piece in pieces]
    return pd.DataFrame({"piece": pieces, "document_share": shares})


def predictable_pieces(vocabulary: pd.DataFrame, document_share: float) -> np.ndarray:
    """Words of letters that occur in at most this share of the articles, [pieces] bool."""
    words = vocabulary["piece"].str.isalpha().to_numpy(dtype=bool)
    return words & (vocabulary["document_share"] <= document_share).to_numpy()


def word_level_tokenizer(pieces: Sequence[str]) -> Tokenizer:
    """A tokenizer with one piece a word: `[CLS] text [SEP]`, `[CLS] first [SEP] second [SEP]`."""
    tokenizer = Tokenizer(WordLevel({p: n for n, p in enumerate(pieces)}, unk_token=UNK))
    tokenizer.add_special_tokens(list(SPECIAL))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(r"\w+|[^\w\s]"), "removed", invert=True)
    texts = {"single": "[CLS] $A [SEP]", "pair": "[CLS] $A [SEP] $B:1 [SEP]:1"}
    framed = processors.TemplateProcessing(**texts, special_tokens=[(CLS, CLS_ID), (SEP, SEP_ID)])
    tokenizer.post_processor = framed
    return tokenizer


def write_tokenizer(tokenizer: Tokenizer, folder: Path) -> None:
    """Write `tokenizer.json` and the `tokenizer_config.json` that `AutoTokenizer` needs."""
    tokenizer.save(str(folder / "tokenizer.json"))
    roles = {"cls": CLS, "bos": CLS, "sep": SEP, "eos": SEP, "pad": PAD, "unk": UNK, "mask": MASK}
    fields = {f"{role}_token": piece for role, piece in roles.items()}
    text = json.dumps({"tokenizer_class": "PreTrainedTokenizerFast"} | fields, indent=1) + "\n"
    (folder / "tokenizer_config.json").write_text(text, encoding="utf-8")


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
    for article, text in articles:
        encoding = tokenizer.encode(tokens(text), is_pretokenized=True, add_special_tokens=False)
        held_out = stable_seed("held out", article) < held_out_share * 2**32
        yield {"ids": encoding.ids, "held_out": held_out}


def write_texts(rows: Iterable[dict], path: Path, columns: Sequence[str]) -> None:
    """Write rows, some of `COLUMNS`, to an Arrow file, batch by batch."""
    schema, rows = pa.schema({name: COLUMNS[name] for name in columns}), iter(rows)
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, schema) as writer:
        while batch := list(islice(rows, BATCH)):
            writer.write_batch(pa.RecordBatch.from_pylist(batch, schema))


def read_texts(path: Path) -> pa.Table:
    """What `write_texts` wrote, mapped from the disk."""
    return pa.ipc.open_stream(pa.memory_map(str(path))).read_all()


def read_encoded(path: Path, pieces: Sequence[str]) -> EncodedArticles:
    """Encoded articles, or mixed ones; `pieces` are all of the vocabulary, by id."""
    rows = read_texts(path)
    ids, lengths = pc.list_flatten(rows["ids"]), pc.list_value_length(rows["ids"])
    starts = np.concatenate([[0], np.cumsum(lengths.to_numpy(), dtype=np.int64)])
    ends = np.flatnonzero([piece in (".", "?", "!") for piece in pieces])
    return EncodedArticles(ids.to_numpy(), starts, rows["held_out"].to_numpy(), ends)


class Segments(NamedTuple):
    """Pieces of articles."""

    name: str  # `training` or `held-out`, under which their masks are drawn
    ids: np.ndarray  # of the words of all segments, without special pieces, [tokens] int64
    starts: np.ndarray  # where each segment starts in `ids`, and the end, [segments + 1]
    middles: np.ndarray  # where its second half starts: at the sentence nearest to the middle

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
        pieces = np.array_split(words, max(1, -(-len(words) // longest)))
        parts += [piece for piece in pieces if len(piece) >= 2]
    kind = "held-out" if held_out else "training"
    if not parts:
        found = f"no {kind} article of two words or more is left of {len(encoded.held_out)}"
        raise OnelayerError(f"pretraining.text.held_out_share: {found}")
    ends, middles = np.isin(encoded.ids, encoded.sentence_ends), []
    for part in parts:
        begin = np.flatnonzero(ends[part[:-1]]) + 1  # where sentences begin
        begin = begin if len(begin) else np.array([len(part) // 2])
        middles.append(begin[np.abs(begin - len(part) / 2).argmin()])
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
    Its segments are of about one length and cut to the shortest, so that nothing is padded.
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


def mix_articles(
    encoded: EncodedArticles, settings: InputSettings, word_probability: np.ndarray | None = None
) -> Iterator[dict]:
    """Every article, several in one text, `draws` times in other company; or words of topics.

    Articles of about one length stand together, so that their pieces end together; what is held
    out stays so. `word_probability` is, for `drawn` words, P(piece | topic), [topics, pieces].
    Yields `ids`, `held_out`, and of each word which of the text's `articles` (or topics) it is of.
    """
    drawn, size = settings.order == "drawn", settings.articles
    if drawn and size > (topics := len(word_probability)):
        raise OnelayerError(f"inputs.articles: {size}; the topic model has {topics} topics")
    lengths = np.diff(encoded.starts)
    for held_out in (False, True):
        rng = generator("inputs", 0, size, held_out)
        times = 1 if held_out else settings.draws
        # Articles stand in other company each time; words of topics are drawn anew at once.
        rounds, draws = (1, times) if drawn else (times, 1)
        places = np.flatnonzero((encoded.held_out == held_out) & (lengths > 0))
        for _ in range(rounds):
            for group in _groups(rng.permutation(places), lengths, size):
                texts = [encoded.ids[slice(*encoded.starts[a : a + 2])] for a in group]
                for _ in range(draws):
                    ids, of = _mix(texts, settings, word_probability, rng)
                    yield {"ids": ids, "held_out": held_out, "articles": of}


def _groups(places: np.ndarray, lengths: np.ndarray, size: int) -> Iterator[np.ndarray]:
    for first in range(0, len(places), ALIKE * size):
        alike = places[first : first + ALIKE * size]
        alike = alike[np.argsort(lengths[alike], kind="stable")]
        yield from np.split(alike, range(size, len(alike), size))


def _mix(texts, settings: InputSettings, word_probability, rng) -> tuple[np.ndarray, np.ndarray]:
    """Words of one input, and which of its texts (or topics) each is of."""
    ids, of = np.concatenate(texts), np.repeat(np.arange(len(texts)), list(map(len, texts)))
    if settings.order == "drawn":  # topics are as likely: the theory's generative model
        topics, pieces = word_probability.shape
        chosen = rng.choice(topics, size=settings.articles, replace=False)
        of = rng.integers(settings.articles, size=len(ids))
        for place, topic in enumerate(chosen):
            mine = of == place
            ids[mine] = rng.choice(pieces, size=int(mine.sum()), p=word_probability[topic])
        return ids, of
    turn = np.concatenate([np.arange(len(text)) // settings.piece for text in texts])
    order = np.lexsort((of, turn))  # pieces of the texts in turn until all have ended
    if settings.order == "shuffled":
        order = order[rng.permutation(len(ids))]
    return ids[order], of[order]


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

    Of each text drawn the first of the equal parts, at most `longest` words, into which it is cut.
    """
    order = generator("probed inputs", seed).permutation(len(rows))[:count]
    inputs = []
    for row in rows.take(np.sort(order)).to_pylist():
        size = -(-len(row["ids"]) // -(-len(row["ids"]) // longest))
        inputs.append((np.array(row["ids"][:size]), np.array(row["articles"][:size])))
    return inputs
