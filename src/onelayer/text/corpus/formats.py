"""The articles of a corpus, whatever the format of its files."""

import itertools
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from onelayer.errors import OnelayerError
from onelayer.settings.corpus import ParseSettings
from onelayer.text.corpus.articles import Article
from onelayer.text.corpus.rows import articles_of_rows, lines, lines_of

# WikiText sets punctuation apart with spaces and marks what it took out of the middle of words:
# `well @-@ known`, `1 @,@ 000`.
_JOINED = re.compile(r" @([-,.])@ ")
# A section has more signs (` = = Title = = `); a line that only begins so is text.
_TITLE = re.compile(r" = (?!= )(.+)(?<! =) = ")
_SECTION = re.compile(r"^ ?(?:= )+(.*?)(?: =)+ ?$")


def read_corpus(paths: Iterable[Path], settings: ParseSettings) -> Iterator[Article]:
    """Articles of files, in their order; each file is opened when it is its turn.

    Raises:
        OnelayerError: a file is not what its format says; one line with its name.
    """
    match settings.format:
        case "lead-sections":
            return itertools.chain.from_iterable(map(read_lead_sections, paths))
        case "mediawiki-xml":
            # gensim takes longer to load than many a corpus to read.
            from onelayer.text.corpus.dump import read_dump

            return itertools.chain.from_iterable(map(read_dump, paths))
        case "wikitext":
            return articles_of_wikitext(itertools.chain.from_iterable(map(lines_of, paths)))
        case "text":
            return _articles_of_files(paths)
        case "lines":
            return _articles_of_lines(paths)
    return articles_of_rows(paths, settings.format, settings.columns)


def _articles_of_files(paths: Iterable[Path]) -> Iterator[Article]:
    """An article each: its id is the file's number, its title the file's name."""
    for number, path in enumerate(paths):
        yield str(number), path.stem, "".join(lines(path)), None


def _articles_of_lines(paths: Iterable[Path]) -> Iterator[Article]:
    for number, path in enumerate(paths):
        for place, line in enumerate(lines(path)):
            yield f"{number}-{place}", "", line.rstrip("\r\n"), None


def read_lead_sections(path: Path) -> list[Article]:
    """Lead sections of Wikipedia's vital articles, `{title: {title, extract, topic}}`.

    Raises:
        OnelayerError: the file is no such JSON.
    """
    try:
        entries = json.loads("".join(lines(path)))
        return [
            (_text(title), _text(entry["title"]), _text(entry["extract"]), _label(entry["topic"]))
            for title, entry in entries.items()
        ]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise OnelayerError(
            f"{path}: not a JSON file of lead sections, "
            f"{{title: {{title, extract, topic}}}}: {type(error).__name__} {error}"
        ) from None


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{type(value).__name__} in place of text")
    value.encode()  # JSON can hold halves of characters, which are no text
    return value


def _label(topic: object) -> str | None:
    return None if topic in (None, "", "Uncategorized") else _text(topic)


def articles_of_wikitext(all_lines: Iterable[str]) -> Iterator[Article]:
    """Articles of WikiText (Merity et al. 2016) out of the lines of all files, one after the other.

    An article starts at a line ` = Title = ` between empty lines, and may go on in the next file;
    lines before the first title (of a file read without the one before it) are left out. Sections'
    headings stay as text. There are no ids: an article's id is its title, counted where repeated.
    """
    seen: Counter[str] = Counter()
    title, text = None, []
    for line, heading in _with_titles(all_lines):
        if heading is None:
            text.append(line)
            continue
        if title is not None:
            yield _article(title, text, seen)
        title, text = heading[1].strip(), []
    if title is not None:
        yield _article(title, text, seen)


def _with_titles(all_lines: Iterable[str]) -> Iterator[tuple[str, re.Match | None]]:
    """Each line, and its match where it is an article's title.

    Formulas look like titles at times (` = 2 = `), but never stand between empty lines.
    """
    before, here = "", None
    for after in itertools.chain(all_lines, [""]):
        if here is not None:
            alone = not before.strip() and not after.strip()
            yield here, _TITLE.fullmatch(here) if alone else None
            before = here
        here = after


def _article(title: str, text: list[str], seen: Counter[str]) -> Article:
    title = _JOINED.sub(r"\1", title)
    seen[title] += 1
    article_id = title if seen[title] == 1 else f"{title} ({seen[title]})"
    plain = "\n".join(_SECTION.sub(r"\1", line).strip() for line in text if line.strip())
    return article_id, title, _JOINED.sub(r"\1", plain), None
