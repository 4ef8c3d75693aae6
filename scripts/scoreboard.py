"""Judge every claim of the papers: the scoreboard, its picture, and the findings as a page."""

import math
from pathlib import Path

import pandas as pd

from onelayer.evidence.claims import scoreboard
from onelayer.evidence.figures import COLUMN, PALETTE, despine, plt
from onelayer.evidence.tables import interval, markdown, markdown_table, number, read
from onelayer.evidence.verdicts import VERDICTS
from onelayer.job import job

KINDS = {
    "the papers' own": ["paper", "theory"],
    "stand-ins: other models and texts": ["analogue"],
    "controls with random weights, of which 'negligible' is expected": ["control"],
}
BLUE, RED, GREEN, _, ORANGE, SKY, _ = PALETTE
COLOURS = [BLUE, SKY, GREEN, ORANGE, RED, "#999999", "#c4c4c4", "#e6e6e6"]
TITLE = "Every claim of the four papers, published and ours"
NOTES = [
    "Each claim is decided by one row of its table, named in workflow/claims.yaml. 'theory' is a "
    "theorem. 'analogue' is a smaller or other model, or another text, than the paper's: it says "
    "nothing of whether the paper's own result holds. 'control' is a model with random weights: "
    "the paper says of it, too, that there is next to no effect.",
    "'all together' is the verdict under Holm's procedure over all claims of the paper that an "
    "interval decides, where it is another one.",
    *(f"{verdict}: {meaning}." for verdict, meaning in VERDICTS.items()),
]


def digits(row: pd.Series) -> int:
    """Digits behind the point: two of the interval's half, between 2 and 5."""
    half = (row["high"] - row["low"]) / 2
    size = half if half > 0 else abs(row["value"]) / 100
    if math.isnan(size) or math.isinf(size) or size == 0:
        return 2
    return min(max(1 - math.floor(math.log10(size)), 2), 5)


def shown(board: pd.DataFrame) -> pd.DataFrame:
    """The scoreboard for readers."""
    places = [digits(row) for _, row in board.iterrows()]
    numbers = board[["value", "low", "high"]].to_numpy()
    differs = board["verdict_together"].ne(board["verdict"])
    return pd.DataFrame(
        {
            "paper": board["paper"],
            "claim": board["claim"],
            "where": board["place"],
            "kind": board["kind"],
            "published": [number(x, d) for x, d in zip(board["published"], places, strict=True)],
            "ours [95%]": [interval(*n, d) for n, d in zip(numbers, places, strict=True)],
            "no effect": [number(x, d) for x, d in zip(board["null"], places, strict=True)],
            "verdict": board["verdict"],
            "all together": board["verdict_together"].where(differs, ""),
            "table": board["table"],
        }
    )


def counts(board: pd.DataFrame) -> pd.DataFrame:
    """How many claims of each paper have which verdict, [papers, verdicts]."""
    counted = pd.crosstab(board["paper"], board["verdict"])
    return counted.reindex(board["paper"].unique()).reindex(columns=list(VERDICTS), fill_value=0)


def findings(board: pd.DataFrame, readable: pd.DataFrame) -> str:
    """A page: the counts, then every claim by paper, with a link to its table."""
    text = ["# Findings"]
    for label, kinds in KINDS.items():
        counted = counts(board[board["kind"].isin(kinds)]).rename_axis(index="paper")
        text += [f"Claims by verdict, {label}:", counted.reset_index().to_markdown(index=False)]
    for paper, rows in readable.groupby("paper", sort=False):
        links = rows["table"].map(lambda table: f"[{Path(table).name}](tables/{table}.md)")
        rows = rows.drop(columns=["paper", "no effect", "all together", "table"])
        lines = markdown_table(rows.assign(table="")).splitlines()
        # A link is the one cell that is markup.
        linked = [
            f"{line.rstrip(' |')} | {link} |" for line, link in zip(lines[2:], links, strict=True)
        ]
        text += [f"## {paper}", "\n".join([*lines[:2], *linked])]
    text += ["## Words", "\n".join(f"- {markdown(note)}" for note in NOTES)]
    return "\n\n".join(text) + "\n"


def draw(board: pd.DataFrame) -> plt.Figure:
    """A stacked bar a paper, with counts; the papers' own objects above, stand-ins below."""
    papers, panels = list(board["paper"].unique()), list(KINDS.items())[:2]
    figure, axes = plt.subplots(2, 1, figsize=(COLUMN, 3.9), sharex=True)
    for axis, (label, kinds) in zip(axes, panels, strict=True):
        counted = counts(board[board["kind"].isin(kinds)]).reindex(papers, fill_value=0)
        left = pd.Series(0, counted.index)
        for verdict, colour in zip(VERDICTS, COLOURS, strict=True):
            bars = axis.barh(papers, counted[verdict], left=left, color=colour, label=verdict)
            dark = "white" if colour in (BLUE, RED, GREEN) else "black"
            axis.bar_label(
                bars,
                [n or "" for n in counted[verdict]],
                label_type="center",
                color=dark,
                fontsize=8,
            )
            left += counted[verdict]
        axis.invert_yaxis()
        axis.set_title(f"{label[0].upper()}{label[1:]}", fontsize=8.5, loc="left")
        axis.tick_params(left=False)
        despine(axis, left=True)
    own = board[board["kind"].isin(KINDS["the papers' own"])]
    reproduced = (own["verdict"] == "reproduced").sum()
    figure.suptitle(
        f"{reproduced} of {len(own)} claims about the papers'\nown models and theorems reproduced",
        fontsize=10,
    )
    axes[1].set_xlabel("claims")
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, handlelength=1)
    return figure


with job(snakemake) as step:
    files = [Path(file) for file in snakemake.input.tables]
    tables = {f"{file.parent.name}/{file.stem}": read(file) for file in files}
    board = scoreboard(snakemake.params.claims, tables)
    readable = shown(board)
    step.save_table(board, title=TITLE, shown=readable, notes=NOTES)
    step.save_figure(draw(board))
    step.save_text(findings=findings(board, readable))
