"""The figures of the Wikipedia experiment of Li, Li & Risteski (2023)."""

import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import NullFormatter

from onelayer.evidence.figures import (
    COLUMN,
    DIVERGING,
    MARKERS,
    PALETTE,
    WIDTH,
    despine,
    figure,
    plain,
)
from onelayer.papers.topic_structure.wikipedia import tables as wikipedia
from onelayer.papers.topic_structure.wikipedia.head_removal import assemble
from onelayer.papers.topic_structure.wikipedia.over_seeds import SEED
from onelayer.papers.topic_structure.wikipedia.probe import removals
from onelayer.papers.topic_structure.wikipedia.probe.measures import ALL
from onelayer.papers.topic_structure.wikipedia.tables import CHECKPOINTS
from onelayer.settings.probe import UncertaintySettings
from onelayer.settings.topic_structure import NamedModel, WordGroup, by_name
from onelayer.settings.topics import AmbiguitySettings

PANELS = {
    "attention_ratio": "attention",
    "embedding_cosine_ratio": "embedding layer, cosine",
    "embedding_raw_cosine_ratio": "raw embeddings, cosine",
}
NAMES = {"minilm": "MiniLM, beside\nthe paper's BERT", "random": "random weights"}
OURS, PAPER = PALETTE[:2]
RATIO_TICKS = (0.25, 0.5, 0.75, 1, 1.5, 2, 3, 4, 8)
MANY_LINES = 40  # layers of all models; beyond it they stand closer
UNKNOWN = "0.75"  # grey: there is no number
# Of removed heads: which, of which words, and how.
LABELS = {
    removals.LARGEST: "largest topic ratios",
    removals.RANDOM: "random others",
    removals.SAME_LAYERS: "others of the same layers",
}
WORDS = {removals.SAME_TOPIC: "same topic", removals.OTHER: "other words"}
TITLES = dict(zip(removals.REMOVALS, ("heads give nothing", "heads attend uniformly"), strict=True))


@figure(
    "topic_structure/wikipedia_ratios",
    "Wikipedia: results",
    "figure: ratio against threshold",
    reads={
        "attention": "measure_attention.measures",
        "embeddings": "measure_embeddings.measures",
        "published": "reference/topic_structure_wikipedia.csv",
    },
    settings={"models": "probed_models", "ambiguity": "topics.ambiguity"},
    priority=3,
)
def wikipedia_ratios(
    attention: list[pd.DataFrame],
    embeddings: list[pd.DataFrame],
    published: Path,
    models: list[NamedModel],
    ambiguity: AmbiguitySettings,
) -> Figure:
    """Ratio against threshold: a panel per overlap mode and quantity, a line per model.

    A marker's shape says the threshold, the first on top. Ours: filled, with 95% intervals, over
    seeds where a model has several, and a dash for each of them; in light grey behind it 95% of
    what permuted topics show. Published: open, on the line of
    the model that stands beside it; none in the raw matrix, which the paper does not measure. A
    random model's raw ratio, a quotient of two zeros, is left out; of several random models, which
    all lie at 1, the first is drawn.
    """
    measures = wikipedia.measures_by_model(models, attention, embeddings)
    settings_of, printed = by_name(models), wikipedia.read_published(published)
    controls = [name for name in measures if settings_of[name].source == "random"]
    drawn = [name for name in measures if name not in controls[1:]]
    published_as = {name: settings_of[name].published_as for name in drawn}
    not_run = [name for name in CHECKPOINTS if name not in published_as.values()]
    lines = [*(name for name in drawn if name not in controls), *not_run, *controls[:1]]
    rows = len(ambiguity.overlaps)
    size = (WIDTH, (0.36 * len(lines) + 0.5) * rows + 0.7)
    figure, axes = plt.subplots(
        rows, len(PANELS), figsize=size, sharex="col", sharey=True, squeeze=False
    )
    for row, overlap in enumerate(ambiguity.overlaps):
        for column, (quantity, label) in enumerate(PANELS.items()):
            axis = axes[row, column]
            raw = quantity.startswith("embedding_raw")
            for line, name in enumerate(lines):
                theirs = _of(printed, overlap, quantity, model=published_as.get(name) or name)
                theirs, ours = theirs.set_index("threshold")["published"], None
                if name in drawn and not (raw and name in controls):
                    null = _of(measures[name], overlap, f"{quantity}_null", seed=ALL)
                    null = null.set_index("threshold")[["low", "high"]].add_prefix("null_")
                    ours = _of(measures[name], overlap, quantity).join(null, on="threshold")
                _draw_line(axis, theirs, ours, ambiguity.thresholds, line)
            _dress(axis, log=quantity != "attention_ratio")
            axis.set_title(label if row == 0 else "", fontsize=9)
        axes[row, 0].set_ylabel(f"{overlap} topics")
    axes[0, 0].set_yticks(range(len(lines)), [_named(name) for name in lines])
    axes[0, 0].set_ylim(len(lines) - 0.45, -0.55)
    _explain(figure, ambiguity.thresholds)
    figure.supxlabel("same-topic mean / different-topic mean", fontsize=9)
    return figure


