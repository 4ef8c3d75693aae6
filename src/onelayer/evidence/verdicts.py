"""The one rule that judges a measured number, in one paragraph.

An effect is measured in units of the published one: e = (ours - reference) / (published -
reference). The reference is the number's own null where one is measured, with the null's spread,
and else the value that theory gives to no effect. The 95% interval of e decides: all of it within a
tenth of 0 is `negligible`; reaching 1 and not 0 is `reproduced`; neither 0 nor 1 is `smaller` or
`larger`; all of it below 0 is `opposite`; everything else is `undecided`, shown with what the
interval excludes. A direction without a number, a bound, a theorem's number and a control are
judged by the same outcomes (`Direction`, `UpperBound`, `Number`).

All that decides stands in columns of the table: whoever has the CSV can judge it again.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import NamedTuple

import pandas as pd
from scipy.special import stdtrit

KINDS = {
    "published": "the paper's own object, and the number that the paper prints of it",
    "claim": "the paper's own object, and a sentence of the paper that has a direction and no "
    "number",
    "theory": "a number that follows from the paper's theorem",
    "bound": "a bound that the paper proves",
    "analogue": "a smaller or other model, or another text, than the paper's: it says nothing of "
    "whether the paper's own result holds",
    "control": "a model with random weights, in units of the effect that it is a control of",
}
VERDICTS = {
    "reproduced": "the interval reaches the published effect and leaves out 'no effect'; all of it "
    "on the claimed side, where a claim has no number; at most the bound",
    "smaller": "the interval excludes no effect and the published one, and lies between them",
    "larger": "the interval excludes the published effect and lies beyond it",
    "negligible": "the whole interval lies within a tenth of the published effect around none",
    "opposite": "the whole interval lies on the other side of no effect; above the bound",
    "undecided": "the interval is too wide to say any of these; what it excludes stands beside it",
    "not reached": "the run did not get there: it did not train, diverged, or ended too early",
    "not run": "not measured; the reason is in the note",
}
NOT_REACHED, UNDECIDED, NOT_RUN = "not reached", "undecided", "not run"
REPRODUCED, NEGLIGIBLE = "reproduced", "negligible"
# What decides nothing.
NO_DECISION = (UNDECIDED, NOT_REACHED, NOT_RUN)
# An effect below this share of the published one is negligible.
TENTH = 0.1
# Rounding of a number that was computed in float32: 2^-24 for each of the about 20 levels of a
# pairwise sum of a million terms, as a share of it.
FLOAT32 = 20 * 2.0**-24
# A published number that lies a tolerance away, to the last digit of float64.
_EXACT = 1 + 1e-9


class Measured(NamedTuple):
    """Our number with its 95% interval, and the published one; NaN where there is none.

    Attributes:
        value, low, high: ours.
        published, published_std: the published mean and its standard deviation over runs.
        tolerance: what is known of the published number's rounding: `rounding`.
        reference: the number's own null, where one was measured.
        difference_low, difference_high: 95% interval of ours minus that null, both uncertain.
    """

    value: float
    low: float = math.nan
    high: float = math.nan
    published: float = math.nan
    published_std: float = math.nan
    tolerance: float = math.nan
    reference: float = math.nan
    difference_low: float = math.nan
    difference_high: float = math.nan

    @property
    def ends(self) -> tuple[float, float]:
        """The interval; without one, the value alone."""
        low, high = (self.value if math.isnan(end) else end for end in (self.low, self.high))
        return low, high


class Effect(NamedTuple):
    """Our effect, as the columns of the same names have it; NaN where there is none.

    Attributes:
        reference: the value that means 'no effect'.
        effect: what counts as 1, in the quantity's own unit and with its sign: the published
            effect, of a control that which it is a control of, of a direction 1 or -1; NaN of a
            bound, which claims none.
        effect_share: (ours - reference) / effect.
        effect_low, effect_high: its 95% interval.
    """

    reference: float = math.nan
    effect: float = math.nan
    effect_share: float = math.nan
    effect_low: float = math.nan
    effect_high: float = math.nan


class Comparison:
    """With what a number is compared: each kind has its `effect` and its `outcome`, the verdict.

    Attributes:
        kind: one of `KINDS`.
    """

    kind: str

    def verdict(self, ours: Measured) -> str:
        """One of `VERDICTS`; empty where there is nothing to compare with."""
        if not self.compares(ours):
            return ""
        return NOT_RUN if math.isnan(ours.value) else self.outcome(ours, self.effect(ours))

    def compares(self, ours: Measured) -> bool:
        """Whether there is something to compare with."""
        return not math.isnan(ours.published)

    def tolerance(self, ours: Measured) -> float:
        """How far from the published number still counts as it; NaN: no further than it."""
        return ours.tolerance


@dataclass(frozen=True)
class Number(Comparison):
    """What is compared: a published number, a theorem's, or, of a control, none.

    Our interval is the 95% interval, or the value alone where it is exact. The published number is
    reached where the interval of our difference from it, the tolerance and the spread of the mean
    over the published runs granted, holds 0.

    The tolerance is not chosen to fit. Of a published number it is half a unit of the last digit
    that the paper prints (`rounding`), carried through where several are combined. Of a number that
    follows from a theorem it is derived from the method that made ours, and at least `relative`.

    Without a reference nothing is 'no effect': the number is `reproduced` where the interval
    reaches it and is no wider than a tenth of `unit` on either side, `smaller` or `larger` where it
    does not reach it (-0.5 is smaller than -1), else `undecided`.

    Attributes:
        reference: the value that means 'no effect': 1 for a ratio, 0 for a difference; None where
            there is none. A row's own null goes before it.
        kind: one of `KINDS`.
        unit: of a control: the effect that it is a control of, with its sign; NaN where that is not
            known, 0 where there is none, and nothing is judged. Without a reference: that of which
            a tenth matters, the published number itself unless given.
        relative: the least tolerance, as a share of the published number: `FLOAT32` where ours was
            computed in that, 0 where it counts or was computed in float64.
        published_runs: over how many runs the published mean and standard deviation are; 0 where
            that is not known, and the standard deviation is only shown.
    """

    reference: float | None = 1.0
    kind: str = "published"
    unit: float | None = None
    relative: float = 0.0
    published_runs: int = 0

    def compares(self, ours: Measured) -> bool:
        """Of a control whether the effect is known that it is a control of."""
        if self._control:
            return not math.isnan(self.unit) and self.unit != 0
        return super().compares(ours)

    def tolerance(self, ours: Measured) -> float:
        """The row's own, and at least `relative`."""
        return self._rounding(ours) or ours.tolerance

    def effect(self, ours: Measured) -> Effect:
        """As in the module's first paragraph; without a reference our share of the published."""
        if self.reference is None:
            unit = abs(self.unit or ours.published or 1.0)
            if not ours.published:
                return Effect(effect=unit)
            ends = sorted(end / ours.published for end in ours.ends)
            return Effect(math.nan, unit, ours.value / ours.published, *ends)
        measured = not math.isnan(ours.reference)
        reference = ours.reference if measured else self.reference
        unit = self.unit if self._control else ours.published - reference
        # What was rounded away is no effect, and nothing can be a share of it.
        if not self._control and abs(unit) <= self._rounding(ours) * _EXACT:
            return Effect(reference)
        low, high = (end - reference for end in ours.ends)
        if measured and not math.isnan(ours.difference_low):
            low, high = ours.difference_low, ours.difference_high
        ends = sorted((low / unit, high / unit))
        return Effect(reference, unit, (ours.value - reference) / unit, *ends)

    def outcome(self, ours: Measured, effect: Effect) -> str:
        """The verdict, as above."""
        if self.reference is None:
            return self._without_reference(ours, effect)
        if math.isnan(effect.effect_share):
            return UNDECIDED
        share, low, high = effect[2:]
        if low >= -TENTH and high <= TENTH:
            return NEGLIGIBLE
        if low > 0:
            unit = abs(effect.effect)
            spread = self._spread(ours) / unit
            slack = 0.0 if self._control else self._rounding(ours) / unit * _EXACT
            if share - math.hypot(share - low, spread) - slack > 1:
                return "larger"
            return "smaller" if share + math.hypot(high - share, spread) + slack < 1 else REPRODUCED
        return "opposite" if high < 0 else UNDECIDED

    @property
    def _control(self) -> bool:
        return self.unit is not None and self.reference is not None

    def _without_reference(self, ours: Measured, effect: Effect) -> str:
        # Larger is what goes further than the published number on its own side of 0.
        side = -1.0 if ours.published < 0 else 1.0
        low, high = sorted(side * end for end in ours.ends)
        published, slack = abs(ours.published), self._rounding(ours) * _EXACT
        if low - slack > published:
            return "larger"
        if high + slack < published:
            return "smaller"
        return REPRODUCED if (high - low) / 2 <= TENTH * effect.effect + slack else UNDECIDED

    def _rounding(self, ours: Measured) -> float:
        # `max` skips a NaN that is not its first argument.
        return max(0.0, ours.tolerance, self.relative * abs(ours.published))

    def _spread(self, ours: Measured) -> float:
        """Half of the 95% interval of the published mean; 0 where it is not known."""
        if self.published_runs < 2 or math.isnan(ours.published_std):
            return 0.0
        runs = self.published_runs
        return float(stdtrit(runs - 1, 0.975)) * ours.published_std / math.sqrt(runs)


