"""Exponents of times and ratios beside theory, a panel a paper."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from onelayer.evidence.figures import MARKERS, PALETTE, WIDTH, despine, figure
from onelayer.papers.scan_snap.rescaling import SUM


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
