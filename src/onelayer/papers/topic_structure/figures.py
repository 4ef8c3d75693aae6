"""The figures of the Wikipedia experiment of Li, Li & Risteski (2023)."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter

from onelayer.figures import DIVERGING, MARKERS, PALETTE, SEQUENTIAL, WIDTH, despine, ratio_norm
from onelayer.papers.topic_structure.over_seeds import SEED
from onelayer.papers.topic_structure.probe.measures import ALL
from onelayer.papers.topic_structure.wikipedia import CHECKPOINTS
from onelayer.settings.models import ModelSettings
from onelayer.settings.topics import AmbiguitySettings

PANELS = {
    "attention_ratio": "attention",
    "embedding_cosine_ratio": "embedding layer, cosine",
    "embedding_raw_cosine_ratio": "raw embeddings, cosine",
}
NAMES = {"minilm": "MiniLM, beside\nthe paper's BERT", "random": "random weights"}
OURS, PAPER = PALETTE[:2]


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


def heads(ratios_by_head: Mapping[str, pd.DataFrame], ambiguity: AmbiguitySettings) -> Figure:
    """Attention ratio of every layer and head, a panel per model, tightest threshold first overlap.

    Of a model with several seeds the mean over them of the heads ranked within their layer, because
    'head 1' of two trainings has nothing in common.

    Args:
        ratios_by_head: rows of `probe.measures.measure_heads` by model.
        ambiguity: its first overlap mode and threshold are shown.
    """
    import seaborn as sns  # takes a second, and not every figure needs it

    overlap, threshold = ambiguity.overlaps[0], ambiguity.thresholds[0].label
    grids, seeds = {}, {}
    for name, rows in ratios_by_head.items():
        shown = rows[(rows["overlap"] == overlap) & (rows["threshold"] == threshold)]
        seeds[name] = len(set(shown[SEED]) - {ALL})
        shown = shown[shown[SEED] == ALL]
        grids[name] = shown.pivot(index="layer", columns="head", values="ratio")
    # Beyond four models two columns: with controls in the second half each stands beside its model.
    columns = 1 if len(grids) <= 4 else 2
    lines = -(-len(grids) // columns)
    layers = [len(grid) for grid in grids.values()]
    heights = [max(layers[line::lines]) for line in range(lines)]
    figure, axes = plt.subplots(
        lines,
        columns,
        figsize=(WIDTH if columns == 1 else 1.4 * WIDTH, 0.36 * sum(heights) + 1.1 * lines + 0.8),
        squeeze=False,
        height_ratios=heights,
    )
    for axis in axes.T.flat[len(grids) :]:
        axis.set_axis_off()
    logs = np.concatenate([np.log(grid.to_numpy()).ravel() for grid in grids.values()])
    norm = ratio_norm(float(np.exp(np.abs(logs).max())))
    for axis, (name, grid) in zip(axes.T.flat, grids.items(), strict=False):
        sns.heatmap(
            grid,
            ax=axis,
            cmap=DIVERGING,
            norm=norm,
            annot=True,
            fmt=".2f",
            annot_kws={"size": 7},
            linewidths=0.4,
            cbar=False,
        )
        behind = f"{seeds[name]} seeds, " if seeds[name] else ""
        axis.set_title(f"{name} ({behind}mean over heads {grid.to_numpy().mean():.3f})")
        axis.set_xlabel("rank of the head in its layer" if seeds[name] else "head")
        axis.tick_params(left=False, bottom=False, labelrotation=0)
    bar = figure.colorbar(
        axes[0, 0].collections[0], ax=axes, location="bottom", shrink=0.6, pad=0.02, aspect=40
    )
    bar.set_label("same-topic / different-topic attention")
    ticks = [t for t in (0.25, 0.5, 0.75, 1, 1.5, 2, 3, 4, 8) if norm.vmin <= t <= norm.vmax]
    bar.set_ticks(ticks, labels=[f"{tick:g}" for tick in ticks])
    bar.minorticks_off()
    figure.suptitle(f"Attention ratio by layer and head: {threshold} words a topic, {overlap}")
    return figure


def word_groups(dots: Mapping[str, np.ndarray], groups: Mapping[str, Sequence[str]]) -> Figure:
    """Dot products of the raw embeddings of a few words, a panel per model.

    Args:
        dots: [words, words] by model; NaN rows and columns where a word is several pieces.
        groups: words by topic, in the order of rows.
    """
    import seaborn as sns  # takes a second, and not every figure needs it

    words = [word for group in groups.values() for word in group]
    edges = np.cumsum([len(group) for group in groups.values()])[:-1]
    columns = min(3, len(dots))
    lines = -(-len(dots) // columns)
    figure, axes = plt.subplots(
        lines,
        columns,
        figsize=(WIDTH, lines * (0.85 * WIDTH / max(2, columns) + 0.3) + 0.2),
        squeeze=False,
        sharex=True,
    )
    scaled = {name: matrix / np.nanmax(np.abs(matrix)) for name, matrix in dots.items()}
    off = ~np.eye(len(words), dtype=bool)
    low = min(float(np.nanmin(matrix)) for matrix in scaled.values())
    high = max(float(np.nanmax(matrix[off])) for matrix in scaled.values())
    for place, (name, matrix) in enumerate(scaled.items()):
        axis = axes.flat[place]
        sns.heatmap(
            matrix,
            ax=axis,
            cmap=SEQUENTIAL,
            vmin=min(0.0, low),
            vmax=high,
            square=True,
            xticklabels=words,
            yticklabels=words if axis in axes[:, 0] else False,
            cbar=False,
        )
        for edge in edges:
            axis.axhline(edge, color="white", linewidth=1.5)
            axis.axvline(edge, color="white", linewidth=1.5)
        axis.set_title(name)
        nothing_below = place + columns >= len(dots)
        axis.tick_params(left=False, bottom=False, labelbottom=nothing_below)
        axis.set_facecolor("0.8")
    for axis in axes.flat[len(dots) :]:
        axis.set_visible(False)
    bar = figure.colorbar(axes[0, 0].collections[0], ax=axes, shrink=0.6, pad=0.02, extend="max")
    bar.set_label("dot product / largest")
    figure.suptitle("Dot products of word embeddings: " + " | ".join(groups))
    return figure


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
            grid.loc[order],
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
