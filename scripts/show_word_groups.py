"""Figure: dot products of the raw embeddings of nine words of three topics, a panel per model."""

import numpy as np
import pandas as pd
from matplotlib.patches import Patch

from onelayer.evidence.figures import DIVERGING, WIDTH, plain, plt
from onelayer.job import job
from onelayer.text.models.checkpoints import load_checkpoint
from onelayer.text.models.tokenizer import load_tokenizer
from onelayer.topic_structure.wikipedia.probe import embed

UNKNOWN = "0.75"  # grey: the word has no piece of its own


def scaled_dots(dots: dict[str, np.ndarray]) -> tuple[dict[str, np.ndarray], float]:
    """Dot products over each model's largest, and the largest of all off the diagonals."""
    tops = {name: float(np.nanmax(np.abs(one), initial=0.0)) for name, one in dots.items()}
    scaled = {name: one / (tops[name] or 1.0) for name, one in dots.items()}
    off = ~np.eye(len(next(iter(dots.values()))), dtype=bool)
    bound = max(float(np.nanmax(np.abs(one[off]), initial=0.0)) for one in scaled.values())
    return scaled, bound or 1.0


def draw(dots: dict[str, np.ndarray], groups: list[dict]) -> plt.Figure:
    """Words in the order of the groups, which lines divide."""
    words = [plain(word) for group in groups for word in group["words"]]
    edges = np.cumsum([len(group["words"]) for group in groups])[:-1] - 0.5
    columns = min(4, len(dots))
    lines = -(-len(dots) // columns)
    size = (min(WIDTH, 1.45 * columns + 1.0), 1.65 * lines + 1.7)
    figure, axes = plt.subplots(lines, columns, figsize=size, squeeze=False)
    scaled, bound = scaled_dots(dots)
    for place, (name, matrix) in enumerate(scaled.items()):
        axis = axes.flat[place]
        image = axis.imshow(matrix, cmap=DIVERGING, vmin=-bound, vmax=bound)
        axis.set_facecolor(UNKNOWN)
        for edge in edges:
            axis.axhline(edge, color="black", linewidth=0.8)
            axis.axvline(edge, color="black", linewidth=0.8)
        axis.set_title(plain(name.replace("-here", ", trained here")), fontsize=8)
        left, lowest = place % columns == 0, place + columns >= len(dots)
        blank = [""] * len(words)
        axis.set_yticks(range(len(words)), words if left else blank, fontsize=7.5)
        axis.set_xticks(range(len(words)), words if lowest else blank, fontsize=7.5, rotation=90)
        axis.tick_params(length=0, axis="both")
    for axis in axes.flat[len(dots) :]:
        axis.set_axis_off()
    bar = figure.colorbar(
        image, ax=axes, location="bottom", extend="max", shrink=0.5, aspect=25, anchor=(0, 0)
    )
    bar.set_label("dot product of embeddings / largest", fontsize=7.5)
    bar.ax.tick_params(labelsize=7)
    grey = [Patch(color=UNKNOWN, label="a word without\na piece of its own")]
    figure.legend(handles=grey, loc="lower right", fontsize=7.5)
    topics = ", ".join(group["topic"] for group in groups)
    figure.suptitle(f"Dot products of word embeddings\n({plain(topics)})", fontsize=9)
    return figure


with job(snakemake) as step:
    groups = step.settings["groups"]
    words = [word for group in groups for word in group["words"]]
    dots = {}
    for name, folder in step.settings["models"].items():
        found = embed(load_checkpoint(folder), load_tokenizer(folder), words)
        raw = found.set_index("word")["raw"].apply(pd.Series).reindex(words).to_numpy()
        dots[name] = raw @ raw.T  # NaN where a word is missing
    step.save_figure(draw(dots, groups))
