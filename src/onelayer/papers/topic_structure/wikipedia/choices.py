"""Does what the probe finds depend on how it was done? All choices, the authors' among them.

Li, Li & Risteski (2023) report one way; their released code has another in some places: topics of
the tf-idf matrix of gensim's Wikipedia script, one pass, topics that overlap, int(V f) + 1 words a
topic. Here a specification curve (Simonsohn, Simmons & Nelson 2020) has every combination.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from onelayer.evidence.tables import ALL, interval_of, number, table, tidy
from onelayer.evidence.verdicts import DIFFERENCE, Direction, Number, judge, percent, worded
from onelayer.papers.topic_structure.wikipedia.tables import MATTERS, read_published
from onelayer.settings.topic_structure import NamedModel

FACTORS = ["weights", "schedule", "topics", "seed", "words", "overlap", "pooling", "length"]
KEYS = ["model", *FACTORS, "choice"]
RATIO, CORRECTED = "attention_ratio", "attention_over_null"
LEAST, MOST, ABOVE = "least_over_null", "most_over_null", "share_above_null"
AUTHORS_OVER_OURS = "authors_over_ours"
# The share f of which the words of the authors' choice are, and how many words gensim's script
# keeps at most: what their rule is counted of at other f.
AUTHORS_SHARE, AUTHORS_VOCABULARY = 0.0005, 100_000
FACTOR_NAMES = {
    "weights": "topics fitted to",
    "schedule": "schedule of LDA",
    "topics": "number of topics",
    "seed": "seed of LDA",
    "words": "words a topic",
    "overlap": "topics",
    "pooling": "heads and layers",
    "length": "length of text",
}


def assemble(measures: Sequence[pd.DataFrame], models: Sequence[str]) -> pd.DataFrame:
    """Every choice, and what all of them say, tidy.

    Args:
        measures: rows of `measure_choices`, model by model.

    Returns:
        The rows of every choice; `not reached` where it has too few pairs. Of all choices of a
        model (`all`): `share_above_null`, of intervals of the ratio over its null that lie above 1;
        the choice whose interval begins lowest and the largest ratio; `authors_over_ours`;
        `eta2_<factor>`. Of each value of a factor: the geometric mean over all other factors.
        Intervals of ratios over their null have the 95% of permuted topics added: distances of
        logarithms, as squares.
    """
    parts = []
    for model, rows in zip(models, measures, strict=True):
        rows = rows.assign(model=model)
        corrected, null, over = _over_null(rows)
        below, above = (
            np.hypot(np.log(over["value"] / over[end]), np.log(null["value"] / null[other]))
            for end, other in (("low", "high"), ("high", "low"))
        )
        rows.loc[corrected, "low"] = over["value"] * np.exp(-below)
        rows.loc[corrected, "high"] = over["value"] * np.exp(above)
        empty = rows["value"].isna()
        rows["verdict"] = np.where(empty, "not reached", "")
        rows["note"] = np.where(empty, "too few pairs of words of some class", "")
        summary = _summary(rows[rows["quantity"] == CORRECTED])
        parts += [rows, pd.DataFrame(summary).assign(model=model)]
    table = pd.concat(parts, ignore_index=True)
    for key in KEYS:
        table[key] = [
            ALL if pd.isna(value) or value == "" else text_of(value) for value in table[key]
        ]
    return tidy(table, KEYS)


def _over_null(rows: pd.DataFrame) -> tuple[pd.Series, pd.DataFrame, pd.DataFrame]:
    """Where ratios over their null stand, their nulls in the same places, and they themselves."""
    corrected, null = (rows["quantity"] == of for of in (CORRECTED, f"{RATIO}_null"))
    return corrected, rows[null].set_axis(rows.index[corrected]), rows[corrected]


def text_of(value: object) -> str:
    """A value of a factor as readers see it."""
    return str(int(value)) if isinstance(value, float) else str(value)


def _summary(rows: pd.DataFrame) -> list[dict]:
    """What all choices say, from their ratios over the null."""
    measured, clear = rows[rows["value"].notna()], (rows["low"] > 1).sum()
    summary = [{"quantity": ABOVE, "value": clear / len(rows), "n": len(rows)}]
    if measured.empty:
        return summary
    least, most = measured.loc[measured["low"].idxmin()], measured.loc[measured["value"].idxmax()]
    for quantity, one in ((LEAST, least), (MOST, most)):
        which = ", ".join(text_of(one[factor]) for factor in FACTORS)
        summary.append(
            {"quantity": quantity, "note": which} | one[["value", "low", "high", "n"]].to_dict()
        )
    logs = np.log(measured["value"])
    for factor in FACTORS:
        levels = logs.groupby(measured[factor], sort=False)
        sizes = levels.size()
        for level, mean in levels.mean().items():
            of_level = {"quantity": "mean_over_null", "value": np.exp(mean), "n": sizes[level]}
            summary.append({factor: level} | of_level)
        if len(levels) > 1:
            share = variance_share(logs, measured[factor])
            summary.append({"quantity": f"eta2_{factor}", "value": share, "n": len(measured)})
    return summary


def variance_share(values: pd.Series, factor: pd.Series) -> float:
    """Eta squared: the sum of squares between a factor's values, as a share of the whole.

    Main effects alone; where all choices were measured the design is balanced, and they add up to
    at most 1.
    """
    fitted = values.groupby(factor).transform("mean")
    whole = ((values - values.mean()) ** 2).sum()
    return float(((fitted - values.mean()) ** 2).sum() / whole) if whole > 0 else np.nan


def readable(table: pd.DataFrame) -> pd.DataFrame:
    """For readers: of all choices, ours and the authors'; then each value of each choice."""
    shown = []
    for model, rows in table.groupby("model", sort=False):
        marked = {
            name: by.set_index("quantity").to_dict("index")
            for name, by in rows[rows["choice"] != ALL].groupby("choice")
        }
        whole = rows[(rows[FACTORS] == ALL).all(axis=1)].set_index("quantity").to_dict("index")
        for name, by in marked.items():
            line = f"{interval_of(by[RATIO])}, null {number(by[f'{RATIO}_null']['value'])}"
            shown.append((model, f"{name}: ratio", line, "", ""))
            verdict = worded(by[RATIO]) if by[RATIO]["verdict"] else ""
            over = interval_of(by[CORRECTED])
            shown.append((model, f"{name}: over its null", over, "", verdict))
        for quantity, name in (
            (LEAST, "interval that begins lowest"),
            (MOST, "largest"),
            (AUTHORS_OVER_OURS, "authors' over ours"),
        ):
            if quantity in whole:
                one = whole[quantity]
                verdict = worded(one) if one["verdict"] else ""
                shown.append((model, name, interval_of(one), one["note"], verdict))
        above = whole[ABOVE]
        line = f"{percent(above['value'])} of {above['n']:.0f}"
        shown.append((model, "intervals above 1", line, "", ""))
        for factor in FACTORS:
            means = rows[(rows["quantity"] == "mean_over_null") & (rows[factor] != ALL)]
            line = ", ".join(f"{one[factor]} {one['value']:.2f}" for _, one in means.iterrows())
            share = whole.get(f"eta2_{factor}")
            says = "" if share is None else f"{percent(share['value'])} of the variance"
            shown.append((model, FACTOR_NAMES[factor], line, says, ""))
    columns = ["model", "what", "attention over its null [95%]", "which, or share", "verdict"]
    return pd.DataFrame(shown, columns=columns)


