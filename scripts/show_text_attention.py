"""Fig. 7: attention on real text over training, by the paper's SGD and by Adam."""

import textwrap

import numpy as np
import pandas as pd
from matplotlib.colors import PowerNorm
from matplotlib.image import AxesImage

from onelayer.evidence.figures import PALETTE, SEQUENTIAL, despine, plain, plt
from onelayer.evidence.tables import interval, tidy
from onelayer.job import job
from onelayer.scan_snap.measures import over_runs
from onelayer.scan_snap.text import FREQUENCY_BINS, uniform_entropy

KEYS = ["training", "tokens"]
NOTES = [
    "Change from before training to its end on held-out articles; mean over seeds that went "
    "through, with its 95% interval (Student's t).",
    "top1: the largest weight, mean over queries. sparse: share of keys below a tenth of uniform "
    "attention. received: attention on keys of a range of frequency ranks, 1 if uniform. The text "
    "is an analogue of the paper's unless the corpus is WikiText.",
]
DASHES = ("-", "--", ":", "-.")


def table(trainings: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """What attention does between the first and the last iteration, a row per number."""
    rows = []
    for name, measured in trainings.items():
        last = measured["iteration"].max()
        whole = measured[measured.groupby("seed")["iteration"].transform("max") == last]
        start, end = (
            whole[whole["iteration"] == t].pivot(index="seed", columns="quantity", values="value")
            for t in (0, last)
        )
        seeds = end.join((end - start).add_suffix("_change"))
        bins = [ranks for ranks in FREQUENCY_BINS if f"received[{ranks}]" in end]
        still = not (seeds["loss_change"] < 0).all()
        for quantity, tokens, ends in (
            ("entropy_change", "", ()),
            ("top1_change", "", ()),
            ("sparse_change", "", ()),
            (f"received[{bins[0]}]_change", "most frequent", ()),
            (f"received[{bins[-1]}]_change", "rarest", ()),
            ("top1", "", (0, 1)),
        ):
            row = {"training": name, "tokens": tokens, "quantity": quantity}
            row |= over_runs(seeds[quantity], *ends)
            rows.append(row | ({"state": "not reached"} if still else {}))
    return tidy(rows, KEYS)


def shown(rows: pd.DataFrame) -> pd.DataFrame:
    """A row per number, a column per training."""
    text = [interval(*ends, 3) for ends in rows[["value", "low", "high"]].to_numpy()]
    number = rows["quantity"].str.replace("_", ": ") + rows["tokens"].map(
        lambda tokens: f" ({tokens} tokens)" if tokens else ""
    )
    grid = rows.assign(text=text, number=number)
    grid = grid.pivot(index="number", columns="training", values="text")
    return grid.loc[number.unique(), rows["training"].unique()].fillna("–").reset_index()


def draw(
    trainings: dict[str, pd.DataFrame], maps: list[dict[str, np.ndarray]], length: int
) -> plt.Figure:
    """Maps of one sequence before and after the first two trainings; then all of them over time."""
    figure, axes = plt.subplots(2, 3, figsize=(6.6, 5.3))
    shown = [(maps[0], 0, next(iter(trainings)))]
    shown += [(one, -1, name) for one, name in zip(maps[:2], trainings, strict=False)]
    for axis, (one, place, title) in zip(axes[0], shown, strict=False):
        image = show_map(axis, one["maps"][place])
        iteration = one["iterations"][place]
        name = f"{title}, iteration {iteration}" if iteration else "before training"
        axis.set_title(name, fontsize=8.5)
    figure.colorbar(image, ax=axes[0], shrink=0.8, pad=0.01, label="attention")
    axes[0, 0].set_ylabel("query token")
    over_time, *by_bins = axes[1]
    for (name, measured), colour, dashes in zip(trainings.items(), PALETTE, DASHES, strict=False):
        line(over_time, measured, "entropy", name, colour, dashes)
    over_time.axhline(uniform_entropy(length), color="0.6", linewidth=0.8, label="uniform")
    over_time.set_ylabel("nats")
    over_time.set_title("entropy of attention", fontsize=9)
    colours = plt.get_cmap(SEQUENTIAL)(np.linspace(0, 0.85, len(FREQUENCY_BINS)))
    for axis, (name, measured) in zip(by_bins, trainings.items(), strict=False):
        for ranks, colour, dashes in zip(FREQUENCY_BINS, colours, DASHES, strict=True):
            line(axis, measured, f"received[{ranks}]", ranks, colour, dashes)
        axis.axhline(1, color="0.6", linewidth=0.8, zorder=0)
        axis.set_title(f"{name}: attention\nreceived, by frequency rank", fontsize=9)
    by_bins[0].set_ylabel("uniform = 1")
    for axis in axes[1]:
        axis.set(xlabel="iteration")
        axis.set_ylim(0, 1.6 * axis.get_ylim()[1])  # above all lines, for the legend
        axis.legend(fontsize=7, loc="upper right")
        despine(axis)
    words = [f"{place}\u00a0{token}" for place, token in enumerate(maps[0]["tokens"], start=1)]
    text = textwrap.fill("  ".join(words), 110, break_long_words=False, break_on_hyphens=False)
    figure.supxlabel(plain(f"The sequence: {text}"), fontsize=7, x=0.02, ha="left")
    figure.suptitle("Attention on text over training")
    return figure


def show_map(axis: plt.Axes, weights: np.ndarray) -> AxesImage:
    """Attention on one sequence, [T, T]."""
    length = len(weights)
    image = axis.imshow(
        np.ma.masked_array(weights, np.triu(np.ones((length, length), dtype=bool), 1)),
        cmap=SEQUENTIAL,
        norm=PowerNorm(0.5, vmin=0, vmax=1),
        interpolation="nearest",
        extent=(0.5, length + 0.5, length + 0.5, 0.5),
    )
    axis.set(xticks=[1, *range(10, length + 1, 10)], yticks=[1, *range(10, length + 1, 10)])
    axis.set_xlabel("key token")
    despine(axis)
    return image


def line(
    axis: plt.Axes, measured: pd.DataFrame, quantity: str, label: str, colour: str, dashes: str
) -> None:
    """A thin line per seed and their mean."""
    of = measured[measured["quantity"] == quantity]
    if len(of):
        grid = of.pivot(index="iteration", columns="seed", values="value")
        axis.plot(grid.index, grid, color=colour, linewidth=0.5, alpha=0.5)
        axis.plot(grid.index, grid.mean(axis=1), dashes, color=colour, linewidth=1.8, label=label)


with job(snakemake) as step:
    measures = [pd.read_parquet(file) for file in snakemake.input.measures]
    trainings = dict(zip(step.settings["trainings"], measures, strict=True))
    rows = table(trainings)
    title = "Scan and Snap: attention on real text"
    step.save_table(rows, title=title, shown=shown(rows), notes=NOTES)
    maps = [dict(np.load(file)) for file in snakemake.input.maps]
    named = dict(zip(step.settings["names"], measures, strict=True))
    step.save_figure(draw(named, maps, step.settings["length"]))
