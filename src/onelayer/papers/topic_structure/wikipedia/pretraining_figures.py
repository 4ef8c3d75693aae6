"""Figures of the models pretrained here: losses, ratios and values, inputs of several articles."""

import itertools
import textwrap
from collections.abc import Collection, Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, NullLocator

from onelayer.evidence.figures import MARKERS, MIDDLE, PALETTE, WIDTH, despine, figure
from onelayer.evidence.intervals import mean
from onelayer.evidence.tables import ALL
from onelayer.papers.topic_structure.wikipedia.losses import histories_by_training
from onelayer.papers.topic_structure.wikipedia.over_seeds import SEED
from onelayer.papers.topic_structure.wikipedia.over_tokens import (
    BELOW,
    FOUND,
    INFORMATION,
    RATIOS,
    ratios_over_tokens,
    tokens_shown,
)
from onelayer.papers.topic_structure.wikipedia.probe.value_circuit import GAP
from onelayer.papers.topic_structure.wikipedia.tables import CHECKPOINTS, measures_by_model
from onelayer.papers.topic_structure.wikipedia.topics_per_input import (
    ARTICLES,
    CORRECTED,
    ORDERS,
    assemble,
    kind_of,
    order_of,
)
from onelayer.papers.topic_structure.wikipedia.value_circuit import ATTENTION, over_tokens
from onelayer.settings.models import ModelSettings, RandomModel
from onelayer.settings.topic_structure import NamedModel, by_name
from onelayer.text.pretraining.quantities import TOPICS_BELOW

# What each panel shows: the quantity, its label, the loss of not knowing where there is one.
PANELS = (
    ("words_loss", "predicted words\n(nats a word)", None),
    ("sentence_order_loss", "sentence order\n(nats a text)", np.log(2)),
    ("replaced_tokens_loss", "replaced words\n(nats a word)", None),
)

# The share of topic information starts at 0. Of inputs of several articles topics tell so little
# that a loss somewhat above that of frequencies makes it -8, which would press the rest together.
LEAST_LEARNED = -0.25


def colour_of(model: ModelSettings, place: int) -> str:
    """That of the published row beside which a model stands."""
    colours = dict(zip(CHECKPOINTS, PALETTE, strict=False))
    return colours.get(model.published_as or "", PALETTE[place % len(PALETTE)])


@figure(
    "topic_structure/pretraining_losses",
    "Wikipedia: pretraining",
    "figure: losses",
    reads={"histories": "pretraining_histories"},
    settings={"models": "pretrained_models"},
    made="pretrained_models",
)
def pretraining_losses(histories: list[pd.DataFrame], models: list[NamedModel]) -> Figure:
    """Losses against tokens seen, a panel per kind: lines in training, dots held out.

    A line per seed; dots are means over seeds with Student's 95% interval.
    """
    runs = histories_by_training(models, histories)
    panels = [p for p in PANELS if any((h["quantity"] == p[0]).any() for h in runs.values())]
    size, widths = (WIDTH + 1, 3.0), [1.5, 1, 1][: len(panels)]
    figure, axes = plt.subplots(1, len(panels), figsize=size, squeeze=False, width_ratios=widths)
    for axis, (quantity, label, ignorance) in zip(axes.flat, panels, strict=True):
        if ignorance is not None:
            axis.axhline(ignorance, color="0.5", linewidth=0.8, linestyle="--")
        for place, model in enumerate(models):
            seeds = [
                rows[rows["quantity"] == quantity]
                for (name, _), rows in runs.items()
                if name == model.name
            ]
            colour = colour_of(model.settings, place)
            _draw_losses(axis, seeds, model.name, colour, MARKERS[place % 7])
        axis.set_ylabel(label)
        despine(axis)
    axes[0, 0].set_title("lines: training; dots: held-out articles", loc="left", fontsize=9)
    figure.supxlabel("tokens seen (millions)", fontsize=9)
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside right upper")
    return figure


def why_no_share(quantities: Collection[str]) -> str:
    """Why a model of which these were measured has no share of topic information; or nothing."""
    if INFORMATION in quantities:
        return ""
    if TOPICS_BELOW in quantities:
        return "no share: topics tell\nnothing in some training"
    return "not in its objective" if BELOW in quantities else "no share: its losses\nare not known"


