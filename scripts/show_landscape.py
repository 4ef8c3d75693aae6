"""Figure: the loss over (e, w), and trajectories of the gradient flow on it."""

import numpy as np
from matplotlib.colors import LinearSegmentedColormap, LogNorm
from safetensors.numpy import load_file

from onelayer.evidence.figures import WIDTH, plt
from onelayer.job import job
from onelayer.local_to_global import canonical, drawing
from onelayer.local_to_global.basins import LOCAL
from onelayer.local_to_global.critical_points import outcome
from onelayer.local_to_global.simulation import grid, shown_chains
from onelayer.settings.local_to_global import FlowSettings

PIXELS = 200
LOSSES = (1e-3, 10.0)  # nats above the best: the range of the colours

with job(snakemake) as step:
    settings = FlowSettings(**snakemake.params.settings)
    paths, extent = load_file(snakemake.input.paths), settings.extent
    figure, axes = plt.subplots(1, 2, figsize=(WIDTH, 0.58 * WIDTH), sharey=True)
    # White and light greys: dark ones would hide the trajectories.
    colours = LinearSegmentedColormap.from_list("greys", ["white", "0.45"])
    frame = {"extent": (-extent, extent, -extent, extent), "origin": "lower", "aspect": "equal"}
    shown = zip(axes, ("below", "above"), shown_chains(settings.chains), strict=True)
    for axis, name, chain in shown:
        e, w = grid(extent, PIXELS).reshape(2, PIXELS, PIXELS)
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
        axis.set(xlabel="embedding e", title=drawing.side(chain), xlim=(-extent, extent))
        axis.set_ylim(-extent, extent)
        if name == "above":
            ends = outcome(path[-1], chain)[path[0, 1] > 0]
            found = f"{(ends == LOCAL).sum()} of {len(ends)} starts with w > 0"
    axes[0].set_ylabel("weight w")
    bar = figure.colorbar(ground, ax=axes, shrink=0.85, extend="both")
    bar.set_label("loss above the bigram entropy (nats)")
    handles = drawing.outcome_handles()
    handles.append(drawing.line("start", color="0.2", marker=".", ms=5, ls=""))
    drawing.legend_below(figure, handles, 3)
    title = f"Where p + q > 1, {found} end at a local minimum (e = 0)"
    figure.suptitle(title, fontsize=10)
    step.save_figure(figure)
