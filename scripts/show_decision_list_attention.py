"""W alone: trainings of the whole matrix beside the exact flow and the bound; learned scores."""

import numpy as np
import pandas as pd

from onelayer.decision_lists import readable
from onelayer.evidence.figures import DIVERGING, MARKERS, MIDDLE, PALETTE, despine, plt
from onelayer.evidence.tables import tidy
from onelayer.job import job

KEYS = [*readable.SIZES, "method", "seed"]
SHOWN = {"t_star": "t*", "median_column_time": "median token", "exact_t_star": "exact t*"}
SHOWN |= {"exact_median_time": "exact median", "time_to_exact_ratio": "ratio", "gamma": "γ"}
SHOWN |= {"bound": "bound", "accuracy": "accuracy", "order": "list order"}
SHOWN |= {"certified": "certified", "steps": "steps"}
NOTES = [
    "'full': population gradient flow over all sequences, by Heun's method. 'descent': stochastic "
    "gradient descent on fresh sequences, time = learning rate × steps. Lists '1 to 4' long: of "
    "unequal length, each length for as many tokens.",
    "t* is when the last query token is learned, 'median token' the median over query tokens. "
    "'ratio' compares with the exact reduced flow: t* of full flows; of descent, where the last "
    "token is late by chance, the median token.",
    "Training ends where it is proven that every sequence of distinct tokens is right: 'certified' "
    "is the share of query tokens a with W[a_1, a] > ... > W[a_m, a] > all others. 'accuracy' is "
    "over all sequences for 'full' and over the last draw for 'descent'.",
    "Theorem 1's bound speaks of the population flow, not of descent. " + readable.GAMMA_AND_DELTA,
]


def judged(runs: pd.DataFrame) -> pd.DataFrame:
    """The slowest run of each method, of equal and of unequal lists."""
    rows, unequal = [], runs["shortest"] < runs["m"]
    for (method, of_unequal), group in runs.groupby(["method", unequal], sort=False):
        key = dict.fromkeys(KEYS, "all") | {"method": method}
        key["quantity"] = f"time_to_bound_ratio_{method}" + "_unequal_lists" * of_unequal
        rows.append(key | readable.largest_ratio(group["t_star_to_bound_ratio"]))
    return tidy(rows, KEYS)


def draw_runs(runs: pd.DataFrame, history: pd.DataFrame, followed: pd.DataFrame) -> plt.Figure:
    """Loss and accuracy against time, W only: a column per size shown."""
    sizes = followed.groupby(["L", "n", "m"], sort=False)
    figure, axes = plt.subplots(
        2, len(sizes), figsize=(MIDDLE, 4.6), sharex="col", sharey="row", squeeze=False
    )
    # in points, so that the exact curve below them is seen
    full = {"color": PALETTE[0], "marker": "o", "markersize": 3.5, "linestyle": ""}
    descent = {"color": PALETTE[1], "linewidth": 0.9, "alpha": 0.8}
    styles = {"full": full | {"markevery": 0.05}, "descent": descent}
    exact, bound = {"color": "black", "linewidth": 2.4}, {"color": "0.35", "linestyle": "--"}
    for column, ((L, n, m), flow) in zip(axes.T, sizes, strict=True):
        chosen = f"L == {L} and n == {n} and m == {m} and shortest == m"
        paths, end = history.query(f"{chosen} and time > 0"), runs.query(chosen)["bound"].iloc[0]
        for axis, quantity in zip(column, ("loss", "accuracy"), strict=True):
            axis.plot(flow["time"], flow[quantity], **exact)
            for (method, _), path in paths.groupby(["method", "seed"]):
                axis.plot(path["time"], path[quantity], **styles[method])
            axis.axvline(end, **bound)
        column[0].set(title=f"L = {L}, n = {n}, m = {m}", xscale="log")
        column[0].set_xlim(flow["time"].max() / 300, 2 * end)
        column[1].set_xlabel("time (learning rate × steps)")
    axes[0, 0].set_ylabel("loss (nats)")
    axes[1, 0].set_ylabel("share of queries right")
    figure.suptitle("Full flow and SGD beside the exact flow and Theorem 1's bound")
    named = {"reduced flow, exact": exact, "full flow, all sequences": full}
    named |= {"SGD, fresh sequences": descent, "Theorem 1's bound": bound}
    lines = [plt.Line2D([], [], label=label, **style) for label, style in named.items()]
    figure.legend(handles=lines, loc="outside lower center", ncols=2)
    despine(*axes.flat)
    return figure