# A theorem's number without 'no effect': what is not within its tolerance is another number.
THEORY = Number(None, kind="theory")


@dataclass(frozen=True)
class UpperBound(Comparison):
    """What is compared: an upper bound.

    `reproduced`: all of our interval (the value alone where there is none) is at most the bound.
    `opposite`: all of it is above. `undecided`: the bound lies inside. Our effect is our share of
    the bound; none counts as 1, by which a row of an analogue is known to stand below a bound.
    """

    kind: str = "bound"

    def effect(self, ours: Measured) -> Effect:
        """Our share of the bound."""
        if not ours.published:
            return Effect()
        ends = sorted(end / ours.published for end in ours.ends)
        return Effect(math.nan, math.nan, ours.value / ours.published, *ends)

    def outcome(self, ours: Measured, effect: Effect) -> str:
        """The verdict, as above."""
        low, high = ours.ends
        if high <= ours.published:
            return REPRODUCED
        return "opposite" if low > ours.published else UNDECIDED


@dataclass(frozen=True)
class Direction(Comparison):
    """What is compared: a claim that has a direction and no published number.

    `negligible`: our whole 95% interval lies within `matters` of the reference, or is nothing but
    the reference. Else `reproduced`: all of it lies on the claim's side; `opposite`: none of it
    does; `undecided`: a part, or there is no interval (a single run). Our effect is the distance
    from the reference, positive on the claim's side, in the quantity's own unit.

    Attributes:
        reference: where the claim stops holding, such as 0 for a change. A row's own null goes
            before it.
        side: 1 where the claim says 'above the reference', -1 for below.
        matters: the smallest distance that would matter, said where the claim is declared; the
            column `tolerance`.
        kind: `claim`, or `analogue`.
    """

    reference: float
    side: int
    matters: float = 0.0
    kind: str = "claim"

    def effect(self, ours: Measured) -> Effect:
        """The distance from the reference on the claim's side."""
        measured = not math.isnan(ours.reference)
        reference = ours.reference if measured else self.reference
        low, high = ours.low - reference, ours.high - reference
        if measured and not math.isnan(ours.difference_low):
            low, high = ours.difference_low, ours.difference_high
        ends = sorted((low * self.side, high * self.side))
        return Effect(reference, self.side, (ours.value - reference) * self.side, *ends)

    def outcome(self, ours: Measured, effect: Effect) -> str:
        """The verdict, as above."""
        low, high = effect.effect_low, effect.effect_high
        if math.isnan(low) or math.isnan(high):
            return UNDECIDED
        if low >= -self.matters and high <= self.matters:
            return NEGLIGIBLE
        return REPRODUCED if low > 0 else "opposite" if high <= 0 else UNDECIDED

    def compares(self, ours: Measured) -> bool:
        """Always."""
        return True

    def tolerance(self, ours: Measured) -> float:
        """What matters."""
        return self.matters or math.nan


