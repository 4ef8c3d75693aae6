"""Do the values know the topics, and do they before attention does? Table and figure.

The theorem's two stages, asked of trained transformers on text: no claim of Li, Li & Risteski
(2023), who measure attention and embeddings there.
"""

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pandas as pd
from scipy.optimize import isotonic_regression

from onelayer.evidence import intervals
from onelayer.evidence.tables import ALL, Report, interval_of, number, row_per, table, tidy
from onelayer.evidence.verdicts import (
    DIFFERENCE,
    NOT_REACHED,
    TENTH,
    Direction,
    Number,
    judge,
    worded,
)
from onelayer.papers.topic_structure.wikipedia import over_seeds
from onelayer.papers.topic_structure.wikipedia.over_seeds import SEED
from onelayer.papers.topic_structure.wikipedia.over_tokens import (
    FOUND,
    LEARNED_NOTE,
    learned,
    of_all_heads,
    tokens_shown,
    withhold,
)
from onelayer.papers.topic_structure.wikipedia.probe.labels import tightest_variant
from onelayer.papers.topic_structure.wikipedia.probe.value_circuit import FIRST, GAP, READINGS
from onelayer.papers.topic_structure.wikipedia.tables import beside_null, measures_by_model
from onelayer.settings.models import ModelSettings, RandomModel
from onelayer.settings.topic_structure import NamedModel, by_name

KEYS = ["model", "reading", "overlap", "threshold", SEED]
ATTENTION = "attention_ratio"
EARLIER = "doublings_before_attention"
# What Cohen (1988) calls a small effect, of which a tenth matters; and of snapshots what lies
# between two of them, a doubling: by less an order follows from the line drawn between them.
SMALL_GAP = 0.2
KNOWS = Direction(0.0, 1, matters=SMALL_GAP * TENTH, kind="analogue")
FIRST_COMES = Direction(0.0, 1, matters=1.0, kind="analogue")
NOTES = [
    "Gap: mean of C = E W_V W_O E^T over ordered pairs of distinct words of one topic minus that "
    "over words of different topics, in standard deviations of C over all pairs (about Cohen's d), "
    "averaged over all heads of all layers. Blocks as the theorem has them, T topics and nothing "
    "else, would have a gap of about sqrt(T) in every head that had the rank for them. Tightest "
    "threshold, first overlap mode.",
    "Null: topics permuted within frequency strata, in the same way for all heads; the verdict is "
    "of the gap minus the null's mean, its interval over words and seeds, with the 95% of the "
    "permutations added as squares. Heads above, below: those beyond the 95% of their own null, of "
    "which chance alone puts 2.5% on either side.",
    "Readings: E is the embedding layer's output (position 0, LayerNorm) or the raw matrix, of "
    "factorised families projected to the hidden width; its mean over words is removed where "
    "nothing else is said, or besides what goes with the logarithm of a word's frequency; to the "
    "word embeddings: on the output side the tied raw matrix; to the head's transform: that "
    "through the linear layer and LayerNorm's gain behind which words are predicted, where a "
    "checkpoint has them; through the layer norm's gain: that behind each layer's attention, where "
    "a norm stands there. Biases and the feed-forward part are in none.",
    "Found from: the first snapshot from which on the mean over trainings lies more than "
    f"{FOUND:g} standard deviations from its null, on the side on which it ends and which is named "
    "(above, below), and its interval excludes the null. Half: tokens at which an isotonic fit "
    "over snapshots (noise can make no early crossing) comes to half of where it ends, above the "
    "null or below it, of trainings whose finished model is found. Doublings: log2 of attention's "
    "tokens minus that of the values', over the trainings that came to both: what is not found may "
    "have come and be too small to see. A crossing before the first snapshot counts as at it. Its "
    "interval is over these trainings alone, on the same articles, words and snapshots; one that "
    "lies wholly within a doubling, which is between two snapshots, is 'negligible': the order is "
    "then that of the line between them.",
    over_seeds.NOTE,
]
SNAPSHOTS = (
    "Snapshots of models pretrained here are probed on at most {} articles, fewer than finished "
    "models: what is found there from some tokens on may have come earlier and be too small to see."
)
HEAD_KEYS = ["model", "reading", "layer", "head", "overlap", "threshold", SEED]
SIDES = {1.0: "above", -1.0: "below"}


