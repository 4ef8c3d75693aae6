"""Pages of the report, HTML that loads nothing: tables to sort."""

import html
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import pandas as pd

from onelayer.evidence.verdicts import VERDICTS

# A sign beside each verdict's colour (Okabe & Ito 2008): on paper, and for any colour vision.
SIGNS = {
    "reproduced": "●",
    "smaller": "↓",
    "larger": "↑",
    "negligible": "○",
    "opposite": "✕",
    "undecided": "?",
    "not reached": "◌",
    "not run": "–",
}
# Dark where the reader's system is, but within the report, which is light.
_STYLE = """
:root:has(> body > .onelayer) { color-scheme: light dark; }
.onelayer { font: 15px/1.45 system-ui, sans-serif; color: light-dark(#222, #ddd);
  max-width: none; }
.onelayer h1 { font-size: 1.25em; margin: .5em 0; }
.onelayer h2 { font-size: 1.1em; margin: 1em 0 .3em; }
.onelayer h3 { font-size: 1em; margin: .8em 0 .2em; }
.onelayer .scroll { overflow-x: auto; }
.onelayer details { margin: 1em 0; }
.onelayer summary { cursor: pointer; }
.onelayer ul { padding-left: 1.2em; margin: .5em 0; list-style: disc; }
.onelayer li { max-width: 60em; margin: .3em 0; color: light-dark(#444, #bbb); }
.onelayer table { border-collapse: collapse; margin: 1em 0; width: auto; max-width: 100%; }
.onelayer table.wide { font-size: 12px; }
.onelayer th { border-bottom: 2px solid light-dark(#444, #bbb); text-align: left;
  vertical-align: bottom; }
.onelayer td { border-bottom: 1px solid light-dark(#ddd, #444); font-variant-numeric: tabular-nums;
  vertical-align: top; }
.onelayer th, .onelayer td { padding: .3em .5em; overflow-wrap: break-word; }
.onelayer .wide th, .onelayer .wide td { padding: .3em .35em; }
.onelayer th button { font: inherit; font-weight: bold; color: inherit; text-align: inherit;
  background: none; border: 0; padding: 0; cursor: pointer; }
.onelayer th[aria-sort=ascending] button::after { content: " ▲"; }
.onelayer th[aria-sort=descending] button::after { content: " ▼"; }
.onelayer .said { display: block; }
.onelayer .judged { white-space: nowrap; }
.onelayer .findings ul { columns: 2 30em; column-gap: 2em; }
.onelayer .findings li { break-inside: avoid; }
.onelayer .verdict { display: inline-block; white-space: nowrap; padding: 0 .45em;
  border: 1px solid #444; border-radius: .6em; }
.onelayer .reproduced { background: #0072B2; color: #fff; }
.onelayer .smaller { background: #56B4E9; color: #000; }
.onelayer .larger { background: #009E73; color: #000; }
.onelayer .negligible { background: #E69F00; color: #000; }
.onelayer .opposite { background: #D55E00; color: #000; }
.onelayer .undecided { background: #F0E442; color: #000; }
.onelayer .not-reached { background: #ddd; color: #000; border-style: dashed; }
.onelayer .not-run { background: #fff; color: #555; border-color: #bbb; }
.onelayer img { max-width: 100%; height: auto; margin: 0; }
.onelayer .gallery { display: grid; grid-template-columns: repeat(auto-fill, minmax(15em, 1fr));
  gap: 1em; }
.onelayer .gallery a { color: inherit; text-decoration: none;
  border: 1px solid light-dark(#ddd, #444);
  padding: .5em; font-weight: normal; font-size: 13px; }
.onelayer .gallery a:hover { border-color: #0072B2; }
.onelayer .gallery img { display: block; height: 11em; width: 100%; object-fit: contain;
  margin-bottom: .4em; }
"""
# A click on a head sorts by its column: up, down, as it was. Numbers as numbers, missing ones last.
# Letters shrink until the table is no wider than the page; on a telephone it can be moved instead.
_SCRIPT = """
for (const table of document.querySelectorAll("table.sortable")) {
  const body = table.tBodies[0], heads = [...table.tHead.rows[0].cells], given = [...body.rows];
  const number = (text) => parseFloat(text.replace(/−/g, "-").replace(/(\\d),(?=\\d{3})/g, "$1"));
  heads.forEach((head, column) => head.querySelector("button").addEventListener("click", () => {
    const turn = {none: "ascending", ascending: "descending", descending: "none"};
    const order = turn[head.getAttribute("aria-sort")];
    for (const one of heads) one.setAttribute("aria-sort", one === head ? order : "none");
    const text = (row) => row.cells[column].textContent.trim().replace(/^–$/, "");
    const numeric = given.every((row) => !text(row) || !isNaN(number(text(row))));
    const compare = (a, b) => numeric ? number(a) - number(b)
      : a.localeCompare(b, "en", {numeric: true});
    const sign = order === "descending" ? -1 : 1;
    const sorted = [...given].sort((one, other) => {
      const [a, b] = [text(one), text(other)];
      return !a || !b ? !a - !b : sign * compare(a, b);
    });
    body.append(...(order === "none" ? given : sorted));
  }));
  const fit = () => {
    table.style.fontSize = "";
    let size = parseFloat(getComputedStyle(table).fontSize);
    while (innerWidth > 600 && table.scrollWidth > table.parentElement.clientWidth && size > 8)
      table.style.fontSize = `${size -= .5}px`;
  };
  addEventListener("resize", fit);
  fit();
}
// Within the report, whose tables are no files, a link would lead nowhere.
if (["data:", "about:", "blob:"].includes(location.protocol))
  for (const link of document.querySelectorAll("a")) link.removeAttribute("href");
"""
_VERDICT = rf"(?P<verdict>{'|'.join(SIGNS)})(?P<share> \([^()]*\))?"
_ONE = re.compile(_VERDICT)
_AT_THE_END = re.compile(rf"(?P<before>.*: ){_VERDICT}", re.DOTALL)
SHARES = (
    "A share beside a verdict: our effect as a share of the published one, of a control as a share "
    "of what it is a control of. Beside 'undecided': what the interval leaves possible."
)
# So many columns need smaller letters.
WIDE = 9


