"""Animations that also move where no GIF is shown."""

from pathlib import Path

import numpy as np
from matplotlib.animation import FuncAnimation
from PIL import Image, ImageSequence

from onelayer.evidence.figures import few_colours

_SAME = 255  # the colour of what stands still: none


def animate(animation: FuncAnimation, gif: Path, png: Path) -> None:
    """Write an animation as a GIF, and as a PNG that moves: Snakemake's report shows no GIF.

    All frames have the same colours, undithered, and hold only what has moved.
    """
    animation.save(png, writer="pillow", fps=10, dpi=100)
    with Image.open(png) as image:
        duration = image.info["duration"]
        frames = [np.asarray(frame.convert("RGB")) for frame in ImageSequence.Iterator(image)]
    places, palette = few_colours(np.stack(frames))
    places[1:][places[1:] == places[:-1]] = _SAME
    first, *others = map(Image.fromarray, places)
    for frame in (first, *others):
        frame.putpalette(palette)
    options = {"append_images": others, "duration": duration, "loop": 0, "transparency": _SAME}
    first.save(gif, save_all=True, disposal=1, **options)
    first.save(png, save_all=True, optimize=True, blend=1, **options)
