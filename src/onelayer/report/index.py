"""The index of all results: the score, a line for every table and figure, all verdicts."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import pandas as pd

from onelayer.errors import OnelayerError
from onelayer.evidence.tables import markdown_table
from onelayer.evidence.verdicts import KINDS, VERDICTS
from onelayer.report.registry import FORMS
from onelayer.report.scoreboard import NAME as SCOREBOARD

# Key (kind, verdict). A row without a counterpart has a verdict only where it has no value.
Counts = Counter[tuple[str, str]]
ALL, NOTHING = "all tables", "nothing"
MEANINGS = [
    "Rows of the CSV files, counted by what their number was compared with; the scoreboard, which "
    "restates rows, is left out. The exact rule is in src/onelayer/evidence/verdicts.py.",
    *(f"{word}: {meaning}" for word, meaning in (KINDS | VERDICTS).items()),
    f"{NOTHING}: a quantity that has no counterpart",
]


def index_page(
    score: pd.DataFrame,
    claims: pd.DataFrame,
    counts: pd.DataFrame,
    tables: Mapping[Path, str],
    figures: Mapping[Path, str],
) -> str:
    """`results/index.md`.

    Args:
        score: `onelayer.evidence.sentences.scores`.
        claims: `onelayer.report.scoreboard.readable`, with links from `results/`.
        counts: `shown_counts`.
        tables: one line for each table, by its CSV file, relative to `results/`.
        figures: the same of PNG files of figures, and GIF files of animations.
    """
    body = markdown_table(counts)
    text = ["# Results", "", "What was found, in sentences: [findings.md](findings.md).", ""]
    text += [markdown_table(score), "", "## Every claim", "", markdown_table(claims), ""]
    text += ["## Verdicts", "", body, "", *(f"- {line}" for line in MEANINGS)]
    text += ["", "## Tables", "", "| table | what it shows |", "|---|---|"]
    text += [f"| {_links(file, FORMS['table'])} | {line} |" for file, line in tables.items()]
    text += ["", "## Figures", "", "| figure | | what it shows |", "|---|---|---|"]
    for file, line in figures.items():
        small = f'<a href="{file}"><img src="{file}" width="240" alt="{file.stem}"></a>'
        text.append(f"| {_links(file, forms_of(file))} | {small} | {line} |")
    return "\n".join(text) + "\n"


def count_verdicts(table: pd.DataFrame) -> Counts:
    """How many rows of a tidy table have each verdict, by what was compared."""
    judged = table[table["verdict"] != ""]
    return Counter(zip(judged["kind"], judged["verdict"], strict=True))


def count_all(tables: Mapping[str, pd.DataFrame]) -> dict[str, Counts]:
    """`count_verdicts` of every table by its name, but of the scoreboard, which restates them."""
    return {name: count_verdicts(table) for name, table in tables.items() if name != SCOREBOARD}


def shown_counts(counts: Mapping[str, Counts]) -> pd.DataFrame:
    """Counts for readers: every kind apart, of all tables first, then those of each table."""
    total = sum(counts.values(), Counter())
    rows = []
    for name, own in {ALL: total, **counts}.items():
        for kind in (*KINDS, ""):
            of_kind = {verdict: own[kind, verdict] for verdict in VERDICTS}
            if name == ALL or any(of_kind.values()):
                rows.append({"table": name, "compared with": kind or NOTHING} | of_kind)
    return pd.DataFrame(rows).astype(str)


def forms_of(file: Path) -> Sequence[str]:
    """All forms of a figure or an animation, by one of them; the report shows the last."""
    return next(forms for forms in FORMS.values() if file.suffix[1:] in forms)


def _links(file: Path, forms: Iterable[str]) -> str:
    links = " ".join(f"[{form}]({file.with_suffix(f'.{form}')})" for form in forms)
    return f"**{file.stem}** {links}"


def summary(caption: Path) -> str:
    """The first paragraph of a report caption, which says in a sentence what the result shows.

    Raises:
        OnelayerError: it does not end as a sentence does.
    """
    first = caption.read_text("utf-8").strip().partition("\n\n")[0]
    line = " ".join(first.replace("``", "`").split())
    if not line.endswith((".", "?")):
        raise OnelayerError(
            f"{caption}: the first paragraph ends in '{line[-20:]}'; it is the line of the index: "
            "a sentence, and an empty line after it"
        )
    return line
