"""What several figures of the paper share: colours of ends, bands over seeds, legends."""

from collections.abc import Mapping

import pandas as pd

from onelayer.evidence.figures import PALETTE, plt
from onelayer.local_to_global.basins import GLOBAL, LOCAL
from onelayer.local_to_global.chain import Chain

BLUE, RED, GREEN, YELLOW = PALETTE[0], PALETTE[1], PALETTE[2], PALETTE[4]
OUTCOMES = {GLOBAL: BLUE, LOCAL: RED}
ENDS = {GLOBAL: "o", LOCAL: "s"}  # the shape says what the colour says
STARTS = {
    "standard": "standard start",
    "rank_one": "rank-one start",
    "paper": "paper's start, W = 1",
    "paper_canonical": "paper's start, W = .25",
}


def side(chain: Chain) -> str:
    """A chain in a panel's title."""
    return f"p + q {'<' if chain.below else '>'} 1: {chain}"


def line(label: str, **style) -> plt.Line2D:
    """An entry of a legend."""
    return plt.Line2D([], [], label=label, **style)


def outcome_handles() -> list:
    """What the colours of trajectories mean."""
    return [
        line("reaches a global minimum", color=BLUE, marker="o", ms=4),
        line("reaches a local minimum (e = 0)", color=RED, marker="s", ms=4),
    ]


def band(
    axis: plt.Axes, curves: pd.DataFrame, quantity: str, style: Mapping, alpha: float = 0.25
) -> None:
    """Mean over seeds, and their range."""
    by = curves.groupby("iteration")[quantity]
    mean = by.mean()
    axis.fill_between(mean.index, by.min(), by.max(), color=style["color"], alpha=alpha, lw=0)
    axis.plot(mean.index, mean, **style)
