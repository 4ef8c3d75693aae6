"""Figures of training W alone (Theorem 1); the paper has none of its own."""

from collections.abc import Mapping

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import LogLocator, NullFormatter

from onelayer.evidence.figures import (
    DIVERGING,
    MARKERS,
    PALETTE,
    SEQUENTIAL,
    WIDTH,
    despine,
    figure,
)
from onelayer.settings.decision_lists import Size, size_of

Lengths = tuple[int, int, int]  # L, n, m
Styles = Mapping[int, Mapping[str, str]]  # colour and marker of each m
METHODS = {
    "full": "full flow, all sequences",
    "sampled": "flow, fresh sequences",
    "descent": "SGD, fresh sequences",
    "factored": "W_K and W_Q apart",
}
KIND = ["zipf", "method", "deviation"]
BOUND = {"color": "0.35", "linestyle": "--", "linewidth": 1.2}
EXACT = {"color": "black", "linewidth": 2.2}


@figure(
    "decision_lists/accuracy_over_time",
    "W alone (Theorem 1)",
    "figure: accuracy over time",
    reads={
        "history": "train_decision_list_attention.history",
        "runs": "train_decision_list_attention.runs",
        "followed": "solve_decision_lists.followed",
    },
    settings={"sizes": "decision_lists.shown"},
)
def accuracy_over_time(
    history: pd.DataFrame, runs: pd.DataFrame, followed: pd.DataFrame, sizes: list[Size]
) -> Figure:
    """Loss and accuracy against time, W only: a column per size."""
    sizes = [size_of(size) for size in sizes]
    figure, axes = plt.subplots(
        2, len(sizes), figsize=(WIDTH, 4.7), sharex="col", sharey="row", squeeze=False
    )
    runs, history = (table[table["delta"] == 1] for table in (runs, history))
    shown = pd.concat([of_size(runs, size) for size in sizes]).sort_index()
    kinds = dict.fromkeys(shown[KIND].itertuples(index=False, name=None))
    colours = {kind: PALETTE[place % 6] for place, kind in enumerate(kinds)}
    for column, size in zip(axes.T, sizes, strict=True):
        exact, here = of_size(followed, size), of_size(history, size)
        here = here[here["time"] > 0]  # time 0 is not on a logarithmic axis
        bounds = of_size(runs, size)
        bounds = bounds.loc[bounds["zipf"] == 0, "bound"]
        for axis, quantity in zip(column, ("loss", "accuracy"), strict=True):
            axis.plot(exact["time"], exact[quantity], **EXACT)
            for (zipf, method, deviation, _seed), path in here.groupby([*KIND, "seed"]):
                style = {"linewidth": 1.0, "alpha": 0.8}
                if _in_points(zipf, method):
                    style = {"marker": "o", "markersize": 3, "linestyle": "none", "markevery": 0.05}
                colour = colours[zipf, method, deviation]
                axis.plot(path["time"], path[quantity], color=colour, **style)
            for bound in bounds[:1]:
                axis.axvline(bound, **BOUND)
        first = max(exact["time"].iloc[1], exact["time"].max() / 300)
        last = 2 * bounds.iloc[0] if len(bounds) else None
        column[0].set(title="L = {}, n = {}, m = {}".format(*size), xscale="log")
        column[0].set_xlim(first, last)
        column[1].set_xlabel("time (log scale; learning rate × steps)")
    axes[0, 0].set_ylabel("population loss (nats)")
    axes[1, 0].set_ylabel("strict accuracy")
    despine(*axes.flat)
    handles = [Line2D([], [], label="reduced flow, exact (uniform)", **EXACT)]
    for (zipf, method, deviation), colour in colours.items():
        style = {"marker": "o", "linestyle": "none"} if _in_points(zipf, method) else {}
        label = f"{_method(method, deviation)} ({_distribution(zipf)})"
        handles.append(Line2D([], [], color=colour, markersize=4, label=label, **style))
    handles.append(Line2D([], [], label="Theorem 1's bound, γ ours (uniform)", **BOUND))
    figure.legend(handles=handles, loc="outside lower center", ncols=2)
    return figure


