"""Fig. 1: the gradient flow along energy contours, and its basins; its paths on the loss."""

import numpy as np
from matplotlib.colors import LinearSegmentedColormap, LogNorm
from safetensors.numpy import load_file

from onelayer.evidence.figures import WIDTH, plt
from onelayer.job import job
from onelayer.local_to_global import basins, canonical, drawing
from onelayer.local_to_global.canonical import E_SADDLE, W_SADDLE
from onelayer.local_to_global.chain import Chain
from onelayer.local_to_global.critical_points import outcome
from onelayer.local_to_global.drawing import BLUE, GREEN, RED, YELLOW, line, side
from onelayer.local_to_global.simulation import grid, shown_chains
from onelayer.settings.local_to_global import FlowSettings

PIXELS = 400  # of a map's side
ARROWS = 25  # per axis
LOSSES = (1e-3, 10.0)  # nats above the best: the range of the landscape's colours


def field(extent: float, points: int) -> np.ndarray:
    """The e and w of a square grid, [2, points, points]."""
    return grid(extent, points).reshape(2, points, points)


def draw_flow(axis: plt.Axes, chain: Chain, extent: float) -> None:
    """Energy contours, and the direction of the flow."""
    e, w = field(extent, PIXELS)
    levels, grey = E_SADDLE + np.arange(-6, 7), {"colors": "0.75", "linewidths": 0.6}
    axis.contour(e, w, canonical.energy(e, w), levels, linestyles="-", **grey)
    points = field(0.96 * extent, ARROWS)
    rate = canonical.flow(points, chain)
    # Directions alone: the speed spans many orders of magnitude.
    rate = rate / np.maximum(np.linalg.norm(rate, axis=0), 1e-300)
    axis.quiver(*points, *rate, color="0.35", scale=34, width=0.0028, headwidth=4, pivot="mid")


def draw_basins(axis: plt.Axes, chain: Chain, extent: float) -> None:
    """The basins, and what leads to the saddle."""
    e, w = field(extent, PIXELS)
    labels = basins.basin(e, w, chain) == basins.GLOBAL
    colours = plt.matplotlib.colors.ListedColormap([RED, BLUE])
    axis.pcolormesh(e, w, labels, cmap=colours, alpha=0.25, rasterized=True, linewidth=0)
    low, high = (-extent, W_SADDLE) if chain.below else (W_SADDLE, -1e-4)
    w = np.linspace(low, high, 2000)
    e = np.sqrt(np.maximum(E_SADDLE + w * w - np.log(-w), 0))
    for sign in (-1, 1):
        axis.plot(sign * e[e <= extent], w[e <= extent], color=YELLOW, lw=2)
    if not chain.below:
        axis.axhline(0, color="0.5", lw=0.8)


def draw_critical_points(axis: plt.Axes, chain: Chain, extent: float) -> None:
    """Global minima, the minima and maxima on e = 0, the saddle."""
    w = np.linspace(-extent, extent, 4001)
    with np.errstate(divide="ignore"):
        square = chain.s_star / (1 + 2 * w * abs(w))
    for sign in (-1, 1):
        # The curve ends where |e| leaves the picture.
        e = sign * np.sqrt(np.where((square > 0) & (square <= extent**2), square, np.nan))
        axis.plot(e, w, color=BLUE, lw=1.8, ls="--", zorder=3)
    halves = [-extent, W_SADDLE], [W_SADDLE, extent]
    minima, maxima = halves if chain.below else halves[::-1]
    axis.plot([0, 0], minima, color=RED, lw=2.5, zorder=3)
    axis.plot([0, 0], maxima, color=GREEN, lw=2.5, ls=":", zorder=3)
    axis.plot(0, W_SADDLE, "k*", ms=10, zorder=4, markeredgecolor="white", markeredgewidth=0.5)
    axis.set(xlim=(-extent, extent), ylim=(-extent, extent))
    axis.set(xlabel="embedding e", ylabel="weight w", aspect="equal")