@row_per("model", "reading")
def readable(rows: pd.DataFrame, model: str, reading: str) -> dict[str, str]:
    """One row per model and reading; what is not of the circuit stands with the first."""
    by = dict(rows[rows[SEED] == ALL].iterrows())

    def value(quantity: str, digits: int = 2) -> str:
        return number(by[quantity]["value"], digits) if quantity in by else "–"

    def tokens(what: str, sides: bool = False) -> str:
        seen = []
        for quantity in (GAP, ATTENTION):
            one, side = (
                by.get(f"{quantity}_{of}", {"value": math.nan})["value"] for of in (what, "side")
            )
            named = f" {SIDES[side]}" if sides and side in SIDES else ""
            seen.append("–" if math.isnan(one) else tokens_shown(one) + named)
        return "; ".join(seen)

    heads = [f"{value(f'heads_{side}')} {side}" for side in ("above", "below")]
    return {
        "model": model,
        "reading": reading,
        "gap [95%]": interval_of(by.get(GAP), 3),
        "null": value(f"{GAP}_null", 3),
        "z": value(f"{GAP}_z", 1),
        "over seeds": over_seeds.spread(rows.loc[rows.index.intersection([GAP])], 3),
        "verdict": worded(by[GAP]) if GAP in by else "–",
        "share of heads": ", ".join(heads) if "heads_above" in by else "–",
        "attention: ratio / null [95%]": interval_of(by.get(f"{ATTENTION}_null_corrected"), 3),
        "found from, tokens: values; attention": tokens("first", sides=True),
        "half of it": tokens("half"),
        "doublings before attention [95%]": interval_of(by.get(EARLIER), 2),
        "verdict on first": worded(by[EARLIER]) if EARLIER in by else "–",
    }


@table(
    "topic_structure/value_circuit",
    "Wikipedia: results",
    "table: values",
    reads={
        "circuits": "circuits_of_models",
        "attention": "attention_of_models",
        "snapshots": "values_over_tokens",
    },
    settings={
        "models": "valued_models",
        "followed": "valued_over_tokens",
        "documents": "topic_structure.wikipedia.over_tokens.documents",
    },
)
def value_circuit(
    circuits: list[pd.DataFrame],
    attention: list[pd.DataFrame],
    snapshots: list[pd.DataFrame],
    models: list[NamedModel],
    followed: list[NamedModel],
    documents: int,
) -> Report:
    """Gaps of value circuits beside their nulls, and whether they come before attention's.

    Args:
        circuits, attention: rows of `measure_circuits` and `probe.measures`, model by model.
        snapshots: rows of `measure_snapshots`, in the order of `followed`.
        documents: articles on which snapshots are probed, at most.
    """
    settings_of, parts = by_name(models), []
    for name, rows in measures_by_model(models, circuits).items():
        rows = pd.concat([_of_heads(rows), rows[rows["layer"] == 0]])
        parts.append(over_seeds.explained(rows, settings_of[name]).assign(model=name))
    for name, rows in measures_by_model(models, attention).items():
        ratios = tightest_variant(rows)
        ratios = ratios[ratios["quantity"].isin([ATTENTION, f"{ATTENTION}_null_corrected"])]
        ratios = over_seeds.explained(ratios, settings_of[name])
        parts.append(ratios.assign(model=name, reading=FIRST))
    for model, rows in zip(followed, snapshots, strict=True):
        if model.name in settings_of and (rows["quantity"] == GAP).any():
            rows = pd.DataFrame(times(rows)).assign(model=model.name, reading=FIRST)
            # Of those trainings that came to it.
            parts.append(rows.assign(runs=rows["n"].where(rows["low"].notna())))
    rows = pd.concat(parts, ignore_index=True).drop(columns=["layer", "head"])
    order = {name: place for place, name in enumerate([*settings_of, *READINGS])}
    rows = rows.sort_values(
        ["model", "reading"], key=lambda column: column.map(order), kind="stable"
    )
    came = learned(followed, snapshots)
    made = withhold(lambda rows: _judged(rows, settings_of), tidy(rows, KEYS), came)
    title = "Value circuits: do heads write the topic of what they attend to?"
    return Report(made, readable(made), title, [*NOTES, LEARNED_NOTE, SNAPSHOTS.format(documents)])


@row_per("model", SEED, "layer")
def readable_heads(rows: pd.DataFrame, model: str, seed: str, layer: int) -> dict[str, str]:
    """One row per layer of a checkpoint, its heads side by side."""

    def heads(quantity: str, digits: int) -> str:
        return "; ".join(number(value, digits) for value in rows.loc[[quantity], "value"])

    null = rows.loc[[f"{GAP}_null"]]
    return {
        "model": model,
        "seed": seed,
        "layer": str(layer),
        "gap, head by head": heads(GAP, 2),
        "null, head by head": heads(f"{GAP}_null", 2),
        "95% of nulls, at most": f"{number(null['low'].min())} to {number(null['high'].max())}",
        "z, head by head": heads(f"{GAP}_z", 1),
    }


