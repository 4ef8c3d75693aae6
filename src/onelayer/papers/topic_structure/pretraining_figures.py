"""Figures of the models pretrained here: losses, and the ratios, against tokens seen."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullLocator

from onelayer.figures import PALETTE, WIDTH, despine
from onelayer.intervals import mean
from onelayer.papers.topic_structure.over_seeds import SEED
from onelayer.papers.topic_structure.over_tokens import RATIOS
from onelayer.papers.topic_structure.wikipedia import CHECKPOINTS
from onelayer.settings.models import ModelSettings
from onelayer.tables import ALL

# What each panel shows: the quantity, its label, the loss of not knowing where there is one.
PANELS = (
    ("words_loss", "predicted words\n(nats a word)", None),
    ("sentence_order_loss", "sentence order\n(nats a text)", np.log(2)),
    ("replaced_tokens_loss", "replaced words\n(nats a word)", None),
)
# Beyond so many standard deviations a ratio whose interval lies above 1 is drawn as found.
FOUND = 3.0


def _colour(published_as: str | None, place: int) -> str:
    colours = dict(zip(CHECKPOINTS, PALETTE, strict=False))
    return colours.get(published_as or "", PALETTE[place % len(PALETTE)])


def figure_losses(
    histories: Mapping[tuple[str, int], pd.DataFrame], families: Mapping[str, str | None]
) -> Figure:
    """Losses against tokens seen, a panel per kind: lines in training, dots held out.

    A line per seed; dots are means over seeds with Student's 95% interval.
    """
    panels = [p for p in PANELS if any((h["quantity"] == p[0]).any() for h in histories.values())]
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
        for place, (model, published_as) in enumerate(families.items()):
            own = [rows for (name, _), rows in histories.items() if name == model]
            own = [rows[rows["quantity"] == quantity] for rows in own]
            _draw_losses(axis, own, model, _colour(published_as, place))
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


def figure_over_tokens(table: pd.DataFrame, models: Mapping[str, ModelSettings]) -> Figure:
    """Ratio over its null against tokens seen: a row per model, a column per quantity.

    Thick: the mean over seeds with a band for its 95% interval; thin: each seed. Grey: the 95%
    range of the null of that mean. Filled markers: z above 3 and the whole interval above 1, which
    is the stricter one where few seeds differ. Each panel has its own scale.

    Args:
        table: of `assemble`.
        models: settings by model; each has the colour of the published row beside which it stands.
    """
    names = list(table["model"].unique())
    figure, axes = plt.subplots(
        len(names),
        len(RATIOS),
        figsize=(WIDTH, 1.45 * len(names) + 1.2),
        sharex=True,
        squeeze=False,
    )
    for place, name in enumerate(names):
        colour = _colour(models[name].published_as, place)
        for axis, quantity in zip(axes[place], RATIOS, strict=True):
            rows = table[table["model"] == name].set_index("tokens_seen").sort_index()
            _draw_null(axis, rows[rows["quantity"] == f"{quantity}_null"])
            _draw_model(axis, rows, quantity, colour)
            despine(axis)
        axes[place, 0].set_ylabel(f"{name}\nratio / its null")
    for axis, label in zip(axes[0], RATIOS.values(), strict=True):
        axis.set_title(label)
    ticks = sorted({2 ** int(np.log2(t)) for t in table["tokens_seen"]})
    axes[-1, 0].set_xscale("log", base=2)
    axes[-1, 0].set_xticks(ticks)
    for axis in axes[-1]:
        axis.xaxis.set_major_formatter(FuncFormatter(_tokens))
        axis.xaxis.set_minor_locator(NullLocator())
        axis.set_xlabel("tokens seen (powers of two, and the end)")
    first = table.iloc[0]
    figure.suptitle(f"{first['threshold']} words a topic, {first['overlap']}")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False)
    return figure


def _tokens(tokens: float, _: int) -> str:
    return f"{tokens / 1e6:.1f}M" if tokens >= 1e6 else f"{tokens / 1e3:.0f}k"


def _draw_null(axis: Axes, null: pd.DataFrame) -> None:
    """The null of the mean over seeds, over its own mean."""
    null = null[null[SEED] == ALL]
    ends = null[["low", "high"]].div(null["value"], axis=0)
    axis.fill_between(
        null.index, ends["low"], ends["high"], color="0.85", linewidth=0, zorder=0,
        label="null, 95%",
    )  # fmt: skip
    axis.axhline(1, color="0.5", linewidth=0.8, zorder=1)


def _draw_model(axis: Axes, rows: pd.DataFrame, quantity: str, colour: str) -> None:
    shown = rows[rows["quantity"] == f"{quantity}_null_corrected"]
    for place, (_, seed) in enumerate(shown[shown[SEED] != ALL].groupby(SEED, sort=False)):
        label = "one seed" if place == 0 else None
        axis.plot(seed["value"], color=colour, linewidth=0.7, alpha=0.7, zorder=2, label=label)
    shown = shown[shown[SEED] == ALL]
    axis.fill_between(
        shown.index, shown["low"], shown["high"], color=colour, alpha=0.2, linewidth=0, zorder=1,
        label="95% interval",
    )  # fmt: skip
    axis.plot(shown["value"], color=colour, linewidth=1.8, zorder=3, label="mean over seeds")
    z = rows.loc[(rows["quantity"] == f"{quantity}_z") & (rows[SEED] == ALL), "value"]
    found = ((z > FOUND) & (shown["low"] > 1)).to_numpy()
    for chosen, fill, label in ((found, colour, "above its null"), (~found, "white", None)):
        axis.plot(
            shown["value"][chosen], linestyle="", marker="o", color=colour, markerfacecolor=fill,
            markersize=4.5, zorder=4, label=label,
        )  # fmt: skip
