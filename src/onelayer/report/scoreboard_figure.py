"""The scoreboard as a picture: a mark for every claim, by paper and verdict."""

import math

import pandas as pd
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from onelayer.evidence.figures import PALETTE, figure
from onelayer.evidence.findings import BEYOND
from onelayer.evidence.sentences import APART, apart_from_own
from onelayer.evidence.verdicts import NOT_RUN, VERDICTS
from onelayer.report.scoreboard import claims

BLUE, RED, GREEN, _, ORANGE, SKY, BLACK = PALETTE
GREY = "#767676"
# Shape, colour and whether it is filled: any two verdicts differ in shape or filling.
MARKS = {
    "reproduced": ("o", BLUE, True),
    "smaller": ("v", SKY, True),
    "larger": ("^", GREEN, True),
    "negligible": ("o", ORANGE, False),
    "opposite": ("X", RED, True),
    "undecided": ("$?$", BLACK, True),
    "not reached": ("s", GREY, False),
    "not run": ("_", GREY, True),
}
# What the lines of a paper are called, by what of `APART` they show.
LINES = dict(zip(["", *APART], ["the paper's", "analogues", "beyond it", "controls"], strict=True))
NOTES = (
    "Analogues: smaller or other models, other texts. Beyond it:",
    "what the paper does not say. Controls: random weights, of",
    "which negligible is what is expected.",
)
OF_OTHER_RUNS = (
    "Other runs: claims that only runs kept beside this one",
    "have, or reached; a mark for each run, and claim.",
)
ACROSS = 15  # marks in a line
WIDTH, LINE = 3.3, 0.17  # inches


@figure(
    "all_papers/scoreboard",
    "Scoreboard",
    "figure: every claim",
    reads={"table": "tables/all_papers/scoreboard.csv"},
)
def scoreboard(table: pd.DataFrame, elsewhere: pd.DataFrame | None = None) -> Figure:
    """Every claim of the four papers as a mark that says what came out.

    What was asked beyond the papers and not run is counted below: most of it is of overlays, and no
    one run has them all.

    Args:
        table: `onelayer.report.scoreboard.scoreboard`.
        elsewhere: what other runs found of claims that this one has not, or did not reach, a row
            per run and claim with `paper`, `finding`, `verdict`. They have a line of their own.
    """
    others = table.iloc[:0] if elsewhere is None else elsewhere
    left_out = 0
    rows = [("One mark per claim, sorted by what came out", [])]
    for paper, judged in claims(table).groupby("paper", sort=False):
        rows.append((paper, []))
        none = judged["verdict"] == NOT_RUN
        judged = judged[~(none & judged["finding"].isin(others["finding"]))]
        apart = apart_from_own(judged)
        idle = (apart == BEYOND) & (judged["verdict"] == NOT_RUN)
        left_out += int(idle.sum())
        judged, apart = judged[~idle], apart[~idle]
        lines = {label: judged.loc[apart == of, "verdict"] for of, label in LINES.items()}
        lines["other runs"] = others.loc[others["paper"] == paper, "verdict"]
        for label, came in lines.items():
            verdicts = sorted(came, key=list(VERDICTS).index)
            for first in range(0, len(verdicts), ACROSS):
                rows.append(("" if first else label, verdicts[first : first + ACROSS]))
    notes = [*NOTES, *(() if others.empty else OF_OTHER_RUNS)]
    if left_out:
        notes.append(f"Claims beyond the papers, not run here and left out: {left_out:,}.")
    legend = math.ceil(len(MARKS) / 3)
    height = (len(rows) + legend + len(notes) + 1) * LINE
    drawn, axes = plt.subplots(figsize=(WIDTH, height), layout="none")
    axes.set_position([0, 0, 1, 1])
    axes.set(xlim=(0, WIDTH), ylim=(height, 0))
    axes.set_axis_off()
    for place, (label, verdicts) in enumerate(rows):
        y = (place + 0.6) * LINE
        weight = "normal" if verdicts or not place else "bold"
        indent = 0.13 if verdicts else 0.05
        axes.text(indent, y, label, va="center", fontsize=8, weight=weight)
        for x, verdict in enumerate(verdicts):
            _mark(axes, 0.85 + x * 0.163, y, verdict)
    for place, verdict in enumerate(MARKS):
        x, y = 0.12 + place % 3 * 1.08, (len(rows) + 0.9 + place // 3) * LINE
        _mark(axes, x, y, verdict)
        axes.text(x + 0.11, y, verdict, va="center", fontsize=8)
    for place, note in enumerate(notes):
        y = (len(rows) + legend + 0.9 + place) * LINE
        axes.text(0.05, y, note, va="center", fontsize=7)
    return drawn


def _mark(axes: Axes, x: float, y: float, verdict: str) -> None:
    shape, colour, filled = MARKS[verdict]
    face = colour if filled else "white"
    style = {"markersize": 6.5, "markeredgewidth": 1.1, "markerfacecolor": face}
    axes.plot(x, y, marker=shape, color=colour, **style)
