"""Write the index of all results by paper, what `make results` ends with, and the settings."""

import re
from pathlib import Path

import pandas as pd
import yaml

from onelayer.evidence.tables import markdown, read
from onelayer.job import job

FOLDERS = {
    "all_papers": "All papers",
    "topic_structure": "Topic structure",
    "scan_snap": "Scan and Snap",
    "decision_lists": "Decision lists",
    "local_to_global": "Local to Global",
}
COUNTED = {
    "reproduced": ["reproduced"],
    "other size": ["smaller", "larger"],
    "none or opposite": ["negligible", "opposite"],
    "undecided": ["undecided", "not reached"],
    "not run": ["not run"],
}
OWN = ["paper", "theory"]


def links(file: Path) -> str:
    """A result's name and its files in all forms, from `results/`."""
    forms = ("md", "csv", "tex") if file.suffix == ".csv" else ("pdf", "png")
    place = file.relative_to("results").with_suffix("")
    to = " ".join(f"[{form}]({place}.{form})" for form in forms)
    return f"**{file.stem.replace('_', ' ')}** {to}"


def index(made: list[str]) -> str:
    """A table by paper: a row a rule, its tables and figures side by side, its caption."""
    rows = {folder: [] for folder in FOLDERS}
    for caption, *outputs in snakemake.params.shown:
        # Outputs may have wildcards.
        named = "|".join(re.sub(r"\\\{.*?\\\}", "[^/]+", re.escape(one)) for one in outputs)
        files = [Path(file) for file in made if re.fullmatch(named, file)]
        if files:
            pictures = [f.relative_to("results") for f in files if f.suffix == ".png"]
            small = " ".join(f'<a href="{f}"><img src="{f}" width="240"></a>' for f in pictures)
            cells = ["<br>".join(map(links, files)), small, markdown(caption)]
            rows[files[0].parent.name].append(f"| {' | '.join(cells)} |")
    text = ["# Results", "Every claim with its verdict: [findings](findings.md)."]
    head = ["| result | figure | what it shows |", "|---|---|---|"]
    for folder, title in FOLDERS.items():
        if rows[folder]:
            text += [f"## {title}", "\n".join([*head, *rows[folder]])]
    return "\n\n".join(text) + "\n"


def summary(board: pd.DataFrame) -> str:
    """The score in fifteen lines for the terminal."""
    own = board["kind"].isin(OWN)
    text = []
    for title, of_kind in (
        ("Claims about the papers' own models and theorems", board[own]),
        ("Claims tried on stand-ins: other models and texts", board[board["kind"].eq("analogue")]),
    ):
        counts = pd.crosstab(of_kind["paper"], of_kind["verdict"])
        counts = counts.reindex(of_kind["paper"].unique())
        grouped = {
            group: counts.reindex(columns=verdicts, fill_value=0).sum(axis=1)
            for group, verdicts in COUNTED.items()
        }
        shown = pd.DataFrame(grouped).reset_index(names="")
        text += [title, shown.to_string(index=False)]
    text += ["Every claim: results/findings.md. Tables and figures: results/index.md."]
    return "\n".join(text) + "\n"


with job(snakemake) as step:
    settings = yaml.safe_dump(snakemake.params.settings, sort_keys=False, allow_unicode=True)
    step.save_text(
        index=index(list(dict.fromkeys(snakemake.input))),
        summary=summary(read(Path(snakemake.input.board))),
        settings=settings,
    )
