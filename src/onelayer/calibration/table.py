"""The table of calibration: coverage of intervals, and verdicts where the truth is known."""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from onelayer.calibration.simulation import OVER_SEEDS, PLAIN
from onelayer.evidence import intervals
from onelayer.evidence.tables import VALUE_COLUMNS, interval_of, number, row_per, table, tidy
from onelayer.evidence.verdicts import (
    NEGLIGIBLE,
    REPRODUCED,
    TENTH,
    UNDECIDED,
    Number,
    UpperBound,
    judge,
    worded,
)
from onelayer.papers.topic_structure.wikipedia import tables as wikipedia
from onelayer.settings.topic_structure import NamedModel
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
# The first that a case has stands in the table for readers.
QUANTITIES = {FALSE: "false verdicts", COVERED: "coverage", RATIO: "ratio"}
LEVEL, BAND, MOST_FALSE = 0.95, 0.02, 0.05


def is_false(verdict: str, effect: float) -> bool:
    """Whether a verdict is false, of a true effect in published ones; 'undecided' never is."""
    return {
        REPRODUCED: effect != 1,
        "smaller": not 0 < effect < 1,
        "larger": effect <= 1,
        NEGLIGIBLE: abs(effect) > TENTH,
        "opposite": effect >= 0,
    }.get(verdict, False)


def _probed(
    name: str, rows: pd.DataFrame, kind: str, published: float, tolerance: float
) -> Iterator[pd.DataFrame]:
    """Rows of one model: of each text, and of permuted topics; shuffled words are analogues."""
    groups = rows.groupby(["permuted", "shuffled", "text"], sort=False)
    for (permuted, shuffled, text), part in groups:
        judged = _judged(part, kind, published, tolerance)
        keys = {"case": name, "text": text, "documents": int(part["n"].iloc[0])}
        if not permuted:
            shown = judged[judged["quantity"].isin([RATIO, f"{RATIO}_null"])][VALUE_COLUMNS]
            compared = shown["verdict"].ne("") & shuffled
            said = "control" if kind == "control" else "analogue"
            shown = shown.assign(
                kind=compared.map({True: said, False: ""}),
                verdict=shown["verdict"].where(compared, ""),
                runs=shown["runs"] if shuffled else math.nan,
            )
            yield _tidy(keys | {"what": TEXTS} | row for row in shown.to_dict("records"))
        elif not math.isnan(published):
            keys |= {"what": PERMUTED, "truth": 0.0}
            ratios = judged[judged["quantity"] == RATIO]
            yield _of_verdicts(Counter(ratios["verdict"]), keys)
            # What the intervals over articles alone would say.
            outside = int(((ratios["low"] > 1) | (ratios["high"] < 1)).sum())
            yield _tidy([keys | {"quantity": ARTICLES_ALONE} | _share(outside, len(ratios))])


def _tidy(rows: Iterable[Mapping[str, object]]) -> pd.DataFrame:
    return tidy([BLANK | row for row in rows], KEYS)


def _judged(rows: pd.DataFrame, kind: str, published: float, tolerance: float) -> pd.DataFrame:
    """Rows of one text with one kind of topics, judged as those of the Wikipedia tables are."""
    ratio = rows["quantity"] == RATIO
    table = rows.drop(columns=["text", "shuffled", "permuted"]).assign(
        model="",
        published_threshold=math.nan,
        kind=kind,
        published=np.where(ratio, published, math.nan),
        tolerance=np.where(ratio, tolerance, math.nan),
    )
    return wikipedia.judged(tidy(table, [*wikipedia.KEYS, wikipedia.SEED]))


def _of_verdicts(counts: Mapping[str, int], keys: Mapping[str, object]) -> pd.DataFrame:
    """The share of each verdict, and of false ones; these are judged where the truth is 0 or 1."""
    n, truth = sum(counts.values()), keys["truth"]
    false = sum(count for verdict, count in counts.items() if is_false(verdict, truth))
    shares = {f"share_{verdict}": counts.get(verdict, 0) for verdict in SAID} | {FALSE: false}
    rows = [keys | {"quantity": name} | _share(count, n) for name, count in shares.items()]
    if truth in (0, 1):
        rows[-1]["published"] = MOST_FALSE
    return judge(_tidy(rows), {FALSE: UpperBound()})


def _share(count: int, n: int) -> dict[str, float]:
    return intervals.share(count, n) | {"runs": n}


def _coverage(coverage: pd.DataFrame) -> pd.DataFrame:
    """Rows of every kind of interval."""
    rows = []
    for row in coverage.to_dict("records"):
        keys = {name: row[name] for name in ("case", "shape", "seeds", "documents", "spread")}
        held, trials = row["covered"], int(row["trials"])
        # An exact share has no interval.
        estimate = _share(int(held), trials) if trials > 1 else {"value": held}
        keys |= {"what": COVERAGE, "truth": row["share"], "quantity": COVERED}
        rows.append(keys | estimate | {"published": LEVEL, "tolerance": BAND})
    # A coverage is judged where half of its interval is at most twice the band.
    nominal = Number(None, kind="theory", unit=BAND / TENTH)
    return judge(_tidy(rows), [None if case == PLAIN else nominal for case in coverage["case"]])


def _effects(simulated: pd.DataFrame) -> pd.DataFrame:
    """Shares of the verdicts under every true effect."""
    names = ["shape", "seeds", "documents", "half_width", "truth"]
    parts = []
    simulated = simulated.rename(columns={"true_effect": "truth"})
    for values, judged in simulated.groupby(names, sort=False):
        keys = {"what": EFFECTS, "case": OVER_SEEDS} | dict(zip(names, values, strict=True))
        parts.append(_of_verdicts(dict(judged.set_index("verdict")["count"]), keys))
    return pd.concat(parts, ignore_index=True)


@row_per(*KEYS)
def readable(
    rows: pd.DataFrame, what: str, case: str, text: str, shape: str, *numbers: float
) -> dict[str, str]:
    """A row for each case, with how often each verdict came out."""
    seeds, documents, spread, half_width, truth = numbers
    main = rows.loc[next(name for name in QUANTITIES if name in rows.index)]
    return {
        "what": what,
        "of": case,
        "data": text or shape or "–",
        "seeds": number(seeds, 0),
        "documents": number(documents, 0),
        "spread": number(spread, 0),
        "half width": number(half_width),
        "truth": number(truth),
        "measured": QUANTITIES[main.name],
        "value [95%]": interval_of(main, 3),
        "beside": number(main["published"]),
        "how often each verdict": _frequencies(rows["value"]),
        "verdict": worded(main),
    }


def _frequencies(values: pd.Series) -> str:
    shares = {verdict: values.get(f"share_{verdict}", 0.0) for verdict in SAID}
    said = [f"{verdict} {100 * share:.1f}%" for verdict, share in shares.items() if share]
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
    printed = wikipedia.read_published(published).set_index([*wikipedia.PUBLISHED_KEYS, "quantity"])
    numbers = printed[["published", "tolerance"]].to_dict("index")
    printed_at = {threshold.label: threshold.published for threshold in ambiguity.thresholds}
    nothing = {"published": math.nan, "tolerance": math.nan}
    parts = []
    for model, rows in zip(models, measures, strict=True):
        overlap, threshold = rows[["overlap", "threshold"]].iloc[0]
        row = overlap, model.settings.published_as, printed_at[threshold], RATIO
        kind = wikipedia.kind(model.settings)
        parts += _probed(model.name, rows, kind, **numbers.get(row, nothing))
    return pd.concat([*parts, _coverage(coverage), _effects(effects)], ignore_index=True)
