"""The ratios of Li, Li & Risteski (2023) against the topic model, as a figure."""

from collections.abc import Mapping

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from onelayer.evidence.figures import MARKERS, PALETTE, WIDTH, despine, figure
from onelayer.settings.models import ModelSettings
from onelayer.settings.topic_structure import NamedModel, RobustnessSettings, by_name

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
    """The ratios, and the quality of the topics, against the topic model."""
    known = by_name(models)
    measured = dict(zip(known, measures, strict=True))
    return topic_models(measured, pd.concat(quality), known, robustness)


def topic_models(
    measures: Mapping[str, pd.DataFrame],
    quality: pd.DataFrame,
    models: Mapping[str, ModelSettings],
    settings: RobustnessSettings,
) -> Figure:
    """Ratios above, quality of the topics below, against the number of topics.

    Every topic model is a point: colour for the backend, marker for the probed model, open where
    its weights are random; lines join the means over seeds, bars are 95% bootstrap intervals.
    """
    figure, axes = plt.subplots(2, 4, figsize=(WIDTH, 4.6))
    for axis, (quantity, label) in zip(axes[0], RATIOS.items(), strict=True):
        for place, (name, rows) in enumerate(measures.items()):
            shown = rows[rows["quantity"] == quantity]
            is_open = models[name].source == "random"
            if is_open and quantity.startswith("embedding_raw"):
                continue  # a quotient of two zeros
            _draw(axis, shown, settings, f"{name}, ", MARKERS[place], is_open)
        axis.axhline(1, color="0.5", linewidth=0.8, zorder=0)
        axis.set_title(label, fontsize=9)
    for axis, (quantity, label) in zip(axes[1, :3], QUALITIES.items(), strict=True):
        shown = quality[quality["quantity"] == quantity.replace("share", "topics")]
        if quantity == "share_used":
            shown = shown.assign(value=shown["value"] / shown["topics"])
            axis.set_ylim(0, 1.05)
        _draw(axis, shown, settings, "topics, ", ".", False)
        axis.set_title(label, fontsize=9)
    for axis in axes.flat[:7]:
        axis.set_xticks(range(len(settings.topics)), settings.topics)
        axis.set_xlim(-0.5, len(settings.topics) - 0.5)
    axes[0, 0].set_ylabel("same-topic / different-topic")
    figure.supxlabel("number of topics", fontsize=9)
    legend = axes[1, 3]
    legend.set_axis_off()
    handles, labels = axes[0, 0].get_legend_handles_labels()
    legend.legend(
        handles,
        labels,
        loc="center",
        frameon=False,
        title="probed model, topics by",
        title_fontsize=8,
    )
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
        own = rows[rows["backend"] == backend].set_index(["topics", "seed"])
        colour, means = PALETTE[place], []
        for x, topics in enumerate(settings.topics):
            ordered = own.loc[[(topics, seed) for seed in settings.seeds]]
            offset = (np.arange(len(ordered)) + place * len(ordered)) * step - SPREAD / 2
            bars = None
            if "low" in ordered and ordered["low"].notna().all():
                value = ordered["value"]
                bars = np.clip([value - ordered["low"], ordered["high"] - value], 0, None)
            axis.errorbar(
                x + offset,
                ordered["value"],
                yerr=bars,
                linestyle="none",
                marker=marker,
                markersize=3.5,
                markerfacecolor="white" if is_open else colour,
                markeredgewidth=0.8,
                elinewidth=0.8,
                color=colour,
            )
            means.append((x + offset.mean(), ordered["value"].mean()))
        line = ":" if is_open else "-"
        axis.plot(*zip(*means, strict=True), color=colour, linewidth=1.2, linestyle=line)
        key = {"marker": marker, "markersize": 3.5, "linestyle": line, "linewidth": 1.2}
        face = "white" if is_open else colour
        axis.plot([], [], color=colour, markerfacecolor=face, label=f"{prefix}{backend}", **key)
