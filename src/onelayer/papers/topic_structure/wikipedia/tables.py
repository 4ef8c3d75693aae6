"""The two Wikipedia tables of Li, Li & Risteski (2023), ours beside theirs.

The published tables have one row per model and ambiguity threshold; ours keep that shape. A
published row whose model was not probed stays in the table as `not run`, with the reason.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from onelayer.evidence.tables import ALL, Report, interval_of, number, row_per, table, tidy
from onelayer.evidence.verdicts import (
    DIFFERENCE,
    NOT_RUN,
    UNDECIDED,
    Comparison,
    Direction,
    Number,
    judge,
    rounding,
    worded,
    worded_all,
)
from onelayer.papers.topic_structure.wikipedia import over_seeds
from onelayer.papers.topic_structure.wikipedia.over_seeds import SEED
from onelayer.papers.topic_structure.wikipedia.over_tokens import LEARNED_NOTE, learned, withhold
from onelayer.papers.topic_structure.wikipedia.probe.measures import AT_EQUAL_DISTANCE
from onelayer.settings.models import HubModel, ModelSettings, RandomModel
from onelayer.settings.topic_structure import NamedModel, by_name
from onelayer.settings.topics import AmbiguitySettings, Overlap

KEYS = ["overlap", "model", "threshold", "published_threshold"]
# By which the published table names its rows.
PUBLISHED_KEYS = ["overlap", "model", "threshold"]
QUANTITIES = ["embedding_cosine_ratio", "embedding_dot_ratio", "attention_ratio"]
# In the order in which readers have them.
JUDGED = [*QUANTITIES[-1:], *QUANTITIES[:-1]]
RAW = {
    "embedding_raw_cosine_ratio": "embedding_cosine_ratio",
    "embedding_raw_dot_ratio": "embedding_dot_ratio",
}
RAW_COSINE = next(iter(RAW))
# What would matter of an attention ratio where the paper says nothing: a tenth of BERT's published
# effect at the first threshold, 1.32.
MATTERS = 0.032
MEANINGLESS = "different-topic mean is 0 within its interval: a ratio means nothing here"
ABOUT_0 = "means ≈ 0"  # for readers, in place of such a ratio
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

    The paper's own comes from a hub, from the repository of its published row. A random
    model is a control, whatever was published.
    """
    if isinstance(model, RandomModel):
        return "control"
    repository = model.hub.repository.rpartition("/")[2] if isinstance(model, HubModel) else ""
    return "published" if repository == CHECKPOINTS.get(model.published_as) else "analogue"


def _with_published(
    ours: pd.DataFrame,
    name: str,
    models: Mapping[str, ModelSettings],
    ambiguity: AmbiguitySettings,
    published: pd.DataFrame,
    no_effect: float,
) -> pd.DataFrame:
    """Measures of one model with the published numbers, and what decides their verdicts.

    `effect`, of a control: the published effect of the model that it is like.
    """
    model, thresholds = models[name], ambiguity.thresholds
    labels = {threshold.label: threshold.published for threshold in thresholds}
    ours = over_seeds.explained(ours, model).assign(
        model=name,
        published_threshold=ours["threshold"].map(labels).astype(float),
        kind=kind(model),
        effect=math.nan,
        verdict=over_seeds.undecided(model),
    )
    ends = thresholds[0].published, thresholds[-1].published
    ours[["published", "tolerance"]] = _published(ours, model.published_as, published, ends)
    if isinstance(model, RandomModel):
        like = _published(ours, models[model.like].published_as, published, ends)
        ours["effect"] = like["published"] - no_effect
    return ours