@table(
    "topic_structure/probe_choices",
    "Wikipedia: results",
    "table: the probe under all choices",
    title="Topic structure on Wikipedia: does it depend on how it is probed?",
    notes=[
        "Every combination of the choices named; the file for machines has each with ratio and "
        "null. Topics are permuted among equally frequent words; intervals over the null are over "
        "articles, with the 95% of permuted topics added as squares, of logarithms. The authors' "
        "over ours: over articles and the seeds of LDA.",
        "authors: as in their released code: LDA of gensim in one pass over tf-idf weights, "
        "int(V f) + 1 words a topic of V words in all, topics overlap, weights as they are. "
        "Their V, that of gensim's script, is at most 100,000, which is 51 words at f = .0005; so "
        "many are kept here. The rule itself, on these articles' fewer words, keeps a few; it is "
        "one of the choices. ours: the first value of each choice. Beside the authors' stands what "
        "they publish of the model that ours is like, where topics overlap, at that f; beside "
        "the same with 101 and with 201 words, where asked for, what they publish at the f that "
        "would give so many, .001 and .002.",
        "The interval that begins lowest is chosen among all, a hard test of 'under every choice': "
        "it is that of a way with few pairs of words, whose permuted topics scatter most.",
        "Values of a choice: geometric means over all others. Share of the variance: of main "
        "effects, of the logarithm of the ratio over its null.",
        "A choice that leaves too few pairs of words of one topic, or of different topics, counts "
        "as not above 1. Of a causal model 'as it is' leaves out the length of the text alone.",
    ],
    readable=readable,
    reads={"measures": "chosen_measures", "published": "reference/topic_structure_wikipedia.csv"},
    settings={"models": "chosen_models"},
)
def probe_choices(
    measures: list[pd.DataFrame], published: Path, models: list[NamedModel]
) -> pd.DataFrame:
    """Ratios under every choice of topics, words, heads and lengths."""
    rows = assemble(measures, [model.name for model in models])
    printed = read_published(published)
    printed = printed[(printed["overlap"] == "overlapping") & (printed["quantity"] == RATIO)]
    others = printed["threshold"][printed["threshold"] != AUTHORS_SHARE].unique()
    shares = {str(int(AUTHORS_VOCABULARY * f) + 1): f for f in others}
    ratio = rows["quantity"] == RATIO
    authors = ratio & (rows["choice"] == "authors")
    ways = pd.MultiIndex.from_frame(rows[["model", *FACTORS]].drop(columns="words"))
    as_theirs = ratio & ways.isin(ways[authors])
    like = rows["model"].map({model.name: model.settings.published_as for model in models})
    share = rows["words"].map(shares).mask(authors, AUTHORS_SHARE)
    columns = ["published", "tolerance"]
    theirs = printed.set_index(["model", "threshold"])[columns]
    of = pd.MultiIndex.from_arrays([like[as_theirs], share[as_theirs]])
    rows.loc[as_theirs, columns] = theirs.reindex(of).to_numpy()
    compared = {
        LEAST: Direction(1.0, 1, MATTERS, "analogue"),
        AUTHORS_OVER_OURS: Direction(1.0, -1, 0.0, "analogue"),
        RATIO: Number(1.0, "analogue"),
    }
    _, null, over = _over_null(rows)
    differences = pd.DataFrame(np.nan, rows.index, DIFFERENCE)
    rows.loc[ratio, "reference"] = null["value"].to_numpy()
    ends = over[["low", "high"]].sub(1).mul(null["value"], axis=0)
    differences.loc[ratio] = ends.to_numpy()
    return judge(rows, compared, differences)
