"""The figures of the Wikipedia experiment of Li, Li & Risteski (2023)."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, NullFormatter

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
from onelayer.papers.topic_structure.wikipedia.over_seeds import SEED
from onelayer.papers.topic_structure.wikipedia.probe.measures import ALL
from onelayer.papers.topic_structure.wikipedia.tables import CHECKPOINTS
from onelayer.settings.models import ModelSettings
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
    """Ratio against threshold, ours with intervals beside the published values."""
    measures = wikipedia.measures_by_model(models, attention, embeddings)
    return ratios(measures, by_name(models), ambiguity, wikipedia.read_published(published))


def ratios(
    measures: Mapping[str, pd.DataFrame],
    models: Mapping[str, ModelSettings],
    ambiguity: AmbiguitySettings,
    published: pd.DataFrame,
) -> Figure:
    """Ratio of every model: a panel per overlap mode and quantity, a line per model.

    A marker's shape says the threshold, the first on top. Ours: filled, with 95% intervals, over
    seeds where a model has several, and a dash for each of them. Published: open, on the line of
    the model that stands beside it; none in the raw matrix, which the paper does not measure. A
    random model's raw ratio, a quotient of two zeros, is left out; of several random models, which
    all lie at 1, the first is drawn.
    """
    controls = [name for name in measures if models[name].source == "random"]
    drawn = [name for name in measures if name not in controls[1:]]
    beside = {name: models[name].published_as for name in drawn}
    lonely = [name for name in CHECKPOINTS if name not in beside.values()]
    lines = [*(name for name in drawn if name not in controls), *lonely, *controls[:1]]
    figure, axes = plt.subplots(
        len(ambiguity.overlaps),
        len(PANELS),
        figsize=(WIDTH, (0.36 * len(lines) + 0.5) * len(ambiguity.overlaps) + 0.7),
        sharex="col",
        sharey=True,
        squeeze=False,
    )
    for row, overlap in enumerate(ambiguity.overlaps):
        for column, (quantity, label) in enumerate(PANELS.items()):
            axis = axes[row, column]
            theirs = published[
                (published["overlap"] == overlap) & (published["quantity"] == quantity)
            ].set_index(["model", "threshold"])["published"]
            raw = quantity.startswith("embedding_raw")
            for line, name in enumerate(lines):
                counterpart = beside.get(name) or name
                _draw_published(axis, theirs, ambiguity.thresholds, counterpart, line)
                if name in drawn and not (raw and name in controls):
                    chosen = measures[name]
                    chosen = chosen[(chosen["overlap"] == overlap)]
                    chosen = chosen[chosen["quantity"] == quantity]
                    _draw_ours(axis, chosen, ambiguity.thresholds, line)
            _dress(axis, log=quantity != "attention_ratio")
            axis.set_title(label if row == 0 else "", fontsize=9)
        axes[row, 0].set_ylabel(f"{overlap} topics")
    axes[0, 0].set_yticks(range(len(lines)), [_named(name) for name in lines])
    axes[0, 0].set_ylim(len(lines) - 0.45, -0.55)
    _explain(figure, ambiguity.thresholds)
    figure.supxlabel("same-topic mean / different-topic mean (1: no topic structure)", fontsize=9)
    return figure


def _named(name: str) -> str:
    return NAMES.get(name, name.replace("-here", ", trained here"))


def _places(thresholds: Sequence, line: int) -> np.ndarray:
    """Heights of the thresholds on a model's line."""
    return line + np.linspace(-0.26, 0.26, len(thresholds)) if len(thresholds) > 1 else [line]


def _draw_published(
    axis: Axes, theirs: pd.Series, thresholds: Sequence, name: str, line: int
) -> None:
    for place, (y, threshold) in enumerate(zip(_places(thresholds, line), thresholds, strict=True)):
        axis.plot(
            theirs.get((name, threshold.published), np.nan), y, MARKERS[place % len(MARKERS)],
            markersize=4.2, markerfacecolor="none", color=PAPER, zorder=5,
        )  # fmt: skip


def _draw_ours(axis: Axes, rows: pd.DataFrame, thresholds: Sequence, line: int) -> None:
    for place, (y, threshold) in enumerate(zip(_places(thresholds, line), thresholds, strict=True)):
        chosen = rows[rows["threshold"] == threshold.label].set_index(SEED)
        seeds, mean = chosen.drop(index=ALL)["value"], chosen.loc[ALL]
        axis.plot(
            seeds, np.full(len(seeds), y), "|", markersize=4.5, markeredgewidth=0.7, color="0.35",
            zorder=4,
        )  # fmt: skip
        axis.plot([mean["low"], mean["high"]], [y, y], color=OURS, linewidth=1.3, zorder=2)
        axis.plot(
            mean["value"], y, MARKERS[place % len(MARKERS)], markersize=4.2, color=OURS, zorder=3
        )


