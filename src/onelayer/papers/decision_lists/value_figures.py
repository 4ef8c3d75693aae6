"""Figures of training V alone, and W and V together; the paper has none of its own."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import NullFormatter

from onelayer.figures import DIVERGING, MARKERS, PALETTE, WIDTH, despine
from onelayer.papers.decision_lists.figures import BOUND, label_log_axis, of_size


def value_from_uniform_attention(
    history: pd.DataFrame, ceilings: pd.DataFrame, values: pd.DataFrame
) -> Figure:
    """V alone at W = 0: argmax accuracy, centred cosine and task accuracy over steps, and V itself.

    Args:
        history: `starts.value_history` of every problem.
        ceilings: L, n, m, seed and `task_accuracy_ceiling`.
        values: `starts.value_in_label_order` of every problem; the first is drawn.
    """
    figure, axes = plt.subplots(2, 2, figsize=(WIDTH, 5.2))
    sizes = list(history.groupby(["L", "n", "m"], sort=False))
    for axis, (column, label) in zip(
        axes.flat,
        (
            ("argmax_accuracy", "argmax of V[., b] is π(b)\n(share of tokens b)"),
            ("centred_cosine", "centred cosine of V and P"),
            ("task_accuracy", "task accuracy"),
        ),
        strict=False,
    ):
        for place, (size, rows) in enumerate(sizes):
            for _seed, path in rows.groupby("seed"):
                axis.plot(path["step"], path[column], color=PALETTE[place % 6], linewidth=1)
            if column == "task_accuracy":
                mean = of_size(ceilings, size)["task_accuracy_ceiling"].mean()
                axis.axhline(mean, **(BOUND | {"color": PALETTE[place % 6]}))
        axis.set_ylim(0, 1.05)
        _steps_axis(axis, history["step"].max())
        axis.set_xlabel("steps of gradient descent on V")
        axis.set_ylabel(label)
        despine(axis)
    first = values[["L", "n", "m", "seed"]].iloc[0]
    values = values[(values[first.index] == first).all(axis=1)]
    grid = values.pivot(index="row", columns="column", values="value")
    bound = np.abs(grid.to_numpy()).max()
    image = axes[1, 1].imshow(grid, cmap=DIVERGING, vmin=-bound, vmax=bound)
    axes[1, 1].set_xlabel("token b")
    axes[1, 1].set_ylabel("label π(b')")
    axes[1, 1].set_title(
        "V at the end, L = {L}, n = {n}, m = {m}, seed {seed}".format(**first),
        fontsize=8.5,
    )
    axes[1, 1].set_xticks([])
    axes[1, 1].set_yticks([])
    figure.colorbar(image, ax=axes[1, 1], shrink=0.8, label="V")
    handles = [
        Line2D([], [], color=PALETTE[i % 6], label="L = {}, n = {}, m = {}".format(*size))
        for i, (size, _) in enumerate(sizes)
    ]
    handles.append(Line2D([], [], label="most that any V can at W = 0", **BOUND))
    figure.legend(handles=handles, loc="outside lower center", ncols=3, frameon=False)
    return figure


def joint_training(near: pd.DataFrame, small: pd.DataFrame, small_history: pd.DataFrame) -> Figure:
    """Steps to perfect against epsilon near cP, and accuracy over steps from small random starts.

    Args:
        near: runs of `starts.near_runs` with all sequences, and of those only sizes with several
            epsilons are drawn.
        small: runs of `starts.small_runs`.
        small_history: their histories.
    """
    figure, (left, right) = plt.subplots(1, 2, figsize=(WIDTH, 3.9))
    _draw_near(left, near)
    kinds = list(small.groupby(["L", "n", "m", "optimiser", "eta"], sort=False))
    for place, (key, runs) in enumerate(kinds):
        L, n, m, optimiser, eta = key
        paths = small_history[
            (small_history[["L", "n", "m", "optimiser", "eta"]] == list(key)).all(axis=1)
        ]
        for _seed, path in paths.groupby("seed"):
            right.plot(path["step"], path["accuracy"], color=PALETTE[place % 6], linewidth=0.9)
        name = {"gd": "GD", "adam": "Adam"}[optimiser]
        last = runs["first_perfect"].max()
        perfect = "not all perfect" if runs["first_perfect"].isna().any() else f"≤ {last:.0f} steps"
        label = f"{name} {eta:g}, L = {L}, n = {n}, m = {m}: {perfect}"
        right.plot([], [], color=PALETTE[place % 6], label=label)
    right.set_ylim(0, 1.05)
    _steps_axis(right, small_history["step"].max())
    right.set_xlabel("steps (each line ends at its first perfect step)")
    right.set_ylabel("strict accuracy, all sequences")
    right.set_title(f"W and V from N(0, {small['deviation'].iloc[0]:g}²)")
    for axis in (left, right):
        axis.legend(
            frameon=False, fontsize=7, loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=1
        )
        despine(axis)
    return figure


def _draw_near(axis: Axes, near: pd.DataFrame) -> None:
    swept = near[near.groupby(["L", "n", "m", "scale"])["epsilon"].transform("nunique") > 1]
    shown = swept if len(swept) else near
    ceiling = shown["first_perfect"].max() * 2 if shown["first_perfect"].notna().any() else 1
    for place, (key, rows) in enumerate(shown.groupby(["L", "n", "m", "scale"], sort=False)):
        L, n, m, scale = key
        colour = PALETTE[place % 6]
        perfect = rows[rows["first_perfect"].notna()]
        missed = rows[rows["first_perfect"].isna()]
        mean = perfect.groupby("epsilon")["first_perfect"].mean()
        theorem = scale.replace("theorem_", "Theorem ")
        axis.plot(
            mean.index,
            mean,
            color=colour,
            linewidth=1.2,
            label=f"L = {L}, n = {n}, m = {m}, c of {theorem}",
        )
        axis.plot(
            perfect["epsilon"],
            perfect["first_perfect"],
            color=colour,
            linestyle="none",
            marker=MARKERS[place % 7],
            markersize=3.5,
        )
        # those that were not perfect in time: crosses along the top
        axis.plot(
            missed["epsilon"] * 1.05**place,
            np.full(len(missed), ceiling * 1.12**place),
            color=colour,
            linestyle="none",
            marker="x",
            markersize=4,
        )
    if shown["first_perfect"].isna().any():
        axis.plot([], [], color="0.3", linestyle="none", marker="x", label="not perfect in time")
    axis.set_xscale("log")
    axis.set_yscale("log")
    label_log_axis(axis.xaxis)
    label_log_axis(axis.yaxis)
    axis.set_xlabel("ε: sup-norm width of the noise on V = cP")
    axis.set_ylabel("steps to perfect, η = 1 / $\\lambda_{max}$")
    axis.set_title("W and V near cP, W = 0")


def _steps_axis(axis: Axes, last: int) -> None:
    """Logarithmic from step 1 on, with step 0 beside it."""
    axis.set_xscale("symlog", linthresh=1)
    axis.set_xlim(0, last)
    ticks = [t for t in (0, 1, 3, 10, 30, 100, 300, 1000, 3000) if t <= last]
    axis.set_xticks(ticks, [str(tick) for tick in ticks])
    axis.xaxis.set_minor_formatter(NullFormatter())
