"""Figs. 3 and 6: W_1 and W_V along the training, and how near to rank one all matrices come."""

import numpy as np
import pandas as pd
from safetensors.numpy import load_file

from onelayer.evidence.figures import DIVERGING, MARKERS, PALETTE, WIDTH, despine, plt
from onelayer.job import job
from onelayer.local_to_global import drawing

NAMES = {"W_1": r"$W_1$", "W_V": r"$W_V$"}
FIGURES = {"standard": "Fig. 3, standard start", "rank_one": "Fig. 6, rank-one start"}
TITLE = "Weights over training, and how much of them is of rank one"
# By what they do: values and MLP decide what is written, queries and keys where attention looks.
PAIRS = (("W_1", "W_2"), ("W_V", "W_O"), ("W_Q", "W_K"))
STYLES = {
    name: {"color": color, "ls": ls, "marker": marker, "mfc": fill or color}
    for color, marker, pair in zip(PALETTE, MARKERS, PAIRS, strict=False)
    for name, ls, fill in zip(pair, ("-", "--"), ("", "white"), strict=True)
}


def draw_matrices(axes: np.ndarray, weights: dict, start: str, iterations: list[int]) -> object:
    """W_1 (on its side) and W_V of the last run, a row a matrix, a column an iteration."""
    look = {"cmap": DIVERGING, "vmin": -1, "vmax": 1, "interpolation": "nearest", "aspect": "auto"}
    for row, (name, label) in zip(axes, NAMES.items(), strict=True):
        runs = weights[f"{start}/{name}"][:, -1]
        for axis, W, iteration in zip(row, runs, iterations, strict=True):
            image = axis.imshow((W.T if name == "W_1" else W) / abs(W).max(), **look)
            axis.set(xticks=[], yticks=[])
            axis.set_title(f"{label}, it. {iteration}\nmax {abs(W).max():.2g}", fontsize=8)
    return image


def draw_shares(axis: plt.Axes, curves: pd.DataFrame, authors: pd.DataFrame, title: str) -> None:
    """The top share of every matrix along the training, and the authors'."""
    last = curves["iteration"].max()
    for name, style in STYLES.items():
        line = {"color": style["color"], "ls": style["ls"], "lw": 1.5}
        drawing.band(axis, curves, f"{name}_share", line, alpha=0.15)
        theirs = authors[(authors["matrix"] == name) & (authors["iteration"] <= last)]
        point = style | {"ls": "", "ms": 6, "zorder": 4, "clip_on": False}
        [markers] = axis.plot(theirs["iteration"], theirs["published"], **point)
        markers.set_in_layout(False)  # where there are none they would leave the layout no room
    axis.axhline(1, color="0.7", lw=0.8, zorder=0)
    axis.set(xlabel="iteration", ylim=(0, 1.05), xlim=(0, last))
    axis.set_title(title, fontsize=8.5)
    despine(axis)


with job(snakemake) as step:
    curves, weights = pd.read_parquet(snakemake.input.curves), load_file(snakemake.input.weights)
    authors = pd.read_csv(step.given("published"))
    iterations = snakemake.params.settings["snapshots"]
    figure, columns = plt.figure(figsize=(WIDTH, 6.2)), len(iterations)
    upper, lower = figure.subfigures(2, 1, height_ratios=[1, 1.05])
    axes = upper.subplots(2, 2 * columns, squeeze=False)
    for half, start in zip((axes[:, :columns], axes[:, columns:]), FIGURES, strict=True):
        image = draw_matrices(half, weights, start, iterations)
        half[1, columns // 2].set_xlabel(FIGURES[start], fontsize=9)
    bar = upper.colorbar(image, ax=axes, ticks=[-1, 0, 1], aspect=25)
    bar.set_label("entry / max", fontsize=8)
    upper.suptitle(TITLE, fontsize=10)
    panels = lower.subplots(1, 4, sharey=True)
    for axis, (start, title) in zip(panels, drawing.STARTS.items(), strict=True):
        theirs = authors[authors["initialisation"] == start]
        draw_shares(axis, curves[curves["variant"] == start], theirs, title)
    panels[0].set_ylabel("share of the largest\nsingular value, $\\sigma_1^2 / \\sum\\sigma_i^2$")
    handles = [drawing.line(f"${n}$", **(s | {"marker": ""})) for n, s in STYLES.items()]
    of_authors = {"color": "0.3", "ls": "", "marker": "o", "ms": 5}
    handles.append(drawing.line("markers: authors' weights (one run)", **of_authors))
    lower.legend(handles=handles, loc="outside lower center", ncols=4)
    step.save_figure(figure)
