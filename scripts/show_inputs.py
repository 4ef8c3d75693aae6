"""Table and figure: attention after pretraining on inputs of one and of several articles.

By the stage-2 theorem of Li, Li & Risteski (2023) attention to words of one topic grows with tau,
the number of topics in a document, and tau = 1 has nothing to gain. An article has one topic.
Where the settings name no models, the numbers are those of a kept run.
"""

import numpy as np
import pandas as pd

from onelayer.evidence import intervals
from onelayer.evidence.figures import MARKERS, MIDDLE, PALETTE, despine, plt
from onelayer.evidence.tables import interval, number, tidy
from onelayer.job import job
from onelayer.topic_structure.wikipedia.measure import ACROSS, ALL, ATTENTION, DRAWN, EQUAL, WITHIN
from onelayer.topic_structure.wikipedia.published import learned
from onelayer.topic_structure.wikipedia.ratio import tightest

KEYS = ["model", "order", "articles", "probed", "overlap", "threshold"]
ARTICLES, LEARNED = "articles", "nats_below_frequencies"
OVER, DIFFERENCE = "_null_corrected", "_null_corrected_less_first"
ORDERS = {"pieces": "pieces of {}", "shuffled": "bag of {}", "drawn": "words drawn from {} topics"}
NOTES = [
    "Pieces: some consecutive words of each article in turn. Bag: the same words in random order, "
    "as in the theory. Drawn: words of several topics of the fitted topic model: the positive "
    "control, which must show topics if training and probe can show any.",
    "Probed on the articles of the other tables, and on inputs as in the training. There pairs of "
    "words of one article and of two are told apart; of drawn words all pairs of one generating "
    "topic stand over all pairs of two, as in the theory, and the null shuffles an input's topics. "
    "Elsewhere null: topics permuted among equally frequent words, for each training.",
    "less first: the ratio over its null less that of the first model, on the same articles, from "
    "the same resamples of articles and permutations of topics; trainings are independent.",
    "Learned: how far the final held-out loss lies below that of words' frequencies (nats a word). "
    "not reached: it does not, whatever the ratios are.",
]
KEPT = (
    "Of a kept run: BERT, inputs of up to 512 tokens, batches of 8,192, 32 million tokens, four "
    "trainings an arm (commits 77551369 and b034ae36). config/inputs.yaml makes them again. No "
    "weights are kept: drawn words are probed by pairs of one topic alone, and no models compared."
)


def model_rows(
    name: str, model: dict, histories: list, articles: pd.DataFrame, inputs: pd.DataFrame
) -> pd.DataFrame:
    """Ratios of a model on articles and on inputs, and what it has learned."""
    rows = pd.concat([articles, inputs])
    rows = rows[(rows["seed"] == ALL) & rows["quantity"].isin([ATTENTION, EQUAL])]
    over = rows.assign(quantity=rows["quantity"] + OVER, null=np.nan)
    over[["value", "low", "high"]] = rows[["over_null", "over_low", "over_high"]]
    gained, state = learned(histories)
    place = rows.iloc[:1][["probed", "overlap", "threshold"]]
    rows = pd.concat([rows, over, place.assign(quantity=LEARNED, **gained)], ignore_index=True)
    arm = model["inputs"] or {"order": "pieces", "articles": 1}
    return rows.assign(model=name, state=state, order=arm["order"], articles=arm["articles"])


def less_first(articles: pd.DataFrame, first: pd.DataFrame, quantity: str) -> dict[str, float]:
    """The ratio over its null less that of the first model: paired over articles, not seeds."""
    both = [rows[rows["quantity"] == quantity].set_index("seed") for rows in (articles, first)]
    one, other = (rows.loc[ALL] for rows in both)
    value, n = one["over_null"] - other["over_null"], int(one["n"])
    replicates = np.subtract(one["over_replicates"], other["over_replicates"])
    ends = intervals.bootstrap_interval(replicates, n)
    seeds = [intervals.mean(rows.drop(index=ALL)["over_null"]) for rows in both]
    halves = [np.nan_to_num(mean["high"] - mean["value"]) for mean in seeds]
    low, high = intervals.widened(value, *ends, np.hypot(*halves))
    row = {"value": value, "low": low, "high": high, "n": n, "null": 0.0}
    return row | {"quantity": f"{quantity}{DIFFERENCE}"}


