"""Figure of removed heads: how much the loss on words grows without them."""

from collections.abc import Mapping

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from onelayer.evidence.figures import COLUMN, MARKERS, PALETTE, despine, figure
from onelayer.evidence.tables import ALL
from onelayer.papers.topic_structure.wikipedia.head_removal import (
    LARGEST,
    OTHER,
    OTHERS,
    REMOVALS,
    SAME_TOPIC,
    assemble,
    reasons,
)
from onelayer.settings.probe import UncertaintySettings
from onelayer.settings.topic_structure import NamedModel, by_name

LABELS = dict(
    zip(
        (LARGEST, *OTHERS),
        ("largest topic ratios", "random others", "others of the same layers"),
        strict=True,
    )
)
WORDS = {SAME_TOPIC: "same topic", OTHER: "other words"}
TITLES = dict(zip(REMOVALS, ("heads give nothing", "heads attend uniformly"), strict=True))


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
    """How much worse words are predicted without the heads of the largest ratios, and others."""
    known = by_name(models)
    measured = dict(zip(known, losses, strict=True))
    return figure_removal(assemble(measured, known, uncertainty), reasons(measured))


def figure_removal(table: pd.DataFrame, reasons: Mapping[str, str]) -> Figure:
    """Increase of the loss without heads: a panel per kind of removal, two rows per model.

    Where no model predicts words, the figure says why.

    Args:
        table: of `head_removal.assemble`.
        reasons: why nothing was measured, by model.
    """
    shown = table[(table["seed"] == ALL) & table["quantity"].str.startswith("increase_")]
    names = list(shown["model"].unique())
    if not names:
        figure = plt.figure(figsize=(COLUMN, 1.0))
        said = "\n".join(f"{model}: {reason}" for model, reason in reasons.items())
        figure.text(0.5, 0.5, said, ha="center", va="center", wrap=True, fontsize=7)
        return figure
    figure, axes = plt.subplots(
        len(REMOVALS), 1, figsize=(COLUMN, 1.2 + 0.85 * max(2, len(names))), sharex=True
    )
    for axis, removal in zip(axes, REMOVALS, strict=True):
        _draw(axis, shown[shown["removal"] == removal], names)
        axis.set_title(TITLES[removal], loc="left", fontsize=9)
        despine(axis)
    axes[-1].set_xlabel("increase of the loss (nats a word)")
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=2, frameon=False, fontsize=7.5)
    return figure


def _draw(axis: Axes, rows: pd.DataFrame, names: list[str]) -> None:
    places = {(name, words): 2.5 * i + j for i, name in enumerate(names) for j, words in
              enumerate(WORDS)}  # fmt: skip
    for number, (chosen, label) in enumerate(LABELS.items()):
        own = rows[(rows["quantity"] == f"increase_{chosen}") & rows["words"].isin(WORDS)]
        heights = [places[key] for key in zip(own["model"], own["words"], strict=True)]
        axis.errorbar(
            own["value"],
            [height + 0.26 * (number - 1) for height in heights],
            xerr=[own["value"] - own["low"], own["high"] - own["value"]],
            color=PALETTE[number],
            marker=MARKERS[number],
            markersize=3.5,
            linestyle="",
            elinewidth=0.9,
            label=label,
        )
    axis.axvline(0, color="0.6", linewidth=0.8, zorder=0)
    ticks = {
        places[name, words]: f"{name}: {text}" if words == SAME_TOPIC else text
        for name in names
        for words, text in WORDS.items()
    }
    axis.set_yticks(list(ticks), list(ticks.values()), fontsize=7)
    axis.invert_yaxis()
