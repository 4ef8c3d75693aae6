"""Animations that also move where no GIF is shown."""

from pathlib import Path

from matplotlib.animation import FuncAnimation
from PIL import Image, ImageSequence


def animate(animation: FuncAnimation, gif: Path, png: Path) -> None:
    """Write an animation as a GIF, and as a PNG that moves: Snakemake's report shows no GIF.

    All frames of the PNG have the 256 colours of the last one.
    """
    animation.save(gif, writer="pillow", fps=10, dpi=100)
    with Image.open(gif) as image:
        duration = image.info["duration"]
        frames = [frame.convert("RGB") for frame in ImageSequence.Iterator(image)]
    colours = frames[-1].quantize(256)
    first, *others = (frame.quantize(palette=colours, dither=Image.Dither.NONE) for frame in frames)
    first.save(png, "png", save_all=True, append_images=others, duration=duration, loop=0)