def _of(rows: pd.DataFrame, overlap: str, quantity: str, **others: str) -> pd.DataFrame:
    """The rows with these values of their columns."""
    for column, value in {"overlap": overlap, "quantity": quantity, **others}.items():
        rows = rows[rows[column] == value]
    return rows


def _named(name: str) -> str:
    return NAMES.get(name, name.replace("-here", ", trained here"))


def _draw_line(
    axis: Axes, theirs: pd.Series, ours: pd.DataFrame | None, thresholds: Sequence, line: int
) -> None:
    """A model's line: the published ratio by threshold, and ours with the seeds behind it."""
    heights = line + np.linspace(-0.26, 0.26, len(thresholds)) if len(thresholds) > 1 else [line]
    for y, threshold, marker in zip(heights, thresholds, itertools.cycle(MARKERS), strict=False):
        shape = {"marker": marker, "markersize": 4.2, "linestyle": ""}
        printed = theirs.get(threshold.published, np.nan)
        axis.plot(printed, y, markerfacecolor="none", color=PAPER, zorder=5, **shape)
        if ours is None:
            continue
        chosen = ours[ours["threshold"] == threshold.label].set_index(SEED)
        seeds, mean = chosen.drop(index=ALL)["value"], chosen.loc[ALL]
        axis.plot(
            seeds, np.full(len(seeds), y), "|", markersize=4.5, markeredgewidth=0.7, color="0.35",
            zorder=4,
        )  # fmt: skip
        null = {"color": "0.85", "linewidth": 4, "solid_capstyle": "butt", "zorder": 1}
        axis.plot(mean[["null_low", "null_high"]], [y, y], **null)
        axis.plot([mean["low"], mean["high"]], [y, y], color=OURS, linewidth=1.3, zorder=2)
        axis.plot(mean["value"], y, color=OURS, zorder=3, **shape)


def _dress(axis: Axes, log: bool) -> None:
    axis.axvline(1, color="0.5", linewidth=0.8, zorder=0)
    axis.grid(axis="y", linewidth=0.4)
    axis.tick_params(axis="y", length=0)
    if log:
        axis.set_xscale("log")
        axis.set_xticks([1, 2, 4, 8], minor=False)
        if axis.get_xlim()[0] < 0.5:  # the interval of few seeds that differ may reach 0
            axis.set_xlim(left=0.5)
        axis.xaxis.set_major_formatter("{x:g}")
        axis.xaxis.set_minor_formatter(NullFormatter())
    despine(axis)