@table(
    "topic_structure/value_heads",
    "Wikipedia: results",
    "table: values, head by head",
    title="Value circuits, head by head",
    notes=[
        "Finished models, a row for each layer of each training; heads in their order, which means "
        f"nothing across trainings. Gap, null and z as in `table_value_circuit`, {FIRST}, "
        "tightest threshold, first overlap mode: the head's own gap in its own standard "
        "deviations, the mean of its gaps with topics permuted within frequency strata with the "
        "95% of them, and the distance between the two in standard deviations of the permutations. "
        "Chance alone puts one head in twenty beyond those 95%.",
    ],
    readable=readable_heads,
    reads={"circuits": "circuits_of_models"},
    settings={"models": "valued_models"},
)
def value_heads(circuits: list[pd.DataFrame], models: list[NamedModel]) -> pd.DataFrame:
    """The gap of every head of the finished models beside its own null; nothing is judged."""
    parts = [
        rows[rows["layer"] > 0].assign(model=name)
        for name, rows in measures_by_model(models, circuits).items()
    ]
    rows = tidy(pd.concat(parts, ignore_index=True), HEAD_KEYS)
    # Of the gap's own row the ends of its null, which stand with the null.
    rows.loc[rows["quantity"] == GAP, ["low", "high"]] = math.nan
    return rows


def _judged(rows: pd.DataFrame, models: Mapping[str, ModelSettings]) -> pd.DataFrame:
    """The table with its verdicts: gaps over seeds against their nulls, and which comes first.

    Random weights are controls in units of a small gap.
    """
    against = beside_null(rows, KEYS, divided=False)
    compared = []
    for name, *place, quantity in rows[[*KEYS, "quantity"]].itertuples(index=False, name=None):
        comparison = {GAP: KNOWS, EARLIER: FIRST_COMES}.get(quantity) if place[-1] == ALL else None
        if comparison is KNOWS and isinstance(models[name], RandomModel):
            comparison = Number(0.0, "control", unit=SMALL_GAP)
        compared.append(comparison)
    never = rows["quantity"].eq(EARLIER) & rows["value"].isna() | rows["verdict"].eq(NOT_REACHED)
    alone = [over_seeds.undecided(models[name]) for name in rows["model"]]
    rows = rows.assign(reference=against["reference"], verdict=np.where(never, NOT_REACHED, alone))
    return judge(rows, compared, against[DIFFERENCE])


def _of_heads(rows: pd.DataFrame) -> pd.DataFrame:
    """Shares of heads beyond the 95% of their own null, of each checkpoint and of all."""
    gaps = rows[(rows["quantity"] == GAP) & (rows["layer"] > 0)]
    seeds = list(gaps.groupby(SEED, sort=False))
    parts = [(ALL, gaps), *(seeds if len(seeds) > 1 else [])]
    shares = [
        {"quantity": f"heads_{side}", SEED: seed, "value": beyond.mean(), "n": len(of)}
        for seed, of in parts
        if len(of)
        for side, beyond in (
            ("above", of["value"] > of["high"]),
            ("below", of["value"] < of["low"]),
        )
    ]
    place = gaps.iloc[:1][["reading", "overlap", "threshold"]].to_dict("records")
    return pd.DataFrame([row | place[0] for row in shares])


def half_time(tokens: np.ndarray, distances: np.ndarray) -> float:
    """Tokens at which what grows comes to half of where it ends, by an isotonic fit: no tuning.

    Least squares under the one assumption that it does not fall: a snapshot that noise lifts above
    those after it is averaged with them. Between two snapshots the fit is a line in log2 tokens.

    Args:
        tokens: seen at each snapshot, rising, [n].
        distances: from the null, [n].
    """
    fit = isotonic_regression(distances).x
    half = fit[-1] / 2
    place = int(np.argmax(fit >= half))
    if place == 0:
        return float(tokens[0])
    share = (half - fit[place - 1]) / (fit[place] - fit[place - 1])
    return float(tokens[place - 1] * (tokens[place] / tokens[place - 1]) ** share)


