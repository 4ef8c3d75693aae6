"""Heat maps, gaps and attention: synthetic figures of Li, Li & Risteski (2023)."""

import itertools
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm, TwoSlopeNorm
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from scipy.special import softmax

from onelayer.evidence.figures import (
    DIVERGING,
    MARKERS,
    MIDDLE,
    PALETTE,
    SEQUENTIAL,
    WIDTH,
    despine,
    figure,
)
from onelayer.papers.topic_structure.synthetic.data import SPECIAL, START
from onelayer.papers.topic_structure.synthetic.gap_grid import BASE
from onelayer.papers.topic_structure.synthetic.tables import (
    OPTIMIZERS,
    TOPIC_IDS,
    read_published,
    tidy_gaps,
)
from onelayer.settings.topic_structure_synthetic import AttentionVariant

LOSSES = {
    "squared": "squared loss",
    "mean_squared": "mean squared loss",
    "cross_entropy": "cross-entropy",
}
PAPERS_PLACE = 2.2  # times the last step: where the strip of published values begins
OVER_STEPS = {
    "same_word": "same word",
    "same_topic": "same topic, another word",
    "different_topic": "different topics",
    "held_out_loss": "loss on documents not trained on",
}
PARAMETERS = {"W_V": "$W_V$", "E": "$E = W_E^\\top W_E$"}
VARIED = {
    "v": "words in a topic, $v$",
    "T": "topics, $T$",
    "p_m": "share selected, $p_m$",
    "p_c": "of it left as it is, $p_c$",
    "tau": "of them together, $\\tau$",
    "d": "dimensions, $d$",
}
VARIANTS = {
    "one_hot": "$W_K$, $W_Q$, $W_V$ all trained",
    "one_hot_two_topics": "all trained, two topics a document",
    "frozen_value": "$W_V$ frozen at stage 1",
    "layer_norm": "all trained, LayerNorm",
    "residual": "all trained, with a residual stream",
    "tied": "all and embeddings trained",
    "tied_residual": "all and embeddings trained, with a residual stream",
}


@figure(
    "topic_structure/topic_blocks",
    "Synthetic: figures",
    "figure: blocks of E and W_V",
    reads={"matrices": "train_uniform_attention.matrices"},
    settings={"v": "topic_structure.synthetic.model.v"},
)
def blocks(matrices: dict[str, np.ndarray], v: int) -> Figure:
    """Heat maps of E and of W_V between words: a row each, losses and optimisers across.

    `matrices` are [D, D], by `parameter/loss/optimizer`.
    """
    names = {
        "E": "$E = W_E^{\\top} W_E$\nall components trained",
        "W_V": "$W_V$\ntrained alone, uniform attention",
    }
    columns = _columns({tuple(name.split("/")[1:]) for name in matrices})
    figure, axes = plt.subplots(
        len(names), len(columns), figsize=(WIDTH + 0.6, 2.35 * len(names) + 0.3), squeeze=False
    )
    for row, (parameter, name) in enumerate(names.items()):
        for column, (loss, optimizer) in enumerate(columns):
            axis = axes[row, column]
            matrix = matrices.get(f"{parameter}/{loss}/{optimizer}")
            _words_heatmap(axis, None if matrix is None else matrix[SPECIAL:, SPECIAL:], v)
            if row == 0:
                axis.set_title(f"{LOSSES[loss]},\n{OPTIMIZERS[optimizer]}")
        axes[row, 0].set_ylabel(name)
    figure.supxlabel("words, topic by topic; every panel has its own colours", fontsize=9)
    return figure


def _columns(trained: Collection[tuple[str, str]]) -> list[tuple[str, str]]:
    """Losses and optimisers that were trained, in the order in which figures show them."""
    return [pair for pair in itertools.product(LOSSES, OPTIMIZERS) if pair in trained]