def _published(
    ours: pd.DataFrame, row: str | None, published: pd.DataFrame, ends: tuple[float, float]
) -> pd.DataFrame:
    """`published` and `tolerance` of a published row beside ours over seeds; NaN where none is.

    Beside a contrast stands the difference of two, and the sum of their roundings; `ends` are the
    thresholds that the first contrast is of.
    """
    numbers = published.set_index([*PUBLISHED_KEYS, "quantity"])[["published", "tolerance"]]
    numbers = dict(zip(numbers.index, numbers.to_numpy().tolist(), strict=True))
    theirs = []
    for one in ours.itertuples():
        places = [(one.overlap, one.published_threshold)]
        if one.quantity == BY_THRESHOLD:
            places = [(one.overlap, end) for end in ends]
        elif one.quantity == BY_OVERLAP:
            places = [(mode, one.published_threshold) for mode in ("disjoint", "overlapping")]
        ratio = "attention_ratio" if one.quantity in CONTRASTS else one.quantity
        keys = [(mode, row, at, RAW.get(ratio, ratio)) for mode, at in places]
        if one.seed == ALL and all(key in numbers for key in keys):
            (value, *minus), roundings = zip(*(numbers[key] for key in keys), strict=True)
            theirs.append((value - sum(minus), sum(roundings)))
        else:
            theirs.append((math.nan, math.nan))
    return pd.DataFrame(theirs, ours.index, ["published", "tolerance"])


_PLACE = ("overlap", "model", "threshold", SEED)


def meaningless(table: pd.DataFrame) -> pd.Series:
    """Which rows are embedding ratios whose denominator is 0 within its interval.

    So they are where nothing is added to the word embeddings before the first layer (rotary
    positions).
    """
    denominator = table["quantity"].str.endswith("_different")
    zero = table[denominator & (table["low"] <= 0) & (table["high"] >= 0)]
    ratios = zero.assign(quantity=zero["quantity"].str.replace("_different", "_ratio"))
    places, rows = (pd.MultiIndex.from_frame(of[[*_PLACE, "quantity"]]) for of in (ratios, table))
    return pd.Series(rows.isin(places), table.index, dtype=bool)


def beside_null(
    table: pd.DataFrame, keys: Sequence[str] = _PLACE, divided: bool = True
) -> pd.DataFrame:
    """What every ratio is judged against: its own null, and the interval of their difference.

    With c the ratio over its null, paired by seed, the ends of ratio - null lie null times those of
    c from it on either side; to these distances the null's own, to the ends of the 95% of its
    permutations, are added as squares (MOVER, of a difference: below ours the null's upper end).

    Args:
        table: tidy; `_null` and `_null_corrected` of a ratio are rows of it.
        keys: columns that tell measures of one quantity apart.
        divided: whether c is divided by the null; else the null is subtracted from it.

    Returns:
        `reference`, `difference_low` and `difference_high`, a row for each; NaN without a null.
    """
    places = list(table[[*keys, "quantity"]].itertuples(index=False, name=None))
    numbers = table[["value", "low", "high"]].itertuples(index=False, name=None)
    rows, differences = dict(zip(places, numbers, strict=True)), []
    for *place, quantity in places:
        null = rows.get((*place, f"{quantity}_null"))
        corrected = rows.get((*place, f"{quantity}_null_corrected"))
        if null is None or corrected is None:
            differences.append((math.nan,) * 3)
            continue
        centre, least, most = null
        over, low, high = corrected
        difference, unit = rows[(*place, quantity)][0] - centre, centre if divided else 1.0
        below = math.hypot(unit * (over - low), most - centre)
        above = math.hypot(unit * (high - over), centre - least)
        differences.append((centre, difference - below, difference + above))
    return pd.DataFrame(differences, table.index, ["reference", *DIFFERENCE])


def over_null(table: pd.DataFrame) -> pd.DataFrame:
    """Every ratio over its null with the interval that decides, of both: a row each.

    `table` is as of `beside_null`. Returns `value`, `low`, `high`; NaN without a null.
    """
    keys = [*_PLACE, "quantity"]
    against = beside_null(table)
    off = against[DIFFERENCE].sub(table["value"] - against["reference"], axis=0)
    low, high = off.div(against["reference"], axis=0).to_numpy().T
    over = table[keys].assign(quantity=table["quantity"] + "_null_corrected")
    over = over.merge(table[[*keys, "value"]], "left", keys)["value"]
    over = over.set_axis(table.index)
    return pd.DataFrame({"value": over, "low": over + low, "high": over + high})


