"""Checkpoints of a few thousand weights, one of each architecture, and tokenizers like theirs."""

import json
from pathlib import Path

import safetensors.torch
import torch
import transformers
from tokenizers import Tokenizer, normalizers, pre_tokenizers, processors
from tokenizers.models import BPE, Unigram, WordPiece
from torch import nn

WORDS = ["frog", "toad", "pond", "bach", "opera", "mozart", "the"]
MORE = ["newt", "heron", "duck", "reed", "cello", "fugue", "aria", "oboe"]  # behind all pieces
PUNCTUATION = [",", "!", "."]
# [PAD] is 0 in WordPiece vocabularies; RoBERTa's and BART's special tokens have their own order.
PIECES = ["[PAD]", "[CLS]", "[SEP]", "[UNK]", "[MASK]", *WORDS[:-1], "##let", *PUNCTUATION, "the"]
PIECES += MORE
SHAPE = {
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 32,
    "max_position_embeddings": 64,
}
# What the published checkpoints hold beside the bare model.
PUBLISHED = {
    "bert": transformers.BertForPreTraining,
    "roberta": transformers.RobertaForMaskedLM,
    "albert": transformers.AlbertForPreTraining,
    "electra": transformers.ElectraForPreTraining,
    "bart": transformers.BartModel,
}
FAMILIES = tuple(PUBLISHED)
OTHER_ENCODERS = ("distilbert", "mpnet", "xlm-roberta", "camembert", "deberta-v2", "modernbert")
ENCODERS = (*FAMILIES, *OTHER_ENCODERS)
CAUSAL = ("gpt2", "gpt_neox", "llama", "gemma2")
# What the published checkpoints of these families call the parameters of a LayerNorm.
OLD_NAMES = {"LayerNorm.weight": "LayerNorm.gamma", "LayerNorm.bias": "LayerNorm.beta"}


def save_tiny(
    family: str, folder: Path, seed: int = 0, published: bool = False, **config: object
) -> Path:
    """Save a tiny checkpoint of an architecture.

    Args:
        family: one of `ENCODERS` or `CAUSAL`, as `model_type` says.
        folder: where; must not exist.
        seed: of the weights.
        published: one of `FAMILIES` with the heads, prefixes and missing poolers of the published
            checkpoint, instead of the bare model.
        **config: fields of the configuration other than `SHAPE`'s.
    """
    folder.mkdir(parents=True)
    tokenizer = tiny_tokenizer(family)
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text("{}")
    configuration = tiny_config(family, tokenizer.get_vocab_size(), **config)
    torch.manual_seed(seed)
    if published:
        model = PUBLISHED[family](configuration)
    else:
        model = transformers.AutoModel.from_config(configuration)
    _stir(model)
    model.save_pretrained(folder)
    if published:
        _rewrite_as_published(family, folder / "model.safetensors")
    return folder


def tiny_config(family: str, pieces: int, **config: object) -> transformers.PreTrainedConfig:
    """A configuration with factorised embeddings where the family has them."""
    shape = SHAPE | {"vocab_size": pieces}
    if family not in FAMILIES:  # ids of special tokens are those of `_byte_level`
        shape |= {"bos_token_id": 0, "pad_token_id": 1, "eos_token_id": 2}
    if family == "distilbert":
        shape |= {"hidden_dim": shape.pop("intermediate_size")}
    if family in ("llama", "gemma2"):  # two heads of queries share one of keys
        shape |= {"num_key_value_heads": 1, "head_dim": 8}
    if family == "modernbert":
        shape |= {"cls_token_id": 0, "sep_token_id": 2}
    if family == "bart":
        shape |= {"d_model": shape.pop("hidden_size")}
        shape |= {f"{side}_layers": SHAPE["num_hidden_layers"] for side in ("encoder", "decoder")}
        for side in ("encoder", "decoder"):
            shape[f"{side}_attention_heads"] = SHAPE["num_attention_heads"]
            shape[f"{side}_ffn_dim"] = SHAPE["intermediate_size"]
        for name in ("num_hidden_layers", "num_attention_heads", "intermediate_size"):
            del shape[name]
    if family in ("albert", "electra"):
        shape["embedding_size"] = 8
    return transformers.AutoConfig.for_model(family, **(shape | config))


