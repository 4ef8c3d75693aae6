"""Figures of the language model on real text: Fig. 7, and attention over the whole training."""

import textwrap
from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import PowerNorm
from matplotlib.figure import Figure

from onelayer.evidence.figures import MIDDLE, PALETTE, SEQUENTIAL, WIDTH, despine, figure, plain
from onelayer.papers.scan_snap.text import FREQUENCY_BINS, uniform_entropy


@figure(
    "scan_snap/attention_maps",
    "Real text",
    "figure: attention maps",
    reads={"maps": "train_text_model.maps"},
    settings={"names": "trainings"},
)
def attention_maps(maps: list[dict[str, np.ndarray]], names: list[str]) -> Figure:
    """Attention on one held-out sequence, a row per training, a column per iteration.

    Tokens are numbers along the axes, which stand with their words below the maps: trainings on
    other corpora have other words.

    Args:
        maps: of each training, `maps` [iterations, T, T], `iterations` and `tokens` [T].
        names: of the trainings.
    """
    trainings = dict(zip(names, maps, strict=True))
    columns = max(len(one["iterations"]) for one in trainings.values())
    figure, axes = plt.subplots(
        len(trainings),
        columns,
        figsize=(1.16 * MIDDLE, 0.9 + 1.6 * len(trainings)),
        sharex=True,
        sharey=True,
        squeeze=False,
    )
    for row, (name, one) in zip(axes, trainings.items(), strict=True):
        length = len(one["tokens"])
        future = np.triu(np.ones((length, length), dtype=bool), 1)
        for axis, weights, iteration in zip(row, one["maps"], one["iterations"], strict=False):
            image = axis.imshow(
                np.ma.masked_array(weights, future),
                cmap=SEQUENTIAL,
                norm=PowerNorm(0.5, vmin=0, vmax=1),
                interpolation="nearest",
                extent=(0.5, length + 0.5, length + 0.5, 0.5),
            )
            axis.set_title(f"iteration {iteration}", fontsize=8.5)
            ticks = [1, *range(10, length + 1, 10)]
            axis.set(xticks=ticks, yticks=ticks)
            axis.tick_params(length=2, labelsize=7.5)
            despine(axis)
        row[0].set_ylabel(f"{name}\nquery token")
        for axis in row[len(one["maps"]) :]:
            axis.set_axis_off()
    for column in axes.T:
        lowest = [axis for axis in column if axis.axison][-1]
        lowest.set_xlabel("key token")
        lowest.tick_params(labelbottom=True)
    bar = figure.colorbar(image, ax=axes, shrink=0.7, pad=0.01)
    bar.set_label("attention (square-root colours)")
    of_words: dict[str, list[str]] = {}
    for name, one in trainings.items():
        of_words.setdefault(numbered_words([str(token) for token in one["tokens"]]), []).append(
            name
        )
    named = [f"{', '.join(names)}:\n{words}" for words, names in of_words.items()]
    sentences = "\n".join(named) if len(named) > 1 else next(iter(of_words))
    figure.supxlabel(plain(sentences), fontsize=7.5, x=0.02, ha="left")
    return figure


def numbered_words(tokens: Sequence[str], width: int = 105) -> str:
    """Tokens with their places from 1 on, in lines; a space within a pair does not break."""
    pairs = [f"{place}\u00a0{token}" for place, token in enumerate(tokens, start=1)]
    return textwrap.fill("   ".join(pairs), width, break_long_words=False, break_on_hyphens=False)


@figure(
    "scan_snap/attention_over_time",
    "Real text",
    "figure: attention over time",
    reads={"measures": "train_text_model.measures"},
    settings={"names": "trainings", "length": "scan_snap.language_model.length"},
)
def attention_over_time(measures: list[pd.DataFrame], names: list[str], length: int) -> Figure:
    """Entropy, largest weight, sparsity and loss, and attention by token frequency, over training.

    Args:
        measures: of each training, `text_training.tabulate_measures`.
        names: of the trainings.
        length: tokens in a sequence.
    """
    trainings, uniform = dict(zip(names, measures, strict=True)), uniform_entropy(length)
    rows = -(-len(trainings) // 2)
    figure, axes = plt.subplots(2 + rows, 2, figsize=(WIDTH, 2.2 * (2 + rows)), squeeze=False)
    panels = (
        ("entropy", "entropy of attention (nats)", "entropy"),
        ("top1", "largest weight", "top-1"),
        ("sparse", "share of keys below\na tenth of uniform", "sparsity"),
        ("loss", "held-out loss (nats per token)", "loss"),
    )
    for axis, (quantity, label, title) in zip(axes[:2].flat, panels, strict=True):
        for place, (name, table) in enumerate(trainings.items()):
            _seeds(axis, table[table["quantity"] == quantity], PALETTE[place], name)
        axis.set(ylabel=label, title=title)
    axes[1, 0].set_ylim(bottom=0)
    axes[0, 0].axhline(uniform, color="0.6", linewidth=0.8)
    axes[0, 0].text(0.99, uniform, "uniform", transform=axes[0, 0].get_yaxis_transform(),
                    ha="right", va="bottom", fontsize=7, color="0.4")  # fmt: skip
    axes[0, 0].legend(frameon=False)
    # Without the palest end, which white paper swallows.
    colours = plt.get_cmap(SEQUENTIAL)(np.linspace(0, 0.85, len(FREQUENCY_BINS)))
    for axis, (name, table) in zip(axes[2:].flat, trainings.items(), strict=False):
        for colour, bin_ in zip(colours, FREQUENCY_BINS, strict=True):
            own = table[table["quantity"] == f"received[{bin_}]"]
            if len(own):
                _seeds(axis, own, colour, f"rank {bin_}")
        axis.axhline(1, color="0.6", linewidth=0.8, zorder=0)
        axis.set(title=f"{name}: by token frequency", ylabel="attention received,\nuniform = 1")
    # Above all lines: nothing lies there.
    axes[2, 0].set_ylim(top=1.3 * axes[2, 0].get_ylim()[1])
    axes[2, 0].legend(frameon=False, fontsize=7, loc="upper left", ncols=2)
    for axis in axes.flat[4 + len(trainings) :]:
        axis.set_axis_off()
    for axis in axes.flat[: 4 + len(trainings)]:
        axis.set_xlabel("iteration")
        despine(axis)
    return figure


def _seeds(axis: Axes, table: pd.DataFrame, colour: object, label: str) -> None:
    """A thin line per seed and their mean."""
    grid = table.pivot_table("value", "iteration", "seed")
    axis.plot(grid.index, grid, color=colour, linewidth=0.5, alpha=0.5)
    axis.plot(grid.index, grid.mean(axis=1), color=colour, linewidth=1.8, label=label)
