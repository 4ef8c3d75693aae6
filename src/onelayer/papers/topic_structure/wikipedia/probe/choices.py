"""The probe under every combination of choices: topics, words, pooling of heads, length of texts.

One forward pass per document keeps the attention between different words, a column for each pooling
and length; what a choice of topics and words makes of it is sums over pairs of words.

Shapes: W words, K topics, D documents, n pairs of words within a document, C columns: the number of
pairs of positions, then a sum of weights for each pooling and length.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import scipy.sparse
import torch
from tokenizers import Tokenizer
from transformers import PreTrainedModel

from onelayer.compute.seeds import generator
from onelayer.evidence import intervals
from onelayer.papers.topic_structure.wikipedia.probe import uncertainty
from onelayer.papers.topic_structure.wikipedia.probe.embeddings import extract_embeddings
from onelayer.papers.topic_structure.wikipedia.probe.measures import permutations_of
from onelayer.papers.topic_structure.wikipedia.probe.pairs import Labels, PairCounter
from onelayer.papers.topic_structure.wikipedia.probe.similarity import PairSimilarity, unit_vectors
from onelayer.papers.topic_structure.wikipedia.probe.uncertainty import Replicates
from onelayer.settings.probe import AttentionProbeSettings, ProbeSettings
from onelayer.settings.topic_structure import ChoicesSettings
from onelayer.settings.topics import AmbiguitySettings, Threshold
from onelayer.text.models.checkpoints import forward, is_causal
from onelayer.text.models.tokenizer import encode, piece_ids
from onelayer.text.topics.ambiguity import filter_ambiguous_words
from onelayer.text.topics.model import Fit, read_topic_models

POOLED: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "mean": lambda weights: weights,
    "last layer": lambda weights: weights[-1:],
    "largest head": lambda weights: weights.amax(dim=1, keepdim=True),
}
RATIO, CORRECTED, COSINE = "attention_ratio", "attention_over_null", "embedding_cosine_ratio"
AUTHORS_OVER_OURS = "authors_over_ours"


class Choice(NamedTuple):
    """One combination; pooling and length are empty where embeddings are measured."""

    weights: str
    schedule: str
    topics: int
    seed: int
    words: int
    overlap: str
    pooling: str = ""
    length: str = ""


class Pairs(NamedTuple):
    """Attention between different words of each document."""

    document: np.ndarray  # int64 [n]
    first: np.ndarray  # int64 [n], first < second
    second: np.ndarray  # int64 [n]
    values: np.ndarray  # float64 [n, C]


def named(choices: ChoicesSettings) -> dict[str, Choice]:
    """Our own choice, the first of every list, and the authors'."""
    c = choices
    ours = c.weights[0], c.schedules[0], c.topics[0], c.seeds[0], c.words[0], c.overlaps[0]
    authors = "tf-idf", "authors", c.topics[-1], c.seeds[0], c.authors_words, "overlapping"
    return {
        "ours": Choice(*ours, c.pooling[0], c.lengths[0]),
        "authors": Choice(*authors, "mean", "as it is"),
    }


def kept_words(
    paths: Sequence[Path], vocabulary: pd.DataFrame, choices: ChoicesSettings
) -> dict[Choice, pd.DataFrame]:
    """Rows `topic`, `word`, `occurrences` that are kept of every topic model.

    `paths` in the order of `fits`.
    """
    words, occurrences = vocabulary["word"].tolist(), vocabulary.set_index("word")["occurrences"]
    counts = [*choices.words, *(int(len(words) * share) + 1 for share in choices.fractions)]
    counts.append(choices.authors_words)
    kept = {}
    for path, fit in zip(paths, choices.fits(), strict=True):
        models = read_topic_models(path)
        for seed, count, overlap in product(choices.seeds, dict.fromkeys(counts), choices.overlaps):
            only = AmbiguitySettings(overlaps=[overlap], thresholds=[Threshold(count=count)])
            probability = models[Fit("gensim", fit[2], seed)].word_probability
            rows = filter_ambiguous_words(probability, words, only, allow_empty=True)
            often = occurrences.loc[rows["word"]].to_numpy()
            rows = rows[["topic", "word"]].assign(occurrences=often)
            kept[Choice(*fit, seed, count, overlap)] = rows
    return kept


