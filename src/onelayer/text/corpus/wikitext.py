"""WikiText (Merity et al. 2016): articles out of a corpus of lines."""

import itertools
import re
from collections.abc import Iterable, Iterator

from onelayer.text.corpus.articles import Article

# WikiText sets punctuation apart with spaces and marks what it took out of the middle of words:
# `well @-@ known`, `1 @,@ 000`.
_JOINED = re.compile(r" @([-,.])@ ")
_SECTION = re.compile(r"^ ?(?:= )+(.*?)(?: =)+ ?$")


def articles_of_lines(lines: Iterable[str]) -> Iterator[Article]:
    """Articles out of the lines of all files, one file after the other.

    An article starts at a line ` = Title = ` between empty lines, and may go on in the next file;
    lines before the first title (of a file read without the one before it) are left out. Sections'
    headings stay as text. There are no ids: an article's id is its title, counted where repeated.
    """
    seen: dict[str, int] = {}
    title, text = None, []
    for line, is_title in _mark_titles(lines):
        if not is_title:
            text.append(line)
            continue
        if title is not None:
            yield _article(title, text, seen)
        title, text = line.strip()[2:-2].strip(), []
    if title is not None:
        yield _article(title, text, seen)


def _mark_titles(lines: Iterable[str]) -> Iterator[tuple[str, bool]]:
    """Each line, and whether it is an article's title.

    Formulas look like titles at times (` = 2 = `), but never stand between empty lines.
    """
    before, here = "", None
    for after in itertools.chain(lines, [""]):
        if here is not None:
            alone = not before.strip() and not after.strip()
            yield here, alone and _is_heading(here)
            before = here
        here = after


def _is_heading(line: str) -> bool:
    """Whether a line is ` = Title = ` rather than a section's ` = = Title = = `."""
    line = line.strip()
    return (
        len(line) > 4
        and line.startswith("= ")
        and line.endswith(" =")
        and not line.startswith("= =")
        and not line.endswith("= =")
    )


def _article(title: str, lines: list[str], seen: dict[str, int]) -> Article:
    title = _JOINED.sub(r"\1", title)
    seen[title] = seen.get(title, 0) + 1
    article_id = title if seen[title] == 1 else f"{title} ({seen[title]})"
    text = "\n".join(_SECTION.sub(r"\1", line).strip() for line in lines if line.strip())
    return article_id, title, _JOINED.sub(r"\1", text), None
