"""The two Wikipedia tables of Li, Li & Risteski (2023), ours beside theirs.

The published tables have one row per model and ambiguity threshold; ours keep that shape. A
published row whose model was not probed stays in the table as `not run`, with the reason.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from onelayer.papers.topic_structure import over_seeds
from onelayer.papers.topic_structure.over_seeds import SEED
from onelayer.settings.models import ModelSettings, RandomModel
from onelayer.settings.topics import AmbiguitySettings
from onelayer.tables import ALL, Report, interval, number, tidy
from onelayer.verdicts import Number, judge, rounding, worded

KEYS = ["overlap", "model", "threshold"]
QUANTITIES = ["embedding_cosine_ratio", "embedding_dot_ratio", "attention_ratio"]
RAW = {
    "embedding_raw_cosine_ratio": "embedding_cosine_ratio",
    "embedding_raw_dot_ratio": "embedding_dot_ratio",
}
MEANINGLESS = "different-topic mean is 0 within its interval: a ratio means nothing here"
CHECKPOINTS = {
    "bert": "bert-base-uncased",
    "albert": "albert-base-v2",
    "bart": "bart-base",
    "electra": "electra-base-discriminator",
    "roberta": "roberta-base",
    "random": "a randomly initialised BERT",
}
CONTRASTS = {
    "attention_ratio_tightest_minus_loosest": "attention ratio falls as the threshold loosens",
    "attention_ratio_disjoint_minus_overlapping": "disjoint topics beat overlapping ones",
}
CLAIMS_TITLE = "Topic structure on Wikipedia: the two directions of the paper"
CLAIMS_NOTES = [
    "A positive difference is the paper's direction. The interval resamples the same documents on "
    "both sides of a difference, and covers the seeds of a model made here as well; it excludes 0 "
    "where the verdict is 'direction'. Random models are controls: no direction is expected of "
    "them.",
    over_seeds.NOTE,
]


def read_published(path: Path) -> pd.DataFrame:
    """The published tables, tidy: `KEYS`, `quantity`, `published`, `tolerance`."""
    printed = pd.read_csv(path, dtype=dict.fromkeys(QUANTITIES, str))
    table = printed.melt(KEYS, QUANTITIES, "quantity", "published")
    rounded = table["published"].map(rounding)
    return table.assign(published=table["published"].astype(float), tolerance=rounded)


def assemble(
    measures: Mapping[str, pd.DataFrame],
    models: Mapping[str, ModelSettings],
    ambiguity: AmbiguitySettings,
    published: pd.DataFrame,
    overlap: str,
) -> pd.DataFrame:
    """One of the two tables, tidy.

    Args:
        measures: rows of `probe.measures` by model.
        models: settings of those models.
        ambiguity: thresholds, with the published threshold beside which each stands.
        published: `read_published`.
        overlap: `disjoint` or `overlapping`.

    Returns:
        Measured rows, model by model, then the published rows that were not run. Rows of seed
        `all`, over seeds where there are several, stand beside the published ones; those of a seed
        alone are there to be read, and have no verdict.
    """
    beside = {threshold.label: threshold.published for threshold in ambiguity.thresholds}
    theirs = published[published["overlap"] == overlap].set_index(KEYS[1:] + ["quantity"])
    parts = []
    for name, rows in measures.items():
        ours = rows[(rows["overlap"] == overlap) & rows["threshold"].isin(beside)].copy()
        ours["model"] = name
        for column in ("published", "tolerance"):
            ours[column] = [
                _published(theirs[column], models[name].published_as, beside[t], q)
                if seed == ALL
                else np.nan
                for t, q, seed in zip(ours["threshold"], ours["quantity"], ours[SEED], strict=True)
            ]
        ours["kind"] = _kind(models[name])
        meaningless = _meaningless(ours)
        ours.loc[meaningless, "published"] = np.nan
        ours["verdict"] = over_seeds.undecided(models[name])
        ours["note"] = _notes(ours, models[name], beside, meaningless)
        parts.append(ours)
    measured = {(name, beside[t.label]) for name in measures for t in ambiguity.thresholds}
    missing = theirs[[(m, t) not in measured for m, t, _ in theirs.index]].reset_index()
    missing["overlap"], missing[SEED] = overlap, ALL
    missing["threshold"] = missing["threshold"].map("{:g}".format)
    missing["kind"] = np.where(missing["model"] == "random", "control", "")
    missing["note"] = "needs " + missing["model"].map(CHECKPOINTS) + " from a model hub"
    return judge(tidy(pd.concat([*parts, missing], ignore_index=True), [*KEYS, SEED]), Number())


def _kind(model: ModelSettings) -> str:
    """A random model is a control, whatever was published; the rule says what others are."""
    return "control" if isinstance(model, RandomModel) else ""


def _published(theirs: pd.Series, row: str | None, threshold: float | None, quantity: str) -> float:
    return theirs.get((row, threshold, RAW.get(quantity, quantity)), np.nan)


def _meaningless(ours: pd.DataFrame) -> list[bool]:
    """Which rows are raw ratios whose denominator is 0 within its interval."""
    zero = {
        (row.seed, row.threshold, row.quantity.removesuffix("different"))
        for row in ours.itertuples()
        if row.quantity.endswith("_different") and row.low <= 0 <= row.high
    }
    return [
        row.quantity in RAW
        and (row.seed, row.threshold, row.quantity.removesuffix("ratio")) in zero
        for row in ours.itertuples()
    ]


def _notes(
    ours: pd.DataFrame,
    model: ModelSettings,
    beside: Mapping[str, float],
    meaningless: Sequence[bool],
) -> list[str]:
    """What a reader of each row must know: the checkpoint, and what stands beside it."""
    notes = []
    for row, without_meaning in zip(ours.itertuples(), meaningless, strict=True):
        parts = []
        if row.quantity in QUANTITIES and not np.isnan(row.published):
            parts.append(f"published: {model.published_as} at {beside[row.threshold]:g}")
        parts.append(over_seeds.note(row.seed, model))
        if row.quantity in QUANTITIES:
            parts.append(model.note)
        if without_meaning:
            parts.append(MEANINGLESS)
        notes.append("; ".join(filter(None, parts)))
    return notes


def readable(table: pd.DataFrame) -> pd.DataFrame:
    """The table in the paper's shape: a row per model and threshold, ours beside theirs."""
    rows = []
    for (model, threshold), group in table.groupby(["model", "threshold"], sort=False):
        by = group[group[SEED] == ALL].set_index("quantity")
        row = {"model": model, "threshold": threshold}
        for quantity, name, digits in (
            ("attention_ratio", "attention", 3),
            ("embedding_cosine_ratio", "cosine", 3),
            ("embedding_dot_ratio", "dot", 3),
        ):
            ours = by.loc[quantity]
            row[f"{name} ratio [95%]"] = interval(ours["value"], ours["low"], ours["high"], digits)
            row[f"{name}, paper"] = number(ours["published"], digits)
            null, z = (_value(by, f"{quantity}_{kind}") for kind in ("null", "z"))
            row[f"{name}, null / z"] = (
                "–" if np.isnan(z) else f"{number(null, digits)} / {number(z, 1)}"
            )
        row["attention at equal distance"] = number(
            _value(by, "attention_ratio_distance_standardised"), 3
        )
        row["raw cosine ratio"] = _raw(by, "embedding_raw_cosine_ratio")
        shown = (group[group["quantity"] == q] for q in ("attention_ratio", QUANTITIES[0]))
        row["over seeds (attention; cosine)"] = _once(over_seeds.spread(own, 3) for own in shown)
        shown = by.loc[["attention_ratio", *QUANTITIES[:2]]]
        verdicts = list(map(worded, shown["verdict"], shown["effect_share"]))
        alike = len(set(verdicts)) == 1
        row["verdicts (attention, cosine, dot)"] = verdicts[0] if alike else ", ".join(verdicts)
        rows.append(row)
    return pd.DataFrame(rows)