def _in_points(zipf: float, method: str) -> bool:
    """Whether runs are drawn as points, so that the exact curve below theirs is seen."""
    return method == "full" and not zipf


def _method(method: str, deviation: float) -> str:
    """A method's name, with the start where that is not W = 0."""
    return METHODS[method] + (f", N(0, {deviation:.15g}²)" if deviation else "")


def _distribution(zipf: float) -> str:
    return f"Zipf {zipf:.15g}" if zipf else "uniform"


def of_size(table: pd.DataFrame, size: Lengths) -> pd.DataFrame:
    """The rows of one (L, n, m), all lists of which have m tokens."""
    return table[(table[["L", "n", "m", "shortest"]] == [*size, size[2]]).all(axis=1)]


@figure(
    "decision_lists/time_to_perfect",
    "W alone (Theorem 1)",
    "figure: time to perfect",
    reads={"solved": "solve_decision_lists.solved"},
)
def time_to_perfect(solved: pd.DataFrame) -> Figure:
    """t* against L with the bound, a panel per n; and t* / bound against delta."""
    # Logarithmic axes, which NaN leaves too; lists of equal length.
    solved = solved[(solved["t_star"] > 0) & (solved["shortest"] == solved["m"])]
    main = solved[solved["delta"] == 1]
    lengths = [n for n, rows in main.groupby("n") if len(set(rows["L"])) > 1] or main["n"].unique()
    swept = solved[solved.groupby(["L", "n", "m"])["delta"].transform("nunique") > 1]
    panels = len(lengths) + (len(swept) > 0)
    columns = min(2, panels)
    rows = -(-panels // columns)
    figure, axes = plt.subplots(
        rows, columns, figsize=(WIDTH, 2.7 * rows + 0.5), squeeze=False, layout="constrained"
    )
    styles = {
        m: {"color": colour, "marker": marker}
        for m, colour, marker in zip(sorted(main["m"].unique()), PALETTE, MARKERS, strict=False)
    }
    for axis, n in zip(axes.flat, lengths, strict=False):
        _draw_growth(axis, main[main["n"] == n], styles)
        axis.set_title(f"n = {n}")
    for axis in axes.flat[panels:]:
        axis.remove()
    for axis in axes.flat[1 : len(lengths)]:
        axis.sharey(axes.flat[0])
    if len(swept):
        _draw_delta(axes.flat[panels - 1], swept, styles)
    handles = [Line2D([], [], label=f"t*, m = {m}", **style) for m, style in styles.items()]
    handles.append(Line2D([], [], label="Theorem 1's bound (m by colour)", **BOUND))
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles))
    return figure


