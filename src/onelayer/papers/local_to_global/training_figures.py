"""Figures of the trained transformers: figures 3, 4 and 6 of Makkuva et al. (2024)."""

from collections.abc import Mapping
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from matplotlib.image import AxesImage
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import LogLocator, NullFormatter

from onelayer.evidence.figures import COLUMN, DIVERGING, MARKERS, MIDDLE, PALETTE, despine, figure
from onelayer.papers.local_to_global.chain import Chain
from onelayer.papers.local_to_global.training_tables import read_published
from onelayer.settings.local_to_global import ChainSettings, TrainingSettings, Variant

LABELS = {
    "standard": "standard Gaussian start",
    "rank_one": "rank-one start",
    "paper": "the paper's start",
}
NAMES = {"W_1": r"$W_1$", "W_V": r"$W_V$"}
# Curves that lie on each other are told apart by their width: the first is the widest and lowest.
STYLES = (
    {"color": PALETTE[5], "lw": 4.0, "ls": "-"},
    {"color": PALETTE[1], "lw": 1.3, "ls": "--"},
    {"color": PALETTE[2], "lw": 1.3, "ls": "-"},
    {"color": PALETTE[3], "lw": 1.3, "ls": "-."},
    {"color": PALETTE[6], "lw": 0.8, "ls": "-"},
)


@figure(
    "local_to_global/weights_standard",
    "Transformers",
    "figure 3: weights, standard start",
    reads={
        "curves": "train_transformers.curves",
        "weights": "train_transformers.weights",
        "published": "reference/local_to_global_rank_one.csv",
    },
    settings={"iterations": "local_to_global.transformer.snapshots"},
)
def weights_standard(
    curves: pd.DataFrame, weights: dict[str, np.ndarray], published: Path, iterations: list[int]
) -> Figure:
    """Figure 3: W_1 and W_V of one run, and how close all runs come to rank one.

    Args:
        curves: `training.curves` of all initialisations.
        weights: `training.snapshots_of`; the last seed is shown.
        published: as `training_tables.read_published` takes it; may lack this initialisation.
        iterations: of the snapshots.
    """
    curves, snapshots = _of_start("standard", curves, weights)
    authors = read_published(published)
    authors = authors[authors["initialisation"] == "standard"]
    authors = authors[authors["iteration"] <= curves["iteration"].max()]
    figure = plt.figure(figsize=(MIDDLE, 5.3))
    upper, lower = figure.subfigures(2, 1, height_ratios=[1.9, 1])
    axes = upper.subplots(2, len(iterations), squeeze=False)
    for row, (name, label) in zip(axes, NAMES.items(), strict=True):
        for axis, W, iteration in zip(row, snapshots[name][:, -1], iterations, strict=True):
            image = _draw_matrix(axis, name, W)
            axis.set_title(
                f"{label}, iteration {iteration}\nlargest {abs(W).max():.2g}", fontsize=8
            )
    _explain_colours(upper, image, axes)
    for axis, colour, (name, label) in zip(
        lower.subplots(1, 2, sharey=True), PALETTE, NAMES.items(), strict=False
    ):
        _draw_band(axis, curves, f"{name}_share", {"color": colour, "lw": 1.5})
        theirs = authors[authors["matrix"] == name]
        # Whole markers at the axis' ends; none at all would leave the layout no room.
        [markers] = axis.plot(
            theirs["iteration"], theirs["published"], ls="", marker="o", ms=5, mfc="white",
            color="black", zorder=4, clip_on=False,
        )  # fmt: skip
        markers.set_in_layout(False)
        axis.axhline(1, color="0.7", lw=0.8, zorder=0)
        axis.set(xlabel="iteration", title=label, ylim=(0, 1.05))
        axis.set_xlim(0, curves["iteration"].max())
        despine(axis)
    lower.axes[0].set_ylabel("share of the largest\nsingular value")
    handles = _band_handles(curves["seed"].nunique())
    if len(authors):
        style = {"color": "black", "marker": "o", "ms": 5, "mfc": "white", "ls": ""}
        handles.append(Line2D([], [], label="authors' saved weights", **style))
    lower.legend(handles=handles, loc="outside lower center", ncols=3, frameon=False, fontsize=7.5)
    return figure


def _of_start(
    name: str, curves: pd.DataFrame, weights: Mapping[str, np.ndarray]
) -> tuple[pd.DataFrame, dict[str, np.ndarray]]:
    """Curves of one initialisation, and `W_1` and `W_V` [iterations, seeds, ...] of its runs."""
    return (
        curves[curves["variant"] == name],
        {matrix: weights[f"{name}/{matrix}"] for matrix in NAMES},
    )


