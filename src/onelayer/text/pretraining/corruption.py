"""What an objective hides from its model: words to be predicted, spans to be filled in."""

from dataclasses import dataclass

import numpy as np

from onelayer.text.pretraining.vocabulary import MASK_ID, SPECIAL


@dataclass(frozen=True)
class Masked:
    """A batch with words to be predicted.

    Attributes:
        ids: what the model reads, [rows, words].
        predicted: which words it must predict, [rows, words] bool.
    """

    ids: np.ndarray
    predicted: np.ndarray


def mask_words(
    ids: np.ndarray,
    draws: np.ndarray,
    predictable: np.ndarray,
    share: float,
    pieces: int,
    masked: float,
    other: float,
) -> Masked:
    """Choose words to be predicted and hide them (Devlin et al. 2019, section 3.1).

    Of the chosen words most become the mask, some another word, and the rest stay: a model that has
    to repeat those learns its embeddings long before it learns what fits a mask.

    Args:
        ids: words, [rows, words].
        draws: uniform on [0, 1), [3, rows, words]: which words, what becomes of them, other words.
        predictable: which pieces may be chosen, [pieces] bool.
        share: chance of a predictable word to be chosen.
        pieces: size of the vocabulary.
        masked, other: shares of the chosen words that become the mask, and another word.
    """
    predicted = predictable[ids] & (draws[0] < share)
    if not predicted.any():  # a loss over nothing is not a number
        predicted.flat[draws[0].argmin()] = True
    others = len(SPECIAL) + (draws[2] * (pieces - len(SPECIAL))).astype(ids.dtype)
    hidden = np.where(draws[1] < masked + other, others, ids)
    hidden = np.where(draws[1] < masked, MASK_ID, hidden)
    return Masked(np.where(predicted, hidden, ids), predicted)


def fill_in_spans(
    ids: np.ndarray, share: float, mean_length: float, rng: np.random.Generator
) -> Masked:
    """Replace spans by one mask each (Lewis et al. 2020, 'text infilling').

    Span lengths are Poisson; a span of length 0 inserts a mask. All rows of a batch have spans of
    the same lengths at places of their own, so that they stay equally long.

    Args:
        ids: words, [rows, words].
        share: of the words that spans cover.
        mean_length: of the spans (words).
        rng: draws lengths and places.

    Returns:
        `ids` [rows, corrupted words]; `predicted` [rows, words], the words that spans cover.
    """
    rows, words = ids.shape
    lengths = _span_lengths(max(1, round(share * words)), mean_length, rng)
    spans, covered = len(lengths), int(lengths.sum())
    units = words - covered + spans
    # The first `spans` of shuffled units are spans; the others are words that stay.
    owner = np.argsort(rng.random((rows, units)), axis=1)
    sizes = np.where(owner < spans, np.append(lengths, 1)[np.minimum(owner, spans)], 1)
    is_span = owner < spans
    starts = np.cumsum(sizes, axis=1) - sizes
    padded = np.concatenate([ids, np.full((rows, 1), MASK_ID)], axis=1)  # a last, empty span
    hidden = np.where(is_span, MASK_ID, np.take_along_axis(padded, starts, axis=1))
    predicted = np.repeat(is_span.ravel(), sizes.ravel()).reshape(rows, words)
    return Masked(hidden, predicted)


def _span_lengths(total: int, mean: float, rng: np.random.Generator) -> np.ndarray:
    """Poisson lengths, the last one cut, that sum to `total`."""
    lengths: list[int] = []
    while (left := total - sum(lengths)) > 0:
        lengths.append(min(left, int(rng.poisson(mean))))
    return np.array(lengths)