def basins_figure(settings: FlowSettings) -> plt.Figure:
    """The flow (left) and its basins (right), a row a chain."""
    figure, axes = plt.subplots(2, 2, figsize=(WIDTH, 7.6))
    for row, chain in zip(axes, shown_chains(settings.chains), strict=True):
        draw_flow(row[0], chain, settings.extent)
        draw_basins(row[1], chain, settings.extent)
        for axis, what in zip(row, ("flow, contours of E", "basins"), strict=True):
            draw_critical_points(axis, chain, settings.extent)
            axis.set_title(f"{what}\n{side(chain)}")
    patch = plt.matplotlib.patches.Patch
    handles = [
        patch(color=BLUE, alpha=0.25, label=r"$\mathcal{I}_\star$: flow reaches a global minimum"),
        patch(color=RED, alpha=0.25, label=r"$\mathcal{I}_{\min}$: flow reaches a local minimum"),
        line("flow reaches the saddle", color=YELLOW, lw=2),
        line(r"global minima, $L = H_{bigram}$", color=BLUE, lw=1.8, ls="--"),
        line(r"local minima, $L = H(\pi)$", color=RED, lw=2.5),
        line("local maxima", color=GREEN, lw=2.5, ls=":"),
        line("saddle", color="k", marker="*", ms=9, ls=""),
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=3)
    title = "The gradient flow, contours of its energy E, and the basins of its minima"
    figure.suptitle(title, fontsize=10)
    return figure


def landscape(settings: FlowSettings, paths: dict[str, np.ndarray]) -> plt.Figure:
    """The loss over (e, w), and trajectories of the flow on it."""
    extent = settings.extent
    figure, axes = plt.subplots(1, 2, figsize=(WIDTH, 0.58 * WIDTH), sharey=True)
    # White and light greys: dark ones would hide the trajectories.
    colours = LinearSegmentedColormap.from_list("greys", ["white", "0.45"])
    frame = {"extent": (-extent, extent, -extent, extent), "origin": "lower", "aspect": "equal"}
    shown = zip(axes, ("below", "above"), shown_chains(settings.chains), strict=True)
    for axis, name, chain in shown:
        e, w = field(extent, PIXELS)
        loss = canonical.loss(canonical.logit_gap(e, w), chain) - chain.bigram_entropy
        # Logarithmic, to show both plateau and valley.
        above = np.maximum(loss, LOSSES[0])
        ground = axis.imshow(above, cmap=colours, norm=LogNorm(*LOSSES), **frame)
        path = paths[f"plane_{name}"]
        for one, end in zip(path.transpose(2, 1, 0), outcome(path[-1], chain), strict=True):
            colour, shape = drawing.OUTCOMES.get(end, "0.5"), drawing.ENDS.get(end, "x")
            axis.plot(*one, color=colour, lw=0.9, alpha=0.8)
            axis.plot(*one[:, 0], ".", color="0.2", ms=3)
            axis.plot(*one[:, -1], shape, color=colour, ms=4, mec="white", mew=0.4, zorder=4)
        axis.set(xlabel="embedding e", title=side(chain), xlim=(-extent, extent))
        axis.set_ylim(-extent, extent)
        if name == "above":
            ends = outcome(path[-1], chain)[path[0, 1] > 0]
            found = f"{(ends == basins.LOCAL).sum()} of {len(ends)} starts with w > 0"
    axes[0].set_ylabel("weight w")
    bar = figure.colorbar(ground, ax=axes, shrink=0.85, extend="both")
    bar.set_label("loss above the bigram entropy (nats)")
    handles = drawing.outcome_handles()
    handles.append(line("start", color="0.2", marker=".", ms=5, ls=""))
    figure.legend(handles=handles, loc="outside lower center", ncols=3)
    title = f"Where p + q > 1, {found} end at a local minimum (e = 0)"
    figure.suptitle(title, fontsize=10)
    return figure


with job(snakemake) as step:
    settings = FlowSettings(**snakemake.params.settings)
    step.save_figure(basins_figure(settings))
    step.save_figure(landscape(settings, load_file(snakemake.input.paths)), output="landscape")
