"""Figures of the synthetic experiments: Fig. 4, Fig. 6, and the map over learning rates."""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.collections import QuadMesh
from matplotlib.colors import CenteredNorm, LogNorm
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import LogLocator, NullFormatter, NullLocator

from onelayer.evidence.claims import of_seeds
from onelayer.evidence.figures import (
    COLUMN,
    DIVERGING,
    MARKERS,
    PALETTE,
    SEQUENTIAL,
    WIDTH,
    despine,
    figure,
)
from onelayer.papers.scan_snap import measures
from onelayer.papers.scan_snap.data import COMMON, DISTINCT, SLOTS
from onelayer.papers.scan_snap.entropy_sweep import INITIAL_ENTROPY, cells, read_published
from onelayer.papers.scan_snap.transition import exponents, times_by_run

ROWS = (0, 2, 4, 6, 8, 10)  # iterations of the paper's heat map; the last one is added
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
    """Attention of one class over training: one seed, all seeds, gains, speed.

    Args:
        simulated: simulation of Fig. 4.
        iterations: iterations of the paper's figure.
    """
    times, c = measures.trajectories(simulated[simulated["diverged_at"] < 0])
    figure, axes = plt.subplots(2, 2, figsize=(0.86 * WIDTH, 5.6), width_ratios=[1.2, 1])
    _heat_map(axes[0, 0], times, c, iterations)
    _tokens_over_time(axes[0, 1], times, c, iterations)
    _gains(axes[1, 0], c[0], c[times == iterations][0], iterations)
    _speed(axes[1, 1], times, c)
    low, high = BAND
    handles = [
        Line2D([], [], color="0.4", marker="o", markersize=4, label=f"mean of {c.shape[1]} seeds"),
        Patch(
            color="0.4", alpha=0.2, label=f"band or bar: {high - low:g}% of the seeds lie within"
        ),
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=2, frameon=False)
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
    common = c[early, :, :COMMON].mean(axis=2)
    # Without the palest end, which white paper swallows.
    colours = plt.get_cmap(SEQUENTIAL)(np.linspace(0.85, 0, DISTINCT))
    for place in reversed(LINES):
        label = f"weight {0.1 * (place + 1):.1f}"
        _line(axis, times[early], c[early, :, COMMON + place], colours[place], label)
    _line(axis, times[early], common, "0.35", "common, 1.0", "--")
    axis.set(title="tokens by their frequency", xlabel="iteration")
    axis.set_ylabel("attention $c_{l|n}$")
    # Above all bands: nothing lies there.
    axis.set_ylim(0, 1.75 * axis.get_ylim()[1])
    axis.legend(
        frameon=False, fontsize=7.5, loc="upper left", ncols=2, handlelength=1.5, columnspacing=1
    )
    despine(axis)


def _gains(axis: Axes, start: np.ndarray, end: np.ndarray, iterations: int) -> None:
    gain = end / start
    mean = gain.mean(axis=0)
    low, high = np.percentile(gain, BAND, axis=0)
    slots = np.arange(SLOTS)
    for own, colour, label in (
        (slots < COMMON, "0.35", "common"),
        (slots >= COMMON, PALETTE[0], "distinct"),
    ):
        bars = (mean[own] - low[own], high[own] - mean[own])
        axis.errorbar(
            slots[own], mean[own], bars, fmt="o", color=colour, capsize=2, markersize=4, label=label
        )
    axis.axhline(1, color="0.6", linewidth=0.8, zorder=0)
    axis.set(
        title="gain of each token",
        xlabel="common | distinct, rare to frequent",
        xticks=slots[::5],
        ylim=(0, None),
    )
    axis.set_ylabel(f"$c_{{l|n}}$({iterations}) / $c_{{l|n}}$(0)")
    axis.legend(frameon=False, loc="upper left")
    despine(axis)


def _speed(axis: Axes, times: np.ndarray, c: np.ndarray) -> None:
    steps = np.diff(times)
    speed = np.abs(np.diff(c[:, :, -1], axis=0)) / steps[:, None]
    # From a zero start the first update moves Y alone: attention stands still, off the log scale.
    moving = speed.mean(axis=1) > 0
    _line(axis, times[1:][moving], speed[moving], PALETTE[1], "")
    axis.set(yscale="log", xscale="log", xlabel="iteration (log)")
    axis.set_ylabel("change of top token's\n$c_{l|n}$ per iteration")
    axis.set_title("snapping: coming to rest")
    axis.xaxis.set_major_formatter("{x:g}")
    despine(axis)


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
    """Entropy against lr_Y/lr_Z, a panel per number of query tokens, a line per lr_Z.

    Args:
        simulated: simulation of Fig. 6.
        published: as `entropy_sweep.read_published` takes it.
        iterations: iterations of the paper's figure.
    """
    found, paper = cells(simulated, iterations), read_published(published)
    sizes = found["num_last"].unique()
    columns = min(2, len(sizes))
    rows = -(-len(sizes) // columns)
    figure, axes = plt.subplots(
        rows, columns, figsize=(WIDTH, 0.6 + 2.4 * rows), sharex=True, sharey=True, squeeze=False
    )
    for axis, num_last in zip(axes.flat, sizes, strict=False):
        ours = found[found["num_last"] == num_last]
        theirs = paper[paper["num_last"] == num_last]
        _entropy_panel(axis, ours, theirs)
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
    figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False)
    axes[0, 0].text(
        *(0.01, INITIAL_ENTROPY, "attention by P(l | n) alone"),
        transform=axes[0, 0].get_yaxis_transform(),
        va="bottom",
        fontsize=7,
        color="0.4",
    )
    return figure


