"""Tokenizers as the probe needs them: texts as words, pieces traced back to words."""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from tokenizers import Encoding, Tokenizer, pre_tokenizers

from onelayer.errors import OnelayerError
from onelayer.text.corpus.articles import tokens
from onelayer.text.untrusted import check_size


class EncodedText(NamedTuple):
    """A text as a model reads it."""

    ids: list[int]  # special tokens included, [tokens]
    positions: list[int]  # places in `ids` of the words that are exactly one known piece, [single]
    words: list[str]  # those words, lower-cased, [single]


def existing_folder(folder: str | Path) -> Path:
    """A folder that a user names; `~` is the user's home. OnelayerError if it is none."""
    path = Path(folder).expanduser()
    if not path.is_dir():
        what = "is a file; name its folder" if path.is_file() else "there is no such folder"
        raise OnelayerError(f"{path}: {what}")
    return path


def load_tokenizer(folder: str | Path, source: object = None) -> Tokenizer:
    """Load `tokenizer.json` for texts that are already split into words, without padding or cuts.

    Tokenizers that mark the space before a word (RoBERTa, BART, ALBERT) are told to mark it before
    every word: else each would silently read as the inside of another.
    """
    path = existing_folder(folder) / "tokenizer.json"
    named = f"{path.name} of {source or f'folder {folder}'}"
    if not path.is_file():
        hint = "transformers' AutoTokenizer writes it with save_pretrained"
        raise OnelayerError(f"{named}: there is no such file; {hint}")
    check_size(path, named)
    try:
        tokenizer = Tokenizer.from_file(str(path))
    except Exception as error:  # the Rust library raises plain Exception
        raise OnelayerError(f"{named}: not a tokenizer ({error})") from None
    tokenizer.no_padding()
    tokenizer.no_truncation()
    _mark_each_word(tokenizer.pre_tokenizer)
    return tokenizer


def check_pieces(tokenizer: Tokenizer, rows: float, source: object) -> None:
    """Refuse a tokenizer with pieces that a model of so many embeddings cannot know."""
    ids = {*tokenizer.get_vocab(with_added_tokens=False).values(), *tokenizer.encode("a").ids}
    if (largest := max(ids)) >= rows:
        found = f"the model embeddings of 0 to {rows - 1} alone; is it another model's?"
        raise OnelayerError(f"{source}: tokenizer.json has a piece {largest}, {found}")


def _mark_each_word(pre_tokenizer: object) -> None:
    if isinstance(pre_tokenizer, pre_tokenizers.Sequence):
        for part in pre_tokenizer:
            _mark_each_word(part)
    elif isinstance(pre_tokenizer, pre_tokenizers.ByteLevel):
        pre_tokenizer.add_prefix_space = True
    elif isinstance(pre_tokenizer, pre_tokenizers.Metaspace):
        pre_tokenizer.prepend_scheme = "always"


def piece_ids(tokenizer: Tokenizer, words: Iterable[str]) -> dict[str, int]:
    """Ids of those of the words that are exactly one known piece, in the order given.

    Words that are one and the same piece are one word to the model (`allah` and `allāh`, where a
    tokenizer strips accents): the alphabetically first of them has it.
    """
    ids = {}
    for word in words:
        pieces = tokenizer.encode([word], is_pretokenized=True, add_special_tokens=False)
        if len(pieces.ids) == 1 and _is_known(tokenizer, pieces, 0):
            ids[word] = pieces.ids[0]
    owners = {ids[word]: word for word in sorted(ids, reverse=True)}
    return {word: piece for word, piece in ids.items() if owners[piece] == word}


def encode(tokenizer: Tokenizer, text: str, max_tokens: int) -> EncodedText:
    """Encode a text, cut after the last whole word that fits into `max_tokens`."""
    words = tokens(text)[:max_tokens]
    cut = tokenizer.encode(words, is_pretokenized=True)
    if len(cut.ids) > max_tokens:
        counts = Counter(cut.word_ids)
        ends = np.cumsum([counts[word] for word in range(len(words))])
        room = max_tokens - tokenizer.num_special_tokens_to_add(is_pair=False)
        words = words[: np.searchsorted(ends, room, side="right")]
        cut = tokenizer.encode(words, is_pretokenized=True)
    pieces = Counter(cut.word_ids)
    single = {}
    for place, word in enumerate(cut.word_ids):
        whole = word is not None and pieces[word] == 1 and words[word].isalpha()
        if whole and _is_known(tokenizer, cut, place):
            single[place] = words[word].lower()
    return EncodedText(cut.ids, list(single), list(single.values()))


def _is_known(tokenizer: Tokenizer, encoding: Encoding, place: int) -> bool:
    """Whether a piece stands for the text it was made of, and for no other."""
    piece = encoding.tokens[place]
    # A Unigram model keeps the text of what it does not know beside the unknown piece's id.
    is_itself = tokenizer.token_to_id(piece) == encoding.ids[place]
    return is_itself and piece != getattr(tokenizer.model, "unk_token", None)
