"""The synthetic figures of Li, Li & Risteski (2023)."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.colors import BoundaryNorm, LogNorm, TwoSlopeNorm
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from onelayer.figures import DIVERGING, MARKERS, PALETTE, SEQUENTIAL, WIDTH
from onelayer.papers.topic_structure.synthetic.data import SPECIAL, START
from onelayer.papers.topic_structure.synthetic.stages import stage_times

OPTIMIZERS = {"adam": "Adam", "sgd": "SGD"}
LOSSES = {
    "squared": "squared loss",
    "mean_squared": "mean squared loss",
    "cross_entropy": "cross-entropy",
}
VARIANTS = {
    "one_hot": "all trained",
    "frozen_value": "$W_V$ frozen",
    "layer_norm": "all trained, LayerNorm",
}


def blocks(matrices: Mapping[str, np.ndarray], v: int) -> Figure:
    """Heat maps of E and of W_V between words: a row each, losses and optimisers across.

    Args:
        matrices: [D, D] by `parameter/loss/optimizer`.
        v: words per topic, where lines are drawn.
    """
    names = {
        "E": "$E = W_E^{\\top} W_E$\nall components trained",
        "W_V": "$W_V$\ntrained alone, uniform attention",
    }
    columns = [
        (loss, optimizer)
        for loss in LOSSES
        for optimizer in OPTIMIZERS
        if any(f"/{loss}/{optimizer}" in name for name in matrices)
    ]
    figure, axes = plt.subplots(
        len(names), len(columns), figsize=(WIDTH + 0.6, 2.35 * len(names) + 0.3), squeeze=False
    )
    for row, (parameter, name) in enumerate(names.items()):
        for column, (loss, optimizer) in enumerate(columns):
            axis = axes[row, column]
            matrix = matrices.get(f"{parameter}/{loss}/{optimizer}")
            shown = None if matrix is None else matrix[SPECIAL:, SPECIAL:]
            _words_heatmap(axis, shown, v, {"location": "bottom", "pad": 0.03, "aspect": 18})
            if row == 0:
                axis.set_title(f"{LOSSES[loss]},\n{OPTIMIZERS[optimizer]}")
        axes[row, 0].set_ylabel(name)
    figure.supxlabel("words, topic by topic; every panel has its own colours", fontsize=9)
    return figure


def _words_heatmap(axis: Axes, matrix: np.ndarray | None, v: int, bar: Mapping) -> None:
    """A square heat map over words, lines between topics, its own colour scale centred on 0."""
    axis.set_xticks([])
    axis.set_yticks([])
    if matrix is None or not np.isfinite(matrix).all():
        text = "diverged" if matrix is not None else "not trained"
        axis.text(0.5, 0.5, text, ha="center", va="center", transform=axis.transAxes)
        axis.set_aspect("equal")
        return
    # The diagonal of E dwarfs the blocks: colours follow the entries beside it.
    beside = matrix[~np.eye(len(matrix), dtype=bool)]
    bound = float(np.quantile(np.abs(beside), 0.995)) or 1.0
    image = axis.imshow(
        matrix, cmap=DIVERGING, norm=TwoSlopeNorm(0, -bound, bound), interpolation="nearest"
    )
    for edge in range(v, len(matrix), v):
        axis.axhline(edge - 0.5, color="0.75", linewidth=0.3)
        axis.axvline(edge - 0.5, color="0.75", linewidth=0.3)
    scale = axis.figure.colorbar(image, ax=axis, shrink=0.85, extend="both", **bar)
    digits = 1 - int(np.floor(np.log10(bound)))
    tick = np.floor(bound * 10 ** (digits - 1)) / 10 ** (digits - 1)
    scale.set_ticks([-tick, 0, tick], labels=[f"{-tick:g}", "0", f"{tick:g}"])
    scale.minorticks_off()


def gap_against_decay(table: pd.DataFrame) -> Figure:
    """The gap over the theorem's against weight decay, for W_V and E.

    Args:
        table: `tables.theory_gap`.
    """
    shown = table[
        (table["quantity"] == "gap_to_theory_ratio")
        & (table["loss"] == "squared")
        & (table["masked"] == "attended")
    ]
    panels = list(dict.fromkeys(shown["parameter"]))
    figure, axes = plt.subplots(1, len(panels), figsize=(WIDTH, 3.0), sharey=True, squeeze=False)
    decays = sorted(shown["weight_decay"].unique())
    place = {decay: index for index, decay in enumerate(decays)}
    for axis, parameter in zip(axes.flat, panels, strict=True):
        own = shown[shown["parameter"] == parameter]
        for number, (optimizer, group) in enumerate(own.groupby("optimizer", sort=False)):
            x = group["weight_decay"].map(place) + 0.08 * (number - 1)
            error = np.nan_to_num([group["value"] - group["low"], group["high"] - group["value"]])
            axis.errorbar(
                x,
                group["value"],
                yerr=error,
                marker=MARKERS[number],
                color=PALETTE[number],
                linestyle="-" if optimizer == "closed form" else "none",
                linewidth=1.2,
                capsize=3,
                label=OPTIMIZERS.get(optimizer, optimizer),
            )
        axis.axhline(1, color="0.4", linewidth=0.9, linestyle="--", label="theorem")
        axis.set_xticks(range(len(decays)), [f"{decay:g}" for decay in decays])
        axis.set_xlim(-0.4, len(decays) - 0.6)
        axis.set_xlabel("weight decay")
        axis.set_title({"W_V": "$W_V$", "E": "$E = W_E^{\\top} W_E$"}[parameter])
        sns.despine(ax=axis)
    axes[0, 0].set_ylabel("gap / theorem's gap  [95%]")
    axes[0, 0].legend(frameon=False)
    return figure


def attention_heatmaps(shown: Mapping[str, Mapping[str, np.ndarray]], v: int) -> Figure:
    """W_K^T W_Q between words, and the attention it gives on one document, sorted by topic.

    Args:
        shown: by name, `weights` (W_K^T W_Q, [D keys, D queries]), `S` (attention logits,
            [D queries, D keys]) and `document` (token ids).
        v: words per topic.
    """
    figure, axes = plt.subplots(
        len(shown), 2, figsize=(WIDTH, 3.3 * len(shown)), squeeze=False, width_ratios=[1, 1.08]
    )
    for (left, right), (name, arrays) in zip(axes, shown.items(), strict=True):
        _words_heatmap(left, arrays["weights"][SPECIAL:, SPECIAL:], v, {"pad": 0.03})
        left.set(xlabel="query word, topic by topic", ylabel="key word, topic by topic")
        left.set_title(f"$W_K^{{\\top}} W_Q$: {VARIANTS.get(name, name)}")
        _document_heatmap(right, arrays["S"], arrays["document"], v)
    return figure


def _document_heatmap(axis: Axes, S: np.ndarray, document: np.ndarray, v: int) -> None:
    tokens = np.sort(document[document != START])
    keys = np.append(tokens, document[document == START])
    logits = S[np.ix_(tokens, keys)]
    shares = np.exp(logits - logits.max(axis=1, keepdims=True))
    shares = shares / shares.sum(axis=1, keepdims=True) * len(keys)
    image = axis.imshow(
        shares[:, : len(tokens)],
        cmap=SEQUENTIAL,
        norm=LogNorm(vmin=0.1, vmax=max(10.0, shares.max())),
        interpolation="nearest",
    )
    topic = (tokens - SPECIAL) // v
    for edge in np.flatnonzero(np.diff(topic)) + 0.5:
        axis.axhline(edge, color="white", linewidth=0.6)
        axis.axvline(edge, color="white", linewidth=0.6)
    large = [t for t in np.unique(topic) if (topic == t).sum() >= 6]
    middles = [float(np.flatnonzero(topic == t).mean()) for t in large]
    axis.set_xticks(middles, [f"topic {t + 1}" for t in large])
    axis.set_yticks(middles, [f"topic {t + 1}" for t in large], rotation=90, va="center")
    axis.tick_params(length=0)
    axis.set(xlabel="key", ylabel="query")
    axis.set_title("attention on one document, words sorted")
    bar = axis.figure.colorbar(image, ax=axis, shrink=0.85, pad=0.02, extend="min")
    bar.set_label("attention / uniform")
    _plain_log_ticks(bar.ax)


def _plain_log_ticks(axis: Axes) -> None:
    axis.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axis.yaxis.set_minor_formatter(lambda *_: "")


def two_stage_norms(norms: pd.DataFrame) -> Figure:
    """Norms against step, a panel per setting; the stages of the median run shaded.

    Args:
        norms: rows of `norms.two_stages`.
    """
    norms = norms[norms["kind"] == "setting"]
    names = list(dict.fromkeys(norms["name"]))
    times = stage_times(norms)
    columns = 2
    figure, axes = plt.subplots(
        -(-len(names) // columns),
        columns,
        figsize=(WIDTH, 2.3 * -(-len(names) // columns) + 0.4),
        squeeze=False,
        sharex=True,
    )
    for axis in axes.flat[len(names) :]:
        axis.set_axis_off()
    for axis, name in zip(axes.flat, names, strict=False):
        own, runs = norms[norms["name"] == name], times[times["name"] == name]
        own = own[own["diverged_at"] < 0] if (runs["diverged_at"] < 0).any() else own
        _shade(axis, runs, own["step"].max())
        for number, matrix in enumerate(("W_V", "W_K", "W_Q")):
            by_step = own.groupby("step")[matrix]
            low, middle, high = (by_step.quantile(q) for q in (0.1, 0.5, 0.9))
            # W_K and W_Q often lie on each other.
            style = "--" if matrix == "W_Q" else "-"
            axis.plot(middle.index, middle, style, color=PALETTE[number], linewidth=1.4)
            axis.fill_between(low.index, low, high, color=PALETTE[number], alpha=0.2, linewidth=0)
        axis.set_yscale("log")
        axis.set_ylim(top=2.2 * axis.get_ylim()[1])  # room for the names of the stages
        axis.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
        note = f"$t_V \\leq t_{{KQ}}$ in {runs['in_order'].sum()} of {len(runs)} runs"
        if lost := int((runs["diverged_at"] >= 0).sum()):
            note += f", {lost} diverged"
        axis.set_title(f"{name}\n{note}")
        axis.set_xlim(0, own["step"].max())
        sns.despine(ax=axis)
    handles = [
        Line2D([], [], color=PALETTE[number], linestyle=style, label=f"$|{name}|_F$")
        for number, (name, style) in enumerate({"W_V": "-", "W_K": "-", "W_Q": "--"}.items())
    ]
    title = "median and 10–90% of the runs that did not diverge"
    if len(names) % columns:
        title = title.replace(" the", "\nthe")
        axes[-1, -1].legend(handles=handles, loc="center", frameon=False, title=title)
    else:
        place = {"loc": "outside lower center", "ncols": 3, "frameon": False}
        figure.legend(handles=handles, title=title, **place)
    figure.supylabel("Frobenius norm", fontsize=9)
    for axis in axes.flat[max(0, len(names) - columns) : len(names)]:
        axis.set_xlabel("step")
        axis.tick_params(labelbottom=True)
    return figure


def _shade(axis: Axes, runs: pd.DataFrame, last: int) -> None:
    """Stage 1 until the median t_V, stage 2 from the median t_KQ, where they come in this order."""
    t_V, t_KQ = runs["t_V"].median(), runs["t_KQ"].median()
    if np.isnan(t_KQ) or t_V > t_KQ:
        return
    for first, end, name, shade in ((0, t_V, "stage 1", "0.9"), (t_KQ, last, "stage 2", "0.82")):
        axis.axvspan(first, end, color=shade, linewidth=0, zorder=0)
        if end - first < 0.15 * last:
            continue  # no room for its name
        axis.text(
            (first + end) / 2,
            0.97,
            name,
            ha="center",
            va="top",
            fontsize=7,
            color="0.35",
            transform=axis.get_xaxis_transform(),
        )


def two_stage_map(norms: pd.DataFrame) -> Figure:
    """Where W_V is done before W_K begins, over learning rate and initial noise.

    Colour: t_KQ / t_V of the median run. Cells without it say why.

    Args:
        norms: rows of `norms.two_stages`.
    """
    times = stage_times(norms[norms["kind"] == "map"])
    names = list(dict.fromkeys(times["name"]))
    widths = [times[times["name"] == name]["learning_rate"].nunique() for name in names]
    figure, axes = plt.subplots(
        1, len(names), figsize=(WIDTH, 3.0), squeeze=False, width_ratios=widths
    )
    norm = BoundaryNorm([1 / 64, 1 / 16, 1 / 4, 1 / 2, 1, 1.25, 2, 4, 16], 256, extend="both")
    for axis, name in zip(axes.flat, names, strict=True):
        own = times[times["name"] == name]
        rates, noises = sorted(own["learning_rate"].unique()), sorted(own["noise"].unique())
        grid = np.full((len(noises), len(rates)), np.nan)
        for row, noise in enumerate(noises):
            for column, rate in enumerate(rates):
                cell = own[(own["noise"] == noise) & (own["learning_rate"] == rate)]
                grid[row, column] = (cell["t_KQ"] / cell["t_V"].replace(0, np.nan)).median()
                colour = grid[row, column]
                dark = colour >= 4 or colour <= 1 / 16
                axis.text(
                    column,
                    row,
                    _cell_text(cell),
                    ha="center",
                    va="center",
                    fontsize=7,
                    color="white" if dark else "black",
                )
        image = axis.imshow(grid, cmap=DIVERGING, norm=norm, aspect="auto", origin="lower")
        axis.set_facecolor("0.88")
        axis.set_xticks(range(len(rates)), [f"{rate:g}" for rate in rates])
        axis.set_yticks(range(len(noises)), [f"{noise:g}" for noise in noises])
        axis.tick_params(length=0)
        axis.set_title(name)
        axis.set_xlabel("learning rate")
    axes[0, 0].set_ylabel("initial noise")
    figure.supxlabel("in a cell: $t_V$ and, below it, $t_{KQ}$ (steps)", fontsize=8)
    bar = figure.colorbar(image, ax=axes, shrink=0.9, pad=0.02)
    bar.set_label("$t_{KQ} / t_V$: two stages above 1")
    bar.set_ticks([1 / 16, 1 / 4, 1, 2, 4, 16], labels=["1/16", "1/4", "1", "2", "4", "16"])
    return figure


def _cell_text(cell: pd.DataFrame) -> str:
    if (cell["diverged_at"] >= 0).all():
        return "diverged"
    if cell["t_KQ"].isna().all():
        return "$W_K$ at\nrest"
    if (cell["t_V"] == 0).all():
        return "$W_V$ large\nat start"
    return f"{cell['t_V'].median():.0f}\n{cell['t_KQ'].median():.0f}"


def stage_two_ratio(ratios: pd.DataFrame, T: int) -> Figure:
    """The optimal and the trained ratio against tau, with the theorem's band fitted.

    Args:
        ratios: rows of `stage_two.stage_two`.
        T: topics.
    """
    series = {
        ("optimum", "short"): "optimum",
        ("optimum", "long"): "optimum, long documents",
        ("trained", "short"): "trained $W_K$, $W_Q$",
    }
    figure, axis = plt.subplots(figsize=(0.75 * WIDTH, 3.4))
    taus = np.array(sorted(ratios["tau"].unique()))
    for number, ((method, documents), label) in enumerate(series.items()):
        own = ratios[
            (ratios["method"] == method)
            & (ratios["documents"] == documents)
            & (ratios["diverged_at"] < 0)
        ]
        by_tau = own.groupby("tau")["ratio"]
        axis.errorbar(
            by_tau.mean().index + 0.06 * (number - 1),
            by_tau.mean(),
            yerr=by_tau.std().fillna(0),
            marker=MARKERS[number],
            color=PALETTE[number],
            linewidth=1.3,
            capsize=3,
            label=label,
        )
    optimum = ratios[(ratios["method"] == "optimum") & (ratios["tau"] > 1)]
    means = optimum.groupby(["documents", "tau"])["ratio"].mean().reset_index()
    lambda_1 = float((means["ratio"] / means["tau"]).min())
    lambda_2 = float(means["ratio"].max() / T)
    several = np.array([tau for tau in taus if tau > 1])
    axis.fill_between(
        several,
        lambda_1 * several,
        lambda_2 * T,
        color="0.88",
        zorder=0,
        label=f"theorem's band, fitted: {lambda_1:.2f} τ to {lambda_2:.2f} T",
    )
    axis.axhline(1, color="0.5", linewidth=0.8)
    axis.set(xlabel="topics in a document, τ", ylabel="same-topic / different-topic weight")
    axis.set_xticks(taus)
    axis.set_ylim(0, None)
    legend = {"framealpha": 1, "edgecolor": "none", "title": "mean ± std over seeds"}
    axis.legend(loc="lower right", **legend)
    sns.despine(ax=axis)
    return figure


def shown_variants(variants: Sequence[str]) -> list[str]:
    """Variants whose heat maps are shown: the paper's model, whole and in stage 2."""
    wanted = [name for name in variants if name in ("one_hot", "frozen_value")]
    return wanted or list(variants[:1])
