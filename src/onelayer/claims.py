"""Claims of a paper: each in its words with its place, our number, an interval and a verdict.

Every paper has one table of them, `table_<paper>_claims`: its rows are `Claim`s, `tabulated` makes
the table that the CSV holds, and `readable` what readers see.
"""

import math
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np
import pandas as pd

from onelayer.intervals import mean
from onelayer.tables import ALL, interval, number, tidy
from onelayer.verdicts import NOT_REACHED, Comparison, Direction, Measured, Number, judge, worded

KEYS = ["claim", "place", "setting", "seed"]
BEYOND = "beyond the paper"  # a place
NOTES = [
    "Verdicts: with a published number, a theorem's or a bound the one rule for all tables; "
    "without one 'direction' where the whole interval lies on the claim's side, 'differs' where "
    "none of it does and 'open' where a part does; 'not reached' where a run stood still or none "
    "went through. The last column says of every claim that has a side whether it holds here: "
    "'yes', 'no', or 'open'.",
]


class Claim(NamedTuple):
    """One claim in one setting, with what was measured.

    Attributes:
        claim: in the paper's words, or near them.
        place: where the paper says it: section, theorem, figure; or `BEYOND`.
        setting: what was trained or measured.
        quantity: the number's name.
        found: `value`, `low`, `high`, `n`: a mean over seeds (`onelayer.intervals.mean`, `of_seeds`
            below), a share of them (`onelayer.intervals.share`), or one number.
        note: what the number is.
        side: where the claim holds, if it is a sentence with a direction.
        compared: with what the number is compared; else with `published` on the side's reference
            where there is one, else with the side.
        published: the number compared with; NaN where there is none.
        tolerance: its rounding.
        missing: why a run did not get there, so that nothing can be judged; else empty.
        seeds: the number of each seed under the seed's own name; the CSV has them too.
    """

    claim: str
    place: str
    setting: str
    quantity: str
    found: Mapping[str, float]
    note: str
    side: Direction | None = None
    compared: Comparison | None = None
    published: float = math.nan
    tolerance: float = math.nan
    missing: str = ""
    seeds: pd.Series | None = None

    def row(self) -> dict:
        """The claim as a row of a tidy table."""
        return {name: self.found[name] for name in ("value", "low", "high", "n")} | {
            "claim": self.claim,
            "place": self.place,
            "setting": self.setting,
            "seed": ALL,
            "quantity": self.quantity,
            "published": self.published,
            "tolerance": self.tolerance,
            "verdict": NOT_REACHED if self.missing else "",
            "note": self.note + self._outcome(),
        }

    def comparison(self) -> Comparison:
        """With what the number is compared."""
        if self.compared is not None:
            return self.compared
        if self.side is not None and math.isnan(self.published):
            return self.side
        return Number(self.side.reference if self.side else None)

    def by_seed(self) -> pd.DataFrame:
        """The number of each seed, tidy; they are not judged."""
        seeds = pd.Series(dtype=float) if self.seeds is None else self.seeds
        named = {"claim": self.claim, "place": self.place, "setting": self.setting}
        found = pd.DataFrame({"seed": seeds.index.map(str), "value": seeds.to_numpy()})
        rows = found.assign(**named, quantity=self.quantity, n=1, note="this seed alone")
        return tidy(rows, KEYS)

    def _outcome(self) -> str:
        """Where the claim holds, and whether it does, whatever was published."""
        if self.side is None:
            return f": {self.missing}" if self.missing else ""
        ours = Measured(*(self.found[name] for name in ("value", "low", "high")))
        outcome = {"direction": "yes", "differs": "no"}.get(self.side.verdict(ours), "open")
        sign = ">" if self.side.side > 0 else "<"
        return f"; holds where {sign} {self.side.reference:g}: {self.missing or outcome}"


def of_seeds(seeds: np.ndarray | pd.Series, least: float = -math.inf, most: float = math.inf):
    """The mean of a number over the seeds that gave one, as `Claim.found` wants it.

    Args:
        seeds: [seeds], NaN where a seed gives none.
        least, most: between which the number lies by definition.
    """
    seeds = np.asarray(seeds, dtype=float)
    return mean(seeds[~np.isnan(seeds)], least, most)


def alone(value: float, n: int) -> dict[str, float]:
    """One number of n runs, points or sizes, without an interval, as `Claim.found` wants it."""
    return {"value": float(value), "low": math.nan, "high": math.nan, "n": int(n)}


def tabulated(claims: Iterable[Claim]) -> pd.DataFrame:
    """All claims, judged; then those that have them again for each seed alone."""
    claims = list(claims)
    rows = tidy([claim.row() for claim in claims], KEYS)
    judged = judge(rows, [claim.comparison() for claim in claims])
    alone = [claim.by_seed() for claim in claims if claim.seeds is not None]
    return pd.concat([judged, *alone], ignore_index=True)


def readable(table: pd.DataFrame) -> pd.DataFrame:
    """The claims for readers: over seeds."""
    table = table[table["seed"] == ALL]
    return pd.DataFrame(
        {
            "claim": table["claim"],
            "place": table["place"],
            "setting": table["setting"],
            "quantity": table["quantity"],
            "value [95%]": [interval(r.value, r.low, r.high, 3) for r in table.itertuples()],
            "seeds": [number(n, 0) for n in table["n"]],
            "compared with": [number(value, 3) for value in table["published"]],
            "verdict": list(map(worded, table["verdict"], table["effect_share"])),
            "what it is": table["note"],
        }
    )