def tiny_tokenizer(family: str) -> Tokenizer:
    """WordPiece, byte-level BPE or Unigram, as the family's published tokenizer is.

    Causal models mark no end of a text, and most of them no beginning.
    """
    if family in ("roberta", "bart", "mpnet", "modernbert"):
        return _byte_level()
    if family in ("gpt2", "gpt_neox"):
        tokenizer = _byte_level()
        tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
        return tokenizer
    if family in ("llama", "gemma2"):
        return _spaces_as_prefixes()
    return _word_piece() if family in ("bert", "electra", "distilbert") else _unigram()


def _word_piece() -> Tokenizer:
    vocabulary = {piece: index for index, piece in enumerate(PIECES)}
    tokenizer = Tokenizer(WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 1), ("[SEP]", 2)]
    )
    return tokenizer


def _byte_level() -> Tokenizer:
    """Byte-level BPE that knows the words after a space only, saved without a prefix space."""
    vocabulary = {"<s>": 0, "<pad>": 1, "</s>": 2, "<unk>": 3, "<mask>": 4}
    for symbol in sorted(pre_tokenizers.ByteLevel.alphabet()):
        vocabulary.setdefault(symbol, len(vocabulary))
    merges = []
    for word in (*WORDS, "The", "Bach", "let", *MORE):
        piece = "Ġ" if word != "let" else word[0]
        for letter in word if word != "let" else word[1:]:
            if (piece, letter) not in merges:
                merges.append((piece, letter))
            piece += letter
            vocabulary.setdefault(piece, len(vocabulary))
    tokenizer = Tokenizer(BPE(vocabulary, merges))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0))
    return tokenizer


def _unigram() -> Tokenizer:
    special = ["<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]"]
    scores = [(piece, 0.0) for piece in special] + [(f"▁{word}", -3.0) for word in WORDS]
    scores += [(piece, -5.0) for piece in ("let", "▁", *PUNCTUATION)]
    scores += [(f"▁{word}", -3.0) for word in MORE]
    tokenizer = Tokenizer(Unigram(scores, unk_id=1))
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFKD(), normalizers.Lowercase()])
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace(prepend_scheme="always")]
    )
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    return tokenizer


def _spaces_as_prefixes() -> Tokenizer:
    """Pieces that begin with a space's mark, put there by normalizers, and `<s>` before a text."""
    tokenizer = _unigram()
    prefix = [normalizers.Prepend("▁"), normalizers.Replace(" ", "▁"), normalizers.Lowercase()]
    tokenizer.normalizer = normalizers.Sequence(prefix)
    tokenizer.pre_tokenizer = None
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A", special_tokens=[("[CLS]", 2)]
    )
    return tokenizer


def _stir(model: nn.Module) -> None:
    """Move all weights off their initial values, which are 0 or 1 for some."""
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.2)


def _rewrite_as_published(family: str, path: Path) -> None:
    """Old names, buffers that are no weights, no pooler: as the published files have it."""
    weights = safetensors.torch.load_file(path)
    if family == "roberta":
        weights = {name: w for name, w in weights.items() if ".pooler." not in name}
    if family != "bart":
        weights[f"{family}.embeddings.position_ids"] = torch.arange(64)[None]
    if family == "bert":
        for new, old in OLD_NAMES.items():
            weights = {name.replace(new, old): w for name, w in weights.items()}
    safetensors.torch.save_file(weights, path, metadata={"format": "pt"})


def edit_config(folder: Path, **fields: object) -> None:
    """Change fields of a checkpoint's `config.json`."""
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | fields))
