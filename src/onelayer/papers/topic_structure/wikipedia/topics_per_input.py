"""Does attention show topics where inputs have several of them? Theory's own condition, on text.

By the stage-2 theorem of Li, Li & Risteski (2023) the optimal attention to words of one topic grows
with tau, the number of topics in a document, and at tau = 1 there is nothing to gain. Inputs of one
article have one topic. Here models are pretrained on inputs of several articles, on bags of their
words, and on documents drawn from the topic model, and probed alike.
"""

import math
from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from onelayer.evidence.figures import PALETTE, WIDTH, despine, figure
from onelayer.evidence.tables import ALL, interval_of, number, row_per, table, tidy
from onelayer.evidence.verdicts import DIFFERENCE, Direction, judge, worded
from onelayer.papers.topic_structure.wikipedia import over_seeds
from onelayer.papers.topic_structure.wikipedia.over_seeds import SEED
from onelayer.papers.topic_structure.wikipedia.probe.labels import tightest_variant
from onelayer.papers.topic_structure.wikipedia.tables import MATTERS, beside_null
from onelayer.settings.models import PretrainedModel
from onelayer.settings.topic_structure import NamedModel, by_name

KEYS = ["model", "order", "articles", "probed", "overlap", "threshold", SEED]
RATIO, CORRECTED = "attention_ratio", "attention_ratio_null_corrected"
MORE = "over_one_article"
ARTICLES = "articles"
ORDERS = {
    "as it is": "an article as it is",
    "pieces": "pieces in turn",
    "shuffled": "words shuffled (a bag)",
    "drawn": "words drawn from topics",
}


def order_of(model: PretrainedModel) -> tuple[str, int]:
    """How the words of an input stand, and of how many articles (or topics) they are."""
    return (model.inputs.order, model.inputs.articles) if model.inputs else ("as it is", 1)


def assemble(
    articles: Sequence[pd.DataFrame], inputs: Sequence[pd.DataFrame], models: Sequence[NamedModel]
) -> pd.DataFrame:
    """Attention ratios of every model, on articles and on inputs, tidy.

    Args:
        articles: rows of `measure_attention`, model by model.
        inputs: rows of `measure_inputs`, `pairs` among them, model by model.
        models: in their order.

    Returns:
        `attention_ratio` and what stands behind it; `over_one_article` is the ratio over its null
        minus that of the first model of the same family, depth and budget whose inputs are single
        articles as they are, both probed on articles.
    """
    parts = []
    for model, one, other in zip(models, articles, inputs, strict=True):
        order, count = order_of(model.settings)
        rows = pd.concat([tightest_variant(one).assign(probed=ARTICLES), other])
        rows["probed"] = rows["probed"].fillna("inputs, words " + rows.get("pairs", "").astype(str))
        rows = rows.assign(
            model=model.name,
            order=order,
            articles=count,
            runs=[over_seeds.runs(seed, model.settings) for seed in rows[SEED]],
            verdict=over_seeds.undecided(model.settings),
            note=[over_seeds.note(seed, model.settings) for seed in rows[SEED]],
        )
        parts.append(rows[rows["quantity"].str.startswith(RATIO)])
    found = pd.concat(parts, ignore_index=True).drop(columns="pairs", errors="ignore")
    return tidy(pd.concat([found, _over_one_article(found, models)], ignore_index=True), KEYS)


def _over_one_article(rows: pd.DataFrame, models: Sequence[NamedModel]) -> pd.DataFrame:
    """How much larger the ratio over its null is than after inputs of one article.

    What it is compared with is of the same family, depth and budget.

    Trainings are independent, the probed texts are the same: distances to the ends of both
    intervals are added as squares (MOVER), which leaves out that both saw the same texts and errs
    on the wide side.
    """
    kinds = {m.name: (m.settings.family, m.settings.layers, m.settings.tokens) for m in models}
    over = rows[
        (rows["quantity"] == CORRECTED) & (rows[SEED] == ALL) & (rows["probed"] == ARTICLES)
    ]
    bases: dict[tuple, dict] = {}
    for row in over[over["order"] == "as it is"].to_dict("records"):
        bases.setdefault(kinds[row["model"]], row)
    found = []
    for row in over.to_dict("records"):
        base = bases.get(kinds[row["model"]], row)
        if base["model"] == row["model"]:
            continue
        difference = row["value"] - base["value"]
        below = math.hypot(row["value"] - row["low"], base["high"] - base["value"])
        above = math.hypot(row["high"] - row["value"], base["value"] - base["low"])
        ends = {"low": difference - below, "high": difference + above}
        found.append(row | {"quantity": MORE, "value": difference} | ends)
    return pd.DataFrame(found, columns=over.columns)


@row_per("model", "probed")
def readable(rows: pd.DataFrame, model: str, probed: str) -> dict[str, str]:
    """A row per model and place of the probe."""
    over = rows[rows[SEED] == ALL]
    by, first = dict(over.iterrows()), over.iloc[0]
    row = {
        "model": model,
        "words of an input": ORDERS[first["order"]],
        "articles (topics) an input": str(first["articles"]),
        "probed on": probed,
        "ratio [95%]": interval_of(by[RATIO], 3),
        "null": number(by[f"{RATIO}_null"]["value"], 3),
        "ratio / null [95%]": interval_of(by[CORRECTED], 3),
        "over seeds": over_seeds.spread(rows.loc[[CORRECTED]], 3),
        "z": number(by[f"{RATIO}_z"]["value"], 1),
        "above its null": worded(by[RATIO]),
    }
    more = by.get(MORE)
    row["more than after one article [95%]"] = interval_of(more, 3)
    row["more than after one article"] = "–" if more is None else worded(more)
    return row