def attention_between_words(
    model: PreTrainedModel,
    tokenizer: Tokenizer,
    texts: Sequence[str],
    words: Sequence[str],
    choices: ChoicesSettings,
    settings: AttentionProbeSettings,
    progress: Callable[..., Iterable] = lambda items, **_: items,
) -> Pairs:
    """What every choice is measured on; lengths of causal models as `PairCounter` says.

    Columns: number of pairs of positions, then, pooling by pooling, the sums for each length.
    """
    index = {word: place for place, word in enumerate(words)}
    causal = is_causal(model, encode(tokenizer, " ".join(words[:8]), 8).ids)
    every = Labels(tuple(words), np.ones((1, len(words), 1), dtype=bool))
    counter = PairCounter(every, settings.reference_length, causal)
    parts = []
    for document, text in enumerate(progress(texts, unit="doc")):
        encoded = encode(tokenizer, text, settings.max_tokens)
        if not encoded.ids:
            continue
        attention = forward(model, encoded.ids).cpu()
        scale = {"corrected": 1.0, "as it is": settings.reference_length / len(encoded.ids)}
        columns = []
        for pooling in choices.pooling:
            one = counter.pair_sums(
                POOLED[pooling](attention), encoded.positions, encoded.indices(index)
            )
            pairs = uncertainty.unordered(one.word_pairs, np.ones(len(words), dtype=bool))
            first, second, (sums, counts) = pairs
            columns += [sums * scale[length] for length in choices.lengths]
        place = np.full(len(first), document)
        parts.append((place, first, second, np.column_stack([counts, *columns])))
    return Pairs(*map(np.concatenate, zip(*parts, strict=True)))


def measure_choices(
    model: PreTrainedModel,
    tokenizer: Tokenizer,
    articles: pd.DataFrame,
    kept: dict[Choice, pd.DataFrame],
    choices: ChoicesSettings,
    probe: ProbeSettings,
    progress: Callable[..., Iterable] = lambda items, **_: items,
) -> pd.DataFrame:
    """Attention and embedding ratios of a checkpoint under every choice.

    Args:
        kept: of `kept_words`.

    Returns:
        Rows with the columns of `Choice`, `choice` (`ours`, `authors` or empty), `quantity`,
        `value`, `low`, `high`, `n`, `runs`: the attention ratio and, over the mean of its null,
        again, with intervals over documents; `_null`s with their 95% ranges; the embeddings' cosine
        ratio. Where pairs are too few the value is NaN. `authors_over_ours` is the authors' ratio
        over its null as a multiple of ours, from the same resamples: the mean over the seeds of
        LDA, their number the `runs`, with an interval over these and documents.
    """
    union = pd.concat(kept.values()).drop_duplicates("word")
    words = sorted(piece_ids(tokenizer, union["word"]))
    occurrences = union.set_index("word")["occurrences"][words].to_numpy()
    texts, settings = articles["text"].tolist(), probe.uncertainty
    how = choices, probe.attention, progress
    pairs = attention_between_words(model, tokenizer, texts, words, *how)
    vectors = unit_vectors(extract_embeddings(model, tokenizer, words).of(words)["output"])
    weights = uncertainty.document_weights(
        len(texts), settings.document_resamples, generator("documents", settings.seed)
    )
    readings, n = list(product(choices.pooling, choices.lengths)), len(texts)
    named_choices = {
        choice._replace(seed=seed): (name, seed)
        for name, choice in named(choices).items()
        for seed in choices.seeds
    }
    column = {word: place for place, word in enumerate(words)}
    measures, replicates = [], {}
    for choice, rows in progress(kept.items(), unit="choice"):
        rows = rows[rows["word"].isin(column)]
        membership = np.zeros((len(words), choice.topics), dtype=bool)
        membership[rows["word"].map(column).to_numpy(dtype=int), rows["topic"]] = True
        moved = permutations_of(membership, occurrences, settings)
        measured = _attention(pairs, membership, moved, weights)
        for (pooling, length), (ratio, drawn, null) in zip(readings, measured, strict=True):
            read = choice._replace(pooling=pooling, length=length)
            centre, (name, seed) = null.mean(), named_choices.get(read, ("", None))
            mark = name if seed == choices.seeds[0] else ""
            over = replicates[name, seed] = ratio / centre, drawn / centre
            for quantity, value, spread in (
                (RATIO, ratio, intervals.bootstrap_interval(drawn, n)),
                (f"{RATIO}_null", centre, intervals.percentile_interval(null)),
                (CORRECTED, over[0], intervals.bootstrap_interval(over[1], n)),
            ):
                measures.append((*read, mark, quantity, value, *spread, n))
        ratio, null = _cosine(vectors, membership, moved)
        spread = intervals.percentile_interval(null)
        measures.append((*choice, "", COSINE, ratio, np.nan, np.nan, len(rows)))
        measures.append((*choice, "", f"{COSINE}_null", null.mean(), *spread, len(rows)))
    columns = [*Choice._fields, "choice", "quantity", "value", "low", "high", "n"]
    table = pd.DataFrame(measures, columns=columns)
    both = _authors_over_ours(replicates, choices.seeds, n)
    return pd.concat([table, pd.DataFrame(both)], ignore_index=True) if both else table


