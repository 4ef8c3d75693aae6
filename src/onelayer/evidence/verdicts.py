"""The one rule that judges a measured number against a claim of a paper (docs/verdicts.md).

An effect is (ours - null) / (published - null); null is the row's own, where it was measured, else
the claim's `no_effect`. Its 95% interval decides.
"""

from collections.abc import Mapping, Sequence
from math import copysign, isnan, nan

import numpy as np
from scipy.special import ndtr, ndtri, stdtr, stdtrit

VERDICTS = {
    "reproduced": "the interval reaches the published effect and excludes no effect; without a "
    "number, all of it is on the claimed side, by more than what matters; at most the bound",
    "smaller": "the interval lies between no effect and the published one",
    "larger": "the interval lies beyond the published effect",
    "smaller or none": "the interval excludes the published effect, not no effect",
    "negligible": "the interval lies within a tenth of the published effect around none; without a "
    "number, within what matters",
    "opposite": "the interval lies on the other side of no effect, without a number by more than "
    "what matters; above the bound",
    "undecided": "the interval is too wide to say any of these, or the number lies within the "
    "range of its own null",
    "not reached": "the run did not get there: it diverged, stood still or ended too early",
    "not run": "not measured",
}
TENTH = 0.1  # an effect below this share of the published one is negligible


def _near(claim: Mapping) -> float:  # an effect at most so large is next to none
    return claim.get("matters", 0) if claim["rule"] == "direction" else TENTH


def judge(row: Mapping | None, claim: Mapping) -> str:
    """The verdict on a claim, one of `VERDICTS`.

    The row that decides has `value`, `low`, `high`, `null`, `state`, and maybe the null's range.
    Without an interval the value alone decides, but for a direction. A claim's `rule` is one of

        bound: ours is at most `published`.
        number: a theorem's, of which no value means 'no effect'; undecided where half of the
            interval is wider than `matters` (a tenth of `published`).
        direction: ours is on the `side` (1, -1) of no effect by more than `matters`.
        effect: ours reaches `published` from no effect; or reaches `unit`, the effect that a
            control is a control of.

    `tolerance`: how far from `published` still counts as it, such as its rounding.
    """
    if row is None or (isnan(row["value"]) and not row["state"]):
        return "not run"
    if row["state"]:
        return row["state"]
    rule, published = claim["rule"], claim.get("published", nan)
    tolerance = claim.get("tolerance", 0) * (1 + 1e-9)  # float64 has no last digit to spare
    low, high = _ends(row)
    if rule == "bound":
        return "reproduced" if high <= published else "opposite" if low > published else "undecided"
    if rule == "number":
        if published < 0:  # larger is what goes further on the published number's side of 0
            low, high, published = -high, -low, -published
        if low - tolerance > published or high + tolerance < published:
            return "larger" if low > published else "smaller"
        matters = claim.get("matters", TENTH * published)
        return "reproduced" if (high - low) / 2 <= matters + tolerance else "undecided"
    unit, near = _null_and_unit(row, claim)[1], _near(claim)
    if (rule == "direction" and isnan(row["low"])) or abs(unit) <= tolerance:
        return "undecided"  # one run; nothing is a share of what was rounded away
    _, low, high = effect(row, claim)
    if -near <= low and high <= near:
        return "negligible"
    of_null = row.get("null_low", nan) <= row["value"] <= row.get("null_high", nan)
    if rule == "direction":
        if of_null:
            return "undecided"
        return "reproduced" if low > near else "opposite" if high <= -near else "undecided"
    slack = tolerance / abs(unit)
    if of_null or low <= 0 <= high:
        return "smaller or none" if high + slack < 1 else "undecided"
    if high < 0:
        return "opposite"
    if low - slack <= 1 <= high + slack:
        return "reproduced"
    return "larger" if low > 1 else "smaller"


def effect(row: Mapping, claim: Mapping) -> tuple[float, float, float]:
    """Our effect and the ends of its interval, in units of the published effect, or of `side`."""
    null, unit = _null_and_unit(row, claim)
    low, high = sorted((end - null) / unit for end in _ends(row))
    return (row["value"] - null) / unit, low, high


def _ends(row: Mapping) -> tuple[float, float]:
    low, high = (row["value"] if isnan(row[end]) else row[end] for end in ("low", "high"))
    return low, high


def _null_and_unit(row: Mapping, claim: Mapping) -> tuple[float, float]:
    null = claim.get("no_effect", 0) if isnan(row["null"]) else row["null"]
    if claim["rule"] == "direction":
        return null, claim["side"]
    return null, claim["unit"] if "unit" in claim else claim["published"] - null


def p_value(row: Mapping | None, claim: Mapping, verdict: str) -> float:
    """How surprising the row would be if what its verdict excludes were true; NaN: no test.

    Excluded is no effect (of a direction: one that does not matter), by 'negligible' one that does,
    on either side, by 'smaller or none' the published one. The law is Student's t of `n` - 1
    degrees of freedom, or the normal one.
    """
    rule = claim["rule"]
    if verdict in ("not run", "not reached") or row["state"] or rule in ("bound", "number"):
        return nan
    if isnan(row["low"]) or not row["high"] > row["low"] or not _null_and_unit(row, claim)[1]:
        return nan
    share, low, high = effect(row, claim)
    near = _near(claim)
    edges = {"negligible": (-near, near), "smaller or none": (1.0,)}.get(verdict, (0.0,))
    if rule == "direction" and verdict != "negligible":
        edges = (copysign(near, share),)
    halves = [share - low if edge < share else high - share for edge in edges]
    apart = [abs(share - e) / half for e, half in zip(edges, halves, strict=True) if half > 0]
    if not apart:
        return nan
    if isnan(row["n"]) or row["n"] < 2:
        return float(2 * ndtr(-min(apart) * ndtri(0.975)))
    free = row["n"] - 1
    return float(2 * stdtr(free, -min(apart) * stdtrit(free, 0.975)))


def holm(p: Sequence[float]) -> np.ndarray:
    """Holm's (1979) adjusted p-values of tests made together; NaN where there is no test."""
    p = np.asarray(p, float)
    adjusted, order = np.empty(len(p)), np.argsort(p)  # NaN last
    remaining = np.isfinite(p).sum() - np.arange(len(p))
    adjusted[order] = np.maximum.accumulate(np.minimum(1.0, remaining * p[order]))
    return adjusted
