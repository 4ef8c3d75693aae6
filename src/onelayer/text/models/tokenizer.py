"""Tokenizers as the probe needs them: whole texts, no padding, pieces traced back to words."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tokenizers import Encoding, Tokenizer, pre_tokenizers

from onelayer.errors import OnelayerError
from onelayer.fetching.unpacking import check_size
from onelayer.text.corpus.articles import tokens


@dataclass(frozen=True)
class EncodedText:
    """A text as a model reads it."""

    ids: list[int]  # special tokens included, [tokens]
    positions: list[int]  # places in `ids` of the words that are exactly one known piece, [single]
    words: list[str]  # those words, lower-cased, [single]

    def indices(self, index: Mapping[str, int]) -> list[int]:
        """The words by index, -1 for those that have none, [single]."""
        return [index.get(word, -1) for word in self.words]


def existing_folder(folder: str | Path) -> Path:
    """A folder that a user names; `~` is the user's home.

    Raises:
        OnelayerError: it is not there, or is a file.
    """
    path = Path(folder).expanduser()
    if path.is_file():
        raise OnelayerError(f"{path}: is a file; name the folder that it lies in")
    if not path.is_dir():
        raise OnelayerError(f"{path}: there is no such folder")
    return path


def read_tokenizer(path: Path, source: object = None) -> Tokenizer:
    """A checkpoint's `tokenizer.json`; errors name its `source`, or its path.

    Raises:
        OnelayerError: the file is missing, too large or no tokenizer.
    """
    named = f"{path.name} of {source}" if source else path
    check_size(path, named)
    try:
        return Tokenizer.from_file(str(path))
    except Exception as error:  # the Rust library raises plain Exception
        raise OnelayerError(f"{named}: not a tokenizer ({error})") from None


def load_tokenizer(folder: str | Path) -> Tokenizer:
    """Load `tokenizer.json`, ready for texts that are already split into words.

    Padding and truncation that may be baked in are switched off. Tokenizers that mark the space
    before a word (byte-level BPE of RoBERTa and BART; Metaspace of ALBERT) are told to mark it
    before every word: without it each word would read as the inside of another one, silently.

    Raises:
        OnelayerError: there is no such folder; the file is missing, too large or no tokenizer.
    """
    tokenizer = read_tokenizer(existing_folder(folder) / "tokenizer.json")
    tokenizer.no_padding()
    tokenizer.no_truncation()
    _mark_every_word(tokenizer.pre_tokenizer)
    return tokenizer


def _mark_every_word(pre_tokenizer: object) -> None:
    if isinstance(pre_tokenizer, pre_tokenizers.Sequence):
        for part in pre_tokenizer:
            _mark_every_word(part)
    elif isinstance(pre_tokenizer, pre_tokenizers.ByteLevel):
        pre_tokenizer.add_prefix_space = True
    elif isinstance(pre_tokenizer, pre_tokenizers.Metaspace):
        pre_tokenizer.prepend_scheme = "always"


def piece_id(tokenizer: Tokenizer, word: str) -> int | None:
    """Id of the one piece that a word is in running text, or None if it is several pieces.

    The unknown piece counts as none: it stands for other words too.
    """
    pieces = tokenizer.encode([word], is_pretokenized=True, add_special_tokens=False)
    return pieces.ids[0] if len(pieces.ids) == 1 and _is_known(tokenizer, pieces, 0) else None


def piece_ids(tokenizer: Tokenizer, words: Iterable[str]) -> dict[str, int]:
    """Ids of those of the words that are one piece of their own, in the order given.

    See `piece_id`. Words that are one and the same piece are one word to the model (`allah` and
    `allāh`, where a tokenizer strips accents): the alphabetically first of them has it.
    """
    ids = {word: piece_id(tokenizer, word) for word in words}
    owners = {ids[word]: word for word in sorted(ids, reverse=True)}
    return {
        word: piece for word, piece in ids.items() if piece is not None and owners[piece] == word
    }


def _is_known(tokenizer: Tokenizer, encoding: Encoding, position: int) -> bool:
    """Whether a piece stands for the text it was made of, and for no other."""
    piece = encoding.tokens[position]
    # A Unigram model keeps the text of what it does not know beside the unknown piece's id.
    own_id = tokenizer.token_to_id(piece) == encoding.ids[position]
    return own_id and piece != getattr(tokenizer.model, "unk_token", None)


def encode(tokenizer: Tokenizer, text: str, max_tokens: int) -> EncodedText:
    """Encode a text, cut after the last whole word that fits into `max_tokens`."""
    pretokens = tokens(text)[:max_tokens]
    encoding = tokenizer.encode(pretokens, is_pretokenized=True)
    if len(encoding.ids) > max_tokens:
        counts = Counter(encoding.word_ids)
        pieces = [counts[word] for word in range(len(pretokens))]
        total, fitting = tokenizer.num_special_tokens_to_add(is_pair=False), 0
        while total + pieces[fitting] <= max_tokens:
            total += pieces[fitting]
            fitting += 1
        pretokens = pretokens[:fitting]
        encoding = tokenizer.encode(pretokens, is_pretokenized=True)
    pieces = Counter(encoding.word_ids)
    single = {
        position: pretokens[word].lower()
        for position, word in enumerate(encoding.word_ids)
        if word is not None
        and pieces[word] == 1
        and pretokens[word].isalpha()
        and _is_known(tokenizer, encoding, position)
    }
    return EncodedText(encoding.ids, list(single), list(single.values()))
