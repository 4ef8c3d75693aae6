"""Does attention show topics where inputs have several of them? Theory's own condition, on text.

By the stage-2 theorem of Li, Li & Risteski (2023) the optimal attention to words of one topic grows
with tau, the number of topics in a document, and at tau = 1 there is nothing to gain. Inputs of one
article have one topic. Here models are pretrained on inputs of several articles, on bags of their
words, and on documents drawn from the topic model, and probed alike.
"""

import math
from collections.abc import Mapping, Sequence

import pandas as pd

from onelayer.evidence.tables import ALL, interval_of, number, row_per, table, tidy
from onelayer.evidence.verdicts import DIFFERENCE, NOT_REACHED, Direction, judge, worded
from onelayer.papers.topic_structure.wikipedia import over_seeds
from onelayer.papers.topic_structure.wikipedia.over_seeds import SEED
from onelayer.papers.topic_structure.wikipedia.over_tokens import (
    LEARNED_NOTE,
    NOT_LEARNED,
    learned,
    most_learned,
    withhold,
)
from onelayer.papers.topic_structure.wikipedia.probe.labels import tightest_variant
from onelayer.papers.topic_structure.wikipedia.tables import MATTERS, beside_null, over_null
from onelayer.settings.models import PretrainedModel
from onelayer.settings.topic_structure import NamedModel
from onelayer.text.pretraining.quantities import OWN_BELOW, TOPICS_BELOW

KEYS = ["model", "order", "articles", "probed", "overlap", "threshold", SEED]
RATIO, CORRECTED = "attention_ratio", "attention_ratio_null_corrected"
MORE, BAGS, OF_ONE = "over_one_article", "over_words_in_order", "over_bag_of_one"
ONE_TOPIC = "over_one_topic"
# How much more attention there is than after which other inputs.
INPUTS = {
    MORE: "after one article",
    BAGS: "with words in order",
    OF_ONE: "after bags of one",
    ONE_TOPIC: "after words of one topic",
}
USUAL, TIED, SIZE = "over_usual_masks", "over_tied_embeddings", "over_usual_size"
# And what of a model's own settings makes it so.
OTHERWISE = {USUAL: ["hidden_as"], TIED: ["tied"], SIZE: ["layers", "width", "dropout"]}
MOST = "most_below_frequencies"
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


def kind_of(model: PretrainedModel) -> str:
    """Family and, where they are not the usual ones, size, output layer and masks."""
    depth = f", {model.layers} layer{'s' if model.layers > 1 else ''}" if model.layers else ""
    width = f", d {model.width}" if model.width else ""
    dropout = "" if model.dropout is None else f", dropout {model.dropout:.15g}"
    hidden = model.hidden_as
    masks = f", {hidden.mask:.15g} masked, {hidden.another:.15g} replaced" if hidden else ""
    untied = ", untied" if model.tied is False else ""
    return f"{model.family}{depth}{width}{dropout}{untied}{masks}"


def assemble(
    articles: Sequence[pd.DataFrame],
    inputs: Sequence[pd.DataFrame],
    models: Sequence[NamedModel],
    snapshots: Sequence[pd.DataFrame],
) -> pd.DataFrame:
    """Attention ratios of every model, on articles and on inputs.

    Args:
        articles: rows of `measure_attention`, model by model.
        inputs: rows of `measure_inputs`, `pairs` among them, model by model.
        snapshots: rows of `measure_snapshots`, model by model.

    Returns:
        `attention_ratio` and what stands behind it; what is `most_learned`
        (`most_below_frequencies`), and what topics tell there of a
        hidden word (`topics_below_frequencies`; `own_topics_below_frequencies`: those of the words
        of its own article).
    """
    parts = []
    for model, one, other, shares in zip(models, articles, inputs, snapshots, strict=True):
        order, count = order_of(model.settings)
        measured = tightest_variant(one).assign(probed=ARTICLES)
        place = measured.iloc[0][["overlap", "threshold", "probed"]].to_dict()
        told = shares[shares["quantity"].isin([TOPICS_BELOW, OWN_BELOW]) & (shares[SEED] == ALL)]
        told = told.drop_duplicates("quantity", keep="last")
        learned_most = pd.concat([most_learned(shares).assign(quantity=MOST), told])
        learned_most = learned_most[["quantity", SEED, "value", "low", "high", "n"]]
        rows = pd.concat([measured, learned_most.assign(**place), other])
        rows["probed"] = rows["probed"].fillna("inputs, words " + rows.get("pairs", "").astype(str))
        rows = over_seeds.explained(rows, model.settings).assign(
            model=model.name,
            order=order,
            articles=count,
            verdict=over_seeds.undecided(model.settings),
        )
        parts.append(rows[rows["quantity"].str.startswith((RATIO, MOST, TOPICS_BELOW, OWN_BELOW))])
    return pd.concat(parts, ignore_index=True).drop(columns="pairs", errors="ignore")


