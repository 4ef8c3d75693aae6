"""Table and figure of the optimal attention of stage 2 against tau and T."""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from onelayer.evidence.figures import MARKERS, MIDDLE, PALETTE, despine, plt
from onelayer.evidence.tables import interval, number, tidy
from onelayer.job import job
from onelayer.topic_structure.synthetic.summary import extreme, over_runs

KEYS = ["documents", "method", "T", "tau"]
QUANTITIES = ("ratio", "alpha", "beta")
SERIES = {
    ("short", "optimum"): "optimum",
    ("long", "optimum"): "optimum, long documents",
    ("short", "trained"): "trained $W_K$, $W_Q$",
}
NOTES = [
    "Ratio: (v-1)/v alpha + beta/v, with alpha (same topic, another word) and beta (same word) "
    "relative to the weight of different topics, at the least squared loss with W_V frozen at "
    "stage 1's optimum for the same documents.",
    "With one topic in a document all its words but the random ones are of that topic.",
    "Trained: W_K and W_Q of a one-hot model under squared loss with Adam. Attention is not tied, "
    "so that it need not reach the optimum.",
    "alpha and beta of the optimum are sought between exp(-6) and exp(6).",
    "least_growth: the least mean difference of the ratio from one tau to the next. least_alpha: "
    "the least alpha of all T and tau > 1.",
]


def rows_of(ratios: pd.DataFrame) -> Iterator[dict]:
    """Means over seeds for every kind of documents, method, T and tau; growth with tau."""
    for key, group in ratios.groupby(KEYS, sort=False):
        keys = dict(zip(KEYS, map(str, key), strict=True))
        for quantity in QUANTITIES:
            row = over_runs(group[quantity], group["diverged_at"], 0.0)
            yield keys | {"quantity": quantity} | row
    optimum = ratios[(ratios["method"] == "optimum") & (ratios["documents"] != "over T")]
    for documents, group in optimum.groupby("documents", sort=False):
        growth = group.pivot(index="seed", columns="tau", values="ratio").diff(axis=1).iloc[:, 1:]
        keys = {"documents": documents, "method": "optimum", "T": str(group["T"].iloc[0])}
        row = extreme(growth.melt(), "tau", "value", 1)
        yield keys | {"tau": "all", "quantity": "least_growth"} | row


def band_rows(ratios: pd.DataFrame) -> Iterator[dict]:
    """The least alpha; lambda_1 and lambda_2, the tightest that hold every point."""
    keys = {"documents": "over T", "method": "optimum", "T": "all", "tau": "all"}
    several, by = ratios[ratios["tau"] > 1], ["T", "tau"]
    yield keys | {"quantity": "least_alpha"} | extreme(several, by, "alpha", 1)
    for taus, points in (("all", ratios), ("above 1", several)):
        for quantity, over, side in (("lambda_1", "tau", 1), ("lambda_2", "T", -1)):
            of = points.assign(value=points["ratio"] / points[over])
            yield keys | {"tau": taus, "quantity": quantity} | extreme(of, by, "value", side)


def for_readers(table: pd.DataFrame) -> pd.DataFrame:
    """A row per T and tau: short and long documents, trained, and the documents over T."""
    ratio = table[table["quantity"] == "ratio"]
    text = ratio.apply(lambda row: interval(row["value"], row["low"], row["high"]), axis=1)
    ratio = ratio.assign(kind=ratio["documents"] + ", " + ratio["method"], text=text)
    ratio = ratio.astype({"T": int, "tau": int})
    shown = ratio.pivot(index=["T", "tau"], columns="kind", values="text").fillna("–")
    shown.columns = [f"{kind} [95%]" for kind in shown.columns]
    return shown.reset_index().astype(str)


def theorem(table: pd.DataFrame) -> str:
    """The theorem with the constants that were found."""
    bounds = table[table["quantity"].str.startswith("lambda")].groupby("tau", sort=False)
    found = [f"for tau {taus} {', '.join(map(number, part['value']))}" for taus, part in bounds]
    return (
        "Theorem: the ratio lies in (lambda_1 tau, lambda_2 T). It names no constants. The "
        f"tightest that hold every point: {'; '.join(found)}."
    )


def draw(ratios: pd.DataFrame) -> plt.Figure:
    """The ratio against tau, by kind of documents and by T, with the theorem's band fitted."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(MIDDLE, 4.1))
    own, over_T = ratios[ratios["documents"] != "over T"], ratios[ratios["documents"] == "over T"]
    optimum = own[own["method"] == "optimum"].groupby(["documents", "tau"])["ratio"].mean()
    taus, T = np.sort(own["tau"].unique()), own["T"].iloc[0]
    below = (optimum / optimum.index.get_level_values("tau")).min()
    band = f"theorem, fitted:\n{below:.2f} τ to {optimum.max() / T:.2f} T"
    left.fill_between(taus, below * taus, optimum.max(), color="0.9", linewidth=0, label=band)
    for place, (key, label) in enumerate(SERIES.items()):
        points = own[(own["documents"] == key[0]) & (own["method"] == key[1])]
        draw_means(left, points[points["diverged_at"] < 0], place, label)
    left.set_ylim(0, None)
    left.set_xticks(taus)
    for place, (T_, points) in enumerate(over_T.groupby("T")):
        draw_means(right, points, place, f"T = {T_}")
    taus, means = np.sort(over_T["tau"].unique()), over_T.groupby(["T", "tau"])["ratio"].mean()
    for least, style in ((1, ":"), (2, "--")):
        of = means[means.index.get_level_values("tau") >= least]
        slope = (of / of.index.get_level_values("tau")).min()
        label = f"{slope:.2f} τ: below all{', τ > 1' if least > 1 else ''}"
        right.plot(taus, slope * taus, style, color="0.45", linewidth=1, label=label)
    right.set(xscale="log", yscale="log")
    right.set_xticks(taus, map(str, taus))
    right.set_yticks([1, 3, 10, 30, 100], ["1", "3", "10", "30", "100"])
    right.xaxis.set_minor_locator(plt.NullLocator())
    right.yaxis.set_minor_locator(plt.NullLocator())
    left.set_title(f"T = {T}", fontsize=9)
    right.set_title("optimum, over T", fontsize=9)
    for axis in (left, right):
        axis.axhline(1, color="0.5", linewidth=0.8, zorder=0)
        axis.set_xlabel("topics in a document, τ")
        axis.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2))
        despine(axis)
    left.set_ylabel("weight of same / different topic")
    title = "Attention to the same topic against topics in a document"
    figure.suptitle(f"{title}\n(bars: standard deviation over seeds)", fontsize=10)
    return figure


def draw_means(axis: plt.Axes, points: pd.DataFrame, place: int, label: str) -> None:
    """Mean ratio over seeds against tau, with the standard deviation as bars."""
    by = points.groupby("tau")["ratio"]
    style = {"marker": MARKERS[place], "color": PALETTE[place], "capsize": 3}
    axis.errorbar(by.mean().index, by.mean(), yerr=by.std().fillna(0), label=label, **style)


with job(snakemake) as step:
    ratios = pd.read_parquet(snakemake.input.ratios)
    band = band_rows(ratios[ratios["documents"] == "over T"])
    table = tidy([*rows_of(ratios), *band], KEYS)
    title = "Topic structure, synthetic: optimal attention of stage 2 against tau and T"
    step.save_table(table, title=title, shown=for_readers(table), notes=[*NOTES, theorem(table)])
    step.save_figure(draw(ratios))
