"""Figures of the synthetic experiments, Figs. 4 and 6, and of the language model, Fig. 7."""

import itertools
import textwrap
from collections.abc import Sequence
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.collections import QuadMesh
from matplotlib.colors import CenteredNorm, LogNorm, PowerNorm
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import LogLocator, NullFormatter, NullLocator

from onelayer.evidence.claims import of_seeds
from onelayer.evidence.figures import (
    COLUMN,
    DIVERGING,
    MARKERS,
    MIDDLE,
    PALETTE,
    SEQUENTIAL,
    WIDTH,
    despine,
    figure,
    plain,
)
from onelayer.evidence.tables import interval_of
from onelayer.papers.scan_snap import measures
from onelayer.papers.scan_snap.data import COMMON, DISTINCT, SLOTS
from onelayer.papers.scan_snap.entropy_sweep import INITIAL_ENTROPY, cells, read_published
from onelayer.papers.scan_snap.text import FREQUENCY_BINS, uniform_entropy

ROWS = (0, 2, 4, 6, 8, 10)  # iterations of the paper's heat map; the last one is added
DASHES = ("-", "--", ":", "-.")
LINES = (0, 4, 7, 9)  # distinct tokens drawn over time, from rare to frequent
TICKS = (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50)  # of learning rates, where they fall in range
SPREADS = (0.01, 0.03, 0.1, 0.3)  # std of entropy over seeds, contours (nats)
BAND = (2.5, 97.5)  # percentiles of seeds


@figure(
    "scan_snap/scan",
    "Synthetic",
    "figure: attention over training",
    reads={"simulated": "scan_simulation"},
    settings={"iterations": "scan_snap.scan.iterations"},
)
def scan(simulated: pd.DataFrame, iterations: int) -> Figure:
    """Attention of one class over training: one seed, all seeds, gains, speed."""
    times, c = measures.trajectories(simulated[simulated["diverged_at"] < 0])
    figure, axes = plt.subplots(2, 2, figsize=(0.86 * WIDTH, 5.6), width_ratios=[1.2, 1])
    _heat_map(axes[0, 0], times, c, iterations)
    _tokens_over_time(axes[0, 1], times, c, iterations)
    _gains(axes[1, 0], c[0], c[times == iterations][0], iterations)
    _speed(axes[1, 1], times, c)
    band = f"band or bar: {BAND[1] - BAND[0]:g}% of the seeds lie within"
    handles = [
        Line2D([], [], color="0.4", marker="o", markersize=4, label=f"mean of {c.shape[1]} seeds"),
        Patch(color="0.4", alpha=0.2, label=band),
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=2)
    return figure


def _heat_map(axis: Axes, times: np.ndarray, c: np.ndarray, iterations: int) -> None:
    import seaborn as sns  # takes a second, and the other figures need none of it

    shown = [t for t in (*ROWS, iterations) if t in times]
    rows = np.stack([c[times == t][0, 0] for t in shown])
    sns.heatmap(
        rows,
        ax=axis,
        cmap=SEQUENTIAL,
        vmin=0,
        yticklabels=shown,
        xticklabels=5,
        cbar_kws={"label": "attention $c_{l|n}$", "pad": 0.02},
    )
    axis.axvline(COMMON, color="white", linewidth=1.5)
    axis.tick_params(left=False, bottom=False)
    plt.setp(axis.get_yticklabels(), rotation=0)
    plt.setp(axis.get_xticklabels(), rotation=0)
    axis.set(title="one seed, as the paper", ylabel="iteration")
    axis.set_xlabel("common | distinct, rare to frequent")


