"""The one style of figures, and the files they are written to."""

import matplotlib
import numpy as np
from PIL import Image

from onelayer.evidence.figures import DIVERGING, PALETTE, plain, plt, save


def draw(folder):
    figure, axes = plt.subplots(figsize=(2, 2))
    image = axes.imshow(np.linspace(-1, 1, 400).reshape(20, 20), cmap=DIVERGING)
    axes.plot([0, 19], [0, 19], color=PALETTE[1], label=plain("costs $5 and $6"))
    axes.legend()
    figure.colorbar(image)
    save(figure, folder / "f.pdf", folder / "f.png")
    return [(folder / name).read_bytes() for name in ("f.pdf", "f.png")]


def test_the_same_figure_has_the_same_bytes_without_dates(tmp_path):
    first, second = draw(tmp_path), draw(tmp_path)
    assert first == second
    assert b"CreationDate" not in first[0] and b"matplotlib" not in first[1].lower()
    assert not plt.get_fignums()


def test_few_colours_keep_white_white_and_the_rest_near(tmp_path):
    draw(tmp_path)
    with Image.open(tmp_path / "f.png") as image:
        assert image.mode == "P"
        pixels = np.asarray(image.convert("RGB")).reshape(-1, 3).astype(int)
    assert pixels[0].tolist() == [255, 255, 255]
    orange = [int(PALETTE[1][i : i + 2], 16) for i in (1, 3, 5)]
    assert np.abs(pixels - orange).max(axis=1).min() <= 10


def test_the_house_style_counts_whatever_a_users_settings_say():
    assert matplotlib.get_backend().lower() == "agg"
    assert matplotlib.rcParams["figure.constrained_layout.use"]
    assert matplotlib.rcParams["font.size"] == 9
