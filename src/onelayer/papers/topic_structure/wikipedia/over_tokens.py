"""When does topic structure appear? The ratios against tokens seen.

Of models pretrained here at their snapshots, and of series of checkpoints from elsewhere.
"""

from collections.abc import Callable, Mapping, Sequence

import pandas as pd

from onelayer.evidence.tables import ALL, Report, interval_of, number, row_per, table, tidy
from onelayer.evidence.verdicts import NEGLIGIBLE, NOT_REACHED, UNDECIDED
from onelayer.papers.topic_structure.wikipedia import over_seeds
from onelayer.papers.topic_structure.wikipedia.over_seeds import SEED
from onelayer.papers.topic_structure.wikipedia.probe.labels import tightest_variant
from onelayer.papers.topic_structure.wikipedia.probe.value_circuit import GAP, OF_HEAD
from onelayer.settings.models import ModelSettings, SeriesModel
from onelayer.settings.topic_structure import NamedModel, by_name
from onelayer.text.pretraining import BELOW, INFORMATION
from onelayer.text.pretraining.quantities import OWN_BELOW, TOPICS_BELOW

KEYS = ["model", "tokens_seen", "overlap", "threshold", SEED]
RATIOS = {"attention_ratio": "attention", "embedding_cosine_ratio": "embedding layer, cosine"}
# Standard deviations from its null beyond which a ratio counts as found, if its interval agrees.
FOUND = 3.0
SUFFIXES = ("", "_null", "_null_corrected", "_z", "_p")
QUANTITIES = [
    INFORMATION,
    BELOW,
    TOPICS_BELOW,
    OWN_BELOW,
    *(f"{of}{suffix}" for of in (*RATIOS, GAP) for suffix in SUFFIXES),
]
TITLE = "Topic structure against tokens seen"
NOTES = [
    "Same-topic / different-topic mean over the mean of the same ratio with topics permuted within "
    "frequency strata; z: its distance from that null in standard deviations of the permutations, "
    "which says whether these trainings tell these topics from permuted ones. Whether others would "
    "is what the interval says.",
    "Snapshots at powers of two of tokens seen, and the finished model; fewer articles than in the "
    "main tables. Where the learning rate falls until the end, as by default, a snapshot is not "
    "what a training of that budget would have come to.",
    "Below frequencies: how far the held-out loss at masked words lies below that of words' "
    "frequencies (nats a word); topics below frequencies: the same of the topic model's posterior "
    "given the words shown, which is what topics tell. Topic information: the one as a share of "
    "the other, where topics tell more than frequencies in every training. The topic model has "
    "seen these articles; a model also learns what is no topic, and can pass 1. BART, whose "
    "decoder reads the words before, has no share. ELECTRA's is its generator's.",
    "Values: the gap of `table_value_circuit`, mean of all heads, minus its null's; the verdict on "
    "whether it comes before attention stands there.",
    over_seeds.NOTE,
]
# What an absence of topics means in a model that has not learned to predict words: nothing.
ABSENCES = (NEGLIGIBLE, UNDECIDED)
NOT_LEARNED = "its trainings are not shown to predict hidden words better than frequencies do"
LEARNED_NOTE = (
    "Not reached: a model whose held-out loss lies below that of words' frequencies at no snapshot "
    "(`table_topic_structure_over_tokens`), with its interval over trainings, has not learned what "
    "would show topics. That such a model shows none is not said of it; what it does show is."
)
SERIES_NOTE = (
    "{}: checkpoints from elsewhere, probed on as many articles as in the main tables; their "
    "intervals leave the training out."
)


def tokens_shown(tokens: float, _: int = 0) -> str:
    """Tokens for readers: `64k`, `1.0M`."""
    return f"{tokens / 1e6:.1f}M" if tokens >= 1e6 else f"{tokens / 1e3:.0f}k"


