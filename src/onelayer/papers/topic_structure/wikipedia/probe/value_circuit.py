"""What heads write when they attend to a word of a topic: the OV circuit of every head.

The first stage of Li, Li & Risteski (2023) is about W_V, which becomes block-wise by topics while
attention is uniform. In a trained transformer the like of it is C = E W_V^h W_O^h E^T: C_ij says
how far head h, where it attends to word i alone, moves the residual stream towards word j (the OV
circuit of Elhage et al. 2021, 'A Mathematical Framework for Transformer Circuits'). Its gap is the
mean of C over ordered pairs of distinct words of one topic minus that over pairs of different
topics, in standard deviations of C over all such pairs: about Cohen's d. Of the theorem's
blocks, T topics of as many words each, it is about sqrt(T).

Layers beyond the first read what those before them made of E, and biases and the feed-forward part
are left out: C is a path through the model, the direct one. One reading has the gain gamma of the
LayerNorm behind attention, E W_V W_O diag(gamma) E^T; the norm's scale is one number a token.

Shapes: W words, N labelled words, G topic sets, L layers, H heads of all layers, S checkpoints, P
permutations, R resamples, d width, e width of the vectors on either side.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from onelayer.compute.seeds import generator
from onelayer.evidence import intervals
from onelayer.evidence.tables import ALL
from onelayer.papers.topic_structure.wikipedia.probe import uncertainty
from onelayer.papers.topic_structure.wikipedia.probe.labels import Variant
from onelayer.papers.topic_structure.wikipedia.probe.measures import (
    Sampled,
    measure_embeddings,
    permutations_of,
    rows_of,
)
from onelayer.papers.topic_structure.wikipedia.probe.pairs import Labels
from onelayer.papers.topic_structure.wikipedia.probe.similarity import TopicSets
from onelayer.papers.topic_structure.wikipedia.probe.vectors import Embeddings
from onelayer.settings.probe import UncertaintySettings

GAP = "value_circuit_gap"
# Columns of what is measured; layer and head count from 1, and 0 is the mean over all heads.
OF_HEAD = ["reading", "layer", "head"]
COLUMNS = [*OF_HEAD, "seed", "overlap", "threshold", "quantity", "value", "low", "high", "n"]
NORMED = "normed"  # as `output`, behind the LayerNorm of each layer's attention
# Which vectors stand on either side of W_V W_O, and what is taken out of them: the first is judged
# first, the others say what it rests on.
READINGS: dict[str, tuple[str, str, str]] = {
    "embedding layer's output": ("output", "output", "mean"),
    "output, means kept": ("output", "output", ""),
    "output, without frequency": ("output", "output", "frequency"),
    "raw embeddings": ("raw", "raw", "mean"),
    "raw embeddings, means kept": ("raw", "raw", ""),
    "to the word embeddings": ("output", "tied", "mean"),
    "to the head's transform": ("output", "transformed", "mean"),
    "through the layer norm's gain": ("output", NORMED, "mean"),
}
FIRST = next(iter(READINGS))


@dataclass(frozen=True)
class Circuits:
    """The heads of a checkpoint, and its words' vectors by the spaces that `READINGS` name.

    Attributes:
        weights: W_V and W_O of each layer, float64 [heads, d, d_h] and [heads, d_h, d].
        vectors: [W, d] each; a checkpoint need not have all.
        gains: of the LayerNorm behind the attention of each layer, [L, d], where `NORMED` is there.
    """

    weights: Sequence[tuple[np.ndarray, np.ndarray]]
    vectors: Mapping[str, np.ndarray]
    gains: np.ndarray | None = None

    @property
    def places(self) -> list[tuple[int, int]]:
        """Layer and head of each of the H heads, counted from 1."""
        heads = enumerate((len(values) for values, _ in self.weights), 1)
        return [(layer, head + 1) for layer, number in heads for head in range(number)]


def circuits_of(embeddings: Embeddings, words: Sequence[str]) -> Circuits:
    """The circuits of a checkpoint, over these of its words."""
    heads, vectors = embeddings.heads, embeddings.of(words)
    raw, spaces = vectors["raw"], vectors
    if "projection" in heads:
        spaces = {
            space: one @ heads["projection"].T + heads["projection_bias"]
            for space, one in vectors.items()
        }
    else:
        spaces["tied"] = raw
    if "transform" in heads:
        # A word's score is e . (gain * (linear x)) but for what is not linear and the norm's scale.
        spaces["transformed"] = (raw * heads["gain"]) @ heads["transform"]
    if "norm_gains" in heads:
        spaces[NORMED] = spaces["output"]
    weights = (heads[name].astype(np.float64) for name in ("W_V", "W_O") if name in heads)
    return Circuits(list(zip(*weights, strict=True)), spaces, heads.get("norm_gains"))


class HeadGaps:
    """Gaps of all heads of a checkpoint, repeatable for permuted labels and resampled words.

    Exact over all ordered pairs of distinct words, by sums over topic sets.

    Args:
        source, target: E W_V^h and E W_O^hT, float64 [W, H, d_h] each, so that C^h_ij is their dot
            product.
        sets: topic sets of the words.
    """

    def __init__(self, source: np.ndarray, target: np.ndarray, sets: TopicSets) -> None:
        self.sets = sets
        rows = [side[sets.labelled] for side in (source, target)]
        self._shape = rows[0].shape[1:]  # [H, d_h]
        self._own = np.einsum("nhd,nhd->nh", *rows)  # C_ii, [N, H]
        self._rows = [side.reshape(len(side), -1) for side in rows]
        self._meets = (sets.sets.astype(float) @ sets.sets.T > 0).astype(float)  # [G, G]
        self._deviation = self._standard_deviation(*rows)

    def gaps(self, weights: np.ndarray | None = None, permutation: np.ndarray | None = None):
        """Gap of every head, [H], in standard deviations of C over the words as they are.

        Args:
            weights, permutation: as of `PairSimilarity.means`; resamples are measured in the same
                unit as the words that they are drawn from.

        """
        indicator, drawn = self.sets.indicator(weights, permutation)
        sums = [indicator @ side for side in self._rows]  # [G, H d_h]
        sizes = indicator @ np.ones(len(drawn))
        squares = drawn * drawn
        same = self._by_head(sums[0], self._meets @ sums[1]) - squares @ self._own
        every = self._by_head(*(side.sum(axis=0)[None] for side in sums)) - squares @ self._own
        same_pairs = sizes @ self._meets @ sizes - squares.sum()
        different_pairs = sizes.sum() ** 2 - squares.sum() - same_pairs
        # Words drawn of one topic alone, or none of them of one, have no gap.
        same_pairs, different_pairs = (pairs or np.nan for pairs in (same_pairs, different_pairs))
        return (same / same_pairs - (every - same) / different_pairs) / self._deviation

    def _by_head(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Sum over rows of the dot products of every head: [H]."""
        sides = (side.reshape(len(side), *self._shape) for side in (left, right))
        return np.einsum("ghd,ghd->h", *sides)

    def _standard_deviation(self, source: np.ndarray, target: np.ndarray) -> np.ndarray:
        """Of C over ordered pairs of distinct words, [H]: its squares sum to <A^T A, B^T B>."""
        pairs = len(source) * (len(source) - 1)
        grams = []
        for side in (source, target):
            by_head = side.transpose(1, 2, 0)  # [H, d_h, N]
            grams.append(by_head @ by_head.mT)
        squares = np.einsum("hde,hde->h", *grams) - (self._own**2).sum(axis=0)
        total = np.einsum("hd,hd->h", source.sum(axis=0), target.sum(axis=0))
        mean = (total - self._own.sum(axis=0)) / pairs
        return np.sqrt(squares / pairs - mean**2)