def _dress(axis: Axes, log: bool) -> None:
    axis.axvline(1, color="0.5", linewidth=0.8, zorder=0)
    axis.grid(axis="y", linewidth=0.4)
    axis.tick_params(axis="y", length=0)
    if log:
        axis.set_xscale("log")
        axis.set_xticks([1, 2, 4, 8], minor=False)
        if axis.get_xlim()[0] < 0.5:  # the interval of few seeds that differ may reach 0
            axis.set_xlim(left=0.5)
        axis.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axis.xaxis.set_minor_formatter(FuncFormatter(lambda *_: ""))
    despine(axis)


def _explain(figure: Figure, thresholds: Sequence) -> None:
    """A legend of colours and shapes, above the panels."""
    known = [
        Line2D([], [], color=OURS, marker="o", label="ours, 95% interval"),
        Line2D([], [], color="0.35", marker="|", linestyle="", label="one training"),
        Line2D([], [], color=PAPER, marker="o", markerfacecolor="white", linestyle="",
               label="the paper's checkpoint"),
    ]  # fmt: skip
    for place, threshold in enumerate(thresholds):
        share = f" (paper: {threshold.published:g})" if threshold.published else ""
        shape = MARKERS[place % len(MARKERS)]
        known.append(
            Line2D([], [], color="0.3", marker=shape, linestyle="", label=threshold.label + share)
        )
    figure.legend(handles=known, loc="outside upper center", ncols=3, frameon=False)


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
    """The attention ratio of every layer and head, and of all together."""
    by_model = (wikipedia.measures_by_model(models, own) for own in (by_head, attention))
    return heads(*by_model, by_name(models), ambiguity)


def heads(
    ratios_by_head: Mapping[str, pd.DataFrame],
    measures: Mapping[str, pd.DataFrame],
    models: Mapping[str, ModelSettings],
    ambiguity: AmbiguitySettings,
) -> Figure:
    """Attention ratio of every head: a panel per model, a line per layer, a dot per head and seed.

    Random models share the last panel, of all their layers and heads.

    Args:
        ratios_by_head: rows of `probe.measures.measure_heads` by model.
        measures: rows of `probe.measures.measure_attention` by model, for the tables' ratios.
        models: their settings.
        ambiguity: its first overlap mode and threshold are shown.
    """
    overlap, threshold = ambiguity.overlaps[0], ambiguity.thresholds[0].label
    shown = {name: own_heads(rows, overlap, threshold) for name, rows in ratios_by_head.items()}
    controls = [name for name in shown if models[name].source == "random"]
    panels = {name: rows for name, rows in shown.items() if name not in controls}
    if controls:
        together = pd.concat([shown[name] for name in controls])
        panels["random weights"] = together.assign(layer="all")
    layers = [rows["layer"].nunique() for rows in panels.values()]
    line = 0.19 if sum(layers) <= MANY_LINES else 0.1  # inches
    figure, axes = plt.subplots(
        len(panels),
        1,
        figsize=(COLUMN, line * sum(layers) + 0.16 * len(panels) + 1.2),
        sharex=True,
        squeeze=False,
        height_ratios=[count + 0.3 for count in layers],
    )
    for axis, (name, rows) in zip(axes.flat, panels.items(), strict=True):
        _draw_heads(axis, rows)
        if name in measures:
            tables = table_ratio(measures[name], overlap, threshold)
            axis.axvspan(tables["low"], tables["high"], color=PAPER, alpha=0.25, linewidth=0)
            axis.axvline(tables["value"], color=PAPER, linewidth=1.4, zorder=3)
        axis.set_ylabel(
            _named(name).replace(", trained", "\ntrained"),
            rotation=0,
            ha="right",
            va="center",
            fontsize=8,
        )
        axis.set_xscale("log")
        axis.tick_params(axis="x", which="both", length=0 if axis is not axes[-1, 0] else 3)
        despine(axis, bottom=axis is not axes[-1, 0])
    last = axes[-1, 0]
    last.set_xticks([tick for tick in RATIO_TICKS if _within(last.get_xlim(), tick)], minor=False)
    last.xaxis.set_major_formatter("{x:g}")
    last.xaxis.set_minor_formatter(NullFormatter())
    last.set_xlabel("same-topic / different-topic attention")
    figure.legend(
        handles=_heads_handles(), loc="outside lower center", ncols=2, frameon=False, fontsize=7.5,
        columnspacing=1, handlelength=1.5,
    )  # fmt: skip
    figure.suptitle(f"layer by layer: {threshold} words a topic, {overlap}", fontsize=9)
    return figure


