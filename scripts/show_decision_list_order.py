"""W[., a] in the order of every query's list, and the staircase in which it is learned."""

import numpy as np
import pandas as pd

from onelayer.evidence.figures import DIVERGING, MARKERS, MIDDLE, PALETTE, SEQUENTIAL, despine, plt
from onelayer.job import job

TITLES = {"full": "W after full flow", "descent": "W after SGD"}


def place_name(k: int, m: int) -> str:
    """`a₁`, ..., and `a₃ = a` for the last."""
    subscript = str(k + 1).translate(str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉"))
    return f"a{subscript} = a" if k == m - 1 else f"a{subscript}"


def draw_matrices(axes: list[plt.Axes], scores: pd.DataFrame, m: int) -> None:
    """W at the end of the first seed of each method."""
    bound, L = scores["score"].abs().max(), scores["query"].max() + 1
    for axis, (method, rows) in zip(axes, scores.groupby("method", sort=False), strict=False):
        grid = rows[rows["seed"] == rows["seed"].min()].pivot(
            index="place", columns="query", values="score"
        )
        image = axis.imshow(grid, cmap=DIVERGING, vmin=-bound, vmax=bound, aspect="auto")
        axis.axhline(m - 0.5, color="black", linewidth=1)
        names = [*(place_name(k, m) for k in range(m)), "others"]
        axis.set_yticks([*range(m), (m + L - 1) / 2], names)
        axis.set_xticks([0, L - 1], ["1", str(L)])
        axis.set(xlabel="query token a", title=TITLES[method])
    axes[0].figure.colorbar(image, ax=axes, label="score W[b, a]", pad=0.02)


def draw_scores(axis: plt.Axes, path: pd.DataFrame, staircase: list[float], m: int) -> None:
    """Scores over time, with the time from which each is above all that it must be."""
    scores = np.array(path["scores"].tolist())  # [times, m + 1]
    colours = [*plt.get_cmap(SEQUENTIAL)(np.linspace(0.15, 0.8, m)), "0.5"]
    names = [*(place_name(k, m) for k in range(m)), "others"]
    for name, colour, line in zip(names, colours, scores.T, strict=True):
        axis.plot(path["time"], line, color=colour, linewidth=1.8)
        end = path["time"].iloc[-1], line[-1]
        axis.annotate(name, end, xytext=(3, 0), textcoords="offset points", va="center", fontsize=8)
    for time, colour in zip(staircase, colours, strict=False):
        axis.axvline(time, color=colour, linestyle=":")
    axis.set(xlabel="time", ylabel="score W[b, a]", title="dotted: learned from here")
    despine(axis)


def draw_staircase(axis: plt.Axes, solved: pd.DataFrame) -> None:
    """Learning time of each place / t*, for every m: own token first, then a_1, a_2, ..."""
    for place, row in enumerate(solved[solved["m"] > 1].sort_values("m").itertuples()):
        times = np.roll(row.separation, 1) / row.t_star
        style = {"color": PALETTE[place], "marker": MARKERS[place], "label": f"m = {row.m}"}
        axis.plot(np.arange(row.m), times, **style)
    longest = solved["m"].max()
    axis.set_xticks(range(longest), ["own a", *(place_name(k, 0) for k in range(longest - 1))])
    axis.set(ylim=(-0.03, 1.05), ylabel="learned at time / t*", title="order of learning")
    axis.legend(loc="lower right")
    despine(axis)


def title(solved: pd.DataFrame) -> str:
    """Whether every size learns the own token first, then the list from its top."""
    several = solved.loc[solved["m"] > 1, "separation"]
    rising = [bool((np.diff(np.roll(times, 1)) > 0).all()) for times in several]
    if rising and all(rising):
        return "W learns the own token first, then the list from its top"
    return "When W learns the own token and each place of the list"


with job(snakemake) as step:
    followed = pd.read_parquet(snakemake.input.followed)
    scores, solved = (
        pd.read_parquet(snakemake.input[name]).query("shortest == m")
        for name in ("scores", "solved")
    )
    L, n, m = followed[["L", "n", "m"]].iloc[0]
    figure = plt.figure(figsize=(MIDDLE, 5))
    upper, lower = figure.subfigures(2, 1)
    scores = scores.query(f"L == {L} and n == {n} and m == {m}")
    draw_matrices(upper.subplots(1, scores["method"].nunique(), squeeze=False)[0], scores, m)
    left, right = lower.subplots(1, 2)
    solved = solved.query(f"L == {L} and n == {n} and delta == 1 and t_star > 0")
    path = followed.query(f"L == {L} and n == {n} and m == {m}")
    draw_scores(left, path, solved.query(f"m == {m}")["separation"].iloc[0], m)
    draw_staircase(right, solved)
    figure.suptitle(f"{title(solved)}\n(L = {L}, n = {n})")
    step.save_figure(figure)
