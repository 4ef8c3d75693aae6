"""Figs. 2 and 5: trajectories of (e, w, a), wide and near the origin, seen along a and along w."""

import numpy as np
from safetensors.numpy import load_file

from onelayer.evidence.figures import WIDTH, despine, plt
from onelayer.job import job
from onelayer.local_to_global import drawing
from onelayer.local_to_global.basins import GLOBAL
from onelayer.local_to_global.canonical import W_SADDLE
from onelayer.local_to_global.critical_points import outcome
from onelayer.local_to_global.simulation import shown_chains
from onelayer.settings.local_to_global import FlowSettings

TITLE = "Flows in (e, w, a) from near the origin that end at a global minimum"


def draw_column(column: np.ndarray, path: np.ndarray, reached: np.ndarray, bound: float) -> None:
    """Paths [F, 3, n], w over e and a over e; of those that leave the picture the beginning."""
    for one, end in zip(path.transpose(2, 1, 0), reached, strict=True):
        within, colour = (abs(one) <= bound).all(axis=0), drawing.OUTCOMES.get(end, "0.5")
        first = len(within) if within.all() else int(within.argmin())
        for axis, height in zip(column, (1, 2), strict=True):
            axis.plot(*one[[0, height], :first], color=colour, lw=0.7, alpha=0.8)
            axis.plot(*one[[0, height], 0], "o", color="0.2", ms=2)
            if within.all():
                shape = drawing.ENDS.get(end, "x")
                axis.plot(*one[[0, height], -1], shape, color=colour, ms=3.5, zorder=3)
    for axis in column:
        axis.axvline(0, color="0.6", lw=0.8, zorder=0)
        despine(axis)
    column[1].set_xlabel("embedding e")


with job(snakemake) as step:
    settings = FlowSettings(**snakemake.params.settings)
    paths, chains = load_file(snakemake.input.paths), shown_chains(settings.chains)
    figure, axes = plt.subplots(2, 4, figsize=(WIDTH, 4.6), sharex="col")
    counts = []  # of flows from near the origin
    # Near the origin only the beginning fits into the picture.
    views = (("wide", "Fig. 2", 2 * settings.wide), ("near", "Fig. 5", 3 * settings.near))
    for columns, (view, place, bound) in zip((axes[:, :2], axes[:, 2:]), views, strict=True):
        for column, name, chain in zip(columns.T, ("below", "above"), chains, strict=True):
            path = paths[f"{view}_{name}"]
            reached = outcome(path[-1], chain)
            draw_column(column, path, reached, bound)
            column[0].set_title(
                f"{place}: p + q {'<' if chain.below else '>'} 1\n{chain}", fontsize=8.5
            )
            if view == "near":
                found = f"{(reached == GLOBAL).sum()} of {len(reached)}"
                counts.append(f"{found} for p + q {'<' if chain.below else '>'} 1")
            else:
                column[0].axhline(W_SADDLE, color="0.6", lw=0.8, ls=":", zorder=0)
        for row in columns:
            row[0].sharey(row[1])
    axes[0, 0].set_ylabel("weight w")
    axes[1, 0].set_ylabel("attention a")
    handles = drawing.outcome_handles()
    handles.append(drawing.line("start", color="0.2", marker="o", ms=2.5, ls=""))
    saddle = r"saddle's weight, $w = -1/\sqrt{2}$"
    handles.append(drawing.line(saddle, color="0.6", lw=0.8, ls=":"))
    figure.legend(handles=handles, loc="outside lower center", ncols=2)
    figure.suptitle(f"{TITLE}:\n{', '.join(counts)}", fontsize=10)
    step.save_figure(figure)
