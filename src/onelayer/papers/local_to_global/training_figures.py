"""Figures of the trained transformers: figures 3, 4, 6 of Makkuva et al. (2024), and our own."""

import itertools
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
from onelayer.papers.local_to_global.chain import Chain, MarkovSource
from onelayer.papers.local_to_global.open_problem_tables import with_way_closed
from onelayer.papers.local_to_global.training_tables import escape, read_published
from onelayer.settings.local_to_global import (
    PAPERS_START,
    STANDARD_START,
    ChainSettings,
    SourceSettings,
    TrainingSettings,
    Variant,
    papers_starts,
)

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
# By what they do: queries and keys decide where attention looks, the others what is written.
PAIRS = (("W_Q", "W_K"), ("W_V", "W_O"), ("W_1", "W_2"))
# A colour per pair of matrices; the first of a pair is solid, the second dashed.
MATRIX_STYLES = {
    name: {"color": colour, "ls": line, "marker": marker, "mfc": fill or colour}
    for colour, marker, pair in zip(PALETTE, MARKERS, PAIRS, strict=False)
    for name, line, fill in zip(pair, ("-", "--"), ("", "white"), strict=True)
}


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
    """Figure 3: W_1 and W_V of one run, and how close all runs come to rank one."""
    curves = curves[curves["variant"] == "standard"]
    last = curves["iteration"].max()
    authors = _published(published, "standard", last)
    figure = plt.figure(figsize=(MIDDLE, 5.3))
    upper, lower = figure.subfigures(2, 1, height_ratios=[1.9, 1])
    axes = upper.subplots(2, len(iterations), squeeze=False)
    for row, (name, label) in zip(axes, NAMES.items(), strict=True):
        last_seed = weights[f"standard/{name}"][:, -1]
        for axis, W, iteration in zip(row, last_seed, iterations, strict=True):
            image = _draw_matrix(axis, name, W)
            axis.set_title(
                f"{label}, iteration {iteration}\nlargest {abs(W).max():.2g}", fontsize=8
            )
    _explain_colours(upper, image, axes)
    white = {"color": "black", "marker": "o", "mfc": "white"}
    panels = zip(lower.subplots(1, 2, sharey=True), NAMES.items(), PALETTE, strict=False)
    for axis, (name, label), colour in panels:
        _draw_band(axis, curves, f"{name}_share", {"color": colour, "lw": 1.5})
        _draw_published(axis, authors, name, white)
        axis.axhline(1, color="0.7", lw=0.8, zorder=0)
        despine(axis)
        axis.set(xlabel="iteration", title=label, xlim=(0, last), ylim=(0, 1.05))
    lower.axes[0].set_ylabel("share of the largest\nsingular value")
    handles = _band_handles(curves["seed"].nunique())
    if len(authors):
        handles.append(Line2D([], [], label="authors' saved weights", ms=5, ls="", **white))
    _legend_below(lower, handles, 3)
    return figure


def _published(path: Path, start: str, last: int) -> pd.DataFrame:
    """The authors' shares of one initialisation, up to the last iteration of ours."""
    authors = read_published(path)
    return authors[(authors["initialisation"] == start) & (authors["iteration"] <= last)]


