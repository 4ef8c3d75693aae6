"""Small copies of figures, for pages that show many and for the reference run."""

import io
from pathlib import Path

from PIL import Image

COLOURS = 48  # more are not told apart in a copy, and twice as large


def small_picture(picture: Path, widest: int) -> bytes:
    """A PNG at most so many pixels wide, in few colours; of an animation its last frame."""
    with Image.open(picture) as image:
        image.seek(getattr(image, "n_frames", 1) - 1)
        small = image.convert("RGB")
    small.thumbnail((widest, small.height))
    written = io.BytesIO()
    small.quantize(COLOURS, dither=Image.Dither.NONE).save(written, "png", optimize=True)
    return written.getvalue()
