"""Figure: the attention ratio of every head, behind the ratio of all heads together."""

import pandas as pd
from matplotlib.lines import Line2D
from matplotlib.ticker import NullFormatter

from onelayer.evidence.figures import COLUMN, PALETTE, despine, plain, plt
from onelayer.job import job
from onelayer.topic_structure.wikipedia.measure import ALL, ATTENTION
from onelayer.topic_structure.wikipedia.words import tightest

OURS, ALL_HEADS = PALETTE[:2]
RANDOM = "random weights"
TICKS = [0.25, 0.5, 0.75, 1, 1.5, 2, 3, 4, 8]


def draw(heads: dict[str, pd.DataFrame], measures: dict[str, pd.DataFrame]) -> plt.Figure:
    """A panel per model, a line per layer, a dot per head and seed."""
    layers = [rows["layer"].nunique() for rows in heads.values()]
    line = 0.19 if sum(layers) <= 40 else 0.12  # inches
    size = (COLUMN, line * sum(layers) + 0.16 * len(heads) + 1.4)
    shares = [count + 0.3 for count in layers]
    figure, axes = plt.subplots(
        len(heads), 1, figsize=size, sharex=True, squeeze=False, height_ratios=shares
    )
    for axis, (name, rows) in zip(axes.flat, heads.items(), strict=True):
        lines = list(dict.fromkeys(rows["layer"]))
        heights = rows["layer"].map(lines.index)
        axis.axvline(1, color="0.5", linewidth=0.8, zorder=0)
        axis.plot(rows["ratio"], heights, "o", color=OURS, markersize=3, alpha=0.6, zorder=2)
        if name in measures:
            rows = tightest(measures[name]).set_index(["seed", "quantity"])
            together = rows.loc[(ALL, ATTENTION)]
            axis.axvspan(together["low"], together["high"], color=ALL_HEADS, alpha=0.25, lw=0)
            axis.axvline(together["value"], color=ALL_HEADS, linewidth=1.4, zorder=3)
        axis.set(yticks=range(len(lines)), yticklabels=lines, ylim=(len(lines) - 0.35, -0.65))
        axis.tick_params(axis="y", length=0, labelsize=7)
        last = axis is axes[-1, 0]
        label = plain(name.replace("-here", "\ntrained here"))
        axis.set_ylabel(label, rotation=0, ha="right", va="center", fontsize=8)
        axis.set_xscale("log")
        axis.tick_params(axis="x", which="both", length=3 if last else 0)
        despine(axis, bottom=not last)
    left, right = last_limits = axes[-1, 0].get_xlim()
    ticks = [tick for tick in TICKS if left <= tick <= right] or list(last_limits)
    axes[-1, 0].set_xticks(ticks, minor=False)
    axes[-1, 0].xaxis.set_major_formatter("{x:g}")
    axes[-1, 0].xaxis.set_minor_formatter(NullFormatter())
    axes[-1, 0].set_xlabel("attention of one topic / of two")
    handles = [
        Line2D([], [], color=OURS, marker="o", ms=3, ls="", label="one head of one seed"),
        Line2D([], [], color=ALL_HEADS, linewidth=1.4, label="all heads together [95%]"),
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=2, fontsize=7.5)
    trained = [rows["ratio"] for name, rows in heads.items() if name != RANDOM]
    ratios = pd.concat(trained) if trained else pd.Series(dtype=float)
    title = (
        f"{(ratios > 1).sum()} of {len(ratios)} heads of trained models\nabove 1 (number: layer)"
    )
    figure.suptitle(title, fontsize=9)
    return figure


with job(snakemake) as step:
    heads, measures, random = {}, {}, []
    files = zip(snakemake.input.heads, snakemake.input.measures, strict=True)
    for (name, source), (of_heads, of_model) in zip(
        step.settings["models"].items(), files, strict=True
    ):
        measures[name] = pd.read_parquet(of_model).query("way == 'ours'")
        rows = pd.read_parquet(of_heads)
        if source == "random":
            random.append(rows.assign(layer="all"))
        else:
            heads[name] = rows
    if random:
        heads[RANDOM] = pd.concat(random)
    step.save_figure(draw(heads, measures))
