"""The index of all results: every table and figure with one line, and how many verdicts of each."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

from onelayer.tables import read_csv, write_html
from onelayer.verdicts import KINDS, VERDICTS

# Key (kind, verdict). A row without a counterpart has a verdict only where it has no value.
Counts = Counter[tuple[str, str]]
ALL, NOTHING = "all tables", "nothing"
MEANINGS = [
    "Rows of the CSV files, counted by what their number was compared with. The exact rule is in "
    "src/onelayer/verdicts.py.",
    *(f"{word}: {meaning}" for word, meaning in (KINDS | VERDICTS).items()),
    f"{NOTHING}: a quantity that has no counterpart",
]
_SENTENCE = re.compile(r"(?<!\bet al)(?<!\bFig)(?<!\bSec)(?<!\bEq)(?<!\be\.g)(?<!\bi\.e)\. ")


def write_index(
    tables: Sequence[Path],
    figures: Sequence[Path],
    captions: Mapping[str, str],
    lines: Mapping[str, str],
    path: Path,
    counted: Path,
) -> None:
    """Write `results/index.md`, and its counts of verdicts for the report.

    Args:
        tables: the tables' CSV files.
        figures: the figures' PNG files, and animations.
        captions: name of the caption of each result, by path without suffix.
        lines: one line per caption name.
        path: where to write; links are relative to `results/`.
        counted: where to write the counts, HTML.
    """
    counts = shown_counts({table.stem: count_verdicts(read_csv(table)) for table in tables})
    write_html(counts, counted, "Verdicts, by what was compared", MEANINGS)
    body = counts.to_markdown(index=False, disable_numparse=True)
    text = ["# Results", "", "## Verdicts", "", body, "", *(f"- {line}" for line in MEANINGS)]
    text += ["", "## Tables", "", "| table | what it shows |", "|---|---|"]
    for table in tables:
        text.append(_line(table, ("csv", "md", "tex", "html"), captions, lines))
    text += ["", "## Figures", "", "| figure | what it shows |", "|---|---|"]
    for figure in figures:
        kinds = ("png", "pdf") if figure.suffix == ".png" else (figure.suffix[1:],)
        text.append(_line(figure, kinds, captions, lines))
    path.write_text("\n".join(text) + "\n", encoding="utf-8")


def count_verdicts(table: pd.DataFrame) -> Counts:
    """How many rows of a tidy table have each verdict, by what was compared."""
    judged = table[table["verdict"] != ""]
    return Counter(zip(judged["kind"], judged["verdict"], strict=True))


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


def _line(
    file: Path, kinds: Sequence[str], captions: Mapping[str, str], lines: Mapping[str, str]
) -> str:
    base = file.with_suffix("")
    links = " ".join(f"[{kind}]({_relative(base)}.{kind})" for kind in kinds)
    return f"| **{base.name}** {links} | {lines[captions[str(base)]]} |"


def first_sentence(caption: str) -> str:
    """The first sentence of a report caption, which says what the result shows.

    It does not end at the point of an abbreviation, such as in 'Tian et al. 2023, Fig. 4'.
    """
    plain = " ".join(caption.replace("``", "`").split())
    return _SENTENCE.split(plain)[0].rstrip(".") + "."


def _relative(path: Path) -> Path:
    return path.relative_to("results") if path.is_relative_to("results") else path
