"""Blocks of a bzip2 file read from anywhere in it, so that several jobs can share one file.

bzip2 writes blocks of at most 900 kB of text that need nothing of each other; each begins with
the same 48 bits, at any bit of a byte (bzip2's own `bzip2recover` finds them the same way). With
a header before it and an end mark after it, a block is a file of its own.
"""

import bz2
from collections.abc import Iterator
from pathlib import Path

import numpy as np

_BLOCK, _END = 0x314159265359, 0x177245385090
_MARKS = {_BLOCK.to_bytes(6, "big"): True, _END.to_bytes(6, "big"): False}
_WINDOW = 1 << 22  # bytes searched at once
_LONGEST = 8 * 1_000_000  # bits; more than any block has


def read_blocks(path: Path, first: int) -> Iterator[tuple[int, bytes]]:
    """Blocks that begin at byte `first` or later: where (bit of the file), and their text.

    Raises:
        EOFError: the file ends within a block.
        OSError: a block is damaged.
    """
    waiting: list[int] = []  # where a block begins whose end has not been found
    with open(path, "rb") as file:
        for place, begins in _find_marks(path, first):
            while waiting:
                text = _decompress(_bits(file, waiting[0], place))
                if text is not None:
                    yield waiting.pop(), text
                elif place - waiting[0] > _LONGEST:
                    raise OSError(f"the block at byte {waiting[0] // 8} is damaged")
                else:  # by chance its text has the bits of a mark: it goes on to the next one
                    break
            else:
                waiting = [place] if begins else []
    if waiting:
        raise EOFError("it ends within a block")


def _find_marks(path: Path, first: int) -> Iterator[tuple[int, bool]]:
    """Where marks stand (bit of the file), in order; whether a block begins there or a file ends.

    A byte further than the last is read as zero, for marks that end within a byte.
    """
    with open(path, "rb") as file:
        file.seek(first)
        held, place = b"", first
        while True:
            read = file.read(_WINDOW)
            held += read or b"\0"
            blocks = []
            window = np.frombuffer(held, np.uint8)
            for shift in range(8):
                shifted = ((window[:-1] << shift) | (window[1:] >> (8 - shift))).tobytes()
                for mark, begins in _MARKS.items():
                    at = shifted.find(mark)
                    while at >= 0:
                        blocks.append((8 * (place + at) + shift, begins))
                        at = shifted.find(mark, at + 1)
            yield from sorted(blocks)
            if not read:
                return
            # What is left is too short to have held a whole mark.
            kept = held[-6:]
            place += len(held) - len(kept)
            held = kept


def _bits(file, first: int, last: int) -> int:
    """Bits `first` up to `last` of a file, as a number with a leading one for its length."""
    file.seek(first // 8)
    data = int.from_bytes(file.read(-(-last // 8) - first // 8), "big") >> (-last % 8)
    length = last - first
    return (1 << length) | (data & ((1 << length) - 1))


def _decompress(block: int) -> bytes | None:
    """A block's text, or None if this is no whole block."""
    length = block.bit_length() - 1
    checksum = (block >> (length - 80)) & 0xFFFFFFFF if length >= 80 else 0
    # The checksum of a file with one block is the block's own.
    bits = ((block ^ (1 << length)) << 80) | (_END << 32) | checksum
    spare = -(length + 80) % 8
    stream = b"BZh9" + (bits << spare).to_bytes((length + 80 + spare) // 8, "big")
    try:
        return bz2.decompress(stream)
    except (OSError, ValueError, EOFError):
        return None
