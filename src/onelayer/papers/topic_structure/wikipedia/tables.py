"""The two Wikipedia tables of Li, Li & Risteski (2023), ours beside theirs.

The published tables have one row per model and ambiguity threshold; ours keep that shape. A
published row whose model was not probed stays in the table as `not run`, with the reason.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from onelayer.evidence.tables import ALL, Report, interval, number, table, tidy
from onelayer.evidence.verdicts import (
    DIFFERENCE,
    NOT_RUN,
    Number,
    judge,
    rounding,
    worded,
    worded_all,
)
from onelayer.papers.topic_structure.wikipedia import over_seeds
from onelayer.papers.topic_structure.wikipedia.over_seeds import SEED
from onelayer.settings.models import HubModel, ModelSettings, RandomModel
from onelayer.settings.topic_structure import NamedModel, by_name
from onelayer.settings.topics import AmbiguitySettings, Overlap

KEYS = ["overlap", "model", "threshold", "published_threshold"]
# By which the published table names its rows.
PUBLISHED_KEYS = ["overlap", "model", "threshold"]
QUANTITIES = ["embedding_cosine_ratio", "embedding_dot_ratio", "attention_ratio"]
RAW = {
    "embedding_raw_cosine_ratio": "embedding_cosine_ratio",
    "embedding_raw_dot_ratio": "embedding_dot_ratio",
}
RAW_COSINE = next(iter(RAW))
MEANINGLESS = "different-topic mean is 0 within its interval: a ratio means nothing here"
# The paper's checkpoints by published row: names of their repositories on a hub.
CHECKPOINTS = {
    "bert": "bert-base-uncased",
    "albert": "albert-base-v2",
    "bart": "bart-base",
    "electra": "electra-base-discriminator",
    "roberta": "roberta-base",
    "random": "a randomly initialised BERT",
}
BY_THRESHOLD = "attention_ratio_tightest_minus_loosest"
BY_OVERLAP = "attention_ratio_disjoint_minus_overlapping"
CONTRASTS = {
    BY_THRESHOLD: "attention ratio falls as the threshold loosens",
    BY_OVERLAP: "disjoint topics beat overlapping ones",
}


def read_published(path: Path) -> pd.DataFrame:
    """The published tables, tidy: `PUBLISHED_KEYS`, `quantity`, `published`, `tolerance`."""
    printed = pd.read_csv(path, dtype=dict.fromkeys(QUANTITIES, str))
    table = printed.melt(PUBLISHED_KEYS, QUANTITIES, "quantity", "published")
    rounded = table["published"].map(rounding)
    return table.assign(published=table["published"].astype(float), tolerance=rounded)


def kind(model: ModelSettings) -> str:
    """Whether a model is the paper's own checkpoint, an analogue of it or a control.

    The paper's own comes from a hub, out of the repository that its published row is of. A random
    model is a control, whatever was published.
    """
    if isinstance(model, RandomModel):
        return "control"
    repository = model.hub.repository.rpartition("/")[2] if isinstance(model, HubModel) else ""
    return "published" if repository == CHECKPOINTS.get(model.published_as) else "analogue"


def assemble(
    measures: Mapping[str, pd.DataFrame],
    models: Mapping[str, ModelSettings],
    ambiguity: AmbiguitySettings,
    published: pd.DataFrame,
    overlap: str,
) -> pd.DataFrame:
    """One of the two tables, tidy and judged.

    Args:
        measures: rows of `probe.measures` by model.
        models: settings of those models, and of those that random ones among them are like.
        ambiguity: thresholds, with the published threshold beside which each stands.
        published: `read_published`.
        overlap: `disjoint` or `overlapping`.

    Returns:
        Measured rows, model by model, then the published rows that were not run. Rows of seed
        `all`, over seeds where there are several, stand beside the published ones; those of a seed
        alone are there to be read, and have no verdict.
    """
    beside = {threshold.label: threshold.published for threshold in ambiguity.thresholds}
    theirs = published[published["overlap"] == overlap]
    numbers = theirs.set_index([*PUBLISHED_KEYS[1:], "quantity"])
    parts = []
    for name, rows in measures.items():
        model = models[name]
        ours = rows[(rows["overlap"] == overlap) & rows["threshold"].isin(beside)].copy()
        ours["model"] = name
        ours["published_threshold"] = ours["threshold"].map(beside).astype(float)
        ours["kind"] = kind(model)
        ours[["published", "tolerance"]] = _published(ours, model.published_as, numbers)
        ours["effect"] = math.nan
        if isinstance(model, RandomModel):
            # What it is a control of.
            like = _published(ours, models[model.like].published_as, numbers)
            ours["effect"] = like["published"] - 1
        nothing = meaningless(ours)
        ours.loc[nothing, ["published", "tolerance", "effect"]] = math.nan
        ours["runs"] = [over_seeds.runs(seed, model) for seed in ours[SEED]]
        ours["verdict"] = over_seeds.undecided(model)
        ours["note"] = _notes(ours, model, nothing)
        parts.append(ours)
    measured = {(name, beside[t.label]) for name in measures for t in ambiguity.thresholds}
    here = [pair in measured for pair in zip(theirs["model"], theirs["threshold"], strict=True)]
    missing = theirs[~np.array(here)].rename(columns={"threshold": "published_threshold"})
    missing["threshold"] = missing["published_threshold"].map("{:.15g}".format)
    missing[SEED] = ALL
    missing["kind"] = np.where(missing["model"] == "random", "control", "published")
    missing["note"] = "needs " + missing["model"].map(CHECKPOINTS) + " from a model hub"
    return judged(tidy(pd.concat([*parts, missing], ignore_index=True), [*KEYS, SEED]))


def _published(ours: pd.DataFrame, row: str | None, numbers: pd.DataFrame) -> pd.DataFrame:
    """`published` and `tolerance` beside each row over seeds; NaN beside those of a seed alone."""
    keys = [
        (row, threshold, RAW.get(quantity, quantity)) if seed == ALL else None
        for threshold, quantity, seed in zip(
            ours["published_threshold"], ours["quantity"], ours[SEED], strict=True
        )
    ]
    columns = ["published", "tolerance"]
    known = numbers[columns].to_dict("index")
    nothing = dict.fromkeys(columns, math.nan)
    found = [known.get(key, nothing) for key in keys]
    return pd.DataFrame(found, ours.index, columns)


_PLACE = ["overlap", "model", "threshold", SEED, "quantity"]


def _by_place(table: pd.DataFrame) -> dict[tuple, tuple[float, float, float]]:
    """Value, low and high of every row, by what it is of."""
    places = table[_PLACE].itertuples(index=False, name=None)
    numbers = table[["value", "low", "high"]].itertuples(index=False, name=None)
    return dict(zip(places, numbers, strict=True))


def meaningless(table: pd.DataFrame) -> pd.Series:
    """Which rows are embedding ratios whose denominator is 0 within its interval."""
    rows = _by_place(table)

    def of_zero(*place: str) -> bool:
        quantity = place[-1]
        if quantity not in (*QUANTITIES, *RAW):
            return False
        denominator = (*place[:-1], quantity.removesuffix("ratio") + "different")
        _, low, high = rows.get(denominator, (math.nan,) * 3)
        return low <= 0 <= high

    found = [of_zero(*place) for place in table[_PLACE].itertuples(index=False, name=None)]
    return pd.Series(found, table.index, dtype=bool)


def beside_null(table: pd.DataFrame) -> pd.DataFrame:
    """What every ratio is judged against: its own null, and the interval of their difference.

    With c the ratio over its null, paired by seed, the ends of ratio - null lie null times those of
    c from it on either side; to these distances the null's own, to the ends of the 95% of its
    permutations, are added as squares (MOVER, of a difference: below ours the null's upper end).

    Args:
        table: tidy; `_null` and `_null_corrected` of a ratio are rows of it.

    Returns:
        `reference`, `difference_low` and `difference_high`, a row for each; NaN without a null.
    """
    rows = _by_place(table)
    found = []
    for *place, quantity in table[_PLACE].itertuples(index=False, name=None):
        null = rows.get((*place, f"{quantity}_null"))
        corrected = rows.get((*place, f"{quantity}_null_corrected"))
        if null is None or corrected is None:
            found.append((math.nan,) * 3)
            continue
        centre, least, most = null
        share, low, high = corrected
        difference = rows[(*place, quantity)][0] - centre
        below = math.hypot(centre * (share - low), most - centre)
        above = math.hypot(centre * (high - share), centre - least)
        found.append((centre, difference - below, difference + above))
    return pd.DataFrame(found, table.index, ["reference", *DIFFERENCE])


def judged(table: pd.DataFrame) -> pd.DataFrame:
    """A table with its verdicts, from its own rows alone.

    Ratios of raw embeddings are not compared: the paper measures none, and the published number
    stands beside them for readers alone.

    Args:
        table: tidy, with `KEYS` and seeds, and the kind of each row; of a control `effect` is the
            published effect that it is a control of.
    """
    against = beside_null(table)
    controls = (table["kind"] == "control") & table["value"].notna()
    compared = [
        None if quantity in RAW else Number(1.0, "control", unit=effect) if control else Number(1.0)
        for quantity, control, effect in zip(
            table["quantity"], controls, table["effect"], strict=True
        )
    ]
    return judge(table.assign(reference=against["reference"]), compared, against[DIFFERENCE])


def _notes(ours: pd.DataFrame, model: ModelSettings, nothing: pd.Series) -> list[str]:
    """What a reader of each row must know: the checkpoint, and what stands beside it."""
    notes = []
    for row, without_meaning in zip(ours.itertuples(), nothing, strict=True):
        parts = []
        if row.quantity in QUANTITIES and not np.isnan(row.published):
            parts.append(f"published: {model.published_as} at {row.published_threshold:g}")
        parts.append(over_seeds.note(row.seed, model))
        if row.quantity in QUANTITIES:
            parts.append(model.note)
        if without_meaning:
            parts.append(MEANINGLESS)
        notes.append("; ".join(filter(None, parts)))
    return notes


def readable(table: pd.DataFrame) -> pd.DataFrame:
    """The table in the paper's shape: a row per model and threshold, ours beside theirs."""
    rows, nothing = [], meaningless(table)
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
            null, z, p = (_value(by, f"{quantity}_{own}") for own in ("null", "z", "p"))
            row[f"{name}, null / z / p"] = (
                "–" if np.isnan(z) else f"{number(null, digits)} / {number(z, 1)} / {number(p, 3)}"
            )
        row["attention, for topics like these [95%]"] = _cell(by, "attention_ratio_over_topics")
        row["attention at equal distance"] = number(
            _value(by, "attention_ratio_distance_standardised"), 3
        )
        zero = nothing[group.index[(group["quantity"] == RAW_COSINE) & (group[SEED] == ALL)]].any()
        row["raw cosine ratio"] = "means ≈ 0" if zero else number(_value(by, RAW_COSINE))
        shown = (group[group["quantity"] == q] for q in ("attention_ratio", QUANTITIES[0]))
        row["over seeds (attention; cosine)"] = _once(over_seeds.spread(own, 3) for own in shown)
        shown = by.loc[["attention_ratio", *QUANTITIES[:2]]]
        verdicts = worded_all(shown)
        alike = len(set(verdicts)) == 1
        row["verdicts (attention, cosine, dot)"] = verdicts[0] if alike else ", ".join(verdicts)
        rows.append(row)
    return pd.DataFrame(rows)


def _once(cells: Iterable[str]) -> str:
    """Cells side by side, or one of them where all say the same."""
    return "; ".join(dict.fromkeys(cells))


def _value(by: pd.DataFrame, quantity: str) -> float:
    return float(by["value"].get(quantity, np.nan))


def _cell(by: pd.DataFrame, quantity: str) -> str:
    known = quantity in by.index
    return interval(*by.loc[quantity, ["value", "low", "high"]], 3) if known else "–"


def reader_notes(table: pd.DataFrame, models: Mapping[str, ModelSettings]) -> list[str]:
    """Notes under the readable table."""
    shown = set(table["model"])
    notes = [
        f"{name}: {model.note}. Set beside the published row '{model.published_as}'."
        for name, model in models.items()
        if name in shown and model.note and model.published_as
    ]
    if NOT_RUN in set(table["verdict"]):
        notes.append(
            "Rows without a value are the paper's; they need checkpoints from a model hub "
            f"(verdict '{NOT_RUN}')."
        )
    return notes + [
        "Ratio: mean over same-topic pairs / mean over different-topic pairs. Attention: pairs of "
        "positions, 95% interval from a bootstrap over documents. Embeddings: all pairs of words "
        "(no sampling), interval from a bootstrap over words. Bootstrap intervals are expanded "
        "percentile intervals (Hesterberg 2015).",
        over_seeds.NOTE,
        "Embedding ratios use the embedding layer's output at position 0. The paper does not say "
        "which it uses, but its random row (1.0008) excludes the raw matrix: there, both means of "
        "a random model are about 0. 'raw cosine' shows the raw matrix of the trained models, "
        "compared with nothing.",
        "null: mean ratio with the words' topics permuted within frequency strata. z: how far ours "
        "is from it in standard deviations of the permutations; p: the share of permutations that "
        "come to at least ours, itself counted (one-sided). Both answer whether these trainings "
        "tell these topics from permuted ones. The interval answers what other articles (or words) "
        "and other trainings would show; 'for topics like these' draws the topics anew, too "
        "(disjoint topics alone: where topics overlap, a pair of words belongs to no one pair of "
        "them). At equal distance: different-topic pairs weighted to the distances of same-topic "
        "pairs, which sit closer together.",
        "The authors' released probe counts a word with itself as a same-topic pair and indexes "
        "the embedding matrix by list position instead of token id; this one does neither.",
        "Verdicts: the one rule for all tables. 'No effect' is a ratio's own null; the interval of "
        "our effect is that of the ratio over its null, with the 95% of the permutations added as "
        "squares. Kinds: 'published' the paper's own checkpoint, 'analogue' a smaller or other "
        "model, which says nothing of the paper's; random models are controls, in units of the "
        "published effect of the model that they are like: 'negligible' is what is expected of "
        "them.",
    ]


def directions(
    measures: Mapping[str, pd.DataFrame],
    models: Mapping[str, ModelSettings],
    ambiguity: AmbiguitySettings,
    published: pd.DataFrame,
) -> pd.DataFrame:
    """The paper's two directions, each as a difference of attention ratios, tidy and judged.

    A difference has the verdict of the one rule, with 0 as the value that means 'no effect'; its
    interval comes from the same resampled documents on both sides. Arguments as `assemble`.
    """
    theirs = published[published["quantity"] == "attention_ratio"].set_index(PUBLISHED_KEYS)
    parts = []
    for name, rows in measures.items():
        model = models[name]
        ours = rows[rows["quantity"].isin(CONTRASTS)].copy()
        ours["claim"] = ours["quantity"].map(CONTRASTS)
        ours["model"] = name
        labels = {threshold.label: threshold.published for threshold in ambiguity.thresholds}
        ours["published_threshold"] = ours["threshold"].map(labels).astype(float)
        ours[["published", "tolerance"]] = _differences(theirs, model.published_as, ours, ambiguity)
        ours["kind"], ours["effect"] = kind(model), math.nan
        control = isinstance(model, RandomModel)
        if control:
            like = models[model.like].published_as
            ours["effect"] = _differences(theirs, like, ours, ambiguity)["published"]
        ours["runs"] = [over_seeds.runs(seed, model) for seed in ours[SEED]]
        ours["verdict"] = over_seeds.undecided(model)
        what = "control: no direction expected" if control else model.note
        said = [(what, over_seeds.note(seed, model)) for seed in ours[SEED]]
        ours["note"] = ["; ".join(filter(None, both)) for both in said]
        parts.append(ours)
    table = tidy(pd.concat(parts, ignore_index=True), ["claim", *KEYS, SEED])
    compared = [
        Number(0.0, "control", unit=effect) if own == "control" else Number(0.0)
        for own, effect in zip(table["kind"], table["effect"], strict=True)
    ]
    return judge(table, compared)


def _differences(
    theirs: pd.DataFrame, row: str | None, ours: pd.DataFrame, ambiguity: AmbiguitySettings
) -> pd.DataFrame:
    """Published differences and their roundings, for rows over seeds; NaN where there is none."""
    thresholds = [threshold.published for threshold in ambiguity.thresholds]
    found = []
    for one in ours.itertuples():
        if one.quantity == BY_THRESHOLD:
            keys = [(one.overlap, row, thresholds[0]), (one.overlap, row, thresholds[-1])]
        else:
            keys = [(mode, row, one.published_threshold) for mode in ("disjoint", "overlapping")]
        if one.seed == ALL and all(key in theirs.index for key in keys):
            first, second = (theirs.loc[key] for key in keys)
            difference = first["published"] - second["published"]
            found.append((difference, first["tolerance"] + second["tolerance"]))
        else:
            found.append((math.nan, math.nan))
    return pd.DataFrame(found, ours.index, ["published", "tolerance"])


def readable_claims(table: pd.DataFrame) -> pd.DataFrame:
    """The claims for readers: a row per claim and model."""
    rows = []
    shown = ["claim", "overlap", "model", "threshold"]
    for (claim, topics, model, threshold), group in table.groupby(shown, sort=False):
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
                "verdict": worded(ours),
            }
        )
    return pd.DataFrame(rows)