def _over_others(
    rows: pd.DataFrame, models: Sequence[NamedModel], has_learned: Mapping[str, bool]
) -> pd.DataFrame:
    """How much larger the ratio over its null is than after other inputs, all else being alike.

    That of the first model of the same kind and budget, both probed on articles: after single
    articles as they are (`over_one_article`), and of bags after as many articles whose words stand
    in order (`over_words_in_order`) and after bags of one article (`over_bag_of_one`); of words
    drawn from topics after those of one topic (`over_one_topic`). Where masks are not the family's
    usual ones, also after the same inputs under those (`over_usual_masks`), where embeddings are
    not the output layer, with those that are (`over_tied_embeddings`), and where depth, width or
    dropout are its own, with the usual size (`over_usual_size`), each on articles and on such
    inputs. What has not learned is not compared, whatever the difference:
    `not reached`.

    Trainings are independent, the probed texts are the same: distances to the ends of both
    intervals, which hold the spread of permuted topics, are added as squares (MOVER), which leaves
    out that both saw the same texts and errs on the wide side.
    """
    settings = {model.name: model.settings for model in models}
    kinds = {name: (kind_of(one), one.tokens) for name, one in settings.items()}
    over = over_null(rows.assign(model=rows["model"] + rows["probed"]))
    over = rows.assign(**over)[(rows["quantity"] == RATIO) & (rows[SEED] == ALL)]
    first: dict[tuple, dict] = {}
    for row in over.to_dict("records"):
        read = (_in_order(row["order"]), row["articles"])
        first.setdefault((kinds[row["model"]], *read, row["probed"]), row)
    differences = []
    for row in over.to_dict("records"):
        kind, one = kinds[row["model"]], settings[row["model"]]
        order, bases = _in_order(row["order"]), {}
        if row["probed"] == ARTICLES:
            bases[MORE] = (kind, "in order", 1)
            if order == "shuffled":
                bases |= {BAGS: (kind, "in order", row["articles"]), OF_ONE: (kind, "shuffled", 1)}
            if order == "drawn":
                bases[ONE_TOPIC] = (kind, "drawn", 1)
        for quantity, keys in OTHERWISE.items():
            usual = kind_of(one.model_copy(update=dict.fromkeys(keys))), one.tokens
            if usual != kind:
                bases[quantity] = (usual, order, row["articles"])
        for quantity, inputs in bases.items():
            base = first.get((*inputs, row["probed"]), row)
            if base["model"] != row["model"]:
                value = row["value"] - base["value"]
                below = math.hypot(row["value"] - row["low"], base["high"] - base["value"])
                above = math.hypot(row["high"] - row["value"], base["value"] - base["low"])
                ends = {"value": value, "low": value - below, "high": value + above}
                both = has_learned[row["model"]] and has_learned[base["model"]]
                reached = {} if both else {"verdict": NOT_REACHED, "note": NOT_LEARNED}
                differences.append(row | {"quantity": quantity} | ends | reached)
    return pd.DataFrame(differences, columns=over.columns)


def _in_order(order: str) -> str:
    """Orders apart, but for words of articles as they are and in pieces, which stand in order."""
    return "in order" if order in ("as it is", "pieces") else order


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
    for quantity in (q for q in (MOST, TOPICS_BELOW, OWN_BELOW) if q in by):
        row[f"{quantity.replace('_', ' ')} [95%]"] = interval_of(by.get(quantity), 2)
    others = {USUAL: "with the usual masks", TIED: "with tied embeddings"}
    others = INPUTS | others | {SIZE: "at the usual size"}
    for quantity, what in others.items():
        if quantity in by:
            row[f"more than {what} [95%]"] = interval_of(by[quantity], 3)
            row[f"more than {what}"] = worded(by[quantity])
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
        "Every article is read as often as one by one; budget and model are the same. Budgets are "
        "tokens seen, not text: where they are several times the corpus, articles are read again "
        "and again, and models can overfit them.",
        "Probed on the articles of the other tables, and on inputs as in the training (after "
        "single articles: as in the first training on several), pairs of words of one article and "
        "pairs across articles apart. Words drawn from one topic count as of one article.",
        "Verdicts: above its own null; more than after one article as it is; bags more than as "
        "many articles with their words in order, and more than bags of one article; words drawn "
        "from several topics more than those of one; other masks more than the family's usual ones "
        "after the same inputs, an output layer of its own more "
        "than embeddings that are the output layer, and another depth, width or dropout more than "
        "the usual. "
        f"{MATTERS:g}, a tenth of BERT's published effect, is what would matter.",
        LEARNED_NOTE,
        "Own topics below frequencies: what topics tell by those words in sight alone that are of "
        "a hidden word's own article. How much more that is than by all words in sight is what "
        "attention to its own article could gain at most.",
        over_seeds.NOTE,
    ],
    readable=readable,
    reads={
        "articles": "measures_on_articles",
        "inputs": "measures_on_inputs",
        "snapshots": "measures_at_snapshots",
    },
    settings={"models": "trained_on_inputs"},
    made="probed_inputs",
)
def topics_per_input(
    articles: list[pd.DataFrame],
    inputs: list[pd.DataFrame],
    snapshots: list[pd.DataFrame],
    models: list[NamedModel],
) -> pd.DataFrame:
    """Attention ratios after pretraining on inputs of one and of several articles or topics."""
    measured = assemble(articles, inputs, models, snapshots)
    has_learned = learned(models, snapshots)
    more_than = _over_others(measured, models, has_learned)
    rows = tidy(pd.concat([measured, more_than], ignore_index=True), KEYS)
    against = beside_null(rows.assign(model=rows["model"] + rows["probed"]))
    above, more = (Direction(at, 1, MATTERS, "analogue") for at in (1.0, 0.0))
    compared = {RATIO: above} | dict.fromkeys((*INPUTS, *OTHERWISE), more)
    rows = rows.assign(reference=against["reference"])
    return withhold(lambda rows: judge(rows, compared, against[DIFFERENCE]), rows, has_learned)