def judged(table: pd.DataFrame) -> pd.DataFrame:
    """A table with its verdicts, from its own rows alone.

    Ratios of raw embeddings are not compared: the paper measures none, and the published number
    stands beside them for readers alone. At equal distance, of which the paper says nothing,
    attention has a direction alone.

    Args:
        table: tidy, with `KEYS` and seeds, and the kind of each row; of a control `effect` is the
            published effect that it is a control of.
    """
    against = beside_null(table)
    apart = table["quantity"] == AT_EQUAL_DISTANCE
    table = table.assign(kind=table["kind"].mask(apart & (table["kind"] == "published"), "claim"))
    table = table.assign(reference=against["reference"])
    compared = [_compared(row) for row in table.to_dict("records")]
    return judge(table, compared, against[DIFFERENCE])


def _compared(row: Mapping[str, object]) -> Comparison | None:
    """With what a row is compared; one without a kind was judged before, and only describes."""
    control = row["kind"] == "control" and not math.isnan(row["value"])
    if row["quantity"] == AT_EQUAL_DISTANCE:
        judged = row[SEED] == ALL and row["kind"] and not control
        return Direction(1.0, 1, MATTERS) if judged and row["reference"] > 0 else None
    if row["quantity"] in RAW:
        return None
    return Number(1.0, "control", unit=row["effect"]) if control else Number(1.0)


def _notes(ours: pd.DataFrame, model: ModelSettings, nothing: pd.Series) -> list[str]:
    """What a reader of each row must know: the checkpoint, and what stands beside it."""
    notes = []
    for row, without_meaning in zip(ours.itertuples(), nothing, strict=True):
        ratio = row.quantity in QUANTITIES
        printed = ratio and not math.isnan(row.published)
        parts = (
            f"published: {model.published_as} at {row.published_threshold:.15g}" if printed else "",
            row.note,
            model.note if ratio else "",
            MEANINGLESS if without_meaning else "",
        )
        notes.append("; ".join(filter(None, parts)))
    return notes


@row_per("model", "threshold")
def readable(rows: pd.DataFrame, model: str, threshold: str) -> dict:
    """The table in the paper's shape: a row per model and threshold, ours beside theirs."""
    over = rows[rows[SEED] == ALL]
    by, value = dict(over.iterrows()), over["value"]
    row = {"model": model, "threshold": threshold}
    zero = set(over.index[meaningless(over.reset_index())])
    for quantity, name in zip(JUDGED, ("attention", "cosine", "dot"), strict=True):
        row[f"{name} ratio [95%]"] = ABOUT_0 if quantity in zero else interval_of(by[quantity], 3)
        row[f"{name}, paper"] = number(by[quantity]["published"], 3)
        null, z, p = (value.get(f"{quantity}_{what}", math.nan) for what in ("null", "z", "p"))
        compared = f"{number(null, 3)} / {number(z, 1)} / {number(p, 3)}"
        row[f"{name}, null / z / p"] = "–" if math.isnan(z) or quantity in zero else compared
    row["attention, for topics like these [95%]"] = interval_of(
        by.get("attention_ratio_over_topics"), 3
    )
    apart = over_null(over.reset_index())[over.index == AT_EQUAL_DISTANCE]
    row["attention at equal distance, over its null [95%]"] = interval_of(
        next(iter(apart.to_dict("records")), None), 3
    )
    row["raw cosine ratio"] = ABOUT_0 if RAW_COSINE in zero else number(value.get(RAW_COSINE))
    row["over seeds (attention; cosine)"] = _once(
        "; ", (over_seeds.spread(rows.loc[[quantity]], 3) for quantity in JUDGED[:2])
    )
    row["verdicts (attention, cosine, dot)"] = _once(", ", worded_all(over.loc[JUDGED]))
    return row


