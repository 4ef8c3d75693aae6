"""Table and figure of the optimal attention of stage 2 against tau and T."""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from onelayer.evidence.figures import COLUMN, MARKERS, PALETTE, despine, plt
from onelayer.evidence.tables import tidy
from onelayer.job import job
from onelayer.topic_structure.synthetic import optima
from onelayer.topic_structure.synthetic.summary import extreme, over_runs

KEYS = ["documents", "T", "tau"]
POINT = ["T", "tau"]
AT_EDGE = "at the edge"
NOTES = [
    "Ratio: (v-1)/v alpha + beta/v, with alpha (same topic, another word) and beta (same word) "
    "relative to the weight of different topics, at the least squared loss with W_V frozen at "
    "stage 1's optimum for the same documents. Both are sought between exp(-6) and exp(6).",
    f"{AT_EDGE}: a draw's beta is exp(-6), the least there is, and would go on towards 0, where "
    "the ratio is .0025 / v less.",
    "With one topic in a document all its words but the random ones are of that topic.",
    "least_growth: the least mean difference of the ratio from one tau to the next. least_alpha: "
    "the least alpha of all documents, T and tau > 1.",
    "Theorem: the ratio lies in (lambda_1 tau, lambda_2 T). It names no constants: lambda_1 and "
    "lambda_2 are the tightest that hold every point, of all tau and of those above 1. "
    "exponent_of_tau: of the ratio as a power of tau above 1.",
]


def ratio_rows(ratios: pd.DataFrame) -> Iterator[dict]:
    """Means over draws by documents, T and tau; growth with tau; what stands for all T and tau."""
    for key, draws in ratios.groupby(KEYS, sort=False):
        keys = dict(zip(KEYS, map(str, key), strict=True))
        for quantity in ("ratio", "alpha", "beta"):
            at_edge = np.isclose(np.abs(np.log(draws[quantity])), optima.MOST).any()
            edge = {"state": AT_EDGE} if quantity != "ratio" and at_edge else {}
            yield keys | {"quantity": quantity} | over_runs(draws[quantity], least=0.0) | edge
    for kind in ("short", "long"):
        of_kind = ratios[ratios["documents"] == kind]
        growth = of_kind.pivot(index="seed", columns="tau", values="ratio").diff(axis=1).iloc[:, 1:]
        keys = {"documents": kind, "T": str(of_kind["T"].iloc[0]), "tau": "all"}
        yield keys | {"quantity": "least_growth"} | extreme(growth.melt(), "tau", "value", 1)
    over_T = ratios[ratios["documents"] == "over T"]
    least = extreme(ratios[ratios["tau"] > 1], ["documents", *POINT], "alpha", 1)
    yield dict.fromkeys(KEYS, "all") | {"quantity": "least_alpha"} | least
    several, keys = over_T[over_T["tau"] > 1], {"documents": "over T", "T": "all", "tau": "all"}
    for taus, points in (("all", over_T), ("above 1", several)):
        for quantity, over, side in (("lambda_1", "tau", 1), ("lambda_2", "T", -1)):
            scaled = points.assign(value=points["ratio"] / points[over])
            row = extreme(scaled, POINT, "value", side)
            yield keys | {"tau": taus, "quantity": quantity} | row
    for T, points in several.groupby("T", sort=False):
        logs = np.log(points.pivot(index="tau", columns="seed", values="ratio"))
        slopes = np.polyfit(np.log(logs.index.to_numpy(float)), logs, 1)[0]
        yield keys | {"T": str(T), "quantity": "exponent_of_tau"} | over_runs(slopes)


def draw_ratios(ratios: pd.DataFrame) -> plt.Figure:
    """The ratio against tau in short and long documents, with the theorem's band fitted."""
    figure, axis = plt.subplots(figsize=(COLUMN, 3.4))
    by_tau = ratios[ratios["documents"] != "over T"]
    means = by_tau.groupby(["documents", "tau"], as_index=False)["ratio"].mean()
    below, most = (means["ratio"] / means["tau"]).min(), means["ratio"].max()
    T, taus = by_tau["T"].iloc[0], np.sort(by_tau["tau"].unique())
    band = f"theorem, fitted:\n{below:.2f} τ to {most / T:.2f} T"
    axis.fill_between(taus, below * taus, most, color="0.9", linewidth=0, label=band)
    for place, (kind, part) in enumerate(by_tau.groupby("documents", sort=False)):
        draws = part.groupby("tau")["ratio"].agg(["mean", "std"]).fillna(0)
        style = {"marker": MARKERS[place], "color": PALETTE[place], "capsize": 3}
        axis.errorbar(draws.index, draws["mean"], draws["std"], label=f"{kind} documents", **style)
    axis.axhline(1, color="0.5", linewidth=0.8, zorder=0)
    axis.set(ylim=(0, None), ylabel="weight of same / different topic")
    axis.set(xticks=taus, xlabel=f"topics in a document, τ, of T = {T}")
    axis.set_title("Optimal attention to the same topic\n(bars: standard deviation over draws)")
    axis.legend(loc="upper left")
    despine(axis)
    return figure


with job(snakemake) as step:
    ratios = pd.read_parquet(snakemake.input.ratios)
    table = tidy(list(ratio_rows(ratios)), KEYS)
    title = "Topic structure, synthetic: optimal attention of stage 2 against tau and T"
    step.save_table(table, title=title, notes=NOTES)
    step.save_figure(draw_ratios(ratios))