def _words_heatmap(axis: Axes, matrix: np.ndarray | None, v: int) -> None:
    """A square heat map over words, lines between topics, its own colour scale centred on 0."""
    axis.set(xticks=[], yticks=[])
    if matrix is None or not np.isfinite(matrix).all():
        text = "not trained" if matrix is None else "diverged"
        axis.text(0.5, 0.5, text, ha="center", va="center", transform=axis.transAxes)
        axis.set_aspect("equal")
        return
    bound = colour_bound(matrix)
    image = _topics_image(axis, matrix, v, bound)
    scale = axis.figure.colorbar(
        image, ax=axis, shrink=0.85, extend="both", location="bottom", pad=0.03, aspect=18
    )
    digits = 1 - int(np.floor(np.log10(bound)))
    tick = np.floor(bound * 10 ** (digits - 1)) / 10 ** (digits - 1)
    scale.set_ticks([-tick, 0, tick], labels=[f"{-tick:g}", "0", f"{tick:g}"])
    scale.minorticks_off()


def colour_bound(matrix: np.ndarray) -> float:
    """Where the colours of a square matrix end: at the 99.5% quantile off its diagonal.

    The diagonal of E dwarfs the blocks: colours follow the other entries.
    """
    off_diagonal = matrix[~np.eye(len(matrix), dtype=bool)]
    return float(np.quantile(np.abs(off_diagonal), 0.995)) or 1.0


def _topics_image(axis: Axes, matrix: np.ndarray, v: int, bound: float) -> AxesImage:
    """A matrix over words in colours centred on 0, with lines between topics."""
    image = axis.imshow(
        matrix, cmap=DIVERGING, norm=TwoSlopeNorm(0, -bound, bound), interpolation="nearest"
    )
    for edge in range(v, len(matrix), v):
        axis.axhline(edge - 0.5, color="0.75", linewidth=0.3)
        axis.axvline(edge - 0.5, color="0.75", linewidth=0.3)
    return image


@figure(
    "topic_structure/gap_against_decay",
    "Synthetic: figures",
    "figure: gap and weight decay",
    reads={"gaps": "train_uniform_attention.gaps"},
)
def gap_against_decay(gaps: pd.DataFrame) -> Figure:
    """The gap over the theorem's against weight decay, for W_V and E."""
    table = tidy_gaps(gaps)
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
        of_matrix = shown[shown["parameter"] == parameter]
        for number, (optimizer, group) in enumerate(of_matrix.groupby("optimizer", sort=False)):
            x = group["weight_decay"].map(place) + 0.08 * (number - 1)
            error = np.nan_to_num([group["value"] - group["low"], group["high"] - group["value"]])
            style = {"marker": MARKERS[number], "color": PALETTE[number], "capsize": 3}
            style["linestyle"] = "-" if optimizer == "closed form" else "none"
            label = OPTIMIZERS.get(optimizer, optimizer)
            axis.errorbar(x, group["value"], yerr=error, linewidth=1.2, label=label, **style)
        axis.axhline(1, color="0.4", linewidth=0.9, linestyle="--", label="theorem")
        axis.set_xticks(range(len(decays)), [f"{decay:g}" for decay in decays])
        axis.set(xlim=(-0.4, len(decays) - 0.6), xlabel="weight decay", title=PARAMETERS[parameter])
        despine(axis)
    axes[0, 0].set_ylabel("gap / theorem's gap  [95%]")
    axes[0, 0].legend()
    return figure


