"""Figs. 1, 2 and 5: the gradient flow and its basins, its paths on the loss, and with attention."""

import math

import numpy as np
from matplotlib.colors import LinearSegmentedColormap, ListedColormap, LogNorm
from matplotlib.patches import Patch

from onelayer.evidence.figures import PALETTE, WIDTH, despine, plt
from onelayer.local_to_global import basins, canonical
from onelayer.local_to_global.basins import arrival
from onelayer.local_to_global.canonical import E_SADDLE, W_SADDLE
from onelayer.local_to_global.simulation import EXTENT, NEAR, WIDE, grid, shown_chains
from onelayer.settings.local_to_global import Chain, FlowSettings

BLUE, RED, GREEN, YELLOW = PALETTE[0], PALETTE[1], PALETTE[2], PALETTE[4]
ENDS = {basins.GLOBAL: (BLUE, "o"), basins.LOCAL: (RED, "s")}  # colour and shape say the same
PLANE = grid(EXTENT, 400).reshape(2, 400, 400)  # e and w of a map's pixels


def line(label: str, **style) -> plt.Line2D:
    """An entry of a legend."""
    return plt.Line2D([], [], label=label, **style)


PATH_HANDLES = [
    line("reaches a global minimum", color=BLUE, marker="o", ms=4),
    line("reaches a local minimum (e = 0)", color=RED, marker="s", ms=4),
    line("start", color="0.2", marker=".", ms=5, ls=""),
]


def side(chain: Chain) -> str:
    """On which side of p + q = 1 a chain lies."""
    return f"p + q {'<' if chain.below else '>'} 1"


def draw_path(axis: plt.Axes, path: np.ndarray, end: int, shown: int | None = None) -> None:
    """A path [2, F], or so much of its beginning, and at which critical points it ends."""
    colour, shape = ENDS.get(end, ("0.5", "x"))
    axis.plot(*path[:, :shown], color=colour, lw=0.8, alpha=0.8)
    axis.plot(*path[:, 0], ".", color="0.2", ms=3)
    if shown is None:
        axis.plot(*path[:, -1], shape, color=colour, ms=4, mec="white", mew=0.4, zorder=4)


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
    reached = (arrival(ends, chain) == basins.GLOBAL).reshape(n, n)
    colours, plane = ListedColormap([RED, BLUE]), grid(EXTENT, n).reshape(2, n, n)
    axis.pcolormesh(*plane, reached, cmap=colours, alpha=0.25, rasterized=True, linewidth=0)
    w = np.linspace(*((-EXTENT, W_SADDLE) if chain.below else (W_SADDLE, -1e-4)), 2000)
    e = np.sqrt(np.maximum(E_SADDLE + w * w - np.log(-w), 0))
    for sign in (-1, 1):
        axis.plot(sign * e[e <= EXTENT], w[e <= EXTENT], color=YELLOW, lw=2)
    if not chain.below:
        axis.axhline(0, color="0.5", lw=0.8)


def draw_critical_points(axis: plt.Axes, chain: Chain) -> None:
    """Global minima, the minima and maxima on e = 0, the saddle."""
    w = np.linspace(-EXTENT, EXTENT, 4001)
    with np.errstate(divide="ignore"):
        square = chain.s_star / (1 + 2 * w * abs(w))
    # The curve ends where |e| leaves the picture.
    e = np.sqrt(np.where((square > 0) & (square <= EXTENT**2), square, np.nan))
    for sign in (-1, 1):
        axis.plot(sign * e, w, color=BLUE, lw=1.8, ls="--", zorder=3)
    halves = [-EXTENT, W_SADDLE], [W_SADDLE, EXTENT]
    minima, maxima = halves if chain.below else halves[::-1]
    axis.plot([0, 0], minima, color=RED, lw=2.5, zorder=3)
    axis.plot([0, 0], maxima, color=GREEN, lw=2.5, ls=":", zorder=3)
    axis.plot(0, W_SADDLE, "k*", ms=10, zorder=4, markeredgecolor="white", markeredgewidth=0.5)
    axis.set(xlim=(-EXTENT, EXTENT), ylim=(-EXTENT, EXTENT), aspect="equal")
    axis.set(xlabel="embedding e", ylabel="weight w")


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
        line("flow reaches the saddle (Theorem 2)", color=YELLOW, lw=2),
        line(r"global minima, $L = H_{bigram}$", color=BLUE, lw=1.8, ls="--"),
        line(r"local minima, $L = H(\pi)$", color=RED, lw=2.5),
        line("local maxima", color=GREEN, lw=2.5, ls=":"),
        line("saddle", color="k", marker="*", ms=9, ls=""),
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=3)
    figure.suptitle("The gradient flow, contours of its energy E, and the basins of its minima")
    return figure


