"""Figures of each model: the attention ratio of every head, and the embeddings of nine words."""

import numpy as np
import pandas as pd
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import LogLocator, NullFormatter

from onelayer.evidence.figures import COLUMN, DIVERGING, PALETTE, WIDTH, despine, plain, plt
from onelayer.job import job
from onelayer.topic_structure.wikipedia.measure import ALL, ATTENTION
from onelayer.topic_structure.wikipedia.published import WORDS
from onelayer.topic_structure.wikipedia.ratio import tightest

OURS, ALL_HEADS = PALETTE[:2]
RANDOM = "random weights"
UNKNOWN = "0.75"  # grey: the word has no piece of its own


def draw_heads(heads: dict[str, pd.DataFrame], measures: dict[str, pd.DataFrame]) -> plt.Figure:
    """A panel per model, a line per layer, a dot per head and seed."""
    layers = [rows["layer"].nunique() for rows in heads.values()]
    line = 0.19 if sum(layers) <= 40 else 0.12  # inches
    size = (COLUMN, line * sum(layers) + 0.16 * len(heads) + 1.4)
    shares = [count + 0.3 for count in layers]
    figure, axes = plt.subplots(
        len(heads), 1, figsize=size, sharex=True, squeeze=False, height_ratios=shares
    )
    for axis, (name, rows) in zip(axes.flat, heads.items(), strict=True):
        lines = list(dict.fromkeys(rows["layer"]))
        heights = rows["layer"].map(lines.index)
        axis.axvline(1, color="0.5", linewidth=0.8, zorder=0)
        axis.plot(rows["ratio"], heights, "o", color=OURS, markersize=3, alpha=0.6, zorder=2)
        if name in measures:
            of_model = tightest(measures[name]).set_index(["seed", "quantity"])
            together = of_model.loc[(ALL, ATTENTION)]
            axis.axvspan(together["low"], together["high"], color=ALL_HEADS, alpha=0.25, lw=0)
            axis.axvline(together["value"], color=ALL_HEADS, linewidth=1.4, zorder=3)
        axis.set(yticks=range(len(lines)), yticklabels=lines, ylim=(len(lines) - 0.35, -0.65))
        axis.tick_params(axis="y", length=0, labelsize=7)
        last = axis is axes[-1, 0]
        label = plain(name.replace("-here", "\ntrained here"))
        axis.set_ylabel(label, rotation=0, ha="right", va="center", fontsize=8)
        axis.set_xscale("log")
        axis.tick_params(axis="x", which="both", length=3 if last else 0)
        despine(axis, bottom=not last)
    axes[-1, 0].xaxis.set_major_locator(LogLocator(subs=(1, 2, 3, 5, 7)))
    axes[-1, 0].xaxis.set_major_formatter("{x:g}")
    axes[-1, 0].xaxis.set_minor_formatter(NullFormatter())
    axes[-1, 0].set_xlabel("attention of one topic / of two")
    handles = [
        Line2D([], [], color=OURS, marker="o", ms=3, ls="", label="one head of one seed"),
        Line2D([], [], color=ALL_HEADS, linewidth=1.4, label="all heads together [95%]"),
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=2, fontsize=7.5)
    ratios = pd.concat(heads).drop(index=RANDOM, level=0, errors="ignore")["ratio"]
    title = f"{(ratios > 1).sum()} of {len(ratios)} heads of trained models"
    figure.suptitle(f"{title}\nabove 1 (number: layer)", fontsize=9)
    return figure


def draw_words(dots: dict[str, np.ndarray]) -> plt.Figure:
    """A panel per model; lines divide words of different topics."""
    words = [word for group in WORDS.values() for word in group]
    edges = np.cumsum([len(group) for group in WORDS.values()])[:-1] - 0.5
    columns = min(4, len(dots))
    lines = -(-len(dots) // columns)
    size = (min(WIDTH, 1.45 * columns + 1.0), 1.65 * lines + 1.7)
    figure, axes = plt.subplots(lines, columns, figsize=size, squeeze=False)
    tops = {name: np.nanmax(np.abs(matrix), initial=0.0) for name, matrix in dots.items()}
    scaled = {name: matrix / (tops[name] or 1.0) for name, matrix in dots.items()}
    off = ~np.eye(len(words), dtype=bool)
    bound = np.nanmax(np.abs([matrix[off] for matrix in scaled.values()]), initial=0.0) or 1.0
    for place, (name, matrix) in enumerate(scaled.items()):
        axis = axes.flat[place]
        image = axis.imshow(matrix, cmap=DIVERGING, vmin=-bound, vmax=bound)
        axis.set_facecolor(UNKNOWN)
        for edge in edges:
            axis.axhline(edge, color="black", linewidth=0.8)
            axis.axvline(edge, color="black", linewidth=0.8)
        axis.set_title(plain(name.replace("-here", ", trained here")), fontsize=8)
        axis.set_yticks(range(len(words)), words, fontsize=7.5)
        axis.set_xticks(range(len(words)), words, fontsize=7.5, rotation=90)
        left, lowest = place % columns == 0, place + columns >= len(dots)
        axis.tick_params(length=0, labelleft=left, labelbottom=lowest)
    for axis in axes.flat[len(dots) :]:
        axis.set_axis_off()
    bar = figure.colorbar(
        image, ax=axes, location="bottom", extend="max", shrink=0.5, aspect=25, anchor=(0, 0)
    )
    bar.set_label("dot product of embeddings / largest", fontsize=7.5)
    bar.ax.tick_params(labelsize=7)
    grey = [Patch(color=UNKNOWN, label="a word without\na piece of its own")]
    figure.legend(handles=grey, loc="lower right", fontsize=7.5)
    figure.suptitle(f"Dot products of word embeddings\n({', '.join(WORDS)})", fontsize=9)
    return figure


with job(snakemake) as step:
    heads, measures, random, dots = {}, {}, [], {}
    given, words = snakemake.input, [word for group in WORDS.values() for word in group]
    files = zip(given.measures, given.heads, given.embeddings, strict=True)
    for (name, source), paths in zip(step.settings.items(), files, strict=True):
        of_model, of_heads, vectors = map(pd.read_parquet, paths)
        measures[name] = of_model.query("way == 'ours'")
        if source == "random":
            random.append(of_heads.assign(layer="all"))
        else:
            heads[name] = of_heads
        if len(random) < 2 or source != "random":  # random embeddings all look the same
            raw = vectors.set_index("word")["raw"].apply(pd.Series).reindex(words).to_numpy()
            dots[name] = raw @ raw.T  # NaN where a word is missing
    if random:
        heads[RANDOM] = pd.concat(random)
    step.save_figure(draw_heads(heads, measures), output="heads")
    step.save_figure(draw_words(dots), output="words")