def _draw_losses(
    axis: Axes, seeds: Sequence[pd.DataFrame], model: str, colour: str, marker: str
) -> None:
    """One loss of one model, of every seed."""
    for rows in seeds:
        training = rows[rows["split"] == "training"]
        axis.plot(
            training["tokens"] / 1e6, training["value"], color=colour, linewidth=0.8, alpha=0.6
        )
    held_out = [rows[rows["split"] == "held-out"] for rows in seeds]
    if not len(held_out[0]):
        return
    points = [mean(values) for values in zip(*(rows["value"] for rows in held_out), strict=True)]
    half = [point["high"] - point["value"] for point in points]
    axis.errorbar(
        np.mean([rows["tokens"] for rows in held_out], axis=0) / 1e6,
        [point["value"] for point in points],
        yerr=None if np.isnan(half).any() else half,
        **{"color": colour, "linestyle": "", "marker": marker, "markersize": 4},
        **{"capsize": 2, "elinewidth": 0.8, "label": model},
    )


@figure(
    "topic_structure/topic_structure_over_tokens",
    "Wikipedia: pretraining",
    "figure: tokens seen",
    reads={"measures": "measures_over_tokens"},
    settings={"models": "models_over_tokens"},
    made="models_over_tokens",
)
def topic_structure_over_tokens(measures: list[pd.DataFrame], models: list[NamedModel]) -> Figure:
    """Ratio over its null against tokens seen: a row per model, a column per quantity.

    Thick: the mean over seeds with a band for its 95% interval; thin: each seed. Grey: the 95%
    range of the null of that mean. Circles: snapshots on the way; squares: the finished model.
    Filled: `clearly_above`. All models share a column's scale. Last two columns, where the
    objective has it: the share of topic information that is learned, and attention against it.
    """
    return drawn_over_tokens(ratios_over_tokens(measures, models), by_name(models))