def layer_gaps(
    circuits: Circuits, reading: str, sets: TopicSets, frequencies: np.ndarray
) -> Iterator[HeadGaps]:
    """The gaps of a checkpoint under a reading, layer by layer: none where it lacks the vectors.

    Args:
        frequencies: occurrences of each word in the corpus, [W].
    """
    *spaces, without = READINGS[reading]
    if not set(spaces) <= set(circuits.vectors):
        return
    source, target = (
        _taken_out(circuits.vectors[space], without, sets, frequencies) for space in spaces
    )
    normed = NORMED in spaces
    for layer, (values, output) in enumerate(circuits.weights):
        output = output * circuits.gains[layer] if normed else output
        # [W, heads, d_h] both
        yield HeadGaps(
            *((source @ values).swapaxes(0, 1), (target @ output.mT).swapaxes(0, 1)), sets
        )


def _taken_out(
    vectors: np.ndarray, what: str, sets: TopicSets, frequencies: np.ndarray
) -> np.ndarray:
    """Vectors without what the labelled words share: their mean, or what goes with frequency.

    The latter is what least squares explain by the logarithm of the occurrences, the mean included.
    """
    if not what:
        return vectors
    design = np.ones((len(vectors), 1))
    if what == "frequency":
        design = np.column_stack([design, np.log(frequencies)])
    chosen = sets.labelled
    coefficients, *_ = np.linalg.lstsq(design[chosen], vectors[chosen])
    return vectors - design @ coefficients


