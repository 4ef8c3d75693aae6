"""What the pretraining of the small models cost and came to: losses in training and held out."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from onelayer.settings.topic_structure import NamedModel
from onelayer.tables import number, tidy
from onelayer.verdicts import Number, judge

KEYS = ["model", "seed"]
TITLE = "Pretraining of the small models: losses"
READER_NOTES = [
    "Losses in nats. 'untrained': output biases at the words' frequencies and random weights. The "
    "families predict different things from different inputs; rows do not compare.",
    "Of the predicted words 10% (BERT, RoBERTa, ALBERT) or 15% (ELECTRA) stay where they are: to "
    "repeat them is part of the loss.",
    "Sentence order: not knowing costs .693 and is right half the time.",
]
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


def trainings(models: Sequence[NamedModel]) -> list[tuple[str, int]]:
    """Model and seed of every training, in the order of input files."""
    return [(model.name, seed) for model in models for seed in model.settings.seeds]


def read_histories(
    checkpoints: Sequence[tuple[str, int]], files: Sequence[Path]
) -> dict[tuple[str, int], pd.DataFrame]:
    """Loss histories by model and seed, as `named` has them."""
    files = zip(checkpoints, files, strict=True)
    return {key: named(pd.read_parquet(path)) for key, path in files}


def named(history: pd.DataFrame) -> pd.DataFrame:
    """A loss history with one name for the loss of predicted words, whatever else is predicted."""
    if not (history["quantity"] == "words_loss").any():
        history = history.assign(quantity=history["quantity"].replace("loss", "words_loss"))
    return history[history["quantity"] != "loss"]


def assemble(histories: Mapping[tuple[str, int], pd.DataFrame]) -> pd.DataFrame:
    """The losses at the end of every pretraining, tidy."""
    rows = []
    for (model, seed), history in histories.items():
        end = int(history["tokens"].max())
        held_out = history[history["split"] == "held-out"]
        last = history[history["tokens"] == end].set_index(["split", "quantity"])["value"]
        values = {"tokens_seen": end, **last["held-out"].to_dict()}
        start = held_out[held_out["tokens"] == 0].set_index("quantity")["value"]
        values["words_loss_untrained"] = start["words_loss"]
        values["words_loss_training"] = last["training", "words_loss"]
        for quantity, value in values.items():
            note = NOTES[quantity]
            rows.append(
                {"model": model, "seed": seed, "quantity": quantity, "value": value, "note": note}
            )
    return judge(tidy(rows, KEYS), Number())


def readable(table: pd.DataFrame) -> pd.DataFrame:
    """One row per training."""
    rows = []
    for (model, seed), group in table.groupby(KEYS, sort=False):
        value = group.set_index("quantity")["value"]
        row = {"model": model, "seed": str(seed), "tokens seen": f"{value['tokens_seen']:,.0f}"}
        for quantity, name in (
            ("words_loss_untrained", "words, untrained"),
            ("words_loss", "words, held out"),
            ("words_loss_training", "words, training"),
            ("sentence_order_loss", "sentence order, held out"),
            ("sentence_order_accuracy", "order right"),
            ("replaced_tokens_loss", "replaced words, held out"),
            ("replaced_tokens_found", "replaced found"),
        ):
            row[name] = number(value.get(quantity, np.nan), 3)
        rows.append(row)
    return pd.DataFrame(rows)