def _once(between: str, cells: Iterable[str]) -> str:
    """Cells side by side, or one of them where all say the same."""
    cells = list(cells)
    return cells[0] if len(set(cells)) == 1 else between.join(cells)


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
        "pairs, which sit closer together, under permuted topics as well.",
        "The authors' released probe counts a word with itself as a same-topic pair and indexes "
        "the embedding matrix by list position instead of token id; this one does neither.",
        "Verdicts: the one rule for all tables. 'No effect' is a ratio's own null; the interval of "
        "our effect is that of the ratio over its null, with the 95% of the permutations added as "
        "squares. Kinds: 'published' the paper's own checkpoint, 'analogue' a smaller or other "
        "model, which says nothing of the paper's; random models are controls, in units of the "
        "published effect of the model that they are like: 'negligible' is what is expected of "
        "them.",
        LEARNED_NOTE,
    ]


@row_per("claim", "overlap", "model", "threshold")
def readable_claims(
    rows: pd.DataFrame, claim: str, topics: str, model: str, threshold: str
) -> dict[str, str]:
    """The claims for readers: a row per claim and model."""
    ours = rows[rows[SEED] == ALL].iloc[0]
    return {
        "claim": claim,
        "model": model,
        "topics": topics,
        "threshold": threshold,
        "difference of attention ratios [95%]": interval_of(ours, 4),
        "of permuted topics": number(ours["reference"], 4),
        "over seeds": over_seeds.spread(rows, 4),
        "paper": number(ours["published"], 4),
        "verdict": worded(ours),
    }


def measures_by_model(
    models: Sequence[NamedModel], *measures: Sequence[pd.DataFrame]
) -> dict[str, pd.DataFrame]:
    """Measures of each model, joined from one table per model, in their order, of each kind."""
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
        "snapshots": "measures_over_tokens",
        "published": "reference/topic_structure_wikipedia.csv",
    },
    settings={
        "models": "probed_models",
        "followed": "models_over_tokens",
        "originals": "original_models",
        "ambiguity": "topics.ambiguity",
    },
    wildcards={"overlap": "topics.ambiguity.overlaps"},
    priority=3,
)
def wikipedia(
    attention: list[pd.DataFrame],
    embeddings: list[pd.DataFrame],
    snapshots: list[pd.DataFrame],
    published: Path,
    models: list[NamedModel],
    followed: list[NamedModel],
    originals: list[NamedModel],
    ambiguity: AmbiguitySettings,
    overlap: Overlap,
) -> Report:
    """The probe of pretrained models on Wikipedia, ours beside the published numbers.

    Args:
        attention, embeddings: rows of `probe.measures`, model by model.
        snapshots: rows of `measure_snapshots`, in the order of `followed`.
        originals: models that the random ones among them are like.
        ambiguity: thresholds, with the published threshold beside which each stands.

    Returns:
        Measured rows, model by model, then the published rows that were not run. Rows of seed
        `all`, over seeds where there are several, stand beside the published ones; those of a seed
        alone are there to be read, and have no verdict.
    """
    settings_of, theirs = by_name([*originals, *models]), read_published(published)
    printed_at = {threshold.label: threshold.published for threshold in ambiguity.thresholds}
    parts = []
    for name, rows in measures_by_model(models, attention, embeddings).items():
        ours = rows[(rows["overlap"] == overlap) & rows["threshold"].isin(printed_at)]
        ours = _with_published(ours, name, settings_of, ambiguity, theirs, no_effect=1)
        nothing = meaningless(ours)
        ours.loc[nothing, ["published", "tolerance", "effect"]] = math.nan
        parts.append(ours.assign(note=_notes(ours, settings_of[name], nothing)))
    theirs = theirs[theirs["overlap"] == overlap]
    measured = {(model.name, at) for model in models for at in printed_at.values()}
    here = [pair in measured for pair in zip(theirs["model"], theirs["threshold"], strict=True)]
    missing = theirs[~np.array(here)].rename(columns={"threshold": "published_threshold"})
    missing = missing.assign(
        threshold=missing["published_threshold"].map("{:.15g}".format),
        kind=np.where(missing["model"] == "random", "control", "published"),
        note="needs " + missing["model"].map(CHECKPOINTS) + " from a model hub",
        **{SEED: ALL},
    )
    rows = tidy(pd.concat([*parts, missing], ignore_index=True), [*KEYS, SEED])
    table = withhold(judged, rows, learned(followed, snapshots))
    title = f"Topic structure on Wikipedia, {overlap} topics: same-topic / different-topic"
    return Report(table, readable(table), title, reader_notes(table, settings_of))


