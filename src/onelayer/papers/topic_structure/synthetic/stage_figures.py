"""The two stages of training, and stage 2's ratio: figures of Li, Li & Risteski (2023)."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import BoundaryNorm
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from onelayer.figures import DIVERGING, MARKERS, PALETTE, WIDTH, despine
from onelayer.papers.topic_structure.synthetic.stages import stage_times


def two_stage_norms(norms: pd.DataFrame) -> Figure:
    """Norms against step, a panel per setting; the stages of the median run shaded.

    Args:
        norms: rows of `norms.two_stages`.
    """
    norms = norms[norms["kind"] == "setting"]
    names = list(dict.fromkeys(norms["name"]))
    times = stage_times(norms)
    columns = 2
    figure, axes = plt.subplots(
        -(-len(names) // columns),
        columns,
        figsize=(WIDTH, 2.3 * -(-len(names) // columns) + 0.4),
        squeeze=False,
        sharex=True,
    )
    for axis in axes.flat[len(names) :]:
        axis.set_axis_off()
    for axis, name in zip(axes.flat, names, strict=False):
        own, runs = norms[norms["name"] == name], times[times["name"] == name]
        own = own[own["diverged_at"] < 0] if (runs["diverged_at"] < 0).any() else own
        _shade(axis, runs, own["step"].max())
        for number, matrix in enumerate(("W_V", "W_K", "W_Q")):
            by_step = own.groupby("step")[matrix]
            low, middle, high = (by_step.quantile(q) for q in (0.1, 0.5, 0.9))
            # W_K and W_Q often lie on each other.
            style = "--" if matrix == "W_Q" else "-"
            axis.plot(middle.index, middle, style, color=PALETTE[number], linewidth=1.4)
            axis.fill_between(low.index, low, high, color=PALETTE[number], alpha=0.2, linewidth=0)
        axis.set_yscale("log")
        axis.set_ylim(top=2.2 * axis.get_ylim()[1])  # room for the names of the stages
        axis.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
        lost = int((runs["diverged_at"] >= 0).sum())
        note = f"$t_V \\leq t_{{KQ}}$ in {runs['in_order'].sum()} of {len(runs) - lost} runs"
        if lost:
            note += f", {lost} diverged"
        axis.set_title(f"{name}\n{note}")
        axis.set_xlim(0, own["step"].max())
        despine(axis)
    handles = [
        Line2D([], [], color=PALETTE[number], linestyle=style, label=f"$|{name}|_F$")
        for number, (name, style) in enumerate({"W_V": "-", "W_K": "-", "W_Q": "--"}.items())
    ]
    title = "median and 10–90% of the runs that did not diverge"
    if len(names) % columns:
        title = title.replace(" the", "\nthe")
        axes[-1, -1].legend(handles=handles, loc="center", frameon=False, title=title)
    else:
        place = {"loc": "outside lower center", "ncols": 3, "frameon": False}
        figure.legend(handles=handles, title=title, **place)
    figure.supylabel("Frobenius norm", fontsize=9)
    for axis in axes.flat[max(0, len(names) - columns) : len(names)]:
        axis.set_xlabel("step")
        axis.tick_params(labelbottom=True)
    return figure


def _shade(axis: Axes, runs: pd.DataFrame, last: int) -> None:
    """Stage 1 until the median t_V, stage 2 from the median t_KQ, where they come in this order."""
    t_V, t_KQ = runs["t_V"].median(), runs["t_KQ"].median()
    if np.isnan(t_KQ) or t_V > t_KQ:
        return
    for first, end, name, shade in ((0, t_V, "stage 1", "0.9"), (t_KQ, last, "stage 2", "0.82")):
        axis.axvspan(first, end, color=shade, linewidth=0, zorder=0)
        if end - first < 0.15 * last:
            continue  # no room for its name
        axis.text(
            (first + end) / 2,
            0.97,
            name,
            ha="center",
            va="top",
            fontsize=7,
            color="0.35",
            transform=axis.get_xaxis_transform(),
        )


def two_stage_map(norms: pd.DataFrame) -> Figure:
    """Where W_V is done before W_K begins, over learning rate and initial noise.

    Colour: t_KQ / t_V of the median run. Cells without it say why.

    Args:
        norms: rows of `norms.two_stages`.
    """
    times = stage_times(norms[norms["kind"] == "map"])
    names = list(dict.fromkeys(times["name"]))
    widths = [times[times["name"] == name]["learning_rate"].nunique() for name in names]
    figure, axes = plt.subplots(
        1, len(names), figsize=(WIDTH, 3.0), squeeze=False, width_ratios=widths
    )
    norm = BoundaryNorm([1 / 64, 1 / 16, 1 / 4, 1 / 2, 1, 1.25, 2, 4, 16], 256, extend="both")
    for axis, name in zip(axes.flat, names, strict=True):
        own = times[times["name"] == name]
        rates, noises = sorted(own["learning_rate"].unique()), sorted(own["noise"].unique())
        grid = np.full((len(noises), len(rates)), np.nan)
        for row, noise in enumerate(noises):
            for column, rate in enumerate(rates):
                cell = own[(own["noise"] == noise) & (own["learning_rate"] == rate)]
                grid[row, column] = (cell["t_KQ"] / cell["t_V"].replace(0, np.nan)).median()
                colour = grid[row, column]
                dark = colour >= 4 or colour <= 1 / 16
                axis.text(
                    column,
                    row,
                    _cell_text(cell),
                    ha="center",
                    va="center",
                    fontsize=7,
                    color="white" if dark else "black",
                )
        image = axis.imshow(grid, cmap=DIVERGING, norm=norm, aspect="auto", origin="lower")
        axis.set_facecolor("0.88")
        axis.set_xticks(range(len(rates)), [f"{rate:g}" for rate in rates])
        axis.set_yticks(range(len(noises)), [f"{noise:g}" for noise in noises])
        axis.tick_params(length=0)
        axis.set_title(name)
        axis.set_xlabel("learning rate")
    axes[0, 0].set_ylabel("initial noise")
    figure.supxlabel("in a cell: $t_V$ and, below it, $t_{KQ}$ (steps)", fontsize=8)
    bar = figure.colorbar(image, ax=axes, shrink=0.9, pad=0.02)
    bar.set_label("$t_{KQ} / t_V$: two stages above 1")
    bar.set_ticks([1 / 16, 1 / 4, 1, 2, 4, 16], labels=["1/16", "1/4", "1", "2", "4", "16"])
    return figure


def _cell_text(cell: pd.DataFrame) -> str:
    if (cell["diverged_at"] >= 0).all():
        return "diverged"
    if cell["t_KQ"].isna().all():
        return "$W_K$ at\nrest"
    if (cell["t_V"] == 0).all():
        return "$W_V$ large\nat start"
    return f"{cell['t_V'].median():.0f}\n{cell['t_KQ'].median():.0f}"


def stage_two_ratio(ratios: pd.DataFrame, T: int) -> Figure:
    """The optimal and the trained ratio against tau, with the theorem's band fitted.

    Args:
        ratios: rows of `stage_two.stage_two`.
        T: topics.
    """
    series = {
        ("optimum", "short"): "optimum",
        ("optimum", "long"): "optimum, long documents",
        ("trained", "short"): "trained $W_K$, $W_Q$",
    }
    figure, axis = plt.subplots(figsize=(0.75 * WIDTH, 3.4))
    taus = np.array(sorted(ratios["tau"].unique()))
    for number, ((method, documents), label) in enumerate(series.items()):
        own = ratios[
            (ratios["method"] == method)
            & (ratios["documents"] == documents)
            & (ratios["diverged_at"] < 0)
        ]
        by_tau = own.groupby("tau")["ratio"]
        axis.errorbar(
            by_tau.mean().index + 0.06 * (number - 1),
            by_tau.mean(),
            yerr=by_tau.std().fillna(0),
            marker=MARKERS[number],
            color=PALETTE[number],
            linewidth=1.3,
            capsize=3,
            label=label,
        )
    optimum = ratios[(ratios["method"] == "optimum") & (ratios["tau"] > 1)]
    means = optimum.groupby(["documents", "tau"])["ratio"].mean().reset_index()
    lambda_1 = float((means["ratio"] / means["tau"]).min())
    lambda_2 = float(means["ratio"].max() / T)
    several = np.array([tau for tau in taus if tau > 1])
    axis.fill_between(
        several,
        lambda_1 * several,
        lambda_2 * T,
        color="0.88",
        zorder=0,
        label=f"theorem's band, fitted: {lambda_1:.2f} τ to {lambda_2:.2f} T",
    )
    axis.axhline(1, color="0.5", linewidth=0.8)
    axis.set(xlabel="topics in a document, τ", ylabel="same-topic / different-topic weight")
    axis.set_xticks(taus)
    axis.set_ylim(0, None)
    legend = {"framealpha": 1, "edgecolor": "none", "title": "mean ± std over seeds"}
    axis.legend(loc="lower right", **legend)
    despine(axis)
    return figure
