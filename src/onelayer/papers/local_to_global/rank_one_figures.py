"""The figure of rank one: how near all matrices come to it, beside the authors' saved weights."""

from collections.abc import Mapping
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from onelayer.evidence.figures import COLUMN, MARKERS, PALETTE, despine, figure
from onelayer.papers.local_to_global.training_tables import read_published

TITLES = {"standard": "standard Gaussian start", "paper": "the paper's start"}
# By what they do: queries and keys decide where attention looks, the others what is written.
PAIRS = (("W_Q", "W_K"), ("W_V", "W_O"), ("W_1", "W_2"))


def styles() -> Mapping[str, dict]:
    """A colour per pair of matrices; the first of a pair is solid, the second dashed."""
    found = {}
    for colour, marker, pair in zip(PALETTE, MARKERS, PAIRS, strict=False):
        for name, line, filled in zip(pair, ("-", "--"), (True, False), strict=True):
            found[name] = {"color": colour, "ls": line, "marker": marker}
            found[name]["mfc"] = colour if filled else "white"
    return found


@figure(
    "local_to_global/rank_one",
    "Transformers",
    "figure: rank one of all matrices",
    reads={
        "curves": "train_transformers.curves",
        "published": "reference/local_to_global_rank_one.csv",
    },
)
def all_matrices(curves: pd.DataFrame, published: Path) -> Figure:
    """Share of the largest singular value over training, a panel per start.

    Args:
        curves: `training.curves` of all initialisations.
        published: as `training_tables.read_published` takes it.
    """
    last, authors = curves["iteration"].max(), read_published(published)
    figure, axes = plt.subplots(2, 1, figsize=(COLUMN, 4.9), sharex=True, sharey=True)
    for axis, (start, title) in zip(axes, TITLES.items(), strict=True):
        theirs = authors[authors["initialisation"] == start]
        _draw_start(axis, curves[curves["variant"] == start], theirs[theirs["iteration"] <= last])
        axis.set_title(title, fontsize=9)
        axis.set_ylabel("share of $\\sigma_1^2$")
        despine(axis)
    axes[0].set(ylim=(0, 1.05), xlim=(0, last))
    axes[1].set_xlabel("iteration")
    handles = [
        Line2D([], [], label=f"${name}$", color=style["color"], ls=style["ls"], lw=1.5)
        for name, style in styles().items()
    ]
    handles += [
        Line2D([], [], ls="", color=style["color"], marker=style["marker"], mfc=style["mfc"], ms=5,
               label=f"authors, ${name}$")
        for name, style in styles().items()
        if name in set(authors["matrix"])
    ]  # fmt: skip
    figure.legend(
        handles=handles, loc="outside lower center", ncols=3, frameon=False, fontsize=7.5,
        columnspacing=1.2,
    )  # fmt: skip
    return figure


def _draw_start(axis: Axes, curves: pd.DataFrame, published: pd.DataFrame) -> None:
    """Means over seeds with their range, and the authors' shares."""
    for name, style in styles().items():
        by = curves.groupby("iteration")[f"{name}_share"]
        mean = by.mean()
        axis.fill_between(mean.index, by.min(), by.max(), color=style["color"], alpha=0.15, lw=0)
        axis.plot(mean, color=style["color"], ls=style["ls"], lw=1.5)
        theirs = published[published["matrix"] == name]
        point = {key: style[key] for key in ("color", "marker", "mfc")}
        # Whole markers at the axis' ends; where there are none, they leave the layout no room.
        [markers] = axis.plot(
            theirs["iteration"], theirs["published"], ls="", ms=5, zorder=4, clip_on=False, **point
        )
        markers.set_in_layout(False)
    axis.axhline(1, color="0.7", lw=0.8, zorder=0)
