"""Do values learn before attention? One statistic in the models of all four papers.

Li, Li & Risteski (2023) find two stages, W_V first; Tian et al. (2023) assume a decoder that learns
faster than attention; the others do not ask. Of every run: the time at which the attention logits
have come a tenth of their way (from the start to where training ends) over the time at which the
value circuit has come nine tenths of its own. Above 1 there are two stages. Values whose loss asks
for ever larger numbers are never done; beside the time at which they begin the order shows all the
same.
"""

import itertools

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from onelayer.evidence.claims import BEYOND, NOTES, Claim, of_seeds, readable, tabulated
from onelayer.evidence.figures import MARKERS, PALETTE, WIDTH, despine, figure
from onelayer.evidence.tables import table
from onelayer.evidence.verdicts import TENTH, Direction
from onelayer.papers import PAPERS

DONE, BEGUN = "doublings_from_values_done", "doublings_from_values_begun"
MOVING = "share_of_value_moved_at_end"
EARLY, LATE, END = 0.1, 0.9, 0.9  # of the way, and of the steps
FALL = 0.05  # of the loss at the start: with less, nothing was learnt
STILL = f"the loss fell by less than {FALL:.0%} in every run"
NAMES = {"sgd": "SGD", "adam": "Adam"}
CASE = ["paper", "optimizer", "scale", "ratio"]
# Two stages, as wide apart as a tenth of a doubling: what matters.
FIRST = Direction(0.0, 1, matters=TENTH, kind="analogue")


def reached(step: np.ndarray, distance: np.ndarray, share: float) -> float:
    """When a distance first came to a share of its last value, between two times on a line.

    Args:
        step: rising from 0, [n].
        distance: from the start, 0 at first, [n].
        share: of the last distance, above 0.

    Returns:
        NaN where nothing moved or the run diverged.
    """
    level = share * distance[-1]
    if not level > 0:
        return float("nan")
    place = int(np.argmax(distance >= level))
    below, above = distance[place - 1], distance[place]
    return float(
        step[place - 1] + (step[place] - step[place - 1]) * (level - below) / (above - below)
    )


def of_run(run: pd.DataFrame) -> dict[str, float]:
    """When attention begins beside values, done and begun; how far values still move at the end.

    NaN where the loss did not fall, its last tenth beside its first value.
    """
    run = run.sort_values("step")
    step = run["step"].to_numpy(dtype=float)
    value, attention, loss = (run[name].to_numpy() for name in ("value", "attention", "loss"))
    last = step >= END * step[-1]
    if not loss[last].mean() < (1 - FALL) * loss[0]:
        return dict.fromkeys((DONE, BEGUN, MOVING), np.nan)
    begins = reached(step, attention, EARLY)
    return {
        DONE: np.log2(begins / reached(step, value, LATE)),
        BEGUN: np.log2(begins / reached(step, value, EARLY)),
        MOVING: 1 - np.interp(END * step[-1], step, value) / value[-1],
    }


def readable_cases(table: pd.DataFrame) -> pd.DataFrame:
    """The claims for readers, each with its paper."""
    papers = table["paper"].map(PAPERS).to_numpy()
    shown = readable(table).drop(columns=["claim", "place"])
    shown.insert(0, "paper", papers)
    return shown


