"""Table of the gap of W_V and E beside the theorems' value, and heat maps of both matrices."""

import math

import numpy as np
import pandas as pd

from onelayer.evidence.figures import DIVERGING, MIDDLE, plt
from onelayer.evidence.intervals import mean
from onelayer.evidence.tables import interval, number, tidy
from onelayer.job import job
from onelayer.settings.topic_structure_synthetic import TheorySettings, TopicModelSettings
from onelayer.topic_structure.synthetic import optima
from onelayer.topic_structure.synthetic.data import SPECIAL, Vocabulary
from onelayer.topic_structure.synthetic.summary import one_of_several, over_runs

KEYS = ["parameter", "masked", "loss", "optimizer", "weight_decay", "setting"]
OF_GRID = {"masked": "attended", "loss": "squared", "optimizer": "optimum", "weight_decay": 0.0}
LOSSES = {"squared": "squared loss", "cross_entropy": "cross-entropy"}
OPTIMIZERS = {"adam": "Adam", "sgd": "SGD"}
MATRICES = {"E": "$E = W_E^{\\top} W_E$,\nall trained", "W_V": "$W_V$,\ntrained alone"}
BLOCKS = "blocks"
CLEAR = 1.5  # blocks stand out by as many standard deviations of pairs of different topics
NOTES = [
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


def gap_rows(gaps: pd.DataFrame, setting: str) -> list[dict]:
    """The gap of trained and optimal matrices; the theorems are about squared loss undecayed."""
    rows = []
    for key, runs in gaps.groupby(KEYS[:-1], sort=False):
        keys = dict(zip(KEYS, [*key, setting], strict=True))
        theory = float(runs["theory"].iloc[0])
        exact = {"state": ""} if keys["optimizer"] == "optimum" else {}
        named = keys["masked"] == "attended" and keys["weight_decay"] == 0
        row = over_runs(runs["gap"], runs["diverged_at"]) | exact
        rows.append(keys | row | {"quantity": "gap", "published": theory if named else math.nan})
        if not math.isnan(theory):
            row = over_runs(runs["gap"] / theory, runs["diverged_at"]) | exact
            rows.append(keys | row | {"quantity": "gap_to_theory_ratio"})
    return rows


def grid_rows(grid: pd.DataFrame) -> list[dict]:
    """The gap in every setting, exact optima; and the one that is farthest from the theorem's."""
    rows, ratios = [], []
    for (_, parameter, setting), draws in grid.groupby(["varied", "parameter", "text"], sort=False):
        keys = OF_GRID | {"parameter": parameter, "setting": setting}
        theory = draws["theory"].iloc[0]
        row = {"quantity": "gap_of_setting", "published": theory}
        rows.append(keys | row | mean(draws["gap"]))
        off = draws["off"].iloc[0] / theory
        ratios.append((keys, (draws["gap"] / draws["theory"]).to_numpy(), off))
    # It stands for all: the farthest beyond what the documents' length takes off.
    keys, draws, _ = max(ratios, key=lambda one: abs(one[1].mean() - 1) - one[2])
    farthest = {"quantity": "farthest_gap_to_theory_ratio", "published": 1.0}
    return [*rows, keys | farthest | one_of_several(draws, len(ratios))]


def for_readers(table: pd.DataFrame) -> pd.DataFrame:
    """A row per setting; the theorem's value beside it."""
    ratio = table[table["quantity"] == "gap_to_theory_ratio"].set_index(KEYS)["value"]
    shown = table[table["quantity"].isin(["gap", "gap_of_setting"])]
    of_runs = ratio.reindex(pd.MultiIndex.from_frame(shown[KEYS])).set_axis(shown.index)
    over = (shown["value"] / shown["published"]).fillna(of_runs)
    texts = shown[KEYS].assign(weight_decay=shown["weight_decay"].map("{:g}".format))
    texts = texts.replace(LOSSES | OPTIMIZERS).rename(columns=lambda name: name.replace("_", " "))
    texts["gap [95%]"] = [interval(*gap, 5) for gap in shown[["value", "low", "high"]].to_numpy()]
    texts["theorem"] = [number(value, 5) for value in shown["published"]]
    texts["gap / theory"] = [number(value, 4) for value in over]
    return texts.assign(n=shown["n"].map("{:.0f}".format))


def draw(matrices: dict[str, np.ndarray], vocabulary: Vocabulary) -> plt.Figure:
    """Heat maps of E and W_V between words, a row each, losses and optimisers across."""
    same, different = (pairs[SPECIAL:, SPECIAL:] > 0 for pairs in optima.pairs(vocabulary))
    same &= ~np.eye(len(same), dtype=bool)  # the diagonal of E dwarfs the blocks
    columns = [(loss, optimizer) for loss in LOSSES for optimizer in OPTIMIZERS]
    figure, axes = plt.subplots(2, len(columns), figsize=(MIDDLE, 4.2))
    found = []
    for (parameter, name), row in zip(MATRICES.items(), axes, strict=True):
        for axis, (loss, optimizer) in zip(row, columns, strict=True):
            found.append("not trained, or diverged")
            matrix = matrices.get(f"{parameter}/{loss}/{optimizer}", np.array(np.nan))
            if np.isfinite(matrix).all():
                words = matrix[SPECIAL:, SPECIAL:]
                bound = float(np.quantile(np.abs(words[same | different]), 0.995)) or 1.0
                axis.imshow(words, DIVERGING, vmin=-bound, vmax=bound, interpolation="nearest")
                for edge in range(vocabulary.v, len(words), vocabulary.v):
                    axis.axhline(edge - 0.5, color="0.75", linewidth=0.3)
                    axis.axvline(edge - 0.5, color="0.75", linewidth=0.3)
                contrast = words[same].mean() - words[different].mean()
                found[-1] = (
                    BLOCKS if contrast > CLEAR * words[different].std() else "no clear blocks"
                )
            title = f"{LOSSES[loss]},\n{OPTIMIZERS[optimizer]}:\n{found[-1]}"
            axis.set(xticks=[], yticks=[])
            axis.set_title(title, fontsize=8.5)
        row[0].set_ylabel(name)
    title = (
        f"Words of one topic form clear blocks in {found.count(BLOCKS)} of {len(found)} matrices"
    )
    figure.suptitle(title, fontsize=11)
    figure.supxlabel("words, topic by topic; red: positive, blue: negative", fontsize=9)
    return figure


with job(snakemake) as step:
    words = TopicModelSettings(**step.settings["model"])
    text = "v = {v}, T = {T}, p_m = {p_m:.15g}, p_c = {p_c:.15g}, tau = {tau}"
    setting = text.format(tau=TheorySettings(**step.settings["theory"]).tau, **dict(words))
    grid = pd.read_parquet(snakemake.input.grid)
    grid["text"] = [text.format(**row) for row in grid.to_dict("records")]
    rows = [*gap_rows(pd.read_parquet(snakemake.input.gaps), setting), *grid_rows(grid)]
    table = tidy(rows, KEYS)
    title = "Topic structure, synthetic: same-topic minus different-topic gap, uniform attention"
    step.save_table(table, title=title, shown=for_readers(table), notes=NOTES)
    with np.load(snakemake.input.matrices) as matrices:
        step.save_figure(draw(dict(matrices), Vocabulary(words.T, words.v)))