def times(rows: pd.DataFrame) -> Iterator[dict]:
    """When each training came to half of its values' gap and of its attention ratio.

    Args:
        rows: of `measure_snapshots`, of one model.

    Returns:
        Of each training `<quantity>_half`, NaN where it did not come to it, and `EARLIER`. Over
        them the geometric mean of those that did, n their number; `<quantity>_first`, the first
        snapshot from which on the mean is `FOUND` on the side on which it ends and its interval
        excludes the null, and `<quantity>_side`, that side: 1 above, -1 below, NaN where it is not
        found; and the mean of `EARLIER` with Student's interval.
    """
    rows = over_tokens(rows)
    trainings = [seed for seed in rows[SEED].unique() if seed != ALL] or [ALL]
    halves: dict[str, dict[str, float]] = {}
    place = rows.iloc[0][["overlap", "threshold"]].to_dict()
    for quantity in (GAP, ATTENTION):
        halves[quantity] = {seed: _half(rows, quantity, seed) for seed in trainings}
        came = [tokens for tokens in halves[quantity].values() if not math.isnan(tokens)]
        mean = math.exp(np.mean(np.log(came))) if came else math.nan
        yield place | {SEED: ALL, "quantity": f"{quantity}_half", "value": mean, "n": len(came)}
        first, side = _first_found(rows, quantity)
        yield place | {SEED: ALL, "quantity": f"{quantity}_first", "value": first}
        yield place | {SEED: ALL, "quantity": f"{quantity}_side", "value": side}
    # A training whose attention is not found says nothing: it may come, and be too small to see.
    apart = {
        seed: math.log2(halves[ATTENTION][seed] / halves[GAP][seed])
        for seed in trainings
        if not any(math.isnan(by_seed[seed]) for by_seed in halves.values())
    }
    values, attention = (
        [seed for seed, tokens in of.items() if not math.isnan(tokens)] for of in halves.values()
    )
    came = (
        f"topics are found in the values of {len(values)} of {len(trainings)} trainings"
        f"{_below(rows, GAP, values)}, in the attention of {len(attention)}"
        f"{_below(rows, ATTENTION, attention)}"
    )
    earlier = {SEED: ALL, "quantity": EARLIER, "note": came}
    yield place | earlier | intervals.mean(list(apart.values()))
    if len(trainings) > 1:
        of_each = {f"{quantity}_half": halves[quantity] for quantity in halves} | {EARLIER: apart}
        for quantity, by_seed in of_each.items():
            for seed, value in by_seed.items():
                yield place | {SEED: seed, "quantity": quantity, "value": value}


def over_tokens(rows: pd.DataFrame) -> pd.DataFrame:
    """What is followed over snapshots: the ratio of attention, and of circuits the mean of heads.

    `value`, `low` and `high` are over the null, which is 1 for a ratio over its own; a row each
    for every snapshot and seed, with `z`.
    """
    rows, parts = of_all_heads(rows), []
    for quantity, nothing in ((GAP, 0.0), (ATTENTION, 1.0)):
        keys = ["tokens", SEED, "overlap", "threshold"]
        over = rows[rows["quantity"] == f"{quantity}_null_corrected"].set_index(keys)
        z = rows[rows["quantity"] == f"{quantity}_z"].set_index(keys)["value"]
        ends = over[["value", "low", "high"]] - nothing
        parts.append(ends.assign(z=z, quantity=quantity).reset_index())
    return pd.concat(parts, ignore_index=True).sort_values("tokens", kind="stable")


def _half(rows: pd.DataFrame, quantity: str, seed: str) -> float:
    """`half_time` of one training, on its side; NaN where its finished model is not `FOUND`."""
    looks = rows[(rows["quantity"] == quantity) & (rows[SEED] == seed)]
    z = looks["z"].iloc[-1]
    if not abs(z) > FOUND:
        return math.nan
    return half_time(looks["tokens"].to_numpy(float), np.sign(z) * looks["value"].to_numpy())


def _first_found(rows: pd.DataFrame, quantity: str) -> tuple[float, float]:
    """The first snapshot from which on the mean over trainings is beyond its null, and the side.

    1 above, -1 below; both NaN where there is none.
    """
    looks = rows[(rows["quantity"] == quantity) & (rows[SEED] == ALL)]
    side = np.sign(looks["z"].iloc[-1])
    excludes = looks["low"] > 0 if side > 0 else looks["high"] < 0
    since = ((side * looks["z"] > FOUND) & excludes)[::-1].cummin()[::-1]
    return float(looks["tokens"][since].min()), float(side) if since.any() else math.nan


def _below(rows: pd.DataFrame, quantity: str, seeds: Sequence[str]) -> str:
    """How many of the trainings that are found end below their null, where any does."""
    ends = rows[rows["quantity"] == quantity].groupby(SEED)["z"].last()
    below = int((ends[seeds] < 0).sum())
    return f" ({below} below the null)" if below else ""
