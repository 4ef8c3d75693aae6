"""Figures of the models pretrained here: losses, and the ratios, against tokens seen."""

from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, NullLocator

from onelayer.evidence.figures import MIDDLE, PALETTE, WIDTH, despine, figure
from onelayer.evidence.intervals import mean
from onelayer.evidence.tables import ALL
from onelayer.papers.topic_structure.wikipedia.losses import histories_by_training
from onelayer.papers.topic_structure.wikipedia.over_seeds import SEED
from onelayer.papers.topic_structure.wikipedia.over_tokens import RATIOS, ratios_over_tokens
from onelayer.papers.topic_structure.wikipedia.tables import CHECKPOINTS
from onelayer.settings.models import ModelSettings
from onelayer.settings.topic_structure import NamedModel, by_name

# What each panel shows: the quantity, its label, the loss of not knowing where there is one.
PANELS = (
    ("words_loss", "predicted words\n(nats a word)", None),
    ("sentence_order_loss", "sentence order\n(nats a text)", np.log(2)),
    ("replaced_tokens_loss", "replaced words\n(nats a word)", None),
)
# Beyond so many standard deviations a ratio whose interval lies above 1 is drawn as found.
FOUND = 3.0


def colour_of(model: ModelSettings, place: int) -> str:
    """That of the published row beside which a model stands."""
    colours = dict(zip(CHECKPOINTS, PALETTE, strict=False))
    return colours.get(model.published_as or "", PALETTE[place % len(PALETTE)])


@figure(
    "topic_structure/pretraining_losses",
    "Wikipedia: pretraining",
    "figure: losses",
    reads={"histories": "pretraining_histories"},
    settings={"models": "pretrained_models"},
    made="pretrained_models",
)
def pretraining_losses(histories: list[pd.DataFrame], models: list[NamedModel]) -> Figure:
    """Losses against tokens seen, a panel per kind: lines in training, dots held out.

    A line per seed; dots are means over seeds with Student's 95% interval.
    """
    runs = histories_by_training(models, histories)
    panels = [p for p in PANELS if any((h["quantity"] == p[0]).any() for h in runs.values())]
    figure, axes = plt.subplots(
        1,
        len(panels),
        figsize=(WIDTH + 1, 3.0),
        squeeze=False,
        width_ratios=[1.5, 1, 1][: len(panels)],
    )
    for axis, (quantity, label, ignorance) in zip(axes.flat, panels, strict=True):
        if ignorance is not None:
            axis.axhline(ignorance, color="0.5", linewidth=0.8, linestyle="--")
        for place, model in enumerate(models):
            seeds = [
                rows[rows["quantity"] == quantity]
                for (name, _), rows in runs.items()
                if name == model.name
            ]
            _draw_losses(axis, seeds, model.name, colour_of(model.settings, place))
        axis.set_ylabel(label)
        despine(axis)
    axes[0, 0].set_title("lines: training; dots: held-out articles", loc="left", fontsize=9)
    figure.supxlabel("tokens seen (millions)", fontsize=9)
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside right upper", frameon=False)
    return figure


def _draw_losses(axis: Axes, seeds: Sequence[pd.DataFrame], model: str, colour: str) -> None:
    """One loss of one model, of every seed."""
    for rows in seeds:
        training = rows[rows["split"] == "training"]
        axis.plot(
            training["tokens"] / 1e6, training["value"], color=colour, linewidth=0.8, alpha=0.6
        )
    held_out = [rows[rows["split"] == "held-out"] for rows in seeds]
    if not len(held_out[0]):
        return
    points = [mean(values) for values in zip(*(rows["value"] for rows in held_out), strict=True)]
    half = [point["high"] - point["value"] for point in points]
    axis.errorbar(
        np.mean([rows["tokens"] for rows in held_out], axis=0) / 1e6,
        [point["value"] for point in points],
        yerr=None if np.isnan(half).any() else half,
        color=colour,
        linestyle="",
        marker="o",
        markersize=4,
        capsize=2,
        elinewidth=0.8,
        label=model,
    )


