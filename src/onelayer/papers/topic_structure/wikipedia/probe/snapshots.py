"""The probe over the course of a pretraining: the ratios at every snapshot, in one process."""

from collections.abc import Callable, Iterable, Mapping

import pandas as pd
from tokenizers import Tokenizer
from transformers import PreTrainedModel

from onelayer.papers.topic_structure.wikipedia.probe.attention import probe_attention
from onelayer.papers.topic_structure.wikipedia.probe.embeddings import extract_embeddings
from onelayer.papers.topic_structure.wikipedia.probe.labels import (
    frequencies_of,
    labels_of,
    variants_of,
)
from onelayer.papers.topic_structure.wikipedia.probe.measures import (
    measure_attention,
    measure_embeddings,
)
from onelayer.settings.probe import AttentionProbeSettings, UncertaintySettings
from onelayer.text.models.tokenizer import piece_ids

Snapshots = Iterable[tuple[int, PreTrainedModel]]


def measure_snapshots(
    seeds: Mapping[int, Snapshots],
    tokenizer: Tokenizer,
    articles: pd.DataFrame,
    kept: pd.DataFrame,
    vocabulary: pd.DataFrame,
    attention: AttentionProbeSettings,
    uncertainty: UncertaintySettings,
    progress: Callable[..., Iterable] = lambda items, **_: items,
) -> pd.DataFrame:
    """Attention and embedding ratios at each snapshot, over seeds and of each.

    Args:
        seeds: by seed, tokens seen and the model at every snapshot.
        tokenizer: of all of them.
        articles: what their attention is probed on.
        kept: the words of one variant.
        vocabulary: rows `word`, `occurrences` of the bag of words.
        attention, uncertainty: settings of the probe.

    Returns:
        Rows of `probe.measures` with `tokens` seen behind them: the mean over seeds, whose
        snapshots end with the batch that reaches the same number.

    Raises:
        OnelayerError: see `labels_of`, `probe_attention`, `measure_attention`.
    """
    labels = labels_of(kept, [piece_ids(tokenizer, kept["word"].unique())])
    variants = variants_of(kept)
    frequencies = frequencies_of(labels, vocabulary)
    parts = []
    for moment in progress(zip(*seeds.values(), strict=True), unit="snapshot"):
        sums, vectors = [], []
        for _, model in moment:
            sums.append(probe_attention(model, tokenizer, articles, labels, variants, attention))
            vectors.append(extract_embeddings(model, tokenizer, labels.words).of(labels.words))
        one = (labels, frequencies, uncertainty)
        measured = [
            measure_attention(sums, *one, seeds=list(seeds)),
            measure_embeddings(vectors, variants, *one, seeds=list(seeds)),
        ]
        tokens = sum(tokens for tokens, _ in moment) // len(moment)
        parts += [table.assign(tokens=tokens) for table in measured]
    return pd.concat(parts, ignore_index=True)
