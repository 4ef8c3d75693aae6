"""When attention begins to be learned beside values, in the models of four papers."""

import itertools

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from onelayer.evidence.figures import MARKERS, PALETTE, WIDTH, despine, figure
from onelayer.papers import PAPERS
from onelayer.report.value_before_attention import BEGUN, DONE, NAMES


@figure(
    "all_papers/value_before_attention",
    "Values and attention",
    "figure: values before attention",
    reads={"table": "tables/all_papers/value_before_attention.csv"},
)
def figure_value_before_attention(table: pd.DataFrame) -> Figure:
    """Attention's beginning beside values done (above) and begun, a column a paper.

    The axes leave out the ends of intervals of few runs.
    """
    figure, axes = plt.subplots(2, len(PAPERS), figsize=(WIDTH, 4.6), sharey="row", sharex=True)
    scales = sorted(table["scale"].unique())
    kinds = list(dict.fromkeys(table["optimizer"]))
    for column, (paper, title) in zip(axes.T, PAPERS.items(), strict=True):
        column[0].set_title(title, loc="left", fontsize=8.5)
        for axis, quantity in zip(column, (DONE, BEGUN), strict=True):
            rows = table[(table["paper"] == paper) & (table["quantity"] == quantity)]
            for place, (scale, kind) in enumerate(itertools.product(scales, kinds)):
                one = rows[(rows["scale"] == scale) & (rows["optimizer"] == kind)]
                one, colour = one.sort_values("ratio"), PALETTE[place // len(kinds)]
                middle = 2 ** one["value"]
                axis.errorbar(
                    one["ratio"] * 1.12 ** (place - 2.5), middle,
                    [middle - 2 ** one["low"], 2 ** one["high"] - middle],
                    color=colour, marker=MARKERS[place // len(kinds)], markersize=4, capsize=1.5,
                    linewidth=0.8, linestyle="-" if kind == kinds[0] else ":",
                    markerfacecolor=colour if kind == kinds[0] else "white",
                    label=f"{NAMES[kind]}, start × {scale:g}",
                )  # fmt: skip
            axis.axhline(1, color="0.3", linewidth=0.8, linestyle="--")
            axis.set(xscale="log", yscale="log")
            axis.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
            axis.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{y:g}"))
            axis.minorticks_off()
            despine(axis)
    axes[0, 0].set_ylabel("attention begins /\nvalues are done, in time")
    axes[1, 0].set_ylabel("attention begins /\nvalues begin, in time")
    axes[0, 0].set_ylim(5e-4, 100)
    axes[1, 0].set_ylim(0.05, 1000)
    for axis in axes[1]:
        axis.set_xlabel("attention's rate / others'", fontsize=8)
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False, fontsize=7.5)
    return figure
