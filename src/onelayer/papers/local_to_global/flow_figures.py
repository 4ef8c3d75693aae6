"""Figures of the gradient flow: figures 1, 2 and 5 of Makkuva et al. (2024), and two of our own."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.animation import FuncAnimation
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, ListedColormap, LogNorm
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from onelayer.evidence.figures import COLUMN, MARKERS, MIDDLE, PALETTE, WIDTH, despine, figure
from onelayer.evidence.intervals import share
from onelayer.papers.local_to_global import basins, canonical
from onelayer.papers.local_to_global.canonical import E_SADDLE, W_SADDLE
from onelayer.papers.local_to_global.chain import Chain
from onelayer.papers.local_to_global.theory import grid, outcome, shown_chains
from onelayer.settings.local_to_global import ChainSettings

BLUE, RED, GREEN, YELLOW = PALETTE[0], PALETTE[1], PALETTE[2], PALETTE[4]
OUTCOMES = {basins.GLOBAL: BLUE, basins.LOCAL: RED}
ENDS = {basins.GLOBAL: "o", basins.LOCAL: "s"}
PIXELS = 400  # of a map's side
ARROWS = 25  # per axis
USUAL = 0.02  # standard deviation of the usual start
HELD = 10  # times that the last frame of the animation is shown again
LOSSES = (1e-3, 10.0)  # nats above the best: the range of the landscape's colours


@figure(
    "local_to_global/gradient_flow",
    "Gradient flow",
    "figure 1: gradient flow and basins",
    settings={"chains": "local_to_global.flow.chains", "extent": "local_to_global.flow.extent"},
)
def gradient_flow(chains: list[ChainSettings], extent: float) -> Figure:
    """Figure 1: flow and energy contours (left), basins (right), a row per chain."""
    shown = shown_chains(chains)
    figure, axes = plt.subplots(len(shown), 2, figsize=(WIDTH, 3.2 * len(shown) + 0.7))
    for (flow, basin), chain in zip(axes, shown, strict=True):
        _draw_flow(flow, chain, extent)
        _draw_basins(basin, chain, extent)
        for axis, title in ((flow, "flow along energy contours"), (basin, "basins")):
            _draw_critical_points(axis, chain, extent)
            axis.set_title(f"{title}\n{_name(chain)}")
    handles = [
        Patch(color=BLUE, alpha=0.25, label=r"$\mathcal{I}_\star$: flow reaches a global minimum"),
        Patch(color=RED, alpha=0.25, label=r"$\mathcal{I}_{\min}$: flow reaches a local minimum"),
        Line2D([], [], color=YELLOW, lw=2, label="flow reaches the saddle"),
        Line2D([], [], color=BLUE, lw=1.5, ls="--", label=r"global minima, $L = H_{bigram}$"),
        Line2D([], [], color=RED, lw=2.5, label=r"local minima, $L = H(\pi)$"),
        Line2D([], [], color=GREEN, lw=2.5, ls=":", label="local maxima"),
        Line2D([], [], color="k", marker="*", ms=9, ls="", label="saddle"),
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=3)
    return figure


def _name(chain: Chain) -> str:
    sign = "<" if chain.p + chain.q < 1 else ">"
    return f"p = {chain.p:.15g}, q = {chain.q:.15g} (p + q {sign} 1)"


def _fields(extent: float, points: int) -> np.ndarray:
    return grid(extent, points).reshape(2, points, points)  # e, w


def _draw_flow(axis: Axes, chain: Chain, extent: float) -> None:
    e, w = _fields(extent, PIXELS)
    levels, grey = E_SADDLE + np.arange(-6, 7), {"colors": "0.75", "linewidths": 0.6}
    axis.contour(e, w, canonical.energy(e, w), levels, linestyles="-", **grey)
    points = _fields(0.96 * extent, ARROWS)
    field = canonical.flow(points, chain)
    # Directions alone: the speed spans many orders of magnitude.
    field = field / np.maximum(np.linalg.norm(field, axis=0), 1e-300)
    axis.quiver(*points, *field, color="0.35", scale=34, width=0.0028, headwidth=4, pivot="mid")


def _draw_basins(axis: Axes, chain: Chain, extent: float) -> None:
    e, w = _fields(extent, PIXELS)
    others = np.where(basins.basin(e, w, chain) == basins.GLOBAL, 0, 1)
    colours = {"cmap": ListedColormap([BLUE, RED]), "vmin": 0, "vmax": 1, "alpha": 0.25}
    axis.pcolormesh(e, w, others, rasterized=True, linewidth=0, **colours)
    low, high = (-extent, W_SADDLE) if chain.p + chain.q < 1 else (W_SADDLE, -1e-4)
    w = np.linspace(low, high, 2000)
    e = np.sqrt(np.maximum(E_SADDLE + w * w - np.log(-w), 0))
    for sign in (-1, 1):
        axis.plot(sign * e[e <= extent], w[e <= extent], color=YELLOW, lw=2)
    if chain.p + chain.q > 1:
        axis.axhline(0, color="0.5", lw=0.8)


def _draw_critical_points(axis: Axes, chain: Chain, extent: float) -> None:
    w = np.linspace(-extent, extent, 4001)
    g = 1 + 2 * w * abs(w)
    with np.errstate(divide="ignore"):
        square = chain.s_star / g
    for sign in (-1, 1):
        # The curve ends where |e| leaves the picture.
        e = sign * np.sqrt(np.where((square > 0) & (square <= extent**2), square, np.nan))
        axis.plot(e, w, color=BLUE, lw=1.5, ls="--", zorder=3)
    minima, maxima = [-extent, W_SADDLE], [W_SADDLE, extent]
    if chain.p + chain.q > 1:
        minima, maxima = maxima, minima
    axis.plot([0, 0], minima, color=RED, lw=2.5, zorder=3)
    axis.plot([0, 0], maxima, color=GREEN, lw=2.5, ls=":", zorder=3)
    axis.plot(0, W_SADDLE, "k*", ms=10, zorder=4, markeredgecolor="white", markeredgewidth=0.5)
    axis.set(
        xlim=(-extent, extent), ylim=(-extent, extent), xlabel="embedding e", ylabel="weight w"
    )
    axis.set_aspect("equal")


@figure(
    "local_to_global/attention_flow",
    "Gradient flow",
    "figure 2: flow with attention",
    reads={"paths": "simulate_flow.paths"},
    settings={"chains": "local_to_global.flow.chains", "extent": "local_to_global.flow.wide"},
)
def attention_flow(
    paths: dict[str, np.ndarray], chains: list[ChainSettings], extent: float
) -> Figure:
    """Figure 2: trajectories of (e, w, a), seen along a and along w, a column per chain."""
    return _with_attention(paths, shown_chains(chains), "wide", extent)


@figure(
    "local_to_global/attention_flow_origin",
    "Gradient flow",
    "figure 5: the same near the origin",
    reads={"paths": "simulate_flow.paths"},
    settings={"chains": "local_to_global.flow.chains", "extent": "local_to_global.flow.near"},
)
def attention_flow_origin(
    paths: dict[str, np.ndarray], chains: list[ChainSettings], extent: float
) -> Figure:
    """Figure 5: the trajectories of (e, w, a) near the origin."""
    return _with_attention(paths, shown_chains(chains), "near", extent)


def _with_attention(
    paths: Mapping[str, np.ndarray], chains: Sequence[Chain], view: str, extent: float
) -> Figure:
    """Figures 2 and 5, which show the view `wide` or `near` of the paths."""
    figure, axes = plt.subplots(2, 2, figsize=(MIDDLE, 5.2), sharex=True, sharey="row")
    # Near the origin only the beginning fits into the picture.
    bound = (2.0 if view == "wide" else 3.0) * extent
    for column, side, chain in zip(axes.T, ("below", "above"), chains, strict=True):
        path = paths[f"{view}_{side}"]
        reached = outcome(path[-1], chain)
        for axis, height in zip(column, (1, 2), strict=True):
            for one, end in zip(path.transpose(2, 1, 0), reached, strict=True):
                inside, colour = first_inside(one, bound), OUTCOMES.get(end, "0.5")
                _draw_path(axis, one[[0, height], :inside], colour)
                if inside == one.shape[1]:  # the shape says what the colour says
                    shape, rest = ENDS.get(end, "x"), one[[0, height], -1]
                    axis.plot(*rest, shape, color=colour, ms=3.5, zorder=3)
            axis.axvline(0, color="0.6", lw=0.8, zorder=0)
        if view == "wide":
            column[0].axhline(W_SADDLE, color="0.6", lw=0.8, ls=":", zorder=0)
        column[0].set_title(_name(chain), fontsize=9)
        column[1].set_xlabel("embedding e")
        despine(*column)
    axes[0, 0].set_ylabel("weight w")
    axes[1, 0].set_ylabel("attention a")
    handles = _outcome_handles()
    handles.append(Line2D([], [], color="0.2", marker="o", ms=2.5, ls="", label="start"))
    if view == "wide":
        saddle = r"saddle's weight, $-1/\sqrt{2}$"
        handles.append(Line2D([], [], color="0.6", lw=0.8, ls=":", label=saddle))
    figure.legend(handles=handles, loc="outside lower center", ncols=2)
    return figure


def first_inside(path: np.ndarray, bound: float) -> int:
    """How many of the first positions of a path [d, F] lie within +-bound in every coordinate."""
    inside = (abs(path) <= bound).all(axis=0)
    return len(inside) if inside.all() else int(np.argmin(inside))


def _draw_path(axis: Axes, points: np.ndarray, colour: str) -> None:
    """A trajectory [2, F] from its start, with an arrow halfway along it."""
    axis.plot(*points, color=colour, lw=0.7, alpha=0.8)
    axis.plot(*points[:, :1], "o", color="0.2", ms=2)
    run = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(points, axis=1)))])
    if run[-1] > 0:
        half = np.stack([np.interp([0.5 * run[-1], 0.52 * run[-1]], run, one) for one in points])
        axis.annotate(
            "", half[:, 1], half[:, 0],
            arrowprops={"arrowstyle": "-|>", "color": colour, "lw": 0, "mutation_scale": 7},
        )  # fmt: skip


def _outcome_handles() -> list[Line2D]:
    return [
        Line2D([], [], color=BLUE, marker="o", ms=4, label="reaches a global minimum"),
        Line2D([], [], color=RED, marker="s", ms=4, label="reaches a local minimum (e = 0)"),
    ]


@figure(
    "local_to_global/initial_scale",
    "Gradient flow",
    "figure: scale of the start",
    reads={"gaussian": "simulate_flow.gaussian"},
    settings={"sigmas": "local_to_global.flow.sigmas"},
)
def initial_scale(gaussian: pd.DataFrame, sigmas: list[float]) -> Figure:
    """P(global minimum) against the scale of a Gaussian start: theory line and simulation.

    Chains on one side of p + q = 1 start from the same draws and often reach the same: the first is
    drawn large and open, the next small and within it.
    """
    figure, axis = plt.subplots(figsize=(COLUMN, 3.9))
    fine = np.geomspace(min(sigmas), max(sigmas), 120)
    sizes = dict.fromkeys((True, False), 0)
    for place, ((p, q), part) in enumerate(gaussian.groupby(["p", "q"], sort=False)):
        chain, below = Chain(p, q), p + q < 1
        line = [basins.probability_global(sigma, chain) for sigma in fine]
        axis.plot(fine, line, color="0.35", lw=1.2, ls="-" if below else "--", zorder=1)
        reached = pd.DataFrame(map(share, part["to_global"], part["draws"]))
        error = [reached["value"] - reached["low"], reached["high"] - reached["value"]]
        first = sizes[below] == 0
        axis.errorbar(
            part["sigma"], reached["value"], yerr=np.clip(error, 0, None), ls="",
            marker="o" if first else MARKERS[place % len(MARKERS)],
            ms=8.5 if first else 3.5, mfc="none" if first else None,
            capsize=4 if first else 0, elinewidth=1, color=PALETTE[place % len(PALETTE)],
            label=f"p = {p:.15g}, q = {q:.15g}", zorder=2 + sizes[below],
        )  # fmt: skip
        sizes[below] += 1
    handles, labels = axis.get_legend_handles_labels()
    handles += [Line2D([], [], color="0.35", ls=style, lw=1.2) for style in ("-", "--")]
    labels += ["theory, p + q < 1", "theory, p + q > 1"]
    figure.legend(
        handles, labels, loc="outside lower center", ncols=2, fontsize=7.5,
        title="simulated, with 95% interval", title_fontsize=8,
    )  # fmt: skip
    axis.axvline(USUAL, color="0.7", lw=0.8, ls=":")
    axis.text(1.08 * USUAL, 0.5, f"usual scale {USUAL:g}", fontsize=8, color="0.4")
    axis.set_xscale("log")
    axis.xaxis.set_major_formatter("{x:g}")
    axis.set(
        xlabel=r"scale $\sigma$ of the start, e and w from N(0, $\sigma^2$)",
        ylabel="P(flow reaches a global minimum)",
        ylim=(-0.04, 1.04),
    )
    despine(axis)
    return figure


class Landscape:
    """The loss over (e, w) and `simulation.shown_paths` on it, a panel per chain, in frames."""

    def __init__(
        self, paths: Mapping[str, np.ndarray], chains: Sequence[ChainSettings], extent: float
    ) -> None:
        self.figure, axes = plt.subplots(1, 2, figsize=(WIDTH, 0.56 * WIDTH), sharey=True)
        self.sides = []
        for axis, side, chain in zip(axes, ("below", "above"), shown_chains(chains), strict=True):
            ground = _draw_loss(axis, chain, extent)
            axis.set_title(_name(chain))
            path = paths[f"plane_{side}"]
            colours = [OUTCOMES.get(end, "0.5") for end in outcome(path[-1], chain)]
            tails = [axis.plot([], [], color=c, lw=1.0, alpha=0.9)[0] for c in colours]
            heads = axis.scatter(
                *path[0], c=colours, s=14, zorder=4, edgecolors="white", linewidths=0.4
            )
            clock = axis.text(0.03, 0.95, "", transform=axis.transAxes, fontsize=8, va="top")
            clock.set_bbox({"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 2})
            self.sides.append((path, paths[f"time_{side}"], tails, heads, clock))
        axes[1].set_ylabel("")
        bar = self.figure.colorbar(ground, ax=axes, shrink=0.85, extend="both")
        bar.set_label("loss above the bigram entropy (nats)")
        self.figure.legend(handles=_outcome_handles(), loc="outside lower center", ncols=2)
        self.frames = len(self.sides[0][0])

    def draw(self, frame: int) -> None:
        """Show the trajectories up to a frame."""
        for path, time, tails, heads, clock in self.sides:
            for index, tail in enumerate(tails):
                tail.set_data(path[: frame + 1, 0, index], path[: frame + 1, 1, index])
            heads.set_offsets(path[frame].T)
            clock.set_text(f"time {time[frame]:.3g}")

    def animation(self) -> FuncAnimation:
        """All frames, the last one held."""
        # One layout for all frames; finding it anew would take longer than drawing them.
        self.figure.draw_without_rendering()
        self.figure.set_layout_engine("none")
        frames = [*range(self.frames), *[self.frames - 1] * HELD]
        return FuncAnimation(self.figure, self.draw, frames, blit=False)


def _draw_loss(axis: Axes, chain: Chain, extent: float) -> AxesImage:
    e, w = _fields(extent, PIXELS // 2)
    loss = canonical.loss(canonical.logit_gap(e, w), chain)
    # Logarithmic, to show both plateau and valley; its dark half would hide the trajectories.
    above = np.maximum(loss - chain.bigram_entropy, LOSSES[0])
    greys = LinearSegmentedColormap.from_list("greys", ["white", "0.45"])
    frame = (-extent, extent, -extent, extent)
    ground = axis.imshow(
        above, cmap=greys, norm=LogNorm(*LOSSES), extent=frame, origin="lower", aspect="equal"
    )
    axis.set(xlabel="embedding e", ylabel="weight w")
    return ground
