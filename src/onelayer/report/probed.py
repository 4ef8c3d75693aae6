"""What `onelayer probe` says of a checkpoint beside its control with random weights."""

import math
import textwrap
from pathlib import Path

import pandas as pd

from onelayer.evidence.tables import ALL, interval_of, number, read_csv
from onelayer.papers.topic_structure.wikipedia.tables import ABOUT_0, meaningless

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
    return f"{title}\n\n{shown}\n\n{_sentence(by, name, table['threshold'].iloc[0])}"


def _sentence(by: pd.DataFrame, name: str, threshold: str) -> str:
    """What the first threshold says of attention, beside topics permuted among frequent words."""
    ratio = by.loc[(name, threshold, "attention_ratio_null_corrected")]
    if math.isnan(ratio["value"]):
        return f"{name}: its attention ratio means nothing here; the CSV has the reason."
    # The interval is of articles and words alone; how far permuted topics scatter, p says.
    p = by.loc[(name, threshold, "attention_ratio_p"), "value"]
    decided = p <= 0.05 and not ratio["low"] <= 1 <= ratio["high"]
    how = "less" if decided and ratio["high"] < 1 else "more"
    whether, undecided = ("In", "") if decided else ("Whether in", " is undecided")
    return textwrap.fill(
        f"{whether} {name} words of one topic ({threshold}) attend to each other {how} than "
        f"equally frequent words of permuted topics{undecided}: {interval_of(ratio, 3)} times as "
        f"much (p = {number(p, 3)}).",
        80,
    )