def measure_circuits(
    checkpoints: Iterable[Circuits],
    variant: Variant,
    membership: np.ndarray,
    frequencies: np.ndarray,
    settings: UncertaintySettings,
    readings: Iterable[str] = READINGS,
    seeds: Sequence[int] = (),
) -> pd.DataFrame:
    """Gaps of one model's value circuits: the mean over heads, and every head under `FIRST`.

    Args:
        checkpoints: of one model, over the same words; looked at one after the other.
        variant, membership: one way to keep words, and the topics of each, bool [W, K].
        frequencies, settings, seeds: as for embeddings, whose resamples and permutations these are.
        readings: of `READINGS`; those that a checkpoint has no vectors for give no rows.

    Returns:
        Rows of `COLUMNS`, none where the architecture's heads are not known. The mean over heads
        has the rows of `Sampled`, `_null_corrected` being the gap minus the mean of its null; a
        head has, for each checkpoint, its gap between the 95% ends of its null, `_null`, and `_z`.

    """
    sets, rng = TopicSets(membership), generator("words", settings.seed)
    resamples = uncertainty.word_multiplicities(membership, settings.word_resamples, rng)
    permutations = permutations_of(membership, frequencies, settings)
    # By reading, of every checkpoint: as measured, permuted, resampled, [1 or P or R, H] each.
    measured: dict[str, list[list[np.ndarray]]] = {reading: [] for reading in readings}
    for circuits in checkpoints:
        for reading, of_reading in measured.items():
            layers = [
                (
                    [one.gaps()],
                    [one.gaps(permutation=moved) for moved in permutations],
                    [one.gaps(weights=drawn) for drawn in resamples],
                )
                for one in layer_gaps(circuits, reading, sets, frequencies)
            ]
            if layers:
                of_reading.append([np.concatenate(part, 1) for part in zip(*layers, strict=True)])
    parts, words = [], len(sets.labelled)
    for reading, of_reading in measured.items():
        if not of_reading:
            continue
        values, null, boots = (np.array(part) for part in zip(*of_reading, strict=True))
        means = values[:, 0].mean(axis=-1), boots.mean(axis=-1), words, null.mean(axis=-1)
        one = Sampled(variant, GAP, *means, corrected=np.subtract)
        parts.append(rows_of([one], seeds).assign(reading=reading, layer=0, head=0))
        if reading == FIRST:
            names = map(str, seeds) if len(values) > 1 else [ALL]
            for seed, gaps, chance in zip(names, values[:, 0], null, strict=True):
                of = {"reading": reading, "seed": seed, **vars(variant), "n": words}
                parts.append(_of_heads(circuits.places, gaps, chance).assign(**of))
    return pd.concat(parts, ignore_index=True)[COLUMNS] if parts else pd.DataFrame(columns=COLUMNS)


def measure_vectors(
    checkpoints: Sequence[Embeddings],
    variants: Sequence[Variant],
    labels: Labels,
    frequencies: np.ndarray,
    settings: UncertaintySettings,
    seeds: Sequence[int] = (),
    readings: Iterable[str] = READINGS,
    progress: Callable[..., Iterable] = lambda items, **_: items,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """`measure_embeddings` of one model, and `measure_circuits` under the first of the variants."""
    vectors = [one.of(labels.words) for one in checkpoints]
    described = variants, labels, frequencies, settings
    ratios = measure_embeddings(vectors, *described, progress, seeds)
    circuits = (circuits_of(one, labels.words) for one in progress(checkpoints, unit="checkpoint"))
    first = variants[0], labels.membership[0], frequencies, settings
    return ratios, measure_circuits(circuits, *first, readings, seeds)


def _of_heads(places: Sequence[tuple[int, int]], values: np.ndarray, null: np.ndarray):
    """Gap, null and z of every head of a checkpoint: `values` [H], `null` [P, H]."""
    low, high = intervals.percentile_interval(null)
    rows = []
    for number, (layer, head) in enumerate(places):
        of = {"layer": layer, "head": head}
        z = uncertainty.z_score(values[number], null[:, number])
        ends = {"low": low[number], "high": high[number]}
        rows.append(of | ends | {"quantity": GAP, "value": values[number]})
        chance = {"quantity": f"{GAP}_null", "value": null[:, number].mean()}
        rows.append(of | ends | chance)
        rows.append(of | {"quantity": f"{GAP}_z", "value": z})
    return pd.DataFrame(rows)
