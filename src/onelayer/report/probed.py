"""What `onelayer probe` says of a checkpoint beside its control with random weights."""

import math
import textwrap
from pathlib import Path

import pandas as pd

from onelayer.evidence.tables import ALL, interval_of, number, read_csv
from onelayer.papers.topic_structure.wikipedia.tables import ABOUT_0, meaningless, over_null

# Same-topic over different-topic means of these.
RATIOS = {"attention_ratio": "attention", "embedding_cosine_ratio": "cosine"}


def said(path: Path, name: str, control: str) -> str:
    """A table of at most 80 columns and a sentence.

    Args:
        path: CSV of `table_wikipedia_disjoint` or `_overlapping`.
        name, control: of the checkpoint and of the same architecture with random weights.
    """
    table = read_csv(path)
    table = table[(table["seed"] == ALL) & table["model"].isin([name, control])]
    nothing = meaningless(table).to_numpy()
    by = table.set_index(["model", "threshold", "quantity"])[["value", "low", "high"]]
    about_0 = set(by.index[nothing])
    rows = []
    for quantity, title in RATIOS.items():
        for threshold in table["threshold"].unique():
            row = {"ratio of": title, "words": threshold}
            for model, column in ((name, "checkpoint [95%]"), (control, "random [95%]")):
                place = model, threshold, quantity
                row[column] = ABOUT_0 if place in about_0 else interval_of(by.loc[place])
            about_zero = (name, threshold, quantity) in about_0
            for column, digits in (("null", 2), ("z", 1)):
                other = by.loc[(name, threshold, f"{quantity}_{column}"), "value"]
                row[column] = number(math.nan if about_zero else other, digits)
            rows.append(row)
    shown = pd.DataFrame(rows).to_string(index=False)
    title = f"{name}: between words of one topic, over that between words of two"
    return f"{title}\n\n{shown}\n\n{_sentence(table, name)}"


def _sentence(table: pd.DataFrame, name: str) -> str:
    """What the first threshold says of attention, by the interval that verdicts are made of.

    It is of articles and of permuted topics together: what is decided lies on one side of the null.
    """
    threshold = table["threshold"].iloc[0]
    of = table["model"].eq(name) & table["threshold"].eq(threshold)
    ratio = table[of & table["quantity"].eq("attention_ratio")]
    over = over_null(table).loc[ratio.index[0]]
    if over.isna().any():
        return f"{name}: its attention ratio means nothing here; the CSV has the reason."
    decided = not over["low"] <= 1 <= over["high"]
    whether, undecided = ("In", "") if decided else ("Whether in", " is undecided")
    return textwrap.fill(
        f"{whether} {name} words of one topic ({threshold}) attend to each other "
        f"{'less' if over['high'] < 1 else 'more'} than equally frequent words of permuted topics"
        f"{undecided}: {interval_of(over, 3)} times as much.",
        80,
    )
