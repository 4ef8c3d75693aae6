"""Articles of a MediaWiki XML dump (`.xml.bz2`), read with gensim's own dump parser."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO
from xml.etree.ElementTree import Element, ParseError

from gensim.corpora.wikicorpus import extract_pages, filter_wiki

from onelayer.errors import OnelayerError
from onelayer.text.corpus.articles import Article
from onelayer.text.untrusted import open_unpacked

# Before a dump may stand what XML says of itself, and space.
_ROOT = re.compile(rb"(?:\xef\xbb\xbf)?\s*(?:<\?xml\s[^<>]*\?>)?\s*<mediawiki[\s/>]")
_END_OF_PAGE = b"</page>"
LONGEST_PAGE = 1 << 28  # bytes; a wiki's longest pages have a hundredth of it
_REDIRECT = re.compile(r"\s*#redirect", re.IGNORECASE)
# filter_wiki leaves bold and italic quotes and the rules around headings in place.
_EMPHASIS = re.compile(r"'{2,}")
_HEADING = re.compile(r"^=+[ \t]*(.*?)[ \t]*=+[ \t]*$", re.MULTILINE)


def read_dump(path: Path) -> Iterator[Article]:
    """Articles of the main namespace, redirects left out, wiki markup removed; some are empty."""
    namespace = ""

    def note(page: Element, ns_path: str, **_) -> bool:
        nonlocal namespace
        namespace = page.find(ns_path).text
        return True

    try:
        with open_unpacked(path) as stream:
            for title, markup, page_id in extract_pages(_Bounded(stream), filter_articles=note):
                if namespace == "0" and not _REDIRECT.match(markup):
                    text = _HEADING.sub(r"\1", _EMPHASIS.sub("", filter_wiki(markup)))
                    yield str(page_id), title or "", text.strip(), None
    except AttributeError:  # the parser looks into what it has not found
        reason = "a page lacks its title, ns, id or revision with its text"
    except (OSError, EOFError, ParseError, StopIteration, RuntimeError, ValueError) as error:
        reason = f"{type(error).__name__} {' '.join(str(error).split())}"
    else:
        return
    raise OnelayerError(f"{path}: not a complete MediaWiki dump (.xml.bz2): {reason}")


class _Bounded:
    """A dump's XML as its parser reads it: nothing but a dump, and no page without an end."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream, self._tail = stream, b""
        self._open = 0  # bytes since a page ended
        begin = stream.peek(1)  # a whole buffer, unless the file ends
        if not _ROOT.match(begin):  # entities can be declared only before the first element
            said = "a dump begins with <mediawiki>, in UTF-8, and declares no entities"
            raise ValueError(f"it begins with {begin[:40]!r}; {said}")

    def read(self, size: int) -> bytes:  # as the parser calls it
        piece = self._stream.read(size)
        seam = self._tail + piece
        end = seam.rfind(_END_OF_PAGE)
        self._open = len(seam) - end if end >= 0 else self._open + len(piece)
        self._tail = seam[1 - len(_END_OF_PAGE) :]
        if self._open > LONGEST_PAGE:
            raise ValueError(f"a page is longer than {LONGEST_PAGE} bytes")
        return piece
