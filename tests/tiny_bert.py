"""A BERT of a few thousand weights with a tokenizer of a dozen pieces, for tests."""

from pathlib import Path

import torch
from tokenizers import Tokenizer
from tokenizers.models import WordPiece
from tokenizers.normalizers import Lowercase
from tokenizers.pre_tokenizers import BertPreTokenizer
from tokenizers.processors import TemplateProcessing
from transformers import BertConfig, BertModel

PIECES = [
    "[PAD]", "[CLS]", "[SEP]", "[UNK]", "[MASK]",
    "frog", "toad", "pond", "bach", "opera", "mozart", "##let", ",", "!", ".", "the",
]  # fmt: skip


def save_tiny_bert(folder: Path, seed: int = 0, **config: object) -> Path:
    """Save config, weights and tokenizer in the layout that checkpoints have."""
    folder.mkdir(parents=True)
    vocabulary = {piece: index for index, piece in enumerate(PIECES)}
    tokenizer = Tokenizer(WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = Lowercase()
    tokenizer.pre_tokenizer = BertPreTokenizer()
    tokenizer.post_processor = TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 1), ("[SEP]", 2)]
    )
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text("{}")
    shape = {
        "vocab_size": len(PIECES),
        "hidden_size": 16,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "intermediate_size": 32,
        "max_position_embeddings": 64,
    }
    torch.manual_seed(seed)
    model = BertModel(BertConfig(**(shape | config)))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.2)
    model.save_pretrained(folder)
    return folder
