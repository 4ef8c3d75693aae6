"""Write the index of all results by paper, what `make results` ends with, and the settings."""

from pathlib import Path

import pandas as pd
import yaml

from onelayer.evidence.claims import OWN, counts
from onelayer.evidence.tables import markdown, read
from onelayer.job import job

PAPERS = {
    "all_papers": "All papers",
    "topic_structure": "Topic structure",
    "scan_snap": "Scan and Snap",
    "decision_lists": "Decision lists",
    "local_to_global": "Local to Global",
}
COLUMNS = {"reproduced": ["reproduced"], "other size": ["smaller", "larger"]}
COLUMNS |= {"none or opposite": ["negligible", "opposite"]}
COLUMNS |= {"undecided": ["undecided", "not reached"], "not run": ["not run"]}


def links(file: Path) -> str:
    """A result's name and its files in all forms, from `results/`."""
    forms = ("md", "csv", "tex") if file.suffix == ".csv" else ("pdf", "png")
    to = " ".join(f"[{form}]({file.with_suffix('')}.{form})" for form in forms)
    return f"**{file.stem.replace('_', ' ')}** {to}"


def index() -> str:
    """A table by paper: a row a rule, its tables and figures side by side, its caption."""
    rows = {paper: [] for paper in PAPERS}
    for caption, *outputs in snakemake.params.shown:
        files = [Path(file).relative_to("results") for file in outputs]
        pictures = [file for file in files if file.suffix == ".png"]
        small = " ".join(f'<a href="{f}"><img src="{f}" width="240"></a>' for f in pictures)
        cells = ["<br>".join(map(links, files)), small, markdown(caption)]
        rows[files[0].parent.name].append(f"| {' | '.join(cells)} |")
    text = ["# Results", "Every claim with its verdict: [findings](findings.md)."]
    head = ["| result | figure | what it shows |", "|---|---|---|"]
    for paper in filter(rows.get, PAPERS):
        text += [f"## {PAPERS[paper]}", "\n".join([*head, *rows[paper]])]
    text += ["## Texts", "\n".join(f"- {markdown(credit)}" for credit in snakemake.params.credits)]
    return "\n\n".join(text) + "\n"


def summary(board: pd.DataFrame) -> str:
    """The score in fifteen lines for the terminal."""
    text, papers_own = [], board[board["counted"].isin(OWN)]
    overall = "Claims of all papers; stand-ins are other models and texts", counts(board, "counted")
    by_paper = "Claims about the papers' own models and theorems", counts(papers_own, "paper")
    for title, counted in (overall, by_paper):
        grouped = {name: counted[verdicts].sum(axis=1) for name, verdicts in COLUMNS.items()}
        text += [title, pd.DataFrame(grouped).rename_axis("").reset_index().to_string(index=False)]
    text += ["Every claim: results/findings.md. Tables and figures: results/index.md."]
    return "\n".join(text) + "\n"


with job(snakemake) as step:
    board = read(Path(snakemake.input.board))
    settings = yaml.safe_dump(snakemake.params.settings, sort_keys=False, allow_unicode=True)
    step.save_text(index=index(), summary=summary(board), settings=settings)
