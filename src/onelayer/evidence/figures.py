"""The one style of figures, whatever matplotlibrc says: colour-blind safe, the same bytes."""

import io
from pathlib import Path

import matplotlib
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from PIL import Image

matplotlib.use("Agg")
matplotlib.rcdefaults()
# Named as this module, which is how `onelayer.code` finds it.
plt.style.use(Path(__file__).with_suffix(".mplstyle"))

# Okabe & Ito (2008): distinguishable with any colour vision.
PALETTE = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000"]
MARKERS = ["o", "s", "^", "D", "v", "P", "X"]
DIVERGING = "RdBu_r"
SEQUENTIAL = "viridis"
WIDTH = 7.0  # inches: a page's text width
COLUMN = 3.5  # inches: one of its two columns, for figures of one panel
MIDDLE = 5.0  # inches: for a few panels, whose letters stay readable in one column


def plain(text: object) -> str:
    """Text of settings or a corpus as a figure shows it: a dollar in it begins no formula."""
    return str(text).replace("$", r"\$")


def despine(*axes: Axes, left: bool = False, bottom: bool = False) -> None:
    """Remove the frame's top and right sides; the left and bottom ones if asked."""
    for axis in axes:
        axis.spines[["top", "right", *["left"] * left, *["bottom"] * bottom]].set_visible(False)


def save(figure: Figure, pdf: Path, png: Path) -> None:
    """Write a figure without dates or software tags; in 256 colours, a fifth of the bytes."""
    figure.savefig(pdf, format="pdf", metadata={"CreationDate": None, "Producer": None})
    figure.set_layout_engine("none")  # laid out once: a second time costs as much again
    drawn = io.BytesIO()
    figure.savefig(drawn, format="png")
    plt.close(figure)
    with Image.open(drawn) as image:  # by maximum coverage white stays white
        few = image.convert("RGB").quantize(256, Image.Quantize.MAXCOVERAGE, kmeans=2, dither=0)
        few.save(png, "png", optimize=True, dpi=image.info["dpi"])
