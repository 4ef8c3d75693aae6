"""Theorem 1: time to perfect classification of the exact flow, beside the bound."""

import numpy as np
import pandas as pd

from onelayer.decision_lists import readable
from onelayer.evidence.figures import MIDDLE, PALETTE, despine, plt
from onelayer.evidence.tables import tidy
from onelayer.job import job

KEYS = [*readable.SIZES, "delta"]
TIMES = {"t_star": "t*", "gamma": "γ", "bound": "bound", "t_star_to_bound_ratio": "t* / bound"}
TIMES |= {"t_star_gamma_log_l": "t* γ log L", "order": "list order"}  # for readers
NOTES = [
    "Exact: reduced gradient flow from W = 0, V = cP, uniform sequences of n distinct tokens, "
    "lists of length m; '1 to 4': of unequal length, each length for as many tokens. t*: first "
    "time at which every sequence is classified strictly right. List order: share of adjacent list "
    "pairs with W[a_k, a] > W[a_{k+1}, a]. Bound: the paper's 4 m / (log(L) γ), its only number.",
    readable.GAMMA_AND_DELTA + " δ sets the scale c, and so t*, but not the bound; δ above 1 is no "
    "probability mass, and left out of the row over all sizes.",
    "Counterexample: the worst case of a search (onelayer.decision_lists.theorem_1), with one "
    "token in nearly all sequences. A δ that depends on the data is not refuted.",
]


def judged(solved: pd.DataFrame, counterexample: pd.DataFrame) -> pd.DataFrame:
    """All sizes with δ up to 1 together, then the counterexample at each δ."""
    key = dict.fromkeys(KEYS, "all") | {"quantity": "largest_time_to_bound_ratio"}
    ratios = solved.loc[solved["delta"] <= 1, "t_star_to_bound_ratio"]
    rows = [key | readable.largest_ratio(ratios)]
    for case in counterexample.rename(columns=readable.WORDS).to_dict("records"):
        key = {name: f"{case[name]:g}" for name in KEYS}
        key["quantity"] = "counterexample_time_to_bound_ratio"
        rows.append(key | {"value": case["t_star_to_bound_ratio"], "n": 1, "published": 1.0})
    return tidy(rows, KEYS)


def draw(solved: pd.DataFrame) -> plt.Figure:
    """t* and the bound against L, a colour per n, at delta = 1 with lists of equal length."""
    figure, axis = plt.subplots(figsize=(MIDDLE, 3.2))
    drawn = solved.query("delta == 1 and shortest == m and t_star != 0")
    drawn = drawn[drawn.groupby("n")["L"].transform("nunique") > 1]
    for colour, (n, rows) in zip(PALETTE, drawn.groupby("n"), strict=False):
        over_m = rows.groupby("L")[["t_star", "bound"]].agg(["min", "max"])
        filled, hatched = {"facecolor": colour}, {"facecolor": "none", "hatch": "////"}
        for quantity, style in (("t_star", filled), ("bound", hatched)):
            low, high = over_m[quantity, "min"], over_m[quantity, "max"]
            axis.fill_between(low.index, low, high, edgecolor=colour, linewidth=1.2, **style)
        axis.plot([], [], color=colour, linewidth=4, label=f"n = {n}")
    key = "hatched: bound\nfilled: t* (m = {} to {})".format(*drawn["m"].agg(["min", "max"]))
    axis.text(0.02, 0.97, key, va="top", transform=axis.transAxes)
    axis.set(xscale="log", yscale="log", xlabel="vocabulary L", ylabel="time to perfect")
    ticks = sorted(drawn["L"].unique())[::2]
    axis.set_xticks(ticks, [str(L) for L in ticks])
    axis.set_xticks([], minor=True)
    ratios = drawn["t_star_to_bound_ratio"]
    text = f"{ratios.count()} of {len(ratios)} perfect"
    if ratios.notna().all():
        text = f"Theorem 1's bound is at least {np.floor(10 / ratios.max()) / 10:g} times t*"
    figure.suptitle(f"Uniform sequences, lists of equal length, δ = 1:\n{text}")
    figure.legend(loc="outside lower center", ncols=3)
    despine(axis)
    return figure


with job(snakemake) as step:
    given = snakemake.input
    solved, cases = (pd.read_parquet(path) for path in (given.solved, given.counterexample))
    title = "Decision lists, Theorem 1: time to perfect classification, W only"
    bounds = solved["bound"].where(solved["delta"] <= 1)
    top, sizes = judged(solved, cases), readable.long(solved, KEYS, list(TIMES), bounds)
    measures = ["t_star_to_bound_ratio"] * len(top)
    shown = readable.for_readers(top, measures, solved, {"delta": "δ"} | TIMES)
    rows = tidy(pd.concat([top, sizes]), KEYS)
    step.save_table(rows, title=title, shown=shown, notes=NOTES)
    step.save_figure(draw(solved))
