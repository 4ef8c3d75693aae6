"""How much a file may hold, or grow to; what is larger fills no disk and no memory.

A few kilobytes can stand for terabytes. Text and weights shrink to a tenth at the most; what is
announced, or comes, beyond `MOST_GROWTH` times a file's size is refused.
"""

import bz2
import gzip
import lzma
import zlib
from pathlib import Path

from onelayer.errors import OnelayerError

MOST_GROWTH = 200
ALWAYS_TAKEN = 1 << 26  # bytes; so much does no harm
OPENED = {"gzip": gzip.open, "bz2": bz2.open, "xz": lzma.open}
_MAGIC = {"gzip": b"\x1f\x8b", "bz2": b"BZh", "xz": b"\xfd7zXZ\0"}
_PIECE = 1 << 20
# Of a checkpoint's files that are read into memory whole, bytes.
LARGEST = {
    "config.json": 16 << 20,
    "tokenizer_config.json": 64 << 20,
    "tokenizer.json": 512 << 20,
}


def check_size(path: Path, named: object) -> None:
    """Refuse what is far larger than any model's file of this name, before it is in memory.

    A file of `LARGEST` that is not there is left to who reads it. The error calls it as `named`.

    Raises:
        OnelayerError: the file is larger.
    """
    most, size = LARGEST[path.name], path.stat().st_size if path.is_file() else 0
    if size > most:
        raise OnelayerError(f"{named}: {size} bytes; at most {most} are read")


def most_bytes(packed: int) -> int:
    """To how many bytes so many may grow."""
    return max(ALWAYS_TAKEN, MOST_GROWTH * packed)


def check_growth(what: object, packed: int, unpacked: int) -> None:
    """Refuse a file, `what` in the error, that announces too much for its size (bytes).

    Raises:
        OnelayerError: it grows more than allowed.
    """
    if unpacked > most_bytes(packed):
        raise OnelayerError(
            f"{what}: {packed} bytes would unpack to {unpacked}; at most {most_bytes(packed)} are "
            "taken"
        )


def packed_as(path: Path) -> str | None:
    """A key of `OPENED` if a file begins as such a file does."""
    with open(path, "rb") as file:
        begin = file.read(6)
    return next((kind for kind, magic in _MAGIC.items() if begin.startswith(magic)), None)


def unpack(source: Path, kind: str, target: Path) -> None:
    """Unpack a compressed file of a kind of `OPENED`, piece by piece.

    Raises:
        OnelayerError: it is not whole, or grows more than allowed.
    """
    most, written = most_bytes(source.stat().st_size), 0
    try:
        with OPENED[kind](source, "rb") as packed, open(target, "wb") as file:
            while piece := packed.read(_PIECE):
                written += len(piece)
                if written > most:
                    raise OnelayerError(
                        f"{source}: {source.stat().st_size} bytes unpack to more than {most}, "
                        "the most that is taken"
                    )
                file.write(piece)
    except (EOFError, zlib.error, lzma.LZMAError, ValueError, OSError) as error:
        if getattr(error, "errno", None):  # a full disk
            raise
        raise OnelayerError(f"{source}: not a whole {kind} file ({error})") from None