def _authors_over_ours(
    replicates: dict[tuple[str, int], tuple[float, np.ndarray]], seeds: Sequence[int], n: int
) -> list[dict]:
    """The row of the authors' choice over ours; none where no seed has both.

    `replicates`: ratio over its null and resampled ones [R], by name of the choice and seed.
    """
    both = [
        tuple(map(np.divide, replicates["authors", seed], replicates["ours", seed]))
        for seed in seeds
        if {("ours", seed), ("authors", seed)} <= replicates.keys()
    ]
    if not both:
        return []
    values, drawn = map(np.array, zip(*both, strict=True))
    ends = intervals.bootstrap_interval(drawn.mean(axis=0), n)
    row = dict(zip(("value", "low", "high"), intervals.over_seeds(values, *ends), strict=True))
    runs = len(both) if len(both) > 1 else np.nan
    return [row | {"quantity": AUTHORS_OVER_OURS, "n": n, "runs": runs}]


def _attention(
    pairs: Pairs, membership: np.ndarray, moved: Sequence[np.ndarray], weights: np.ndarray
) -> Iterable[tuple[float, np.ndarray, np.ndarray]]:
    """Ratio, with documents resampled [R] and with topics permuted [P]; of each column of sums.

    NaN where a class has no pairs.
    """
    labelled = membership.any(axis=1)
    kept = labelled[pairs.first] & labelled[pairs.second]
    document, first, second, values = (column[kept] for column in pairs)
    [meets] = uncertainty.meetings(first, second, membership, [np.arange(len(membership))])
    shape = (weights.shape[1], len(document))
    ones = np.ones(len(document)), (document, np.arange(len(document)))
    by_document = scipy.sparse.csr_matrix(ones, shape=shape)
    same, total = by_document @ (values * meets[:, None]), by_document @ values  # [D, C]
    observed = _ratio(same.sum(axis=0), total.sum(axis=0))
    drawn = _ratio(weights @ same, weights @ total)
    codes, row = np.unique(first * len(membership) + second, return_inverse=True)
    shape = (len(codes), len(row))
    whole = scipy.sparse.csr_matrix((ones[0], (row, np.arange(len(row)))), shape=shape) @ values
    meeting = uncertainty.meetings(*np.divmod(codes, len(membership)), membership, moved)
    null = np.array([meets @ whole for meets in meeting])
    return zip(observed, drawn.T, _ratio(null, whole.sum(axis=0)).T, strict=True)


def _ratio(same: np.ndarray, total: np.ndarray) -> np.ndarray:
    """Mean weight within topics over that across topics, [..., C - 1], of sums [..., C]."""
    with np.errstate(divide="ignore", invalid="ignore"):
        within, across = (part[..., 1:] / part[..., :1] for part in (same, total - same))
        return within / across


def _cosine(
    vectors: np.ndarray, membership: np.ndarray, moved: Sequence[np.ndarray]
) -> tuple[float, np.ndarray]:
    """The ratio of mean cosines, and with topics permuted [P]; NaN where a class has no pairs."""
    similarity = PairSimilarity(vectors, membership)
    try:
        null = Replicates.of(similarity.means(permutation=one) for one in moved).ratio
        return float(Replicates.of([similarity.means()]).ratio[0]), null
    except ValueError:
        return np.nan, np.full(len(moved), np.nan)