def _explain(figure: Figure, thresholds: Sequence) -> None:
    """A legend of colours and shapes, above the panels."""
    handles = [
        Line2D([], [], color=OURS, marker="o", label="ours, 95% interval"),
        Line2D([], [], color="0.35", marker="|", linestyle="", label="one training"),
        Line2D([], [], color="0.85", linewidth=4, label="95% of permuted topics"),
        Line2D([], [], color=PAPER, marker="o", markerfacecolor="white", linestyle="",
               label="the paper's checkpoint"),
    ]  # fmt: skip
    for threshold, marker in zip(thresholds, itertools.cycle(MARKERS), strict=False):
        share = f" (paper: {threshold.published:g})" if threshold.published else ""
        label = threshold.label + share
        handles.append(Line2D([], [], color="0.3", marker=marker, linestyle="", label=label))
    figure.legend(handles=handles, loc="outside upper center", ncols=3)


@figure(
    "topic_structure/attention_heads",
    "Wikipedia: results",
    "figure: layers and heads",
    reads={"by_head": "measure_attention.heads", "attention": "measure_attention.measures"},
    settings={"models": "probed_models", "ambiguity": "topics.ambiguity"},
)
def attention_heads(
    by_head: list[pd.DataFrame],
    attention: list[pd.DataFrame],
    models: list[NamedModel],
    ambiguity: AmbiguitySettings,
) -> Figure:
    """Attention ratio of every head: a panel per model, a line per layer, a dot per head and seed.

    Behind them the tables' ratio, of all heads together. Random models share the last panel, of all
    their layers and heads. The first overlap mode and threshold are shown.
    """
    ratios, measures = (wikipedia.measures_by_model(models, each) for each in (by_head, attention))
    settings_of = by_name(models)
    overlap, threshold = ambiguity.overlaps[0], ambiguity.thresholds[0].label
    shown = {name: own_heads(rows, overlap, threshold) for name, rows in ratios.items()}
    controls = [name for name in shown if settings_of[name].source == "random"]
    panels = {name: rows for name, rows in shown.items() if name not in controls}
    if controls:
        together = pd.concat([shown[name] for name in controls])
        panels["random weights"] = together.assign(layer="all")
    layers = [rows["layer"].nunique() for rows in panels.values()]
    line = 0.19 if sum(layers) <= MANY_LINES else 0.1  # inches
    size = (COLUMN, line * sum(layers) + 0.16 * len(panels) + 1.2)
    shares = [count + 0.3 for count in layers]
    figure, axes = plt.subplots(
        len(panels), 1, figsize=size, sharex=True, squeeze=False, height_ratios=shares
    )
    for axis, (name, rows) in zip(axes.flat, panels.items(), strict=True):
        lines = list(dict.fromkeys(rows["layer"]))
        axis.axvline(1, color="0.5", linewidth=0.8, zorder=0)
        heights = rows["layer"].map(lines.index)
        axis.plot(rows["ratio"], heights, "o", color=OURS, markersize=3, alpha=0.6, zorder=2)
        axis.set(yticks=range(len(lines)), yticklabels=lines, ylim=(len(lines) - 0.35, -0.65))
        axis.tick_params(axis="y", length=0, labelsize=7)
        if name in measures:
            tables = table_ratio(measures[name], overlap, threshold)
            axis.axvspan(tables["low"], tables["high"], color=PAPER, alpha=0.25, linewidth=0)
            axis.axvline(tables["value"], color=PAPER, linewidth=1.4, zorder=3)
        label = {"rotation": 0, "ha": "right", "va": "center", "fontsize": 8}
        axis.set_ylabel(_named(name).replace(", trained", "\ntrained"), **label)
        axis.set_xscale("log")
        axis.tick_params(axis="x", which="both", length=0 if axis is not axes[-1, 0] else 3)
        despine(axis, bottom=axis is not axes[-1, 0])
    last = axes[-1, 0]
    left, right = last.get_xlim()
    last.set_xticks([tick for tick in RATIO_TICKS if left <= tick <= right], minor=False)
    last.xaxis.set_major_formatter("{x:g}")
    last.xaxis.set_minor_formatter(NullFormatter())
    last.set_xlabel("same-topic / different-topic attention")
    dot = {"marker": "o", "markersize": 3, "linestyle": ""}
    handles = [
        Line2D([], [], color=OURS, label="one head of one seed", **dot),
        Line2D([], [], color=PAPER, linewidth=1.4, label="table: all heads [95%]"),
    ]
    close = {"columnspacing": 1, "handlelength": 1.5}
    figure.legend(handles=handles, loc="outside lower center", ncols=2, fontsize=7.5, **close)
    figure.suptitle(f"layer by layer: {threshold} words a topic, {overlap}", fontsize=9)
    return figure


