"""Figs. 1, 2 and 5: the gradient flow and its basins, its paths on the loss, and with attention."""

import functools
import math

import numpy as np
from matplotlib.colors import LinearSegmentedColormap, ListedColormap, LogNorm
from matplotlib.patches import Patch

from onelayer.evidence.figures import PALETTE, WIDTH, despine, plt
from onelayer.local_to_global import canonical
from onelayer.local_to_global.basins import GLOBAL, LOCAL, SADDLE, UNFINISHED, arrival
from onelayer.local_to_global.canonical import E_SADDLE, W_SADDLE
from onelayer.local_to_global.simulation import EXTENT, NEAR, WIDE, grid, shown_chains
from onelayer.settings.local_to_global import Chain, FlowSettings

BLUE, RED, GREEN, YELLOW = PALETTE[0], PALETTE[1], PALETTE[2], PALETTE[4]
# Colour and shape say the same.
ENDS = {GLOBAL: (BLUE, "o"), LOCAL: (RED, "s"), SADDLE: (YELLOW, "*"), UNFINISHED: ("0.5", "x")}
BOUNDS = (-EXTENT, EXTENT)
PLANE = grid(EXTENT, 400).reshape(2, 400, 400)  # e and w of a map's pixels
line = functools.partial(plt.Line2D, [], [])  # an entry of a legend
PATH_HANDLES = [
    line(label="reaches a global minimum", color=BLUE, marker="o", ms=4),
    line(label="reaches a local minimum (e = 0)", color=RED, marker="s", ms=4),
    line(label="start", color="0.2", marker=".", ms=5, ls=""),
]


def side(chain: Chain) -> str:
    """On which side of p + q = 1 a chain lies."""
    return f"p + q {'<' if chain.below else '>'} 1"


def draw_paths(axis: plt.Axes, x: np.ndarray, y: np.ndarray, reached: np.ndarray) -> None:
    """Paths [F, n] with their starts, and the sets of critical points that they reach, [n]."""
    for end, (colour, shape) in ENDS.items():
        xs, ys = x[:, reached == end], y[:, reached == end]
        axis.plot(xs, ys, color=colour, lw=0.8, alpha=0.8)
        axis.plot(xs[-1], ys[-1], shape, color=colour, ms=4, mec="white", mew=0.4, zorder=4)
    axis.plot(x[0], y[0], ".", color="0.2", ms=3)


def draw_flow(axis: plt.Axes, chain: Chain) -> None:
    """Contours of the energy with the flow's direction."""
    levels, grey = E_SADDLE + np.arange(-6, 7), {"colors": "0.75", "linewidths": 0.6}
    axis.contour(*PLANE, canonical.energy(*PLANE), levels, linestyles="-", **grey)
    points = grid(0.96 * EXTENT, 25)
    rate = canonical.flow(points, chain)
    # Directions alone: the speed spans many orders of magnitude.
    rate = rate / np.maximum(np.linalg.norm(rate, axis=0), 1e-300)
    axis.quiver(*points, *rate, color="0.35", scale=34, width=0.0028, headwidth=4, pivot="mid")


def draw_basins(axis: plt.Axes, ends: np.ndarray, chain: Chain) -> None:
    """Where flows from a `grid` ended, [2, N], and theorem 2's boundary: it leads to the saddle."""
    n = math.isqrt(ends.shape[1])
    reached = (arrival(ends, chain) == GLOBAL).reshape(n, n)
    colours, plane = ListedColormap([RED, BLUE]), grid(EXTENT, n).reshape(2, n, n)
    axis.pcolormesh(*plane, reached, cmap=colours, alpha=0.25, rasterized=True, linewidth=0)
    w = np.linspace(*((-EXTENT, W_SADDLE) if chain.below else (W_SADDLE, -1e-4)), 2000)
    e = np.sqrt(np.maximum(E_SADDLE + w * w - np.log(-w), 0))
    draw_both_signs(axis, e, w, color=YELLOW, lw=2, label="flow reaches the saddle (Theorem 2)")
    if not chain.below:
        axis.axhline(0, color="0.5", lw=0.8)


def draw_both_signs(axis: plt.Axes, e: np.ndarray, w: np.ndarray, **style) -> None:
    """A curve and its mirror image, where |e| is within the picture."""
    e = np.where(e <= EXTENT, e, np.nan)
    axis.plot(np.r_[-e, np.nan, e], np.r_[w, np.nan, w], **style)


def draw_critical_points(axis: plt.Axes, chain: Chain) -> None:
    """Global minima, the minima and maxima on e = 0, the saddle."""
    w = np.linspace(*BOUNDS, 4001)
    with np.errstate(divide="ignore", invalid="ignore"):
        e = np.sqrt(chain.s_star / (1 + 2 * w * abs(w)))
    style = {"color": BLUE, "lw": 1.8, "ls": "--", "zorder": 3}
    draw_both_signs(axis, e, w, label=r"global minima, $L = H_{bigram}$", **style)
    halves = [-EXTENT, W_SADDLE], [W_SADDLE, EXTENT]
    minima, maxima = halves if chain.below else halves[::-1]
    axis.plot([0, 0], minima, color=RED, lw=2.5, zorder=3, label=r"local minima, $L = H(\pi)$")
    axis.plot([0, 0], maxima, color=GREEN, lw=2.5, ls=":", zorder=3, label="local maxima")
    axis.plot(0, W_SADDLE, "k*", ms=10, zorder=4, mec="white", mew=0.5, label="saddle")
    axis.set(xlim=BOUNDS, ylim=BOUNDS, aspect="equal", xlabel="embedding e", ylabel="weight w")


