"""Small copies of figures, for pages that show many and for the reference run."""

import io
from pathlib import Path

from PIL import Image


def small_picture(picture: Path, box: tuple[int, int], colours: int) -> bytes:
    """A PNG that fits a box of pixels, in so many colours; of an animation its last frame."""
    with Image.open(picture) as image:
        image.seek(getattr(image, "n_frames", 1) - 1)
        small = image.convert("RGB")
    small.thumbnail(box)
    written = io.BytesIO()
    small.quantize(colours, kmeans=2, dither=Image.Dither.NONE).save(written, "png", optimize=True)
    return written.getvalue()
