"""Table and figure of the two stages of training: W_V first, then W_K and W_Q."""

from textwrap import fill

import numpy as np
import pandas as pd
from matplotlib.colors import LogNorm

from onelayer.evidence.figures import DIVERGING, MIDDLE, PALETTE, despine, plain, plt
from onelayer.evidence.tables import tidy
from onelayer.job import job
from onelayer.settings.topic_structure_synthetic import TwoStageSettings
from onelayer.topic_structure.synthetic.summary import stage_rows, stage_times

KEYS = ["studied", "setting", "loss", "optimizer", "masked", "learning_rate", "noise"]
# Colour and line of each; W_K and W_Q often lie on each other.
NORMS = {"W_V": (PALETTE[0], "-"), "W_K": (PALETTE[1], "-"), "W_Q": (PALETTE[2], "--")}
CELLS = """a cell: $t_{KQ} / t_V$, red above 1: two stages;
rest: $W_K$ never grows; large: $W_V$ starts
large; div.: diverged"""
NOTES = [
    "A norm's way (Frobenius) is from its start to its maximum over the run. t_V: first step at "
    "which W_V has made 90% of its way, 0 if it starts large. t_KQ: first step at which W_K has "
    "made 10% of its way, none if it never grows by a tenth. share_in_order: of runs with the "
    "paper's two stages, t_V <= t_KQ. Shares are of all runs: one that diverged has no stages.",
    "share_in_order_at_80, 85, 95: W_V must have made 80, 85 or 95% of its way by t_KQ, not 90%. "
    "They say how far the share hangs on the bar; no claim rests on them. share_half_in_order: W_V "
    "makes half of its way before W_K makes half of its.",
    "Where W_V goes on growing, t_V is later in a longer run. share_in_order_by_half is read off "
    "the first half of the run alone. value_share_at_t_KQ: W_V's share of its maximum then.",
    "The paper names neither loss nor rate. Its steps (0 to 400, 400 to 1000) stand beside the "
    "setting that the configuration has `pictured`, chosen because it comes nearest to them.",
    "Adam divides by the root of the mean squared gradient plus epsilon (1e-8), so that it moves "
    "weights less whose gradients lie below that; a summed loss has larger ones than a mean.",
    "Masked words are hidden from attention in the authors' code, and attended to in the paper's "
    "model.",
]


def draw_stages(norms: pd.DataFrame, block: TwoStageSettings, published: pd.Series) -> plt.Figure:
    """Norms against step, a panel per setting; below, the maps over learning rate and noise."""
    settings = [one for one in block.trainings if not one.is_map]
    maps = [one for one in block.trainings if one.is_map]
    above, below = (1.6 * -(-len(drawn) // 2) + 0.6 for drawn in (settings, maps))
    figure = plt.figure(figsize=(MIDDLE, above + below))
    top, bottom = figure.subfigures(2, 1, height_ratios=[above, below])
    in_order = 0  # settings
    for one, axis in zip(settings, panels(top, settings, sharex=True), strict=True):
        of_setting = norms[norms["name"] == one.name]
        times = stage_times(of_setting)
        in_order += times["in_order"].mean() > 0.5
        draw_norms(axis, of_setting, times)
        if one.pictured:
            axis.axvline(published["t_V_median"], color="0.3", ls=":", label="paper: stage 2")
    each = (zip(*axis.get_legend_handles_labels(), strict=True) for axis in top.axes)
    named = {label: line for pairs in each for line, label in pairs}
    top.legend(named.values(), named.keys(), loc="outside upper center", ncols=2)
    top.supylabel("Frobenius norm, median")
    top.supxlabel("step; grey: stage 1, until $t_V$,\nwhere $t_V \\leq t_{KQ}$")
    for one, axis in zip(maps, panels(bottom, maps), strict=True):
        draw_map(axis, stage_times(norms[norms["name"] == one.name]))
    bottom.supylabel("initial noise")
    bottom.supxlabel(f"learning rate\n{CELLS}")
    figure.suptitle(f"$t_V \\leq t_{{KQ}}$ in most runs: {in_order} of {len(settings)} settings")
    return figure


def panels(figure: plt.Figure, drawn: list, **shared: bool) -> np.ndarray:
    """Axes in two columns, each titled with the name of what is drawn."""
    axes = figure.subplots(max(1, -(-len(drawn) // 2)), 2, squeeze=False, **shared).ravel()
    for axis in axes[len(drawn) :]:
        axis.remove()
    for one, axis in zip(drawn, axes, strict=False):
        name = plain(one.name).replace("noise ", "noise\N{NO-BREAK SPACE}")
        axis.set_title(fill(name, 22))
        axis.tick_params(labelbottom=one in drawn[-2:] or not shared)
    return axes[: len(drawn)]


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
    despine(axis)


def draw_map(axis: plt.Axes, times: pd.DataFrame) -> None:
    """t_KQ / t_V of the median run: a row per noise, a column per learning rate."""
    times = times.assign(ratio=times["t_KQ"] / times["t_V"].replace(0, np.nan))
    by = times.groupby(["noise", "learning_rate"])
    grid = by["ratio"].median().unstack()
    lost = (by["diverged_at"].min() >= 0).unstack().to_numpy()
    large = (by["t_V"].max() == 0).unstack().to_numpy()
    axis.imshow(grid, cmap=DIVERGING, norm=LogNorm(1 / 64, 64), aspect="auto", origin="lower")
    for place, ratio in np.ndenumerate(grid):
        why = "large" if large[place] else "div." if lost[place] else "rest"
        dark = "white" if abs(np.log2(ratio)) > 4 else "black"
        text = why if np.isnan(ratio) else f"{ratio:.2g}"
        axis.text(*place[::-1], text, ha="center", va="center", color=dark)
    axis.set_xticks(range(grid.shape[1]), [f"{rate:g}" for rate in grid.columns])
    axis.set_yticks(range(len(grid)), [f"{noise:g}" for noise in grid.index])
    axis.set_facecolor("0.88")
    axis.tick_params(length=0)


with job(snakemake) as step:
    block = TwoStageSettings(**step.settings)
    norms = pd.read_parquet(snakemake.input.norms)
    published = pd.read_csv(step.given("published")).set_index("quantity")["published"]
    table = tidy(list(stage_rows(norms, block, published)), KEYS)
    title = "Topic structure, synthetic: the two stages of training"
    step.save_table(table, title=title, notes=NOTES)
    step.save_figure(draw_stages(norms, block, published))
