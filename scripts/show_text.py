"""Fig. 7: attention on real text over training, by the paper's SGD and by Adam."""

import textwrap

import numpy as np
import pandas as pd
from matplotlib.colors import PowerNorm

from onelayer.evidence.figures import PALETTE, SEQUENTIAL, despine, plain, plt
from onelayer.evidence.tables import side_by_side, tidy
from onelayer.job import job
from onelayer.scan_snap.measures import over_runs
from onelayer.settings.scan_snap import LanguageModelSettings

NOTES = [
    "change: from before training to its end, on held-out articles. Mean over seeds that went "
    "through, with its 95% interval (Student's t).",
    "top1: the largest weight, mean over queries. sparse: share of keys below a tenth of uniform "
    "attention. received: of the attention that known tokens get, the part of those of a range of "
    "frequency ranks, 1 if uniform. Tokens beyond the vocabulary are one for the model, <unk>: the "
    "most frequent, but in no range; 1 if it gets as much as any key. WikiText is the paper's "
    "text, any other an analogue.",
]
UNKNOWN = "received[<unk>]"
DASHES = ("-", "--", ":", "-.", (0, (1, 4)))


def table(trainings: dict[str, pd.DataFrame], corpora: dict[str, str]) -> pd.DataFrame:
    """What attention does between the first and the last iteration, a row per number."""
    rows = []
    for name, measured in trainings.items():
        values = measured.pivot(index="seed", columns=["iteration", "quantity"], values="value")
        start, end = values[0], values[measured["iteration"].max()]
        end = end.dropna(subset="loss")  # of seeds that went through
        seeds = end.join((end - start).add_suffix("_change"))
        seeds["entropy_relative_change"] = end["entropy"] / start["entropy"] - 1
        known = [quantity for quantity in bins_of(measured) if quantity != UNKNOWN]
        of_keys = {known[0]: "most frequent", known[-1]: "least frequent", UNKNOWN: "unknown"}
        limits = {"entropy_relative_change": (-1,), "top1": (0, 1)}
        changes = ["entropy", "entropy_relative", "top1", "sparse", *of_keys]
        for quantity in (*(f"{name}_change" for name in changes), "top1"):
            row = {"training": name, "corpus": corpora[name], "quantity": quantity}
            row["tokens"] = of_keys.get(quantity.removesuffix("_change"), "")
            row |= over_runs(seeds.get(quantity, ()), *limits.get(quantity, ()))
            if not (seeds["loss_change"] < 0).all():
                row["state"] = "not reached"
            rows.append(row)
    return tidy(rows, ["training", "corpus", "tokens"])


def bins_of(measured: pd.DataFrame) -> list[str]:
    """Quantities of the frequency bins, the most frequent first."""
    return [name for name in measured["quantity"].unique() if name.startswith("received[")]


def draw(trainings: dict[str, pd.DataFrame], maps: list[dict], length: int) -> plt.Figure:
    """Maps of one sequence before and after the first two trainings; then all of them over time."""
    figure, axes = plt.subplots(2, 3, figsize=(6.6, 5.3))
    show_map(axes[0, 0], maps[0]["maps"][0], "before training")
    for axis, one, (name, measured) in zip(axes[0, 1:], maps, trainings.items(), strict=False):
        show_map(axis, one["maps"][-1], f"{name},\niteration {measured['iteration'].max()}")
    figure.colorbar(axes[0, 0].images[0], ax=axes[0], shrink=0.8, pad=0.01, label="attention")
    axes[0, 0].set_ylabel("query token")
    over_time, *by_bins = axes[1]
    for (name, measured), colour, dashes in zip(trainings.items(), PALETTE, DASHES, strict=False):
        line(over_time, measured, "entropy", name, colour, dashes)
    uniform = np.log(np.arange(1, length + 1)).mean()  # over 1 .. T keys
    over_time.axhline(uniform, color="0.6", linewidth=0.8, label="uniform")
    over_time.set_ylabel("nats")
    over_time.set_title("entropy of attention", fontsize=9)
    for axis, (name, measured) in zip(by_bins, trainings.items(), strict=False):
        bins = bins_of(measured)
        colours = plt.get_cmap(SEQUENTIAL)(np.linspace(0, 0.85, len(bins)))
        for quantity, colour, dashes in zip(bins, colours, DASHES, strict=False):
            line(axis, measured, quantity, quantity[9:-1], colour, dashes)
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


def show_map(axis: plt.Axes, weights: np.ndarray, title: str) -> None:
    """Attention on one sequence, [T, T]."""
    length, past = len(weights), np.ma.masked_array(weights, np.triu(np.ones_like(weights), 1))
    style = {"cmap": SEQUENTIAL, "norm": PowerNorm(0.5, vmin=0, vmax=1), "interpolation": "nearest"}
    axis.imshow(past, extent=(0.5, length + 0.5, length + 0.5, 0.5), **style)
    ticks = [1, *range(10, length + 1, 10)]
    axis.set(xticks=ticks, yticks=ticks, xlabel="key token")
    axis.set_title(title, fontsize=8.5)
    despine(axis)


def line(axis: plt.Axes, measured: pd.DataFrame, quantity: str, label: str, colour, dashes) -> None:
    """A thin line per seed and their mean."""
    of = measured[measured["quantity"] == quantity]
    grid = of.pivot(index="iteration", columns="seed", values="value")
    axis.plot(grid.index, grid, color=colour, linewidth=0.5, alpha=0.5)
    axis.plot(grid.index, grid.mean(axis=1), dashes, color=colour, linewidth=1.8, label=label)


with job(snakemake) as step:
    settings = LanguageModelSettings(**step.settings["language_model"])
    measures = [pd.read_parquet(file) for file in snakemake.input[::2]]
    maps = [dict(np.load(file)) for file in snakemake.input[1::2]]
    names = [training.name for training in settings.trainings]
    rows = table(dict(zip(names, measures, strict=True)), {n: settings.of(n).corpus for n in names})
    title = "Scan and Snap: attention on real text"
    trained = rows["training"] + " on " + rows["corpus"]
    quantity = rows["quantity"] + (", " + rows["tokens"]).where(rows["tokens"] != "", "")
    shown = rows.assign(quantity=quantity, trained=trained)
    shown = side_by_side(shown, ["quantity"], "trained")
    step.save_table(rows, title=title, shown=shown, notes=NOTES)
    named = [f"{training.name} ({training.optimizer})" for training in settings.trainings]
    step.save_figure(draw(dict(zip(named, measures, strict=True)), maps, settings.length))
