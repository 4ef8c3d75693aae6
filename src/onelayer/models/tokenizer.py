"""Tokenizers as the probe needs them: whole texts, no padding, pieces traced back to words."""

from dataclasses import dataclass
from pathlib import Path

from tokenizers import Tokenizer

from onelayer.corpus.articles import tokens
from onelayer.errors import OnelayerError


@dataclass(frozen=True)
class EncodedText:
    """A text as a model reads it.

    Attributes:
        ids: token ids, special tokens included, [tokens].
        positions: indices into `ids` of the words that are exactly one piece, [single].
        words: those words, lower-cased, [single].
    """

    ids: list[int]
    positions: list[int]
    words: list[str]


def load_tokenizer(folder: Path) -> Tokenizer:
    """Load `tokenizer.json`, with the padding and truncation that may be baked in switched off.

    Raises:
        OnelayerError: the file is missing or is no tokenizer.
    """
    path = folder / "tokenizer.json"
    try:
        tokenizer = Tokenizer.from_file(str(path))
    except Exception as error:  # the Rust library raises plain Exception
        raise OnelayerError(f"{path}: not a tokenizer ({error})") from None
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


def piece_id(tokenizer: Tokenizer, word: str) -> int | None:
    """Id of the one piece that a word is in running text, or None if it is several pieces.

    The unknown piece counts as none: it stands for other words too.
    """
    pieces = tokenizer.encode([word], is_pretokenized=True, add_special_tokens=False)
    unknown = getattr(tokenizer.model, "unk_token", None)
    if len(pieces.ids) != 1 or pieces.tokens[0] == unknown:
        return None
    return pieces.ids[0]


def encode(tokenizer: Tokenizer, text: str, max_tokens: int) -> EncodedText:
    """Encode a text, cut after the last whole word that fits into `max_tokens`."""
    pretokens = tokens(text)[:max_tokens]
    encoding = tokenizer.encode(pretokens, is_pretokenized=True)
    if len(encoding.ids) > max_tokens:
        special = tokenizer.num_special_tokens_to_add(is_pair=False)
        pieces = [0] * len(pretokens)
        for word in encoding.word_ids:
            if word is not None:
                pieces[word] += 1
        total, fitting = special, 0
        while total + pieces[fitting] <= max_tokens:
            total += pieces[fitting]
            fitting += 1
        pretokens = pretokens[:fitting]
        encoding = tokenizer.encode(pretokens, is_pretokenized=True)
    return _trace(encoding, pretokens)


def _trace(encoding, pretokens: list[str]) -> EncodedText:
    places: dict[int, list[int]] = {}
    for position, word in enumerate(encoding.word_ids):
        if word is not None:
            places.setdefault(word, []).append(position)
    single = [
        (where[0], pretokens[word].lower())
        for word, where in sorted(places.items())
        if len(where) == 1 and pretokens[word].isalpha()
    ]
    return EncodedText(encoding.ids, [p for p, _ in single], [w for _, w in single])
