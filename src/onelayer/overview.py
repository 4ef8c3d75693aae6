"""The page on which the report opens: what a run found, verdicts counted, all figures small."""

import base64
import html
import io
import re
from collections.abc import Iterable
from pathlib import Path

import pandas as pd
from markdown_it import MarkdownIt
from PIL import Image

from onelayer.findings import OUTCOMES
from onelayer.pages import SIGNS, page, table_markup

# Colour and sign of a finding: those of the verdict that it is most like.
LOOKS = {
    "holds": ("within", SIGNS["within"]),
    "mixed": ("direction", SIGNS["direction"]),
    "fails": ("differs", SIGNS["differs"]),
    "open": ("open", SIGNS["open"]),
    "measured": ("not-run", SIGNS["not run"]),
}
_COMMENT = re.compile(r"<!-- (?:finding: [a-z0-9_]+|end) -->")
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
    findings: str, counts: pd.DataFrame, figures: Iterable[tuple[Path, str, str]]
) -> str:
    """What a run found: sentences, verdicts counted by kind, and all figures, small.

    The report opens on it.

    Args:
        findings: `results/findings.md`.
        counts: verdicts of all tables, a row for each kind, a column for each verdict; texts.
        figures: PNG or GIF with the link behind it, relative to `results/`, and one line of text.
    """
    # Findings stand between comments, by which other pages quote them; no other HTML is let in.
    text = _COMMENT.sub("", findings.partition("\n")[2])
    sentences = MarkdownIt("commonmark", {"html": False}).render(text)
    sentences = re.sub(r'(href="tables/[^"]*)\.md"', r'\1.html"', sentences)
    for outcome, word in OUTCOMES.items():
        colour, sign = LOOKS[outcome]
        badge = f'<li><span class="verdict {colour}">{sign} {word}</span>'
        sentences = sentences.replace(f"<li><strong>{word}.</strong>", badge)
    counted = counts.rename(columns={name: f"{sign} {name}" for name, sign in SIGNS.items()})
    body = [
        f'<div class="findings">{sentences}</div>',
        "<h2>Verdicts, by what was compared</h2>",
        table_markup(counted),
    ]
    body += ["<h2>Figures</h2>", '<div class="gallery">']
    for figure, link, line in figures:
        image = f'<img src="{_thumbnail(figure)}" alt="">'
        body.append(f'<a href="{html.escape(link)}">{image}{html.escape(line)}</a>')
    return page("Findings", [*body, "</div>"], clicked=_OPENING)


def _thumbnail(figure: Path) -> str:
    """A small copy in 256 colours; of an animation its last frame."""
    with Image.open(figure) as image:
        image.seek(getattr(image, "n_frames", 1) - 1)
        small = image.convert("RGB")
    small.thumbnail((480, 360))
    written = io.BytesIO()
    small.quantize(256).save(written, "png", optimize=True)
    return f"data:image/png;base64,{base64.b64encode(written.getvalue()).decode()}"
