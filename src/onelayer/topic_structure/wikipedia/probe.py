"""Step 1, the probe: one forward pass a text, and of its attention what pairs of words get.

Li, Li & Risteski (2023), 'Experiment setting on Wikipedia'. Kept is the mean weight of each pair of
places with two different words of topics, so that ratios, nulls and intervals are computed later
without the model. `keys` says among how many tokens its weights were shared: all of the text, or,
where attention is causal, the i + 1 of row i (from 0). There the first token is left out: trained
causal models send it whatever attention no other token is worth.

Shapes: L layers, H heads, T tokens, C places of words of topics, P pairs of them.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import torch
from tokenizers import Tokenizer
from transformers import PreTrainedModel

from onelayer.errors import OnelayerError
from onelayer.job import silent
from onelayer.seeds import generator
from onelayer.settings.probe import AttentionProbeSettings
from onelayer.text.corpus.articles import COLUMNS
from onelayer.text.models import checkpoints
from onelayer.text.models.tokenizer import encode, piece_ids
from onelayer.topic_structure.wikipedia.ratio import EDGES, Pairs, first_over_second, meets

# Attention between places, [T, T] of [L, H, T, T]; the paper takes the mean. In float32 its sums
# err by as much as random models differ.
POOLED = {
    "mean": lambda weights: weights.mean(dim=(0, 1), dtype=torch.float64),
    "last layer": lambda weights: weights[-1].mean(dim=0, dtype=torch.float64),
    "largest head": lambda weights: weights.amax(dim=1).mean(dim=0, dtype=torch.float64),
}


class Text(NamedTuple):
    """What a model reads at once, and where words of topics stand in it."""

    ids: list[int]  # special tokens included, [T]
    places: np.ndarray  # int [C]
    words: np.ndarray  # int [C], index of the word at each place
    parts: np.ndarray  # int [C], which of the text's articles or topics it is of

    @property
    def pairs(self) -> tuple[np.ndarray, np.ndarray]:
        """Which of the C places, two different words, stand in each of its rows, [P] and [P]."""
        a, b = np.triu_indices(len(self.places), 1)
        differ = self.words[a] != self.words[b]
        return a[differ], b[differ]


def sample_articles(articles: Path, settings: AttentionProbeSettings) -> pd.DataFrame:
    """The articles to probe: drawn without replacement, in the corpus's order, for all models.

    Of the file only those row groups are read that hold one of them.
    """
    with pq.ParquetFile(articles) as file:
        order = generator("probed articles", settings.seed).permutation(file.metadata.num_rows)
        chosen, start, parts = np.sort(order[: settings.documents]), 0, []
        for group in range(file.num_row_groups):
            end = start + file.metadata.row_group(group).num_rows
            if len(mine := chosen[(chosen >= start) & (chosen < end)] - start):
                parts.append(file.read_row_group(group, COLUMNS).take(mine).to_pandas())
            start = end
    return pd.concat(parts, ignore_index=True)


def encode_texts(
    tokenizer: Tokenizer, texts: Iterable[str], words: Sequence[str], max_tokens: int
) -> list[Text]:
    """Articles as a model reads them."""
    index, read = {word: place for place, word in enumerate(words)}, []
    for text in texts:
        encoded = encode(tokenizer, text, max_tokens)
        singles = zip(encoded.positions, encoded.words, strict=True)
        labelled = [(place, index[word]) for place, word in singles if word in index]
        places, indices = np.array(labelled, dtype=np.int64).reshape(-1, 2).T
        read.append(Text(encoded.ids, places, indices, np.zeros_like(places)))
    return read


def text_attentions(
    model: PreTrainedModel, texts: Sequence[Text], batch: int = 1
) -> Iterator[tuple[int, torch.Tensor]]:
    """Attention [L, H, T, T] of each text that holds two different words, behind its place.

    A batch is of texts of like length, padded at their ends and masked.
    """
    read = [place for place, text in enumerate(texts) if len(set(text.words.tolist())) > 1]
    if batch == 1:
        yield from ((place, checkpoints.forward(model, texts[place].ids)) for place in read)
        return
    run = checkpoints.reader(model)
    read.sort(key=lambda place: len(texts[place].ids))
    for start in range(0, len(read), batch):
        places = read[start : start + batch]
        rows = [torch.tensor(texts[place].ids) for place in places]
        ids, mask = (
            torch.nn.utils.rnn.pad_sequence(padded, batch_first=True).to(model.device)
            for padded in (rows, [torch.ones_like(row) for row in rows])
        )
        with torch.inference_mode():
            output = run(input_ids=ids, attention_mask=mask, output_attentions=True)
        for at, (place, row) in enumerate(zip(places, rows, strict=True)):
            T = len(row)
            weights = torch.stack([layer[at, :, :T, :T].float() for layer in output["attentions"]])
            most = max(checkpoints.ROW_SUM_TOLERANCE, torch.finfo(model.dtype).eps)
            if not (weights.sum(dim=-1) - 1).abs().max() <= most:
                raise OnelayerError(
                    f"{type(model).__name__} attends to padding; --batch 1 reads it"
                )
            yield place, weights


def embed(model: PreTrainedModel, tokenizer: Tokenizer, words: Iterable[str]) -> pd.DataFrame:
    """Rows `word`, `raw`, `output` (vectors, float64) of the words that are one piece.

    `raw` is the row of the word-embedding matrix, `output` the embedding layer's output at position
    0: without its LayerNorm the mean cosine of random embeddings is 0, and a ratio meaningless.
    """
    pieces = piece_ids(tokenizer, words)
    raw, output = checkpoints.word_embeddings(model, list(pieces.values()))
    columns = {"word": list(pieces), "raw": list(raw.numpy()), "output": list(output.numpy())}
    return pd.DataFrame(columns)


def pair_attention(
    model: PreTrainedModel,
    texts: Sequence[Text],
    bits: np.ndarray,
    pooled: Sequence[str] = ("mean",),
    progress: Callable = silent,
    batch: int = 1,
) -> tuple[Pairs, pd.DataFrame]:
    """The one loop that probes: articles or inputs, any checkpoint, any device.

    `bits`: `topic_bits` of the words that `Text.words` counts, for the ratios of single heads;
    `pooled`: names of `POOLED`; `batch`: texts a forward pass (by more than one, weights move by
    rounding).

    Returns:
        All pairs, with a row of weights for each name in `pooled`: the mean of the two directions,
        or the one that causal attention has. And of every `layer` and `head` the `ratio` of mean
        weights times keys, pairs that meet over others.

    Raises:
        OnelayerError: no text holds two of the words, or one is longer than the model reads.
    """
    longest = checkpoints.longest_text(model)
    if (most := max(len(text.ids) for text in texts)) > longest:
        raise OnelayerError(
            f"probe.attention.max_tokens: {most} in a text; this model reads at most {longest}"
        )
    causal, parts, heads, classes = None, [], 0.0, np.zeros(2)
    has_topic = bits.any(axis=0)
    read = text_attentions(model, texts, batch)
    for document, attention in progress(read, total=len(texts), unit="text"):
        text = texts[document]
        a, b = text.pairs
        if causal is None:
            causal = not attention.triu(1).any().item()
        if causal:
            a, b = (end[text.places[a] > 0] for end in (a, b))  # places ascend: b is behind a
        early, late = text.places[a], text.places[b]
        directions = [(late, early)] if causal else [(late, early), (early, late)]
        keys = late + 1 if causal else np.full(len(late), len(text.ids))
        means = [POOLED[name](attention).cpu().numpy() for name in pooled]
        weights = [sum(mean[ends] for ends in directions) / len(directions) for mean in means]
        one, other = text.words[a], text.words[b]
        first, second = np.minimum(one, other), np.maximum(one, other)
        distance = np.searchsorted(EDGES, late - early, side="right") - 1
        together = text.parts[a] == text.parts[b]
        columns = first, second, np.full(len(a), document), distance, keys, together
        parts.append((*columns, np.array(weights)))
        labelled = np.flatnonzero(has_topic[one] & has_topic[other])
        same = meets(bits, one[labelled], other[labelled])
        by_class = np.stack([same, ~same], axis=1).astype(np.float64)  # [P, 2]
        by_head = sum(attention[:, :, q[labelled], k[labelled]].double() for q, k in directions)
        corrected = torch.as_tensor(keys[labelled, None] * by_class).to(attention.device)
        heads = heads + (by_head @ corrected).cpu().numpy()
        classes += by_class.sum(axis=0)
    if not parts:
        raise OnelayerError(f"none of {len(texts)} texts holds two different words of any topic")
    parts.sort(key=lambda columns: columns[2][:1].tolist())  # texts in their order again
    pairs = Pairs(*(np.concatenate(part, axis=-1) for part in zip(*parts, strict=True)), len(texts))
    ratios = first_over_second(heads / np.where(classes, classes, np.nan))
    by_head = [(layer + 1, head + 1, ratio) for (layer, head), ratio in np.ndenumerate(ratios)]
    return pairs, pd.DataFrame(by_head, columns=["layer", "head", "ratio"])