def _draw_heads(axis: Axes, rows: pd.DataFrame) -> None:
    """A dot per head of every seed, a line per layer."""
    names = list(dict.fromkeys(rows["layer"]))
    heights = rows["layer"].map({layer: place for place, layer in enumerate(names)})
    axis.axvline(1, color="0.5", linewidth=0.8, zorder=0)
    axis.plot(rows["ratio"], heights, "o", color=OURS, markersize=3, alpha=0.6, zorder=2)
    axis.set(yticks=range(len(names)), yticklabels=names, ylim=(len(names) - 0.35, -0.65))
    axis.tick_params(axis="y", length=0, labelsize=7)


def _heads_handles() -> list[Line2D]:
    return [
        Line2D(
            [], [], color=OURS, marker="o", markersize=3, linestyle="", label="one head of one seed"
        ),
        Line2D([], [], color=PAPER, linewidth=1.4, label="table: all heads [95%]"),
    ]  # fmt: skip


def _within(limits: tuple[float, float], value: float) -> bool:
    return limits[0] <= value <= limits[1]


def own_heads(rows: pd.DataFrame, overlap: str, threshold: str) -> pd.DataFrame:
    """Heads of every seed; of a model without seeds its own. Never means of ranks over seeds."""
    rows = rows[(rows["overlap"] == overlap) & (rows["threshold"] == threshold)]
    seeds = rows[rows[SEED] != ALL]
    return seeds if len(seeds) else rows


def table_ratio(measures: pd.DataFrame, overlap: str, threshold: str) -> pd.Series:
    """The tables' attention ratio: of means over all heads, not the mean of the heads' ratios."""
    return measures[
        (measures[SEED] == ALL)
        & (measures["quantity"] == "attention_ratio")
        & (measures["overlap"] == overlap)
        & (measures["threshold"] == threshold)
    ].iloc[0]


@figure(
    "topic_structure/word_groups",
    "Wikipedia: results",
    "figure: nine words",
    reads={"words": "words_of_groups", "vectors": "vectors_of_groups"},
    settings={
        "models": "word_group_models",
        "groups": "topic_structure.wikipedia.word_groups",
    },
)
def embeddings_of_words(
    words: list[pd.DataFrame],
    vectors: list[dict[str, np.ndarray]],
    models: list[str],
    groups: list[WordGroup],
) -> Figure:
    """The dot products of the embeddings of a few words of a few topics, per model."""
    by_topic = {group.topic: group.words for group in groups}
    asked = [word for group in by_topic.values() for word in group]
    dots = {
        model: dot_products(asked, known["word"].tolist(), arrays["raw"])
        for model, known, arrays in zip(models, words, vectors, strict=True)
    }
    return word_groups(dots, by_topic)


