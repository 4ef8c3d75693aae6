"""The table of calibration: coverage of intervals, and verdicts where the truth is known."""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import pandas as pd

from onelayer.calibration.simulation import OVER_SEEDS, PLAIN
from onelayer.evidence import intervals
from onelayer.evidence.tables import VALUE_COLUMNS, interval, number, table, tidy
from onelayer.evidence.verdicts import (
    NEGLIGIBLE,
    REPRODUCED,
    TENTH,
    UNDECIDED,
    Comparison,
    Number,
    UpperBound,
    judge,
    worded_all,
)
from onelayer.papers.topic_structure.wikipedia import tables as wikipedia
from onelayer.papers.topic_structure.wikipedia.probe.labels import Variant
from onelayer.settings.models import ModelSettings
from onelayer.settings.topic_structure import NamedModel, by_name
from onelayer.settings.topics import AmbiguitySettings

KEYS = ["what", "case", "text", "shape", "seeds", "documents", "spread", "half_width", "truth"]
# What a row does not have.
BLANK = dict.fromkeys(KEYS[:4], "") | dict.fromkeys(KEYS[4:], math.nan)
PERMUTED, TEXTS = "permuted topics", "shuffled words"
COVERAGE, EFFECTS = "coverage", "simulated effects"
# What the rule may say of a number that was measured, in the order of tables and figures.
SAID = (REPRODUCED, "smaller", "larger", NEGLIGIBLE, "opposite", UNDECIDED)
FALSE, RATIO, COVERED = "share_false", "attention_ratio", "coverage"
ARTICLES_ALONE = "share_of_intervals_without_1"
QUANTITIES = {FALSE: "false verdicts", COVERED: "coverage", RATIO: "ratio"}
LEVEL, BAND, MOST_FALSE = 0.95, 0.02, 0.05
# Coverage counts as known to twice the band, where it is measured at all.
_NOMINAL = Number(None, kind="theory", unit=BAND / TENTH)


def is_false(verdict: str, effect: float) -> bool:
    """Whether a verdict is not so, of a true effect in published ones; 'undecided' never is."""
    return {
        REPRODUCED: effect != 1,
        "smaller": not 0 < effect < 1,
        "larger": effect <= 1,
        NEGLIGIBLE: abs(effect) > TENTH,
        "opposite": effect >= 0,
    }.get(verdict, False)


def assemble(
    probed: Mapping[str, pd.DataFrame],
    models: Mapping[str, ModelSettings],
    published: Mapping[str, tuple[float, float]],
    coverage: pd.DataFrame,
    effects: pd.DataFrame,
) -> pd.DataFrame:
    """The whole table, tidy and judged.

    Args:
        probed: rows of `probe.calibration.calibrate` by model.
        models: their settings.
        published: the published ratio beside each, and its rounding; NaN where there is none.
        coverage, effects: as `simulation` makes them.
    """
    parts = []
    for name, rows in probed.items():
        parts += _probed(name, rows, wikipedia.kind(models[name]), *published[name])
    parts += [_coverage(coverage), _effects(effects)]
    return pd.concat(parts, ignore_index=True)


def published_beside(
    rows: Mapping[str, pd.DataFrame],
    models: Mapping[str, ModelSettings],
    beside: Mapping[str, float | None],
    published: pd.DataFrame,
) -> dict[str, tuple[float, float]]:
    """The published attention ratio beside each model, and its rounding.

    Args:
        rows, models: as for `assemble`.
        beside: published thresholds by ours.
        published: `wikipedia.read_published`.
    """
    keys = [*wikipedia.PUBLISHED_KEYS, "quantity"]
    numbers = published.set_index(keys)[["published", "tolerance"]].to_dict("index")
    found = {}
    for name, own in rows.items():
        variant = Variant(own["overlap"].iloc[0], own["threshold"].iloc[0])
        key = variant.overlap, models[name].published_as, beside[variant.threshold], RATIO
        number_of = numbers.get(key, {"published": math.nan, "tolerance": math.nan})
        found[name] = number_of["published"], number_of["tolerance"]
    return found


