"""The index of all results: every table and figure with one line, and how many verdicts of each."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from onelayer.tables import read_csv
from onelayer.verdicts import VERDICTS


def write_index(
    tables: Sequence[Path],
    figures: Sequence[Path],
    captions: Mapping[str, str],
    lines: Mapping[str, str],
    path: Path,
) -> None:
    """Write `results/index.md`.

    Args:
        tables: the tables' CSV files.
        figures: the figures' PNG files, and animations.
        captions: name of the caption of each result, by path without suffix.
        lines: one line per caption name.
        path: where to write; links are relative to `results/`.
    """
    text = ["# Results", ""]
    text += ["Verdicts compare with the published numbers; the rule is under every table.", ""]
    text += ["## Tables", "", "| table | what it shows | " + " | ".join(VERDICTS) + " |"]
    text += ["|---|---|" + "---:|" * len(VERDICTS)]
    total = dict.fromkeys(VERDICTS, 0)
    for table in tables:
        found = read_csv(table)["verdict"].value_counts()
        counts = {verdict: int(found.get(verdict, 0)) for verdict in VERDICTS}
        total = {verdict: total[verdict] + counts[verdict] for verdict in VERDICTS}
        base = table.with_suffix("")
        links = " ".join(
            f"[{kind}]({_relative(base)}.{kind})" for kind in ("csv", "md", "tex", "html")
        )
        line = lines[captions[str(base)]]
        cells = " | ".join(str(counts[verdict]) for verdict in VERDICTS)
        text.append(f"| **{base.name}** {links} | {line} | {cells} |")
    text.append("| **all tables** | | " + " | ".join(str(total[v]) for v in VERDICTS) + " |")
    text += ["", "## Figures", "", "| figure | what it shows |", "|---|---|"]
    for figure in figures:
        base = figure.with_suffix("")
        kinds = ("png", "pdf") if figure.suffix == ".png" else (figure.suffix[1:],)
        links = " ".join(f"[{kind}]({_relative(base)}.{kind})" for kind in kinds)
        text.append(f"| **{base.name}** {links} | {lines[captions[str(base)]]} |")
    path.write_text("\n".join(text) + "\n", encoding="utf-8")


def first_sentence(caption: str) -> str:
    """The first sentence of a report caption, which says what the result shows."""
    plain = " ".join(caption.replace("``", "`").split())
    return plain.split(". ")[0].rstrip(".") + "."


def _relative(path: Path) -> Path:
    return path.relative_to("results") if path.is_relative_to("results") else path
