"""The house style of figures: one look, colour-blind safe, the same bytes on every run."""

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

import matplotlib
import seaborn as sns
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure

from onelayer.settings.block import Block
from onelayer.step import Step, by_name, run

matplotlib.use("Agg")

# Okabe & Ito (2008): distinguishable with any colour vision.
PALETTE = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000"]
MARKERS = ["o", "s", "^", "D", "v", "P", "X"]
DIVERGING = "RdBu_r"
SEQUENTIAL = "viridis"
WIDTH = 7.0  # inches: a page's text width

_STYLE = {
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.labelsize": 9,
    "legend.fontsize": 8,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
    "figure.dpi": 100,
    "savefig.dpi": 200,
    "svg.hashsalt": "onelayer",
    "pdf.fonttype": 42,
    "figure.constrained_layout.use": True,
}


@contextlib.contextmanager
def house_style() -> Iterator[None]:
    """Everything drawn inside looks like the rest of the project's figures."""
    with sns.axes_style("ticks"), sns.plotting_context("paper"), matplotlib.rc_context(_STYLE):
        yield


def save(figure: Figure, pdf: Path, png: Path) -> None:
    """Write a figure as PDF and PNG without dates or software tags in them."""
    figure.savefig(pdf, format="pdf", metadata={"CreationDate": None, "Producer": None})
    figure.savefig(png, format="png", metadata={"Software": None})


def draw(
    main: Callable[[Step], Figure | Mapping[str, Figure]],
    settings: type[Block] = Block,
    inputs: Iterable[str] = (),
) -> None:
    """Run a step that draws, in the house style, and save what it draws as PDF and PNG.

    Args:
        main: draws the step's figure, or several under the names of their files.
        settings, inputs: as `onelayer.step.run`.
    """

    def drawing(step: Step) -> None:
        with house_style():
            for figure, (pdf, png) in by_name(main(step), step.outputs.figures):
                save(figure, pdf, png)

    run(drawing, settings, inputs, outputs=["figures*"])


def ratio_norm(largest: float) -> LogNorm:
    """A logarithmic colour scale centred on a ratio of 1.

    Args:
        largest: the ratio farthest from 1, above or below it.
    """
    bound = max(largest, 1 / largest, 1.01)
    return LogNorm(vmin=1 / bound, vmax=bound)