def _probed(
    name: str, rows: pd.DataFrame, kind: str, published: float, tolerance: float
) -> Iterator[pd.DataFrame]:
    """Rows of one model: of each text, and of permuted topics.

    Of articles as they are the Wikipedia tables have the verdict, of more of them; shuffled ones
    are no text of the paper's.
    """
    groups = rows.groupby(["permuted", "shuffled", "text"], sort=False)
    for (permuted, shuffled, text), own in groups:
        judged = _judged(own, kind, published, tolerance)
        keys = {"case": name, "text": text, "documents": int(own["n"].iloc[0])}
        if not permuted:
            shown = judged[judged["quantity"].isin([RATIO, f"{RATIO}_null"])]
            compared = shown["verdict"].ne("") & shuffled
            shown = shown.assign(
                kind=compared.map(
                    {True: "control" if kind == "control" else "analogue", False: ""}
                ),
                verdict=shown["verdict"].where(compared, ""),
                runs=shown["runs"] if shuffled else math.nan,
            )[VALUE_COLUMNS]
            yield _tidy(keys | {"what": TEXTS} | row for row in shown.to_dict("records"))
        elif not math.isnan(published):
            yield _of_permuted(judged, keys | {"what": PERMUTED, "truth": 0.0})


def _tidy(rows: Iterable[Mapping[str, object]]) -> pd.DataFrame:
    return tidy([BLANK | row for row in rows], KEYS)


def _judged(rows: pd.DataFrame, kind: str, published: float, tolerance: float) -> pd.DataFrame:
    """Rows of one text with one kind of topics, judged as those of the Wikipedia tables are."""
    ratio = rows["quantity"] == RATIO
    table = rows.drop(columns=["text", "shuffled", "permuted"]).assign(
        model="",
        published_threshold=math.nan,
        kind=kind,
        published=ratio.map({True: published, False: math.nan}),
        tolerance=ratio.map({True: tolerance, False: math.nan}),
    )
    return wikipedia.judged(tidy(table, [*wikipedia.KEYS, wikipedia.SEED]))


def _of_permuted(judged: pd.DataFrame, keys: Mapping[str, object]) -> pd.DataFrame:
    """Shares of the verdicts over all draws, and of intervals over articles that leave 1 out."""
    ratios = judged[judged["quantity"] == RATIO]
    outside = int(((ratios["low"] > 1) | (ratios["high"] < 1)).sum())
    rows = _of_verdicts(Counter(ratios["verdict"]), keys)
    alone = keys | {"quantity": ARTICLES_ALONE} | _share(outside, len(ratios))
    return pd.concat([rows, _tidy([alone])], ignore_index=True)


def _of_verdicts(counts: Mapping[str, int], keys: Mapping[str, object]) -> pd.DataFrame:
    """The share of each verdict, and of false ones; these are judged where the truth is 0 or 1."""
    n, truth = sum(counts.values()), keys["truth"]
    false = sum(count for verdict, count in counts.items() if is_false(verdict, truth))
    rows = [
        keys | {"quantity": f"share_{verdict}"} | _share(counts.get(verdict, 0), n)
        for verdict in SAID
    ]
    asked = {"published": MOST_FALSE} if truth in (0, 1) else {}
    rows.append(keys | {"quantity": FALSE} | _share(false, n) | asked)
    return judge(_tidy(rows), {FALSE: UpperBound()})


def _share(count: int, n: int) -> dict[str, float]:
    return intervals.share(count, n) | {"runs": n}


def _coverage(found: pd.DataFrame) -> pd.DataFrame:
    """Rows of every kind of interval."""
    rows = []
    compared: list[Comparison | None] = []
    for row in found.to_dict("records"):
        keys = {name: row[name] for name in ("case", "shape", "seeds", "documents", "spread")}
        held, trials = row["covered"], int(row["trials"])
        # An exact share has no interval.
        known = _share(int(held), trials) if trials > 1 else {"value": held}
        keys |= {"what": COVERAGE, "truth": row["share"], "quantity": COVERED}
        rows.append(keys | known | {"published": LEVEL, "tolerance": BAND})
        compared.append(None if row["case"] == PLAIN else _NOMINAL)
    return judge(_tidy(rows), compared)


