"""The probe of attention and embeddings as plain loops, and tiny checkpoints to try it on."""

from collections import defaultdict
from pathlib import Path

import torch
import transformers
from tokenizers import Tokenizer, normalizers, pre_tokenizers, processors
from tokenizers.models import WordPiece

WORDS = ["frog", "toad", "pond", "newt", "lizard", "heron", "reed", "duck"]
WORDS += ["bach", "opera", "mozart", "cello", "fugue", "aria", "flute", "oboe"]
PIECES = ["[PAD]", "[CLS]", "[SEP]", "[UNK]", *WORDS, "##let", ",", ".", "the"]
SHAPE = {"num_hidden_layers": 2, "num_attention_heads": 2, "vocab_size": len(PIECES)}
SHAPE |= {"hidden_size": 16, "max_position_embeddings": 64, "intermediate_size": 32}
EDGES = [1, 2, 3, 4, 5, 6, 7, 8, 9, 13, 17, 25, 33, 49, 65, 97, 129]


def save_tiny(folder: Path, family: str = "bert", seed: int = 0) -> Path:
    """A checkpoint of a few thousand weights, far from its initial ones."""
    folder.mkdir(parents=True)
    tokenizer = Tokenizer(WordPiece({p: i for i, p in enumerate(PIECES)}, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    if family == "bert":
        special = [("[CLS]", 1), ("[SEP]", 2)]
        tokenizer.post_processor = processors.TemplateProcessing(
            single="[CLS] $A [SEP]", special_tokens=special
        )
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text("{}")
    torch.manual_seed(seed)
    config = transformers.AutoConfig.for_model(family, **SHAPE)
    model = transformers.AutoModel.from_config(config)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.2)
    model.save_pretrained(folder)
    return folder


def pairs(folder: Path, texts: list[str], topics: dict[str, set], reference: float) -> dict:
    """Sums of attention between different words with topics: by document, class and distance.

    Also of single heads. Words by their characters in running text; loops and sets only.
    """
    model = transformers.AutoModel.from_pretrained(folder, attn_implementation="eager").eval()
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    causal = not hasattr(model, "encoder")
    sums, counts, heads = defaultdict(float), defaultdict(int), defaultdict(float)
    for document, text in enumerate(texts):
        encoding = tokenizer.encode(text)
        with torch.no_grad():
            ids = torch.tensor([encoding.ids])
            layers = model(ids, output_attentions=True).attentions
        tokens, single = len(encoding.ids), []
        spans = zip(encoding.tokens, encoding.offsets, strict=True)
        for i, (piece, (start, end)) in enumerate(spans):
            alone = not text[end : end + 1].isalnum() and not piece.startswith("##")
            if start < end and alone and topics.get(text[start:end].lower()):
                single.append((i, text[start:end].lower()))
        for i, query in single:
            for j, key in single:
                if query == key or (causal and not 0 < j < i):
                    continue
                kind = "same" if topics[query] & topics[key] else "different"
                place = max(k for k, edge in enumerate(EDGES) if abs(i - j) >= edge)
                counts[document, kind, place] += 1
                scale = (i + 1 if causal else tokens) / reference
                for layer, weights in enumerate(layers):
                    for head in range(weights.shape[1]):
                        weight = float(weights[0, head, i, j]) * scale
                        heads[kind, layer, head] += weight
                        sums[document, kind, place] += weight / (len(layers) * weights.shape[1])
    return {"sums": sums, "counts": counts, "heads": heads}


def ratio(sums: dict, counts: dict, documents: list[int]) -> float:
    """Mean weight of pairs of one topic over that of two, documents as often as they are drawn."""
    means = []
    for kind in ("same", "different"):
        of = [key for d in documents for key in counts if key[:2] == (d, kind)]
        means.append(sum(sums[key] for key in of) / sum(counts[key] for key in of))
    return means[0] / means[1]


def ratio_at_equal_distance(sums: dict, counts: dict, documents: list[int]) -> float:
    """The same, different topics weighted to the distances of same ones."""
    within = across = 0.0
    for place in range(len(EDGES)):
        weight, number = defaultdict(float), defaultdict(int)
        for document in documents:
            for kind in ("same", "different"):
                weight[kind] += sums.get((document, kind, place), 0.0)
                number[kind] += counts.get((document, kind, place), 0)
        if number["same"] and number["different"]:
            within += weight["same"]
            across += number["same"] * weight["different"] / number["different"]
    return within / across


def ratio_within_documents(sums: dict, counts: dict, documents: list[int]) -> float:
    """The same, different topics weighted to the documents of same ones."""
    within = across = 0.0
    for document in documents:
        weight, number = defaultdict(float), defaultdict(int)
        for (of, kind, place), count in counts.items():
            if of == document:
                weight[kind] += sums[of, kind, place]
                number[kind] += count
        if number["same"] and number["different"]:
            within += weight["same"]
            across += number["same"] * weight["different"] / number["different"]
    return within / across


def mean_dots(vectors: list, topics: list[set], times: list[int]) -> tuple[float, float]:
    """Mean dot product of pairs of distinct words that share a topic, and of others."""
    sums, pairs = [0.0, 0.0], [0, 0]
    for word in range(len(vectors)):
        for other in range(word + 1, len(vectors)):
            copies = times[word] * times[other]
            kind = 0 if topics[word] & topics[other] else 1
            dot = sum(a * b for a, b in zip(vectors[word], vectors[other], strict=True))
            sums[kind] += copies * dot
            pairs[kind] += copies
    return sums[0] / pairs[0], sums[1] / pairs[1]