def _tokens_over_time(axis: Axes, times: np.ndarray, c: np.ndarray, iterations: int) -> None:
    early = times <= iterations
    times, c = times[early], c[early]
    colours = _colours(DISTINCT)[::-1]
    for place in reversed(LINES):
        label = f"weight {0.1 * (place + 1):.1f}"
        _line(axis, times, c[:, :, COMMON + place], colours[place], label)
    _line(axis, times, c[:, :, :COMMON].mean(axis=2), "0.35", "common, 1.0", "--")
    axis.set(title="tokens by their frequency", xlabel="iteration")
    axis.set_ylabel("attention $c_{l|n}$")
    # Above all bands: nothing lies there.
    axis.set_ylim(0, 1.75 * axis.get_ylim()[1])
    axis.legend(fontsize=7.5, loc="upper left", ncols=2, handlelength=1.5, columnspacing=1)
    despine(axis)


def _gains(axis: Axes, start: np.ndarray, end: np.ndarray, iterations: int) -> None:
    gain = end / start
    mean, slots = gain.mean(axis=0), np.arange(SLOTS)
    low, high = np.percentile(gain, BAND, axis=0)
    for kind, colour, label in (
        (slots < COMMON, "0.35", "common"),
        (slots >= COMMON, PALETTE[0], "distinct"),
    ):
        bars = (mean - low)[kind], (high - mean)[kind]
        style = {"fmt": "o", "color": colour, "capsize": 2, "markersize": 4}
        axis.errorbar(slots[kind], mean[kind], bars, label=label, **style)
    axis.axhline(1, color="0.6", linewidth=0.8, zorder=0)
    axis.set(
        title="gain of each token",
        xlabel="common | distinct, rare to frequent",
        xticks=slots[::5],
        ylim=(0, None),
    )
    axis.set_ylabel(f"$c_{{l|n}}$({iterations}) / $c_{{l|n}}$(0)")
    axis.legend(loc="upper left")
    despine(axis)


def _speed(axis: Axes, times: np.ndarray, c: np.ndarray) -> None:
    speed = np.abs(np.diff(c[:, :, -1], axis=0)) / np.diff(times)[:, None]
    # From a zero start the first update moves Y alone: attention stands still, off the log scale.
    moving = speed.mean(axis=1) > 0
    _line(axis, times[1:][moving], speed[moving], PALETTE[1], "")
    axis.set(yscale="log", xscale="log", xlabel="iteration (log)")
    axis.set_ylabel("change of top token's\n$c_{l|n}$ per iteration")
    axis.set_title("snapping: coming to rest")
    axis.xaxis.set_major_formatter("{x:g}")
    despine(axis)


@figure(
    "scan_snap/rest",
    "Synthetic",
    "figure: coming to rest, with controls",
    reads={"simulated": "rest_simulation"},
    settings={"iterations": "scan_snap.rest.iterations"},
)
def rest(simulated: pd.DataFrame, iterations: int) -> Figure:
    """Speed of attention and of its entropy over iterations, with each decoder."""
    drawn, axes = plt.subplots(1, 2, figsize=(7, 3.4))
    styles = zip(PALETTE, DASHES, strict=False)
    runs = simulated[(simulated["diverged_at"] < 0) & (simulated["iteration"] <= iterations)]
    for (rate, part), (colour, style) in zip(
        runs.groupby("lr_Y_multiplier"), itertools.cycle(styles), strict=False
    ):
        times, c = measures.trajectories(part)
        label = f"lr_Y / lr_Z = {rate:g}" if rate else "frozen"
        for axis, of in zip(axes, (c[:, :, -1], measures.distinct_entropy(c)), strict=True):
            speed = np.abs(np.diff(of, axis=0))
            axis.plot(times[1:], np.median(speed, axis=1), style, color=colour, label=label)
            low, high = np.percentile(speed, (25, 75), axis=1)
            axis.fill_between(times[1:], low, high, color=colour, alpha=0.15, linewidth=0)
    for axis, what in zip(axes, ("top token's $c_{l|n}$", "entropy (nats)"), strict=True):
        axis.set(xscale="log", yscale="log", xlabel="iteration (log)")
        axis.set_ylabel(f"change of {what}\nper iteration")
        axis.xaxis.set_major_formatter("{x:g}")
        despine(axis)
    drawn.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    return drawn


