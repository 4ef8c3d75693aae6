"""The attention probe on inputs as they were trained on, which may hold words of several articles.

Pairs of words of one article and pairs across articles are told apart: in an input of several
articles attention to one's own article is no attention to a topic.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from transformers import PreTrainedModel

from onelayer.compute.execution import Execution
from onelayer.errors import OnelayerError
from onelayer.papers.topic_structure.wikipedia.probe.labels import (
    Variant,
    probed_words,
    tightest_variant,
)
from onelayer.papers.topic_structure.wikipedia.probe.measures import measure_attention
from onelayer.papers.topic_structure.wikipedia.probe.pairs import Labels, PairCounter
from onelayer.papers.topic_structure.wikipedia.probe.sums import AttentionSums, SumsOfDocuments
from onelayer.settings.probe import ProbeSettings
from onelayer.text.models.checkpoints import forward, load_checkpoint
from onelayer.text.models.tokenizer import load_tokenizer, piece_ids
from onelayer.text.pretraining.vocabulary import CLS_ID, SEP_ID

WITHIN, ACROSS = "of one article", "across articles"


def measure_inputs(
    folders: Sequence[Path],
    seeds: Sequence[int],
    inputs: Sequence[tuple[np.ndarray, np.ndarray]],
    kept: pd.DataFrame,
    vocabulary: pd.DataFrame,
    probe: ProbeSettings,
    execution: Execution = Execution(),
) -> pd.DataFrame:
    """Attention ratios of one model on inputs like those of its training.

    Args:
        inputs: as `probe_inputs` takes them.
        kept: of which the tightest variant is measured.

    Returns:
        Rows of `measure_attention` with `pairs`, which are of one article or across articles.
    """
    kept = tightest_variant(kept)
    pieces = piece_ids(load_tokenizer(folders[0]), kept["word"].unique())
    variants, labels, frequencies = probed_words(kept, vocabulary, [pieces])
    label_of = np.full(max(*pieces.values(), *(ids.max() for ids, _ in inputs)) + 1, -1)
    label_of[[pieces[word] for word in labels.words]] = range(len(labels.words))
    how = labels, variants, label_of, probe.attention.reference_length
    models = (load_checkpoint(one, execution.device) for one in execution.progress(folders))
    sums = [probe_inputs(model, inputs, *how) for model in models]
    given = labels, frequencies, probe.uncertainty, seeds
    tables = [
        measure_attention([one[pairs] for one in sums], *given).assign(pairs=pairs)
        for pairs in sums[0]
    ]
    return pd.concat(tables, ignore_index=True)


def probe_inputs(
    model: PreTrainedModel,
    inputs: Sequence[tuple[np.ndarray, np.ndarray]],
    labels: Labels,
    variants: Sequence[Variant],
    label_of: np.ndarray,
    reference_length: float,
) -> dict[str, AttentionSums]:
    """Sums of the model's attention over inputs, by whether two words are of one article.

    Args:
        model: bidirectional.
        inputs: word ids, and which article each word is of: two [words] of each input.
        label_of: index in `labels.words` of every piece, or -1, [pieces].
        reference_length: as `PairCounter` takes it.

    Returns:
        `WITHIN`, and `ACROSS` where any input has words of two articles. Pairs with a word of no
        topic are left out.

    Raises:
        OnelayerError: no input holds two different words of a topic.
    """
    counter = PairCounter(labels, reference_length)
    sums = {kind: SumsOfDocuments(len(inputs), labels) for kind in (WITHIN, ACROSS)}
    for place, (ids, articles) in enumerate(inputs):
        index = label_of[ids]
        positions = np.flatnonzero(index >= 0)
        attention = forward(model, [CLS_ID, *ids.tolist(), SEP_ID]).cpu()
        for article in np.unique(articles[positions]):
            mine = positions[articles[positions] == article]
            one = counter.pair_sums(attention, mine + 1, index[mine])
            sums[WITHIN].add(place, one)
            sums[ACROSS].add(place, one, -1)
        sums[ACROSS].add(place, counter.pair_sums(attention, positions + 1, index[positions]))
    names = [str(place) for place in range(len(inputs))]
    totals = {kind: one.total(names, variants) for kind, one in sums.items()}
    if not len(totals[WITHIN].word_pairs.counts):
        raise OnelayerError(f"none of {len(inputs)} inputs holds two different words of any topic")
    return {kind: one for kind, one in totals.items() if len(one.word_pairs.counts)}