def _once(cells: Iterable[str]) -> str:
    """Cells side by side, or one of them where all say the same."""
    return "; ".join(dict.fromkeys(cells))


def _value(by: pd.DataFrame, quantity: str) -> float:
    return float(by["value"].get(quantity, np.nan))


def _raw(by: pd.DataFrame, quantity: str) -> str:
    if quantity not in by.index:
        return "–"
    return (
        "means ≈ 0"
        if MEANINGLESS in by.loc[quantity, "note"]
        else number(by.loc[quantity, "value"])
    )


def reader_notes(table: pd.DataFrame, models: Mapping[str, ModelSettings]) -> list[str]:
    """Notes under the readable table."""
    notes = [
        f"{name}: {model.note}. Set beside the published row '{model.published_as}'."
        for name, model in models.items()
        if model.note and model.published_as
    ]
    if "not run" in set(table["verdict"]):
        notes.append(
            "Rows without a value are the paper's; they need checkpoints from a model hub "
            "(verdict 'not run')."
        )
    return notes + [
        "Ratio: mean over same-topic pairs / mean over different-topic pairs. Attention: pairs of "
        "positions, 95% interval from a bootstrap over documents. Embeddings: all pairs of words "
        "(no sampling), interval from a bootstrap over words.",
        over_seeds.NOTE,
        "Embedding ratios use the embedding layer's output at position 0. The paper does not say "
        "which it uses, but its random row (1.0008) excludes the raw matrix: there, both means of "
        "a random model are about 0. 'raw cosine' shows the raw matrix of the trained models.",
        "null / z: mean ratio with the words' topics permuted within frequency strata, and our "
        "distance from it in standard deviations: its own, and over seeds that of their mean too. "
        "At equal distance: different-topic pairs weighted to the distances of same-topic pairs, "
        "which sit closer together.",
        "The authors' released probe counts a word with itself as a same-topic pair and indexes "
        "the embedding matrix by list position instead of token id; this one does neither.",
        "Verdicts: 'within' our interval reaches the published value, give or take half a unit of "
        "its last digit; 'direction' all of it lies on the published side of 1; 'differs' none "
        "does; 'open' a part does, or the interval reaches 1 too. Beside them our effect as a "
        "share of the published one, which is negligible below a tenth. Random models are "
        "controls: both within .005 of 1 is their 'direction'.",
    ]


