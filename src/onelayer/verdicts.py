"""The one rule that judges a measured number, and says what the number was compared with.

A paper says what its number is compared with (`Number`, `UpperBound`, `Direction`); the rule says
the verdict. A table may say of a row only that its run did not get there, or that it rests on one
training: the row then comes with the verdict `not reached` or `open`, which the rule keeps. The
verdict is empty where there is nothing to compare with.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import ClassVar, NamedTuple

import pandas as pd

KINDS = {
    "published": "the number that the paper prints",
    "theory": "a number that we compute from the paper's theorem",
    "bound": "a bound that the paper proves",
    "control": "random weights, of which no effect is expected",
    "claim": "a sentence of the paper that has a direction and no number",
}
VERDICTS = {
    "within": "our 95% interval reaches the number compared with, and not also 'no effect' where "
    "that number is one; at most the bound",
    "direction": "not that, and all of our interval lies on its side of 'no effect'",
    "differs": "none of our interval does; above the bound",
    "open": "a part of our interval does, or it reaches that number and 'no effect' alike: it "
    "decides nothing",
    "not reached": "the run did not get there: it did not train, diverged, or ended too early",
    "not run": "not measured; the reason is in the note",
}
NOT_REACHED, OPEN = "not reached", "open"
AGREE = ("within", "direction")
UNDECIDED = (OPEN, NOT_REACHED, "not run")
# This close to the reference, in units of the quantity, there is no effect.
NO_EFFECT = 0.005
# An effect is negligible below this share of the published one.
NEGLIGIBLE = 0.1
# Rounding of a number that was computed in float32: 2^-24 for each of the about 20 levels of a
# pairwise sum of a million terms, as a share of it.
FLOAT32 = 20 * 2.0**-24


class Measured(NamedTuple):
    """Our number with its 95% interval, and the published one; NaN where there is none.

    `tolerance` is what is known of the published number's rounding: `rounding`.
    """

    value: float
    low: float = math.nan
    high: float = math.nan
    published: float = math.nan
    published_std: float = math.nan
    tolerance: float = math.nan

    @property
    def ends(self) -> tuple[float, float]:
        """The interval; without one, the value alone."""
        low, high = (self.value if math.isnan(end) else end for end in (self.low, self.high))
        return low, high


class Comparison:
    """With what a number is compared.

    Attributes:
        kind: one of `KINDS`.
    """

    kind: str

    def verdict(self, ours: Measured) -> str:
        """One of `VERDICTS`; empty where there is nothing to compare with."""
        raise NotImplementedError

    def compares(self, ours: Measured) -> bool:
        """Whether there is something to compare with."""
        return not math.isnan(ours.published)

    def tolerance(self, ours: Measured) -> float:
        """How far from the published number still counts as it; NaN: no further than it."""
        return ours.tolerance

    def effect_share(self, ours: Measured) -> float:
        """Our effect as a share of the published one; NaN where there is none."""
        return math.nan


@dataclass(frozen=True)
class Number(Comparison):
    """What is compared: a published number, or one that follows from a theorem.

    Our interval is the 95% interval, or the value alone where there is none. What is claimed is the
    side of `reference` on which the published number lies; or that there is no effect, where it
    lies within 0.005 `unit` of the reference, or within its own tolerance. The first that fits:

    - `not run`: nothing was measured.
    - empty: there is no published number.
    - `open`: our interval reaches the published number and the reference alike, where an effect is
      claimed: it cannot tell one from the other. A wide interval is no agreement.
    - `within`: our interval reaches the published number, give or take its tolerance and two
      published standard deviations where they are known.
    - `direction`: all of our interval lies on the claimed side, or is no effect where none is
      claimed.
    - `differs`: none of it does: it ends at the reference or on the other side, or has nothing
      within 0.005 `unit` (the tolerance, if that is more) of it where no effect is claimed.
    - `open`: a part of it does.

    Without a reference there are no sides: what is not `within` `differs`.

    The tolerance is not chosen to fit. Of a published number it is half a unit of the last digit
    that the paper prints (`rounding`), carried through where several are combined: the unrounded
    number may lie that far away. Of a number that follows from a theorem it is what the row says of
    the method that made ours, and at least `relative`.

    Attributes:
        reference: the value that means 'no effect': 1 for a ratio, 0 for a difference; None where
            there is none.
        unit: what the quantity is measured in, such as the weight of uniform attention.
        kind: `published` or `theory`.
        relative: the least tolerance, as a share of the published number: `FLOAT32` where ours was
            computed in that, 0 where it counts or was computed in float64.
    """

    reference: float | None = 1.0
    unit: float = 1.0
    kind: str = "published"
    relative: float = 0.0

    def verdict(self, ours: Measured) -> str:
        """The verdict, as above."""
        if math.isnan(ours.value):
            return "not run"
        if math.isnan(ours.published):
            return ""
        low, high = ours.ends
        slack = self._known(ours)
        if not math.isnan(ours.published_std):
            slack += 2 * ours.published_std
        if low - slack <= ours.published <= high + slack:
            undecided = self._effect(ours) and ours.low <= self.reference <= ours.high
            return "open" if undecided else "within"
        if self.reference is None:
            return "differs"
        if not (effect := self._effect(ours)):
            nothing = self._nothing(ours)
            low, high = low - self.reference, high - self.reference
            if -nothing <= low and high <= nothing:
                return "direction"
            return "differs" if low > nothing or high < -nothing else "open"
        return Direction(self.reference, 1 if effect > 0 else -1).verdict_of(low, high)

    def tolerance(self, ours: Measured) -> float:
        """The row's own, and at least `relative`."""
        known = self._known(ours)
        return known if known else ours.tolerance

    def effect_share(self, ours: Measured) -> float:
        """(ours - reference) / (published - reference); NaN where no effect is claimed."""
        effect = self._effect(ours)
        return (ours.value - self.reference) / effect if effect else math.nan

    def _known(self, ours: Measured) -> float:
        tolerance = 0.0 if math.isnan(ours.tolerance) else ours.tolerance
        return max(tolerance, self.relative * abs(ours.published))

    def _effect(self, ours: Measured) -> float:
        """The effect that is claimed; 0 for none."""
        if self.reference is None or math.isnan(ours.published):
            return 0.0
        effect = ours.published - self.reference
        return effect if abs(effect) > self._nothing(ours) else 0.0

    def _nothing(self, ours: Measured) -> float:
        """Up to where a distance from the reference is no effect.

        A published difference of .01 that is known to .01 must not be more by float64's rounding.
        """
        return max(NO_EFFECT * self.unit, self._known(ours)) * (1 + 1e-9)


