"""Figures of topics, and of the ratios of Li, Li & Risteski (2023) against the topic model."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from onelayer.evidence.figures import MARKERS, PALETTE, WIDTH, despine, figure, plain
from onelayer.papers.topic_structure.wikipedia.choices import FACTOR_NAMES, FACTORS, RATIO, text_of
from onelayer.settings.topic_structure import NamedModel, RobustnessSettings

RATIOS = {
    "attention_ratio": "attention ratio",
    "attention_ratio_distance_standardised": "attention ratio,\nat equal distance",
    "embedding_cosine_ratio": "cosine ratio,\nembedding layer",
    "embedding_raw_cosine_ratio": "cosine ratio,\nraw embeddings",
}
QUALITIES = {
    "npmi": "NPMI of the topics",
    "nmi": "NMI with human topics",
    "share_used": "share of topics used",
}
SHOWN_WORDS = 6  # of a topic
SPREAD = 0.6  # of the distance between two numbers of topics


@figure(
    "topic_structure/topic_model_robustness",
    "Wikipedia: results",
    "figure: topic models compared",
    reads={"quality": "compared_quality", "measures": "compared_measures"},
    settings={"models": "compared_models", "robustness": "topic_structure.robustness"},
    priority=3,
)
def topic_model_robustness(
    quality: list[pd.DataFrame],
    measures: list[pd.DataFrame],
    models: list[NamedModel],
    robustness: RobustnessSettings,
) -> Figure:
    """Ratios above, quality of the topics below, against the number of topics.

    Every topic model is a point: colour for the backend, marker for the probed model, open where
    its weights are random; lines join the means over seeds, bars are 95% bootstrap intervals.
    """
    qualities = pd.concat(quality)
    figure, axes = plt.subplots(2, 4, figsize=(WIDTH, 4.6))
    for axis, (of_ratio, label) in zip(axes[0], RATIOS.items(), strict=True):
        for place, (model, rows) in enumerate(zip(models, measures, strict=True)):
            shown = rows[rows["quantity"] == of_ratio]
            is_open = model.settings.source == "random"
            if is_open and of_ratio.startswith("embedding_raw"):
                continue  # a quotient of two zeros
            _draw(axis, shown, robustness, f"{model.name}, ", MARKERS[place], is_open)
        axis.axhline(1, color="0.5", linewidth=0.8, zorder=0)
        axis.set_title(label, fontsize=9)
    for axis, (of_topics, label) in zip(axes[1, :3], QUALITIES.items(), strict=True):
        shown = qualities[qualities["quantity"] == of_topics.replace("share", "topics")]
        if of_topics == "share_used":
            shown = shown.assign(value=shown["value"] / shown["topics"])
            axis.set_ylim(0, 1.05)
        _draw(axis, shown, robustness, "topics, ", ".", False)
        axis.set_title(label, fontsize=9)
    for axis in axes.flat[:7]:
        axis.set_xticks(range(len(robustness.topics)), robustness.topics)
        axis.set_xlim(-0.5, len(robustness.topics) - 0.5)
    axes[0, 0].set_ylabel("same-topic / different-topic")
    figure.supxlabel("number of topics", fontsize=9)
    legend = axes[1, 3]
    legend.set_axis_off()
    handles, labels = axes[0, 0].get_legend_handles_labels()
    legend.legend(handles, labels, loc="center", title="probed model, topics by", title_fontsize=8)
    despine(*figure.axes)
    return figure


def _draw(
    axis: Axes,
    rows: pd.DataFrame,
    settings: RobustnessSettings,
    prefix: str,
    marker: str,
    is_open: bool,
) -> None:
    step = SPREAD / max(1, len(settings.backends) * len(settings.seeds) - 1)
    for place, backend in enumerate(settings.backends):
        of_backend = rows[rows["backend"] == backend].set_index(["topics", "seed"])
        colour, means = PALETTE[place], []
        face = "white" if is_open else colour
        dots = {"color": colour, "marker": marker, "markersize": 3.5, "markerfacecolor": face}
        for x, topics in enumerate(settings.topics):
            ordered = of_backend.loc[[(topics, seed) for seed in settings.seeds]]
            offset = (np.arange(len(ordered)) + place * len(ordered)) * step - SPREAD / 2
            bars = None
            if "low" in ordered and ordered["low"].notna().all():
                value = ordered["value"]
                bars = np.clip([value - ordered["low"], ordered["high"] - value], 0, None)
            widths = {"markeredgewidth": 0.8, "elinewidth": 0.8}
            axis.errorbar(x + offset, ordered["value"], bars, linestyle="none", **dots, **widths)
            means.append((x + offset.mean(), ordered["value"].mean()))
        line = {"linestyle": ":" if is_open else "-", "linewidth": 1.2}
        axis.plot(*zip(*means, strict=True), color=colour, **line)
        axis.plot([], [], label=f"{prefix}{backend}", **dots, **line)


@figure(
    "topic_structure/topics",
    "Wikipedia: data and topics",
    "figure: topics",
    reads={"words": "measure_topics.words", "shares": "measure_topics.shares"},
)
def topics(words: pd.DataFrame, shares: pd.DataFrame) -> Figure:
    """Each topic's top words beside the human topics of its articles and its prevalence.

    `shares` is empty where the corpus has no human topics.
    """
    import seaborn as sns  # takes a second, and not every figure needs it

    first = words[words["rank"] <= SHOWN_WORDS].sort_values(["topic", "rank"])
    names = first.groupby("topic")["word"].agg(", ".join)
    prevalence = words.groupby("topic")["prevalence"].first()
    grid = shares.pivot(index="topic", columns="label", values="share").fillna(0.0)
    grid = grid.reindex(names.index, fill_value=0.0)
    order = _grouped(grid, prevalence)
    lines, heights = [f"{names[t]}  [{t}]" for t in order], np.arange(len(order)) + 0.5
    panels = 2 if grid.shape[1] else 1
    size, widths = (WIDTH + 1.5, 0.19 * len(names) + 1.6), [2.2, 1][-panels:]
    figure, axes = plt.subplots(1, panels, figsize=size, squeeze=False, width_ratios=widths)
    bars = axes[0, -1]
    if grid.shape[1]:
        bar = {"label": "share of the topic's articles", "location": "top", "shrink": 0.6}
        style = {"cmap": "Blues", "vmin": 0, "vmax": 1, "linewidths": 0.3, "cbar_kws": bar}
        named = grid.loc[order].rename(columns=plain)
        sns.heatmap(named, ax=axes[0, 0], yticklabels=lines, **style)
        axes[0, 0].set(xlabel="human topic", ylabel="")
        axes[0, 0].tick_params(left=False, bottom=False)
        plt.setp(axes[0, 0].get_xticklabels(), rotation=40, ha="right")
        plt.setp(axes[0, 0].get_yticklabels(), fontsize=7)
        bars.set_yticks([])
    else:
        bars.set_yticks(heights, lines, fontsize=7)
    bars.barh(heights, prevalence.loc[order] * 100, color=PALETTE[0])
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


@figure(
    "topic_structure/probe_choices",
    "Wikipedia: results",
    "figure: the probe under all choices",
    reads={"measures": "chosen_measures"},
    settings={"models": "chosen_models"},
)
def figure_probe_choices(measures: list[pd.DataFrame], models: list[NamedModel]) -> Figure:
    """Sorted ratios with their nulls above, which choices were made below; a column per model."""
    figure, axes = plt.subplots(
        2, len(models), figsize=(WIDTH, 6.4), squeeze=False, sharex="col", height_ratios=[1, 1.35]
    )
    for (above, below), rows, model in zip(axes.T, measures, models, strict=True):
        keys = [*FACTORS, "choice"]
        of = {q: rows[rows["quantity"] == q].set_index(keys) for q in (RATIO, f"{RATIO}_null")}
        ratio = of[RATIO].sort_values("value", kind="stable", na_position="first")
        null = of[f"{RATIO}_null"].loc[ratio.index]
        _draw_curve(above, ratio, null)
        above.set_title(model.name, loc="left", fontsize=9)
        _draw_choices(below, ratio.index.to_frame(index=False))
    axes[0, 0].set_ylabel("attention within topics / across topics")
    for axis in axes[:, 1:].flat:
        axis.tick_params(labelleft=False)
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, fontsize=7.5)
    return figure


def _draw_curve(axis: Axes, ratio: pd.DataFrame, null: pd.DataFrame) -> None:
    """Ratios with intervals over articles, and the means and 95% ranges of their nulls."""
    x = np.arange(len(ratio))
    for rows, colour, label in ((null, "0.55", "permuted topics"), (ratio, PALETTE[0], "a choice")):
        axis.vlines(x, rows["low"], rows["high"], color=colour, linewidth=0.5, alpha=0.45)
        axis.plot(x, rows["value"], ".", color=colour, markersize=2, label=label)
    for place, name in enumerate(("ours", "authors")):
        chosen = ratio.index.get_level_values("choice") == name
        axis.plot(
            x[chosen], ratio["value"][chosen], "*D"[place], color=PALETTE[[1, 4][place]],
            markersize=[10, 6][place], markeredgecolor="black", markeredgewidth=0.6,
            label=f"{name.replace('authors', 'the authors')}, to the letter" if place else "ours",
        )  # fmt: skip
    axis.axhline(1, color="0.3", linewidth=0.6, zorder=0)
    axis.set_yscale("log")
    ticks = [t for t in (0.5, 1, 1.5, 2, 3, 4, 6, 8) if t <= np.nanmax(ratio["high"]) * 1.1]
    axis.set_yticks(ticks, [f"{tick:g}" for tick in ticks], minor=False)
    axis.minorticks_off()
    axis.tick_params(labelbottom=False)
    despine(axis)


def _draw_choices(axis: Axes, made: pd.DataFrame) -> None:
    """Which value of each factor a choice has; factors of one value are left out."""
    labels, y = [], 0.0
    for factor in FACTORS:
        values = made[factor].drop_duplicates().tolist()
        if len(values) < 2:
            continue
        for value in sorted(values, key=lambda v: (isinstance(v, str), v)):
            x = np.flatnonzero(made[factor] == value)
            axis.plot(x, np.full(len(x), y), "|", color="0.15", markersize=5, markeredgewidth=0.5)
            labels.append((y, f"{FACTOR_NAMES[factor]}: {text_of(value)}"))
            y -= 1
        y -= 0.6
    if labels:
        axis.set_yticks(*zip(*labels, strict=True), fontsize=7)
    axis.set_xlabel("choices, by ratio")
    despine(axis, left=True)
    axis.tick_params(axis="y", length=0)