def gradient_flow(settings: FlowSettings, maps: np.ndarray) -> plt.Figure:
    """Fig. 1: the flow (left) and its basins from `basin_maps` [C, 2, N] (right), a row a chain."""
    figure, axes = plt.subplots(2, 2, figsize=(WIDTH, 7.6))
    for row, chain in zip(axes, shown_chains(settings).values(), strict=True):
        draw_flow(row[0], chain)
        draw_basins(row[1], maps[settings.chains.index(chain)], chain)
        for axis, what in zip(row, ("flow, contours of E", "basins, simulated"), strict=True):
            draw_critical_points(axis, chain)
            axis.set_title(f"{what}\n{side(chain)}: {chain}")
    handles = [
        Patch(color=BLUE, alpha=0.25, label=r"$\mathcal{I}_\star$: flow reaches a global minimum"),
        Patch(color=RED, alpha=0.25, label=r"$\mathcal{I}_{\min}$: flow reaches a local minimum"),
        *axes[1, 1].get_legend_handles_labels()[0],
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=3)
    figure.suptitle("The gradient flow, contours of its energy E, and the basins of its minima")
    return figure


def landscape(settings: FlowSettings, paths: dict[str, np.ndarray]) -> plt.Figure:
    """The loss over (e, w), and trajectories of the flow on it."""
    figure, axes = plt.subplots(1, 2, figsize=(WIDTH, 0.58 * WIDTH), sharey=True)
    # White and light greys: dark ones would hide the trajectories.
    colours = LinearSegmentedColormap.from_list("greys", ["white", "0.45"])
    frame = {"extent": BOUNDS + BOUNDS, "origin": "lower", "aspect": "equal"}
    for axis, (name, chain) in zip(axes, shown_chains(settings).items(), strict=True):
        above = canonical.loss(canonical.logit_gap(*PLANE), chain) - chain.bigram_entropy
        scale = LogNorm(1e-3, 10)  # shows both plateau and valley
        ground = axis.imshow(np.maximum(above, 1e-3), cmap=colours, norm=scale, **frame)
        path = paths[f"plane_{name}"]
        reached = arrival(path[-1], chain)
        draw_paths(axis, *path.transpose(1, 0, 2), reached)
        title = f"{side(chain)}: {chain}"
        axis.set(xlabel="embedding e", title=title, xlim=BOUNDS, ylim=BOUNDS)
    ends = reached[path[0, 1] > 0]  # of the last chain, above p + q = 1
    found = f"{(ends == LOCAL).sum()} of {len(ends)} starts with w > 0"
    axes[0].set_ylabel("weight w")
    label = "loss above the bigram entropy (nats)"
    figure.colorbar(ground, ax=axes, shrink=0.85, extend="both", label=label)
    figure.legend(handles=PATH_HANDLES, loc="outside lower center", ncols=3)
    figure.suptitle(f"Where p + q > 1, {found} end at a local minimum (e = 0)")
    return figure


def attention_flow(settings: FlowSettings, paths: dict[str, np.ndarray]) -> plt.Figure:
    """Figs. 2 and 5: trajectories of (e, w, a), w and a over e, wide and near the origin."""
    figure, axes = plt.subplots(2, 4, figsize=(WIDTH, 4.6), sharex="col")
    views = (("wide", "Fig. 2", 2 * WIDE, 2 * WIDE), ("near", "Fig. 5", 3 * NEAR, 1.1 * NEAR))
    shown = [(*view, *chain) for view in views for chain in shown_chains(settings).items()]
    counts = []
    for column, (view, place, width, height, name, chain) in zip(axes.T, shown, strict=True):
        path = paths[f"{view}_{name}"]
        reached = arrival(path[-1], chain)
        for axis, y in zip(column, (1, 2), strict=True):
            draw_paths(axis, path[:, 0], path[:, y], reached)
            axis.axvline(0, color="0.6", lw=0.8, zorder=0)
            axis.set(xlim=(-width, width), ylim=(-height, height))
            despine(axis)
        column[0].axhline(W_SADDLE, color="0.6", lw=0.8, ls=":", zorder=0)
        column[0].set_title(f"{place}: {side(chain)}\n{chain}", fontsize=8.5)
        column[1].set_xlabel("embedding e")
        counts.append(f"{(reached == GLOBAL).sum()} of {len(reached)} for {side(chain)}")
    axes[0, 0].set_ylabel("weight w")
    axes[1, 0].set_ylabel("attention a")
    saddle = line(label=r"saddle's weight, $w = -1/\sqrt{2}$", color="0.6", lw=0.8, ls=":")
    figure.legend(handles=[*PATH_HANDLES, saddle], loc="outside lower center", ncols=2)
    title = "Flows in (e, w, a) from near the origin that end at a global minimum"
    figure.suptitle(f"{title}:\n{', '.join(counts[2:])}")
    return figure