def _entropy_panel(axis: Axes, ours: pd.DataFrame, theirs: pd.DataFrame) -> None:
    rates = sorted(ours["lr_Z"].unique())
    for place, lr_Z in enumerate(rates):
        own = ours[ours["lr_Z"] == lr_Z]
        paper = theirs[theirs["lr_Z"] == lr_Z]
        colour, marker = PALETTE[place % len(PALETTE)], MARKERS[place % len(MARKERS)]
        shift = 1 + 0.025 * (place - (len(rates) - 1) / 2)
        style = {"color": colour, "capsize": 2, "markersize": 4, "marker": marker}
        axis.errorbar(
            own["lr_Y_multiplier"] * shift * 0.97,
            own["value"],
            own["std"],
            label=f"lr$_Z$ = {lr_Z:g}",
            **style,
        )
        axis.errorbar(
            paper["lr_Y_multiplier"] * shift * 1.03,
            paper["published"],
            paper["published_std"],
            linestyle=":",
            markerfacecolor="white",
            **style,
        )
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

    Args:
        simulated: simulation on a grid of learning rates.
        published: as `entropy_sweep.read_published` takes it.
        iterations: iterations of the paper's figures.
    """
    runs = measures.entropy_by_run(simulated)
    runs = runs[runs["diverged_at"] < 0]
    last = runs["iteration"].max()
    at = {t: runs[runs["iteration"] == t] for t in (iterations, last)}
    mean, spread = (_grid(at[iterations], how) for how in ("mean", "std"))
    num_last, theirs = simulated["num_last"].iloc[0], read_published(published)
    theirs = theirs[theirs["num_last"] == num_last]
    panels = [
        (mean, f"mean entropy, {iterations} iterations", SEQUENTIAL, None, "published"),
        (spread, "its std over seeds (log)", "magma", LogNorm(), "published_std"),
    ]
    if last > iterations:
        change = _grid(at[last], "mean") - mean
        bound = float(np.nanmax(np.abs(change.to_numpy())))
        norm = CenteredNorm(halfrange=bound)
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
        axis.clabel(axis.contour(x, y, grid.to_numpy(), **style), fontsize=6.5, fmt="%.2g")
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
    queries = measures.query_tokens(num_last)
    seeds = runs["seed"].nunique()
    title = f"Attention on distinct tokens, {queries}, {seeds} seeds"
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
    """Time of the phase transition against lr_Y, a line for each lr_Z, with the two exponents.

    Args:
        simulated: simulation over both learning rates.
    """
    times = times_by_run(simulated)
    figure, axis = plt.subplots(figsize=(COLUMN, 3.3))
    rates = sorted(times["lr_Z"].unique())
    # Without the palest end, which white paper swallows.
    colours = plt.get_cmap(SEQUENTIAL)(np.linspace(0, 0.85, len(rates)))
    for place, (lr_Z, colour) in enumerate(zip(rates, colours, strict=True)):
        own = times[times["lr_Z"] == lr_Z].groupby("lr_Y")["time"]
        found = pd.DataFrame([of_seeds(seeds, 0) for _, seeds in own], index=list(own.groups))
        bars = [found["value"] - found["low"], found["high"] - found["value"]]
        axis.errorbar(
            found.index, found["value"], bars, color=colour, marker=MARKERS[place % len(MARKERS)],
            markersize=4, capsize=2, label=f"{lr_Z:g}",
        )  # fmt: skip
    lines = []
    for rate, slopes in exponents(times)[["lr_Y", "lr_Z"]].items():
        slope = of_seeds(slopes)
        name = rate.replace("_", "$_") + "$"
        ends = f"[{slope['low']:.2f}, {slope['high']:.2f}]"
        lines.append(f"exponent of {name}: {slope['value']:.2f} {ends}")
    axis.set(xscale="log", yscale="log", xlabel="learning rate of the decoder, lr$_Y$ (log)")
    axis.set_ylabel("time of the phase transition\n(iterations, log)")
    axis.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    for ticks in (axis.xaxis, axis.yaxis):
        ticks.set_major_formatter("{x:g}")
        ticks.set_minor_formatter(NullFormatter())
    axis.set_title("\n".join(lines), fontsize=8, loc="left")
    axis.legend(title="lr$_Z$", frameon=False, fontsize=7.5, title_fontsize=8, ncols=2)
    despine(axis)
    return figure


def _grid(runs: pd.DataFrame, how: str) -> pd.DataFrame:
    """Mean or std over seeds, rows lr_Y/lr_Z, columns lr_Z."""
    return runs.pivot_table("entropy", "lr_Y_multiplier", "lr_Z", aggfunc=how)