def draw_order(scores: pd.DataFrame, solved: pd.DataFrame, followed: pd.DataFrame) -> plt.Figure:
    """Of the first size shown W in list order, first seeds, and when each place is learned."""
    L, n, m = followed[["L", "n", "m"]].iloc[0]
    figure = plt.figure(figsize=(MIDDLE, 5))
    upper, lower = figure.subfigures(2, 1)
    scores = scores.query(f"L == {L} and n == {n} and m == {m} and shortest == m")
    methods, bound = scores.groupby("method", sort=False), scores["score"].abs().max()
    axes = upper.subplots(1, len(methods), squeeze=False)[0]
    for axis, (method, rows) in zip(axes, methods, strict=True):
        grid = rows["score"].to_numpy()[: L**2].reshape(L, L)  # [place in the list, query]
        image = axis.imshow(grid, cmap=DIVERGING, vmin=-bound, vmax=bound, aspect="auto")
        axis.axhline(m - 0.5, color="black", linewidth=1)
        names = [*(f"$a_{k}$" for k in range(1, m)), "own a", "others"]
        axis.set_yticks([*range(m), (m + L - 1) / 2], names)
        axis.set_xticks([0, L - 1], ["1", str(L)])
        after = "full flow" if method == "full" else "SGD"
        axis.set(xlabel="query token a", title=f"W after {after}")
    upper.colorbar(image, ax=axes, label="score W[b, a]", pad=0.02)
    staircase, rising = lower.subplots(), True
    of_size = f"L == {L} and n == {n} and shortest == m and delta == 1 and m > 1 and t_star > 0"
    rows = solved.query(of_size).sort_values("m").itertuples()
    for row, colour, marker in zip(rows, PALETTE, MARKERS, strict=False):
        own_first = np.roll(row.separation, 1)
        rising &= bool((np.diff(own_first) > 0).all())
        style = {"color": colour, "marker": marker, "label": f"m = {row.m}"}
        staircase.plot(own_first / row.t_star, **style)
        names = ["own a", *(f"$a_{k}$" for k in range(1, row.m))]
        staircase.set_xticks(range(row.m), names)
    staircase.set(ylim=(-0.03, 1.05), ylabel="learned at time / t*", title="order of learning")
    staircase.legend(loc="lower right")
    despine(staircase)
    how = "When W learns the own token and each place of the list"
    how = "W learns the own token first, then the list from its top" if rising else how
    figure.suptitle(f"{how}\n(L = {L}, n = {n})")
    return figure


with job(snakemake) as step:
    solved, followed, runs, history, scores = map(pd.read_parquet, snakemake.input)
    full, runs["steps"] = runs["method"] == "full", runs["step"].astype(int)
    time = runs["t_star"].where(full, runs["median_column_time"])
    exact = runs["exact_t_star"].where(full, runs["exact_median_time"])
    # 1 where both are perfect from the start
    runs["time_to_exact_ratio"] = np.where(exact > 0, time / exact, time == 0)
    title = "Decision lists: training the full matrix W, V = cP"
    columns = {"method": "method", "seed": "seed", "t_star_to_bound_ratio": "t* / bound"} | SHOWN
    top, of_runs = judged(runs), readable.long(runs, KEYS, list(SHOWN), runs["bound"])
    shown = readable.for_readers(top, ["t_star_to_bound_ratio"] * len(top), runs, columns)
    rows = tidy(pd.concat([top, of_runs]), KEYS)
    step.save_table(rows, title=title, shown=shown, notes=NOTES)
    step.save_figure(draw_runs(runs, history, followed), "runs_figure")
    step.save_figure(draw_order(scores, solved, followed), "order_figure")
