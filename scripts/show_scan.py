"""Fig. 4: attention of one class over training, and whether it is the decoder that calms it."""

import numpy as np
import pandas as pd

from onelayer.evidence.figures import PALETTE, SEQUENTIAL, despine, plt
from onelayer.evidence.tables import side_by_side, tidy
from onelayer.job import job
from onelayer.scan_snap import measures
from onelayer.scan_snap.data import COMMON, DISTINCT, SLOTS
from onelayer.scan_snap.measures import trajectories

# Between which numbers lie by definition.
ENDS = {"common_mass_change": (-1, 1), "gain_spearman": (-1, 1), "drop_spearman": (-1, 1)}
ENDS |= {"gain_of_most_frequent": (0,), "gain_of_rarest": (0,), "way_after": (0,)}
ENDS |= {"largest_attention": (0, 1), "largest_attention_after": (0, 1)}
NOTES = [
    "c is attention c_{l|n}: what sequences with the next token n give to token l. 'scan' is the "
    "paper's: Y and Z start at 0. 'rest' starts at random values, so that attention moves under a "
    "decoder frozen at its start, too (lr_Y / lr_Z = 0). 'frozen' has its runs once more, the "
    "decoder frozen when their own transition is over: controls, which the paper does not have.",
    "Mean over seeds with its 95% interval (Student's t). Decoders share data and start by seed; "
    "'over control' is the fastest decoder's of 'rest' minus that of 'frozen', seed by seed.",
    "common_mass: c of all common tokens together. gain: c(end) / c(0). drop: the time at which a "
    "distinct token's c is 1% below its largest so far; those that never drop tie. spearman: rank "
    "correlation with P(l) over distinct tokens. way_after: how far c goes after the end, over how "
    "far before (l1). largest_attention_after: as far as the run is continued.",
    "slowing_down: log10 of the top token's speed at the run's own transition (of 'frozen', at "
    "that of the run it repeats), where c moves fastest, over its speed half of the figure's "
    "iterations later; entropy_slowing_down, of the entropy, is sounder: a top token that loses "
    "its attention slows down without rest.",
]
LINES = (0, 4, 7, 9)  # distinct tokens drawn over time, from rare to frequent
SHOWN = (0, 2, 4, 6, 8, 10)  # iterations of the paper's heat map; the last one is added


def table(simulated: dict[str, pd.DataFrame], iterations: dict[str, int]) -> pd.DataFrame:
    """Every number of the simulations, a row per decoder; the frozen one beside the fastest."""
    fastest, transition = measures.fastest_decoder(simulated["rest"], iterations["rest"])
    measured = {}
    for simulation, runs in simulated.items():
        for rate, part in runs.groupby("lr_Y_multiplier"):
            at = transition if simulation == "frozen" else None  # None: each run's
            measured[simulation, rate] = measures.scan_measures(part, iterations[simulation], at)
    control = measured["frozen", fastest]
    control[np.isnan(transition)] = np.nan  # no transition, no control
    for name in ("slowing_down", "entropy_slowing_down", "way_after"):
        control[f"{name}_over_control"] = measured["rest", fastest][name] - control[name]
    rows = []
    for (simulation, rate), numbers in measured.items():
        for quantity, values in numbers.items():
            row = {"simulation": simulation, "lr_Y_multiplier": rate, "quantity": quantity}
            rows.append(row | measures.over_runs(values, *ENDS.get(quantity, ())))
    return tidy(rows, ["simulation", "lr_Y_multiplier"])


def draw(simulated: dict[str, pd.DataFrame], iterations: dict[str, int]) -> plt.Figure:
    """One seed as the paper shows it, all seeds by token, and speed by decoder."""
    figure, axes = plt.subplot_mosaic([["map", "tokens"], ["speed", "speed"]], figsize=(5.6, 5.4))
    within = {
        name: runs.query(f"diverged_at < 0 and iteration <= {iterations[name]}")
        for name, runs in simulated.items()
    }
    times, c = trajectories(within["scan"])
    heat_map(axes["map"], times, c[:, 0])
    tokens_over_time(axes["tokens"], times, c)
    speed_by_decoder(axes["speed"], within["rest"], within["frozen"])
    what = "$c_{l|n}$: attention that sequences with next token $n$ give token $l$; "
    figure.supxlabel(what + f"bands: 95% of {c.shape[1]} seeds", fontsize=7)
    despine(axes["tokens"], axes["speed"])
    return figure


