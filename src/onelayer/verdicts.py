"""The one rule that judges a measured number: `within`, `direction`, `differs`, `not run`.

A paper says what its number is compared with (`Number`, `UpperBound`, `Direction`); the rule says
the verdict. No table makes or changes one itself. The verdict is empty where there is nothing to
compare with.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import pandas as pd

VERDICTS = ("within", "direction", "differs", "not run")
# Both this close to the reference: they agree that there is no effect.
NO_EFFECT = 0.005


class Measured(NamedTuple):
    """Our number with its 95% interval, and the published one; NaN where there is none."""

    value: float
    low: float = math.nan
    high: float = math.nan
    published: float = math.nan
    published_std: float = math.nan


@dataclass(frozen=True)
class Number:
    """What is compared: a published number.

    - `not run`: nothing was measured.
    - `within`: our 95% interval reaches the published value, give or take two published standard
      deviations where they are known.
    - `direction`: both lie on the same side of `reference` and our interval excludes it; or both
      lie within 0.005 `unit` of it, which is to say that both find no effect.
    - `differs`: anything else.
    - empty: there is no published number.

    Attributes:
        reference: the value that means 'no effect': 1 for a ratio, 0 for a difference.
        unit: what the quantity is measured in, such as the weight of uniform attention.
    """

    reference: float = 1.0
    unit: float = 1.0

    def verdict(self, ours: Measured) -> str:
        """The verdict, as above."""
        if math.isnan(ours.value):
            return "not run"
        if math.isnan(ours.published):
            return ""
        low, high = (ours.value if math.isnan(end) else end for end in (ours.low, ours.high))
        slack = 0.0 if math.isnan(ours.published_std) else 2 * ours.published_std
        if low - slack <= ours.published <= high + slack:
            return "within"
        effects = (ours.published - self.reference, ours.value - self.reference)
        if effects[0] * effects[1] > 0 and not low <= self.reference <= high:
            return "direction"
        nothing = max(map(abs, effects)) <= NO_EFFECT * self.unit
        return "direction" if nothing else "differs"


@dataclass(frozen=True)
class UpperBound:
    """What is compared: a published upper bound.

    `within`: at most the bound. `differs`: above it. `not run`: nothing was measured. Empty: there
    is no bound.
    """

    def verdict(self, ours: Measured) -> str:
        """The verdict, as above."""
        if math.isnan(ours.value):
            return "not run"
        if math.isnan(ours.published):
            return ""
        return "within" if ours.value <= ours.published else "differs"


@dataclass(frozen=True)
class Direction:
    """What is compared: a claim that has a direction and no published number.

    `direction`: our whole 95% interval lies on the claim's side. `differs`: it does not.
    `not run`: there is no interval.

    Attributes:
        reference: where the claim stops holding, such as 0 for a change.
        side: 1 where the claim says 'above the reference', -1 for below.
    """

    reference: float
    side: int

    def verdict(self, ours: Measured) -> str:
        """The verdict, as above."""
        if math.isnan(ours.low) or math.isnan(ours.high):
            return "not run"
        return "direction" if self.holds(ours.low, ours.high) else "differs"

    def holds(self, low: float, high: float) -> bool:
        """Whether a whole interval lies on the claim's side; False for NaN bounds."""
        nearest = low if self.side > 0 else high
        return (nearest - self.reference) * self.side > 0


Comparison = Number | UpperBound | Direction


def judge(table: pd.DataFrame, compared: Comparison | Mapping[str, Comparison]) -> pd.DataFrame:
    """Fill the `verdict` column of a tidy table that has all the other value columns.

    Args:
        table: as `onelayer.tables.tidy` makes it.
        compared: with what all values are compared, or those of some quantities; the other
            quantities only describe, and their verdict is empty.
    """
    numbers = table[list(Measured._fields)].to_numpy(dtype=float)
    verdicts = []
    for quantity, row in zip(table["quantity"], numbers, strict=True):
        own = compared.get(quantity) if isinstance(compared, Mapping) else compared
        verdicts.append(own.verdict(Measured(*row)) if own else "")
    return table.assign(verdict=verdicts)
