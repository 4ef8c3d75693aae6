"""What a batch hides from a model: masked words, spans, exchanged halves. NumPy alone."""

from typing import NamedTuple

import numpy as np

from onelayer.text.pretraining.vocabulary import CLS_ID, MASK_ID, SEP_ID, SPECIAL


class Masked(NamedTuple):
    """A batch with words to be predicted."""

    ids: np.ndarray  # what the model reads, [rows, words]
    predicted: np.ndarray  # which words it must predict, [rows, words] bool


def mask_words(
    ids: np.ndarray,
    draws: np.ndarray,
    predictable: np.ndarray,
    share: float,
    masked: float,
    other: float,
) -> Masked:
    """Choose words to be predicted and hide them (Devlin et al. 2019, section 3.1).

    Of the chosen words the share `masked` becomes the mask, `other` another word, and the rest
    stay: a model that has to repeat those learns its embeddings long before it learns what fits a
    mask. `ids` are [rows, words]; `draws`, uniform on [0, 1), [3, rows, words], say which words,
    what becomes of them, and which other words; pieces that are not `predictable`, [pieces] bool,
    are never chosen, the others with chance `share`.
    """
    predicted = predictable[ids] & (draws[0] < share)
    if not predicted.any():  # a loss over nothing is not a number
        predicted.flat[draws[0].argmin()] = True
    words = len(predictable) - len(SPECIAL)
    others = len(SPECIAL) + (draws[2] * words).astype(ids.dtype)
    hidden = np.where(draws[1] < masked + other, others, ids)
    hidden = np.where(draws[1] < masked, MASK_ID, hidden)
    return Masked(np.where(predicted, hidden, ids), predicted)


def fill_in_spans(
    ids: np.ndarray, share: float, mean_length: float, longest: int, rng: np.random.Generator
) -> Masked:
    """Replace spans by one mask each (Lewis et al. 2020, 'text infilling').

    Span lengths are Poisson; a span of length 0 inserts a mask, unless that makes the text longer
    than `longest`. All rows of a batch have spans of the same lengths at places of their own, so
    that they stay equally long. Spans of `mean_length` words cover a `share` of `ids`.

    Returns:
        `ids` [rows, corrupted words]; `predicted` [rows, words], the words that spans cover.
    """
    rows, words = ids.shape
    lengths = _span_lengths(max(1, round(share * words)), mean_length, longest - words, rng)
    spans, covered = len(lengths), int(lengths.sum())
    units = words - covered + spans
    # The first `spans` of shuffled units are spans; the others are words that stay.
    owner = np.argsort(rng.random((rows, units)), axis=1)
    sizes = np.append(lengths, 1)[np.minimum(owner, spans)]
    is_span = owner < spans
    starts = np.cumsum(sizes, axis=1) - sizes
    padded = np.concatenate([ids, np.full((rows, 1), MASK_ID)], axis=1)  # a last, empty span
    hidden = np.where(is_span, MASK_ID, np.take_along_axis(padded, starts, axis=1))
    return Masked(hidden, np.repeat(is_span.ravel(), sizes.ravel()).reshape(rows, words))


def _span_lengths(total: int, mean: float, spare: int, rng: np.random.Generator) -> np.ndarray:
    """Poisson lengths, the last one cut, that sum to `total`; at most `spare` more than `total`."""
    lengths: list[int] = []
    while (remaining := total - sum(lengths)) > 0:
        lengths.append(min(remaining, int(rng.poisson(mean))))
    while len(lengths) > total + spare:
        lengths.remove(0)
    return np.array(lengths)


def halves(middles: np.ndarray, swapped: np.ndarray, words: int) -> tuple[np.ndarray, np.ndarray]:
    """Order of the words with the halves of swapped rows exchanged, and the first half's length."""
    middles = np.clip(middles, 1, words - 1)
    shift = np.where(swapped, middles, 0)
    order = (np.arange(words) + shift[:, None]) % words
    return order, np.where(swapped, words - middles, middles)


def framed(words: np.ndarray) -> np.ndarray:
    """`[CLS] words [SEP]` in every row."""
    ids = np.pad(words, ((0, 0), (1, 1)), constant_values=CLS_ID)
    ids[:, -1] = SEP_ID
    return ids


def framed_pair(words: np.ndarray, first: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """`[CLS] first [SEP] second [SEP]` in every row, and the token types 0 and 1."""
    rows, count = words.shape
    ids = np.full((rows, count + 3), SEP_ID, dtype=words.dtype)
    ids[:, 0] = CLS_ID
    columns = np.arange(count)
    np.put_along_axis(ids, columns + 1 + (columns >= first[:, None]), words, axis=1)
    return ids, (np.arange(count + 3) > first[:, None] + 1).astype(np.int64)


def asked(masked: Masked, words: np.ndarray) -> dict[str, np.ndarray]:
    """The framed batch, positions of what is predicted in it, flattened, and what stands there."""
    ids, (rows, columns) = framed(masked.ids), np.nonzero(masked.predicted)
    positions = rows * ids.shape[1] + columns + 1
    return {"ids": ids, "positions": positions, "labels": words[masked.predicted]}
