"""Embeddings of words, and heads, as they are stored: taken out of a checkpoint, measured often."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd
import safetensors.numpy


@dataclass(frozen=True)
class Embeddings:
    """Embeddings of the words that are one piece in a checkpoint's tokenizer.

    Attributes:
        raw: rows of the word-embedding matrix, [words, d] float64.
        output: the embedding layer's output at position 0, [words, d] float64.
        heads: what the checkpoint has of `W_V` and `W_O` of all layers and heads (`value_weights`),
            `norm_gains` behind them, `projection` and `projection_bias` of factorised embeddings,
            and the `transform` and `gain` behind which it predicts words (`head_transform`).
    """

    words: list[str]
    raw: np.ndarray
    output: np.ndarray
    heads: Mapping[str, np.ndarray] = field(default_factory=dict)

    def of(self, words: Sequence[str]) -> dict[str, np.ndarray]:
        """`raw` and `output` of these words, in their order.

        Raises:
            KeyError: a word is not one piece in this checkpoint's tokenizer.
        """
        place = {word: index for index, word in enumerate(self.words)}
        rows = [place[word] for word in words]
        return {"raw": self.raw[rows], "output": self.output[rows]}


def write_embeddings(embeddings: Embeddings, words: Path, vectors: Path) -> None:
    """Write the words as Parquet and the vectors as `.safetensors`."""
    pd.DataFrame({"word": embeddings.words}).to_parquet(words, index=False)
    arrays = {"raw": embeddings.raw, "output": embeddings.output, **embeddings.heads}
    safetensors.numpy.save_file({k: np.ascontiguousarray(v) for k, v in arrays.items()}, vectors)


def read_embeddings(words: Path, vectors: Path) -> Embeddings:
    """Read what `write_embeddings` wrote."""
    arrays = safetensors.numpy.load_file(vectors)
    stored = pd.read_parquet(words)["word"].tolist(), arrays.pop("raw"), arrays.pop("output")
    return Embeddings(*stored, arrays)