@table(
    "topic_structure/wikipedia_claims",
    "Wikipedia: results",
    "table: directions",
    title="Topic structure on Wikipedia: the two directions of the paper",
    notes=[
        "A positive difference is the paper's direction. No effect is the difference that permuted "
        "topics show: one permutation of all words among equally frequent ones gives both sides "
        "their labels. The interval resamples the same documents on both sides, and covers the "
        "seeds of a model made here as well; the verdict's adds the 95% of the permutations as "
        "squares. Random models are controls, in units of the published difference of the model "
        "that they are like.",
        LEARNED_NOTE,
        over_seeds.NOTE,
    ],
    readable=readable_claims,
    reads={
        "attention": "measure_attention.measures",
        "snapshots": "measures_over_tokens",
        "published": "reference/topic_structure_wikipedia.csv",
    },
    settings={
        "models": "probed_models",
        "followed": "models_over_tokens",
        "originals": "original_models",
        "ambiguity": "topics.ambiguity",
    },
    priority=3,
)
def wikipedia_claims(
    attention: list[pd.DataFrame],
    snapshots: list[pd.DataFrame],
    published: Path,
    models: list[NamedModel],
    followed: list[NamedModel],
    originals: list[NamedModel],
    ambiguity: AmbiguitySettings,
) -> pd.DataFrame:
    """The paper's two directions on Wikipedia: differences of ratios, ours beside theirs.

    A difference has the verdict of the one rule, beside that of permuted topics; its interval comes
    from the same resampled documents on both sides. `snapshots` are rows of `measure_snapshots`, in
    the order of `followed`.
    """
    settings_of, theirs = by_name([*originals, *models]), read_published(published)
    parts = []
    for model, rows in zip(models, attention, strict=True):
        ours = rows[rows["quantity"].str.startswith(tuple(CONTRASTS))]
        ours = _with_published(ours, model.name, settings_of, ambiguity, theirs, no_effect=0)
        random = isinstance(model.settings, RandomModel)
        what = "control: no direction expected" if random else model.settings.note
        note = ["; ".join(filter(None, (what, said))) for said in ours["note"]]
        parts.append(ours.assign(claim=ours["quantity"].map(CONTRASTS), note=note))
    table = tidy(pd.concat(parts, ignore_index=True), ["claim", *KEYS, SEED])
    against = beside_null(table, divided=False)
    contrasts = table["quantity"].isin(CONTRASTS)
    table, against = (part[contrasts].reset_index(drop=True) for part in (table, against))
    table["reference"] = against["reference"]
    # A difference without a null decides nothing.
    table["verdict"] = table["verdict"].mask(table["reference"].isna(), UNDECIDED)
    compared = [
        Number(0.0, "control", unit=effect) if of == "control" else Number(0.0)
        for of, effect in zip(table["kind"], table["effect"], strict=True)
    ]
    return withhold(
        lambda rows: judge(rows, compared, against[DIFFERENCE]), table, learned(followed, snapshots)
    )
