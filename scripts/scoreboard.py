"""Judge every claim: the scoreboard, its picture, a page of findings, and the index of results."""

import math
from pathlib import Path

import pandas as pd
import yaml

from onelayer.evidence.claims import OWN, counts, scoreboard
from onelayer.evidence.figures import COLUMN, PALETTE, despine, plt
from onelayer.evidence.tables import interval, markdown, number, read
from onelayer.evidence.verdicts import VERDICTS
from onelayer.job import job

BLUE, RED, GREEN, _, ORANGE, SKY, _ = PALETTE
COLOURS = [BLUE, SKY, GREEN, ORANGE, RED, "#999999", "#c4c4c4", "#e6e6e6"]
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
TITLE = "Every claim of the four papers, published and ours"
COUNTED = (
    "Claims by verdict. Printed numbers, those derived from them, theorems and directions are of "
    "the papers' own objects; stand-ins are other models, texts and settings; of controls (random "
    "weights) 'negligible' is expected."
)
NOTES = [
    "Each claim is decided by one row of its table, named in workflow/claims.yaml. 'theory' is a "
    "theorem, 'derived' a number that follows from printed ones. 'analogue' is a smaller or other "
    "model or text than the paper's, or a setting that the paper does not name: it says nothing "
    "of whether the paper's own result holds. 'control' is a model with random weights: "
    "the paper says of it, too, that there is next to no effect.",
    "'no effect' is a null's mean with the range of 95% of its draws, where the row measures one.",
    "'all together' is the verdict under Holm's procedure over all claims of the paper that an "
    "interval decides, where it is another one.",
    *(f"{verdict}: {meaning}." for verdict, meaning in VERDICTS.items()),
]


def digits(row: pd.Series) -> int:
    """Digits behind the point: two of the interval's half, between 2 and 5."""
    half = (row["high"] - row["low"]) / 2
    size = half if half > 0 else abs(row["value"]) / 100
    known = math.isfinite(size) and size > 0
    return min(max(1 - math.floor(math.log10(size)), 2), 5) if known else 2


def shown(board: pd.DataFrame) -> pd.DataFrame:
    """The scoreboard for readers."""
    ours, null = ["value", "low", "high"], ["null", "null_low", "null_high"]
    board = board.reindex(columns=[*board, *{*null} - {*board}])
    texts = board[["paper", "claim", "place", "kind"]].rename(columns={"place": "where"})
    rows = [(row, digits(row)) for _, row in board.iterrows()]
    texts["published"] = [number(row["published"], d) for row, d in rows]
    texts["ours [95%]"] = [interval(*row[ours], d) for row, d in rows]
    texts["no effect"] = [interval(*row[null], d) for row, d in rows]
    texts["verdict"] = board["verdict"]
    differs = board["verdict_together"].ne(board["verdict"])
    texts["all together"] = board["verdict_together"].where(differs, "")
    return texts.assign(table=board["table"])


def findings(board: pd.DataFrame, readable: pd.DataFrame) -> str:
    """A page: the counts, then every claim by paper, with a link to its table."""
    text = ["# Findings", COUNTED, counts(board, "counted").rename_axis("claims").to_markdown()]
    for paper, rows in readable.groupby("paper", sort=False):
        links = rows["table"].map(lambda table: f"[{Path(table).name}](tables/{table}.md)")
        rows = rows.drop(columns=["paper", "no effect", "all together"]).map(markdown)
        linked = rows.assign(table=links)  # the one cell that is markup
        text += [f"## {paper}", linked.to_markdown(index=False, disable_numparse=True)]
    text += ["## Words", "\n".join(f"- {markdown(note)}" for note in NOTES)]
    return "\n\n".join(text) + "\n"


def draw(board: pd.DataFrame) -> plt.Figure:
    """A stacked bar a paper, with counts; the papers' own objects above, stand-ins below."""
    of_papers = board["counted"].isin(OWN)
    panels = {
        "The papers' own": of_papers,
        "Stand-ins: other models, texts": board["kind"] == "analogue",
    }
    figure, axes = plt.subplots(2, 1, figsize=(COLUMN, 3.9), sharex=True)
    for axis, (label, of_panel) in zip(axes, panels.items(), strict=True):
        counted = counts(board[of_panel], "paper").reindex(board["paper"].unique(), fill_value=0)
        left = pd.Series(0, counted.index)
        for verdict, colour in zip(VERDICTS, COLOURS, strict=True):
            n = counted[verdict]
            bars = axis.barh(counted.index, n, left=left, color=colour, label=verdict)
            ink = "white" if colour in (BLUE, RED, GREEN) else "black"
            axis.bar_label(bars, n.replace(0, ""), label_type="center", color=ink, fontsize=8)
            left += n
        axis.invert_yaxis()
        axis.set_title(label, fontsize=8.5, loc="left")
        axis.tick_params(left=False)
        despine(axis, left=True)
    reproduced = f"{(board[of_papers]['verdict'] == 'reproduced').sum()} of {of_papers.sum()}"
    about = "claims about the papers'\nown models and theorems reproduced"
    figure.suptitle(f"{reproduced} {about}", fontsize=10)
    axes[1].set_xlabel("claims")
    shown = axes[0].get_legend_handles_labels()
    figure.legend(*shown, loc="outside lower center", ncols=3, handlelength=1)
    return figure


def links(file: Path) -> str:
    """A result's name and its files in all forms, from `results/`."""
    forms = ("md", "csv", "tex") if file.suffix == ".csv" else ("pdf", "png")
    to = " ".join(f"[{form}]({file.with_suffix('')}.{form})" for form in forms)
    return f"**{file.stem.replace('_', ' ')}** {to}"


def index() -> str:
    """A table by paper: a row a rule, its tables and figures side by side, its caption."""
    rows = {paper: [] for paper in PAPERS}
    params, output = snakemake.params, snakemake.output
    for caption, *outputs in [*params.shown, [params.caption, output.table[0], output.figure[1]]]:
        files = [Path(file).relative_to("results") for file in outputs]
        pictures = [file for file in files if file.suffix == ".png"]
        small = " ".join(f'<a href="{f}"><img src="{f}" width="240"></a>' for f in pictures)
        cells = ["<br>".join(map(links, files)), small, markdown(caption)]
        rows[files[0].parent.name].append(f"| {' | '.join(cells)} |")
    text = ["# Results", "Every claim with its verdict: [findings](findings.md)."]
    head = ["| result | figure | what it shows |", "|---|---|---|"]
    for paper in filter(rows.get, PAPERS):
        text += [f"## {PAPERS[paper]}", "\n".join([*head, *rows[paper]])]
    text += ["## Texts", "\n".join(f"- {markdown(credit)}" for credit in params.credits)]
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
    files = [Path(file) for file in snakemake.input.tables]
    tables = {f"{file.parent.name}/{file.stem}": read(file) for file in files}
    board = scoreboard(snakemake.params.claims, tables)
    readable = shown(board)
    step.save_table(board, title=TITLE, shown=readable, notes=NOTES)
    step.save_figure(draw(board))
    step.save_text(findings=findings(board, readable), index=index(), summary=summary(board))
    settings = snakemake.params.settings
    step.save_text(settings=yaml.safe_dump(settings, sort_keys=False, allow_unicode=True))
