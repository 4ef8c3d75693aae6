"""Judge every claim: the scoreboard, its picture, a page of findings, and the index of results."""

from pathlib import Path

import numpy as np
import pandas as pd
import yaml

from onelayer.evidence.claims import OWN, counts, scoreboard
from onelayer.evidence.figures import COLUMN, PALETTE, despine, plt
from onelayer.evidence.tables import interval, markdown, number, read
from onelayer.evidence.verdicts import VERDICTS
from onelayer.job import job

BLUE, RED, GREEN, PINK, ORANGE, SKY, _ = PALETTE
COLOURS = [BLUE, SKY, GREEN, PINK, ORANGE, RED, "#999999", "#c4c4c4", "#e6e6e6"]
SHORT = {  # for the terminal
    "reproduced": ["reproduced"],
    "other size": ["smaller", "larger", "smaller or none"],
    "none or opposite": ["negligible", "opposite"],
    "undecided": ["undecided", "not reached"],
    "not run": ["not run"],
}
TITLE = "Every claim of the four papers, published and ours"
COUNTED = (
    "Claims by verdict. Printed numbers, those derived from them, theorems and directions are of "
    "the papers' own objects; stand-ins are other models, texts and settings; of controls (random "
    "weights) 'negligible' is expected."
)
NOTES = [
    "Each claim is decided by one row of its table (the CSV); workflow/claims.yaml names it. "
    "'theory' is a theorem, 'derived' a number that follows from printed ones. 'analogue' is a "
    "smaller or other model or text than the paper's, or a setting of ours: it says nothing of the "
    "paper's own result. 'control' is a model with random weights, which has next to no effect.",
    "'no effect' is a null's mean with the range of 95% of its draws, where the row measures one.",
    "'all together' is the verdict under Holm's procedure over all claims of the paper that an "
    "interval decides, where it is another one.",
    *(f"{verdict}: {meaning}." for verdict, meaning in VERDICTS.items()),
]


def digits(row: pd.Series) -> int:
    """Digits behind the point: two of the interval's half, between 2 and 5."""
    half = (row["high"] - row["low"]) / 2
    size = half if half > 0 else abs(row["value"]) / 100
    return int(np.clip(1 - np.floor(np.log10(size)), 2, 5)) if size > 0 else 2


def shown(board: pd.DataFrame) -> pd.DataFrame:
    """The scoreboard for readers."""
    ours, null = ["value", "low", "high"], ["null", "null_low", "null_high"]
    rows = [(row, digits(row)) for _, row in board.iterrows()]
    texts = board[["paper", "claim", "place", "kind"]].rename(columns={"place": "where"})
    texts["published"] = [number(row["published"], d) for row, d in rows]
    texts["ours [95%]"] = [interval(*row[ours], d) for row, d in rows]
    texts["no effect"] = [interval(*row.reindex(null), d) for row, d in rows]
    texts["verdict"] = board["verdict"]
    differs = board["verdict_together"].ne(board["verdict"])
    texts["all together"] = board["verdict_together"].where(differs, "")
    return texts.assign(table=board["table"])


