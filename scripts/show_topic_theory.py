"""Tables of the theorems: the gap of W_V and E under uniform attention, the attention of stage 2.

With heat maps of both matrices, and the ratio of attention against tau.
"""

import math
from collections.abc import Iterator

import numpy as np
import pandas as pd

from onelayer.evidence.figures import COLUMN, DIVERGING, MARKERS, MIDDLE, PALETTE, despine, plt
from onelayer.evidence.intervals import mean
from onelayer.evidence.tables import interval, number, tidy
from onelayer.job import job
from onelayer.settings.topic_structure_synthetic import TheorySettings, TopicModelSettings
from onelayer.topic_structure.synthetic import optima
from onelayer.topic_structure.synthetic.data import SPECIAL
from onelayer.topic_structure.synthetic.summary import extreme, one_of_several, over_runs

GAP_KEYS = ["parameter", "masked", "loss", "optimizer", "weight_decay", "setting"]
RATIO_KEYS = ["documents", "T", "tau"]
POINT = ["T", "tau"]
AT_EDGE = "at the edge"
OF_GRID = {"masked": "attended", "loss": "squared", "optimizer": "optimum", "weight_decay": 0.0}
LOSSES = {"squared": "squared loss", "cross_entropy": "cross-entropy"}
OPTIMIZERS = {"adam": "Adam", "sgd": "SGD"}
MATRICES = {"E": "$E = W_E^{\\top} W_E$,\nall trained", "W_V": "$W_V$,\ntrained alone"}
GAP_NOTES = [
    "Gap: mean over same-topic pairs of words, each word with itself too, minus mean over pairs of "
    "different topics. E = W_E^T W_E, with W_V = I and a tied decoder.",
    "optimum: not trained; that of W_V in closed form, that of E by L-BFGS.",
    "Theorem: 1 / (v (1 - (1 - p_c) p_m)), for squared loss summed over the vocabulary, uniform "
    "attention, masked positions attended to, infinitely long documents, weight decay towards 0.",
    "The authors' code hides masked positions from attention. The gap is then (n + 2) / (n v), "
    "with n words visible. In their code weight decay has no gradient; here it is that of half of "
    "it times the squared norm.",
    "The theorems are not about cross-entropy, under which the gap need not settle.",
    "Rows of other v, T, p_m, p_c and tau: optima on n fresh draws of documents. That which is "
    "farthest from the theorem's is so beyond what the length of its documents takes off.",
]
RATIO_NOTES = [
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


def gap_rows(gaps: pd.DataFrame, setting: str) -> Iterator[dict]:
    """The gap of trained and optimal matrices; the theorems are about squared loss undecayed."""
    for key, runs in gaps.groupby(GAP_KEYS[:-1], sort=False):
        keys = dict(zip(GAP_KEYS, [*key, setting], strict=True))
        theory, diverged_at = float(runs["theory"].iloc[0]), runs["diverged_at"]
        exact = {"state": ""} if keys["optimizer"] == "optimum" else {}
        named = keys["masked"] == "attended" and keys["weight_decay"] == 0
        gap = {"quantity": "gap", "published": theory if named else math.nan}
        yield keys | over_runs(runs["gap"], diverged_at) | exact | gap
        if not math.isnan(theory):
            ratio = over_runs(runs["gap"] / theory, diverged_at)
            yield keys | ratio | exact | {"quantity": "gap_to_theory_ratio"}


def grid_rows(grid: pd.DataFrame) -> Iterator[dict]:
    """The gap in every setting, exact optima; and the one that is farthest from the theorem's."""
    ratios = []
    for (_, parameter, setting), draws in grid.groupby(["varied", "parameter", "text"], sort=False):
        keys = OF_GRID | {"parameter": parameter, "setting": setting}
        theory, off = draws[["theory", "off"]].iloc[0]
        yield keys | mean(draws["gap"]) | {"quantity": "gap_of_setting", "published": theory}
        ratios.append((keys, (draws["gap"] / theory).to_numpy(), off / theory))
    # It stands for all: the farthest beyond what the documents' length takes off.
    keys, draws, _ = max(ratios, key=lambda one: abs(one[1].mean() - 1) - one[2])
    farthest = {"quantity": "farthest_gap_to_theory_ratio", "published": 1.0}
    yield keys | farthest | one_of_several(draws, len(ratios))


def gaps_for_readers(table: pd.DataFrame) -> pd.DataFrame:
    """A row per setting; the theorem's value beside it."""
    # The row after a gap is its ratio to the theorem's, where there is one.
    ratio = table["value"].where(table["quantity"] == "gap_to_theory_ratio").shift(-1)
    shown = table[table["quantity"].isin(["gap", "gap_of_setting"])]
    over = (shown["value"] / shown["published"]).fillna(ratio)
    texts = shown[GAP_KEYS].assign(weight_decay=shown["weight_decay"].map("{:g}".format))
    texts = texts.replace(LOSSES | OPTIMIZERS).rename(columns=lambda name: name.replace("_", " "))
    texts["gap [95%]"] = [interval(*gap, 5) for gap in shown[["value", "low", "high"]].to_numpy()]
    texts["theorem"] = [number(value, 5) for value in shown["published"]]
    texts["gap / theory"] = [number(value, 4) for value in over]
    return texts.assign(n=shown["n"].map("{:.0f}".format))


def draw_matrices(matrices: dict[str, np.ndarray], v: int) -> plt.Figure:
    """Heat maps of E and W_V between words, a row each, losses and optimisers across."""
    columns = [(loss, optimizer) for loss in LOSSES for optimizer in OPTIMIZERS]
    figure, axes = plt.subplots(2, len(columns), figsize=(MIDDLE, 4.2))
    for (parameter, name), row in zip(MATRICES.items(), axes, strict=True):
        row[0].set_ylabel(name)
        for axis, (loss, optimizer) in zip(row, columns, strict=True):
            axis.set(xticks=[], yticks=[])
            axis.set_title(f"{LOSSES[loss]},\n{OPTIMIZERS[optimizer]}", fontsize=8.5)
            matrix = matrices.get(f"{parameter}/{loss}/{optimizer}", np.array(math.nan))
            if not np.isfinite(matrix).all():
                axis.set_xlabel("not trained,\nor diverged")
                continue
            words = matrix[SPECIAL:, SPECIAL:]
            others = np.abs(words[~np.eye(len(words), dtype=bool)])  # E's diagonal dwarfs them
            bound = float(np.quantile(others, 0.995)) or 1.0
            axis.imshow(words, DIVERGING, vmin=-bound, vmax=bound, interpolation="nearest")
            for edge in range(v, len(words), v):
                axis.axhline(edge - 0.5, color="0.75", linewidth=0.3)
                axis.axvline(edge - 0.5, color="0.75", linewidth=0.3)
    figure.suptitle("$E$ and $W_V$ between words after training", fontsize=11)
    figure.supxlabel("words, topic by topic; red: positive, blue: negative", fontsize=9)
    return figure


def ratio_rows(ratios: pd.DataFrame) -> Iterator[dict]:
    """Means over draws by documents, T and tau; growth with tau; what stands for all T and tau."""
    for key, draws in ratios.groupby(RATIO_KEYS, sort=False):
        keys = dict(zip(RATIO_KEYS, map(str, key), strict=True))
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
    yield dict.fromkeys(RATIO_KEYS, "all") | {"quantity": "least_alpha"} | least
    several, keys = over_T[over_T["tau"] > 1], {"documents": "over T", "T": "all", "tau": "all"}
    for taus, points in (("all", over_T), ("above 1", several)):
        for quantity, over, side in (("lambda_1", "tau", 1), ("lambda_2", "T", -1)):
            of = points.assign(value=points["ratio"] / points[over])
            row = extreme(of, POINT, "value", side)
            yield keys | {"tau": taus, "quantity": quantity} | row
    for T, points in several.groupby("T", sort=False):
        logs = np.log(points.pivot(index="tau", columns="seed", values="ratio"))
        slopes = np.polyfit(np.log(logs.index.to_numpy(float)), logs, 1)[0]
        yield keys | {"T": str(T), "quantity": "exponent_of_tau"} | over_runs(slopes)


def ratios_for_readers(table: pd.DataFrame) -> pd.DataFrame:
    """A row per T and tau: short and long documents, and those over T."""
    ratio, beta = (table[table["quantity"] == name] for name in ("ratio", "beta"))
    numbers = zip(ratio["value"], ratio["low"], ratio["high"], strict=True)
    edges = beta["state"].map(lambda state: f", beta {state}" if state else "")
    text = [f"{interval(*n)}{edge}" for n, edge in zip(numbers, edges, strict=True)]
    shown = ratio.assign(text=text).astype({"T": int, "tau": int})
    shown = shown.pivot(index=POINT, columns="documents", values="text")
    return shown.fillna("–").add_suffix(" [95%]").reset_index().astype(str)


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
        of = part.groupby("tau")["ratio"].agg(["mean", "std"]).fillna(0)
        style = {"marker": MARKERS[place], "color": PALETTE[place], "capsize": 3}
        axis.errorbar(of.index, of["mean"], of["std"], label=f"{kind} documents", **style)
    axis.axhline(1, color="0.5", linewidth=0.8, zorder=0)
    axis.set(ylim=(0, None), ylabel="weight of same / different topic")
    axis.set(xticks=taus, xlabel=f"topics in a document, τ, of T = {T}")
    axis.set_title("Optimal attention to the same topic\n(bars: standard deviation over draws)")
    axis.legend(loc="upper left")
    despine(axis)
    return figure


with job(snakemake) as step:
    words = TopicModelSettings(**step.settings["model"])
    text = "v = {v}, T = {T}, p_m = {p_m:.15g}, p_c = {p_c:.15g}, tau = {tau}"
    setting = text.format(tau=TheorySettings(**step.settings["theory"]).tau, **dict(words))
    grid = pd.read_parquet(snakemake.input.grid)
    grid["text"] = [text.format(**row) for row in grid.to_dict("records")]
    rows = [*gap_rows(pd.read_parquet(snakemake.input.gaps), setting), *grid_rows(grid)]
    table = tidy(rows, GAP_KEYS)
    title = "Topic structure, synthetic: same-topic minus different-topic gap, uniform attention"
    shown = gaps_for_readers(table)
    step.save_table(table, "gaps", title=title, shown=shown, notes=GAP_NOTES)
    with np.load(snakemake.input.matrices) as matrices:
        step.save_figure(draw_matrices(dict(matrices), words.v), "blocks")
    ratios = pd.read_parquet(snakemake.input.ratios)
    table = tidy(list(ratio_rows(ratios)), RATIO_KEYS)
    title = "Topic structure, synthetic: optimal attention of stage 2 against tau and T"
    shown = ratios_for_readers(table)
    step.save_table(table, "ratios", title=title, shown=shown, notes=RATIO_NOTES)
    step.save_figure(draw_ratios(ratios), "ratios_figure")
