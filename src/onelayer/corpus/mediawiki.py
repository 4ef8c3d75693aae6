"""Articles of a MediaWiki XML dump (`.xml.bz2`), read with gensim's own dump parser."""

import bz2
import re
from collections.abc import Iterator
from pathlib import Path
from xml.etree.ElementTree import ParseError

import pandas as pd
from gensim.corpora.wikicorpus import extract_pages, filter_wiki

from onelayer.corpus.articles import article_table
from onelayer.errors import OnelayerError

_REDIRECT = re.compile(r"\s*#redirect", re.IGNORECASE)
# filter_wiki leaves bold and italic quotes and the rules around headings in place.
_EMPHASIS = re.compile(r"'{2,}")
_HEADING = re.compile(r"^=+[ \t]*(.*?)[ \t]*=+[ \t]*$", re.MULTILINE)


def read_dump(path: Path) -> pd.DataFrame:
    """Articles of the main namespace, redirects left out, wiki markup removed.

    Raises:
        OnelayerError: the file is no complete bzip2-compressed MediaWiki dump, or has no article.
    """
    try:
        rows = list(_articles(path))
    except (OSError, EOFError, ParseError, StopIteration, RuntimeError) as error:
        raise OnelayerError(
            f"{path}: not a complete MediaWiki dump (.xml.bz2): {type(error).__name__} {error}"
        ) from None
    return article_table(rows, str(path))


def _articles(path: Path) -> Iterator[tuple[str, str, str, None]]:
    with bz2.open(path, "rb") as stream:
        for title, markup, page_id in extract_pages(stream, filter_namespaces=("0",)):
            if not _REDIRECT.match(markup):
                yield str(page_id), title, _plain(markup), None


def _plain(markup: str) -> str:
    return _HEADING.sub(r"\1", _EMPHASIS.sub("", filter_wiki(markup))).strip()