def findings(board: pd.DataFrame, readable: pd.DataFrame) -> str:
    """A page: the counts, then every claim by paper, with its row and a link to its table."""
    text = ["# Findings", COUNTED, counts(board, "counted").rename_axis("claims").to_markdown()]
    for paper, rows in readable.groupby("paper", sort=False):
        links = rows["table"].map(lambda table: f"[{Path(table).name}](tables/{table}.md)")
        rows = rows.drop(columns=["paper", "no effect", "all together"]).map(markdown)
        code = "`" + board["row"].str.replace("|", r"\|") + "`"
        linked = rows.assign(table=links, row=code)  # the cells that are markup
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
    inks = ["white" if colour in (BLUE, RED, GREEN) else "black" for colour in COLOURS]
    for axis, (label, of_panel) in zip(axes, panels.items(), strict=True):
        counted = counts(board[of_panel], "paper").reindex(board["paper"].unique(), fill_value=0)
        counted.plot.barh(stacked=True, ax=axis, color=COLOURS, width=0.8, legend=False)
        for bars, verdict, ink in zip(axis.containers, VERDICTS, inks, strict=True):
            n = counted[verdict].replace(0, "")
            axis.bar_label(bars, n, label_type="center", color=ink, fontsize=8)
        axis.invert_yaxis()
        axis.set_title(label, fontsize=8.5, loc="left")
        axis.set_ylabel("")
        axis.tick_params(left=False)
        despine(axis, left=True)
    reproduced = f"{(board[of_papers]['verdict'] == 'reproduced').sum()} of {of_papers.sum()}"
    figure.suptitle(f"{reproduced} claims about the papers'\nown models and theorems reproduced")
    axes[1].set_xlabel("claims")
    figure.legend(axes[0].containers, VERDICTS, loc="outside lower center", ncols=3, handlelength=1)
    return figure


def links(file: Path) -> str:
    """A result's name and its files in all forms, from `results/`."""
    forms = ("md", "csv", "tex") if file.suffix == ".csv" else ("pdf", "png")
    to = " ".join(f"[{form}]({file.with_suffix('')}.{form})" for form in forms)
    return f"**{file.stem.replace('_', ' ')}** {to}"


def index() -> str:
    """A table by paper: a row a rule, its tables and figures side by side, its caption."""
    params, output = snakemake.params, snakemake.output
    of_claims = {Path(claim["table"]).parts[0]: claim["paper"] for claim in params.claims}
    titles = {"all_papers": "All papers"} | of_claims
    rows = {folder: [] for folder in titles}
    for caption, *outputs in [*params.shown, [params.caption, output.table[0], output.figure[1]]]:
        files = [Path(file).relative_to("results") for file in outputs]
        pictures = [file for file in files if file.suffix == ".png"]
        small = " ".join(f'<a href="{f}"><img src="{f}" width="240"></a>' for f in pictures)
        cells = ["<br>".join(map(links, files)), small, markdown(caption)]
        rows[files[0].parent.name].append(f"| {' | '.join(cells)} |")
    text = ["# Results", "Every claim with its verdict: [findings](findings.md)."]
    head = "| result | figure | what it shows |\n|---|---|---|"
    for folder in filter(rows.get, titles):
        text += [f"## {titles[folder]}", "\n".join([head, *rows[folder]])]
    text += ["## Texts", "\n".join(f"- {markdown(credit)}" for credit in params.credits)]
    return "\n\n".join(text) + "\n"


def summary(board: pd.DataFrame) -> str:
    """The score in fifteen lines for the terminal."""
    text, own = [], board[board["counted"].isin(OWN)]
    overall = "Claims of all papers; stand-ins are other models and texts", counts(board, "counted")
    by_paper = "Claims about the papers' own models and theorems", counts(own, "paper")
    for title, counted in (overall, by_paper):
        grouped = {name: counted[verdicts].sum(axis=1) for name, verdicts in SHORT.items()}
        text += [title, pd.DataFrame(grouped).rename_axis("").reset_index().to_string(index=False)]
    return "\n".join([*text, "Every claim: results/findings.md. All results: results/index.md.\n"])


with job(snakemake) as step:
    files = [Path(file) for file in snakemake.input.tables]
    tables = {f"{file.parent.name}/{file.stem}": read(file) for file in files}
    board = scoreboard(snakemake.params.claims, tables)
    readable = shown(board)
    step.save_table(board, title=TITLE, shown=readable, notes=NOTES)
    step.save_figure(draw(board))
    step.save_text(findings=findings(board, readable), index=index(), summary=summary(board))
    settings = yaml.safe_dump(snakemake.params.settings, sort_keys=False, allow_unicode=True)
    step.save_text(settings=settings)