def _draw_growth(axis: Axes, rows: pd.DataFrame, styles: Styles) -> None:
    for m, style in styles.items():
        line = rows[rows["m"] == m].sort_values("L")
        if line.empty:
            continue
        axis.plot(line["L"], line["t_star"], markersize=4, **style)
        axis.plot(line["L"], line["bound"], **(BOUND | {"color": style["color"]}))
    if len(set(rows["L"])) > 1:
        law = f"t* log L ∝ $L^{{{_growth_exponent(rows):.2f}}}$"
        axis.text(0.97, 0.05, law, transform=axis.transAxes, ha="right", fontsize=8)
    axis.set_xscale("log", base=2)
    axis.set_yscale("log")
    axis.xaxis.set_major_formatter("{x:g}")
    axis.set_xticks(sorted(rows["L"].unique())[:: max(1, rows["L"].nunique() // 4)])
    axis.xaxis.set_minor_formatter(NullFormatter())
    axis.set(xlabel="vocabulary L (tokens)", ylabel="time to perfect\nclassification")
    despine(axis)


def _growth_exponent(rows: pd.DataFrame) -> float:
    """Slope of log(t* log L) against log L, the same for every m."""
    logs = pd.DataFrame({"x": np.log(rows["L"]), "y": np.log(rows["t_star"] * np.log(rows["L"]))})
    x, y = (logs - logs.groupby(rows["m"]).transform("mean")).T.to_numpy()
    return float((x * y).sum() / (x**2).sum())


def _draw_delta(axis: Axes, swept: pd.DataFrame, styles: Styles) -> None:
    dashes: dict[tuple[int, int], str] = {}
    for (L, n, m), rows in swept.groupby(["L", "n", "m"]):
        line = rows.sort_values("delta")
        style = styles.get(m, {"color": "black", "marker": "o"})
        dash = dashes.setdefault((L, n), ["-", ":", "-."][len(dashes) % 3])
        share = line["t_star"] / line["bound"]
        axis.plot(line["delta"], share, markersize=3.5, linewidth=1, linestyle=dash, **style)
    last = swept["delta"].max() * 1.15
    axis.axhline(1, **BOUND)
    axis.axvspan(1, last, color="0.93", zorder=0, linewidth=0)
    axis.set(xscale="log", yscale="log")
    axis.set_xlim(None, last)
    # plain numbers, however few decades there are
    axis.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.xaxis.set_major_formatter("{x:g}")
    axis.xaxis.set_minor_formatter(NullFormatter())
    axis.set(xlabel="δ in c = 4 n log(L) / δ (ours to choose)", ylabel="t* / bound")
    names = [
        Line2D([], [], color="0.3", linestyle=dash, label=f"L = {L}, n = {n}")
        for (L, n), dash in dashes.items()
    ]
    names.append(Patch(color="0.93", label="δ > 1: no probability mass"))
    axis.legend(handles=names, fontsize=7, loc="lower right")
    despine(axis)


@figure(
    "decision_lists/attention_order",
    "W alone (Theorem 1)",
    "figure: attention in list order",
    reads={
        "scores": "train_decision_list_attention.scores",
        "followed": "solve_decision_lists.followed",
        "solved": "solve_decision_lists.solved",
    },
    settings={"sizes": "decision_lists.shown"},
)
def attention_order(
    scores: pd.DataFrame, followed: pd.DataFrame, solved: pd.DataFrame, sizes: list[Size]
) -> Figure:
    """W[., a] in list order for the first size, and the staircase of learning times."""
    size = L, n, m = size_of(sizes[0])
    here = of_size(scores[scores["delta"] == 1], size)
    kinds = list(here.groupby(KIND, sort=False))
    figure = plt.figure(figsize=(WIDTH, 6.2), layout="constrained")
    upper, lower = figure.subfigures(2, 1, height_ratios=[1.15, 1])
    panels = upper.subplots(1, len(kinds), squeeze=False)[0]
    bound = here["score"].abs().max()
    for axis, ((zipf, method, deviation), rows) in zip(panels, kinds, strict=True):
        rows = rows[rows["seed"] == rows["seed"].min()]
        grid = rows.pivot(index="place", columns="query", values="score")
        image = axis.imshow(grid, cmap=DIVERGING, vmin=-bound, vmax=bound, aspect="auto")
        axis.axhline(m - 0.5, color="black", linewidth=1)
        axis.set_yticks(
            [*range(m), (m + L - 1) / 2],
            [_place(k, m) for k in range(m)] + ["others"] if axis is panels[0] else [""] * (m + 1),
        )
        axis.set_xticks([0, L - 1], ["1", str(L)])
        axis.set_xlabel("query token a")
        name = _method(method, deviation).replace(", ", "\n")
        axis.set_title(f"{name}\n{_distribution(zipf)}", fontsize=8.5)
    upper.colorbar(image, ax=panels, label="score W[b, a]", shrink=0.9, pad=0.02)
    left, right = lower.subplots(1, 2)
    _draw_scores(left, of_size(followed, size), solved, size)
    _draw_staircase(right, solved, L, n)
    return figure


def _place(k: int, m: int) -> str:
    """`a₁`, ..., and `a₃ = a` for the last."""
    subscript = str(k + 1).translate(str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉"))
    return f"a{subscript} = a" if k == m - 1 else f"a{subscript}"


def _draw_scores(axis: Axes, path: pd.DataFrame, solved: pd.DataFrame, size: Lengths) -> None:
    """Scores of the slots over time, with the time from which each is above all it must be."""
    m = size[2]
    scores = np.array(path["scores"].tolist())  # [times, m + 1]
    colours = plt.get_cmap(SEQUENTIAL)(np.linspace(0, 1, m + 2)[1:-1])
    slots = [(_place(k, m), colour, colour, 1.8) for k, colour in enumerate(colours)]
    slots.append(("others", "0.5", "0.4", 1.4))
    for (name, colour, ink, width), line in zip(slots, scores.T, strict=True):
        axis.plot(path["time"], line, color=colour, linewidth=width)
        style = {"xytext": (4, 0), "textcoords": "offset points", "va": "center"}
        end = path["time"].iloc[-1], line[-1]
        axis.annotate(name, end, **style, color=ink, fontsize=8, annotation_clip=False)
    times = of_size(solved[solved["delta"] == 1], size)["separation"]
    for k, time in enumerate(times.iloc[0] if len(times) else []):
        axis.axvline(time, color=colours[k], linestyle=":", linewidth=1.2)
    axis.set(xlabel="time", ylabel="score W[b, a]")
    axis.set_title("reduced flow; dotted: learned from here on", fontsize=8.5)
    despine(axis)


def _draw_staircase(axis: Axes, solved: pd.DataFrame, L: int, n: int) -> None:
    """Learning time of each place / t*, for every m: own token first, then a_1, a_2, ..."""
    here = solved[(solved["delta"] == 1) & (solved["L"] == L) & (solved["n"] == n)]
    here = here[(here["m"] > 1) & (here["t_star"] > 0) & (here["shortest"] == here["m"])]
    here = here.sort_values("m")
    for place, row in enumerate(here.itertuples()):
        times = np.roll(row.separation, 1) / row.t_star
        style = {"color": PALETTE[place % 6], "label": f"m = {row.m}"}
        axis.plot(np.arange(row.m), times, marker=MARKERS[place % 7], linewidth=1.2, **style)
    longest = int(here["m"].max()) if len(here) else 1
    axis.set_xticks(range(longest), ["own token a", *(_place(k, 0) for k in range(longest - 1))])
    axis.set(ylim=(-0.03, 1.05), ylabel="learned at time / t*")
    axis.set_title(f"order of learning, L = {L}, n = {n}", fontsize=8.5)
    if len(here):
        axis.legend(loc="lower right")
    despine(axis)


@figure(
    "decision_lists/worst_case",
    "W alone (Theorem 1)",
    "figure: Theorem 1's worst case",
    reads={"cases": "search_worst_case.found"},
)
def worst_case(cases: pd.DataFrame) -> Figure:
    """t* / bound of every size: the largest of random lists, and the largest that was found."""
    figure, axis = plt.subplots(figsize=(WIDTH, 1.2 + 0.5 * len(cases)), layout="constrained")
    ratios = {"at_random": "largest of random ones", "ratio": "largest that the search finds"}
    left = cases.loc[cases["at_random"] > 0, "at_random"].min() / 3
    for place, case in enumerate(cases.itertuples()):
        if case.ratio > 0:
            axis.plot([case.at_random, case.ratio], [place] * 2, color="0.7", zorder=1)
        else:
            axis.text(left, place, " perfect from the start (t* = 0)", va="center", fontsize=8)
    places = np.arange(len(cases))
    for (name, label), colour, marker in zip(ratios.items(), PALETTE, MARKERS, strict=False):
        axis.scatter(cases[name], places, color=colour, marker=marker, s=28, label=label, zorder=2)
    axis.axvline(1, label="Theorem 1's bound", **BOUND)
    axis.set_xscale("log")
    axis.set_xlim(left, 2)
    named = (f"L = {case.L}, n = {case.n}, M = {case.m}" for case in cases.itertuples())
    names = [f"{size}\n{of}" for size, of in zip(named, cases["distribution"], strict=True)]
    axis.set_yticks(places, names)
    axis.set_ylim(len(cases) - 0.5, -0.5)
    axis.set_xlabel("t* / bound")
    despine(axis)
    figure.legend(loc="outside lower center", ncols=3, fontsize=8)
    return figure