def drawn_over_tokens(table: pd.DataFrame, settings_of: Mapping[str, ModelSettings]) -> Figure:
    """The same of its table, `over_tokens.ratios_over_tokens`, as it is kept of runs."""
    names = list(table["model"].unique())
    informed = (table["quantity"] == INFORMATION).any()
    columns = len(RATIOS) + 2 * informed
    size = (WIDTH + 1 if informed else MIDDLE, 1.1 * len(names) + 1.8)
    figure, axes = plt.subplots(
        len(names), columns, figsize=size, sharex="col", sharey="col", squeeze=False
    )
    by_tokens = axes[:, :-1] if informed else axes
    for place, name in enumerate(names):
        colour = colour_of(settings_of[name], place)
        rows = table[table["model"] == name].set_index("tokens_seen").sort_index()
        for axis, quantity in zip(axes[place], RATIOS, strict=False):
            _draw_null(axis, rows[rows["quantity"] == f"{quantity}_null"])
            _draw_model(axis, rows, quantity, colour)
        if informed:
            share, against = axes[place, -2:]
            _draw_seeds(share, rows[rows["quantity"] == INFORMATION], colour)
            share.axhline(0, color="0.5", linewidth=0.8, zorder=1)
            _draw_against_share(against, rows[rows[SEED] == ALL], colour)
            against.axhline(1, color="0.5", linewidth=0.8, zorder=1)
            if why := why_no_share(set(rows["quantity"])):
                at = {"transform": share.transAxes, "ha": "center", "va": "center"}
                share.text(0.5, 0.7, why, fontsize=7.5, **at)
        for axis in axes[place]:
            despine(axis)
        axes[place, 0].set_ylabel(name)
    labels = [*RATIOS.values(), "topic information (share)", "attention against it"]
    for axis, label in zip(axes[0], labels, strict=False):
        axis.set_title(label, fontsize=9)
    first = table["tokens_seen"].min()
    doublings = int(np.log2(table["tokens_seen"].max() / first))
    for axis in by_tokens[-1]:
        axis.set_xscale("log", base=2)
        axis.set_xticks([first * 2**k for k in range(0, doublings + 1, max(2, doublings // 3))])
        axis.xaxis.set_major_formatter(FuncFormatter(tokens_shown))
        axis.xaxis.set_minor_locator(NullLocator())
    by_tokens[-1, len(RATIOS) // 2].set_xlabel("tokens seen (logarithmic)")
    if informed:
        axes[-1, -1].set_xlabel("share learned")
        axes[-1, -1].set_xlim(left=1.15 * LEAST_LEARNED)
    figure.supylabel("ratio / mean of its permutation null", fontsize=9)
    first = table.iloc[0]
    figure.suptitle(f"{first['threshold']} words a topic, {first['overlap']}", fontsize=9)
    marker = {"color": "0.3", "marker": "o", "markersize": 4.5, "linestyle": ""}
    # In grey: colours are the models'.
    handles = [
        Line2D([], [], color="0.3", linewidth=1.8, label="mean over seeds"),
        Patch(color="0.3", alpha=0.35, linewidth=0, label="its 95% interval"),
        Line2D([], [], color="0.3", linewidth=0.7, label="one seed"),
        Patch(color="0.85", label="null of the mean, 95%"),
        Line2D([], [], label=f"z > {FOUND:g} and interval above 1", **marker),
        Line2D([], [], label="not so", **(marker | {"markerfacecolor": "white"})),
        Line2D([], [], label="on the way", **marker),
        Line2D([], [], label="finished model", **(marker | {"marker": "s"})),
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=2, fontsize=7.5)
    return figure


def _draw_null(axis: Axes, null: pd.DataFrame) -> None:
    """The null of the mean over seeds, over its own mean."""
    null = null[null[SEED] == ALL]
    ends = null[["low", "high"]].div(null["value"], axis=0)
    axis.fill_between(null.index, ends["low"], ends["high"], color="0.85", linewidth=0, zorder=0)
    axis.axhline(1, color="0.5", linewidth=0.8, zorder=1)


def _draw_model(axis: Axes, rows: pd.DataFrame, quantity: str, colour: str) -> None:
    shown = _draw_seeds(axis, rows[rows["quantity"] == f"{quantity}_null_corrected"], colour)
    z = rows.loc[(rows["quantity"] == f"{quantity}_z") & (rows[SEED] == ALL), "value"]
    for tokens, filled in clearly_above(shown, z).items():
        axis.plot(
            tokens, shown["value"][tokens], "s" if tokens == shown.index[-1] else "o", color=colour,
            markerfacecolor=colour if filled else "white", markersize=4.5, zorder=4,
        )  # fmt: skip


def _draw_seeds(axis: Axes, rows: pd.DataFrame, colour: str) -> pd.DataFrame:
    """One quantity against its index: each seed, the mean over them with its interval, returned."""
    for _, seed in rows[rows[SEED] != ALL].groupby(SEED, sort=False):
        axis.plot(seed["value"], color=colour, linewidth=0.7, alpha=0.7, zorder=2)
    shown = rows[rows[SEED] == ALL]
    axis.fill_between(
        shown.index, shown["low"], shown["high"], color=colour, alpha=0.2, linewidth=0, zorder=1
    )
    axis.plot(shown["value"], color=colour, linewidth=1.8, zorder=3)
    return shown


def clearly_above(ratios: pd.DataFrame, z: pd.Series) -> pd.Series:
    """Where a ratio is far above its null, and its whole interval above 1; by tokens seen.

    The second is the stricter where few seeds differ. `ratios` has the `low` of the ratio over its
    null, z is the ratio's distance from it in standard deviations.
    """
    return (z > FOUND) & (ratios["low"] > 1)


@figure(
    "topic_structure/topics_per_input",
    "Wikipedia: pretraining",
    "figure: several articles an input",
    reads={
        "articles": "measures_on_articles",
        "inputs": "measures_on_inputs",
        "snapshots": "measures_at_snapshots",
        "theory": "optimise_topic_attention.ratios",
    },
    settings={"models": "trained_on_inputs"},
    made="probed_inputs",
)
def figure_topics_per_input(
    articles: list[pd.DataFrame],
    inputs: list[pd.DataFrame],
    snapshots: list[pd.DataFrame],
    theory: pd.DataFrame,
    models: list[NamedModel],
) -> Figure:
    """Ratio over its null: against tau, beside the theory's optimum, and against what was learned.

    A row for each family, depth and budget. First: dots are means over seeds with 95% intervals,
    small dots each seed; on articles and on inputs of the training (words of different articles
    open); the theory's optimum, which is of the usual masks, is on its own axis. Second and third:
    the mean over seeds at every snapshot, on articles, against tokens seen and against the share of
    topic information learned; open triangles at its edge have a share below `LEAST_LEARNED`. Last:
    the gap of value circuits over its null, against tokens.
    """
    ratios = assemble(articles, inputs, models, snapshots)
    rows: dict[str, dict[str, pd.DataFrame]] = {}
    for model, measures in zip(models, snapshots, strict=True):
        of = f"{kind_of(model.settings)}, {tokens_shown(measures['tokens'].max())} tokens"
        rows.setdefault(of, {})[model.name] = measures
    figure, panels = plt.subplots(
        len(rows), 4, figsize=(WIDTH + 2.5, 2.4 * len(rows) + 0.8), sharex="col",
        squeeze=False, width_ratios=[1.4, 1, 1, 1],
    )  # fmt: skip
    orders = {model.name: order_of(model.settings) for model in models}
    colours = dict(zip(ORDERS, PALETTE, strict=False))
    for axes, (kind, alike) in zip(panels, rows.items(), strict=True):
        _draw_against_tau(axes[0], ratios[ratios["model"].isin(alike)], colours)
        if not any(model.settings.hidden_as for model in models if model.name in alike):
            _draw_theory(axes[0].twinx(), theory, ratios["articles"].max())
        for name, measures in alike.items():
            order, count = orders[name]
            _draw_learned(axes[1:3], measures, colours[order], count)
            _draw_values(axes[3], measures, colours[order], count)
        _set_axes(axes)
        axes[0].set_ylabel(f"{textwrap.fill(kind, 32)}:\nattention within topics / its null")
    _name_columns(panels)
    panels[-1, 0].set_xticks(sorted(ratios["articles"].unique()))  # of all rows
    shown = {order: colours[order] for order, _ in orders.values()}
    figure.legend(handles=_handles(shown), loc="outside lower center", ncols=3, fontsize=7.5)
    return figure


def _set_axes(axes: Sequence[Axes]) -> None:
    """What one row of panels shows where nothing is learned; ratios on one axis."""
    for axis, nothing in zip(axes, (1, 1, 1, 0), strict=True):
        axis.axhline(nothing, color="0.5", linewidth=0.8, zorder=0)
        despine(axis)
    axes[2].axvspan(2 * LEAST_LEARNED, 0, color="0.94", linewidth=0, zorder=-1)
    for axis in axes[1:3]:
        axis.sharey(axes[0])
        axis.tick_params(labelleft=False)
    axes[0].autoscale(axis="y")  # again: `sharey` takes the limits of the first alone


def _name_columns(panels: np.ndarray) -> None:
    """Titles above and labels below the columns of panels, [rows, 4]."""
    tokens = "tokens seen (logarithmic)"
    share = "share learned\n(grey: worse than frequencies)"
    for place, (title, label) in enumerate(
        (
            ("finished models", r"articles (topics) an input, $\tau$"),
            ("on articles, over tokens", tokens),
            ("over topic information", share),
            ("values: gap over its null", tokens),
        )
    ):
        panels[0, place].set_title(title, loc="left", fontsize=9)
        panels[-1, place].set_xlabel(label)
        if label == tokens:
            panels[-1, place].set_xscale("log", base=2)
    panels[-1, 2].set_xlim(left=1.15 * LEAST_LEARNED)


def _handles(colours: Mapping[str, str]) -> list[Line2D]:
    """What colours, by order of the words, and marks mean."""
    dot, square = ({"color": "0.3", "marker": marker, "linestyle": ""} for marker in "os")
    below = {"color": "0.3", "marker": "<", "linestyle": "", "markerfacecolor": "white"}
    return [
        *(Line2D([], [], color=c, marker="o", label=ORDERS[order]) for order, c in colours.items()),
        Line2D([], [], label="on articles", **dot),
        Line2D([], [], label="on inputs, one article", **square),
        Line2D([], [], label="on inputs, across articles", markerfacecolor="white", **square),
        Line2D([], [], color="0.6", linestyle=":", label="theory's optimum (right axis)"),
        Line2D([], [], label=f"share learned below {LEAST_LEARNED:g}", **below),
    ]


def _draw_against_tau(axis: plt.Axes, ratios: pd.DataFrame, colours: Mapping[str, str]) -> None:
    """Every model at its tau, those of one tau side by side."""
    rows = ratios[ratios["quantity"] == CORRECTED]
    places = list(rows[["model", "probed"]].drop_duplicates().itertuples(index=False, name=None))
    taus = rows.groupby("model", sort=False)["articles"].first()
    for model, probed in places:
        one = rows[(rows["model"] == model) & (rows["probed"] == probed)]
        alike = [place for place in places if taus[place[0]] == taus[model]]
        at = taus[model] + 0.09 * (alike.index((model, probed)) - (len(alike) - 1) / 2)
        colour = colours[one["order"].iloc[0]]
        mean = one[one[SEED] == ALL].iloc[0]
        axis.errorbar(
            at, mean["value"], yerr=[[mean["value"] - mean["low"]], [mean["high"] - mean["value"]]],
            color=colour, marker="o" if probed == ARTICLES else "s", markersize=4.5, capsize=2,
            markerfacecolor="white" if probed.endswith("across articles") else colour,
            elinewidth=0.8,
        )  # fmt: skip
        seeds = one.loc[one[SEED] != ALL, "value"]
        axis.plot(np.full(len(seeds), at), seeds, ".", color=colour, markersize=2.5, alpha=0.7)


def _draw_learned(axes: Sequence[Axes], rows: pd.DataFrame, colour: str, count: int) -> None:
    """A model's mean over seeds at every snapshot, against tokens and topic information."""
    means = rows[rows[SEED] == ALL].set_index("tokens").sort_index()
    ratio = means[means["quantity"] == CORRECTED]
    _draw_line(axes[0], ratio.index, ratio, colour, count)
    _draw_against_share(axes[1], means, colour, count)


def _draw_against_share(axis: Axes, means: pd.DataFrame, colour: str, count: int = 2) -> None:
    """Attention over its null at every snapshot, by tokens, against topic information.

    What lies far below the start of topic information stands at the edge, apart from the line.
    """
    ratio = means[means["quantity"] == CORRECTED]
    learned = means.loc[means["quantity"] == INFORMATION, "value"].reindex(ratio.index)
    _draw_line(axis, learned.where(learned >= LEAST_LEARNED), ratio, colour, count)
    beyond = ratio.loc[learned < LEAST_LEARNED, "value"]
    axis.plot(
        np.full(len(beyond), LEAST_LEARNED), beyond, "<", color=colour, markersize=4,
        markerfacecolor="white",
    )  # fmt: skip


def _draw_values(axis: Axes, rows: pd.DataFrame, colour: str, count: int) -> None:
    """The gap of a model's value circuits over its null at every snapshot, against tokens."""
    gaps = over_tokens(rows)
    gaps = gaps[(gaps["quantity"] == GAP) & (gaps[SEED] == ALL)].set_index("tokens")
    _draw_line(axis, gaps.index, gaps, colour, count)


def _draw_line(axis: Axes, at: pd.Index, means: pd.DataFrame, colour: str, count: int) -> None:
    """Means with their intervals; dashed: one article an input."""
    axis.plot(
        at, means["value"], color=colour, marker="o", markersize=3,
        linewidth=1.4 if count > 1 else 0.8, linestyle="-" if count > 1 else "--",
    )  # fmt: skip
    for x, low, high in zip(at, means["low"], means["high"], strict=True):
        axis.plot([x, x], [low, high], color=colour, alpha=0.5, linewidth=0.8)


def _draw_theory(axis: plt.Axes, theory: pd.DataFrame, most: int) -> None:
    """The optimum of tied attention at the same tau, of the synthetic model, on its own axis."""
    optimum = theory[(theory["method"] == "optimum") & (theory["documents"] == "short")]
    optimum = optimum[optimum["tau"] <= most].groupby("tau")["ratio"].mean()
    axis.plot(optimum.index, optimum, color="0.6", linestyle=":", linewidth=1.2)
    axis.set_ylabel("optimal ratio in theory", color="0.4", fontsize=8)
    axis.tick_params(axis="y", labelcolor="0.4")
    axis.spines["top"].set_visible(False)


@figure(
    "topic_structure/value_circuit",
    "Wikipedia: results",
    "figure: values",
    reads={"circuits": "measure_embeddings.circuits", "snapshots": "measures_over_tokens"},
    settings={"models": "probed_models", "followed": "models_over_tokens"},
)
def value_circuits(
    circuits: list[pd.DataFrame],
    snapshots: list[pd.DataFrame],
    models: list[NamedModel],
    followed: list[NamedModel],
) -> Figure:
    """Left: the gap of every head, a line per layer. Right: values and attention over tokens.

    A dot per head and training, filled where it lies beyond the 95% of its own null. Lines over
    tokens are means over trainings with 95% intervals; attention's ratio over its null, minus 1.
    """
    settings_of = by_name(models)
    lines, random = {}, []
    for name, rows in measures_by_model(models, circuits).items():
        heads = rows[(rows["quantity"] == GAP) & (rows["layer"] > 0)]
        if isinstance(settings_of[name], RandomModel):
            random.append(heads)
            continue
        for layer, of_layer in heads.groupby("layer"):
            lines[f"{name}, layer {layer}" if len(of_layer) < len(heads) else name] = of_layer
    if random:
        lines["random weights"] = pd.concat(random)
    drawn = [
        (model, over_tokens(rows))
        for model, rows in zip(followed, snapshots, strict=True)
        if (rows["quantity"] == GAP).any()
    ]
    figure = plt.figure(figsize=(WIDTH, max(3.8, 0.21 * len(lines) + 1.3)))
    grid = figure.add_gridspec(2, 2 if drawn else 1)
    _draw_heads(figure.add_subplot(grid[:, 0]), lines)
    if drawn:
        values, attention = (figure.add_subplot(grid[row, 1]) for row in (0, 1))
        _draw_over_tokens(values, drawn, GAP, "values: gap over its null")
        _draw_over_tokens(attention, drawn, ATTENTION, "attention: ratio / null, minus 1")
        attention.set_xlabel("tokens seen")
        values.legend(fontsize=7.5)
    return figure


def _draw_heads(axis: Axes, lines: Mapping[str, pd.DataFrame]) -> None:
    axis.axvline(0, color="0.5", linewidth=0.8, zorder=0)
    for line, heads in enumerate(lines.values()):
        beyond = (heads["value"] > heads["high"]) | (heads["value"] < heads["low"])
        for of, face in ((heads[~beyond], "white"), (heads[beyond], PALETTE[0])):
            axis.plot(
                of["value"], np.full(len(of), line), "o", markersize=3.5, color=PALETTE[0],
                markerfacecolor=face, markeredgewidth=0.7,
            )  # fmt: skip
    axis.set_yticks(range(len(lines)), list(lines), fontsize=7.5)
    axis.set_ylim(len(lines) - 0.5, -0.5)
    axis.set_xlabel("gap of a head (standard deviations)")
    axis.grid(axis="y", linewidth=0.4)
    handles = [
        Line2D([], [], color=PALETTE[0], marker="o", markersize=3.5, linestyle="", label=label,
               markerfacecolor=face)
        for face, label in ((PALETTE[0], "beyond 95% of its null"), ("white", "within"))
    ]  # fmt: skip
    axis.legend(handles=handles, loc="lower left", bbox_to_anchor=(0, 1), ncols=2)
    despine(axis)


def _draw_over_tokens(
    axis: Axes, drawn: Sequence[tuple[NamedModel, pd.DataFrame]], quantity: str, label: str
) -> None:
    axis.axhline(0, color="0.5", linewidth=0.8, zorder=0)
    for place, ((model, rows), marker) in enumerate(
        zip(drawn, itertools.cycle(MARKERS), strict=False)
    ):
        colour = colour_of(model.settings, place)
        means = rows[(rows["quantity"] == quantity) & (rows[SEED] == ALL)].set_index("tokens")
        axis.fill_between(
            means.index, means["low"], means["high"], color=colour, alpha=0.15, linewidth=0
        )
        axis.plot(means["value"], color=colour, marker=marker, markersize=3.5, label=model.name)
    axis.set_xscale("log", base=2)
    axis.xaxis.set_major_formatter(tokens_shown)
    axis.set_title(label, loc="left", fontsize=9)
    despine(axis)
