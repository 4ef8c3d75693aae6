"""Fig. 6: entropy of attention for 64 settings of size and learning rates, ours and the paper's."""

import numpy as np
import pandas as pd
from scipy.stats import ttest_ind_from_stats

from onelayer.evidence.figures import MARKERS, PALETTE, despine, plt
from onelayer.evidence.tables import side_by_side, tidy
from onelayer.job import job
from onelayer.scan_snap import measures
from onelayer.scan_snap.measures import INITIAL_ENTROPY, SETTINGS

PUBLISHED_RUNS = 10  # seeds behind a published mean and standard deviation
NOTES = [
    "entropy: of attention on the 10 distinct tokens of a class, renormalised (nats), mean over "
    f"classes; attention by P(l) alone has {INITIAL_ENTROPY:.3f}, uniform attention 2.303. Mean "
    "over seeds with its 95% interval (Student's t), against the paper's mean of 10 seeds.",
    "entropy_slope: our change from P(l) over the paper's, least squares through no change, all "
    "cells together. entropy_z: a cell's difference to the paper's in standard errors (Welch); "
    "close: the share of cells where it is at most 2.",
    "difference: entropy at the largest lr_Y/lr_Z (lr_Y_multiplier) or lr_Z minus that at the "
    "smallest. mean: over numbers of query tokens. least: at that number where entropy goes least "
    "the way that the paper says, up with lr_Y/lr_Z, down with lr_Z. effect: the mean over the "
    "paper's.",
    "A seed has the same data and start under all learning rates, so that cells of one number of "
    "query tokens vary together: of all cells n is how many such numbers there are; of the slope "
    "it is the number of seeds.",
]


def table(cells: pd.DataFrame, runs: pd.DataFrame, published: pd.DataFrame) -> pd.DataFrame:
    """Every cell with its difference to the published one, then all cells together, then trends."""
    reached = cells[cells["state"] != "not reached"].dropna(subset=["value", "low", "published"])
    ours = reached[["value", "std", "n"]].to_numpy().T
    theirs = reached[["published", "published_std"]].to_numpy().T
    z, _ = ttest_ind_from_stats(*ours, *theirs, PUBLISHED_RUNS, equal_var=False)  # Welch's
    by_cell = [
        cells.drop(columns=["std", "published_std"]).assign(quantity="entropy"),
        reached[[*SETTINGS, "n"]].assign(quantity="entropy_z", value=z),
    ]
    by_cell = pd.concat(by_cell).sort_values([*SETTINGS, "quantity"], kind="stable")
    rows = []
    if len(reached):
        together = {
            "entropy_z_close": np.mean(np.abs(z) <= 2),
            "entropy_z_largest": np.abs(z).max(),
            "entropy_correlation": reached["value"].corr(reached["published"]),
            "entropy_distance": (reached["value"] - reached["published"]).abs().mean(),
        }
        sets = reached["num_last"].nunique()
        rows = [{"quantity": name, "value": v, "n": sets} for name, v in together.items()]
        rows.append({"quantity": "entropy_slope"} | measures.entropy_slope(reached))
    for along in measures.SIDES:
        rows += measures.entropy_trend(runs, published, along)
    return tidy(pd.concat([by_cell, pd.DataFrame(rows)], ignore_index=True), SETTINGS)


def shown(rows: pd.DataFrame) -> pd.DataFrame:
    """What decides claims first, then every cell; a column per number of query tokens."""
    rows = rows[rows["quantity"] != "entropy_z"]
    rows = rows.sort_values(["lr_Z", "lr_Y_multiplier"], na_position="first")
    rates = rows[["lr_Z", "lr_Y_multiplier"]].map("{:.15g}".format)
    at = ", lr_Z = " + rates["lr_Z"] + ", lr_Y/lr_Z = " + rates["lr_Y_multiplier"]
    quantity = rows["quantity"] + at.where(rows["lr_Z"].notna(), "")
    sizes = rows["num_last"].map("query tokens: {:g}".format, na_action="ignore")
    rows = rows.assign(quantity=quantity, of=sizes.fillna("all together"))
    return side_by_side(rows, ["quantity"], "of")


def draw(cells: pd.DataFrame) -> plt.Figure:
    """Entropy against lr_Y/lr_Z, a panel per number of query tokens, a line per lr_Z."""
    ran = cells[cells["n"] > 0].groupby("num_last")
    lines = -(-len(ran) // 2)
    figure = plt.figure(figsize=(6, 1 + 2.3 * lines))
    axes = figure.subplots(lines, 2, sharex=True, sharey=True, squeeze=False)
    for axis in axes.flat[len(ran) :]:
        axis.set_axis_off()
    for axis, (num_last, of_size) in zip(axes.flat, ran, strict=False):
        panel(axis, of_size)
        axis.set_title(f"query tokens: {num_last:g}", fontsize=9)
    title = "Entropy of attention against learning rates\nours (lines) and the paper's (dotted)"
    figure.suptitle(title + " ± standard deviation")
    figure.supylabel("entropy of attention on distinct tokens (nats)", fontsize=9)
    for axis in axes[-1]:
        axis.set_xlabel("lr$_Y$ / lr$_Z$, of decoder and attention (log)", fontsize=8)
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3)
    return figure


def panel(axis: plt.Axes, cells: pd.DataFrame) -> None:
    """A line per lr_Z at one number of query tokens, ours and the published one."""
    lines = cells.groupby("lr_Z")
    for place, (lr_Z, line) in enumerate(lines):
        # Error bars stand side by side.
        x = line["lr_Y_multiplier"] * (1 + 0.025 * (place - (len(lines) - 1) / 2))
        style = {"color": PALETTE[place % len(PALETTE)], "marker": MARKERS[place % len(MARKERS)]}
        style |= {"capsize": 2, "markersize": 4}
        axis.errorbar(0.97 * x, line["value"], line["std"], label=f"lr$_Z$ = {lr_Z:g}", **style)
        style |= {"linestyle": ":", "markerfacecolor": "white"}
        axis.errorbar(1.03 * x, line["published"], line["published_std"], **style)
    style = {"color": "0.6", "linewidth": 0.8, "zorder": 0}
    axis.axhline(INITIAL_ENTROPY, label="before training", **style)
    ticks = cells["lr_Y_multiplier"].unique()
    axis.set_xscale("log")
    axis.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axis.set_xticks([], minor=True)
    despine(axis)


with job(snakemake) as step:
    iterations = step.settings["entropy_sweep"]["iterations"]
    runs = measures.entropy_by_run(pd.read_parquet(snakemake.input[0]), iterations)
    published = pd.read_csv(step.given("published"))
    cells = measures.entropy_cells(runs, published)
    title = f"Scan and Snap: entropy of attention after {iterations} iterations, by learning rates"
    rows = table(cells, runs, published)
    step.save_table(rows, title=title, shown=shown(rows), notes=NOTES)
    step.save_figure(draw(cells))