def landscape(settings: FlowSettings, paths: dict[str, np.ndarray]) -> plt.Figure:
    """The loss over (e, w), and trajectories of the flow on it."""
    figure, axes = plt.subplots(1, 2, figsize=(WIDTH, 0.58 * WIDTH), sharey=True)
    # White and light greys: dark ones would hide the trajectories.
    colours = LinearSegmentedColormap.from_list("greys", ["white", "0.45"])
    frame = {"extent": (-EXTENT, EXTENT, -EXTENT, EXTENT), "origin": "lower", "aspect": "equal"}
    for axis, (name, chain) in zip(axes, shown_chains(settings).items(), strict=True):
        s = canonical.logit_gap(*PLANE)
        # Logarithmic, to show both plateau and valley.
        above = np.maximum(canonical.loss(s, chain) - chain.bigram_entropy, 1e-3)
        ground = axis.imshow(above, cmap=colours, norm=LogNorm(1e-3, 10), **frame)
        path = paths[f"plane_{name}"]
        reached = arrival(path[-1], chain)
        for one, end in zip(path.transpose(2, 1, 0), reached, strict=True):
            draw_path(axis, one, end)
        axis.set(xlabel="embedding e", title=f"{side(chain)}: {chain}")
        axis.set(xlim=(-EXTENT, EXTENT), ylim=(-EXTENT, EXTENT))
    ends = reached[path[0, 1] > 0]  # of the last chain, above p + q = 1
    found = f"{(ends == basins.LOCAL).sum()} of {len(ends)} starts with w > 0"
    axes[0].set_ylabel("weight w")
    bar = figure.colorbar(ground, ax=axes, shrink=0.85, extend="both")
    bar.set_label("loss above the bigram entropy (nats)")
    figure.legend(handles=PATH_HANDLES, loc="outside lower center", ncols=3)
    figure.suptitle(f"Where p + q > 1, {found} end at a local minimum (e = 0)")
    return figure


def attention_flow(settings: FlowSettings, paths: dict[str, np.ndarray]) -> plt.Figure:
    """Figs. 2 and 5: trajectories of (e, w, a), w and a over e, wide and near the origin."""
    figure, axes = plt.subplots(2, 4, figsize=(WIDTH, 4.6), sharex="col")
    counts = []  # of flows from near the origin
    # Near the origin only the beginning fits into the picture.
    views = (("wide", "Fig. 2", 2 * WIDE), ("near", "Fig. 5", 3 * NEAR))
    for columns, (view, place, bound) in zip((axes[:, :2], axes[:, 2:]), views, strict=True):
        for column, (name, chain) in zip(columns.T, shown_chains(settings).items(), strict=True):
            path = paths[f"{view}_{name}"]
            reached = arrival(path[-1], chain)
            for one, end in zip(path.transpose(2, 1, 0), reached, strict=True):
                within = (abs(one) <= bound).all(axis=0)  # where it leaves, the beginning
                shown = None if within.all() else int(within.argmin())
                for axis, height in zip(column, (1, 2), strict=True):
                    draw_path(axis, one[[0, height]], end, shown)
            for axis in column:
                axis.axvline(0, color="0.6", lw=0.8, zorder=0)
                despine(axis)
            column[1].set_xlabel("embedding e")
            column[0].set_title(f"{place}: {side(chain)}\n{chain}", fontsize=8.5)
            if view == "near":
                found = f"{(reached == basins.GLOBAL).sum()} of {len(reached)}"
                counts.append(f"{found} for {side(chain)}")
            else:
                column[0].axhline(W_SADDLE, color="0.6", lw=0.8, ls=":", zorder=0)
        for row in columns:
            row[0].sharey(row[1])
    axes[0, 0].set_ylabel("weight w")
    axes[1, 0].set_ylabel("attention a")
    saddle = line(r"saddle's weight, $w = -1/\sqrt{2}$", color="0.6", lw=0.8, ls=":")
    figure.legend(handles=[*PATH_HANDLES, saddle], loc="outside lower center", ncols=2)
    title = "Flows in (e, w, a) from near the origin that end at a global minimum"
    figure.suptitle(f"{title}:\n{', '.join(counts)}")
    return figure
