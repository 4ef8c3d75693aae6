"""Figures of the models pretrained here: losses, and the ratios, against tokens seen."""

from collections.abc import Mapping

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullLocator

from onelayer.figures import MARKERS, PALETTE, WIDTH, despine
from onelayer.papers.topic_structure.over_tokens import RATIOS
from onelayer.papers.topic_structure.wikipedia import CHECKPOINTS

# What each panel shows: the quantity, its label, the loss of not knowing where there is one.
PANELS = (
    ("words_loss", "predicted words\n(nats a word)", None),
    ("sentence_order_loss", "sentence order\n(nats a text)", np.log(2)),
    ("replaced_tokens_loss", "replaced words\n(nats a word)", None),
)
# Beyond so many standard deviations of the null a ratio is drawn as found.
FOUND = 3.0


def _colour(published_as: str | None, place: int) -> str:
    colours = dict(zip(CHECKPOINTS, PALETTE, strict=False))
    return colours.get(published_as or "", PALETTE[place % len(PALETTE)])


def figure_losses(
    histories: Mapping[tuple[str, int], pd.DataFrame], families: Mapping[str, str | None]
) -> Figure:
    """Losses against tokens seen, a panel per kind: lines in training, dots held out."""
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
        for place, ((model, seed), history) in enumerate(histories.items()):
            colour = _colour(families[model], place)
            rows = history[history["quantity"] == quantity]
            training, held_out = (rows[rows["split"] == s] for s in ("training", "held-out"))
            first = seed == min(s for name, s in histories if name == model)
            axis.plot(
                training["tokens"] / 1e6, training["value"], color=colour, linewidth=0.9, alpha=0.7
            )
            axis.plot(
                held_out["tokens"] / 1e6,
                held_out["value"],
                color=colour,
                linestyle="",
                marker="o",
                markersize=4,
                label=model if first and len(rows) else None,
            )
        axis.set_ylabel(label)
        despine(axis)
    axes[0, 0].set_title("lines: training; dots: held-out articles", loc="left", fontsize=9)
    figure.supxlabel("tokens seen (millions)", fontsize=9)
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside right upper", frameon=False)
    return figure


def figure_over_tokens(table: pd.DataFrame, families: Mapping[str, str | None]) -> Figure:
    """Ratio over its null against tokens seen, a panel per quantity, a line per model.

    Bars: 95% intervals. Grey: the widest 95% range of the null. Filled markers: z above 3.

    Args:
        table: of `assemble`.
        families: by model, the published row whose colour it has.
    """
    figure, axes = plt.subplots(len(RATIOS), 1, figsize=(WIDTH, 5.4), sharex=True)
    for axis, (quantity, label) in zip(axes, RATIOS.items(), strict=True):
        rows = table[table["quantity"].str.startswith(quantity)]
        _draw_null(axis, rows, quantity)
        for place, (name, ours) in enumerate(rows.groupby("model", sort=False)):
            _draw_model(axis, ours, quantity, name, place, _colour(families[name], place))
        axis.set_ylabel(f"{label}\nratio / its null")
        despine(axis)
    ticks = sorted({2 ** int(np.log2(t)) for t in table["tokens_seen"]})
    axes[-1].set_xscale("log", base=2)
    axes[-1].set_xticks(ticks)
    axes[-1].xaxis.set_major_formatter(FuncFormatter(lambda tokens, _: f"{tokens:,.0f}"))
    axes[-1].xaxis.set_minor_locator(NullLocator())
    axes[-1].set_xlabel("tokens seen in pretraining (powers of two, and the end)")
    first = table.iloc[0]
    axes[0].set_title(f"{first['threshold']} words a topic, {first['overlap']}")
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside right upper", frameon=False)
    return figure


def _draw_null(axis: Axes, rows: pd.DataFrame, quantity: str) -> None:
    null = rows[rows["quantity"] == f"{quantity}_null"]
    spread = (null[["low", "high"]].div(null["value"], axis=0) - 1).abs().to_numpy().max()
    axis.axhspan(1 - spread, 1 + spread, color="0.9", zorder=0, label="null, 95%")
    axis.axhline(1, color="0.5", linewidth=0.8, zorder=1)


def _draw_model(
    axis: Axes, ours: pd.DataFrame, quantity: str, name: str, place: int, colour: str
) -> None:
    by = ours.pivot(index="tokens_seen", columns="quantity", values="value").sort_index()
    shown = ours[ours["quantity"] == f"{quantity}_null_corrected"].set_index("tokens_seen")
    shown = shown.sort_index()
    x = shown.index.to_numpy() * 2 ** (0.04 * (place - 2))  # side by side, not on top of each other
    below, above = shown["value"] - shown["low"], shown["high"] - shown["value"]
    axis.errorbar(
        x, shown["value"], yerr=np.clip([below, above], 0, None), color=colour, linewidth=1.5,
        capsize=2, elinewidth=0.8, zorder=2,
    )  # fmt: skip
    found = (by[f"{quantity}_z"] > FOUND).to_numpy()
    for chosen, fill in ((found, colour), (~found, "white")):
        axis.plot(
            x[chosen], shown["value"][chosen], linestyle="", marker=MARKERS[place % len(MARKERS)],
            color=colour, markerfacecolor=fill, markersize=5.5, zorder=3,
        )  # fmt: skip
    axis.plot([], [], color=colour, marker=MARKERS[place % len(MARKERS)], label=name)