def _draw_published(axis: Axes, authors: pd.DataFrame, name: str, style: Mapping) -> None:
    """The authors' shares of one matrix."""
    theirs = authors[authors["matrix"] == name]
    # Whole markers at the axis' ends; none at all would leave the layout no room.
    point = dict(style) | {"ls": "", "ms": 5, "zorder": 4, "clip_on": False}
    [markers] = axis.plot(theirs["iteration"], theirs["published"], **point)
    markers.set_in_layout(False)


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
    """Share of the largest singular value over training, a panel per start."""
    last = curves["iteration"].max()
    figure, axes = plt.subplots(2, 1, figsize=(COLUMN, 4.9), sharex=True, sharey=True)
    for axis, start in zip(axes, ("standard", "paper"), strict=True):
        runs, authors = curves[curves["variant"] == start], _published(published, start, last)
        for name, style in MATRIX_STYLES.items():
            line = {"color": style["color"], "ls": style["ls"], "lw": 1.5}
            _draw_band(axis, runs, f"{name}_share", line, alpha=0.15)
            _draw_published(axis, authors, name, style)
        axis.axhline(1, color="0.7", lw=0.8, zorder=0)
        axis.set_title(LABELS[start], fontsize=9)
        axis.set_ylabel("share of $\\sigma_1^2$")
        despine(axis)
    axes[0].set(ylim=(0, 1.05), xlim=(0, last))
    axes[1].set_xlabel("iteration")
    theirs = set(read_published(published)["matrix"])
    ours, authors = {"lw": 1.5, "marker": ""}, {"ls": "", "ms": 5}
    handles = [
        Line2D([], [], **style | given, label=f"{whose}${name}$")
        for whose, given in (("", ours), ("authors, ", authors))
        for name, style in MATRIX_STYLES.items()
        if not whose or name in theirs
    ]
    _legend_below(figure, handles, 3, columnspacing=1.2)
    return figure


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
    """
    curves = curves[curves["variant"] == "rank_one"]
    figure = plt.figure(figsize=(MIDDLE, 2.9))
    left, right = figure.subfigures(1, 2, width_ratios=[1, 1.05])
    axes, axis = left.subplots(2, 1), right.subplots()
    for place, (name, label) in enumerate(NAMES.items()):
        snapshots = weights[f"rank_one/{name}"]
        image = _draw_matrix(axes[place], name, snapshots[-1, -1])
        axes[place].set_title(f"{label}, iteration {iterations[-1]}", fontsize=8)
        largest, colour = abs(snapshots).max(axis=(-2, -1)), PALETTE[place]
        style = {"color": colour, "marker": MARKERS[place], "ms": 5}
        axis.plot(iterations, largest.mean(axis=1), label=label, **style)
        low, high = largest.min(axis=1), largest.max(axis=1)
        axis.fill_between(iterations, low, high, color=colour, alpha=0.2, lw=0)
    _explain_colours(left, image, axes)
    axis.set(xlabel="iteration", xticks=iterations, ylabel="largest entry", ylim=(0, None))
    axis.legend(loc="upper left", handlelength=1.5)
    seeds = curves["seed"].nunique()
    away = 1 - curves[[f"{name}_share" for name in NAMES]].min(axis=None)
    within = f"at most {away:.0e}" if away else "0 in single precision"
    axis.set_title(
        f"size: mean and range of {seeds} seeds\n1 − share of $\\sigma_1$: {within}", fontsize=8
    )
    despine(axis)
    return figure


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


def _draw_band(
    axis: Axes, curves: pd.DataFrame, quantity: str, style: Mapping, alpha: float = 0.25
) -> None:
    """Mean over seeds, and their range; further of `style` is the line's alone."""
    by = curves.groupby("iteration")[quantity]
    mean, low, high = by.mean(), by.min(), by.max()
    axis.fill_between(mean.index, low, high, color=style["color"], alpha=alpha, lw=0)
    axis.plot(mean.index, mean, **style)


def _band_handles(seeds: int) -> list:
    """What the legend says of a line and the band around it."""
    return [
        Line2D([], [], color="0.4", lw=1.3, label=f"line: mean of {seeds} seeds"),
        Patch(color="0.4", alpha=0.25, lw=0, label="band: their range"),
    ]