Compared = Comparison | Mapping[str, Comparison] | Sequence[Comparison | None]
DIFFERENCE = ["difference_low", "difference_high"]


def judge(
    table: pd.DataFrame, compared: Compared, differences: pd.DataFrame | None = None
) -> pd.DataFrame:
    """Fill in what a table's rows are compared with, and their verdicts.

    A row that comes with the verdict `not reached` keeps it, and has no effect: a run that stood
    still shows nothing. One that comes with `undecided` keeps it where it is compared with
    something: it rests on one training, or on too few runs (`from_runs`). A row that comes with a
    kind keeps that. The kind is empty where nothing is compared.

    Args:
        table: as `onelayer.evidence.tables.tidy` makes it; `reference` holds a row's own null, if
            it has one.
        compared: with what all values are compared, or those of some quantities (the others only
            describe, and their verdict is empty), or each row's own.
        differences: `DIFFERENCE`, a row for each of the table: the 95% interval of ours minus the
            row's own null; None where no row has one.
    """
    if differences is None:
        differences = pd.DataFrame(math.nan, table.index, DIFFERENCE)
    numbers = pd.concat([table, differences], axis=1)[list(Measured._fields)].to_numpy(dtype=float)
    judged = []
    for place, (quantity, verdict, kind) in enumerate(
        zip(table["quantity"], table["verdict"], table["kind"], strict=True)
    ):
        ours = Measured(*numbers[place])
        if isinstance(compared, Mapping):
            rule = compared.get(quantity)
        else:
            rule = compared if isinstance(compared, Comparison) else compared[place]
        judged.append(_judged(ours, rule, verdict, kind))
    return table.assign(**pd.DataFrame(judged, index=table.index))