@figure(
    "local_to_global/weights_rank_one",
    "Transformers",
    "figure 6: weights, rank-one start",
    reads={"curves": "train_transformers.curves", "weights": "train_transformers.weights"},
    settings={"iterations": "local_to_global.transformer.snapshots"},
)
def weights_rank_one(
    curves: pd.DataFrame, weights: dict[str, np.ndarray], iterations: list[int]
) -> Figure:
    """Figure 6: W_1 and W_V from a rank-one start, which change in size alone.

    Their pattern is the same at every iteration, up to one sign of the whole matrix, so it is drawn
    once, of the last run; beside it the largest entry of all runs, and above it how far the share
    of the largest singular value falls below 1.

    Args:
        curves: `training.curves` of all initialisations.
        weights: `training.snapshots_of`.
        iterations: of the snapshots.
    """
    curves, snapshots = _of_start("rank_one", curves, weights)
    figure = plt.figure(figsize=(MIDDLE, 2.9))
    left, right = figure.subfigures(1, 2, width_ratios=[1, 1.05])
    axes = left.subplots(2, 1)
    for axis, (name, label) in zip(axes, NAMES.items(), strict=True):
        image = _draw_matrix(axis, name, snapshots[name][-1, -1])
        axis.set_title(f"{label}, iteration {iterations[-1]}", fontsize=8)
    _explain_colours(left, image, axes)
    axis = right.subplots()
    for place, (name, label) in enumerate(NAMES.items()):
        largest = largest_entries(snapshots[name])
        style = {"color": PALETTE[place], "marker": MARKERS[place], "ms": 5}
        axis.plot(iterations, largest.mean(axis=1), label=label, **style)
        axis.fill_between(
            iterations, largest.min(axis=1), largest.max(axis=1), color=PALETTE[place], alpha=0.2,
            lw=0,
        )  # fmt: skip
    axis.set(xlabel="iteration", xticks=iterations, ylabel="largest entry", ylim=(0, None))
    axis.legend(frameon=False, loc="upper left", handlelength=1.5)
    seeds, away = curves["seed"].nunique(), furthest_from_rank_one(curves)
    within = f"at most {away:.0e}" if away else "0 in single precision"
    axis.set_title(
        f"size: mean and range of {seeds} seeds\n1 − share of $\\sigma_1$: {within}", fontsize=8
    )
    despine(axis)
    return figure


def largest_entries(matrices: np.ndarray) -> np.ndarray:
    """Largest |entry| of matrices [iterations, seeds, rows, columns], [iterations, seeds]."""
    return abs(matrices).max(axis=(-2, -1))


def furthest_from_rank_one(curves: pd.DataFrame) -> float:
    """Largest 1 - share of the largest singular value, over matrices, seeds and iterations."""
    return float(max(1 - curves[f"{name}_share"].min() for name in NAMES))


def _draw_matrix(axis: Axes, name: str, W: np.ndarray) -> AxesImage:
    """A matrix over its largest entry; W_1 lies on its side: [4d, d] would leave a page empty."""
    side = name == "W_1"
    image = axis.imshow(
        (W.T if side else W) / abs(W).max(), cmap=DIVERGING, vmin=-1, vmax=1,
        aspect="auto" if side else "equal", interpolation="nearest",
    )  # fmt: skip
    axis.set(xticks=[], yticks=[])
    if side:
        axis.set_xlabel(f"{W.shape[0]} hidden units", fontsize=7)
        axis.set_ylabel(f"{W.shape[1]} dimensions", fontsize=7)
    return image


def _explain_colours(figure: SubFigure, image: AxesImage, axes: np.ndarray) -> None:
    bar = figure.colorbar(image, ax=axes, shrink=0.7, ticks=[-1, 0, 1], aspect=25)
    bar.set_label("entry / largest", fontsize=8)


def _draw_band(axis: Axes, curves: pd.DataFrame, quantity: str, style: Mapping) -> None:
    """Mean over seeds, and their range."""
    by = curves.groupby("iteration")[quantity]
    mean, low, high = by.mean(), by.min(), by.max()
    axis.fill_between(mean.index, low, high, color=style["color"], alpha=0.25, lw=0)
    axis.plot(mean.index, mean, **style)


