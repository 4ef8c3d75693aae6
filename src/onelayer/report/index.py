"""The index of all results: the score, what did not reproduce, then figures and tables by paper."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

from onelayer.evidence.declarations import FORMS
from onelayer.evidence.pages import table_page
from onelayer.evidence.sentences import SCOREBOARD, scores
from onelayer.evidence.tables import markdown_table, read_tables
from onelayer.evidence.verdicts import KINDS, VERDICTS
from onelayer.report.overview import overview_page
from onelayer.report.registry import FOLDERS
from onelayer.report.scoreboard import readable

COUNTED = "Verdicts of all rows, by paper"
MEANINGS = [
    "Rows of the CSV files, counted by what their number was compared with; the scoreboard, which "
    "restates rows, is left out. The exact rule is in src/onelayer/evidence/verdicts.py.",
    *(f"{word}: {meaning}" for word, meaning in (KINDS | VERDICTS).items()),
]


def pages(
    folder: Path,
    tables: Sequence[Path],
    figures: Sequence[Path],
    lines: Mapping[str, str],
    findings: str,
) -> dict[str, str]:
    """The pages on all results: `index`, `verdicts` and `overview`.

    Args:
        folder: the run's folder `results`.
        tables, figures: CSV files; PNG files, of animations GIF files.
        lines: one for each of these, by `results/...` without suffix.
        findings: `results/findings.md`.
    """
    shown = []
    for files in (tables, figures):
        places = [file.relative_to(folder) for file in files]
        shown.append({place: lines[f"results/{place.with_suffix('')}"] for place in places})
    gallery = [
        (folder / file, str(file.with_suffix(f".{forms_of(file)[-1]}")), line)
        for file, line in shown[1].items()
    ]
    made = read_tables(tables)
    counts, claims = count_rows(made), readable(made[SCOREBOARD], made, "tables")
    return {
        "index": index_page(findings, counts, *shown),
        "verdicts": table_page(counts, COUNTED, MEANINGS),
        "overview": overview_page(findings, claims, counts, gallery),
    }


def index_page(
    findings: str, counts: pd.DataFrame, tables: Mapping[Path, str], figures: Mapping[Path, str]
) -> str:
    """`results/index.md`.

    Args:
        findings: `results/findings.md`, which opens with the score and what did not reproduce.
        counts: `count_rows`.
        tables, figures: one line for each, by its CSV, PNG or GIF file, relative to `results/`.
    """
    opening = "\n## ".join(findings.split("\n## ")[:2]).replace("# Findings", "# Results", 1)
    text = [opening.rstrip(), "", "All else in sentences: [findings.md](findings.md). "]
    text += [f"Every claim with its numbers: [scoreboard](tables/{SCOREBOARD}.md)."]
    text += ["Attention on a text, to be looked at: [reading.html](reading.html).", ""]
    for folder, title in FOLDERS.items():
        rows = _side_by_side({**tables, **figures}, folder)
        if rows:
            text += [f"## {title}", "", "| result | figure | what it shows |", "|---|---|---|"]
            text += [*rows, ""]
    text += ["## Verdicts of all rows", "", markdown_table(counts), ""]
    return "\n".join([*text, *(f"- {line}" for line in MEANINGS)]) + "\n"


def _side_by_side(lines: Mapping[Path, str], folder: str) -> list[str]:
    """A line for each name that a table, a figure or both of one folder have."""
    named: dict[str, list[Path]] = defaultdict(list)
    for file in lines:
        if file.parent.name == folder:  # an animation may have a figure's name
            moving = ", moving" if file.suffix == ".gif" else ""
            named[file.stem.replace("_", " ") + moving].append(file)
    rows = []
    for name, files in named.items():
        each = ([f"[{form}]({f.with_suffix(f'.{form}')})" for form in forms_of(f)] for f in files)
        links, last, small = "; ".join(map(" ".join, each)), files[-1], ""
        if last.suffix != ".csv":
            small = f'<a href="{last}"><img src="{last}" width="240" alt="{name}"></a>'
        rows.append(f"| **{name}** {links} | {small} | {lines[files[0]]} |")
    return rows


def count_rows(tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """How many rows of a paper's tables have each verdict, analogues and controls apart.

    Args:
        tables: by their names, `<paper>/<table>`. The scoreboard, which restates rows, and rows
            without anything to compare with are not counted.

    Returns:
        Texts, as `onelayer.evidence.sentences.scores`.
    """
    rows = [
        table.assign(paper=FOLDERS.get(name.partition("/")[0], name))
        for name, table in tables.items()
        if name != SCOREBOARD
    ]
    judged = pd.concat(rows)[["paper", "kind", "verdict"]].query("verdict != ''")
    counted = scores(judged.assign(place=""))
    return counted.rename(columns={"claims": "rows"})


def forms_of(file: Path) -> Sequence[str]:
    """All forms of a figure or an animation, by one of them; the report shows the last."""
    return next(forms for forms in FORMS.values() if file.suffix[1:] in forms)