def _effects(found: pd.DataFrame) -> pd.DataFrame:
    """Shares of the verdicts under every true effect."""
    names = ["shape", "seeds", "documents", "half_width", "true_effect"]
    parts = []
    for values, own in found.groupby(names, sort=False):
        keys = dict(zip(names, values, strict=True))
        keys |= {"what": EFFECTS, "case": OVER_SEEDS, "truth": keys.pop("true_effect")}
        parts.append(_of_verdicts(dict(zip(own["verdict"], own["count"], strict=True)), keys))
    return pd.concat(parts, ignore_index=True)


def readable(table: pd.DataFrame) -> pd.DataFrame:
    """The table for readers: a row for each case, with how often each verdict came out."""
    rows = []
    for _, own in table.groupby(KEYS, sort=False, dropna=False):
        by = own.set_index("quantity")
        first = own.iloc[0]
        main = by.loc[FALSE if FALSE in by.index else COVERED if COVERED in by.index else RATIO]
        rows.append(
            {
                "what": first["what"],
                "of": first["case"],
                "data": first["text"] or first["shape"] or "–",
                "seeds": number(first["seeds"], 0),
                "documents": number(first["documents"], 0),
                "spread": number(first["spread"], 0),
                "half width": number(first["half_width"]),
                "truth": number(first["truth"]),
                "measured": QUANTITIES[main.name],
                "value [95%]": interval(main["value"], main["low"], main["high"], 3),
                "beside": number(main["published"]),
                "how often each verdict": _frequencies(by["value"]),
                "verdict": worded_all(main.to_frame().T)[0],
            }
        )
    return pd.DataFrame(rows)


def _frequencies(values: pd.Series) -> str:
    found = {verdict: values.get(f"share_{verdict}", 0.0) for verdict in SAID}
    said = [f"{verdict} {100 * share:.1f}%" for verdict, share in found.items() if share]
    if ARTICLES_ALONE in values:
        said.append(f"(intervals without 1: {100 * values[ARTICLES_ALONE]:.1f}%)")
    return ", ".join(said) or "–"


@table(
    "all_papers/calibration",
    "Calibration",
    "table: calibration",
    title="Calibration: intervals and verdicts where the truth is known",
    notes=[
        "Permuted topics: the topics of words of like frequency exchanged at random, and the "
        "ratio of attention judged by the same functions as in the Wikipedia tables, beside a "
        "null of its own; there is no effect, and every verdict but 'negligible' and 'undecided' "
        "is false. 'Intervals without 1': what the interval over articles alone would say, "
        "without the null.",
        "Shuffled words: a model reads words themselves, so that articles of random words are no "
        "null; these rows say what a ratio rests on, and nothing of the paper. Of articles as "
        "they are the Wikipedia tables have the verdict.",
        "Coverage: how often a 95% interval holds the truth of simulated data; 93 to 97% is asked "
        "for. Intervals of a share (Clopper and Pearson) hold it in at least 95% by their "
        "construction, in all cases where runs are few. Plain percentiles of a bootstrap are not "
        "used; they show what the expanded ones mend. Spread: of the seeds, in standard errors of "
        "the mean over documents.",
        "Simulated effects: in published ones, with intervals over seeds and documents whose "
        "ideal half width is given. False: reproduced where the effect is not the published one; "
        "smaller, larger, negligible or opposite where that is not so. At most 5% are asked for "
        "of effects 0 and 1; all others only describe.",
    ],
    readable=readable,
    reads={
        "measures": "calibrated_measures",
        "published": "reference/topic_structure_wikipedia.csv",
        "coverage": "calibrate_intervals.coverage",
        "effects": "calibrate_intervals.effects",
    },
    settings={"models": "named_calibrated_models", "ambiguity": "topics.ambiguity"},
)
def calibration(
    measures: list[pd.DataFrame],
    published: Path,
    coverage: pd.DataFrame,
    effects: pd.DataFrame,
    models: list[NamedModel],
    ambiguity: AmbiguitySettings,
) -> pd.DataFrame:
    """Whether intervals and verdicts are right, where the truth is known."""
    known = by_name(models)
    probed = dict(zip(known, measures, strict=True))
    beside = {threshold.label: threshold.published for threshold in ambiguity.thresholds}
    numbers = published_beside(probed, known, beside, wikipedia.read_published(published))
    return assemble(probed, known, numbers, coverage, effects)