def of_all_heads(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows of models without those of single heads: of value circuits the mean of heads."""
    return rows[~(rows["layer"] > 0)] if "layer" in rows else rows


def most_learned(measures: pd.DataFrame) -> pd.DataFrame:
    """The snapshot at which trainings have surely learned most: a row of `measure_learned`.

    That whose mean has the highest lower end; of one training, which has no interval, the highest.
    Checkpoints from elsewhere have no such row.

    Args:
        measures: rows of `measure_snapshots`, of one model.
    """
    below = measures[(measures["quantity"] == BELOW) & (measures[SEED] == ALL)]
    least = below["low"].fillna(below["value"]).to_numpy()
    return below.iloc[[least.argmax()]] if len(below) else below


def learned(models: Sequence[NamedModel], measures: Sequence[pd.DataFrame]) -> dict[str, bool]:
    """Of each model whether its trainings ever predict words better than frequencies do.

    So they do where the lower end of `most_learned` lies above 0. Where there is none nothing is
    known against a model. `measures` are rows of `measure_snapshots`, model by model.
    """
    best = map(most_learned, measures)
    return {
        model.name: bool((rows["low"].fillna(rows["value"]) > 0).all())
        for model, rows in zip(models, best, strict=True)
    }


def withhold(
    judged: Callable[[pd.DataFrame], pd.DataFrame],
    rows: pd.DataFrame,
    has_learned: Mapping[str, bool],
) -> pd.DataFrame:
    """Rows with their verdicts; `not reached` where one says that a model shows nothing.

    Args:
        judged: gives rows their verdicts.
        rows: tidy, of models.
        has_learned: as `learned` has it; of other models nothing is known against them.
    """
    table = judged(rows)
    idle = ~rows["model"].map(lambda name: has_learned.get(name, True))
    idle &= table["verdict"].isin(ABSENCES)
    if not idle.any():
        return table
    reasons = {"verdict": NOT_REACHED, "note": NOT_LEARNED}
    return judged(rows.assign(**{to: rows[to].mask(idle, why) for to, why in reasons.items()}))


def gather(tokens: Sequence[int], *measures: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Measures of a series of checkpoints as `measure_snapshots` gives those of a pretraining.

    `measures` are rows of `probe.measures` by checkpoint. Those of the first overlap mode and
    threshold are kept, with the `tokens` that the checkpoint has seen.
    """
    parts = [
        tightest_variant(pd.concat(tables)).assign(tokens=seen)
        for seen, *tables in zip(tokens, *measures, strict=True)
    ]
    return pd.concat(parts, ignore_index=True)


def notes(models: Mapping[str, ModelSettings]) -> list[str]:
    """What stands below the table: on all models, and on series of checkpoints."""
    series = {name: m for name, m in models.items() if isinstance(m, SeriesModel)}
    said = [f"{name}: {model.note}" for name, model in series.items() if model.note]
    return [*NOTES, *([SERIES_NOTE.format(", ".join(series)), *said] if series else [])]


@row_per("model", "tokens_seen")
def readable(rows: pd.DataFrame, model: str, tokens: int) -> dict[str, str]:
    """One row per model and snapshot."""
    by = rows[rows[SEED] == ALL]
    row = {"model": model, "tokens seen": f"{tokens:,}"}
    for quantity, name in RATIOS.items():
        corrected = f"{quantity}_null_corrected"
        row[f"{name}: ratio / null [95%]"] = interval_of(by.loc[corrected], 3)
        row[f"{name}: over seeds"] = over_seeds.spread(rows.loc[[corrected]], 3)
        row[f"{name}: z"] = number(by.loc[f"{quantity}_z", "value"], 1)
    there = dict(by.iterrows())  # a series from elsewhere has none of these
    row["values: gap - null [95%]"] = interval_of(there.get(f"{GAP}_null_corrected"), 3)
    for quantity in (BELOW, TOPICS_BELOW, INFORMATION):
        row[f"{quantity.replace('_', ' ')} [95%]"] = interval_of(there.get(quantity), 2)
    return row


@table(
    "topic_structure/topic_structure_over_tokens",
    "Wikipedia: pretraining",
    "table: tokens seen",
    reads={"measures": "measures_over_tokens"},
    settings={"models": "models_over_tokens"},
    made="models_over_tokens",
)
def topic_structure_over_tokens(measures: list[pd.DataFrame], models: list[NamedModel]) -> Report:
    """The ratios of pretrained models against tokens seen."""
    table = ratios_over_tokens(measures, models)
    series = any(isinstance(model.settings, SeriesModel) for model in models)
    title = TITLE if series else f"{TITLE}, models pretrained here"
    return Report(table, readable(table), title, notes(by_name(models)))


def ratios_over_tokens(
    measures: Sequence[pd.DataFrame], models: Sequence[NamedModel]
) -> pd.DataFrame:
    """The ratios of every model at every snapshot, over seeds and of each, tidy.

    `measures` are rows of `measure_snapshots`, model by model.
    """
    parts = [
        over_seeds.explained(rows, model.settings).assign(model=model.name)
        for model, rows in zip(models, measures, strict=True)
    ]
    table = pd.concat(parts, ignore_index=True).rename(columns={"tokens": "tokens_seen"})
    table = of_all_heads(table[table["quantity"].isin(QUANTITIES)])
    return tidy(table.drop(columns=OF_HEAD, errors="ignore"), KEYS)