def _legend_below(figure: Figure | SubFigure, handles: list, columns: int, **more: float) -> None:
    figure.legend(handles=handles, loc="outside lower center", ncols=columns, fontsize=7.5, **more)


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
    """
    figure, axis = plt.subplots(figsize=(COLUMN, 3.5))
    styles = dict(zip(LABELS, STYLES, strict=False))
    parts = [(curves[curves["variant"] == start], style) for start, style in styles.items()]
    _draw_losses(axis, parts, Chain.of(chain), curves["iteration"].max())
    axis.set_ylabel("loss above the bigram entropy (nats)")
    handles = [Line2D([], [], label=LABELS[start], **style) for start, style in styles.items()]
    _legend_below(figure, handles + _band_handles(curves["seed"].nunique()), 2)
    axis.set_title(f"p = {chain.p:.15g}, q = {chain.q:.15g}", fontsize=9)
    return figure


@figure(
    "local_to_global/longer_training",
    "Transformers",
    "figure: longer trainings",
    reads={"curves": "ablate_transformers.curves"},
    settings={
        "variants": "local_to_global.ablation.variants",
        "base": "local_to_global.ablated.training",
        "chain": "local_to_global.ablated.chain",
    },
)
def longer_training(
    curves: pd.DataFrame, variants: list[Variant], base: TrainingSettings, chain: ChainSettings
) -> Figure:
    """Loss against iterations of trainings that differ in their length alone, a panel per start.

    Variants that change something else are left out, unless all do.
    """
    same = {"iterations": base.iterations}
    shown = [v for v in variants if v.applied(base).model_copy(update=same) == base] or variants
    starts = list(dict.fromkeys(variant.initialisation for variant in shown))
    figure, axes = plt.subplots(
        1, len(starts), figsize=(MIDDLE, 3.4), sharey=True, squeeze=False, sharex=True
    )
    lengths = sorted({variant.applied(base).iterations for variant in shown})
    styles = {length: STYLES[place % len(STYLES)] for place, length in enumerate(lengths)}
    for axis, start in zip(axes.flat, starts, strict=True):
        parts = [
            (curves[curves["variant"] == v.name], styles[v.applied(base).iterations])
            for v in shown
            if v.initialisation == start
        ]
        _draw_losses(axis, parts, Chain.of(chain), lengths[-1])
        axis.set_title(LABELS[start], fontsize=9)
    axes[0, 0].set_ylabel("loss above the bigram entropy (nats)")
    handles = [
        Line2D([], [], label=f"{length} iterations", **style) for length, style in styles.items()
    ]
    _legend_below(figure, handles + _band_handles(curves["seed"].nunique()), 3)
    return figure


def _draw_losses(
    axis: Axes, parts: list[tuple[pd.DataFrame, Mapping]], chain: Chain, last: int
) -> None:
    """Curves in their styles, as losses above the bigram entropy, with the unigram entropy."""
    for curves, style in parts:
        above = curves.assign(above=curves["loss"] - chain.bigram_entropy)
        _draw_band(axis, above, "above", style)
    unigram = chain.unigram_entropy - chain.bigram_entropy
    axis.axhline(unigram, color="0.3", lw=0.9, ls=":", zorder=3)
    axis.text(last, 1.12 * unigram, r"unigram entropy", ha="right", va="bottom", fontsize=7.5)
    axis.set(xlabel="iteration", yscale="log", xlim=(0, last))
    axis.yaxis.set_major_locator(LogLocator())
    axis.yaxis.set_major_formatter("{x:g}")
    axis.yaxis.set_minor_formatter(NullFormatter())
    despine(axis)


@figure(
    "local_to_global/open_problems",
    "Transformers",
    "figure: open problems",
    reads={"curves": "train_open_problems.curves"},
    settings={"sources": "local_to_global.open_problems.sources"},
)
def way_closed(curves: pd.DataFrame, sources: list[SourceSettings]) -> Figure:
    """Share of the way closed over training: chains by their states, and order and depth."""
    curves = with_way_closed(curves, sources)
    panels = {"first order, one layer": [], "second order, or two layers": []}
    simple, others = panels.values()
    for source in sources:
        for depth in source.depths:
            one_layer = depth == 1 and MarkovSource.of(source.transitions).order == 1
            (simple if one_layer else others).append((source.name, depth))
    figure, axes = plt.subplots(1, 2, figsize=(MIDDLE, 4.1), sharey=True)
    for axis, (title, shown) in zip(axes, panels.items(), strict=True):
        for place, (name, depth) in enumerate(shown):
            part = curves[(curves["source"] == name) & (curves["depth"] == depth)]
            style = {"color": PALETTE[place % len(PALETTE)], "ms": 4, "markevery": (place, 8)}
            style |= {"marker": MARKERS[place % len(MARKERS)]}
            label = name + f", {depth} layers" * (depth > 1)
            _draw_band(axis, part, "closed", style | {"label": label})
        for level in (0, 1):
            axis.axhline(level, color="0.6", lw=0.8, ls=":", zorder=0)
        axis.set(xlabel="iteration", ylim=(-0.1, 1.1))
        axis.set_title(title, fontsize=9)
        axis.legend(fontsize=7.5, loc="upper center", bbox_to_anchor=(0.5, -0.2))
        despine(axis)
    axes[0].set_ylabel("share of the way from unigram\n(0) to best entropy (1)")
    return figure


@figure(
    "local_to_global/trap",
    "Transformers",
    "figure: the trap",
    reads={"curves": "train_trapped.curves"},
    settings={
        "everywhere": "local_to_global.trap.everywhere",
        "variants": "local_to_global.trap.variants",
    },
)
def trap_figure(curves: pd.DataFrame, everywhere: list[Variant], variants: list[Variant]) -> Figure:
    """Way to the bigram entropy, who has left, and least curvature: a column a chain.

    Above a line a seed of the two starts: 0 is the unigram, 1 the bigram entropy. Middle: the share
    of the seeds that have left the unigram model for good, of the standard start and its changes.
    Below their median curvature: above 0 the unigram model is a minimum, below it has a way out.
    """
    chains = list(curves[["p", "q"]].drop_duplicates().itertuples(index=False, name=None))
    changed = [*everywhere, *variants]
    from_afar = [PAPERS_START, *papers_starts(changed)]
    names = [STANDARD_START, PAPERS_START, *(v.name for v in changed)]
    dashes = ["-", (0, (4, 1)), "-.", (0, (2, 1)), ":"]
    looks = zip(names, itertools.cycle(PALETTE), itertools.cycle(dashes), strict=False)
    styles = {name: {"color": colour, "ls": dashes} for name, colour, dashes in looks}
    figure, axes = plt.subplots(
        3, len(chains), figsize=(max(MIDDLE, 1.9 * len(chains)), 5.6), sharex=True, sharey="row",
        squeeze=False,
    )  # fmt: skip
    for column, (p, q) in zip(axes.T, chains, strict=True):
        chain = Chain(p, q)
        way = chain.unigram_entropy - chain.bigram_entropy
        mine = curves[(curves["p"] == p) & (curves["q"] == q)]
        for variant, runs in mine.groupby("variant", sort=False):
            each, style = [run for _, run in runs.groupby("seed")], styles[variant]
            if variant in (STANDARD_START, *from_afar):
                for run in each:
                    closed = (chain.unigram_entropy - run["loss"]) / way
                    column[0].plot(run["iteration"], closed, **style, lw=0.8, alpha=0.7)
            if variant not in from_afar:
                median = runs.groupby("iteration")["curvature"].median()
                left = np.array([escape(run, chain) for run in each])
                share = (left[:, None] <= median.index.to_numpy()).mean(axis=0)
                column[1].plot(median.index, share, **style, lw=1.3)
                column[2].plot(median.index, median, **style, lw=1.3)
        column[0].set_title(f"p = {p:.15g}, q = {q:.15g}", fontsize=9)
        column[2].set(xlabel="iteration", xlim=(0, curves["iteration"].max()))
        for axis, levels in zip(column, [(0, 1), (0, 1), (0,)], strict=True):
            for level in levels:
                axis.axhline(level, color="0.5", lw=0.8, ls=":", zorder=0)
            despine(axis)
    axes[0, 0].set_ylim(-0.5, 1.08)
    axes[1, 0].set_ylim(-0.05, 1.08)
    axes[0, 0].set_ylabel("way from unigram\nto bigram entropy")
    axes[1, 0].set_ylabel("share of seeds\nthat have left")
    axes[2, 0].set_ylabel("median of least\ncurvature (2 h(0))")
    handles = [Line2D([], [], label=name, **style) for name, style in styles.items()]
    figure.legend(handles=handles, loc="outside lower center", ncols=4, fontsize=8)
    return figure