def measures_by_model(
    models: Sequence[NamedModel], *measures: Sequence[pd.DataFrame]
) -> dict[str, pd.DataFrame]:
    """Measures of each model, joined from one table per model of each kind.

    Args:
        models: in the order of the tables.
        *measures: e.g. the attention measures of every model, then the embedding measures.
    """
    return {
        model.name: pd.concat(tables, ignore_index=True)
        for model, *tables in zip(models, *measures, strict=True)
    }


@table(
    "topic_structure/wikipedia_{overlap}",
    "Wikipedia: results",
    "table: {overlap} topics",
    caption="table_wikipedia",
    reads={
        "attention": "measure_attention.measures",
        "embeddings": "measure_embeddings.measures",
        "published": "reference/topic_structure_wikipedia.csv",
    },
    settings={
        "models": "probed_models",
        "originals": "original_models",
        "ambiguity": "topics.ambiguity",
    },
    wildcards={"overlap": "topics.ambiguity.overlaps"},
    priority=3,
)
def wikipedia(
    attention: list[pd.DataFrame],
    embeddings: list[pd.DataFrame],
    published: Path,
    models: list[NamedModel],
    originals: list[NamedModel],
    ambiguity: AmbiguitySettings,
    overlap: Overlap,
) -> Report:
    """The probe of pretrained models on Wikipedia, ours beside the published numbers.

    Args:
        attention, embeddings: rows of `probe.measures`, model by model.
        published: the file of `read_published`.
        models: in the order of rows.
        originals: models that the random ones among them are like.
        ambiguity: thresholds, with the published threshold beside which each stands.
        overlap: which of the two tables.
    """
    measures, known = (
        measures_by_model(models, attention, embeddings),
        by_name([*originals, *models]),
    )
    found = assemble(measures, known, ambiguity, read_published(published), overlap)
    title = f"Topic structure on Wikipedia, {overlap} topics: same-topic / different-topic"
    return Report(found, readable(found), title, reader_notes(found, known))


@table(
    "topic_structure/wikipedia_claims",
    "Wikipedia: results",
    "table: directions",
    title="Topic structure on Wikipedia: the two directions of the paper",
    notes=[
        "A positive difference is the paper's direction, and 0 no effect. The interval resamples "
        "the same documents on both sides of a difference, and covers the seeds of a model made "
        "here as well. Random models are controls, in units of the published difference of the "
        "model that they are like.",
        over_seeds.NOTE,
    ],
    readable=readable_claims,
    reads={
        "attention": "measure_attention.measures",
        "published": "reference/topic_structure_wikipedia.csv",
    },
    settings={
        "models": "probed_models",
        "originals": "original_models",
        "ambiguity": "topics.ambiguity",
    },
    priority=3,
)
def wikipedia_claims(
    attention: list[pd.DataFrame],
    published: Path,
    models: list[NamedModel],
    originals: list[NamedModel],
    ambiguity: AmbiguitySettings,
) -> pd.DataFrame:
    """The paper's two directions on Wikipedia: differences of ratios, ours beside theirs."""
    known = by_name([*originals, *models])
    measures = measures_by_model(models, attention)
    return directions(measures, known, ambiguity, read_published(published))
