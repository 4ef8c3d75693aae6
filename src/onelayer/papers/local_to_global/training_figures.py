"""Figures of the trained transformers: figures 3, 4 and 6 of Makkuva et al. (2024)."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.gridspec import SubplotSpec

from onelayer.figures import DIVERGING, MARKERS, PALETTE, WIDTH, despine
from onelayer.papers.local_to_global.chain import Chain
from onelayer.settings.local_to_global import TrainingSettings, Variant

LABELS = {
    "standard": "standard Gaussian start",
    "rank_one": "rank-one start",
    "paper": "the paper's start",
}
NAMES = {"W_1": r"$W_1$", "W_V": r"$W_V$"}


def weights(
    snapshots: Mapping[str, np.ndarray],
    iterations: Sequence[int],
    curves: pd.DataFrame,
    published: pd.DataFrame,
) -> Figure:
    """Figures 3 and 6: W_1 and W_V of one run, and how close all runs come to rank one.

    Args:
        snapshots: `W_1` [iterations, 4d, d] and `W_V` [iterations, d, d] of the run shown.
        iterations: of the snapshots.
        curves: `training.curves` of this initialisation.
        published: rows `matrix`, `iteration`, `published` of this initialisation; may be empty.
    """
    figure = plt.figure(figsize=(WIDTH, 5.6))
    heat, lines = figure.add_gridspec(2, 1, height_ratios=[2.1, 1])
    _draw_heat_maps(figure, heat, snapshots, iterations)
    axis = figure.add_subplot(lines)
    for place, (name, label) in enumerate(NAMES.items()):
        colour = PALETTE[place]
        _draw_band(
            axis, curves, f"{name}_share", colour, f"{label}, ours (line: mean, band: range)"
        )
        theirs = published[published["matrix"] == name]
        if len(theirs):
            axis.plot(
                theirs["iteration"],
                theirs["published"],
                ls="",
                marker=MARKERS[place],
                mfc="white",
                color=colour,
                label=f"{label}, authors' saved weights",
                zorder=4,
            )
    axis.set(xlabel="iteration", ylabel=r"$\sigma_1^2\,/\,\sum_i\sigma_i^2$", ylim=(0, 1.05))
    axis.axhline(1, color="0.7", lw=0.8, zorder=0)
    axis.legend(frameon=False, loc="lower right")
    despine(axis)
    return figure


def _draw_heat_maps(
    figure: Figure,
    place: SubplotSpec,
    snapshots: Mapping[str, np.ndarray],
    iterations: Sequence[int],
) -> None:
    # W_1 lies on its side: [4d, d] would leave the page half empty.
    rows, columns = place.subgridspec(2, len(iterations)), len(iterations)
    for row, (name, label) in enumerate(NAMES.items()):
        for column in range(columns):
            W = snapshots[name][column]
            axis = figure.add_subplot(rows[row, column])
            bound = float(abs(W).max())
            image = axis.imshow(
                W.T if name == "W_1" else W,
                cmap=DIVERGING,
                vmin=-bound,
                vmax=bound,
                aspect="auto" if name == "W_1" else "equal",
                interpolation="nearest",
            )
            axis.set(xticks=[], yticks=[])
            axis.set_title(f"{label}, iteration {iterations[column]}", fontsize=9)
            if name == "W_1":
                axis.set_xlabel(f"{W.shape[0]} hidden units", fontsize=7)
                axis.set_ylabel(f"{W.shape[1]} dimensions", fontsize=7)
            figure.colorbar(image, ax=axis, shrink=0.8, format="%.2g", ticks=[-bound, 0, bound])


def _draw_band(axis: Axes, curves: pd.DataFrame, quantity: str, colour: str, label: str) -> None:
    by = curves.groupby("iteration")[quantity]
    mean, low, high = by.mean(), by.min(), by.max()
    axis.fill_between(mean.index, low, high, color=colour, alpha=0.2, lw=0)
    axis.plot(mean.index, mean, color=colour, lw=1.5, label=label)


def loss_curves(curves: pd.DataFrame, chain: Chain) -> Figure:
    """Figure 4: loss from the standard and from the paper's start, with both entropies."""
    figure, axis = plt.subplots(figsize=(WIDTH, 3.4))
    for colour, name in zip(PALETTE, LABELS, strict=False):
        part = curves[curves["variant"] == name]
        seeds = part["seed"].nunique()
        label = f"{LABELS[name]} (mean and range of {seeds} seeds)"
        _draw_band(axis, part, "loss", colour, label)
    last = curves["iteration"].max()
    _draw_entropies(axis, chain, last)
    axis.set(
        xlabel="iteration",
        ylabel="population loss (nats)",
        xlim=(0, last),
        ylim=(chain.bigram_entropy - 0.009, chain.unigram_entropy + 0.05),
    )
    axis.legend(frameon=False, loc="upper right", bbox_to_anchor=(1, 1.0))
    axis.set_title(f"p = {chain.p:g}, q = {chain.q:g}")
    despine(axis)
    return figure


def longer_training(
    curves: pd.DataFrame, variants: Sequence[Variant], base: TrainingSettings, chain: Chain
) -> Figure:
    """Loss against iterations of trainings that differ in their length alone, a panel per start.

    Args:
        curves: `training.curves` of all variants.
        variants: those that change something else are left out, unless all do.
        base: the training without changes.
        chain: the chain trained on.
    """
    same = {"iterations": base.iterations}
    alone = [v for v in variants if v.applied(base).model_copy(update=same) == base]
    shown = alone or list(variants)
    starts = list(dict.fromkeys(variant.initialisation for variant in shown))
    figure, axes = plt.subplots(
        1, len(starts), figsize=(WIDTH, 3.2), sharey=True, squeeze=False, sharex=True
    )
    last = max(variant.applied(base).iterations for variant in shown)
    for axis, start in zip(axes.flat, starts, strict=True):
        own = [variant for variant in shown if variant.initialisation == start]
        for colour, variant in zip(PALETTE, own, strict=False):
            label = f"{variant.applied(base).iterations} iterations"
            part = curves[curves["variant"] == variant.name]
            _draw_band(axis, part, "loss", colour, label)
        _draw_entropies(axis, chain, last)
        axis.set(xlabel="iteration", xlim=(0, last), title=LABELS[start])
        axis.set_ylim(chain.bigram_entropy - 0.006, chain.unigram_entropy + 0.02)
        axis.legend(frameon=False, loc="upper right")
        despine(axis)
    axes[0, 0].set_ylabel("population loss (nats)")
    return figure


def _draw_entropies(axis: Axes, chain: Chain, last: int) -> None:
    for entropy, text in (
        (chain.unigram_entropy, r"unigram entropy $H(\pi)$"),
        (chain.bigram_entropy, "bigram entropy rate"),
    ):
        axis.axhline(entropy, color="0.3", lw=0.9, ls="--", zorder=1)
        axis.text(last, entropy - 0.0012, text, ha="right", va="top", fontsize=8, color="0.3")
