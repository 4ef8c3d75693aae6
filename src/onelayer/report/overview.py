"""The page on which the report opens: the score, what a run found, all figures small."""

import base64
import html
import re
from collections.abc import Iterable
from pathlib import Path

import pandas as pd
from markdown_it import MarkdownIt

from onelayer.evidence.pages import SIGNS, badge, page, table_markup
from onelayer.report.pictures import small_picture

_COMMENT = re.compile(r"<!-- (?:finding: [a-z0-9_]+|end) -->")
# On a telephone the names of verdicts stand upright, so that all columns are seen.
_NARROW = """<style>@media (max-width: 600px) { .onelayer th span { writing-mode: vertical-rl; }
  .onelayer .score :is(th, td) { padding: .3em .2em; } }</style>"""
# Within the report a link opens the result in the report; elsewhere the file that it names.
_OPENING = """
const path = "results/" + (event.target.closest("a")?.getAttribute("href") ?? "");
const result = window.results?.[path];
if (result) {
  event.preventDefault();
  const content = result.mime_type === "text/html" ? "html" : "img";
  app.setView({content, resultPath: path, contentPath: result.data_uri});
}
"""


def overview_page(
    findings: str,
    claims: pd.DataFrame,
    counts: pd.DataFrame,
    figures: Iterable[tuple[Path, str, str]],
) -> str:
    """The score, what did not reproduce, and, to be opened, all else; below it all figures, small.

    Args:
        findings: `results/findings.md`: the score, then its sections; the first stays open.
        claims: `onelayer.report.scoreboard.readable`, with links from `results/`.
        counts: `onelayer.report.index.count_rows`.
        figures: PNG or GIF with the link behind it, relative to `results/`, and one line of text.
    """
    score, *sections = findings.partition("\n")[2].split("\n## ")
    body = [_NARROW, f'<div class="scroll score">{_rendered(score)}</div>']
    for place, section in enumerate(sections):
        title, _, sentences = section.partition("\n")
        said = f'<div class="findings">{_rendered(sentences)}</div>'
        body.append(f"<h2>{html.escape(title)}</h2>{said}" if not place else _closed(title, said))
    body += [
        _closed("Every claim, published and ours", table_markup(claims)),
        _closed("Verdicts of all rows, by paper", table_markup(counts)),
    ]
    body += ["<h2>Figures</h2>", '<div class="gallery">']
    for figure, link, line in figures:
        small = base64.b64encode(small_picture(figure, (360, 270), 48)).decode()
        image = f'<img src="data:image/png;base64,{small}" alt="">'
        body.append(f'<a href="{html.escape(link)}">{image}{html.escape(line)}</a>')
    return page("Findings", [*body, "</div>"], clicked=_OPENING)


def _closed(title: str, content: str) -> str:
    """What is read after a click on its title."""
    return f"<details><summary>{html.escape(title)}</summary>{content}</details>"


def _rendered(markdown: str) -> str:
    """Findings as elements of a page: verdicts with sign and colour, links to tables as pages."""
    # Findings stand between comments, by which other pages quote them; no other HTML is let in.
    reader = MarkdownIt("commonmark", {"html": False}).enable("table")
    text = reader.render(_COMMENT.sub("", markdown))
    text = re.sub(r'(href="tables/[^"]*)\.md"', r'\1.html"', text)
    for verdict, sign in SIGNS.items():
        said = f"<li><strong>{verdict.capitalize()}.</strong>"
        text = text.replace(said, f"<li>{badge(verdict)}")
        text = text.replace(f">{verdict}</th>", f">{sign} <span>{verdict}</span></th>")
    return text
