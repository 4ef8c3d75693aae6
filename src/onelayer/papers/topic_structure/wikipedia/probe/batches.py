"""The attention probe on a GPU: texts of one length read together, their attention added up there.

Of attention [layers, heads, T, T] nothing leaves the device but what `pairs.PairCounter` makes sums
of: sums by class and head, and the mean over layers and heads of every pair. Texts of one length
need no padding, which would change what some architectures read.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import numpy as np
import torch
from torch import Tensor
from transformers import PreTrainedModel

from onelayer.compute.device import fitting, to_device
from onelayer.papers.topic_structure.wikipedia.probe.pairs import (
    NO_TOPIC,
    PAIR_CLASSES,
    Document,
    PairCounter,
    PairSums,
)
from onelayer.text.models.architecture import attention_weights
from onelayer.text.models.checkpoints import check_row_sums
from onelayer.text.models.tokenizer import EncodedText

MOST_AT_ONCE = 64  # texts


def sums_in_batches(
    model: PreTrainedModel,
    texts: Sequence[EncodedText],
    index: Mapping[str, int],
    counter: PairCounter,
    progress: Callable[..., Iterable],
) -> Iterator[tuple[int, PairSums]]:
    """The sums of every text, with its place among them; the longest texts come last.

    Raises:
        OnelayerError: rows of attention do not sum to 1, or see `attention_weights`.
        ValueError: see `PairCounter.pair_sums`.
    """
    for places in progress(_batches(model, texts), unit="batch"):
        tokens = len(texts[places[0]].ids)
        documents = [
            counter.document(tokens, texts[place].positions, texts[place].indices(index))
            for place in places
        ]
        ids = np.array([texts[place].ids for place in places], dtype=np.int64)
        with torch.inference_mode():
            weights = attention_weights(model, input_ids=to_device(ids, model.device))
            parts = _reduced(weights, documents, counter.causal)
            whole = torch.cat([part.double().flatten() for part in parts])
        ends = np.cumsum([part.numel() for part in parts])
        # The one moment at which the host waits.
        error, ahead, *sums = np.split(whole.cpu().numpy(), ends[:-1])
        check_row_sums(model, float(error[0]))
        layers, heads = len(weights), weights[0].shape[1]
        for number, (place, document) in enumerate(zip(places, documents, strict=True)):
            by_head, *means = sums[4 * number : 4 * number + 4]
            by_head = by_head.reshape(-1, len(PAIR_CLASSES), layers, heads)
            yield place, counter.sums_of(document, by_head, means, bool(ahead[0]))


def _batches(model: PreTrainedModel, texts: Sequence[EncodedText]) -> list[list[int]]:
    """Places of texts of one length, as many together as the GPU has memory for; shortest first."""
    by_length: dict[int, list[int]] = defaultdict(list)
    for place, text in enumerate(texts):
        if text.ids:
            by_length[len(text.ids)].append(place)
    layers, heads = model.config.num_hidden_layers, model.config.num_attention_heads
    batches = []
    for tokens, places in sorted(by_length.items()):
        # Weights, scores before the softmax, and a document's weights gathered in float64.
        at_once = min(MOST_AT_ONCE, fitting(24 * layers * heads * tokens**2, model.device))
        batches += [places[first : first + at_once] for first in range(0, len(places), at_once)]
    return batches


def _reduced(
    weights: Sequence[Tensor], documents: Sequence[Document], causal: bool
) -> list[Tensor]:
    """All that the host needs of the attention of some texts of one length.

    How far rows are from a sum of 1; whether a token attends to a later one, of causal attention;
    then of each text sums by class and head [V, classes, layers, heads], and means over heads of
    its pairs: forward [P], backward [P], outside [Q].
    """
    errors = torch.stack([(layer.sum(dim=-1) - 1).abs().amax() for layer in weights])
    ahead = [(layer.triu(1) != 0).any() for layer in weights] if causal else []
    parts = [errors.amax()[None], torch.stack([*ahead, torch.zeros_like(errors[0])]).amax()[None]]
    for number, document in enumerate(documents):
        one = torch.cat([layer[number] for layer in weights]).flatten(1)  # [layers * heads, T * T]
        parts += _document_sums(one, document)
    return parts


def _document_sums(weights: Tensor, document: Document) -> list[Tensor]:
    """`pairs._layer_sums` of one text, of its weights [layers * heads, T * T], on their device."""
    gathered = []
    for flat in document.flats:
        chosen = weights.index_select(1, to_device(flat, weights.device)).double()
        if document.keys is not None:
            chosen *= to_device(document.keys[flat // document.tokens], weights.device)
        gathered.append(chosen)
    forward, backward, outside = gathered
    classes = to_device(document.classes, weights.device)[:, None]
    names = torch.arange(len(PAIR_CLASSES), device=weights.device)[:, None]
    masks = (classes == names).flatten(0, 1).double()  # [V * classes, P]
    by_head = (masks @ (forward + backward).T).unflatten(0, (-1, len(PAIR_CLASSES)))
    by_head[:, NO_TOPIC] += outside.sum(dim=1)
    return [by_head, *(part.mean(dim=0) for part in gathered)]
