"""With which powers the times and ratios of three papers grow, beside what their theory leaves."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from onelayer.evidence.claims import NOTES, readable, tabulated
from onelayer.evidence.figures import MARKERS, PALETTE, WIDTH, despine, figure
from onelayer.evidence.tables import table
from onelayer.papers import PAPERS
from onelayer.papers.decision_lists.claims import time_exponents
from onelayer.papers.scan_snap.rescaling import SUM, rescaling_claims
from onelayer.papers.topic_structure.synthetic.claims import ratio_exponents


def readable_exponents(table: pd.DataFrame) -> pd.DataFrame:
    """The claims for readers, each with its paper."""
    papers = table["paper"].map(PAPERS).to_numpy()
    return readable(table).drop(columns="place").assign(paper=papers)


@table(
    "all_papers/exponents",
    "Exponents",
    "table: exponents",
    title="Exponents of times and ratios, beside theory",
    notes=[
        "Scan and Snap: the exponents of the two learning rates must add up to -1 where steps are "
        "small, because the flow depends on rates times iterations alone. Momentum comes m / (1 - "
        "m) iterations late; by what that takes off the sum, to first order, the sum may be off, "
        "and where it is more than a tenth steps are not small and the row only describes.",
        "Topic structure: the theorem's lower bound goes as tau; whether the optimal ratio does "
        "where T is far above tau is asked beyond it. Intervals: over draws of documents.",
        "Decision lists: the bound is 4 M / (log(L) gamma); it says nothing of how the time grows "
        "below it. Times are exact: intervals are a jackknife over sizes, not over samples, and "
        "within a tenth counts. gamma and log L are correlated over the sizes there are.",
        "All judged rows are analogues: no paper states the exponents that they are compared with.",
        *NOTES,
    ],
    readable=readable_exponents,
    reads={
        "transitions": "simulate_slow_transitions.attention",
        "ratios": "optimise_attention_over_T.ratios",
        "solved": "solve_decision_lists.solved",
    },
    settings={"momentum": "scan_snap.transition.momentum"},
)
def exponents(
    transitions: pd.DataFrame, ratios: pd.DataFrame, solved: pd.DataFrame, momentum: float
) -> pd.DataFrame:
    """The exponents of three papers, each with how near it is to a theory's limit.

    `level` is by how much rates are divided, or T / tau; rows at the largest are `nearest`.
    """
    papers = {
        "scan_snap": rescaling_claims(transitions, momentum),
        "topic_structure": ratio_exponents(ratios),
        "decision_lists": time_exponents(solved),
    }
    return tabulated(
        claim._replace(keys={"paper": paper, **claim.keys})
        for paper, claims in papers.items()
        for claim in claims
    )


@figure(
    "all_papers/exponents",
    "Exponents",
    "figure: exponents",
    reads={"table": "tables/all_papers/exponents.csv"},
)
def figure_exponents(table: pd.DataFrame) -> Figure:
    """A panel per paper: exponents with their intervals, and where theory has them."""
    figure, (rates, topics, lists) = plt.subplots(1, 3, figsize=(WIDTH, 2.9))
    names = {"lr_Y_exponent": "lr$_Y$", "lr_Z_exponent": "lr$_Z$", SUM: "sum of both"}
    for number, (quantity, name) in enumerate(names.items()):
        _along(rates, table, quantity, number, name)
    rates.axhline(-1, color="0.5", linewidth=0.8, linestyle="--")
    rates.set(xlabel="learning rates divided by", ylabel="exponent of the transition's time")
    rates.set_title("Scan and Snap", loc="left", fontsize=9)
    rates.set_ylim(-1.15, 0)
    rates.legend(frameon=False, fontsize=7.5, loc="lower left", bbox_to_anchor=(0, 0.12))
    _along(topics, table, "exponent_of_tau", 0, "")
    topics.axhline(1, color="0.5", linewidth=0.8, linestyle="--")
    topics.set(xlabel="T / τ", ylabel="exponent of the optimal ratio in τ")
    topics.set_title("Topic structure", loc="left", fontsize=9)
    rows = table[table["paper"] == "decision_lists"].reset_index(drop=True)
    bars = [rows["value"] - rows["low"], rows["high"] - rows["value"]]
    lists.errorbar(rows.index, rows["value"], bars, color=PALETTE[0], fmt="o", capsize=3)
    lists.plot(rows.index, rows["published"], "_", color="0.4", markersize=16, label="its bound")
    lists.set_xticks(rows.index, ["γ", "log L", "M"][: len(rows)])
    lists.set_xlim(-0.5, len(rows) - 0.5)
    lists.set(ylabel="exponent of the time t*")
    lists.set_title("Decision lists", loc="left", fontsize=9)
    lists.legend(frameon=False, fontsize=7.5)
    for axis in (rates, topics, lists):
        despine(axis)
    return figure


def _along(axis: Axes, table: pd.DataFrame, quantity: str, number: int, label: str) -> None:
    """A quantity with its intervals against `level`."""
    rows = table[table["quantity"] == quantity]
    level = rows["level"].to_numpy(dtype=float)
    bars = np.array([rows["value"] - rows["low"], rows["high"] - rows["value"]])
    style = {"color": PALETTE[number], "marker": MARKERS[number], "capsize": 2, "label": label}
    axis.errorbar(level, rows["value"], bars, **style)
    ticks = [round(one, 1) if one < 10 else round(one) for one in level]
    axis.set(xscale="log")
    axis.set_xticks(level, [f"{one:g}" for one in ticks])
    axis.set_xticks([], minor=True)
