"""When attention stops gathering speed, by both learning rates, from about Fig. 4's to small ones.

The paper says that both rates control this phase transition, and gives no exponents. For small
steps SGD with momentum is a flow in which rates and time trade against each other:
T(lr_Y / s, lr_Z / s) = s T(lr_Y, lr_Z), so that the two exponents of T add up to -1 (Euler).
"""

import pandas as pd

from onelayer.evidence.figures import MARKERS, PALETTE, SEQUENTIAL, despine, plt
from onelayer.evidence.tables import side_by_side, tidy
from onelayer.job import job
from onelayer.scan_snap.measures import over_runs, transition_exponents, transition_times

NOTES = [
    "Time of the transition: the iteration at which attention c moves fastest. Exponents: slopes "
    "of its logarithm on the logarithms of both rates together, in each seed. Mean over seeds with "
    "its 95% interval (Student's t).",
    "The paper gives no exponents. In the limit of small rates training is a flow, whose exponents "
    "add up to -1: time alone fixes the sum. Momentum m comes m / (1 - m) iterations late, "
    "momentum_delay times the time. Where that is near 1, as with lr_Z and lr_Y/lr_Z half and "
    "twice those of Fig. 4, exponents measure the delay, too: claims are judged at those and at "
    "the smallest.",
]


def table(simulated: pd.DataFrame, momentum: float) -> pd.DataFrame:
    """Exponents, their sum, momentum's share of the time, and times, at ever smaller rates."""
    rows, late = [], momentum / (1 - momentum)
    for slower, runs in simulated.groupby("slower"):
        times = transition_times(runs)
        slopes = transition_exponents(times)[["lr_Y", "lr_Z"]].add_suffix("_exponent")
        slopes["sum_of_exponents"] = slopes.sum(axis=1, skipna=False)
        for quantity, values in slopes.items():
            rows.append({"slower": slower, "quantity": quantity} | over_runs(values))
        rows[-1]["published"] = -1.0  # of the sum, in a flow
        delay = late * (1 / times["time"]).mean()
        rows.append({"slower": slower, "quantity": "momentum_delay", "value": delay})
        for (lr_Z, lr_Y), seeds in times.groupby(["lr_Z", "lr_Y"]):
            row = {"slower": slower, "lr_Z": lr_Z, "lr_Y": lr_Y, "quantity": "transition_time"}
            rows.append(row | over_runs(seeds["time"], 0))
    return tidy(rows, ["slower", "lr_Z", "lr_Y"])


def draw(rows: pd.DataFrame) -> plt.Figure:
    """Time of the transition against lr_Y by lr_Z; exponents of both where rates are small."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(6.2, 3.2), width_ratios=[1.3, 1])
    lines = rows[rows["quantity"] == "transition_time"].groupby("lr_Z")
    for place, (lr_Z, line) in enumerate(lines):
        colour = plt.get_cmap(SEQUENTIAL)(0.85 * place / max(1, len(lines) - 1))
        points(left, line, "lr_Y", MARKERS[place % len(MARKERS)], colour, f"{lr_Z:.3g}")
    left.set(xscale="log", yscale="log", xlabel="decoder's learning rate lr$_Y$ (log)")
    left.set(ylabel="time of the transition\n(iterations, log)")
    left.set_title("Time of the transition by both rates", fontsize=9)
    left.yaxis.set_major_formatter("{x:g}")
    left.yaxis.set_minor_formatter("")
    left.legend(title="lr$_Z$", fontsize=7.5, title_fontsize=8, ncols=2)
    labels = {"lr_Z_exponent": "lr$_Z$", "lr_Y_exponent": "lr$_Y$", "sum_of_exponents": "sum"}
    for (quantity, label), marker, colour in zip(labels.items(), MARKERS, PALETTE, strict=False):
        points(right, rows[rows["quantity"] == quantity], "slower", marker, colour, label)
    right.axhline(-1, color="0.6", linewidth=0.8, zorder=0)
    right.set(xscale="log", xlabel="rates divided by (log)", ylabel="exponent of the time")
    right.set_xticks(sorted(rows["slower"].unique()))
    right.set_title("Exponents, and their sum\n(line: −1, of a flow)", fontsize=9)
    right.legend(fontsize=7.5)
    for axis in (left, right):
        axis.xaxis.set_major_formatter("{x:g}")
        axis.xaxis.set_minor_formatter("")
    despine(left, right)
    return figure


def points(axis: plt.Axes, rows: pd.DataFrame, x: str, marker: str, colour, label: str) -> None:
    """A line of numbers with their intervals."""
    bars = rows["value"] - rows["low"], rows["high"] - rows["value"]
    style = {"marker": marker, "color": colour, "label": label, "markersize": 4, "capsize": 2}
    axis.errorbar(rows[x], rows["value"], bars, **style)


with job(snakemake) as step:
    rows = table(pd.read_parquet(snakemake.input[0]), step.settings["transition"]["momentum"])
    title = "Scan and Snap: time of the phase transition by learning rates"
    some = rows[rows["quantity"] != "transition_time"]
    rates = some["slower"].map("rates / {:g}".format).replace("rates / 1", "about Fig. 4's rates")
    shown = side_by_side(some.assign(rates=rates), ["quantity"], "rates")
    step.save_table(rows, title=title, shown=shown, notes=NOTES)
    step.save_figure(draw(rows))