def _band_handles(seeds: int) -> list:
    """What the legend says of a line and the band around it."""
    return [
        Line2D([], [], color="0.4", lw=1.3, label=f"line: mean of {seeds} seeds"),
        Patch(color="0.4", alpha=0.25, lw=0, label="band: their range"),
    ]


@figure(
    "local_to_global/loss_curves",
    "Transformers",
    "figure 4: loss curves",
    reads={"curves": "train_transformers.curves"},
    settings={"chain": "local_to_global.transformer.chain"},
)
def loss_curves(curves: pd.DataFrame, chain: ChainSettings) -> Figure:
    """Figure 4: loss from the standard, the rank-one and the paper's start, with both entropies.

    Above the bigram entropy and logarithmic: the paper's start begins a hundred times higher than
    the others.

    Args:
        curves: `training.curves` of all initialisations.
        chain: the chain trained on.
    """
    own = Chain.of(chain)
    figure, axis = plt.subplots(figsize=(COLUMN, 3.5))
    last = curves["iteration"].max()
    for style, name in zip(STYLES, LABELS, strict=False):
        _draw_loss(axis, curves[curves["variant"] == name], own, style)
    _dress(axis, own, last)
    axis.set_ylabel("loss above the bigram entropy (nats)")
    handles = [
        Line2D([], [], label=label, **style)
        for style, label in zip(STYLES, LABELS.values(), strict=False)
    ]
    handles += _band_handles(curves["seed"].nunique())
    figure.legend(handles=handles, loc="outside lower center", ncols=2, frameon=False, fontsize=7.5)
    axis.set_title(f"p = {chain.p:g}, q = {chain.q:g}", fontsize=9)
    return figure


@figure(
    "local_to_global/longer_training",
    "Transformers",
    "figure: longer trainings",
    reads={"curves": "ablate_transformers.curves"},
    settings={
        "variants": "local_to_global.ablated.variants",
        "base": "local_to_global.ablated.training",
        "chain": "local_to_global.ablated.chain",
    },
)
def longer_training(
    curves: pd.DataFrame, variants: list[Variant], base: TrainingSettings, chain: ChainSettings
) -> Figure:
    """Loss against iterations of trainings that differ in their length alone, a panel per start.

    Args:
        curves: `training.curves` of all variants.
        variants: those that change something else are left out, unless all do.
        base: the training without changes.
        chain: the chain trained on.
    """
    own, same = Chain.of(chain), {"iterations": base.iterations}
    alone = [v for v in variants if v.applied(base).model_copy(update=same) == base]
    shown = alone or variants
    starts = list(dict.fromkeys(variant.initialisation for variant in shown))
    figure, axes = plt.subplots(
        1, len(starts), figsize=(MIDDLE, 3.4), sharey=True, squeeze=False, sharex=True
    )
    lengths = sorted({variant.applied(base).iterations for variant in shown})
    styles = {length: STYLES[place % len(STYLES)] for place, length in enumerate(lengths)}
    for axis, start in zip(axes.flat, starts, strict=True):
        for variant in (variant for variant in shown if variant.initialisation == start):
            part = curves[curves["variant"] == variant.name]
            _draw_loss(axis, part, own, styles[variant.applied(base).iterations])
        _dress(axis, own, lengths[-1])
        axis.set_title(LABELS[start], fontsize=9)
    axes[0, 0].set_ylabel("loss above the bigram entropy (nats)")
    handles = [
        Line2D([], [], label=f"{length} iterations", **style) for length, style in styles.items()
    ]
    handles += _band_handles(curves["seed"].nunique())
    figure.legend(handles=handles, loc="outside lower center", ncols=3, frameon=False, fontsize=7.5)
    return figure


def _draw_loss(axis: Axes, curves: pd.DataFrame, chain: Chain, style: Mapping) -> None:
    above = curves.assign(above=curves["loss"] - chain.bigram_entropy)
    _draw_band(axis, above, "above", style)


def _dress(axis: Axes, chain: Chain, last: int) -> None:
    """Axes of losses above the bigram entropy, with the unigram entropy."""
    unigram = chain.unigram_entropy - chain.bigram_entropy
    axis.axhline(unigram, color="0.3", lw=0.9, ls=":", zorder=3)
    axis.text(last, 1.12 * unigram, r"unigram entropy", ha="right", va="bottom", fontsize=7.5)
    axis.set(xlabel="iteration", yscale="log", xlim=(0, last))
    axis.yaxis.set_major_locator(LogLocator())
    axis.yaxis.set_major_formatter("{x:g}")
    axis.yaxis.set_minor_formatter(NullFormatter())
    despine(axis)
