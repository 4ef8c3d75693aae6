"""The figures of the Wikipedia experiment of Li, Li & Risteski (2023)."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from onelayer.figures import DIVERGING, MARKERS, PALETTE, SEQUENTIAL, WIDTH, despine, ratio_norm
from onelayer.papers.topic_structure.over_seeds import SEED
from onelayer.papers.topic_structure.probe.measures import ALL
from onelayer.papers.topic_structure.wikipedia import CHECKPOINTS
from onelayer.settings.models import ModelSettings
from onelayer.settings.topics import AmbiguitySettings

ROWS = {
    "attention_ratio": "attention",
    "embedding_cosine_ratio": "embedding layer,\ncosine",
    "embedding_raw_cosine_ratio": "raw embeddings,\ncosine",
}
PUBLISHED_AS = {"embedding_raw_cosine_ratio": "embedding_cosine_ratio"}


def ratios(
    measures: Mapping[str, pd.DataFrame],
    models: Mapping[str, ModelSettings],
    ambiguity: AmbiguitySettings,
    published: pd.DataFrame,
) -> Figure:
    """Ratio against threshold: a row per quantity, a column per overlap mode.

    Ours: filled markers with 95% intervals, over seeds where a model has several, and a dash for
    each of them. Published: small open markers, one per model. A random model's raw ratio, a
    quotient of two zeros, is left out; of several random models, which all lie at 1, the first is
    drawn.
    """
    overlaps, thresholds = ambiguity.overlaps, ambiguity.thresholds
    figure, axes = plt.subplots(
        len(ROWS),
        len(overlaps),
        figsize=(WIDTH, 2.35 * len(ROWS) + 0.5),
        sharex=True,
        sharey="row",
        squeeze=False,
    )
    colours = _colours(models)
    controls = [name for name in measures if models[name].source == "random"]
    drawn = [name for name in measures if name not in controls[1:]]
    for column, overlap in enumerate(overlaps):
        axes[0, column].set_title(f"{overlap} topics")
        for row, (quantity, label) in enumerate(ROWS.items()):
            axis = axes[row, column]
            theirs = published[
                (published["overlap"] == overlap)
                & (published["quantity"] == PUBLISHED_AS.get(quantity, quantity))
            ].set_index(["model", "threshold"])["published"]
            _draw_published(axis, theirs, [t.published for t in thresholds], colours)
            for place, name in enumerate(drawn):
                rows = measures[name]
                raw = quantity.startswith("embedding_raw")
                if not (raw and models[name].source == "random"):
                    _draw_ours(axis, rows, overlap, quantity, thresholds, name, place, colours)
            _dress(axis, quantity, label if column == 0 else "", thresholds)
    handles = [h for axis in axes.flat for h in axis.get_legend_handles_labels()[0]]
    labels = [h for axis in axes.flat for h in axis.get_legend_handles_labels()[1]]
    unique = dict(zip(labels, handles, strict=True))
    figure.legend(unique.values(), unique.keys(), loc="outside right upper", frameon=False)
    figure.supylabel("same-topic mean / different-topic mean", fontsize=9)
    figure.supxlabel(
        "words kept per topic (ours above, the published share of the vocabulary below)", fontsize=9
    )
    return figure


def _colours(models: Mapping[str, ModelSettings]) -> dict[str, str]:
    """One colour per published row; a model of ours has the colour of the row it stands beside."""
    colours = dict(zip(CHECKPOINTS, PALETTE, strict=False))
    ours = {
        name: colours.get(model.published_as or "", "#000000") for name, model in models.items()
    }
    return colours | ours


def _draw_published(
    axis: Axes, theirs: pd.Series, thresholds: Sequence[float | None], colours: Mapping[str, str]
) -> None:
    for place, model in enumerate(CHECKPOINTS):
        x = np.arange(len(thresholds)) + 0.06 * (place - 2.5)
        y = [theirs.get((model, threshold), np.nan) for threshold in thresholds]
        axis.plot(
            x,
            y,
            linestyle=":",
            linewidth=0.8,
            marker=MARKERS[place],
            markersize=4.5,
            markerfacecolor="white",
            color=colours[model],
            label=f"{model}, paper",
        )


def _draw_ours(axis, rows, overlap, quantity, thresholds, name, place, colours) -> None:
    chosen = rows[(rows["overlap"] == overlap) & (rows["quantity"] == quantity)]
    x = np.arange(len(thresholds)) + 0.2 + 0.04 * place
    by_seed = chosen.pivot(index="threshold", columns=SEED, values="value")
    seeds = by_seed.drop(columns=ALL).loc[[t.label for t in thresholds]]
    axis.plot(
        x, seeds, linestyle="", marker="_", markersize=5, markeredgewidth=0.8, color="black",
        zorder=4,
    )  # fmt: skip
    chosen = chosen[chosen[SEED] == ALL].set_index("threshold").loc[[t.label for t in thresholds]]
    below, above = chosen["value"] - chosen["low"], chosen["high"] - chosen["value"]
    axis.errorbar(
        x,
        chosen["value"],
        yerr=np.clip([below, above], 0, None),
        marker=MARKERS[place % len(MARKERS)],
        markersize=6,
        markeredgecolor="black",
        markeredgewidth=0.6,
        linewidth=1.8,
        capsize=3,
        color=colours[name],
        label=f"{name}, ours [95%]",
        zorder=3,
    )


def _dress(axis: Axes, quantity: str, label: str, thresholds: Sequence) -> None:
    axis.axhline(1, color="0.5", linewidth=0.8, zorder=0)
    axis.set_ylabel(label)
    axis.set_xticks(
        np.arange(len(thresholds)),
        [f"{t.label}\n{t.published:g}" if t.published else t.label for t in thresholds],
    )
    axis.set_xlim(-0.35, len(thresholds) - 0.48)
    if quantity != "attention_ratio":
        axis.set_yscale("log")
        axis.set_yticks([1, 2, 4, 8], minor=False)
        if axis.get_ylim()[0] < 0.5:  # the interval of few seeds that differ may reach 0
            axis.set_ylim(bottom=0.5)
        axis.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axis.yaxis.set_minor_formatter(FuncFormatter(lambda *_: ""))
    despine(axis)


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