def _line(
    axis: Axes, x: np.ndarray, seeds: np.ndarray, colour: object, label: str, style: str = "-"
) -> None:
    """Mean over seeds, [x, seeds], with the central 95% of them."""
    low, high = np.percentile(seeds, BAND, axis=1)
    axis.plot(x, seeds.mean(axis=1), style, color=colour, label=label)
    axis.fill_between(x, low, high, color=colour, alpha=0.2, linewidth=0)


@figure(
    "scan_snap/entropy_sweep",
    "Synthetic",
    "figure: entropy by learning rates",
    reads={"simulated": "entropy_sweep_simulation", "published": "reference/scan_snap_figure6.csv"},
    settings={"iterations": "scan_snap.entropy_sweep.iterations"},
)
def entropy_sweep(simulated: pd.DataFrame, published: Path, iterations: int) -> Figure:
    """Entropy against lr_Y/lr_Z, a panel per number of query tokens, a line per lr_Z."""
    ours, theirs = cells(simulated, iterations), read_published(published)
    sizes = ours["num_last"].unique()
    columns = min(2, len(sizes))
    rows = -(-len(sizes) // columns)
    figure, axes = plt.subplots(
        rows, columns, figsize=(WIDTH, 0.6 + 2.4 * rows), sharex=True, sharey=True, squeeze=False
    )
    for axis, num_last in zip(axes.flat, sizes, strict=False):
        _entropy_panel(axis, *(t[t["num_last"] == num_last] for t in (ours, theirs)))
        axis.set_title(measures.query_tokens(num_last))
    for axis in axes.flat[len(sizes) :]:
        axis.set_axis_off()
    for axis in axes[-1]:
        axis.set_xlabel("lr$_Y$ / lr$_Z$ (log)")
    for axis in axes[:, 0]:
        axis.set_ylabel("entropy of attention (nats)")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    for style, face, label in (("-", "0.3", "ours, ± 1 std"), (":", "white", "paper, ± 1 std")):
        handles.append(plt.Line2D([], [], color="0.3", marker="o", markerfacecolor=face, ls=style))
        labels.append(label)
    figure.legend(handles, labels, loc="outside lower center", ncols=3)
    _name_line(axes[0, 0], 0.01, INITIAL_ENTROPY, "attention by P(l | n) alone", ha="left")
    return figure


def _name_line(axis: Axes, x: float, y: float, name: str, ha: str) -> None:
    """The name of a horizontal line, at some part x of the axis."""
    place = axis.get_yaxis_transform()
    axis.text(x, y, name, transform=place, ha=ha, va="bottom", fontsize=7, color="0.4")


def _entropy_panel(axis: Axes, ours: pd.DataFrame, theirs: pd.DataFrame) -> None:
    rates = sorted(ours["lr_Z"].unique())
    for place, lr_Z in enumerate(rates):
        shift = 1 + 0.025 * (place - (len(rates) - 1) / 2)
        style = {"color": PALETTE[place % len(PALETTE)], "marker": MARKERS[place % len(MARKERS)]}
        style |= {"capsize": 2, "markersize": 4}
        own_style = {"label": f"lr$_Z$ = {lr_Z:g}"}
        paper_style = {"linestyle": ":", "markerfacecolor": "white"}
        for cells_of, side, value, spread, further in (
            (ours, 0.97, "value", "std", own_style),
            (theirs, 1.03, "published", "published_std", paper_style),
        ):
            line = cells_of[cells_of["lr_Z"] == lr_Z]
            x = line["lr_Y_multiplier"] * shift * side
            axis.errorbar(x, line[value], line[spread], **further, **style)
    axis.axhline(INITIAL_ENTROPY, color="0.6", linewidth=0.8, zorder=0)
    axis.set_xscale("log")
    axis.xaxis.set_minor_locator(NullLocator())
    ticks = sorted(ours["lr_Y_multiplier"].unique())
    axis.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    despine(axis)


@figure(
    "scan_snap/phase_map",
    "Synthetic",
    "figure: map over learning rates",
    reads={"simulated": "phase_map_simulation", "published": "reference/scan_snap_figure6.csv"},
    settings={"iterations": "scan_snap.phase_map.iterations"},
)
def phase_map(simulated: pd.DataFrame, published: Path, iterations: int) -> Figure:
    """Entropy over (lr_Z, lr_Y/lr_Z): mean, spread over seeds, and change with longer training.

    Squares: the published cells of the same number of query tokens, in the same colours.
    """
    runs = measures.entropy_by_run(simulated)
    runs = runs[runs["diverged_at"] < 0]
    last = runs["iteration"].max()

    def grid_of(iteration: int, how: str) -> pd.DataFrame:
        at = runs[runs["iteration"] == iteration]
        return at.pivot_table("entropy", "lr_Y_multiplier", "lr_Z", aggfunc=how)

    mean, spread = (grid_of(iterations, how) for how in ("mean", "std"))
    num_last, theirs = simulated["num_last"].iloc[0], read_published(published)
    theirs = theirs[theirs["num_last"] == num_last]
    panels = [
        (mean, f"mean entropy, {iterations} iterations", SEQUENTIAL, None, "published"),
        (spread, "its std over seeds (log)", "magma", LogNorm(), "published_std"),
    ]
    if last > iterations:
        change = grid_of(last, "mean") - mean
        norm = CenteredNorm(halfrange=float(np.nanmax(np.abs(change.to_numpy()))))
        panels.append((change, f"its change until {last} iterations", DIVERGING, norm, None))
    figure, axes = plt.subplots(
        1, len(panels), figsize=(2.55 * len(panels) + 0.2, 3.6), sharey=True, squeeze=False
    )
    for axis, (grid, title, colours, norm, paper) in zip(axes[0], panels, strict=True):
        x, y = grid.columns.to_numpy(), grid.index.to_numpy()
        mesh = axis.pcolormesh(x, y, grid.to_numpy(), cmap=colours, rasterized=True, norm=norm)
        # Of each panel's own quantity.
        style = {"colors": "0.3" if colours == DIVERGING else "white", "linewidths": 0.6}
        style |= {"linestyles": "-", "levels": SPREADS if grid is spread else 5}
        lines = axis.contour(x, y, grid.to_numpy(), **style)
        axis.clabel(lines, fontsize=6.5, fmt="%.2g", zorder=5)  # above the squares
        if paper and len(theirs):
            _published_cells(axis, mesh, theirs, paper)
        axis.set(xscale="log", yscale="log", xlabel="lr$_Z$ (log)")
        axis.set_title(title, fontsize=9)
        for ticks, values in ((axis.xaxis, x), (axis.yaxis, y)):
            marks = [mark for mark in TICKS if values[0] <= mark <= values[-1]]
            ticks.set_ticks(marks, [f"{mark:g}" for mark in marks])
            ticks.set_minor_formatter(NullFormatter())
        figure.colorbar(mesh, ax=axis, label="nats", location="bottom", pad=0.02)
    axes[0, 0].set_ylabel("lr$_Y$ / lr$_Z$ (log)")
    title = f"Attention on distinct tokens, {measures.query_tokens(num_last)}"
    title += f", {runs['seed'].nunique()} seeds"
    squares = "; squares: the paper" if len(theirs) else ""
    figure.suptitle(title + squares, fontsize=9.5)
    return figure


def _published_cells(axis: Axes, mesh: QuadMesh, cells: pd.DataFrame, column: str) -> None:
    """The paper's cells as squares in the colours of the map behind them."""
    x, y = cells["lr_Z"], cells["lr_Y_multiplier"]
    axis.scatter(x, y, s=34, marker="s", color="white", zorder=3)
    axis.scatter(
        x, y, s=22, marker="s", c=cells[column], cmap=mesh.cmap, norm=mesh.norm, zorder=4,
        edgecolors="black", linewidths=0.6,
    )  # fmt: skip


@figure(
    "scan_snap/phase_transition",
    "Synthetic",
    "figure: phase transition",
    reads={"simulated": "transition_simulation"},
)
def phase_transition(simulated: pd.DataFrame) -> Figure:
    """Time of the phase transition against lr_Y, a line for each lr_Z, with the two exponents."""
    times = measures.transition_times_by_run(simulated)
    figure, axis = plt.subplots(figsize=(COLUMN, 3.3))
    rates = sorted(times["lr_Z"].unique())
    for place, (lr_Z, colour) in enumerate(zip(rates, _colours(len(rates)), strict=True)):
        by_rate = times[times["lr_Z"] == lr_Z].groupby("lr_Y")["time"]
        means = pd.DataFrame({lr_Y: of_seeds(seeds, 0) for lr_Y, seeds in by_rate}).T
        bars = [means["value"] - means["low"], means["high"] - means["value"]]
        style = {"color": colour, "marker": MARKERS[place % len(MARKERS)], "label": f"{lr_Z:g}"}
        axis.errorbar(means.index, means["value"], bars, markersize=4, capsize=2, **style)
    lines = []
    for rate, slopes in measures.transition_exponents(times)[["lr_Y", "lr_Z"]].items():
        name = rate.replace("_", "$_") + "$"
        lines.append(f"exponent of {name}: {interval_of(of_seeds(slopes))}")
    axis.set(xscale="log", yscale="log", xlabel="learning rate of the decoder, lr$_Y$ (log)")
    axis.set_ylabel("time of the phase transition\n(iterations, log)")
    axis.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    for ticks in (axis.xaxis, axis.yaxis):
        ticks.set_major_formatter("{x:g}")
        ticks.set_minor_formatter(NullFormatter())
    axis.set_title("\n".join(lines), fontsize=8, loc="left")
    axis.legend(title="lr$_Z$", fontsize=7.5, title_fontsize=8, ncols=2)
    despine(axis)
    return figure


@figure(
    "scan_snap/attention_maps",
    "Real text",
    "figure: attention maps",
    reads={"maps": "train_text_model.maps"},
    settings={"names": "trainings"},
)
def attention_maps(maps: list[dict[str, np.ndarray]], names: list[str]) -> Figure:
    """Attention on one held-out sequence, a row per training, a column per iteration.

    Tokens are numbers along the axes, which stand with their words below the maps: trainings on
    other corpora have other words. Maps are those of `text_training.write_maps`.
    """
    trainings = dict(zip(names, maps, strict=True))
    columns = max(len(one["iterations"]) for one in trainings.values())
    size = 1.16 * MIDDLE, 0.9 + 1.6 * len(trainings)
    shared = {"sharex": True, "sharey": True, "squeeze": False}
    figure, axes = plt.subplots(len(trainings), columns, figsize=size, **shared)
    for row, (name, one) in zip(axes, trainings.items(), strict=True):
        length = len(one["tokens"])
        future = np.triu(np.ones((length, length), dtype=bool), 1)
        for axis, weights, iteration in zip(row, one["maps"], one["iterations"], strict=False):
            image = axis.imshow(
                np.ma.masked_array(weights, future),
                cmap=SEQUENTIAL,
                norm=PowerNorm(0.5, vmin=0, vmax=1),
                interpolation="nearest",
                extent=(0.5, length + 0.5, length + 0.5, 0.5),
            )
            axis.set_title(f"iteration {iteration}", fontsize=8.5)
            ticks = [1, *range(10, length + 1, 10)]
            axis.set(xticks=ticks, yticks=ticks)
            axis.tick_params(length=2, labelsize=7.5)
            despine(axis)
        row[0].set_ylabel(f"{name}\nquery token")
        for axis in row[len(one["maps"]) :]:
            axis.set_axis_off()
    for column in axes.T:
        lowest = [axis for axis in column if axis.axison][-1]
        lowest.set_xlabel("key token")
        lowest.tick_params(labelbottom=True)
    bar = figure.colorbar(image, ax=axes, shrink=0.7, pad=0.01)
    bar.set_label("attention (square-root colours)")
    by_words: dict[str, list[str]] = {}
    for name, one in trainings.items():
        by_words.setdefault(numbered_words(one["tokens"]), []).append(name)
    named = [f"{', '.join(names)}:\n{words}" for words, names in by_words.items()]
    sentences = "\n".join(named if len(named) > 1 else by_words)
    figure.supxlabel(plain(sentences), fontsize=7.5, x=0.02, ha="left")
    return figure


def numbered_words(tokens: Sequence[str], width: int = 105) -> str:
    """Tokens with their places from 1 on, in lines; a space within a pair does not break."""
    pairs = [f"{place}\u00a0{token}" for place, token in enumerate(tokens, start=1)]
    return textwrap.fill("   ".join(pairs), width, break_long_words=False, break_on_hyphens=False)


@figure(
    "scan_snap/attention_over_time",
    "Real text",
    "figure: attention over time",
    reads={"measures": "train_text_model.measures"},
    settings={"names": "trainings", "length": "scan_snap.language_model.length"},
)
def attention_over_time(measures: list[pd.DataFrame], names: list[str], length: int) -> Figure:
    """Entropy, largest weight, sparsity and loss, and attention by token frequency, over training.

    Measures are those of `text_training.tabulate_measures`.
    """
    trainings, uniform = dict(zip(names, measures, strict=True)), uniform_entropy(length)
    rows = -(-len(trainings) // 2)
    figure, axes = plt.subplots(2 + rows, 2, figsize=(WIDTH, 2.2 * (2 + rows)), squeeze=False)
    panels = (
        ("entropy", "entropy of attention (nats)", "entropy"),
        ("top1", "largest weight", "top-1"),
        ("sparse", "share of keys below\na tenth of uniform", "sparsity"),
        ("loss", "held-out loss (nats per token)", "loss"),
    )
    for axis, (quantity, label, title) in zip(axes[:2].flat, panels, strict=True):
        for place, (name, table) in enumerate(trainings.items()):
            look = PALETTE[place], DASHES[place % len(DASHES)]
            _seeds(axis, table[table["quantity"] == quantity], name, *look)
        axis.set(ylabel=label, title=title)
    axes[1, 0].set_ylim(bottom=0)
    axes[0, 0].axhline(uniform, color="0.6", linewidth=0.8)
    _name_line(axes[0, 0], 0.99, uniform, "uniform", ha="right")
    axes[0, 0].legend()
    colours = _colours(len(FREQUENCY_BINS))
    for axis, (name, table) in zip(axes[2:].flat, trainings.items(), strict=False):
        for colour, dashes, ranks in zip(colours, DASHES, FREQUENCY_BINS, strict=True):
            received = table[table["quantity"] == f"received[{ranks}]"]
            if len(received):
                _seeds(axis, received, f"rank {ranks}", colour, dashes)
        axis.axhline(1, color="0.6", linewidth=0.8, zorder=0)
        axis.set(title=f"{name}: by token frequency", ylabel="attention received,\nuniform = 1")
    # Above all lines: nothing lies there.
    axes[2, 0].set_ylim(top=1.3 * axes[2, 0].get_ylim()[1])
    axes[2, 0].legend(fontsize=7, loc="upper left", ncols=2)
    for axis in axes.flat[4 + len(trainings) :]:
        axis.set_axis_off()
    for axis in axes.flat[: 4 + len(trainings)]:
        axis.set_xlabel("iteration")
        despine(axis)
    return figure


def _seeds(axis: Axes, table: pd.DataFrame, label: str, colour: object, dashes: str) -> None:
    """A thin line per seed and their mean."""
    grid = table.pivot_table("value", "iteration", "seed")
    axis.plot(grid.index, grid, color=colour, linewidth=0.5, alpha=0.5)
    axis.plot(grid.index, grid.mean(axis=1), dashes, color=colour, linewidth=1.8, label=label)


def _colours(count: int) -> np.ndarray:
    """Colours from dark to pale, without the palest end, which white paper swallows."""
    return plt.get_cmap(SEQUENTIAL)(np.linspace(0, 0.85, count))