def word_groups(dots: Mapping[str, np.ndarray], groups: Mapping[str, Sequence[str]]) -> Figure:
    """Dot products of the raw embeddings of a few words, a panel per model.

    Args:
        dots: [words, words] by model; NaN rows and columns where a word has no piece of its
            own.
        groups: words by topic, in the order of rows.
    """
    words = [plain(word) for group in groups.values() for word in group]
    edges = np.cumsum([len(group) for group in groups.values()])[:-1] - 0.5
    columns = min(4, len(dots) + 1)  # one more for what the colours mean
    lines = -(-(len(dots) + 1) // columns)
    figure, axes = plt.subplots(
        lines, columns, figsize=(1.32 * columns + 0.6, 1.45 * lines + 0.75), squeeze=False
    )
    scaled, bound = scaled_dots(dots)
    for place, (name, matrix) in enumerate(scaled.items()):
        axis = axes.flat[place]
        image = axis.imshow(matrix, cmap=DIVERGING, vmin=-bound, vmax=bound)
        axis.set_facecolor(UNKNOWN)
        for edge in edges:
            axis.axhline(edge, color="black", linewidth=0.8)
            axis.axvline(edge, color="black", linewidth=0.8)
        axis.set_title(_named(name), fontsize=8)
        left, lowest = place % columns == 0, place // columns == lines - 1
        axis.set_yticks(range(len(words)), words if left else [""] * len(words), fontsize=7.5)
        axis.set_xticks(range(len(words)), words if lowest else [""] * len(words), fontsize=7.5)
        axis.tick_params(length=0, axis="both")
        plt.setp(axis.get_xticklabels(), rotation=90)
    for axis in axes.flat[len(dots) :]:
        axis.set_axis_off()
    legend = axes.flat[len(dots)]
    place = legend.inset_axes((0.02, 0.72, 0.96, 0.1))
    bar = figure.colorbar(image, cax=place, orientation="horizontal", extend="max")
    bar.set_label("dot product / largest", fontsize=7.5)
    bar.ax.tick_params(labelsize=7)
    known = [Patch(color=UNKNOWN, label="a word without\na piece of its own")]
    legend.legend(handles=known, loc="lower center", frameon=False, fontsize=7.5)
    return figure


def scaled_dots(dots: Mapping[str, np.ndarray]) -> tuple[dict[str, np.ndarray], float]:
    """Dot products over each model's largest, and the largest size of all beside the diagonals."""
    scaled = {name: matrix / np.nanmax(np.abs(matrix)) for name, matrix in dots.items()}
    beside = ~np.eye(len(next(iter(scaled.values()))), dtype=bool)
    return scaled, max(float(np.nanmax(np.abs(matrix[beside]))) for matrix in scaled.values())


@figure(
    "topic_structure/topics",
    "Wikipedia: data and topics",
    "figure: topics",
    reads={"words": "measure_topics.words", "shares": "measure_topics.shares"},
)
def topics(words: pd.DataFrame, shares: pd.DataFrame, shown_words: int = 6) -> Figure:
    """Each topic's top words beside the human topics of its articles and its prevalence.

    Args:
        words: rows `topic`, `rank`, `word`, `prevalence`.
        shares: rows `topic`, `label`, `share`; empty where the corpus has no human topics.
        shown_words: words named per topic.
    """
    import seaborn as sns  # takes a second, and not every figure needs it

    first = words[words["rank"] <= shown_words].sort_values(["topic", "rank"])
    names = first.groupby("topic")["word"].agg(", ".join)
    prevalence = words.groupby("topic")["prevalence"].first()
    grid = shares.pivot(index="topic", columns="label", values="share").fillna(0.0)
    grid = grid.reindex(names.index, fill_value=0.0)
    order = _grouped(grid, prevalence)
    panels = 2 if grid.shape[1] else 1
    figure, axes = plt.subplots(
        1,
        panels,
        figsize=(WIDTH + 1.5, 0.19 * len(names) + 1.6),
        squeeze=False,
        width_ratios=[2.2, 1][-panels:],
    )
    bars = axes[0, -1]
    if grid.shape[1]:
        sns.heatmap(
            grid.loc[order].rename(columns=plain),
            ax=axes[0, 0],
            cmap="Blues",
            vmin=0,
            vmax=1,
            yticklabels=[f"{names[t]}  [{t}]" for t in order],
            linewidths=0.3,
            cbar_kws={"label": "share of the topic's articles", "location": "top", "shrink": 0.6},
        )
        axes[0, 0].set(xlabel="human topic", ylabel="")
        axes[0, 0].tick_params(left=False, bottom=False)
        plt.setp(axes[0, 0].get_xticklabels(), rotation=40, ha="right")
        plt.setp(axes[0, 0].get_yticklabels(), fontsize=7)
        bars.set_yticks([])
    else:
        bars.set_yticks(
            np.arange(len(order)) + 0.5, [f"{names[t]}  [{t}]" for t in order], fontsize=7
        )
    bars.barh(np.arange(len(order)) + 0.5, prevalence.loc[order] * 100, color=PALETTE[0])
    bars.set(ylim=(len(order), 0), xlabel="prevalence (%)")
    despine(bars, left=True)
    figure.suptitle(f"{len(names)} topics and their most probable words")
    return figure


def _grouped(grid: pd.DataFrame, prevalence: pd.Series) -> list[int]:
    """Topics ordered by the human topic they cover most, then by prevalence."""
    if not grid.shape[1]:
        return prevalence.sort_values(ascending=False).index.tolist()
    table = pd.DataFrame({"label": grid.to_numpy().argmax(axis=1), "prevalence": prevalence})
    # Topics that are no article's most probable one have no label: last.
    table.loc[grid.sum(axis=1) == 0, "label"] = grid.shape[1]
    return table.sort_values(["label", "prevalence"], ascending=[True, False]).index.tolist()


def dot_products(words: Sequence[str], known: Sequence[str], vectors: np.ndarray) -> np.ndarray:
    """Dot products of every two words, [words, words]; NaN where a word has no single piece.

    Args:
        words: in the order of rows and columns.
        known: words that `vectors` has rows for.
        vectors: [known, d] float64.
    """
    place = {word: index for index, word in enumerate(known)}
    rows = np.full((len(words), vectors.shape[1]), np.nan)
    for row, word in enumerate(words):
        if word in place:
            rows[row] = vectors[place[word]]
    return rows @ rows.T
