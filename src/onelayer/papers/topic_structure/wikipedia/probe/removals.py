"""Which heads are taken out of a model and which words are then predicted; without torch."""

import pandas as pd

REMOVALS = ("zero", "uniform")
LARGEST, RANDOM, SAME_LAYERS = "largest", "random", "same_layers"
SAME_TOPIC, OTHER = "same_topic", "other"
CONTRAST = f"{SAME_TOPIC} - {OTHER}"
NONE = "none"
OTHERS = (RANDOM, SAME_LAYERS)
# `loss_of`: what the loss is; `missing`: why there is none, or empty.
COLUMNS = ["document", "removal", "chosen", "words", "loss", "asked", "seed", "loss_of", "missing"]


def without_losses(reason: str) -> pd.DataFrame:
    """Losses of a model of which none was measured: one row, which says why."""
    return pd.DataFrame([{"missing": reason}], columns=COLUMNS)


def loosest_variant(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows of the first overlap mode and its last threshold, which labels the most words."""
    of_first = rows[rows["overlap"] == rows["overlap"].iloc[0]]
    return of_first[of_first["threshold"] == of_first["threshold"].iloc[-1]]


def topics_of_words(kept_words: pd.DataFrame) -> dict[str, frozenset[int]]:
    """The topics of each word, by `loosest_variant` of rows `word`, `topic`."""
    return loosest_variant(kept_words).groupby("word")["topic"].agg(frozenset).to_dict()