@table(
    "topic_structure/topics_per_input",
    "Wikipedia: pretraining",
    "table: several articles an input",
    title="Attention after pretraining on inputs of several articles",
    notes=[
        "Beyond the paper: its stage-2 theorem lets attention within topics grow with the number "
        "of topics in a document, and gives one topic nothing. An article has about one topic.",
        "Pieces: some consecutive words of each article in turn. Bag: the same words in random "
        "order, as in the theory. Drawn: words of several topics of the fitted topic model, each "
        "as likely: the positive control, which must show topics if the training and the probe can "
        "show any.",
        "Every article is read as often as one by one; budget and model are the same.",
        "Probed on the articles of the other tables, and on inputs as in the training (after "
        "single articles: as in the first training on several), pairs of words of one article and "
        "pairs across articles apart. Words drawn from one topic count as of one article.",
        f"Verdicts: above its own null, and more than after one article; {MATTERS:g}, a tenth of "
        "BERT's published effect, is what would matter.",
        over_seeds.NOTE,
    ],
    readable=readable,
    reads={"articles": "measures_on_articles", "inputs": "measures_on_inputs"},
    settings={"models": "trained_on_inputs"},
    made="probed_inputs",
)
def topics_per_input(
    articles: list[pd.DataFrame], inputs: list[pd.DataFrame], models: list[NamedModel]
) -> pd.DataFrame:
    """Attention ratios after pretraining on inputs of one and of several articles or topics."""
    found = assemble(articles, inputs, models)
    against = beside_null(found.assign(model=found["model"] + found["probed"]))
    above, more = (Direction(at, 1, MATTERS, "analogue") for at in (1.0, 0.0))
    compared = {RATIO: above, MORE: more}
    return judge(found.assign(reference=against["reference"]), compared, against[DIFFERENCE])


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
    """Ratio over its null: against tau, beside the theory's optimum, and against tokens seen.

    Left and middle: dots are means over seeds with 95% intervals, small dots each seed; on articles
    and on inputs of the training (words of different articles open). Right: the mean over seeds at
    every snapshot, on articles. The theory's optimum is on its own axis.
    """
    found, known = assemble(articles, inputs, models), by_name(models)
    colours = dict(zip(ORDERS, PALETTE, strict=False))
    figure, axes = plt.subplots(1, 2, figsize=(WIDTH, 3.2), sharey=True, width_ratios=[1.2, 1])
    _draw_against_tau(axes[0], found, colours)
    _draw_theory(axes[0].twinx(), theory, found["articles"].max())
    for model, rows in zip(models, snapshots, strict=True):
        order, count = order_of(known[model.name])
        rows = rows[(rows["quantity"] == CORRECTED) & (rows[SEED] == ALL)].sort_values("tokens")
        axes[1].plot(
            rows["tokens"], rows["value"], color=colours[order], marker="o", markersize=3,
            linewidth=1.4 if count > 1 else 0.8, linestyle="-" if count > 1 else "--",
        )  # fmt: skip
        axes[1].fill_between(
            rows["tokens"], rows["low"], rows["high"], color=colours[order], alpha=0.15, linewidth=0
        )
    axes[1].set_xscale("log", base=2)
    axes[1].set_xlabel("tokens seen (logarithmic)")
    axes[1].set_title("on articles, over tokens", loc="left", fontsize=9)
    for axis in axes:
        axis.axhline(1, color="0.5", linewidth=0.8, zorder=0)
        despine(axis)
    axes[0].set_ylabel("attention within topics / its null")
    shown = dict.fromkeys(order_of(known[model.name])[0] for model in models)
    handles = [
        Line2D([], [], color=colours[order], marker="o", label=ORDERS[order]) for order in shown
    ]
    handles += [
        Line2D([], [], color="0.3", marker="o", linestyle="", label="on articles"),
        Line2D([], [], color="0.3", marker="s", linestyle="", label="on inputs, one article"),
        Line2D(
            [], [], color="0.3", marker="s", linestyle="", markerfacecolor="white",
            label="on inputs, across articles",
        ),
        Line2D([], [], color="0.6", linestyle=":", label="theory's optimum (right axis)"),
    ]  # fmt: skip
    figure.legend(handles=handles, loc="outside lower center", ncols=3, frameon=False, fontsize=7.5)
    return figure


def _draw_against_tau(axis: plt.Axes, found: pd.DataFrame, colours: Mapping[str, str]) -> None:
    """Every model at its tau, those of one tau side by side."""
    rows = found[found["quantity"] == CORRECTED]
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
    axis.set_xticks(sorted(taus.unique()))
    axis.set_xlabel(r"articles (topics) an input, $\tau$")
    axis.set_title("finished models", loc="left", fontsize=9)


def _draw_theory(axis: plt.Axes, theory: pd.DataFrame, most: int) -> None:
    """The optimum of tied attention at the same tau, of the synthetic model, on its own axis."""
    optimum = theory[(theory["method"] == "optimum") & (theory["documents"] == "short")]
    optimum = optimum[optimum["tau"] <= most].groupby("tau")["ratio"].mean()
    axis.plot(optimum.index, optimum, color="0.6", linestyle=":", linewidth=1.2)
    axis.set_ylabel("optimal ratio in theory", color="0.4", fontsize=8)
    axis.tick_params(axis="y", labelcolor="0.4")
    axis.spines["top"].set_visible(False)
