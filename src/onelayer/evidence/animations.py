"""Animations that also move where no GIF is shown."""

from pathlib import Path

import numpy as np
from matplotlib.animation import FuncAnimation
from PIL import Image, ImageSequence

_SAME = 255  # the colour of what stands still: none


def animate(animation: FuncAnimation, gif: Path, png: Path) -> None:
    """Write an animation as a GIF, and as a PNG that moves: Snakemake's report shows no GIF.

    All frames have 255 colours, those of the last one, undithered, and hold only what has moved.
    """
    animation.save(png, writer="pillow", fps=10, dpi=100)
    with Image.open(png) as image:
        duration = image.info["duration"]
        frames = [frame.convert("RGB") for frame in ImageSequence.Iterator(image)]
    last = frames[-1].quantize(_SAME, kmeans=2)
    shades = np.stack([f.quantize(palette=last, dither=Image.Dither.NONE) for f in frames])
    shades[1:][shades[1:] == shades[:-1]] = _SAME
    first, *others = (Image.fromarray(frame) for frame in shades)
    for frame in (first, *others):
        frame.putpalette(last.getpalette() + [0] * (768 - len(last.getpalette())))
    options = {"append_images": others, "duration": duration, "loop": 0, "transparency": _SAME}
    first.save(gif, save_all=True, disposal=1, **options)
    first.save(png, save_all=True, optimize=True, blend=1, **options)