def own_heads(rows: pd.DataFrame, overlap: str, threshold: str) -> pd.DataFrame:
    """Heads of every seed; of a model without seeds its own. Never means of ranks over seeds."""
    rows = rows[(rows["overlap"] == overlap) & (rows["threshold"] == threshold)]
    seeds = rows[rows[SEED] != ALL]
    return seeds if len(seeds) else rows


def table_ratio(measures: pd.DataFrame, overlap: str, threshold: str) -> pd.Series:
    """The tables' attention ratio: of means over all heads, not the mean of the heads' ratios."""
    chosen = {SEED: ALL, "threshold": threshold}
    return _of(measures, overlap, "attention_ratio", **chosen).iloc[0]


@figure(
    "topic_structure/word_groups",
    "Wikipedia: results",
    "figure: nine words",
    reads={"words": "words_of_groups", "vectors": "vectors_of_groups"},
    settings={"models": "word_group_models", "groups": "topic_structure.wikipedia.word_groups"},
)
def word_groups(
    words: list[pd.DataFrame],
    vectors: list[dict[str, np.ndarray]],
    models: list[str],
    groups: list[WordGroup],
) -> Figure:
    """Dot products of the raw embeddings of a few words, a panel per model.

    Args:
        words, vectors: what `probe.vectors` reads, model by model; words without a piece of their
            own are missing in it, and grey here.
        groups: words by topic, in the order of rows.
    """
    asked = [word for group in groups for word in group.words]
    dots = {}
    for model, table, arrays in zip(models, words, vectors, strict=True):
        raw = pd.DataFrame(arrays["raw"], index=table["word"]).reindex(asked).to_numpy()
        dots[model] = raw @ raw.T  # NaN where a word is missing
    ticks = list(map(plain, asked))
    edges = np.cumsum([len(group.words) for group in groups])[:-1] - 0.5
    columns = min(4, len(dots))
    lines = -(-len(dots) // columns)
    size = (1.32 * max(columns, 2) + 0.6, 1.65 * lines + 1.5)
    figure, axes = plt.subplots(lines, columns, figsize=size, squeeze=False)
    scaled, bound = scaled_dots(dots)
    for place, (name, matrix) in enumerate(scaled.items()):
        axis = axes.flat[place]
        image = axis.imshow(matrix, cmap=DIVERGING, vmin=-bound, vmax=bound)
        axis.set_facecolor(UNKNOWN)
        for edge in edges:
            axis.axhline(edge, color="black", linewidth=0.8)
            axis.axvline(edge, color="black", linewidth=0.8)
        axis.set_title(_named(name), fontsize=8)
        left, lowest = place % columns == 0, place + columns >= len(dots)
        blank = [""] * len(ticks)
        axis.set_yticks(range(len(ticks)), ticks if left else blank, fontsize=7.5)
        axis.set_xticks(range(len(ticks)), ticks if lowest else blank, fontsize=7.5)
        axis.tick_params(length=0, axis="both")
        plt.setp(axis.get_xticklabels(), rotation=90)
    for axis in axes.flat[len(dots) :]:
        axis.set_axis_off()
    bar = figure.colorbar(
        image, ax=axes, location="bottom", extend="max", shrink=0.5, aspect=25, anchor=(0, 0)
    )
    bar.set_label("dot product / largest", fontsize=7.5)
    bar.ax.tick_params(labelsize=7)
    grey = [Patch(color=UNKNOWN, label="a word without\na piece of its own")]
    figure.legend(handles=grey, loc="lower right", fontsize=7.5)
    return figure


def scaled_dots(dots: Mapping[str, np.ndarray]) -> tuple[dict[str, np.ndarray], float]:
    """Dot products over each model's largest, and the largest of all off the diagonals, in size.

    A model may know none of the words, or one alone: it bounds nothing.
    """

    def largest(values: np.ndarray) -> float:
        return float(np.nanmax(np.abs(values), initial=0.0))

    scaled = {name: matrix / (largest(matrix) or 1.0) for name, matrix in dots.items()}
    off_diagonal = ~np.eye(len(next(iter(scaled.values()))), dtype=bool)
    return scaled, max(largest(matrix[off_diagonal]) for matrix in scaled.values()) or 1.0


@figure(
    "topic_structure/head_removal",
    "Wikipedia: results",
    "figure: heads removed",
    reads={"losses": "removal_losses"},
    settings={"models": "trained_models", "uncertainty": "probe.uncertainty"},
    made="trained_models",
)
def head_removal(
    losses: list[pd.DataFrame], models: list[NamedModel], uncertainty: UncertaintySettings
) -> Figure:
    """Increase of the loss without heads: a panel per kind of removal, two rows per model.

    Where no model predicts words, the figure says why.
    """
    settings_of = by_name(models)
    table = assemble(dict(zip(settings_of, losses, strict=True)), settings_of, uncertainty)
    shown = table[(table["seed"] == ALL) & table["quantity"].str.startswith("increase_")]
    names = list(shown["model"].unique())
    if not names:
        figure = plt.figure(figsize=(COLUMN, 1.0))
        reasons = zip(settings_of, (rows["missing"].iloc[0] for rows in losses), strict=True)
        said = "\n".join(f"{model}: {reason}" for model, reason in reasons if reason)
        figure.text(0.5, 0.5, said, ha="center", va="center", wrap=True, fontsize=7)
        return figure
    figure, axes = plt.subplots(
        len(removals.REMOVALS), 1, figsize=(COLUMN, 1.2 + 0.85 * max(2, len(names))), sharex=True
    )
    for axis, removal in zip(axes, removals.REMOVALS, strict=True):
        _draw_removal(axis, shown[shown["removal"] == removal], names)
        axis.set_title(TITLES[removal], loc="left", fontsize=9)
        despine(axis)
    axes[-1].set_xlabel("increase of the loss (nats a word)")
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=2, fontsize=7.5)
    return figure


def _draw_removal(axis: Axes, rows: pd.DataFrame, names: list[str]) -> None:
    places = {
        (name, words): 2.5 * line + row
        for line, name in enumerate(names)
        for row, words in enumerate(WORDS)
    }
    for number, (chosen, label) in enumerate(LABELS.items()):
        of = rows[(rows["quantity"] == f"increase_{chosen}") & rows["words"].isin(WORDS)]
        heights = [places[key] for key in zip(of["model"], of["words"], strict=True)]
        style = {"marker": MARKERS[number], "markersize": 3.5, "linestyle": "", "elinewidth": 0.9}
        axis.errorbar(
            of["value"],
            [height + 0.26 * (number - 1) for height in heights],
            xerr=[of["value"] - of["low"], of["high"] - of["value"]],
            **{"color": PALETTE[number], "label": label, **style},
        )
    axis.axvline(0, color="0.6", linewidth=0.8, zorder=0)
    ticks = {
        places[name, words]: f"{name}: {text}" if words == removals.SAME_TOPIC else text
        for name in names
        for words, text in WORDS.items()
    }
    axis.set_yticks(list(ticks), list(ticks.values()), fontsize=7)
    axis.invert_yaxis()
