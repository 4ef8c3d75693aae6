"""Articles of a MediaWiki XML dump (`.xml.bz2`), read with gensim's own dump parser."""

import bz2
import re
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import BinaryIO
from xml.etree.ElementTree import ParseError

from gensim.corpora.wikicorpus import extract_pages, filter_wiki

from onelayer.errors import OnelayerError
from onelayer.settings.corpus import Slice
from onelayer.text.corpus.articles import Article
from onelayer.text.corpus.bzip2 import read_blocks

_REDIRECT = re.compile(r"\s*#redirect", re.IGNORECASE)
# filter_wiki leaves bold and italic quotes and the rules around headings in place.
_EMPHASIS = re.compile(r"'{2,}")
_PAGE, _END_OF_PAGE = b"<page>", b"</page>"
# What may stand before the dump itself: what XML says of itself, and space.
_ROOT = re.compile(rb"(?:\xef\xbb\xbf)?\s*(?:<\?xml\s[^<>]*\?>)?\s*<mediawiki[\s/>]")
LONGEST_HEAD = 1 << 12
LONGEST_PAGE = 1 << 28  # bytes; a wiki's longest pages have a hundredth of it
_HEADING = re.compile(r"^=+[ \t]*(.*?)[ \t]*=+[ \t]*$", re.MULTILINE)


def read_dump(path: Path, stretch: Slice) -> Iterator[Article]:
    """Articles of the main namespace, redirects left out, wiki markup removed.

    A stretch that is not the whole dump, multistream or not, is read without what is before it:
    bzip2 compresses in blocks that can be read by themselves. A stretch has the pages that begin in
    its blocks; the last of them may end in a later one.

    Raises:
        OnelayerError: the file is no complete bzip2-compressed MediaWiki dump.
    """
    if (stretch.start, stretch.end) == (0, 1):
        with bz2.open(path, "rb") as stream:
            yield from _articles(_Bounded(stream), path)
        return
    chunks = _text(path, *(int(share * path.stat().st_size) for share in stretch[1:]))
    yield from _articles(_Bounded(SimpleNamespace(read=lambda _: next(chunks, b""))), path)


def _articles(stream: BinaryIO, path: Path) -> Iterator[Article]:
    try:
        for title, markup, page_id in extract_pages(stream, filter_namespaces=("0",)):
            if not _REDIRECT.match(markup):
                yield str(page_id), title or "", _plain(markup), None
    except AttributeError:  # the parser looks into what it has not found
        reason = "a page lacks its title, ns, id or revision with its text"
    except (OSError, EOFError, ParseError, StopIteration, RuntimeError, ValueError) as error:
        reason = f"{type(error).__name__} {' '.join(str(error).split())}"
    else:
        return
    raise OnelayerError(f"{path}: not a complete MediaWiki dump (.xml.bz2): {reason}")


class _Bounded:
    """A dump's XML as its parser reads it: nothing but a dump, and no page without an end.

    Entities can be declared only before the first element, where a dump has nothing.
    """

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._begun = False
        self._open = 0  # bytes since a page ended
        self._tail = b""

    def read(self, size: int) -> bytes:
        """The next bytes; a ValueError where no dump begins or a page is too long."""
        piece = self._stream.read(size)
        if not self._begun:
            while not _ROOT.match(piece) and len(piece) < LONGEST_HEAD:
                if not (more := self._stream.read(size)):
                    break
                piece += more
            if piece and not _ROOT.match(piece):
                raise ValueError(
                    f"it begins with {piece[:40]!r}; a dump begins with <mediawiki>, in UTF-8, and "
                    "declares no entities"
                )
            self._begun = True
        seam = self._tail + piece
        end = seam.rfind(_END_OF_PAGE)
        self._open = len(seam) - end if end >= 0 else self._open + len(piece)
        self._tail = seam[1 - len(_END_OF_PAGE) :]
        if self._open > LONGEST_PAGE:
            raise ValueError(f"a page is longer than {LONGEST_PAGE} bytes")
        return piece


def _text(path: Path, first: int, last: int) -> Iterator[bytes]:
    yield _header(path)
    yield from _pages(path, first, last)
    yield b"</mediawiki>"


def _header(path: Path) -> bytes:
    """What stands before the first page: the opening tag, the site's namespaces."""
    text = b""
    for _, block in read_blocks(path, 0):
        text += block
        if len(text) > LONGEST_PAGE:
            raise ValueError(f"no page begins within {LONGEST_PAGE} bytes")
        if (place := text.find(_PAGE)) >= 0:
            return text[:place]
    raise EOFError("no page in it")


def _pages(path: Path, first: int, last: int) -> Iterator[bytes]:
    """The pages that begin in blocks that begin at bytes `first` up to `last` of the file."""
    # `here` bytes of text went before what is held; pages that begin before `own` are ours.
    held, here, length = bytearray(), 0, 0
    for place, block in read_blocks(path, first):
        held += block
        if len(held) > LONGEST_PAGE:
            raise ValueError(f"a page is longer than {LONGEST_PAGE} bytes")
        if place < 8 * last:
            length += len(block)
        start = held.find(_PAGE)
        while start >= 0 and here + start < length:
            end = held.find(_END_OF_PAGE, start)
            if end < 0:
                break
            yield bytes(held[start : end + len(_END_OF_PAGE)])
            del held[: end + len(_END_OF_PAGE)]
            here += end + len(_END_OF_PAGE)
            start = held.find(_PAGE)
        # A page that has begun is kept, and so is what may be the beginning of its first tag.
        done = start if start >= 0 else max(len(held) - len(_PAGE) + 1, 0)
        del held[:done]
        here += done
        if place >= 8 * last and here >= length:
            return
    if held.find(_PAGE) >= 0:
        raise EOFError("it ends within a page")


def _plain(markup: str) -> str:
    return _HEADING.sub(r"\1", _EMPHASIS.sub("", filter_wiki(markup))).strip()
