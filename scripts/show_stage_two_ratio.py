"""Table and figure of the optimal attention of stage 2 against tau and T."""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from onelayer.evidence.figures import MARKERS, MIDDLE, PALETTE, despine, plt
from onelayer.evidence.tables import interval, number, tidy
from onelayer.job import job
from onelayer.topic_structure.synthetic.summary import extreme, over_runs

KEYS = ["documents", "T", "tau"]
POINT = ["T", "tau"]
NOTES = [
    "Ratio: (v-1)/v alpha + beta/v, with alpha (same topic, another word) and beta (same word) "
    "relative to the weight of different topics, at the least squared loss with W_V frozen at "
    "stage 1's optimum for the same documents. Both are sought between exp(-6) and exp(6).",
    "With one topic in a document all its words but the random ones are of that topic.",
    "least_growth: the least mean difference of the ratio from one tau to the next. least_alpha: "
    "the least alpha of all T and tau > 1.",
    "Theorem: the ratio lies in (lambda_1 tau, lambda_2 T). It names no constants: lambda_1 and "
    "lambda_2 are the tightest that hold every point, of all tau and of those above 1. "
    "exponent_of_tau: of the ratio as a power of tau above 1.",
]


def rows_of(ratios: pd.DataFrame) -> Iterator[dict]:
    """Means over draws by documents, T and tau; growth with tau; what stands for all T and tau."""
    for key, draws in ratios.groupby(KEYS, sort=False):
        keys = dict(zip(KEYS, map(str, key), strict=True))
        for quantity in ("ratio", "alpha", "beta"):
            yield keys | {"quantity": quantity} | over_runs(draws[quantity], least=0.0)
    for kind in ("short", "long"):
        own = ratios[ratios["documents"] == kind]
        growth = own.pivot(index="seed", columns="tau", values="ratio").diff(axis=1).iloc[:, 1:]
        keys = {"documents": kind, "T": str(own["T"].iloc[0]), "tau": "all"}
        yield keys | {"quantity": "least_growth"} | extreme(growth.melt(), "tau", "value", 1)
    over_T = ratios[ratios["documents"] == "over T"]
    several, keys = over_T[over_T["tau"] > 1], {"documents": "over T", "T": "all", "tau": "all"}
    yield keys | {"quantity": "least_alpha"} | extreme(several, POINT, "alpha", 1)
    for taus, points in (("all", over_T), ("above 1", several)):
        for quantity, over, side in (("lambda_1", "tau", 1), ("lambda_2", "T", -1)):
            of = points.assign(value=points["ratio"] / points[over])
            row = extreme(of, POINT, "value", side)
            yield keys | {"tau": taus, "quantity": quantity} | row
    for T, points in several.groupby("T", sort=False):
        logs = np.log(points.pivot(index="tau", columns="seed", values="ratio"))
        slopes = np.polyfit(np.log(logs.index.to_numpy(float)), logs, 1)[0]
        yield keys | {"T": str(T), "quantity": "exponent_of_tau"} | over_runs(slopes)


def for_readers(table: pd.DataFrame) -> pd.DataFrame:
    """A row per T and tau: short and long documents, and those over T."""
    ratio = table[table["quantity"] == "ratio"].astype({"T": int, "tau": int})
    text = ratio.apply(lambda row: interval(row["value"], row["low"], row["high"]), axis=1)
    shown = ratio.assign(text=text).pivot(index=POINT, columns="documents", values="text")
    return shown.fillna("–").add_suffix(" [95%]").reset_index().astype(str)


def constants(table: pd.DataFrame) -> list[str]:
    """The theorem's constants that were found, a note for each range of tau."""
    bounds = table[table["quantity"].str.startswith("lambda")].groupby("tau", sort=False)
    each = {tau: map(number, part["value"]) for tau, part in bounds}
    return ["For tau {}: lambda_1 {}, lambda_2 {}.".format(tau, *two) for tau, two in each.items()]


def draw(ratios: pd.DataFrame) -> plt.Figure:
    """The ratio against tau, by kind of documents and by T, with the theorem's band fitted."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(MIDDLE, 4.1))
    own, over_T = ratios[ratios["documents"] != "over T"], ratios[ratios["documents"] == "over T"]
    optimum = own.groupby(["documents", "tau"])["ratio"].mean()
    taus, T = np.sort(own["tau"].unique()), own["T"].iloc[0]
    below = (optimum / optimum.index.get_level_values("tau")).min()
    band = f"theorem, fitted:\n{below:.2f} τ to {optimum.max() / T:.2f} T"
    left.fill_between(taus, below * taus, optimum.max(), color="0.9", linewidth=0, label=band)
    for place, (kind, points) in enumerate(own.groupby("documents", sort=False)):
        draw_means(left, points, place, f"{kind} documents")
    left.set_ylim(0, None)
    left.set_xticks(taus)
    for place, (T_, points) in enumerate(over_T.groupby("T")):
        draw_means(right, points, place, f"T = {T_}")
    taus, means = np.sort(over_T["tau"].unique()), over_T.groupby(POINT)["ratio"].mean()
    for least, style in ((1, ":"), (2, "--")):
        of = means[means.index.get_level_values("tau") >= least]
        slope = (of / of.index.get_level_values("tau")).min()
        label = f"{slope:.2f} τ: below all{', τ > 1' if least > 1 else ''}"
        right.plot(taus, slope * taus, style, color="0.45", linewidth=1, label=label)
    right.set(xscale="log", yscale="log")
    right.set_xticks(taus, map(str, taus))
    right.set_yticks([1, 3, 10, 30, 100], ["1", "3", "10", "30", "100"])
    right.minorticks_off()
    left.set_title(f"T = {T}", fontsize=9)
    right.set_title("over T", fontsize=9)
    for axis in (left, right):
        axis.axhline(1, color="0.5", linewidth=0.8, zorder=0)
        axis.set_xlabel("topics in a document, τ")
        axis.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2))
        despine(axis)
    left.set_ylabel("weight of same / different topic")
    title = "Optimal attention to the same topic, by topics in a document"
    figure.suptitle(f"{title}\n(bars: standard deviation over draws)", fontsize=10)
    return figure


def draw_means(axis: plt.Axes, points: pd.DataFrame, place: int, label: str) -> None:
    """Mean ratio over draws against tau, with the standard deviation as bars."""
    by = points.groupby("tau")["ratio"]
    style = {"marker": MARKERS[place], "color": PALETTE[place], "capsize": 3}
    axis.errorbar(by.mean().index, by.mean(), yerr=by.std().fillna(0), label=label, **style)


with job(snakemake) as step:
    ratios = pd.read_parquet(snakemake.input.ratios)
    table = tidy(list(rows_of(ratios)), KEYS)
    title = "Topic structure, synthetic: optimal attention of stage 2 against tau and T"
    step.save_table(table, title=title, shown=for_readers(table), notes=[*NOTES, *constants(table)])
    step.save_figure(draw(ratios))
