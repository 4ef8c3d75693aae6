"""Embeddings of single words, taken out of a checkpoint."""

from collections.abc import Sequence

from tokenizers import Tokenizer
from transformers import PreTrainedModel

from onelayer.models.checkpoints import word_embeddings
from onelayer.models.tokenizer import piece_id
from onelayer.probe.vectors import Embeddings


def extract_embeddings(
    model: PreTrainedModel, tokenizer: Tokenizer, words: Sequence[str]
) -> Embeddings:
    """Embeddings of those of the words that are one piece, in the order given."""
    pieces = {word: piece_id(tokenizer, word) for word in words}
    kept = [word for word in words if pieces[word] is not None]
    raw, output = word_embeddings(model, [pieces[word] for word in kept])
    return Embeddings(kept, raw.numpy(), output.numpy())