def names(rows: pd.DataFrame) -> dict[str, str]:
    """What stands in an input, by model."""
    arms = rows[["model", "order", "articles"]].drop_duplicates().itertuples(index=False)
    return {
        model: "one article" if (order, n) == ("pieces", 1) else ORDERS[order].format(n)
        for model, order, n in arms
    }


def shown(rows: pd.DataFrame) -> pd.DataFrame:
    """A row per model and place of the probe."""
    readable, arms = [], names(rows)
    for (model, probed), part in rows.groupby(["model", "probed"], sort=False):
        by = part.set_index("quantity")
        row = {"model": model, "an input": arms[model], "probed on": probed}
        for quantity, name in ((ATTENTION, "ratio"), (EQUAL, "at equal distance")):
            row[name] = number(by.loc[quantity, "value"], 3)
            row[f"{name} / null [95%]"] = interval(*by.loc[f"{quantity}{OVER}", "value":"high"], 3)
        ends = by.loc[LEARNED, "value":"high"] if LEARNED in by.index else [float("nan")] * 3
        readable.append(row | {"learned [95%]": interval(*ends, 2)})
    return pd.DataFrame(readable)


def draw(rows: pd.DataFrame) -> plt.Figure:
    """Ratio over its null: a line per arm, a mark per place of the probe."""
    arms = names(rows)
    size = (MIDDLE + 1, 0.42 * len(arms) + 1.7)
    figure, axes = plt.subplots(1, 2, figsize=size, sharex=True, sharey=True)
    titles = {ATTENTION: "at any distance", EQUAL: "at equal distance"}
    for axis, (quantity, title) in zip(axes, titles.items(), strict=True):
        axis.axvline(1, color="0.5", linewidth=0.8, zorder=0)
        for k, probed in enumerate((ARTICLES, WITHIN, ACROSS, DRAWN)):
            part = rows[(rows["quantity"] == f"{quantity}{OVER}") & (rows["probed"] == probed)]
            heights = [list(arms).index(name) + 0.18 * (k - 1) for name in part["model"]]
            ends = [part["value"] - part["low"], part["high"] - part["value"]]
            style = {"marker": MARKERS[k], "ms": 4, "ls": "", "color": PALETTE[k], "label": probed}
            axis.errorbar(part["value"], heights, xerr=ends, elinewidth=1, **style)
        axis.set_title(title, fontsize=9)
        axis.set_xlabel("one topic / two, over permuted")
        axis.locator_params(axis="x", nbins=4)
        axis.grid(axis="y", linewidth=0.4)
        axis.tick_params(axis="y", length=0)
        despine(axis)
    axes[0].set(yticks=range(len(arms)), yticklabels=arms.values(), ylim=(len(arms) - 0.5, -0.5))
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=2, fontsize=7.5)
    title = "Attention to one topic over two, by what stands in an input [95%]"
    figure.suptitle(title, fontsize=10)
    return figure


with job(snakemake) as step:
    models, histories = snakemake.params.models, iter(snakemake.input.histories)
    parts, first = [], None
    files = zip(models.items(), snakemake.input.articles, snakemake.input.inputs, strict=True)
    for (name, model), *paths in files:
        losses = [pd.read_parquet(next(histories)) for _ in model["seeds"]]
        articles, inputs = map(pd.read_parquet, paths)
        articles = tightest(articles[articles["way"] == "ours"]).assign(probed=ARTICLES)
        parts.append(rows := model_rows(name, model, losses, articles, inputs))
        if first is not None:
            apart = [less_first(articles, first, ratio) for ratio in (ATTENTION, EQUAL)]
            parts.append(pd.DataFrame(apart).assign(**rows.iloc[0][[*KEYS, "state"]]))
        first = articles if first is None else first
    measured = pd.concat(parts, ignore_index=True) if parts else pd.read_csv(step.given("kept"))
    columns = [*KEYS, "quantity", "value", "low", "high", "n", "null", "state"]
    rows = tidy(measured.reindex(columns=columns), KEYS)
    title = "Attention after pretraining on inputs of one and of several articles"
    notes = NOTES if parts else [*NOTES, KEPT]
    step.save_table(rows, title=title, shown=shown(rows), notes=notes)
    step.save_figure(draw(rows))