def from_runs(estimate: Mapping[str, object]) -> dict[str, object]:
    """An estimate over runs, as a part of a row: undecided where they are too few for an interval.

    A number without an interval would else be taken for exact.
    """
    return {**estimate, "verdict": UNDECIDED if math.isnan(estimate["low"]) else ""}


def _judged(ours: Measured, rule: Comparison | None, verdict: str, kind: str) -> dict[str, object]:
    compares = rule is not None and rule.compares(ours)
    outcome = rule.verdict(ours) if compares else ""
    unreached = verdict == NOT_REACHED
    if unreached or (verdict == UNDECIDED and outcome not in ("", NOT_RUN)):
        outcome = verdict
    measured = compares and not unreached and not math.isnan(ours.value)
    return {
        "tolerance": rule.tolerance(ours) if compares else math.nan,
        "kind": (kind or rule.kind) if compares else "",
        "verdict": outcome,
    } | (rule.effect(ours) if measured else Effect())._asdict()


def rounding(printed: str) -> float:
    """Half a unit of the last digit of a number as it is printed: 0.005 for `1.30`."""
    return 0.5 * 10.0 ** Decimal(printed).as_tuple().exponent


def worded(row: Mapping[str, object] | pd.Series) -> str:
    """A row's verdict for readers: `smaller (13% of the effect)`; a dash for none.

    An undecided one says what it excludes: `undecided (at most 15% of the effect)`.

    Args:
        row: `verdict`, `kind`, `published` and the columns of `Effect`.
    """
    verdict, share = row["verdict"], row["effect_share"]
    if verdict in (NOT_RUN, NOT_REACHED) or math.isnan(share) or math.isnan(row["reference"]):
        return verdict or "–"
    # Of a direction 1 is one of the quantity's own unit.
    direction = math.isnan(row["published"]) and row["kind"] != "control"
    if direction or verdict == REPRODUCED:
        return verdict
    if verdict != UNDECIDED:
        return f"{verdict} ({percent(share)} of the effect)"
    excluded = excludes(row)
    return f"{verdict} ({excluded} of the effect)" if excluded else verdict


def worded_all(table: pd.DataFrame) -> list[str]:
    """`worded` of every row."""
    return [worded(row) for row in table.to_dict("records")]


def excludes(row: Mapping[str, object] | pd.Series) -> str:
    """What an undecided row excludes: `at most 15%`.

    Empty where that is not even all of it, and where the interval alone would decide: it does not
    cover what the row rests on, a single training.
    """
    low, high = row["effect_low"], row["effect_high"]
    decides = low > 0 or high < 0 or (low >= -TENTH and high <= TENTH)
    if math.isnan(high) or high >= 1 or decides:
        return ""
    return f"at most {math.ceil(100 * high - 1e-9)}%"


def percent(share: float) -> str:
    """`13%`; so many digits that what is not all of it does not read as 100%."""
    digits = 0 if abs(share - 1) >= 0.005 or share == 1 else 1 if abs(share - 1) >= 0.0005 else 2
    return f"{round(100 * share, digits) + 0.0:.{digits}f}%"  # not -0%
