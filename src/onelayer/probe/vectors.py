"""Embeddings of single words as they are stored: taken out of a checkpoint once, measured often."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import safetensors.numpy

from onelayer.errors import OnelayerError


@dataclass(frozen=True)
class Embeddings:
    """Embeddings of the words that are one piece in a checkpoint's tokenizer.

    Attributes:
        words: the words.
        raw: rows of the word-embedding matrix, [words, d] float64.
        output: the embedding layer's output at position 0, [words, d] float64.
    """

    words: list[str]
    raw: np.ndarray
    output: np.ndarray

    def of(self, words: Sequence[str]) -> dict[str, np.ndarray]:
        """`raw` and `output` of these words, in their order.

        Raises:
            OnelayerError: a word is not one piece in this checkpoint's tokenizer.
        """
        place = {word: index for index, word in enumerate(self.words)}
        if missing := [word for word in words if word not in place]:
            raise OnelayerError(
                f"{len(missing)} words of the topics are not one piece in this model's tokenizer "
                f"({', '.join(missing[:5])}, ...): name the model in topics.words.single_piece_in"
            )
        rows = [place[word] for word in words]
        return {"raw": self.raw[rows], "output": self.output[rows]}


def write_embeddings(embeddings: Embeddings, words: Path, vectors: Path) -> None:
    """Write the words as Parquet and the vectors as `.safetensors`."""
    pd.DataFrame({"word": embeddings.words}).to_parquet(words, index=False)
    arrays = {"raw": embeddings.raw, "output": embeddings.output}
    safetensors.numpy.save_file({k: np.ascontiguousarray(v) for k, v in arrays.items()}, vectors)


def read_embeddings(words: Path, vectors: Path) -> Embeddings:
    """Read what `write_embeddings` wrote."""
    return Embeddings(
        pd.read_parquet(words)["word"].tolist(), **safetensors.numpy.load_file(vectors)
    )
