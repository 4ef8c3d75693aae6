"""Fig. 6: entropy of attention for 64 settings of size and learning rates, ours and the paper's."""

import numpy as np
import pandas as pd

from onelayer.evidence.figures import MARKERS, PALETTE, despine, plt
from onelayer.evidence.tables import number, tidy
from onelayer.job import job
from onelayer.scan_snap import measures
from onelayer.scan_snap.measures import INITIAL_ENTROPY, SETTINGS, wide

NOTES = [
    "Entropy (nats) of attention on the 10 distinct tokens of a class, renormalised, mean over "
    f"classes; attention by P(l) alone has {INITIAL_ENTROPY:.3f}, uniform attention 2.303.",
    "Ours: mean over seeds ± half of its 95% interval. Paper: mean ± standard deviation of "
    "10 seeds. A seed has the same data and start under all learning rates, so that the cells of "
    "one number of query tokens vary together: all cells are as many independent sets of seeds "
    "as there are numbers of query tokens, their n. The slope's n is the number of seeds.",
]


def table(cells: pd.DataFrame, runs: pd.DataFrame, published: pd.DataFrame) -> pd.DataFrame:
    """Every cell with its difference to the published one, then all cells together, then trends."""
    reached = cells[cells["state"] != "not reached"].dropna(subset=["value", "low", "published"])
    z = measures.welch(reached)
    parts = [
        cells.drop(columns=["std", "published_std"]).assign(quantity="entropy"),
        reached[[*SETTINGS, "n"]].assign(quantity="entropy_z", value=z),
    ]
    rows = []
    if len(reached):
        ours, theirs, sets = reached["value"], reached["published"], reached["num_last"].nunique()
        together = {
            "entropy_z_close": (z.abs() <= 2).mean(),
            "entropy_z_largest": z.abs().max(),
            "entropy_correlation": np.corrcoef(ours, theirs)[0, 1],
            "entropy_distance": (ours - theirs).abs().mean(),
        }
        rows = [{"quantity": name, "value": v, "n": sets} for name, v in together.items()]
        rows.append({"quantity": "entropy_slope"} | measures.entropy_slope(reached))
    for along in measures.SIDES:
        rows += measures.entropy_trend(runs, published, along)
    parts = pd.concat(parts).sort_values([*SETTINGS, "quantity"], kind="stable")
    return tidy(pd.concat([parts, pd.DataFrame(rows)], ignore_index=True), SETTINGS)


def shown(cells: pd.DataFrame) -> pd.DataFrame:
    """A row per size and lr_Z, a column per multiplier: ours and the published value."""
    halves = (cells["high"] - cells["low"]) / 2
    numbers = cells["value"], halves, cells["published"], cells["published_std"]
    ours, half, paper, std = (values.map(lambda x: number(x, 3)) for values in numbers)
    text = ours + " ± " + half + "; paper " + paper + " ± " + std
    rows = "query tokens: " + cells["num_last"].map("{:g}, lr_Z = ".format)
    rows += cells["lr_Z"].map("{:.15g}".format)
    columns = cells["lr_Y_multiplier"].map("lr_Y/lr_Z = {:.15g}".format)
    return wide(rows.rename("cell"), columns, text.str.removeprefix("– ± –; "))  # not run


def draw(cells: pd.DataFrame) -> plt.Figure:
    """Entropy against lr_Y/lr_Z, a panel per number of query tokens, a line per lr_Z."""
    sizes = sorted(cells.loc[cells["n"] > 0, "num_last"].unique())
    columns = min(2, len(sizes))
    lines = -(-len(sizes) // columns)
    figure = plt.figure(figsize=(3 * columns, 1 + 2.3 * lines))
    axes = figure.subplots(lines, columns, sharex=True, sharey=True, squeeze=False)
    for axis, num_last in zip(axes.flat, sizes, strict=False):
        panel(axis, cells[cells["num_last"] == num_last])
        axis.set_title(f"query tokens: {num_last:g}", fontsize=9)
    for axis in axes.flat[len(sizes) :]:
        axis.set_axis_off()
    figure.suptitle("Entropy of attention against learning rates,\nours and the paper's")
    for axis in axes[-1]:
        axis.set_xlabel("lr$_Y$ / lr$_Z$, of decoder and attention (log)", fontsize=8)
    figure.supylabel("entropy of attention on distinct tokens (nats)", fontsize=9)
    handles, _ = axes[0, 0].get_legend_handles_labels()
    for style, face, label in (("-", "0.3", "ours ± std"), (":", "white", "paper ± std")):
        look = {"color": "0.3", "marker": "o", "markerfacecolor": face, "ls": style}
        handles.append(plt.Line2D([], [], label=label, **look))
    figure.legend(handles=handles, loc="outside lower center", ncols=3)
    return figure


def panel(axis: plt.Axes, cells: pd.DataFrame) -> None:
    """Ours and the published values at one number of query tokens."""
    lines = sorted(cells.loc[cells["n"] > 0, "lr_Z"].unique())
    for place, lr_Z in enumerate(lines):
        line = cells[cells["lr_Z"] == lr_Z]
        x = line["lr_Y_multiplier"] * (1 + 0.025 * (place - (len(lines) - 1) / 2))
        style = {"color": PALETTE[place % len(PALETTE)], "marker": MARKERS[place % len(MARKERS)]}
        style |= {"capsize": 2, "markersize": 4}
        axis.errorbar(0.97 * x, line["value"], line["std"], label=f"lr$_Z$ = {lr_Z:g}", **style)
        style |= {"linestyle": ":", "markerfacecolor": "white"}
        axis.errorbar(1.03 * x, line["published"], line["published_std"], **style)
    axis.axhline(INITIAL_ENTROPY, color="0.6", linewidth=0.8, zorder=0)
    place = axis.get_yaxis_transform()
    axis.text(0.01, INITIAL_ENTROPY, "before training", transform=place, va="bottom", fontsize=7)
    axis.set_xscale("log")
    ticks = sorted(cells["lr_Y_multiplier"].unique())
    axis.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axis.set_xticks([], minor=True)
    despine(axis)


with job(snakemake) as step:
    iterations = step.settings["entropy_sweep"]["iterations"]
    runs = measures.entropy_by_run(pd.read_parquet(snakemake.input[0]), iterations)
    published = pd.read_csv(step.given("published"))
    cells = measures.entropy_cells(runs, published)
    title = "Scan and Snap: entropy of attention (nats) against learning rates"
    rows = table(cells, runs, published)
    step.save_table(rows, title=title, shown=shown(cells), notes=NOTES)
    step.save_figure(draw(cells))
