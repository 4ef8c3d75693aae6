"""Table and figure of the two stages of training: W_V first, then W_K and W_Q."""

import math
from collections.abc import Iterator, Mapping
from textwrap import fill

import numpy as np
import pandas as pd
from matplotlib.colors import LogNorm

from onelayer.evidence.figures import DIVERGING, PALETTE, despine, plain, plt
from onelayer.evidence.intervals import median, share
from onelayer.evidence.tables import interval, number, tidy
from onelayer.job import job
from onelayer.settings.topic_structure_synthetic import TwoStageSettings
from onelayer.topic_structure.synthetic.summary import estimated, over_runs
from onelayer.topic_structure.synthetic.two_stages import stage_times

SMALL = 4.2  # inches: letters stay readable where the figure is small
KEYS = ["studied", "setting", "loss", "optimizer", "masked", "learning_rate", "noise"]
LEAST_RUNS = 6  # fewer cannot tell a share from a half, even if they all agree
# Colour and line of each; W_K and W_Q often lie on each other.
NORMS = {"W_V": (PALETTE[0], "-"), "W_K": (PALETTE[1], "-"), "W_Q": (PALETTE[2], "--")}
CELLS = """a cell: $t_{KQ} / t_V$, red above 1: two stages;
rest: $W_K$ never grows; large: $W_V$ starts
large; div.: diverged"""
SHARES = {
    "W_V's share of its maximum at t_KQ": "value_share_at_t_KQ",
    "t_V <= t_KQ": "share_in_order",
    "in half the steps": "share_in_order_by_half",
    "diverged": "share_diverged",
}
NOTES = [
    "t_KQ: first step at which the Frobenius norm of W_K is at least 110% of its initial value. "
    "t_V: first step at which that of W_V is at least 90% of its maximum over the run. The paper's "
    "two stages: t_V <= t_KQ. The share is of all runs: one that diverged has no stages.",
    "Where W_V goes on growing, t_V is later in a longer run. 'in half the steps' is read off the "
    "first half of the run alone.",
    "The paper names neither loss nor rate. Its steps (0 to 400, 400 to 1000) stand beside the "
    "setting that the configuration has `pictured`, chosen because it comes nearest to them.",
    "Adam divides by the root of the mean squared gradient plus epsilon (1e-8), so that it moves "
    "weights less whose gradients lie below that; a summed loss has larger ones than a mean.",
    "Masked words are hidden from attention in the authors' code, and attended to in the paper's "
    "model.",
]


