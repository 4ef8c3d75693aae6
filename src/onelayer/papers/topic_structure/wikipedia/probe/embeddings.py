"""Embeddings of single words and the heads that move them, taken out of a checkpoint."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer
from transformers import PreTrainedModel

from onelayer.papers.topic_structure.wikipedia.probe.vectors import Embeddings
from onelayer.text.models.architecture import head_transform, norm_gains, projection, value_weights
from onelayer.text.models.checkpoints import word_embeddings
from onelayer.text.models.tokenizer import piece_ids


def extract_embeddings(
    model: PreTrainedModel, tokenizer: Tokenizer, words: Sequence[str], folder: Path | None = None
) -> Embeddings:
    """Embeddings of those of the words that are one piece, in the order given, and the heads.

    `folder`, of the checkpoint, may hold the head that predicts words; a snapshot has none.
    """
    pieces = piece_ids(tokenizer, words)
    raw, output = word_embeddings(model, list(pieces.values()))
    return Embeddings(list(pieces), raw.numpy(), output.numpy(), _heads(model, folder))


def _heads(model: PreTrainedModel, folder: Path | None) -> dict[str, np.ndarray]:
    """`Embeddings.heads`, what the checkpoint has of it."""
    gains = norm_gains(model)
    parts = {
        ("W_V", "W_O"): value_weights(model),
        ("norm_gains",): None if gains is None else (gains,),
        ("projection", "projection_bias"): projection(model),
        ("transform", "gain"): head_transform(folder, model) if folder else None,
    }
    return {
        name: one.detach().cpu().numpy()
        for names, arrays in parts.items()
        for name, one in zip(names, arrays or (), strict=bool(arrays))
    }
