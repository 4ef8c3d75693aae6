"""The figure of the paper's open problems: how far each source is learnt over training."""

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.figure import Figure

from onelayer.evidence.figures import MARKERS, MIDDLE, PALETTE, despine, figure
from onelayer.papers.local_to_global.open_problem_tables import with_way_closed
from onelayer.papers.local_to_global.sources import Source
from onelayer.settings.local_to_global import SourceSettings


@figure(
    "local_to_global/open_problems",
    "Transformers",
    "figure: open problems",
    reads={"curves": "train_open_problems.curves"},
    settings={"sources": "local_to_global.open_problems.sources"},
)
def way_closed(curves: pd.DataFrame, sources: list[SourceSettings]) -> Figure:
    """Share of the way closed over training: chains by their states, and order and depth.

    Args:
        curves: `open_problems.train_sources`.
        sources: of the curves.
    """
    curves = with_way_closed(curves, sources)
    first = [own for own in sources if Source.of(own.transitions).order == 1]
    panels = {
        "first order, one layer": [(own, 1) for own in first if 1 in own.depths],
        "second order, or two layers": [
            (own, depth) for own in sources for depth in own.depths if own not in first or depth > 1
        ],
    }
    figure, axes = plt.subplots(1, 2, figsize=(MIDDLE, 4.1), sharey=True)
    for axis, (title, shown) in zip(axes, panels.items(), strict=True):
        for place, (own, depth) in enumerate(shown):
            part = curves[(curves["source"] == own.name) & (curves["depth"] == depth)]
            by = part.groupby("iteration")["closed"]
            colour, layers = PALETTE[place % len(PALETTE)], f", {depth} layers" * (depth > 1)
            axis.fill_between(by.mean().index, by.min(), by.max(), color=colour, alpha=0.25, lw=0)
            axis.plot(
                by.mean(), color=colour, marker=MARKERS[place % len(MARKERS)], ms=4,
                markevery=(place, 8), label=own.name + layers,
            )  # fmt: skip
        for level in (0, 1):
            axis.axhline(level, color="0.6", lw=0.8, ls=":", zorder=0)
        axis.set(xlabel="iteration", ylim=(-0.1, 1.1))
        axis.set_title(title, fontsize=9)
        axis.legend(frameon=False, fontsize=7.5, loc="upper center", bbox_to_anchor=(0.5, -0.2))
        despine(axis)
    axes[0].set_ylabel("share of the way from unigram\n(0) to best entropy (1)")
    return figure
