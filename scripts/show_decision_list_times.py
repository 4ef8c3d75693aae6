"""Theorem 1: time to perfect classification beside the bound, over vocabularies and delta."""

import numpy as np
import pandas as pd

from onelayer.decision_lists import readable
from onelayer.evidence.figures import MARKERS, MIDDLE, PALETTE, despine, plt
from onelayer.evidence.tables import number, tidy
from onelayer.job import job

KEYS = [*readable.SIZES, "delta"]
QUANTITIES = ["t_star", "gamma", "bound", "t_star_to_bound_ratio", "t_star_gamma_log_l", "order"]
SHOWN = {"δ": "delta", "t*": "t_star", "γ": "gamma", "bound": "bound"}
SHOWN |= {"t* / bound": "t_star_to_bound_ratio", "t* γ log L": "t_star_gamma_log_l"}
SHOWN |= {"list order": "order"}
NOTES = [
    "Exact: reduced gradient flow from W = 0, V = cP, uniform sequences of n distinct tokens, "
    "lists of length m; '1 to 4': of unequal length, each length for as many tokens, which take as "
    "long as the slowest length alone. t* is the first time at which every sequence is classified "
    "strictly right. 'List order' is the share of adjacent list pairs with W[a_k, a] > "
    "W[a_{k+1}, a].",
    "The paper publishes no numbers but the bound 4 m / (log(L) γ).",
    readable.GAMMA_AND_DELTA,
    "δ sets the scale c, and so t*, but not the bound: how loose the bound is depends on δ. "
    "δ above 1 is no probability mass, and left out of the rows over all sizes.",
]


def grown(solved: pd.DataFrame) -> dict[int, pd.DataFrame]:
    """Rows with equal lists at delta = 1 that several vocabularies have, by n."""
    rows = solved.query("shortest == m and delta == 1 and t_star > 0")
    return {n: of_n for n, of_n in rows.groupby("n") if len(set(of_n["L"])) > 1}


def growth(rows: pd.DataFrame) -> float:
    """Slope of log(t* log L) against log L, the same for every m."""
    logs = pd.DataFrame({"x": np.log(rows["L"]), "y": np.log(rows["t_star"] * np.log(rows["L"]))})
    x, y = (logs - logs.groupby(rows["m"]).transform("mean")).T.to_numpy()
    return float((x * y).sum() / (x**2).sum())


def table(solved: pd.DataFrame, counterexample: pd.DataFrame) -> pd.DataFrame:
    """All sizes together, the counterexample, then a row per size and quantity."""
    up_to_1, all_sizes = solved[solved["delta"] <= 1], dict.fromkeys(KEYS, "all")
    ratio = readable.largest_ratio(up_to_1["t_star"], up_to_1["bound"])
    order = {"value": up_to_1["order"].min(), "n": len(up_to_1), "state": ratio["state"]}
    rows = [
        all_sizes | {"quantity": "largest_time_to_bound_ratio"} | ratio,
        all_sizes | {"quantity": "least_list_order"} | order,
    ]
    for n, of_n in grown(solved).items():
        key = all_sizes | {"sequence_length": n, "delta": 1, "quantity": "growth_exponent"}
        rows.append(key | {"value": growth(of_n), "n": len(of_n)})
    for case in counterexample.rename(columns=readable.WORDS).to_dict("records"):
        key = {name: f"{case[name]:g}" for name in KEYS}
        key["quantity"] = "counterexample_time_to_bound_ratio"
        rows.append(key | {"value": case["t_star_to_bound_ratio"], "n": 1, "published": 1.0})
    bounds = solved["bound"].where(solved["delta"] <= 1)
    sizes = readable.long(solved, KEYS, QUANTITIES, bounds)
    return tidy(pd.concat([pd.DataFrame(rows), sizes]), KEYS)


def draw(solved: pd.DataFrame) -> plt.Figure:
    """t* and the bound against L, a colour per n; and t* / bound against delta."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(MIDDLE, 3.2))
    for colour, (n, rows) in zip(PALETTE, grown(solved).items(), strict=False):
        over_m = rows.groupby("L")[["t_star", "bound"]].agg(["min", "max"])
        filled, hatched = {"facecolor": colour}, {"facecolor": "none", "hatch": "////"}
        for quantity, style in (("t_star", filled), ("bound", hatched)):
            low, high = over_m[quantity, "min"], over_m[quantity, "max"]
            left.fill_between(low.index, low, high, edgecolor=colour, linewidth=1.2, **style)
        left.plot([], [], color=colour, linewidth=4, label=f"n = {n}")
    lengths = "m = {} to {}".format(*solved["m"].agg(["min", "max"]))
    left.text(0.04, 0.31, f"hatched: bound\nfilled: t*\n({lengths})", transform=left.transAxes)
    left.set(xscale="log", yscale="log", xlabel="vocabulary L", ylabel="time to perfect")
    ticks = sorted(solved["L"].unique())[::2]
    left.set_xticks(ticks, [str(L) for L in ticks])
    left.set_xticks([], minor=True)
    left.set_title("δ = 1", fontsize=9)
    equal = solved.query("shortest == m and t_star > 0")
    swept = equal[equal.groupby(["L", "n", "m"])["delta"].transform("nunique") > 1]
    swept = swept[swept["L"] == swept["L"].min()].sort_values("delta")
    for (m, rows), colour, marker in zip(swept.groupby("m"), PALETTE[3:], MARKERS, strict=False):
        ratio = rows["t_star_to_bound_ratio"]
        right.plot(rows["delta"], ratio, color=colour, marker=marker, label=f"m = {m}")
    right.axhline(1, color="0.35", linestyle="--")
    right.axvspan(1, right.get_xlim()[1], color="0.92", zorder=0, linewidth=0)
    right.set(xscale="log", yscale="log", xlabel="δ in c = 4 n log(L) / δ", ylabel="t* / bound")
    right.margins(x=0)
    right.xaxis.set_major_formatter("{x:g}")
    if len(swept):
        right.set_title("L = {L}, n = {n}; grey: δ > 1".format(**swept.iloc[0]), fontsize=9)
        right.legend(loc="lower right")
    ratios = solved.loc[solved["delta"] == 1, "t_star_to_bound_ratio"]
    text = f"{ratios.notna().sum()} of {len(ratios)} perfect"
    if ratios.notna().all() and ratios.max() > 0:
        text = f"\nTheorem 1's bound is at least {np.floor(10 / ratios.max()) / 10:g} times t*"
    figure.suptitle(f"Uniform sequences at δ = 1: {text}")
    figure.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=3)
    despine(left, right)
    return figure


with job(snakemake) as step:
    solved, cases = map(pd.read_parquet, (snakemake.input.solved, snakemake.input.counterexample))
    ratios = zip(cases["t_star_to_bound_ratio"], cases["delta"], strict=True)
    found = " and ".join(f"{number(ratio)} at δ = {delta:g}" for ratio, delta in ratios)
    case_note = (
        "Not uniform: the worst case of a search (onelayer.decision_lists.theorem_1) has {L:g} "
        "tokens, sequences of {n:g}, lists of up to {m:g}; its t* in units of the bound is "
        "{found}. A δ that depends on the data is not refuted."
    ).format(**cases.iloc[0], found=found)
    title = "Decision lists, Theorem 1: time to perfect classification, W only"
    shown, notes = readable.for_readers(solved, SHOWN), [*NOTES, case_note]
    step.save_table(table(solved, cases), title=title, shown=shown, notes=notes)
    step.save_figure(draw(solved))