# A theorem's number without sides: what is not within its tolerance differs.
THEORY = Number(None, kind="theory")


@dataclass(frozen=True)
class UpperBound(Comparison):
    """What is compared: a published upper bound.

    `within`: all of our interval (the value alone where there is none) is at most the bound.
    `differs`: all of it is above. `open`: the bound lies inside. `not run`: nothing was measured.
    Empty: there is no bound.
    """

    kind: ClassVar[str] = "bound"

    def verdict(self, ours: Measured) -> str:
        """The verdict, as above."""
        if math.isnan(ours.value):
            return "not run"
        if math.isnan(ours.published):
            return ""
        low, high = ours.ends
        if high <= ours.published:
            return "within"
        return "differs" if low > ours.published else "open"


@dataclass(frozen=True)
class Direction(Comparison):
    """What is compared: a claim that has a direction and no published number.

    `direction`: our whole 95% interval lies on the claim's side. `differs`: none of it does.
    `open`: a part of it does, or there is no interval (a single run). `not run`: nothing was
    measured.

    Attributes:
        reference: where the claim stops holding, such as 0 for a change.
        side: 1 where the claim says 'above the reference', -1 for below.
    """

    reference: float
    side: int
    kind: ClassVar[str] = "claim"

    def verdict(self, ours: Measured) -> str:
        """The verdict, as above."""
        if math.isnan(ours.value):
            return "not run"
        if math.isnan(ours.low) or math.isnan(ours.high):
            return "open"
        return self.verdict_of(ours.low, ours.high)

    def verdict_of(self, low: float, high: float) -> str:
        """`direction`, `differs` or `open`, of an interval."""
        nearest, farthest = (low, high) if self.side > 0 else (high, low)
        if (nearest - self.reference) * self.side > 0:
            return "direction"
        return "differs" if (farthest - self.reference) * self.side <= 0 else "open"

    def compares(self, ours: Measured) -> bool:
        """Always."""
        return True


Compared = Comparison | Mapping[str, Comparison] | Sequence[Comparison]


def judge(table: pd.DataFrame, compared: Compared) -> pd.DataFrame:
    """Fill `verdict`, `kind`, `effect_share` and `tolerance` of a table that has all else.

    A row that comes with the verdict `not reached` keeps it, and has no share of an effect: what
    stood still shows nothing by it. One that comes with `open` keeps it where it is compared with
    something: it rests on one training. A row that comes with a kind keeps that. The kind is
    empty where nothing is compared.

    Args:
        table: as `onelayer.tables.tidy` makes it.
        compared: with what all values are compared, or those of some quantities (the others only
            describe, and their verdict is empty), or each row's own.
    """
    numbers = table[list(Measured._fields)].to_numpy(dtype=float)
    judged = []
    for place, (quantity, verdict, kind) in enumerate(
        zip(table["quantity"], table["verdict"], table["kind"], strict=True)
    ):
        ours = Measured(*numbers[place])
        if isinstance(compared, Mapping):
            own = compared.get(quantity)
        else:
            own = compared if isinstance(compared, Comparison) else compared[place]
        judged.append(_judged(ours, own, verdict, kind))
    return table.assign(**pd.DataFrame(judged, index=table.index))


def _judged(ours: Measured, own: Comparison | None, verdict: str, kind: str) -> dict[str, object]:
    compares = own is not None and own.compares(ours)
    unreached = verdict == NOT_REACHED
    found = own.verdict(ours) if own else ""
    undecided = verdict == OPEN and found not in ("", "not run")
    return {
        "tolerance": own.tolerance(ours) if compares else math.nan,
        "kind": (kind or own.kind) if compares else "",
        "verdict": NOT_REACHED if unreached else OPEN if undecided else found,
        "effect_share": own.effect_share(ours) if compares and not unreached else math.nan,
    }


def rounding(printed: str) -> float:
    """Half a unit of the last digit of a number as it is printed: 0.005 for `1.30`."""
    return 0.5 * 10.0 ** Decimal(printed).as_tuple().exponent


def worded(verdict: str, effect_share: float) -> str:
    """A verdict for readers: `direction (2% of the effect: negligible)`; a dash for none.

    Beside `within` the share stands only where it is negligible. The CSV has all of them.
    """
    if math.isnan(effect_share):
        return verdict or "–"
    negligible = abs(effect_share) < NEGLIGIBLE
    if verdict == "within" and not negligible:
        return verdict
    word = ": negligible" if negligible else ""
    return f"{verdict} ({round(100 * effect_share)}% of the effect{word})"
