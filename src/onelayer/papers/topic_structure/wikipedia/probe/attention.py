"""The attention probe of a corpus: one forward pass per document, sums by pair class kept.

Li, Li & Risteski (2023), 'Experiment setting on Wikipedia'. What is kept are sums and counts per
document, head and pair of words, so that intervals and nulls are computed later without another
forward pass.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from tokenizers import Tokenizer
from transformers import PreTrainedModel

from onelayer.compute.device import on_gpu, resolve_device
from onelayer.compute.seeds import generator
from onelayer.errors import OnelayerError
from onelayer.papers.topic_structure.wikipedia.probe.batches import sums_in_batches
from onelayer.papers.topic_structure.wikipedia.probe.labels import (
    Variant,
    check_words,
    labels_of,
    variants_of,
)
from onelayer.papers.topic_structure.wikipedia.probe.pairs import Labels, PairCounter, PairSums
from onelayer.papers.topic_structure.wikipedia.probe.sums import AttentionSums, SumsOfDocuments
from onelayer.run.step import Step
from onelayer.settings.probe import AttentionProbeSettings
from onelayer.text.corpus.storage import at, read_articles
from onelayer.text.models.architecture import longest_text
from onelayer.text.models.checkpoints import forward, is_causal, load_checkpoint
from onelayer.text.models.tokenizer import EncodedText, encode, load_tokenizer, piece_ids


def sample_articles(
    paths: Sequence[Path], settings: AttentionProbeSettings, part: int | None = None
) -> pd.DataFrame:
    """Draw the articles to probe, without replacement, in corpus order.

    The draw depends on the seed and the corpus alone, so that all models see the same articles.
    `part` says which part of those drawn (counted from 0); None: all of them.

    Raises:
        OnelayerError: two of those drawn have the same id, in two parts of the corpus.
    """
    articles = read_articles(paths)
    order = generator("probed articles", settings.seed).permutation(len(articles))
    places = np.sort(order[: settings.documents])
    ids = pd.Series(at(articles, places).select_columns(["id"])["id"][:])
    if ids.duplicated().any():
        raise OnelayerError(
            f"{paths[0].parent}: two articles have the same id {ids[ids.duplicated()].iloc[0]!r}; "
            "ids must differ in all parts of a corpus"
        )
    if part is not None:
        places = np.array_split(places, settings.parts)[part]
    return at(articles, places).to_pandas()


def opened(step: Step, part: int | None = None) -> tuple[PreTrainedModel, Tokenizer, pd.DataFrame]:
    """What a step probes: checkpoint, tokenizer, articles, of its inputs `model` and `articles`.

    As its settings `attention` say; `part` as in `sample_articles`.
    """
    settings = step.settings.attention
    step.device = resolve_device(settings.device)
    model = load_checkpoint(step.inputs.model, step.device)
    articles = sample_articles(step.inputs.articles, settings, part)
    return model, load_tokenizer(step.inputs.model), articles


def probe_articles(
    model: PreTrainedModel,
    tokenizer: Tokenizer,
    articles: pd.DataFrame,
    kept: pd.DataFrame,
    settings: AttentionProbeSettings,
    progress: Callable[..., Iterable] = lambda items, **_: items,
) -> AttentionSums:
    """`probe_attention` for the words of the table `kept` that are one piece in the tokenizer."""
    labels = labels_of(kept, [piece_ids(tokenizer, kept["word"].unique())])
    check_words(labels, kept)
    return probe_attention(
        model, tokenizer, articles, labels, variants_of(kept), settings, progress
    )


def probe_attention(
    model: PreTrainedModel,
    tokenizer: Tokenizer,
    articles: pd.DataFrame,
    labels: Labels,
    variants: Sequence[Variant],
    settings: AttentionProbeSettings,
    progress: Callable[..., Iterable] = lambda items, **_: items,
) -> AttentionSums:
    """Run the model over the articles (see `sample_articles`) and sum its attention by pair class.

    Of a causal model, in which no token attends to a later one, only the lower triangle; see
    `PairCounter`. Whether a model is causal is seen from its weights.

    Raises:
        OnelayerError: `max_tokens` exceeds what the model can read, or no article holds two
            labelled words.
    """
    texts, sums = articles["text"].tolist(), SumsOfDocuments(len(articles), labels)
    for place, one in sums_by_document(model, tokenizer, texts, labels, settings, progress):
        sums.add(place, one)
    totals = sums.total(articles["id"], variants)
    if not len(totals.word_pairs.counts):
        raise OnelayerError(
            f"none of {len(articles)} articles holds two different words of any topic within "
            f"{settings.max_tokens} tokens"
        )
    return totals


def sums_by_document(
    model: PreTrainedModel,
    tokenizer: Tokenizer,
    texts: Sequence[str],
    labels: Labels,
    settings: AttentionProbeSettings,
    progress: Callable[..., Iterable] = lambda items, **_: items,
) -> Iterator[tuple[int, PairSums]]:
    """The sums of every text, with its place among them; on a GPU the longest texts come last.

    A text without a token, a blank one where no special tokens are added, has none.

    Raises:
        OnelayerError: `max_tokens` exceeds what the model can read.
    """
    longest = longest_text(model)
    if settings.max_tokens > longest:
        raise OnelayerError(
            f"probe.attention.max_tokens: {settings.max_tokens}; this model reads at most "
            f"{longest} tokens"
        )
    index = {word: place for place, word in enumerate(labels.words)}
    causal = is_causal(model, encode(tokenizer, " ".join(labels.words[:8]), 8).ids)
    counter = PairCounter(labels, settings.reference_length, causal)

    def read(text: str) -> EncodedText:
        return encode(tokenizer, text, settings.max_tokens)

    def one_by_one() -> Iterator[tuple[int, PairSums]]:
        for place, text in enumerate(progress(texts, unit="doc")):
            if (encoded := read(text)).ids:
                attention = forward(model, encoded.ids)
                words = encoded.positions, encoded.indices(index)
                yield place, counter.pair_sums(attention, *words)

    if on_gpu(model.device):
        return sums_in_batches(model, [read(text) for text in texts], index, counter, progress)
    return one_by_one()