@figure(
    "topic_structure/attention_heatmaps",
    "Synthetic: figures",
    "figure: attention on a document",
    reads={"matrices": "train_topic_attention.matrices"},
    settings={"v": "topic_structure.synthetic.model.v", "variants": "attention_variants"},
)
def attention_heatmaps(
    matrices: list[dict[str, np.ndarray]], v: int, variants: list[str]
) -> Figure:
    """W_K^T W_Q between words, and the attention it gives on one document, sorted by topic.

    Of each variant `weights` are W_K^T W_Q, [D keys, D queries], `S` attention logits, [D queries,
    D keys], and `document` token ids. The paper's model is shown, whole and in stage 2.
    """
    by_variant = dict(zip(variants, matrices, strict=True))
    wanted = [name for name in variants if name in ("one_hot", "frozen_value")] or variants[:1]
    shown = {name: by_variant[name] for name in wanted}
    figure, axes = plt.subplots(len(shown), 2, figsize=(MIDDLE, 2.6 * len(shown)), squeeze=False)
    shares = {name: document_shares(one["S"], one["document"]) for name, one in shown.items()}
    # One scale for all documents, so that rows can be compared.
    norm = LogNorm(vmin=0.1, vmax=max(10.0, *(one.max() for one in shares.values())))
    for (left, right), (name, arrays) in zip(axes, shown.items(), strict=True):
        words = arrays["weights"][SPECIAL:, SPECIAL:]
        bound = colour_bound(words)
        logits = _topics_image(left, words / bound, v, 1.0)
        left.set(xticks=[], yticks=[], xlabel="query word, topic by topic")
        left.set_ylabel(f"{VARIANTS.get(name, name)}\nkey word, topic by topic")
        left.set_title(f"$W_K^{{\\top}} W_Q$, unit {bound:.2g}", fontsize=9)
        weights = _document_heatmap(right, shares[name], arrays["document"], v, norm)
        right.set_title("attention on one document", fontsize=9)
    bars = {"location": "bottom", "shrink": 0.85, "pad": 0.02, "aspect": 22}
    left = figure.colorbar(logits, ax=axes[:, 0], extend="both", ticks=[-1, 0, 1], **bars)
    right = figure.colorbar(weights, ax=axes[:, 1], extend="min", format="{x:g}", **bars)
    for bar, label in ((left, "logit / unit"), (right, "attention / uniform")):
        bar.set_label(label)
        bar.minorticks_off()
    return figure


def document_shares(S: np.ndarray, document: np.ndarray) -> np.ndarray:
    """Attention between a document's words, sorted by id, over uniform attention [words, words].

    The start token is a key and no query; its column is left out.
    """
    tokens = np.sort(document[document != START])
    keys = np.append(tokens, document[document == START])
    shares = softmax(S[np.ix_(tokens, keys)], axis=1) * len(keys)
    return shares[:, : len(tokens)]


def _document_heatmap(
    axis: Axes, shares: np.ndarray, document: np.ndarray, v: int, norm: LogNorm
) -> AxesImage:
    image = axis.imshow(shares, cmap=SEQUENTIAL, norm=norm, interpolation="nearest")
    topic = (np.sort(document[document != START]) - SPECIAL) // v
    for edge in np.flatnonzero(np.diff(topic)) + 0.5:
        axis.axhline(edge, color="white", linewidth=0.6)
        axis.axvline(edge, color="white", linewidth=0.6)
    large = [t for t in np.unique(topic) if (topic == t).sum() >= 6]
    middles = [float(np.flatnonzero(topic == t).mean()) for t in large]
    axis.set_xticks(middles, [f"topic {t + 1}" for t in large])
    axis.set_yticks(middles, [f"topic {t + 1}" for t in large], rotation=90, va="center")
    axis.tick_params(length=0)
    axis.set(xlabel="key word", ylabel="query word")
    return image


