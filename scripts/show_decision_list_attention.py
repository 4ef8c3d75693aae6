"""W alone, all of it: what each training reached, and loss and accuracy over time."""

import numpy as np
import pandas as pd

from onelayer.decision_lists import readable
from onelayer.evidence.figures import MIDDLE, PALETTE, despine, plt
from onelayer.evidence.tables import tidy
from onelayer.job import job

SHOWN = {"method": "method", "seed": "seed", "t*": "t_star", "median token": "median_column_time"}
SHOWN |= {"exact t*": "exact_t_star", "ratio": "time_to_exact_ratio", "bound": "bound"}
SHOWN |= {"accuracy": "accuracy", "list order": "order", "certified": "certified"}
KEYS = [*readable.SIZES, "method", "seed"]
QUANTITIES = ["t_star", "median_column_time", "exact_t_star", "exact_median_time"]
QUANTITIES += ["time_to_exact_ratio", "gamma", "bound", "accuracy", "order", "certified", "step"]
METHODS = {"full": "full flow, all sequences", "descent": "SGD, fresh sequences"}
NOTES = [
    "'full': population gradient flow over all sequences, by Heun's method. 'descent': stochastic "
    "gradient descent on fresh sequences, time = learning rate × steps. Lists '1 to 4' long: of "
    "unequal length, each length for as many tokens.",
    "t* is the time at which the last query token is learned; 'median token' the median over query "
    "tokens. 'ratio' compares with the exact reduced flow: t* of full flows; of descent, where the "
    "last token is late by chance, the median token.",
    "Training ends where it is proven that every sequence of distinct tokens is right: 'certified' "
    "is the share of query tokens a with W[a_1, a] > ... > W[a_m, a] > all others. 'accuracy' is "
    "over all sequences for 'full' and over the last draw for 'descent'.",
    "The bound is Theorem 1's, 4 m / (log(L) γ), of the population flow; it does not speak of "
    f"descent. {readable.GAMMA_AND_DELTA}",
]


def compared(runs: pd.DataFrame) -> pd.DataFrame:
    """Runs with `time_to_exact_ratio`; 1 where both are perfect from the start."""
    full = runs["method"] == "full"
    time = runs["t_star"].where(full, runs["median_column_time"])
    exact = runs["exact_t_star"].where(full, runs["exact_median_time"])
    return runs.assign(time_to_exact_ratio=np.where(exact > 0, time / exact, time == 0))


def table(runs: pd.DataFrame) -> pd.DataFrame:
    """The slowest run of each method, of equal and of unequal lists; then every run."""
    rows = []
    unequal = runs["shortest"] < runs["m"]
    for (method, of_unequal), group in runs.groupby(["method", unequal], sort=False):
        key = dict.fromkeys(KEYS, "all") | {"method": method}
        key["quantity"] = f"time_to_bound_ratio_{method}" + "_unequal_lists" * of_unequal
        rows.append(key | readable.largest_ratio(group["t_star"], group["bound"]))
    of_runs = readable.long(runs, KEYS, QUANTITIES).replace({"quantity": {"step": "steps"}})
    bounds = runs["bound"].repeat(len(QUANTITIES)).to_numpy()
    of_runs["published"] = np.where(of_runs["quantity"] == "t_star", bounds, np.nan)
    return tidy(pd.concat([pd.DataFrame(rows), of_runs]), KEYS)


def draw(runs: pd.DataFrame, history: pd.DataFrame, followed: pd.DataFrame) -> plt.Figure:
    """Loss and accuracy against time, W only: a column per size shown."""
    sizes = followed[["L", "n", "m"]].drop_duplicates()
    figure, axes = plt.subplots(
        2, len(sizes), figsize=(MIDDLE, 4.6), sharex="col", sharey="row", squeeze=False
    )
    colours = dict(zip(METHODS, PALETTE, strict=False))
    for column, size in zip(axes.T, sizes.itertuples(index=False), strict=True):
        chosen = f"L == {size.L} and n == {size.n} and m == {size.m}"
        exact = followed.query(chosen)
        paths = history.query(f"{chosen} and shortest == m and time > 0")
        bound = runs.query(f"{chosen} and shortest == m")["bound"].iloc[0]
        for axis, quantity in zip(column, ("loss", "accuracy"), strict=True):
            axis.plot(exact["time"], exact[quantity], color="black", linewidth=2.4)
            for (method, _), path in paths.groupby(["method", "seed"]):
                style = {"linewidth": 0.9, "alpha": 0.8}
                if method == "full":  # in points, so that the exact curve below them is seen
                    style = {"marker": "o", "markersize": 3.5, "linestyle": "", "markevery": 0.05}
                axis.plot(path["time"], path[quantity], color=colours[method], **style)
            axis.axvline(bound, color="0.35", linestyle="--")
        column[0].set(title="L = {}, n = {}, m = {}".format(*size), xscale="log")
        column[0].set_xlim(exact["time"].max() / 300, 2 * bound)
        column[1].set_xlabel("time (learning rate × steps)")
    axes[0, 0].set_ylabel("loss (nats)")
    axes[1, 0].set_ylabel("share of queries right")
    figure.suptitle("Full flow and SGD beside the exact flow and Theorem 1's bound")
    lines = [plt.Line2D([], [], color="black", linewidth=2.4, label="reduced flow, exact")]
    for method, label in METHODS.items():
        style = {"marker": "o", "linestyle": ""} if method == "full" else {}
        lines.append(plt.Line2D([], [], color=colours[method], label=label, **style))
    lines.append(plt.Line2D([], [], color="0.35", linestyle="--", label="Theorem 1's bound"))
    figure.legend(handles=lines, loc="outside lower center", ncols=2)
    despine(*axes.flat)
    return figure


with job(snakemake) as step:
    runs = compared(pd.read_parquet(snakemake.input.runs))
    history = pd.read_parquet(snakemake.input.history)
    title = "Decision lists: training the full matrix W, V = cP"
    shown = readable.for_readers(runs, SHOWN)
    step.save_table(table(runs), title=title, shown=shown, notes=NOTES)
    step.save_figure(draw(runs, history, pd.read_parquet(snakemake.input.followed)))
