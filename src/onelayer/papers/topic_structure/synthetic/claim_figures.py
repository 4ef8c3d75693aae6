"""Figures of the claims: the gap over settings, the ratio over T, gradients, which comes first."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from onelayer.evidence.figures import COLUMN, MARKERS, MIDDLE, PALETTE, WIDTH, despine, figure
from onelayer.papers.topic_structure.synthetic.figures import LOSSES, OPTIMIZERS
from onelayer.papers.topic_structure.synthetic.gap_grid import BASE

VARIED = {
    "v": "words in a topic, $v$",
    "T": "topics, $T$",
    "p_m": "share selected, $p_m$",
    "p_c": "of it left as it is, $p_c$",
    "tau": "of them together, $\\tau$",
    "d": "dimensions, $d$",
}
PARAMETERS = {"W_V": "$W_V$", "E": "$E = W_E^\\top W_E$"}


@figure(
    "topic_structure/gap_grid",
    "Synthetic: figures",
    "figure: gap over settings",
    reads={"gaps": "solve_gap_grid.gaps"},
)
def gap_grid(gaps: pd.DataFrame) -> Figure:
    """The gap over each of v, T, p_m, p_c, tau and d, a panel each, the theory as a line.

    Args:
        gaps: rows of `gap_grid.gap_grid`.
    """
    gaps = gaps[gaps["selection"] == "proportion"]
    figure, axes = plt.subplots(2, 3, figsize=(MIDDLE, 3.6), sharey=False)
    for axis, (name, label) in zip(axes.flat, VARIED.items(), strict=True):
        own = gaps[gaps["varied"].isin([BASE, name])]
        if name == "d":
            own = own[own["parameter"] == "E"]
        line = own.groupby(name)["expected" if name == "d" else "theory"].first()
        axis.plot(line.index, line, color="0.4", linewidth=1, zorder=0, label="theory")
        for number, (parameter, told) in enumerate(PARAMETERS.items()):
            by = own[own["parameter"] == parameter].groupby(name)["gap"]
            place = by.mean().index.to_numpy(dtype=float)
            shift = 0.012 * (number - 0.5) * np.ptp(line.index.to_numpy(dtype=float))
            axis.plot(
                place + shift,
                by.mean(),
                MARKERS[number],
                color=PALETTE[number],
                markersize=4.2,
                markerfacecolor="none" if number else PALETTE[number],
                label=told,
            )
        axis.set_xlabel(label)
        axis.set_ylim(0, 1.15 * max(line.max(), own["gap"].max()))
        despine(axis)
    for axis in axes[:, 0]:
        axis.set_ylabel("gap")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=3, frameon=False)
    return figure


@figure(
    "topic_structure/ratio_over_topics",
    "Synthetic: figures",
    "figure: ratio against T",
    reads={"ratios": "optimise_attention_over_T.ratios"},
)
def ratio_over_topics(ratios: pd.DataFrame) -> Figure:
    """The optimal ratio against tau for each T, and the theorem's band that holds every point.

    Args:
        ratios: rows of `stage_two.ratio_over_T`.
    """
    defined = ratios[ratios["selection"] == "proportion"]
    figure, axis = plt.subplots(figsize=(COLUMN, 3.2))
    for number, (T, own) in enumerate(defined.groupby("T")):
        by = own.groupby("tau")["ratio"]
        axis.errorbar(
            by.mean().index,
            by.mean(),
            yerr=by.std(),
            marker=MARKERS[number],
            color=PALETTE[number],
            capsize=2,
            label=f"$T = {T}$",
        )
    means = defined.groupby(["T", "tau"])["ratio"].mean().reset_index()
    largest = (means["ratio"] / means["T"]).max()
    for points, style, told in (
        (means, ":", "every point"),
        (means[means["tau"] > 1], "--", "$\\tau > 1$"),
    ):
        lowest, taus = (points["ratio"] / points["tau"]).min(), points["tau"].unique()
        label = f"{lowest:.2f} $\\tau$ ({told})"
        axis.plot(taus, lowest * taus, style, color="0.45", linewidth=1, label=label)
    axis.set(xscale="log", yscale="log", xlabel="topics in a document, $\\tau$")
    axis.set_ylabel("same-topic / different-topic weight")
    taus = np.sort(defined["tau"].unique())
    axis.set_xticks(taus, [f"{tau}" for tau in taus])
    axis.set_xticks([], minor=True)
    axis.set_yticks([1, 2, 5, 10, 20, 50], ["1", "2", "5", "10", "20", "50"])
    axis.set_yticks([], minor=True)
    title = f"mean ± std of {defined['seed'].nunique()} seeds; means at most {largest:.2f} $T$"
    axis.set_title(title, fontsize=8.5)
    figure.legend(loc="outside lower center", ncols=2, frameon=False, fontsize=7.5)
    despine(axis)
    return figure


@figure(
    "topic_structure/stage_gradients",
    "Synthetic: figures",
    "figure: gradients in stage 1",
    reads={"gradients": "measure_stage_gradients.gradients"},
)
def stage_gradients(gradients: pd.DataFrame) -> Figure:
    """Norms of the three gradients over steps, a panel per setting.

    Args:
        gradients: rows of `stage_gradients.stage_gradients`.
    """
    names = list(dict.fromkeys(gradients["name"]))
    figure, axes = plt.subplots(
        1, len(names), figsize=(MIDDLE if len(names) > 1 else COLUMN, 2.7), squeeze=False
    )
    for axis, name in zip(axes.flat, names, strict=True):
        own = gradients[(gradients["name"] == name) & (gradients["diverged_at"] < 0)]
        for number, matrix in enumerate(("W_V", "W_K", "W_Q")):
            style = "--" if matrix == "W_Q" else "-"
            label = f"$|\\nabla_{{W_{matrix[-1]}}}|$"
            _band(axis, own, f"gradient_{matrix}", PALETTE[number], style, label)
        axis.set_yscale("log")
        axis.set_title(name.replace(", ", ",\n", 1), fontsize=9)
        axis.set_xlabel("step")
        despine(axis)
    axes[0, 0].set_ylabel("Frobenius norm")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False)
    return figure


@figure(
    "topic_structure/components_over_steps",
    "Synthetic: figures",
    "figure: which comes first",
    reads={"components": "train_all_components.components"},
)
def components_over_steps(components: pd.DataFrame) -> Figure:
    """E's gap and the attention ratio over steps, a column per loss and optimiser.

    Args:
        components: rows of `components.all_components`.
    """
    through = components[components["diverged_at"] < 0]
    settings = [
        (loss, optimizer)
        for loss in LOSSES
        for optimizer in OPTIMIZERS
        if ((components["loss"] == loss) & (components["optimizer"] == optimizer)).any()
    ]
    figure, axes = plt.subplots(2, len(settings), figsize=(WIDTH, 3.8), squeeze=False, sharex=True)
    for column, (loss, optimizer) in enumerate(settings):
        own = through[(through["loss"] == loss) & (through["optimizer"] == optimizer)]
        for row, measure in enumerate(("gap", "attention")):
            axis = axes[row, column]
            for number, d in enumerate(sorted(own["d"].unique(), reverse=True)):
                style = "-" if number == 0 else "--"
                of_size = own[own["d"] == d]
                _band(axis, of_size, measure, PALETTE[number], style, f"$d = {d}$")
            axis.axhline(row, color="0.6", linewidth=0.8, zorder=0)
            if measure == "attention":  # rounding at uniform attention is not to look like a change
                low, high = axis.get_ylim()
                axis.set_ylim(min(low, 0.95), max(high, 1.05))
            despine(axis)
        axes[0, column].set_title(f"{LOSSES[loss]},\n{OPTIMIZERS[optimizer]}", fontsize=9)
        axes[1, column].set_xlabel("step")
    axes[0, 0].set_ylabel("gap of $E$ between\ndifferent words")
    axes[1, 0].set_ylabel("attention, same topic\nover different topics")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    title = f"median and range of {components['seed'].nunique()} seeds"
    figure.legend(
        handles, labels, loc="outside lower center", ncols=len(labels), frameon=False, title=title
    )
    return figure


def _band(axis: Axes, own: pd.DataFrame, column: str, colour: str, style: str, label: str) -> None:
    """Median over seeds against step, the range shaded."""
    by = own.groupby("step")[column]
    axis.plot(by.median().index, by.median(), style, color=colour, linewidth=1.4, label=label)
    axis.fill_between(by.min().index, by.min(), by.max(), color=colour, alpha=0.2, linewidth=0)
