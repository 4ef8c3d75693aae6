"""The rule of the verdicts once more, from a row's columns alone, as a reader of the CSV has them.

Nothing of `onelayer.evidence.verdicts` is used. Tables hold nine digits, so that a number may stand
on either side of an edge that it lies on: every verdict that such a nudge gives is one that the row
can have.
"""

import math
from collections.abc import Mapping

from scipy import stats

NUDGE = 1e-7


def verdicts_of(row: Mapping[str, object], published_runs: int = 0) -> set[str]:
    """Every verdict that a row's columns allow.

    Args:
        row: of a tidy table.
        published_runs: over how many runs `published` is a mean, if `published_std` counts.
    """
    if row["verdict"] == "not reached":  # what stood still shows nothing
        return {"not reached"}
    allowed = {_verdict(row, published_runs, nudge) for nudge in (-NUDGE, 0.0, NUDGE)}
    alone = row["n"] == 1 or row["runs"] == 1
    return allowed | {"undecided"} if alone and row["kind"] else allowed


def _verdict(row: Mapping[str, object], published_runs: int, nudge: float) -> str:
    def above(one: float, other: float) -> bool:
        return one > other + nudge * max(abs(one), abs(other), 1e-3)

    value, published, kind = row["value"], row["published"], row["kind"]
    if kind == "":
        return ""
    if math.isnan(value):
        return "not run"
    low = value if math.isnan(row["low"]) else row["low"]
    high = value if math.isnan(row["high"]) else row["high"]
    tolerance = 0.0 if math.isnan(row["tolerance"]) else row["tolerance"]
    share = row["effect_share"]
    # Of an analogue it is known by its effect: a bound claims none.
    if kind == "bound" or (math.isnan(row["effect"]) and not math.isnan(share)):
        if not above(high, published):
            return "reproduced"
        return "opposite" if above(low, published) else "undecided"
    if math.isnan(row["reference"]):  # nothing means 'no effect': another number is another number
        if published < 0:  # larger is further from 0
            low, high, published = -high, -low, -published
        if above(low - tolerance, published):
            return "larger"
        if above(published, high + tolerance):
            return "smaller"
        matters = 0.1 * row["effect"] + tolerance
        return "undecided" if above((high - low) / 2, matters) else "reproduced"
    e, e_low, e_high = row["effect_share"], row["effect_low"], row["effect_high"]
    direction = math.isnan(published) and kind != "control"
    if any(math.isnan(x) for x in (e, e_low, e_high)):
        return "undecided"
    nothing = tolerance if direction else 0.1
    if not above(-nothing, e_low) and not above(e_high, nothing):
        return "negligible"
    if direction:
        return "reproduced" if above(e_low, 0) else "undecided" if above(e_high, 0) else "opposite"
    if above(0, e_high):
        return "opposite"
    if not above(e_low, 0):
        return "undecided"
    unit = abs(row["effect"])
    grace = 0.0 if kind == "control" else tolerance / unit
    spread = 0.0
    if published_runs > 1 and not math.isnan(row["published_std"]):
        t = stats.t.ppf(0.975, published_runs - 1)
        spread = t * row["published_std"] / math.sqrt(published_runs) / unit
    if above(e - math.sqrt((e - e_low) ** 2 + spread**2) - grace, 1):
        return "larger"
    if above(1, e + math.sqrt((e_high - e) ** 2 + spread**2) + grace):
        return "smaller"
    return "reproduced"


def share_of(row: Mapping[str, object]) -> float:
    """Our effect in units of what counts as 1, from value, reference and effect."""
    if math.isnan(row["reference"]):
        return row["value"] / row["published"] if row["published"] else math.nan
    return (row["value"] - row["reference"]) / row["effect"]
