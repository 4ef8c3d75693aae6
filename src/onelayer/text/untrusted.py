"""How large a file may be, or grow to: text and weights shrink to a tenth at most."""

import bz2
import gzip
import lzma
from pathlib import Path
from typing import BinaryIO

from onelayer.errors import OnelayerError

MOST_GROWTH = 200  # times a file's size
ALWAYS_TAKEN = 1 << 26  # bytes; so much does no harm
# Of a checkpoint's files that are read into memory whole, bytes.
LARGEST = {"config.json": 16 << 20, "tokenizer_config.json": 64 << 20, "tokenizer.json": 512 << 20}
_OPENED = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zXZ\0": lzma.open}


def check_size(path: Path, named: object) -> None:
    """Refuse a checkpoint's file that is larger than any model's; the error calls it `named`."""
    most = LARGEST.get(path.name, ALWAYS_TAKEN)
    if (size := path.stat().st_size) > most:
        raise OnelayerError(f"{named}: {size} bytes; at most {most} are read")


def check_growth(what: object, packed: int, unpacked: int) -> None:
    """Refuse what grows to too many bytes for a file of so many."""
    most = max(ALWAYS_TAKEN, MOST_GROWTH * packed)
    if unpacked > most:
        found = f"{packed} bytes would unpack to {unpacked} or more; at most {most} are taken"
        raise OnelayerError(f"{what}: {found}")


def open_unpacked(path: Path) -> BinaryIO:
    """A file's bytes, unpacked if it is gzip, bzip2 or xz; who reads checks how much they grow."""
    with open(path, "rb") as file:
        begin = file.read(6)
    opened = next((_OPENED[magic] for magic in _OPENED if begin.startswith(magic)), open)
    return opened(path, "rb")
