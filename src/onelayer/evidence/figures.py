"""The one style of figures: one look, colour-blind safe, the same bytes on every run."""

import contextlib
import io
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from PIL import Image

from onelayer.evidence.declarations import keep
from onelayer.run.step import Step

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
    **dict.fromkeys(("xtick.color", "ytick.color"), ".15"),
    **dict.fromkeys(("xtick.major.size", "ytick.major.size"), 4.8),
    **dict.fromkeys(("xtick.major.width", "ytick.major.width"), 1.0),
    **dict.fromkeys(("xtick.minor.size", "ytick.minor.size"), 3.2),
    **dict.fromkeys(("xtick.minor.width", "ytick.minor.width"), 0.8),
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
    """Remove the frame's top and right sides; the left and bottom ones if asked."""
    for axis in axes:
        gone = ["top", "right", *["left"] * left, *["bottom"] * bottom]
        axis.spines[gone].set_visible(False)


def save(figure: Figure, pdf: Path, png: Path) -> None:
    """Write a figure as PDF and PNG without dates or software tags in them."""
    figure.savefig(pdf, format="pdf", metadata={"CreationDate": None, "Producer": None})
    save_png(figure, png)


def save_png(figure: Figure, png: Path) -> None:
    """Write a figure as PNG without software tags in it, in 255 colours: a third of all bytes."""
    drawn = io.BytesIO()
    figure.savefig(drawn, format="png")
    with Image.open(drawn) as image:
        places, palette = few_colours(np.asarray(image.convert("RGB")))
    picture = Image.fromarray(places)
    picture.putpalette(palette)
    picture.save(png, "png", optimize=True, dpi=image.info["dpi"])


def few_colours(pixels: np.ndarray) -> tuple[np.ndarray, list[int]]:
    """Pixels `[..., RGB]` in white and 254 other colours: the place of each, and 768 numbers.

    Colours are weighted by the root of how often they occur: colour bars stay smooth.
    """
    packed = pixels.astype(np.uint32) @ np.array([1 << 16, 1 << 8, 1], np.uint32)
    distinct, which, counts = np.unique(packed, return_inverse=True, return_counts=True)
    colours = (distinct[:, None] >> np.array([16, 8, 0]) & 255).astype(np.uint8)
    often = np.ceil(np.sqrt(counts)).astype(int)
    sample = Image.fromarray(np.repeat(colours, often, axis=0)[None])
    palette = [255, 255, 255, *sample.quantize(254, kmeans=2).getpalette()]
    # Pillow's own search for the nearest is coarse: what is white turns grey.
    away = (colours[:, None].astype(int) - np.reshape(palette, (-1, 3))) ** 2
    places = away.sum(axis=-1).argmin(axis=1).astype(np.uint8)
    return places[which].reshape(pixels.shape[:-1]), palette + [0] * (768 - len(palette))


def figure(
    name: str,
    section: str,
    label: str,
    *,
    reads: Mapping[str, str] | None = None,
    **declared: object,
) -> Callable[[Callable], Callable]:
    """Declare the figure that a function draws; see `declarations.Declaration`."""
    return lambda function: keep(function, reads, declared.get("made", ""))


def write(step: Step, made: Callable[[], Figure], shown: Mapping[str, object]) -> None:
    """Draw a declared figure in the one style, and save it as PDF and PNG."""
    with house_style():
        save(made(), *step.outputs.figures)
