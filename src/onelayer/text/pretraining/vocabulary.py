"""A word-level vocabulary built from a corpus, saved as a tokenizer that transformers reads."""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from tokenizers import Regex, Tokenizer, normalizers, pre_tokenizers, processors
from tokenizers.models import WordLevel

from onelayer.errors import OnelayerError
from onelayer.settings.pretraining import TextSettings
from onelayer.text.corpus.articles import tokens

# The order of RoBERTa, which counts positions from the padding's id on.
CLS, PAD, SEP, UNK, MASK = SPECIAL = ("[CLS]", "[PAD]", "[SEP]", "[UNK]", "[MASK]")
CLS_ID, PAD_ID, SEP_ID, _, MASK_ID = range(len(SPECIAL))


def build_vocabulary(texts: Iterable[str], settings: TextSettings) -> pd.DataFrame:
    """The words of a corpus (lower-cased `tokens`), most frequent first, after the special pieces.

    Columns `piece`, `document_share` (of the texts that use it); the row is the piece's id.
    """
    documents, occurrences, count = Counter(), Counter(), 0
    for text in texts:
        count += 1
        words = [token.lower() for token in tokens(text)]
        occurrences.update(words)
        documents.update(set(words))
    frequent = [word for word, n in documents.items() if n >= settings.min_documents]
    if not frequent:
        most = max(documents.values(), default=0)
        found = f"no word is used by so many articles, the commonest by {most}"
        raise OnelayerError(f"pretraining.text.min_documents: {settings.min_documents}; {found}")
    frequent.sort(key=lambda word: (-occurrences[word], word))
    pieces = [*SPECIAL, *frequent[: settings.most_words]]
    shares = [documents[piece] / count for piece in pieces]
    return pd.DataFrame({"piece": pieces, "document_share": shares})


def predictable_pieces(vocabulary: pd.DataFrame, document_share: float) -> np.ndarray:
    """Words of letters that occur in at most this share of the articles, [pieces] bool."""
    words = vocabulary["piece"].str.isalpha().to_numpy(dtype=bool)
    return words & (vocabulary["document_share"] <= document_share).to_numpy()


def word_level_tokenizer(pieces: Sequence[str]) -> Tokenizer:
    """A tokenizer with one piece a word: `[CLS] text [SEP]`, `[CLS] first [SEP] second [SEP]`."""
    ids = {word: place for place, word in enumerate(pieces)}
    tokenizer = Tokenizer(WordLevel(ids, unk_token=UNK))
    tokenizer.add_special_tokens(list(SPECIAL))
    tokenizer.normalizer = normalizers.Lowercase()
    word = Regex(r"\w+|[^\w\s]")
    tokenizer.pre_tokenizer = pre_tokenizers.Split(word, behavior="removed", invert=True)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[(CLS, CLS_ID), (SEP, SEP_ID)],
    )
    return tokenizer


def write_tokenizer(tokenizer: Tokenizer, folder: Path) -> None:
    """Write `tokenizer.json` and the `tokenizer_config.json` that `AutoTokenizer` needs."""
    tokenizer.save(str(folder / "tokenizer.json"))
    roles = {"cls": CLS, "bos": CLS, "sep": SEP, "eos": SEP, "pad": PAD, "unk": UNK, "mask": MASK}
    fields = {"tokenizer_class": "PreTrainedTokenizerFast"}
    fields |= {f"{role}_token": piece for role, piece in roles.items()}
    text = json.dumps(fields, indent=1) + "\n"
    (folder / "tokenizer_config.json").write_text(text, encoding="utf-8")
