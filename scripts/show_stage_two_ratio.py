"""Table and figure of the optimal attention of stage 2 against tau and T."""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from onelayer.evidence.figures import MARKERS, MIDDLE, PALETTE, despine, plt
from onelayer.evidence.tables import interval, tidy
from onelayer.job import job
from onelayer.topic_structure.synthetic.optima import MOST
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
            at_edge = np.isclose(np.abs(np.log(draws[quantity])), MOST).any()
            edge = {"state": AT_EDGE} if quantity != "ratio" and at_edge else {}
            yield keys | {"quantity": quantity} | over_runs(draws[quantity], least=0.0) | edge
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
    """A row per T and tau: short and long documents, and those over T; whose beta is at an edge."""
    own = table[table["quantity"].isin(["ratio", "beta"])].astype({"T": int, "tau": int})
    text = own.apply(lambda row: interval(row["value"], row["low"], row["high"]), axis=1)
    text = text.mask(own["quantity"] == "beta", own["state"])
    names = own["documents"] + own["quantity"].map({"ratio": " [95%]", "beta": ", beta"})
    shown = own.assign(text=text, name=names).pivot(index=POINT, columns="name", values="text")
    return shown.fillna("–").reset_index().astype(str)


def draw(ratios: pd.DataFrame) -> plt.Figure:
    """The ratio against tau, by kind of documents and by T, with the theorem's band fitted."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(MIDDLE, 4.1))
    own, over_T = ratios[ratios["documents"] != "over T"], ratios[ratios["documents"] == "over T"]
    T, taus = own["T"].iloc[0], np.sort(own["tau"].unique())
    means = own.groupby(["documents", "tau"])["ratio"].mean().reset_index()
    below, most = (means["ratio"] / means["tau"]).min(), means["ratio"].max()
    band = f"theorem, fitted:\n{below:.2f} τ to {most / T:.2f} T"
    left.fill_between(taus, below * taus, most, color="0.9", linewidth=0, label=band)
    means = over_T.groupby(POINT)["ratio"].mean().reset_index()
    for least, style, named in ((1, ":", ""), (2, "--", ", τ > 1")):
        of, taus = means[means["tau"] >= least], np.sort(means["tau"].unique())
        slope = (of["ratio"] / of["tau"]).min()
        label = f"{slope:.2f} τ: below all{named}"
        right.plot(taus, slope * taus, style, color="0.45", linewidth=1, label=label)
    right.set(xscale="log", yscale="log", title="over T")
    right.set_yticks([1, 3, 10, 30, 100], ["1", "3", "10", "30", "100"])
    left.set(ylim=(0, None), ylabel="weight of same / different topic", title=f"T = {T}")
    for axis, points, by, named in (
        (left, own, "documents", "{} documents"),
        (right, over_T, "T", "T = {}"),
    ):
        for place, (value, part) in enumerate(points.groupby(by, sort=False)):
            of = part.groupby("tau")["ratio"]
            style = {"marker": MARKERS[place], "color": PALETTE[place], "capsize": 3}
            bars = {"yerr": of.std().fillna(0), "label": named.format(value)}
            axis.errorbar(of.mean().index, of.mean(), **bars, **style)
        axis.set_xticks(taus := np.sort(points["tau"].unique()), map(str, taus))
        axis.minorticks_off()
        axis.axhline(1, color="0.5", linewidth=0.8, zorder=0)
        axis.set_xlabel("topics in a document, τ")
        axis.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2))
        despine(axis)
    title = "Optimal attention to the same topic, by topics in a document"
    figure.suptitle(f"{title}\n(bars: standard deviation over draws)", fontsize=10)
    return figure


with job(snakemake) as step:
    ratios = pd.read_parquet(snakemake.input.ratios)
    table = tidy(list(rows_of(ratios)), KEYS)
    title = "Topic structure, synthetic: optimal attention of stage 2 against tau and T"
    step.save_table(table, title=title, shown=for_readers(table), notes=NOTES)
    step.save_figure(draw(ratios))