@dataclass(frozen=True)
class Link:
    """A text in a readers' table that leads to another table of the run.

    Attributes:
        text: what is read.
        to: the other table's file without its suffix: each form of a table leads to its like.
    """

    text: str
    to: str

    def __str__(self) -> str:
        return self.text


def page(title: str, body: Iterable[str], script: str = "", clicked: str = "") -> str:
    """A whole page, which the report can also embed: its style applies to `.onelayer` alone.

    `script` runs once the page is there, `clicked` at every click in it.
    """
    on_click = f' onclick="{html.escape(clicked)}"' if clicked else ""
    lines = [
        "<!DOCTYPE html>",
        '<meta charset="utf-8"><meta name="viewport" content="width=device-width">',
        f"<title>{html.escape(title)}</title>",
        f"<style>{_STYLE}</style>",
        f'<div class="onelayer"{on_click}>',
        f"<h1>{html.escape(title)}</h1>",
        *body,
        "</div>",
    ]
    return "\n".join([*lines, *[f"<script>{script}</script>"] * bool(script), ""])


def table_page(table: pd.DataFrame, title: str, notes: Sequence[str]) -> str:
    """A readers' table: the verdict first, coloured; a click on a column's head sorts by it."""
    body = [table_markup(table, sortable=True), "<ul>"]
    shares = table.astype(str).apply(lambda column: column.str.contains(" of the effect"))
    notes = [*notes, *([SHARES] if shares.any(axis=None) else [])]
    body += [*(f"<li>{html.escape(note)}</li>" for note in notes), "</ul>"]
    return page(title, body, script=_SCRIPT)


def table_markup(table: pd.DataFrame, sortable: bool = False) -> str:
    """A table of texts and `Link`s as an element of a page, columns of verdicts first."""
    table = table.rename(columns=str).map(lambda value: "" if pd.isna(value) else value)
    judged = [c for c in table if c == "verdict" or c.startswith("verdicts (")]
    table = table[[*judged, *(column for column in table if column not in judged)]]
    kinds = ["sortable"] * sortable + ["wide"] * (table.shape[1] >= WIDE)
    lines = [f'<div class="scroll"><table class="{" ".join(kinds)}">', "<thead><tr>"]
    for column in map(html.escape, table):
        inside = f'<button type="button">{column}</button>' if sortable else column
        lines.append(f'<th scope="col" aria-sort="none">{inside}</th>')
    lines += ["</tr></thead>", "<tbody>"]
    for row in table.itertuples(index=False):
        cells = (f"<td>{_cell(text, c)}</td>" for text, c in zip(row, table, strict=True))
        lines.append(f"<tr>{''.join(cells)}</tr>")
    return "\n".join([*lines, "</tbody></table></div>"])


def _cell(content: object, column: str) -> str:
    """A cell; verdicts in it, alone, several or after a number, stand out."""
    text = str(content)
    if isinstance(content, Link):
        return f'<a href="{html.escape(content.to)}.html">{html.escape(text)}</a>'
    verdicts = [_ONE.fullmatch(part) for part in text.split(", ")]
    if all(verdicts) and len(verdicts) == 1:
        return _said(verdicts[0])
    if all(verdicts):  # of several quantities, which the column's head names in brackets
        names = column.partition("(")[2].rstrip(")").split(", ")
        names = names if len(names) == len(verdicts) else [""] * len(verdicts)
        return "".join(
            f'<span class="said">{html.escape(name)} {_said(one)}</span>'
            for name, one in zip(names, verdicts, strict=True)
        )
    if ended := _AT_THE_END.fullmatch(text):
        return f"{html.escape(ended['before'])}{_said(ended)}"
    return html.escape(text)


def _said(match: re.Match) -> str:
    verdict, share = match["verdict"], match["share"] or ""
    share = html.escape(share.replace(" of the effect", ""))
    meaning = html.escape(VERDICTS[verdict])
    return f'<span class="judged" title="{meaning}">{badge(verdict)}{share}</span>'


def badge(verdict: str) -> str:
    """A verdict with its sign and its colour."""
    colour = verdict.replace(" ", "-")
    return f'<span class="verdict {colour}">{SIGNS[verdict]} {verdict}</span>'