@figure(
    "topic_structure/attention_over_steps",
    "Synthetic: figures",
    "figure: attention against steps",
    reads={
        "over_steps": "train_attention_over_steps.averages",
        "published": "reference/topic_structure_attention.csv",
    },
    settings={
        "length": "topic_structure.synthetic.attention.evaluated_tokens",
        "released_steps": "topic_structure.synthetic.released_steps",
        "variant": "topic_structure.synthetic.over_steps_variant",
    },
)
def attention_over_steps(
    over_steps: list[pd.DataFrame],
    published: Path,
    length: int,
    released_steps: int,
    variant: AttentionVariant,
) -> Figure:
    """Average attention by pair class against steps, and the loss on documents not trained on.

    A table per optimiser; on documents of `length` tokens uniform attention is 1 / length. Where
    the published table is of this variant its values stand beside it.
    """
    every = pd.concat(over_steps)
    shown = every[(every["accounting"] == TOPIC_IDS) & (every["step"] > 0)]
    shown = shown[shown["diverged_at"] < 0]
    printed = read_published(published)
    printed = printed if variant.printed else printed[:0]
    rates = list(shown.groupby(["optimizer", "learning_rate"]))
    styles = [
        {"color": PALETTE[k % len(PALETTE)], "marker": MARKERS[k % len(MARKERS)]}
        for k in range(len(rates))
    ]
    figure, axes = plt.subplots(2, 2, figsize=(1.16 * MIDDLE, 5.4), sharex=True)
    strip = PAPERS_PLACE * shown["step"].max()
    for axis, (quantity, name) in zip(axes.flat, OVER_STEPS.items(), strict=True):
        of_paper = printed[printed["quantity"] == quantity]
        of_paper = of_paper.set_index(["optimizer", "learning_rate"])
        if quantity != "held_out_loss":
            axis.axhline(1 / length, color="0.4", linewidth=0.8, linestyle=":", zorder=0)
        _draw_over_steps(axis, quantity, rates, styles, of_paper, strip)
        axis.axvline(released_steps, color="0.75", linewidth=0.8, zorder=0)
        axis.set_xscale("log")
        axis.set_xticks([10**k for k in range(1, int(np.log10(shown["step"].max())) + 1)])
        axis.xaxis.set_minor_formatter(lambda *_: "")
        axis.set_title(name, pad=14, fontsize=9)
        axis.set_ylabel("" if name == OVER_STEPS["same_topic"] else "mean attention weight")
        despine(axis)
    for axis in axes[1]:
        axis.set_xlabel("step (logarithmic)")
    axes[1, 1].set_ylabel("nats")
    handles = [
        Line2D(
            [], [], markersize=4, **style,
            label=f"{OPTIMIZERS[optimizer]} {rate:g} ({runs['seed'].nunique()} seeds)",
        )
        for style, ((optimizer, rate), runs) in zip(styles, rates, strict=True)
    ]  # fmt: skip
    handles += [
        Patch(color="0.4", alpha=0.25, linewidth=0, label="range of seeds"),
        Line2D([], [], color="0.3", linestyle=":", linewidth=0.8, label="uniform attention"),
        Line2D([], [], color="0.75", linewidth=0.8, label="released budget"),
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=3)
    return figure


def _draw_over_steps(
    axis: Axes,
    quantity: str,
    rates: Sequence[tuple[tuple[str, float], pd.DataFrame]],
    styles: Sequence[Mapping[str, str]],
    of_paper: pd.DataFrame,
    strip: float,
) -> None:
    """A line for each optimiser and rate, and what the paper has of it, from `strip` on."""
    for place, ((rate, runs), style) in enumerate(zip(rates, styles, strict=True)):
        by_step = runs.groupby("step")[quantity]
        # Markers at other steps for each: one lies on another where neither has moved.
        axis.plot(by_step.mean(), markersize=4, markevery=(place, len(rates)), **style)
        axis.fill_between(
            by_step.mean().index, by_step.min(), by_step.max(), color=style["color"], alpha=0.2,
            linewidth=0,
        )  # fmt: skip
        row = of_paper[of_paper.index == rate]
        axis.errorbar(
            strip * 1.28**place * np.ones(len(row)), row["published"],
            yerr=row["published_std"].fillna(0), markersize=5, markerfacecolor="white",
            capsize=0, linestyle="", **style,
        )  # fmt: skip
    if len(of_paper):
        axis.axvspan(strip / 1.3, strip * 1.28 ** len(rates), color="0.93", zorder=0)
        axis.text(
            strip * 1.28 ** (len(rates) / 2 - 0.6), 1, "paper", ha="center", va="bottom",
            fontsize=8, transform=axis.get_xaxis_transform(),
        )  # fmt: skip


