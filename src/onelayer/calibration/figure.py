"""The figure of calibration: which verdicts come out where the truth is known."""

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from onelayer.calibration.simulation import NORMAL
from onelayer.calibration.table import EFFECTS, PERMUTED, SAID
from onelayer.evidence.figures import PALETTE, WIDTH, despine, figure, plain

BLUE, ORANGE, GREEN, PINK, YELLOW, SKY, _ = PALETTE
# What claims an effect is dark; what denies one green; what decides nothing is nearly white.
COLOURS = dict(zip(SAID, (BLUE, SKY, YELLOW, GREEN, ORANGE, "0.9"), strict=True))
HATCHES = dict(zip(SAID, ("", "", "", "", "////", ""), strict=True))


@figure(
    "all_papers/calibration",
    "Calibration",
    "figure: calibration",
    reads={"table": "tables/all_papers/calibration.csv"},
)
def figure_calibration(table: pd.DataFrame) -> Figure:
    """Shares of the verdicts: a panel per number of seeds, and one of permuted topics."""
    effects = table[(table["what"] == EFFECTS) & (table["shape"] == NORMAL)]
    permuted = table[table["what"] == PERMUTED]
    numbers = sorted(effects["seeds"].unique())
    bars = len(effects[["half_width", "truth"]].drop_duplicates())
    models = max(1, permuted["case"].nunique())
    figure = plt.figure(figsize=(WIDTH, 1.3 + 0.24 * (bars + models)))
    grid = figure.add_gridspec(2, len(numbers), height_ratios=[bars, models + 0.5])
    first = None
    for place, seeds in enumerate(numbers):
        axis = first = figure.add_subplot(grid[0, place], sharey=first)
        rows, keys = effects[effects["seeds"] == seeds], ["half_width", "truth"]
        _bars(axis, rows, keys, "effect {1:g}, ± {0:g}", place == 0)
        axis.set_title(f"simulated, {seeds:g} seeds", loc="left", fontsize=9)
    below = figure.add_subplot(grid[1, :])
    _bars(below, permuted, ["case"], "{0}", True)
    below.set_title("permuted topics", loc="left", fontsize=9)
    below.set_xlabel("share of verdicts")
    handles = [plt.Rectangle((0, 0), 1, 1, fc=COLOURS[v], hatch=HATCHES[v]) for v in SAID]
    figure.legend(handles, SAID, loc="outside lower center", ncols=len(SAID))
    return figure


def _bars(axis: Axes, rows: pd.DataFrame, keys: list[str], label: str, named: bool) -> None:
    """A bar for each case, its parts the verdicts."""
    names = []
    for place, (values, case) in enumerate(rows.groupby(keys, sort=False)):
        shares, left = case.set_index("quantity")["value"], 0.0
        for verdict in SAID:
            width = shares[f"share_{verdict}"]
            style = {"color": COLOURS[verdict], "hatch": HATCHES[verdict]}
            axis.barh(place, width, left=left, height=0.97, edgecolor="white", lw=0.4, **style)
            left += width
        names.append(plain(label.format(*values)))
    axis.set_yticks(range(len(names)), names, fontsize=7)
    axis.tick_params(axis="y", length=0, labelleft=named)
    axis.set_xlim(0, 1)
    axis.set_ylim(len(names) - 0.5, -0.5)
    despine(axis, left=True)