def rows_of(
    norms: pd.DataFrame, block: TwoStageSettings, published: Mapping[str, float]
) -> Iterator[dict]:
    """Times and shares of each setting; of a map, its cells that are in order."""
    for one in (*block.settings, *block.maps):
        kind = "map" if one in block.maps else "setting"
        own = norms[(norms["kind"] == kind) & (norms["name"] == one.name)]
        runs = stage_times(own)
        keys = {"studied": kind, "setting": one.name, "loss": one.loss, "optimizer": one.optimizer}
        keys["masked"] = "attended" if one.masked_attended else "hidden"
        if kind == "map":
            hits = runs.groupby(["learning_rate", "noise"])["in_order"].mean() > 0.5
            cells = {"quantity": "share_of_cells_in_order", "value": hits.mean(), "n": len(hits)}
            yield keys | cells
            continue
        keys |= {"learning_rate": one.learning_rate, "noise": one.noise}
        for time in ("t_V", "t_KQ"):
            name, reached = f"{time}_median", runs[time].dropna()
            theirs = published[name] if one.pictured else math.nan
            row = estimated(median(reached.to_numpy(float)))
            yield keys | {"quantity": name, "published": theirs} | row
        row = over_runs(runs["value_share_at_t_KQ"], -1, 0.0, 1.0)
        yield keys | {"quantity": "value_share_at_t_KQ"} | row
        by_half = stage_times(own[own["step"] <= block.steps // 2])["in_order"]
        shares = {"in_order": runs["in_order"], "in_order_by_half": by_half}
        for name, hits in (shares | {"diverged": runs["diverged_at"] >= 0}).items():
            few = name in shares and len(hits) < LEAST_RUNS
            row = share(int(hits.sum()), len(hits)) | {"state": "undecided" if few else ""}
            yield keys | {"quantity": f"share_{name}"} | row


def for_readers(table: pd.DataFrame) -> pd.DataFrame:
    """A row per setting."""
    shown = []
    for name, part in table[table["studied"] == "setting"].groupby("setting", sort=False):
        by = part.set_index("quantity")
        numbers = by[["value", "low", "high"]]
        row = {"setting": name}
        for time in ("t_V", "t_KQ"):
            row[f"{time} (steps, median)"] = interval(*numbers.loc[f"{time}_median"], 0)
        row["paper"] = number(by.loc["t_V_median", "published"], 0)
        for label, quantity in SHARES.items():
            row[label] = interval(*numbers.loc[quantity])
        shown.append(row | {"runs": number(by.loc["share_diverged", "n"], 0)})
    return pd.DataFrame(shown)


def draw(norms: pd.DataFrame, block: TwoStageSettings, published: pd.Series) -> plt.Figure:
    """Norms against step, a panel per setting; below, the maps over learning rate and noise."""
    above, below = -(-len(block.settings) // 2), -(-len(block.maps) // 2)
    figure = plt.figure(figsize=(SMALL, 1.6 * above + 1.7 * below + 1.2))
    top, bottom = figure.subfigures(2, 1, height_ratios=[1.6 * above + 0.6, 1.7 * below + 0.6])
    panels = top.subplots(above, 2, squeeze=False, sharex=True).ravel()
    in_order = 0  # settings
    for one, axis in zip(block.settings, panels, strict=False):
        of = norms[(norms["kind"] == "setting") & (norms["name"] == one.name)]
        times = stage_times(of)
        in_order += times["in_order"].mean() > 0.5
        draw_norms(axis, of, times)
        if one.pictured:
            where = published["t_V_median"]
            axis.axvline(where, color="0.3", linestyle=":", label="paper: stage 2")
    handles = dict(zip(*reversed(panels[0].get_legend_handles_labels()), strict=True))
    top.legend(handles.values(), handles.keys(), loc="outside upper center", ncols=2)
    top.supylabel("Frobenius norm, median", fontsize=10)
    top.supxlabel("step; grey: stage 1, until $t_V$,\nwhere $t_V \\leq t_{KQ}$", fontsize=10)
    maps = bottom.subplots(below, 2, squeeze=False).ravel()
    for one, axis in zip(block.maps, maps, strict=False):
        draw_map(axis, stage_times(norms[(norms["kind"] == "map") & (norms["name"] == one.name)]))
    bottom.supylabel("initial noise", fontsize=10)
    bottom.supxlabel(f"learning rate\n{CELLS}", fontsize=10)
    for drawn, axes in ((block.settings, panels), (block.maps, maps)):
        for one, axis in zip(drawn, axes, strict=False):
            name = plain(one.name).replace("noise ", "noise\N{NO-BREAK SPACE}")
            axis.set_title(fill(name, 22), fontsize=10)
        for axis in axes[len(drawn) :]:
            axis.set_axis_off()
    title = f"$t_V \\leq t_{{KQ}}$ in most runs: {in_order} of {len(block.settings)} settings"
    figure.suptitle(title, fontsize=11)
    return figure


def draw_norms(axis: plt.Axes, norms: pd.DataFrame, times: pd.DataFrame) -> None:
    """Median and middle 80% of the runs that did not diverge; stage 1 shaded."""
    by = norms[norms["diverged_at"] < 0].groupby("step")
    for matrix, (colour, style) in NORMS.items():
        low, middle, high = (by[matrix].quantile(q) for q in (0.1, 0.5, 0.9))
        axis.plot(middle, style, color=colour, label=f"$|{matrix}|$")
        axis.fill_between(low.index, low, high, color=colour, alpha=0.2, linewidth=0)
    if (t_V := times["t_V"].median()) <= times["t_KQ"].median():
        axis.axvspan(0, t_V, color="0.9", linewidth=0, zorder=0)
    axis.set(yscale="log", xlim=(0, norms["step"].max()))
    axis.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axis.yaxis.set_minor_formatter(lambda *_: "")
    axis.tick_params(labelsize=10)
    despine(axis)


def draw_map(axis: plt.Axes, times: pd.DataFrame) -> None:
    """t_KQ / t_V of the median run: a row per noise, a column per learning rate."""
    times = times.assign(ratio=times["t_KQ"] / times["t_V"].replace(0, np.nan))
    cells = dict(list(times.groupby(["noise", "learning_rate"])))
    noises, rates = (sorted(times[name].unique()) for name in ("noise", "learning_rate"))
    grid = [[cells[noise, rate]["ratio"].median() for rate in rates] for noise in noises]
    axis.imshow(grid, cmap=DIVERGING, norm=LogNorm(1 / 64, 64), aspect="auto", origin="lower")
    for place, ratio in np.ndenumerate(grid):
        cell = cells[noises[place[0]], rates[place[1]]]
        why = "div." if (cell["diverged_at"] >= 0).all() else "rest"
        why = "large" if (cell["t_V"] == 0).all() else why
        dark = "white" if abs(np.log2(ratio)) > 4 else "black"
        text = why if np.isnan(ratio) else f"{ratio:.2g}"
        axis.text(*place[::-1], text, ha="center", va="center", color=dark, fontsize=10)
    axis.set_xticks(range(len(rates)), [f"{rate:g}" for rate in rates])
    axis.set_yticks(range(len(noises)), [f"{noise:g}" for noise in noises])
    axis.set_facecolor("0.88")
    axis.tick_params(length=0, labelsize=10)


with job(snakemake) as step:
    block = TwoStageSettings(**step.settings)
    norms = pd.read_parquet(snakemake.input.norms)
    published = pd.read_csv(step.given("published")).set_index("quantity")["published"]
    table = tidy(list(rows_of(norms, block, published)), KEYS)
    title = "Topic structure, synthetic: the two stages of training"
    step.save_table(table, title=title, shown=for_readers(table), notes=NOTES)
    step.save_figure(draw(norms, block, published))
