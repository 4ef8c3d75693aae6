"""The two stages of training, and stage 2's ratio: figures of Li, Li & Risteski (2023)."""

from textwrap import fill

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import BoundaryNorm
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.lines import Line2D

from onelayer.evidence.figures import (
    COLUMN,
    DIVERGING,
    MARKERS,
    MIDDLE,
    PALETTE,
    WIDTH,
    despine,
    figure,
    plain,
)
from onelayer.papers.topic_structure.synthetic.figures import shade_range
from onelayer.papers.topic_structure.synthetic.stages import stage_times

# Colour and line of each; W_K and W_Q often lie on each other.
MATRICES = {"W_V": (PALETTE[0], "-"), "W_K": (PALETTE[1], "-"), "W_Q": (PALETTE[2], "--")}


@figure(
    "topic_structure/two_stage_norms",
    "Synthetic: figures",
    "figure: norms and stages",
    reads={"norms": "train_two_stages.norms"},
)
def two_stage_norms(norms: pd.DataFrame) -> Figure:
    """Norms against step, a panel per setting; the stages of the median run shaded."""
    norms = norms[norms["kind"] == "setting"]
    names = list(dict.fromkeys(norms["name"]))
    times = stage_times(norms)
    rows = -(-len(names) // 2)
    size = (WIDTH, 2.3 * rows + 0.4)
    figure, axes = plt.subplots(rows, 2, figsize=size, squeeze=False, sharex=True)
    for axis in axes.flat[len(names) :]:
        axis.set_axis_off()
    for axis, name in zip(axes.flat, names, strict=False):
        history, runs = norms[norms["name"] == name], times[times["name"] == name]
        if (runs["diverged_at"] < 0).any():
            history = history[history["diverged_at"] < 0]
        last = history["step"].max()
        _shade(axis, runs, last)
        for matrix, (colour, style) in MATRICES.items():
            by_step = history.groupby("step")[matrix]
            low, middle, high = (by_step.quantile(q) for q in (0.1, 0.5, 0.9))
            axis.plot(middle.index, middle, style, color=colour, linewidth=1.4)
            axis.fill_between(low.index, low, high, color=colour, alpha=0.2, linewidth=0)
        axis.set_yscale("log")
        axis.set_ylim(top=2.2 * axis.get_ylim()[1])  # room for the names of the stages
        axis.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
        lost = int((runs["diverged_at"] >= 0).sum())
        note = f"$t_V \\leq t_{{KQ}}$ in {runs['in_order'].sum()} of {len(runs) - lost} runs"
        if lost:
            note += f", {lost} diverged"
        axis.set_title(f"{fill(plain(name), 40)}\n{note}", fontsize=9)
        axis.set_xlim(0, last)
        despine(axis)
    handles = [
        Line2D([], [], color=colour, linestyle=style, label=f"$|{matrix}|_F$")
        for matrix, (colour, style) in MATRICES.items()
    ]
    title = "median and 10–90% of the runs that did not diverge"
    if len(names) % 2:
        title = title.replace(" the", "\nthe")
        axes[-1, -1].legend(handles=handles, loc="center", title=title)
    else:
        figure.legend(handles=handles, title=title, loc="outside lower center", ncols=3)
    figure.supylabel("Frobenius norm", fontsize=9)
    for axis in axes.flat[max(0, len(names) - 2) : len(names)]:
        axis.set_xlabel("step")
        axis.tick_params(labelbottom=True)
    return figure


def _shade(axis: Axes, runs: pd.DataFrame, last: int) -> None:
    """Stage 1 until the median t_V, stage 2 from the median t_KQ, where they come in this order."""
    t_V, t_KQ = runs["t_V"].median(), runs["t_KQ"].median()
    if np.isnan(t_KQ) or t_V > t_KQ:
        return
    for first, end, name, shade in ((0, t_V, "stage 1", "0.9"), (t_KQ, last, "stage 2", "0.82")):
        axis.axvspan(first, end, color=shade, linewidth=0, zorder=0)
        if end - first < 0.15 * last:
            continue  # no room for its name
        text = {"ha": "center", "va": "top", "fontsize": 7, "color": "0.35"}
        axis.text((first + end) / 2, 0.97, name, transform=axis.get_xaxis_transform(), **text)


@figure(
    "topic_structure/two_stage_map",
    "Synthetic: figures",
    "figure: where two stages appear",
    reads={"norms": "train_two_stages.norms"},
)
def two_stage_map(norms: pd.DataFrame) -> Figure:
    """Where W_V is done before W_K begins, over learning rate and initial noise.

    Colour: t_KQ / t_V of the median run. Cells without it say why.
    """
    times = stage_times(norms[norms["kind"] == "map"])
    names = list(dict.fromkeys(times["name"]))
    widths = times.groupby("name", sort=False)["learning_rate"].nunique().to_list()
    noises = {frozenset(runs["noise"]) for _, runs in times.groupby("name")}
    figure, axes = plt.subplots(
        1, len(names), figsize=((0.4 + 0.3 * len(names)) * MIDDLE, 3.0), width_ratios=widths,
        squeeze=False, sharey=len(noises) == 1,
    )  # fmt: skip
    norm = BoundaryNorm([1 / 64, 1 / 16, 1 / 4, 1 / 2, 1, 1.25, 2, 4, 16], 256, extend="both")
    for axis, name in zip(axes.flat, names, strict=True):
        image = _draw_map(axis, times[times["name"] == name], norm)
        axis.set_title(plain(name).replace(", ", ",\n"), fontsize=9)
        axis.set_xlabel("learning rate")
    axes[0, 0].set_ylabel("initial noise")
    seeds = times.groupby(["name", "learning_rate", "noise"])["seed"].nunique()
    few, many = seeds.min(), seeds.max()
    runs = f"medians of {few} to {many} seeds"
    if few == many:
        runs = "one seed each" if few == 1 else f"medians of {few} seeds"
    title = f"a cell: $t_V$ above $t_{{KQ}}$ (steps), {runs}; grey: none to compare"
    figure.suptitle(title, fontsize=8.5)
    bar = figure.colorbar(image, ax=axes, shrink=0.9, pad=0.02)
    bar.set_label("$t_{KQ} / t_V$: two stages above 1")
    bar.set_ticks([1 / 16, 1 / 4, 1, 2, 4, 16], labels=["1/16", "1/4", "1", "2", "4", "16"])
    return figure


def _draw_map(axis: Axes, times: pd.DataFrame, norm: BoundaryNorm) -> AxesImage:
    """One map: a row per noise, a column per learning rate."""
    rates, noises = sorted(times["learning_rate"].unique()), sorted(times["noise"].unique())
    grid = np.full((len(noises), len(rates)), np.nan)
    for row, noise in enumerate(noises):
        for column, rate in enumerate(rates):
            cell = times[(times["noise"] == noise) & (times["learning_rate"] == rate)]
            grid[row, column] = (cell["t_KQ"] / cell["t_V"].replace(0, np.nan)).median()
            dark = grid[row, column] >= 4 or grid[row, column] <= 1 / 16
            text = {"ha": "center", "va": "center", "fontsize": 7}
            axis.text(column, row, cell_text(cell), color="white" if dark else "black", **text)
    image = axis.imshow(grid, cmap=DIVERGING, norm=norm, aspect="auto", origin="lower")
    for edge in range(1, max(len(rates), len(noises))):
        axis.axvline(edge - 0.5, color="white", linewidth=1)
        axis.axhline(edge - 0.5, color="white", linewidth=1)
    axis.set(xlim=(-0.5, len(rates) - 0.5), ylim=(-0.5, len(noises) - 0.5))
    axis.set_facecolor("0.88")
    axis.set_xticks(range(len(rates)), [f"{rate:g}" for rate in rates])
    axis.set_yticks(range(len(noises)), [f"{noise:g}" for noise in noises])
    axis.tick_params(length=0)
    return image


def cell_text(cell: pd.DataFrame) -> str:
    """What a cell of the map says of its runs, rows of `stages.stage_times`.

    Where some diverged or some W_K never moved the times are those of the others, and their number
    stands below.
    """
    if (cell["diverged_at"] >= 0).all():
        return "diverged"
    if cell["t_KQ"].isna().all():
        return "$W_K$ at\nrest"
    if (cell["t_V"] == 0).all():
        return "large\n$W_V$"
    text = f"{cell['t_V'].median():.0f}\n{cell['t_KQ'].median():.0f}"
    timed = (cell["t_KQ"].notna() & (cell["diverged_at"] < 0)).sum()
    return text if timed == len(cell) else f"{text}\n({timed} of {len(cell)})"


@figure(
    "topic_structure/stage_gradients",
    "Synthetic: figures",
    "figure: gradients in stage 1",
    reads={"gradients": "measure_stage_gradients.gradients"},
)
def stage_gradients(gradients: pd.DataFrame) -> Figure:
    """Norms of the three gradients over steps, a panel per setting."""
    names = list(dict.fromkeys(gradients["name"]))
    figure, axes = plt.subplots(
        1, len(names), figsize=(MIDDLE if len(names) > 1 else COLUMN, 2.7), squeeze=False
    )
    for axis, name in zip(axes.flat, names, strict=True):
        runs = gradients[(gradients["name"] == name) & (gradients["diverged_at"] < 0)]
        for matrix, (colour, style) in MATRICES.items():
            label = f"$|\\nabla_{{{matrix}}}|$"
            shade_range(axis, runs, f"gradient_{matrix}", colour, style, label)
        axis.set_yscale("log")
        axis.set_title(name.replace(", ", ",\n", 1), fontsize=9)
        axis.set_xlabel("step")
        despine(axis)
    axes[0, 0].set_ylabel("Frobenius norm")
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return figure


@figure(
    "topic_structure/stage_two_ratio",
    "Synthetic: figures",
    "figure: ratio against tau",
    reads={"ratios": "optimise_topic_attention.ratios"},
    settings={"T": "topic_structure.synthetic.model.T"},
)
def stage_two_ratio(ratios: pd.DataFrame, T: int) -> Figure:
    """The optimal and the trained ratio against tau, with the theorem's band fitted."""
    series = {
        ("optimum", "short"): "optimum",
        ("optimum", "long"): "optimum, long documents",
        ("trained", "short"): "trained $W_K$, $W_Q$",
    }
    figure, axis = plt.subplots(figsize=(COLUMN, 4.0))
    taus = np.array(sorted(ratios["tau"].unique()))
    lowest, highest = theorems_band(ratios)
    axis.fill_between(
        taus, lowest * taus, highest, color="0.9", zorder=0, linewidth=0,
        label=f"theorem's form, every optimum in it: {lowest:.2f} τ to {highest / T:.2f} T",
    )  # fmt: skip
    narrower = theorems_band(ratios[ratios["tau"] > 1])[0]
    axis.plot(
        taus, narrower * taus, ":", color="0.5", linewidth=1, zorder=1,
        label=f"{narrower:.2f} τ: below all points but those of τ = 1",
    )  # fmt: skip
    for number, ((method, documents), label) in enumerate(series.items()):
        points = ratios[(ratios["method"] == method) & (ratios["documents"] == documents)]
        points, shift = points[points["diverged_at"] < 0], 0.06 * (number - 1)
        _mean_and_deviation(axis, points, number, label, shift, linewidth=1.3, capsize=3)
    axis.axhline(1, color="0.5", linewidth=0.8)
    axis.text(taus[-1], 1.1, "every word alike", ha="right", va="bottom", fontsize=7, color="0.4")
    axis.set(xlabel="topics in a document, τ", ylabel="same-topic / different-topic weight")
    axis.set_xticks(taus)
    axis.set_ylim(0, None)
    axis.set_title(f"mean ± std of {ratios['seed'].nunique()} seeds, T = {T}", fontsize=9)
    figure.legend(loc="outside lower center", fontsize=7.5)
    despine(axis)
    return figure


def _mean_and_deviation(
    axis: Axes, points: pd.DataFrame, number: int, label: str, shift: float = 0, **style: float
) -> None:
    """Mean ratio over seeds against tau, with the standard deviation as bars."""
    by_tau = points.groupby("tau")["ratio"]
    axis.errorbar(
        by_tau.mean().index + shift, by_tau.mean(), yerr=by_tau.std().fillna(0),
        marker=MARKERS[number], color=PALETTE[number], label=label, **style,
    )  # fmt: skip


def theorems_band(ratios: pd.DataFrame) -> tuple[float, float]:
    """lambda_1 and lambda_2 T of the narrowest [lambda_1 tau, lambda_2 T] with every optimum in it.

    Documents of one topic, where all words are alike, set lambda_1: with that of tau > 1 they lie
    outside.
    """
    optimum = ratios[ratios["method"] == "optimum"]
    means = optimum.groupby(["documents", "tau"])["ratio"].mean().reset_index()
    return float((means["ratio"] / means["tau"]).min()), float(means["ratio"].max())


@figure(
    "topic_structure/ratio_over_topics",
    "Synthetic: figures",
    "figure: ratio against T",
    reads={"ratios": "optimise_attention_over_T.ratios"},
)
def ratio_over_topics(ratios: pd.DataFrame) -> Figure:
    """The optimal ratio against tau for each T, and the theorem's band that holds every point."""
    defined = ratios[ratios["selection"] == "proportion"]
    figure, axis = plt.subplots(figsize=(COLUMN, 3.2))
    for number, (T, points) in enumerate(defined.groupby("T")):
        _mean_and_deviation(axis, points, number, f"$T = {T}$", capsize=2)
    means = defined.groupby(["T", "tau"])["ratio"].mean().reset_index()
    largest = (means["ratio"] / means["T"]).max()
    for points, style, title in (
        (means, ":", "every point"),
        (means[means["tau"] > 1], "--", "$\\tau > 1$"),
    ):
        lowest, taus = (points["ratio"] / points["tau"]).min(), points["tau"].unique()
        label = f"{lowest:.2f} $\\tau$ ({title})"
        axis.plot(taus, lowest * taus, style, color="0.45", linewidth=1, label=label)
    axis.set(xscale="log", yscale="log", xlabel="topics in a document, $\\tau$")
    axis.set_ylabel("same-topic / different-topic weight")
    taus = np.sort(defined["tau"].unique())
    axis.set_xticks(taus, [f"{tau}" for tau in taus])
    axis.set_xticks([], minor=True)
    axis.set_yticks([1, 2, 5, 10, 20, 50, 100], ["1", "2", "5", "10", "20", "50", "100"])
    axis.set_yticks([], minor=True)
    title = f"mean ± std of {defined['seed'].nunique()} seeds; means at most {largest:.2f} $T$"
    axis.set_title(title, fontsize=8.5)
    figure.legend(loc="outside lower center", ncols=2, fontsize=7.5)
    despine(axis)
    return figure


@figure(
    "topic_structure/over_masks",
    "Synthetic: figures",
    "figure: ratio against masks",
    reads={"ratios": "optimise_attention_over_masks.ratios"},
    made="kept_shares",
)
def over_masks(ratios: pd.DataFrame) -> Figure:
    """The optimal ratio against the share of shown words that are left as they are, by tau."""
    figure, axis = plt.subplots(figsize=(COLUMN, 3.2))
    axis.axhline(1, color="0.5", linewidth=0.8)
    for number, (tau, points) in enumerate(ratios.groupby("tau")):
        by_share = points.groupby("kept")["ratio"]
        axis.errorbar(
            by_share.mean().index, by_share.mean(), yerr=by_share.std(), capsize=2,
            marker=MARKERS[number], color=PALETTE[number], label=f"$\\tau = {tau}$",
        )  # fmt: skip
    axis.set(yscale="log")
    axis.set_xlabel("of words to predict that are not masked,\nshare that show their own word")
    axis.set_ylabel("same-topic / different-topic weight")
    axis.set_yticks([1, 2, 5, 10, 20, 50], ["1", "2", "5", "10", "20", "50"])
    axis.set_yticks([], minor=True)
    axis.set_title(f"mean ± std of {ratios['seed'].nunique()} seeds", fontsize=8.5)
    figure.legend(loc="outside lower center", ncols=3, fontsize=7.5)
    despine(axis)
    return figure
