"""The one style of figures: one look, colour-blind safe, the same bytes on every run."""

import contextlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from onelayer.evidence.declarations import Made, keep
from onelayer.run.step import Step, run

matplotlib.use("Agg")

# Okabe & Ito (2008): distinguishable with any colour vision.
PALETTE = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000"]
MARKERS = ["o", "s", "^", "D", "v", "P", "X"]
DIVERGING = "RdBu_r"
SEQUENTIAL = "viridis"
WIDTH = 7.0  # inches: a page's text width
COLUMN = 3.5  # inches: one of its two columns, for figures of one panel
MIDDLE = 5.0  # inches: for figures of a few panels, whose letters stay readable in one column

# The style "ticks" and the context "paper" of seaborn 0.13, with smaller letters; written down,
# because most figures need nothing else of seaborn, and importing it takes a second.
_STYLE = {
    "font.family": ["sans-serif"],
    "font.sans-serif": [
        *("Arial", "DejaVu Sans", "Liberation Sans", "Bitstream Vera Sans", "sans-serif")
    ],
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.labelsize": 9,
    "legend.fontsize": 8,
    "legend.frameon": False,
    "legend.title_fontsize": 9.6,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
    "axes.axisbelow": True,
    "axes.edgecolor": ".15",
    "axes.labelcolor": ".15",
    "axes.linewidth": 1.0,
    "grid.color": ".8",
    "lines.linewidth": 1.2,
    "lines.markersize": 4.8,
    "lines.solid_capstyle": "round",
    "patch.edgecolor": "w",
    "patch.force_edgecolor": True,
    "patch.linewidth": 0.8,
    "text.color": ".15",
    **{
        f"{axis}tick.{name}": value
        for axis in "xy"
        for name, value in {
            "color": ".15",
            "major.size": 4.8,
            "major.width": 1.0,
            "minor.size": 3.2,
            "minor.width": 0.8,
        }.items()
    },
    "figure.dpi": 100,
    "savefig.dpi": 200,
    "svg.hashsalt": "onelayer",
    "pdf.fonttype": 42,
    "figure.constrained_layout.use": True,
}


def plain(text: object) -> str:
    """Text of settings or a corpus as a figure shows it: a dollar in it begins no formula."""
    return str(text).replace("$", r"\$")


@contextlib.contextmanager
def house_style() -> Iterator[None]:
    """Everything drawn inside looks like the rest of the project's figures.

    Whatever a user's matplotlibrc says: the style stands on matplotlib's own defaults.
    """
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_STYLE)
        yield


def despine(*axes: Axes, left: bool = False, bottom: bool = False) -> None:
    """Take the frame's top and right sides away; the left and bottom ones where told."""
    for axis in axes:
        gone = ["top", "right", *["left"] * left, *["bottom"] * bottom]
        axis.spines[gone].set_visible(False)


def save(figure: Figure, pdf: Path, png: Path) -> None:
    """Write a figure as PDF and PNG without dates or software tags in them."""
    figure.savefig(pdf, format="pdf", metadata={"CreationDate": None, "Producer": None})
    save_png(figure, png)


def save_png(figure: Figure, png: Path) -> None:
    """Write a figure as PNG without software tags in it."""
    figure.savefig(png, format="png", metadata={"Software": None})


def figure(
    name: str,
    section: str,
    label: str,
    *,
    reads: Mapping[str, str] | None = None,
    **declared: object,
) -> Callable[[Callable], Callable]:
    """Declare the figure that a function draws; see `declarations.Declaration`."""
    return lambda function: keep(function, reads)


def make(made: Made) -> None:
    """Run the step that draws a declared figure, in the one style, and save it as PDF and PNG."""

    def drawing(step: Step) -> None:
        with house_style():
            save(made.call(step), *step.outputs.figures)

    run(drawing, made.settings, made.inputs, ["figures*"], name=made.name)