@table(
    "all_papers/value_before_attention",
    "Values and attention",
    "table: values before attention",
    title="Do values learn before attention?",
    notes=[
        f"{DONE}: log2 of the time at which the attention logits have come a tenth of their way "
        "over that at which the value circuit has come nine tenths of its own; above 0 there are "
        f"two stages. {BEGUN}: the same over the time at which values have come a tenth of "
        "their way; above 0 values begin first, though both may then move together.",
        "Way: Frobenius distance from the start, as a share of that at the end of the training. "
        f"{MOVING}: the share of the values' way in the last tenth of the steps; where it is "
        "large, values have not come to rest and nine tenths of the way depend on the steps.",
        "Circuits: W_V and W_K^T W_Q on one-hot words; the decoder Y and the logits Z; V and W; "
        "W_O W_V and W_Q^T W_K. Scale multiplies their usual start; ratio is attention's learning "
        "rate over that of all else. Constant rates, no momentum.",
        "No paper asks this of the others' models, and the sizes are small: all rows are "
        "analogues.",
        *NOTES,
    ],
    readable=readable_cases,
    reads={"distances": "follow_circuits.distances"},
)
def value_before_attention(distances: pd.DataFrame) -> pd.DataFrame:
    """Of every case when attention begins beside values, done and begun, and whether these rest."""
    runs = distances.groupby([*CASE, "seed"], sort=False)
    found = pd.DataFrame({key: of_run(run) for key, run in runs}).T
    found.index.names = [*CASE, "seed"]
    claims = []
    for (paper, optimizer, scale, ratio), of_case in found.groupby(CASE, sort=False):
        keys = {"paper": paper, "optimizer": optimizer, "scale": scale, "ratio": ratio}
        setting = f"{optimizer}, start x {scale:g}, attention's rate x {ratio:g}"
        by_seed = of_case.droplevel(CASE)
        missing = STILL if by_seed[DONE].isna().all() else ""
        claims += [
            Claim(claim, BEYOND, setting, quantity, of_seeds(by_seed[quantity]), note, side=side,
                  keys=keys, missing=missing)
            for claim, quantity, note, side in (
                ("values are learnt before attention", DONE, "doublings of time", FIRST),
                ("values begin before attention", BEGUN, "doublings of time", FIRST),
                ("values are learnt before attention", MOVING, "of the values' way", None),
            )
        ]  # fmt: skip
    return tabulated(claims)


@figure(
    "all_papers/value_before_attention",
    "Values and attention",
    "figure: values before attention",
    reads={"table": "tables/all_papers/value_before_attention.csv"},
)
def figure_value_before_attention(table: pd.DataFrame) -> Figure:
    """Attention's beginning beside values done (above) and begun, a column a paper.

    The axes leave out the ends of intervals of few runs.
    """
    figure, axes = plt.subplots(2, len(PAPERS), figsize=(WIDTH, 4.6), sharey="row", sharex=True)
    scales = sorted(table["scale"].unique())
    kinds = list(dict.fromkeys(table["optimizer"]))
    for column, (paper, title) in zip(axes.T, PAPERS.items(), strict=True):
        column[0].set_title(title, loc="left", fontsize=8.5)
        for axis, quantity in zip(column, (DONE, BEGUN), strict=True):
            rows = table[(table["paper"] == paper) & (table["quantity"] == quantity)]
            for place, (scale, kind) in enumerate(itertools.product(scales, kinds)):
                one = rows[(rows["scale"] == scale) & (rows["optimizer"] == kind)]
                one, colour = one.sort_values("ratio"), PALETTE[place // len(kinds)]
                middle = 2 ** one["value"]
                axis.errorbar(
                    one["ratio"] * 1.12 ** (place - 2.5), middle,
                    [middle - 2 ** one["low"], 2 ** one["high"] - middle],
                    color=colour, marker=MARKERS[place // len(kinds)], markersize=4, capsize=1.5,
                    linewidth=0.8, linestyle="-" if kind == kinds[0] else ":",
                    markerfacecolor=colour if kind == kinds[0] else "white",
                    label=f"{NAMES[kind]}, start × {scale:g}",
                )  # fmt: skip
            axis.axhline(1, color="0.3", linewidth=0.8, linestyle="--")
            axis.set(xscale="log", yscale="log")
            axis.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
            axis.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{y:g}"))
            axis.minorticks_off()
            despine(axis)
    axes[0, 0].set_ylabel("attention begins /\nvalues are done, in time")
    axes[1, 0].set_ylabel("attention begins /\nvalues begin, in time")
    axes[0, 0].set_ylim(5e-4, 100)
    axes[1, 0].set_ylim(0.05, 1000)
    for axis in axes[1]:
        axis.set_xlabel("attention's rate / others'", fontsize=8)
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False, fontsize=7.5)
    return figure