@figure(
    "topic_structure/gap_grid",
    "Synthetic: figures",
    "figure: gap over settings",
    reads={"gaps": "solve_gap_grid.gaps"},
)
def gap_grid(gaps: pd.DataFrame) -> Figure:
    """The gap over each of v, T, p_m, p_c, tau and d, a panel each, the theory as a line."""
    gaps = gaps[gaps["selection"] == "proportion"]
    figure, axes = plt.subplots(2, 3, figsize=(MIDDLE, 3.6))
    for axis, (name, label) in zip(axes.flat, VARIED.items(), strict=True):
        points = gaps[gaps["varied"].isin([BASE, name])]
        if name == "d":
            points = points[points["parameter"] == "E"]
        line = points.groupby(name)["expected" if name == "d" else "theory"].first()
        axis.plot(line.index, line, color="0.4", linewidth=1, zorder=0, label="theory")
        for number, (parameter, title) in enumerate(PARAMETERS.items()):
            by = points[points["parameter"] == parameter].groupby(name)["gap"]
            place = by.mean().index.to_numpy(dtype=float)
            shift = 0.012 * (number - 0.5) * np.ptp(line.index.to_numpy(dtype=float))
            style = {"color": PALETTE[number], "markersize": 4.2, "label": title}
            style["markerfacecolor"] = "none" if number else PALETTE[number]
            axis.plot(place + shift, by.mean(), MARKERS[number], **style)
        axis.set(xlabel=label, ylim=(0, 1.15 * max(line.max(), points["gap"].max())))
        despine(axis)
    for axis in axes[:, 0]:
        axis.set_ylabel("gap")
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=3)
    return figure


@figure(
    "topic_structure/components_over_steps",
    "Synthetic: figures",
    "figure: which comes first",
    reads={"components": "train_all_components.components"},
)
def components_over_steps(components: pd.DataFrame) -> Figure:
    """E's gap and the attention ratio over steps, a column per loss and optimiser."""
    through = components[components["diverged_at"] < 0]
    settings = _columns(set(zip(components["loss"], components["optimizer"], strict=True)))
    figure, axes = plt.subplots(2, len(settings), figsize=(WIDTH, 3.8), squeeze=False, sharex=True)
    for column, (loss, optimizer) in enumerate(settings):
        runs = through[(through["loss"] == loss) & (through["optimizer"] == optimizer)]
        for row, measure in enumerate(("gap", "attention")):
            axis = axes[row, column]
            for number, d in enumerate(sorted(runs["d"].unique(), reverse=True)):
                style = "-" if number == 0 else "--"
                of_size = runs[runs["d"] == d]
                shade_range(axis, of_size, measure, PALETTE[number], style, f"$d = {d}$")
            axis.axhline(row, color="0.6", linewidth=0.8, zorder=0)
            if measure == "attention":  # rounding at uniform attention must not look like a change
                low, high = axis.get_ylim()
                axis.set_ylim(min(low, 0.95), max(high, 1.05))
            despine(axis)
        axes[0, column].set_title(f"{LOSSES[loss]},\n{OPTIMIZERS[optimizer]}", fontsize=9)
        axes[1, column].set_xlabel("step")
    axes[0, 0].set_ylabel("gap of $E$ between\ndifferent words")
    axes[1, 0].set_ylabel("attention, same topic\nover different topics")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    title = f"median and range of {components['seed'].nunique()} seeds"
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), title=title)
    return figure


def shade_range(
    axis: Axes, runs: pd.DataFrame, column: str, colour: str, style: str, label: str
) -> None:
    """Median over seeds against step, the range shaded."""
    by = runs.groupby("step")[column]
    axis.plot(by.median().index, by.median(), style, color=colour, linewidth=1.4, label=label)
    axis.fill_between(by.min().index, by.min(), by.max(), color=colour, alpha=0.2, linewidth=0)
