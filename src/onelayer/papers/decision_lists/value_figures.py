"""Figures of training V alone, and W and V together; the paper has none of its own."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import NullFormatter, NullLocator

from onelayer.evidence.figures import DIVERGING, MARKERS, MIDDLE, PALETTE, despine, figure
from onelayer.papers.decision_lists.data import list_length

CEILING = {"marker": "_", "markersize": 9, "color": "black", "linestyle": "none", "zorder": 4}
LISTS = ["L", "n", "m", "shortest"]
STRIP = 1.45  # each line of the strip of runs that were not perfect: times as many steps


@figure(
    "decision_lists/value_from_uniform_attention",
    "V, and W and V together",
    "figure: V alone",
    reads={
        "history": "train_decision_list_value.history",
        "ceilings": "train_decision_list_value.ceilings",
        "values": "train_decision_list_value.values",
    },
)
def value_from_uniform_attention(
    history: pd.DataFrame, ceilings: pd.DataFrame, values: pd.DataFrame
) -> Figure:
    """V alone at W = 0: argmax accuracy and centred cosine over steps, V, and what it solves."""
    figure, axes = plt.subplots(2, 2, figsize=(MIDDLE, 5.4))
    sizes = list(history.groupby(LISTS, sort=False))
    # Most of the first lie at 1 from the first step on: the widest is drawn first.
    widths = np.linspace(3.8, 0.9, len(sizes))
    for axis, column, label, wide in (
        (axes[0, 0], "argmax_accuracy", "share of tokens b whose\nargmax of V[., b] is π(b)", True),
        (axes[0, 1], "centred_cosine", "centred cosine of V and P", False),
    ):
        for place, (_size, rows) in enumerate(sizes):
            style = {"color": PALETTE[place % 6], "linewidth": widths[place] if wide else 0.9}
            for _seed, path in rows.groupby("seed"):
                axis.plot(path["step"], path[column], **style)
        axis.set(ylim=(0, 1.05), xlabel="steps on V", ylabel=label)
        _steps_axis(axis, history["step"].max())
        despine(axis)
    _draw_solved(axes[1, 0], solved_share(history, ceilings))
    _draw_value(axes[1, 1], values)
    handles = []
    for place, (size, _) in enumerate(sizes):
        label = "L = {}, n = {}, m = {}".format(*_sizes(*size))
        handles.append(Line2D([], [], label=label, linewidth=widths[place], **_style(place, 4)))
    handles.append(Line2D([], [], label="most that any V can, of each seed", **CEILING))
    figure.legend(handles=handles, loc="outside lower center", ncols=2)
    return figure


def _style(place: int, markersize: float) -> dict[str, object]:
    """Colour and marker of what comes at a place."""
    return {"color": PALETTE[place % 6], "marker": MARKERS[place % 7], "markersize": markersize}


def solved_share(history: pd.DataFrame, ceilings: pd.DataFrame) -> pd.DataFrame:
    """Task accuracy at the last step, and the largest that any V can have, of each problem.

    Columns `LISTS`, seed, `task_accuracy`, `task_accuracy_ceiling`, in the order of `history`.
    """
    keys = [*LISTS, "seed"]
    last = history.groupby(keys, sort=False).tail(1)[[*keys, "task_accuracy"]]
    return last.merge(ceilings, on=keys, how="left", validate="one_to_one")


def _draw_solved(axis: Axes, problems: pd.DataFrame) -> None:
    """Accuracy of every problem beside its own ceiling, size by size."""
    middles, names = [], []
    for place, (size, rows) in enumerate(problems.groupby(LISTS, sort=False)):
        x = rows.index + 1.5 * place
        axis.plot(x, rows["task_accuracy_ceiling"], **CEILING)
        axis.plot(x, rows["task_accuracy"], linestyle="none", **_style(place, 4))
        middles.append(x.to_numpy().mean())
        names.append("L {0}\nm {2}".format(*_sizes(*size)).replace(" to ", "–"))
    axis.axhline(1, color="0.6", linewidth=0.8, zorder=0)
    axis.set(ylim=(0, 1.05), ylabel="task accuracy at the end", xlabel="problems, one mark a seed")
    axis.set_xticks(middles, names)
    despine(axis)


def _draw_value(axis: Axes, values: pd.DataFrame) -> None:
    first = values[[*LISTS, "seed"]].iloc[0]
    values = values[(values[first.index] == first).all(axis=1)]
    grid = values.pivot(index="row", columns="column", values="value")
    bound = np.abs(grid.to_numpy()).max()
    image = axis.imshow(grid, cmap=DIVERGING, vmin=-bound, vmax=bound)
    axis.set(xlabel="token b", ylabel="label π(b')", xticks=[], yticks=[])
    size = "L = {}, n = {}, m = {}".format(*_sizes(*first[LISTS]))
    axis.set_title(f"V at the end, first seed of\n{size}", fontsize=8)
    axis.figure.colorbar(image, ax=axis, shrink=0.8, label="V")


@figure(
    "decision_lists/joint_training",
    "V, and W and V together",
    "figure: W and V together",
    reads={
        "near": "train_decision_list_joint.near",
        "small": "train_decision_list_joint.small",
        "small_history": "train_decision_list_joint.small_history",
    },
)
def joint_training(near: pd.DataFrame, small: pd.DataFrame, small_history: pd.DataFrame) -> Figure:
    """Steps to perfect against epsilon near cP, and accuracy over steps from small random starts.

    Near cP only sizes with several epsilons are drawn, where there are some.
    """
    figure, (left, right) = plt.subplots(1, 2, figsize=(1.15 * MIDDLE, 4.1))
    _draw_near(left, near)
    columns, deviations = [*LISTS, "optimiser", "eta", "deviation"], small["deviation"].unique()
    for place, (key, runs) in enumerate(small.groupby(columns, sort=False)):
        (*size, optimiser, eta, deviation), style = key, _style(place, 4)
        paths = small_history[(small_history[columns] == list(key)).all(axis=1)]
        for _seed, path in paths.groupby("seed"):
            right.plot(path["step"], path["accuracy"], color=style["color"], linewidth=0.9)
            last = path.iloc[-1:]
            right.plot(last["step"], last["accuracy"], clip_on=False, **style)
        name = {"gd": "GD", "adam": "Adam"}[optimiser]
        steps, seeds = runs["first_perfect"], f"{len(runs)} seed" + "s" * (len(runs) > 1)
        perfect = "not all perfect" if steps.isna().any() else f"≤ {steps.max():.0f} steps"
        label = "{} {:.15g}, L {}, n {}, m {}".format(name, eta, *_sizes(*size))
        label += f", σ {deviation:.15g}" if len(deviations) > 1 else ""
        right.plot([], [], label=f"{label}: {perfect}, {seeds}", **style)
    right.set_ylim(0, 1.05)
    _steps_axis(right, small_history["step"].max())
    right.set(xlabel="steps, to the first perfect one", ylabel="strict accuracy, all sequences")
    width = f"{deviations[0]:.15g}" if len(deviations) == 1 else "σ"
    right.set_title(f"W and V from N(0, {width}²)")
    for axis in (left, right):
        below = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.17)}
        axis.legend(fontsize=7.5, ncols=1, **below)
        despine(axis)
    return figure


def _draw_near(axis: Axes, near: pd.DataFrame) -> None:
    """Steps of runs that were perfect; how many were not, in a strip above the last step."""
    columns = [*LISTS, "scale"]
    swept = near[near.groupby(columns)["epsilon"].transform("nunique") > 1]
    shown = swept if len(swept) else near
    kinds = list(shown.groupby(columns, sort=False))
    steps = shown["steps"].max()
    for place, ((*size, scale), rows) in enumerate(kinds):
        style = _style(place, 3.5)
        # Seeds and settings side by side, not on each other.
        x = rows["epsilon"] * 1.04 ** (place - (len(kinds) - 1) / 2)
        perfect = rows["first_perfect"].notna()
        mean = rows[perfect].groupby(x[perfect])["first_perfect"].mean()
        axis.plot(mean.index, mean, color=style["color"], linewidth=1.2)
        axis.plot(x[perfect], rows["first_perfect"][perfect], linestyle="none", **style)
        label = "L {}, n {}, m {}, c of ".format(*_sizes(*size))
        axis.plot([], [], label=label + scale.replace("theorem_", "Theorem "), **style)
        text = {"color": style["color"], "fontsize": 7, "ha": "center", "va": "center"}
        for epsilon, (missed, runs) in unfinished(rows).iterrows():
            if missed:
                height = steps * STRIP ** (place + 0.65)
                axis.text(epsilon, height, f"{missed:.0f}/{runs:.0f}", **text)
    axis.set(xscale="log", yscale="log", ylim=(1.5, steps))
    if shown["first_perfect"].isna().any():
        top = steps * STRIP ** (len(kinds) + 0.3)
        axis.axhspan(steps, top, color="0.92", linewidth=0, zorder=0)
        axis.set_ylim(top=top)
        axis.fill_between([], [], color="0.92", label=f"runs not perfect in {steps} steps, of all")
    axis.xaxis.set_major_formatter("{x:g}")
    axis.set_yticks([tick for tick in (2, 5, 10, 20, 50, 100, 200, 500, 1000) if tick <= steps])
    axis.yaxis.set_major_formatter("{x:g}")
    axis.yaxis.set_minor_locator(NullLocator())
    axis.set(xlabel="ε: width of the noise on V = cP", title="W and V near cP, W = 0")
    axis.set_ylabel("steps to perfect, η = 1 / $\\lambda_{max}$")


def _sizes(L: int, n: int, m: int, shortest: int) -> tuple[int, int, int | str]:
    """L, n and how long lists are, for readers."""
    return L, n, list_length(m, shortest)


def unfinished(runs: pd.DataFrame) -> pd.DataFrame:
    """By `epsilon`: runs that were not perfect at the last step (`missed`), and all (`runs`)."""
    by = runs["first_perfect"].isna().groupby(runs["epsilon"])
    return pd.DataFrame({"missed": by.sum(), "runs": by.size()})


def _steps_axis(axis: Axes, last: int) -> None:
    """Logarithmic from step 1 on, with step 0 beside it."""
    axis.set_xscale("symlog", linthresh=1)
    axis.set_xlim(0, last)
    ticks = [t for t in (0, 1, 3, 10, 30, 100, 300, 1000, 3000) if t <= last]
    axis.set_xticks(ticks, [str(tick) for tick in ticks])
    axis.xaxis.set_minor_formatter(NullFormatter())
