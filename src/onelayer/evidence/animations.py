"""Animations that also move where no GIF is shown."""

from pathlib import Path

from PIL import Image, ImageSequence


def animate(gif: Path, png: Path) -> None:
    """Write the frames of a GIF as a PNG that moves: Snakemake's report shows no GIF.

    All frames have the 256 colours of the last one.
    """
    with Image.open(gif) as image:
        duration = image.info["duration"]
        frames = [frame.convert("RGB") for frame in ImageSequence.Iterator(image)]
    colours = frames[-1].quantize(256)
    first, *others = (frame.quantize(palette=colours, dither=Image.Dither.NONE) for frame in frames)
    first.save(png, "png", save_all=True, append_images=others, duration=duration, loop=0)