@figure(
    "topic_structure/topic_structure_over_tokens",
    "Wikipedia: pretraining",
    "figure: tokens seen",
    reads={"measures": "measures_over_tokens"},
    settings={"models": "models_over_tokens"},
    made="models_over_tokens",
)
def topic_structure_over_tokens(measures: list[pd.DataFrame], models: list[NamedModel]) -> Figure:
    """Ratio over its null against tokens seen: a row per model, a column per quantity.

    Thick: the mean over seeds with a band for its 95% interval; thin: each seed. Grey: the 95%
    range of the null of that mean. Circles: snapshots on the way; squares: the finished model.
    Filled: `found`. All models share a column's scale.
    """
    table, known = ratios_over_tokens(measures, models), by_name(models)
    names = list(table["model"].unique())
    figure, axes = plt.subplots(
        len(names),
        len(RATIOS),
        figsize=(MIDDLE, 1.1 * len(names) + 1.8),
        sharex=True,
        sharey="col",
        squeeze=False,
    )
    for place, name in enumerate(names):
        colour = colour_of(known[name], place)
        for axis, quantity in zip(axes[place], RATIOS, strict=True):
            rows = table[table["model"] == name].set_index("tokens_seen").sort_index()
            _draw_null(axis, rows[rows["quantity"] == f"{quantity}_null"])
            _draw_model(axis, rows, quantity, colour)
            despine(axis)
        axes[place, 0].set_ylabel(name)
    for axis, label in zip(axes[0], RATIOS.values(), strict=True):
        axis.set_title(label, fontsize=9)
    first = table["tokens_seen"].min()
    axes[-1, 0].set_xscale("log", base=2)
    doublings = int(np.log2(table["tokens_seen"].max() / first))
    axes[-1, 0].set_xticks([first * 2**k for k in range(0, doublings + 1, 2)])
    for axis in axes[-1]:
        axis.xaxis.set_major_formatter(FuncFormatter(tokens_shown))
        axis.xaxis.set_minor_locator(NullLocator())
        axis.set_xlabel("tokens seen (logarithmic)")
    figure.supylabel("ratio / mean of its permutation null", fontsize=9)
    first = table.iloc[0]
    figure.suptitle(f"{first['threshold']} words a topic, {first['overlap']}", fontsize=9)
    marker = {"color": "0.3", "marker": "o", "markersize": 4.5, "linestyle": ""}
    # In grey: colours are the models'.
    handles = [
        Line2D([], [], color="0.3", linewidth=1.8, label="mean over seeds"),
        Patch(color="0.3", alpha=0.35, linewidth=0, label="its 95% interval"),
        Line2D([], [], color="0.3", linewidth=0.7, label="one seed"),
        Patch(color="0.85", label="null of the mean, 95%"),
        Line2D([], [], label=f"z > {FOUND:g} and interval above 1", **marker),
        Line2D([], [], label="not so", **(marker | {"markerfacecolor": "white"})),
        Line2D([], [], label="on the way", **marker),
        Line2D([], [], label="finished model", **(marker | {"marker": "s"})),
    ]
    figure.legend(
        handles=handles, loc="outside lower center", ncols=2, frameon=False,
        fontsize=7.5,
    )  # fmt: skip
    return figure


def tokens_shown(tokens: float, _: int = 0) -> str:
    """Tokens for readers: `64k`, `1.0M`."""
    return f"{tokens / 1e6:.1f}M" if tokens >= 1e6 else f"{tokens / 1e3:.0f}k"


def _draw_null(axis: Axes, null: pd.DataFrame) -> None:
    """The null of the mean over seeds, over its own mean."""
    null = null[null[SEED] == ALL]
    ends = null[["low", "high"]].div(null["value"], axis=0)
    axis.fill_between(null.index, ends["low"], ends["high"], color="0.85", linewidth=0, zorder=0)
    axis.axhline(1, color="0.5", linewidth=0.8, zorder=1)


def _draw_model(axis: Axes, rows: pd.DataFrame, quantity: str, colour: str) -> None:
    shown = rows[rows["quantity"] == f"{quantity}_null_corrected"]
    for _, seed in shown[shown[SEED] != ALL].groupby(SEED, sort=False):
        axis.plot(seed["value"], color=colour, linewidth=0.7, alpha=0.7, zorder=2)
    shown = shown[shown[SEED] == ALL]
    axis.fill_between(
        shown.index, shown["low"], shown["high"], color=colour, alpha=0.2, linewidth=0, zorder=1
    )
    axis.plot(shown["value"], color=colour, linewidth=1.8, zorder=3)
    z = rows.loc[(rows["quantity"] == f"{quantity}_z") & (rows[SEED] == ALL), "value"]
    for tokens, filled in found(shown, z).items():
        axis.plot(
            tokens, shown["value"][tokens], "s" if tokens == shown.index[-1] else "o", color=colour,
            markerfacecolor=colour if filled else "white", markersize=4.5, zorder=4,
        )  # fmt: skip


def found(ratios: pd.DataFrame, z: pd.Series) -> pd.Series:
    """Where a ratio is far above its null, and its whole interval above 1; by tokens seen.

    The second is the stricter where few seeds differ. `ratios` has the `low` of the ratio over its
    null, z is the ratio's distance from it in standard deviations.
    """
    return (z > FOUND) & (ratios["low"] > 1)