def claims(
    measures: Mapping[str, pd.DataFrame],
    models: Mapping[str, ModelSettings],
    ambiguity: AmbiguitySettings,
    published: pd.DataFrame,
) -> pd.DataFrame:
    """The paper's two directions, each as a difference of attention ratios, tidy.

    A difference has the verdict of the one rule, with 0 as the value that means 'no effect'; its
    interval comes from the same resampled documents on both sides.
    """
    beside = {threshold.label: threshold.published for threshold in ambiguity.thresholds}
    theirs = published[published["quantity"] == "attention_ratio"].set_index(KEYS)
    parts = []
    for name, rows in measures.items():
        ours = rows[rows["quantity"].isin(CONTRASTS)].copy()
        ours["claim"] = ours["quantity"].map(CONTRASTS)
        ours["model"] = name
        differences = [
            _published_difference(theirs, models[name].published_as, row, beside)
            if row.seed == ALL
            else (np.nan, np.nan)
            for row in ours.itertuples()
        ]
        ours[["published", "tolerance"]] = np.reshape(differences, (-1, 2))
        ours["kind"] = _kind(models[name])
        ours["verdict"] = over_seeds.undecided(models[name])
        control = "control: no direction expected" if models[name].source == "random" else ""
        parts_of_note = (
            (control or models[name].note, over_seeds.note(seed, models[name]))
            for seed in ours[SEED]
        )
        ours["note"] = ["; ".join(filter(None, both)) for both in parts_of_note]
        parts.append(ours)
    keys = ["claim", *KEYS, SEED]
    return judge(tidy(pd.concat(parts, ignore_index=True), keys), Number(0.0))


def _published_difference(
    theirs: pd.DataFrame, row: str | None, ours: tuple, beside: Mapping[str, float]
) -> tuple[float, float]:
    """The difference of two published ratios, and the roundings of both together."""

    def difference(*places: tuple[str, str]) -> tuple[float, float]:
        keys = [(overlap, row, beside[threshold]) for overlap, threshold in places]
        if not all(key in theirs.index for key in keys):
            return np.nan, np.nan
        first, second = (theirs.loc[key] for key in keys)
        return (
            first["published"] - second["published"],
            first["tolerance"] + second["tolerance"],
        )

    if " - " in ours.threshold:
        first, last = ours.threshold.split(" - ")
        return difference((ours.overlap, first), (ours.overlap, last))
    first, second = ours.overlap.split(" - ")
    return difference((first, ours.threshold), (second, ours.threshold))


def readable_claims(table: pd.DataFrame) -> pd.DataFrame:
    """The claims for readers: a row per claim and model."""
    rows = []
    for (claim, topics, model, threshold), group in table.groupby(["claim", *KEYS], sort=False):
        ours = group[group[SEED] == ALL].iloc[0]
        rows.append(
            {
                "claim": claim,
                "model": model,
                "topics": topics,
                "threshold": threshold,
                "difference of attention ratios [95%]": interval(
                    ours["value"], ours["low"], ours["high"], 4
                ),
                "over seeds": over_seeds.spread(group, 4),
                "paper": number(ours["published"], 4),
                "verdict": worded(ours["verdict"], ours["effect_share"]),
            }
        )
    return pd.DataFrame(rows)


def measures_by_model(models: Iterable[str], *files: Sequence[Path]) -> dict[str, pd.DataFrame]:
    """Measures of each model, joined from one file per model of each kind.

    Args:
        models: their names, in the order of the files.
        *files: e.g. the attention measures of every model, then the embedding measures.
    """
    return {
        name: pd.concat([pd.read_parquet(path) for path in paths], ignore_index=True)
        for name, *paths in zip(models, *files, strict=True)
    }


def report(
    measures: Mapping[str, pd.DataFrame],
    models: Mapping[str, ModelSettings],
    ambiguity: AmbiguitySettings,
    published: pd.DataFrame,
    overlap: str,
) -> Report:
    """One of the two tables for readers; arguments as `assemble`."""
    table = assemble(measures, models, ambiguity, published, overlap)
    title = f"Topic structure on Wikipedia, {overlap} topics: same-topic / different-topic"
    return Report(table, readable(table), title, reader_notes(table, models))
