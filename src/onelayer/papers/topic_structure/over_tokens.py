"""When does topic structure appear? The ratios of models pretrained here against tokens seen."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullLocator

from onelayer.figures import MARKERS, PALETTE, WIDTH
from onelayer.papers.topic_structure.wikipedia import CHECKPOINTS
from onelayer.tables import interval, judge, number, tidy

KEYS = ["model", "tokens_seen", "overlap", "threshold"]
RATIOS = {
    "attention_ratio": "attention",
    "embedding_cosine_ratio": "embedding layer, cosine",
}
SUFFIXES = ("", "_null", "_null_corrected", "_z")
QUANTITIES = [f"{ratio}{suffix}" for ratio in RATIOS for suffix in SUFFIXES]
# Beyond so many standard deviations of the null a ratio is drawn as found.
FOUND = 3.0


def assemble(measures: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """The ratios of every model at every snapshot, tidy.

    Args:
        measures: rows of `onelayer.probe.snapshots` by model.
    """
    parts = [rows.assign(model=name) for name, rows in measures.items()]
    table = pd.concat(parts, ignore_index=True).rename(columns={"tokens": "tokens_seen"})
    return judge(tidy(table[table["quantity"].isin(QUANTITIES)], KEYS))


def readable(table: pd.DataFrame) -> pd.DataFrame:
    """One row per model and snapshot."""
    rows = []
    for (model, tokens), group in table.groupby(["model", "tokens_seen"], sort=False):
        by = group.set_index("quantity")
        row = {"model": model, "tokens seen": f"{tokens:,}"}
        for quantity, name in RATIOS.items():
            ours = by.loc[f"{quantity}_null_corrected"]
            row[f"{name}: ratio / null [95%]"] = interval(
                ours["value"], ours["low"], ours["high"], 3
            )
            row[f"{name}: z"] = number(by.loc[f"{quantity}_z", "value"], 1)
        rows.append(row)
    return pd.DataFrame(rows)


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
        sns.despine(ax=axis)
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


def _colour(published_as: str | None, place: int) -> str:
    colours = dict(zip(CHECKPOINTS, PALETTE, strict=False))
    return colours.get(published_as or "", PALETTE[place % len(PALETTE)])


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


def read_measures(names: Sequence[str], files: Sequence[Path]) -> dict[str, pd.DataFrame]:
    """Measures by model, from one Parquet file each in the same order."""
    return {name: pd.read_parquet(path) for name, path in zip(names, files, strict=True)}
