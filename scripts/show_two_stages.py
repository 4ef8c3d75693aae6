"""Table and figure of the two stages of training: W_V first, then W_K and W_Q."""

from textwrap import fill

import numpy as np
import pandas as pd
from matplotlib.colors import LogNorm

from onelayer.evidence.figures import DIVERGING, MIDDLE, PALETTE, despine, plain, plt
from onelayer.evidence.tables import interval, number, tidy
from onelayer.job import job
from onelayer.settings.topic_structure_synthetic import TwoStageSettings
from onelayer.topic_structure.synthetic.stages import stage_rows, stage_times

KEYS = ["studied", "setting", "loss", "optimizer", "masked", "learning_rate", "noise"]
# Colour and line of each; W_K and W_Q often lie on each other.
NORMS = {"W_V": (PALETTE[0], "-"), "W_K": (PALETTE[1], "-"), "W_Q": (PALETTE[2], "--")}
NOTES = [
    "t_V: first step at which the Frobenius norm of W_V is at least 90% of its maximum over a run. "
    "t_KQ: first step at which that of W_K is at least 110% of its initial value. The paper's two "
    "stages: t_V <= t_KQ, counted among the runs that did not diverge.",
    "Where W_V grows by another tenth late in stage 2, t_V is late, too: 'with 80%' takes 80% of "
    "the maximum in place of 90%. A mean of late and early runs describes neither.",
    "The paper names neither loss nor rate. Its steps (0 to 400, 400 to 1000) stand beside the "
    "setting that the configuration has `pictured`.",
    "Adam divides by the root of the mean squared gradient plus epsilon (1e-8), so that it moves "
    "weights less whose gradients lie below that; a summed loss has larger ones than a mean.",
    "Masked words are hidden from attention in the authors' code, and attended to in the paper's "
    "model.",
]


def for_readers(table: pd.DataFrame) -> pd.DataFrame:
    """A row per setting."""
    shown = []
    for name, part in table[table["studied"] == "setting"].groupby("setting", sort=False):
        by = part.set_index("quantity")
        told = {key: interval(*row, 2) for key, row in by[["value", "low", "high"]].iterrows()}
        steps = {key: interval(*row, 0) for key, row in by[["value", "low", "high"]].iterrows()}
        row = {"setting": name}
        for time in ("t_V", "t_KQ"):
            cut = f"quartiles {steps[f'{time}_quartile_1']}, {steps[f'{time}_quartile_3']}"
            row[f"{time} (steps)"] = f"{steps[time]}; median {steps[f'{time}_median']}; {cut}"
        row["paper"] = number(by.loc["t_V_median", "published"], 0)
        row["W_V's share of its maximum at t_KQ"] = told["value_share_at_t_KQ"]
        row |= {"t_V <= t_KQ": told["share_in_order"], "with 80%": told["share_nearly_in_order"]}
        row |= {
            "diverged": told["share_diverged"],
            "runs": number(by.loc["share_diverged", "n"], 0),
        }
        shown.append(row)
    return pd.DataFrame(shown)


def draw(norms: pd.DataFrame, block: TwoStageSettings, published: pd.Series) -> plt.Figure:
    """Norms against step, a panel per setting; below, the maps over learning rate and noise."""
    above, below = -(-len(block.settings) // 2), -(-len(block.maps) // 2)
    figure = plt.figure(figsize=(MIDDLE, 1.55 * above + 1.6 * below + 0.9))
    top, bottom = figure.subfigures(2, 1, height_ratios=[1.55 * above + 0.5, 1.6 * below + 0.4])
    axes = top.subplots(above, 2, squeeze=False, sharex=True).flat
    in_order = 0  # settings
    for one, axis in zip(block.settings, axes, strict=False):
        of = norms[(norms["kind"] == "setting") & (norms["name"] == one.name)]
        times = stage_times(of)
        in_order += times.loc[times["diverged_at"] < 0, "in_order"].mean() > 0.5  # not where NaN
        draw_norms(axis, of, times)
        axis.set_title(in_lines(one.name), fontsize=9)
        if one.pictured:
            axis.axvline(
                published["t_V_median"], color="0.3", linestyle=":", label="paper: stage 2"
            )
    for axis in axes[len(block.settings) :]:
        axis.set_axis_off()
    top.supylabel("Frobenius norm, median", fontsize=9)
    top.supxlabel("step; grey: stage 1, until $t_V$, where $t_V \\leq t_{KQ}$", fontsize=9)
    handles = dict(zip(*reversed(axes[0].get_legend_handles_labels()), strict=True))
    top.legend(handles.values(), handles.keys(), loc="outside upper center", ncols=4)
    title = f"$t_V \\leq t_{{KQ}}$ in most runs: {in_order} of {len(block.settings)} settings"
    figure.suptitle(title, fontsize=11)
    panels = bottom.subplots(below, 2, squeeze=False).flat
    for one, axis in zip(block.maps, panels, strict=False):
        draw_map(axis, stage_times(norms[(norms["kind"] == "map") & (norms["name"] == one.name)]))
        axis.set_title(in_lines(one.name), fontsize=9)
    for axis in panels[len(block.maps) :]:
        axis.set_axis_off()
    label = (
        "learning rate\na cell: $t_{KQ} / t_V$, red above 1: two stages; rest: $W_K$ never grows;\n"
    )
    bottom.supxlabel(label + "large: $W_V$ starts large; div.: diverged", fontsize=9)
    bottom.supylabel("initial noise", fontsize=9)
    return figure


def in_lines(name: str) -> str:
    """A setting's name as the title of a small panel."""
    return fill(plain(name).replace("noise ", "noise\N{NO-BREAK SPACE}"), 30)


def draw_norms(axis: plt.Axes, norms: pd.DataFrame, times: pd.DataFrame) -> None:
    """Median and middle 80% of the runs that did not diverge; stage 1 shaded."""
    through = norms[norms["diverged_at"] < 0]
    for matrix, (colour, style) in NORMS.items():
        low, middle, high = (through.groupby("step")[matrix].quantile(q) for q in (0.1, 0.5, 0.9))
        axis.plot(middle, style, color=colour, label=f"$|{matrix}|$")
        axis.fill_between(low.index, low, high, color=colour, alpha=0.2, linewidth=0)
    if (t_V := times["t_V"].median()) <= times["t_KQ"].median():
        axis.axvspan(0, t_V, color="0.9", linewidth=0, zorder=0)
    axis.set(yscale="log", xlim=(0, norms["step"].max()))
    axis.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
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
        axis.text(*place[::-1], text, ha="center", va="center", color=dark, fontsize=8)
    axis.set_xticks(range(len(rates)), [f"{rate:g}" for rate in rates])
    axis.set_yticks(range(len(noises)), [f"{noise:g}" for noise in noises])
    axis.set_facecolor("0.88")
    axis.tick_params(length=0)


with job(snakemake) as step:
    block = TwoStageSettings(**snakemake.params.settings)
    norms = pd.read_parquet(snakemake.input.norms)
    published = pd.read_csv(step.given("published")).set_index("quantity")["published"]
    table = tidy(list(stage_rows(norms, block, published)), KEYS)
    title = "Topic structure, synthetic: the two stages of training"
    step.save_table(table, title=title, shown=for_readers(table), notes=NOTES)
    step.save_figure(draw(norms, block, published))
