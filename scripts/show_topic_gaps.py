"""Table of the gap of W_V and E under uniform attention, and heat maps of both matrices."""

import math
from collections.abc import Iterator

import numpy as np
import pandas as pd

from onelayer.evidence.figures import DIVERGING, MIDDLE, plt
from onelayer.evidence.intervals import mean
from onelayer.evidence.tables import tidy
from onelayer.job import job
from onelayer.settings.topic_structure_synthetic import TopicModelSettings
from onelayer.topic_structure.synthetic.data import SPECIAL
from onelayer.topic_structure.synthetic.summary import one_of_several, over_runs

KEYS = ["parameter", "masked", "loss", "optimizer", "weight_decay", "setting"]
OF_GRID = {"masked": "attended", "loss": "squared", "optimizer": "optimum", "weight_decay": 0.0}
LOSSES = {"squared": "squared loss", "cross_entropy": "cross-entropy"}
OPTIMIZERS = {"adam": "Adam", "sgd": "SGD"}
MATRICES = {"E": "$E = W_E^{\\top} W_E$,\nall trained", "W_V": "$W_V$,\ntrained alone"}
NOTES = [
    "Gap: mean over same-topic pairs of words, each word with itself too, minus mean over pairs of "
    "different topics. E = W_E^T W_E, with W_V = I and a tied decoder.",
    "optimum: no training, but the minimum of the loss; that of W_V in closed form, that of E by "
    "L-BFGS. adam, sgd: trained.",
    "gap_to_theory_ratio: the gap as a share of the theorem's; the theorem says 1.",
    "Theorem: 1 / (v (1 - (1 - p_c) p_m)), for squared loss summed over the vocabulary, uniform "
    "attention, masked positions attended to, infinitely long documents, weight decay towards 0.",
    "The authors' code hides masked positions from attention. The gap is then (n + 2) / (n v), "
    "with n words visible. In their code weight decay has no gradient; here it is that of half of "
    "it times the squared norm.",
    "The theorems are not about cross-entropy, under which the gap need not settle.",
    "Rows of other v, T, p_m, p_c and tau: optima on n fresh draws of documents, less what their "
    "number adds (a jackknife of two halves). That which is farthest from the theorem's is so "
    "beyond what the length of its documents takes off.",
]


def gap_rows(gaps: pd.DataFrame, setting: str) -> Iterator[dict]:
    """The gap of trained and optimal matrices; the theorems are about squared loss undecayed."""
    for key, runs in gaps.groupby(KEYS[:-1], sort=False):
        keys = dict(zip(KEYS, [*key, setting], strict=True))
        theory = float(runs["theory"].iloc[0])  # NaN where no theorem is about the loss
        named = keys["masked"] == "attended" and keys["weight_decay"] == 0
        exact = {"state": ""} if keys["optimizer"] == "optimum" else {}
        for quantity, unit in {"gap": 1.0, "gap_to_theory_ratio": theory}.items():
            if not math.isnan(unit):
                published = {"published": theory / unit if named else math.nan}
                yield (
                    keys
                    | {"quantity": quantity}
                    | over_runs(runs["gap"] / unit)
                    | exact
                    | published
                )


def grid_rows(grid: pd.DataFrame) -> Iterator[dict]:
    """The gap in every setting, exact optima; and the one that is farthest from the theorem's."""
    ratios = []
    for (_, parameter, setting), draws in grid.groupby(["varied", "parameter", "text"], sort=False):
        keys = OF_GRID | {"parameter": parameter, "setting": setting}
        theory, off = draws[["theory", "off"]].iloc[0]
        gap = {"quantity": "gap_of_setting", "published": theory, "tolerance": off}
        yield keys | mean(draws["gap"]) | gap
        ratios.append((keys, (draws["gap"] / theory).to_numpy(), off / theory))
    # It stands for all: the farthest beyond what the documents' length takes off.
    keys, draws, off = max(ratios, key=lambda one: abs(one[1].mean() - 1) - one[2])
    farthest = {"quantity": "farthest_gap_to_theory_ratio", "published": 1.0, "tolerance": off}
    yield keys | farthest | one_of_several(draws, len(ratios))


def draw_heat_maps(matrices: dict[str, np.ndarray], v: int) -> plt.Figure:
    """Heat maps of E and W_V between words, a row each, losses and optimisers across."""
    columns = [(loss, optimizer) for loss in LOSSES for optimizer in OPTIMIZERS]
    figure, axes = plt.subplots(2, len(columns), figsize=(MIDDLE, 4.2))
    larger = []  # of each panel: within topics, the diagonal aside, than across
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
            topic = np.arange(len(words)) // v
            within, another = topic[:, None] == topic, ~np.eye(len(words), dtype=bool)
            larger.append(words[within & another].mean() > words[~within].mean())
            # E's diagonal dwarfs the others.
            bound = float(np.quantile(np.abs(words[another]), 0.995)) or 1.0
            axis.imshow(words, DIVERGING, vmin=-bound, vmax=bound, interpolation="nearest")
            for edge in range(v, len(words), v):
                axis.axhline(edge - 0.5, color="0.75", linewidth=0.3)
                axis.axvline(edge - 0.5, color="0.75", linewidth=0.3)
    title = f"larger within topics than across in {sum(larger)} of {len(larger)}"
    figure.suptitle(f"$E$ and $W_V$ after training:\n{title}", fontsize=11)
    figure.supxlabel("words, topic by topic; red: positive, blue: negative", fontsize=9)
    return figure


with job(snakemake) as step:
    words = TopicModelSettings(**step.settings["model"])
    text = "v = {v}, T = {T}, p_m = {p_m:.15g}, p_c = {p_c:.15g}, tau = {tau}"
    setting = text.format(tau=step.settings["tau"], **dict(words))
    grid = pd.read_parquet(snakemake.input.grid)
    grid["text"] = [text.format(**row) for row in grid.to_dict("records")]
    rows = [*gap_rows(pd.read_parquet(snakemake.input.gaps), setting), *grid_rows(grid)]
    table = tidy(rows, KEYS)
    title = "Topic structure, synthetic: same-topic minus different-topic gap of W_V and E"
    step.save_table(table, title=title, notes=NOTES)
    with np.load(snakemake.input.matrices) as matrices:
        step.save_figure(draw_heat_maps(dict(matrices), words.v))