def heat_map(axis: plt.Axes, times: np.ndarray, c: np.ndarray) -> None:
    """Some iterations of one seed, c [times, 20]."""
    shown = np.isin(times, [*SHOWN, times[-1]])
    style = {"cmap": SEQUENTIAL, "vmin": 0, "interpolation": "nearest", "aspect": "auto"}
    axis.figure.colorbar(axis.imshow(c[shown], **style), ax=axis, label="$c_{l|n}$", pad=0.02)
    axis.axvline(COMMON - 0.5, color="white", linewidth=1.5)
    axis.set_xticks(range(0, SLOTS, 5))
    axis.set_yticks(range(shown.sum()), times[shown])
    axis.set(title="Attention of one seed", xlabel="token: common | distinct", ylabel="iteration")


def tokens_over_time(axis: plt.Axes, times: np.ndarray, c: np.ndarray) -> None:
    """Mean over seeds of some tokens, c [times, seeds, 20]."""
    colours = plt.get_cmap(SEQUENTIAL)(np.linspace(0.85, 0, DISTINCT))
    lines = {f"distinct {(k + 1) / 10:g}": (c[..., COMMON + k], colours[k], "-") for k in LINES}
    lines["common 1"] = c[..., :COMMON].mean(axis=2), "0.35", "--"
    for label, (values, colour, style) in reversed(lines.items()):  # [times, seeds]
        axis.plot(times, values.mean(axis=1), style, color=colour, label=label)
        band = np.percentile(values, (2.5, 97.5), axis=1)
        axis.fill_between(times, *band, color=colour, alpha=0.2, linewidth=0)
    axis.set(title="Some tokens, all seeds", xlabel="iteration", ylabel="$c_{l|n}$")
    axis.set_ylim(0, 1.6 * axis.get_ylim()[1])  # above all bands, for the legend
    axis.legend(title="relative $P(l|n)$", fontsize=7, title_fontsize=7, ncols=2, handlelength=1)


def speed_by_decoder(axis: plt.Axes, rest: pd.DataFrame, frozen: pd.DataFrame) -> None:
    """How far the most frequent token's attention moves in an iteration, median over seeds."""
    decoders = {
        f"lr$_Y$ / lr$_Z$ = {rate:g}" if rate else "frozen from the start": runs
        for rate, runs in rest.groupby("lr_Y_multiplier")
    }
    decoders["frozen at the transition"] = frozen
    for (label, runs), colour in zip(decoders.items(), PALETTE, strict=False):
        times, c = trajectories(runs)
        speed = np.abs(np.diff(c[..., -1], axis=0))  # [times - 1, seeds]
        axis.plot(times[1:], np.median(speed, axis=1), color=colour, label=label)
    axis.set(xscale="log", yscale="log", xlabel="iteration (log)")
    axis.set(title="Attention rests, by decoder", ylabel="median |change of top $c_{l|n}$| (log)")
    axis.xaxis.set_major_formatter("{x:g}")
    axis.legend(fontsize=7, loc="lower left")


with job(snakemake) as step:
    names = ["scan", "rest", "frozen"]
    simulated = dict(zip(names, map(pd.read_parquet, snakemake.input), strict=True))
    iterations = {name: step.settings[name]["iterations"] for name in ("scan", "rest")}
    iterations["frozen"] = iterations["rest"]
    rows = table(simulated, iterations)
    title = "Scan and Snap: attention of one sequence class over training"
    decoder = rows["simulation"] + rows["lr_Y_multiplier"].map(", lr_Y/lr_Z = {:.15g}".format)
    shown = side_by_side(rows.assign(decoder=decoder), ["quantity"], "decoder")
    end = f"The end is that of the figure, iteration {iterations['scan']} of 'scan', "
    end += f"{iterations['rest']} of the others: changes and gains are from the start to there."
    step.save_table(rows, title=title, shown=shown, notes=[end, *NOTES])
    step.save_figure(draw(simulated, iterations))
