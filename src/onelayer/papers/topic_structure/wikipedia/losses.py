"""What the pretraining of the small models cost and came to: losses in training and held out."""

import math
from collections.abc import Mapping, Sequence

import pandas as pd

from onelayer.evidence.intervals import mean
from onelayer.evidence.tables import interval_of, row_per, table, tidy
from onelayer.papers.topic_structure.wikipedia.probe.measures import ALL
from onelayer.settings.topic_structure import NamedModel

KEYS = ["model", "seed"]
SHARES = ("sentence_order_accuracy", "replaced_tokens_found")
NOTES = {
    "words_loss": "held out; nats a predicted word; ELECTRA's is its generator's, BART also reads "
    "the words before",
    "words_loss_untrained": "held out, before training: the words' frequencies alone",
    "words_loss_training": "mean over the last hundredth of the budget",
    "sentence_order_loss": "held out; nats a text; not knowing costs .693",
    "sentence_order_accuracy": "held out; chance is .5",
    "replaced_tokens_loss": "held out; nats a word",
    "replaced_tokens_found": "held out; share of the replaced words that are called replaced",
    "tokens_seen": "the budget, special tokens included",
}


def histories_by_training(
    models: Sequence[NamedModel], histories: Sequence[pd.DataFrame]
) -> dict[tuple[str, int], pd.DataFrame]:
    """Loss histories by model and seed, in the order of models and their seeds, as `named`."""
    trainings = [(model.name, seed) for model in models for seed in model.settings.seeds]
    return dict(zip(trainings, map(named, histories), strict=True))


def named(history: pd.DataFrame) -> pd.DataFrame:
    """A loss history with one name for the loss of predicted words, whatever else is predicted."""
    if not (history["quantity"] == "words_loss").any():
        history = history.assign(quantity=history["quantity"].replace("loss", "words_loss"))
    return history[history["quantity"] != "loss"]


def assemble(histories: Mapping[tuple[str, int], pd.DataFrame]) -> pd.DataFrame:
    """The losses at the end of every pretraining, and means over seeds, tidy.

    Returns:
        Of each model the mean over seeds with Student's 95% interval (`seed` is `all`), cut where
        losses and shares end, `n` the number of seeds; then, where there are several, each seed.
    """
    ends = [
        {"model": model, "seed": str(seed), "quantity": quantity, "value": value, "n": 1, "runs": 1}
        for (model, seed), history in histories.items()
        for quantity, value in _at_the_end(history).items()
    ]
    parts = []
    for model, rows in pd.DataFrame(ends).groupby("model", sort=False):
        means = [
            {"quantity": quantity} | mean(values, 0.0, 1.0 if quantity in SHARES else math.inf)
            for quantity, values in rows.groupby("quantity", sort=False)["value"]
        ]
        over_seeds = pd.DataFrame(means).assign(model=model, seed=ALL)
        parts.append(over_seeds.assign(runs=over_seeds["n"]))
        if len(rows["seed"].unique()) > 1:
            parts.append(rows)
    table = pd.concat(parts, ignore_index=True)
    return tidy(table.assign(note=table["quantity"].map(NOTES)), KEYS)


def _at_the_end(history: pd.DataFrame) -> dict[str, float]:
    """Budget and losses of one training."""
    end = int(history["tokens"].max())
    held_out = history[history["split"] == "held-out"]
    last = history[history["tokens"] == end].set_index(["split", "quantity"])["value"]
    start = held_out[held_out["tokens"] == 0].set_index("quantity")["value"]
    return {
        "tokens_seen": end,
        **last["held-out"].to_dict(),
        "words_loss_untrained": start["words_loss"],
        "words_loss_training": last["training", "words_loss"],
    }


@row_per("model")
def readable(rows: pd.DataFrame, model: str) -> dict[str, str]:
    """One row per model: means over seeds with their intervals."""
    by = dict(rows[rows["seed"] == ALL].iterrows())
    budget = by["tokens_seen"]
    shown = {
        "words, untrained": "words_loss_untrained",
        "words, held out": "words_loss",
        "words, training": "words_loss_training",
        "sentence order, held out": "sentence_order_loss",
        "order right": "sentence_order_accuracy",
        "replaced words, held out": "replaced_tokens_loss",
        "replaced found": "replaced_tokens_found",
    }
    row = {"model": model, "seeds": f"{budget['n']:.0f}", "tokens seen": f"{budget['value']:,.0f}"}
    return row | {name: interval_of(by.get(quantity), 3) for name, quantity in shown.items()}


@table(
    "topic_structure/pretraining_losses",
    "Wikipedia: pretraining",
    "table: losses",
    title="Pretraining of the small models: losses",
    notes=[
        "Losses in nats. 'untrained': output biases at the words' frequencies and random weights. "
        "The families predict different things from different inputs; rows do not compare.",
        "Of the predicted words 10% (BERT, RoBERTa, ALBERT) or 15% (ELECTRA) stay where they are, "
        "unless `hidden_as` says otherwise: to repeat them is part of the loss.",
        "Means over seeds with Student's 95% interval; one seed has none.",
        "Sentence order: not knowing costs .693 and is right half the time.",
    ],
    readable=readable,
    reads={"histories": "pretraining_histories"},
    settings={"models": "pretrained_models"},
    made="pretrained_models",
)
def pretraining_losses(histories: list[pd.DataFrame], models: list[NamedModel]) -> pd.DataFrame:
    """What every pretraining came to: budget, losses in training and held out."""
    return assemble(histories_by_training(models, histories))
