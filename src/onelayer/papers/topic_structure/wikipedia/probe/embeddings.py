"""Embeddings of single words, taken out of a checkpoint."""

from collections.abc import Sequence

from tokenizers import Tokenizer
from transformers import PreTrainedModel

from onelayer.papers.topic_structure.wikipedia.probe.vectors import Embeddings
from onelayer.text.models.checkpoints import word_embeddings
from onelayer.text.models.tokenizer import piece_ids


def extract_embeddings(
    model: PreTrainedModel, tokenizer: Tokenizer, words: Sequence[str]
) -> Embeddings:
    """Embeddings of those of the words that are one piece, in the order given."""
    pieces = piece_ids(tokenizer, words)
    raw, output = word_embeddings(model, list(pieces.values()))
    return Embeddings(list(pieces), raw.numpy(), output.numpy())
