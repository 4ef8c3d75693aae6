"""Claims of a paper: each in its words with its place, our number, an interval and a verdict.

Every paper has one table of them, `table_<paper>_claims`: its rows are `Claim`s, `tabulated` makes
the table that the CSV holds, and `readable` what readers see.
"""

import math
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np
import pandas as pd

from onelayer.evidence.findings import BEYOND as BEYOND
from onelayer.evidence.intervals import mean
from onelayer.evidence.tables import ALL, interval, number, tidy
from onelayer.evidence.verdicts import (
    NOT_REACHED,
    Comparison,
    Direction,
    Number,
    from_runs,
    judge,
    worded_all,
)

KEYS = ["claim", "place", "setting", "seed"]
NOTES = [
    "Verdicts: the one rule for all tables. Without a published number 'reproduced' where the "
    "whole interval lies on the claim's side, 'opposite' where it lies on the other, 'negligible' "
    "where all of it is nearer to the reference than what matters, else 'undecided'; 'not reached' "
    "where a run stood still or none went through.",
    "The least, the largest or the weakest of several stands for all of them: its interval reaches "
    "as far as that of any, as what is said of all must hold of each.",
]


class Claim(NamedTuple):
    """One claim in one setting, with what was measured.

    Attributes:
        claim: in the paper's words, or near them.
        place: where the paper says it: section, theorem, figure; or `BEYOND`.
        setting: what was trained or measured.
        quantity: the number's name.
        estimate: `value`, `low`, `high`, `n`: a mean over seeds (`of_seeds` below), a share of them
            (`onelayer.evidence.intervals.share`), or one number (`alone`), which alone is judged
            without an interval.
        note: what the number is.
        side: where the claim holds, if it is a sentence with a direction.
        compared: with what the number is compared; else with `published` on the side's reference
            where there is one, else with the side.
        published: the number compared with; NaN where there is none.
        tolerance: its rounding.
        kind: one of `onelayer.evidence.verdicts.KINDS` where it is not that of what it is compared
            with.
        missing: why a run did not get there, so that nothing can be judged; else empty.
        seeds: the number of each seed under the seed's own name; the CSV has them too.
        published_std: standard deviation of the published number over its runs.
        keys: values of further key columns, behind `KEYS`, by which a row is picked.
    """

    claim: str
    place: str
    setting: str
    quantity: str
    estimate: Mapping[str, float]
    note: str
    side: Direction | None = None
    compared: Comparison | None = None
    published: float = math.nan
    tolerance: float = math.nan
    kind: str = ""
    missing: str = ""
    seeds: pd.Series | None = None
    published_std: float = math.nan
    keys: Mapping[str, object] = {}

    def row(self) -> dict:
        """The claim as a row of a tidy table."""
        estimate = {name: self.estimate[name] for name in ("value", "low", "high", "n")}
        verdict = "" if self.estimate.get("exact") else from_runs(estimate)["verdict"]
        return {**self.keys, **estimate} | {
            "claim": self.claim,
            "place": self.place,
            "setting": self.setting,
            "seed": ALL,
            "quantity": self.quantity,
            "runs": math.nan if math.isnan(self.estimate["low"]) else self.estimate["n"],
            "published": self.published,
            "published_std": self.published_std,
            "tolerance": self.tolerance,
            "kind": self.kind,
            "verdict": NOT_REACHED if self.missing else verdict,
            "note": "; ".join(filter(None, [self.note, self.missing])),
        }

    def comparison(self) -> Comparison | None:
        """With what the number is compared; None: with nothing, it only describes."""
        if self.compared is not None or (self.side is None and math.isnan(self.published)):
            return self.compared
        if self.side is not None and math.isnan(self.published):
            return self.side
        if self.side is None:
            return Number(None)
        kind = "analogue" if self.side.kind == "analogue" else "published"
        return Number(self.side.reference, kind)

    def by_seed(self) -> pd.DataFrame:
        """The number of each of `seeds`, tidy; they are not judged."""
        named = {name: getattr(self, name) for name in ("claim", "place", "setting", "quantity")}
        rows = pd.DataFrame({"seed": self.seeds.index.map(str), "value": self.seeds.to_numpy()})
        rows = rows.assign(**named, **self.keys, n=1, note="this seed alone")
        return tidy(rows, [*KEYS, *self.keys])


def of_seeds(seeds: np.ndarray | pd.Series, least: float = -math.inf, most: float = math.inf):
    """The mean of a number over the seeds that gave one, as `Claim.estimate` wants it.

    Args:
        seeds: [seeds], NaN where a seed gives none.
        least, most: between which the number lies by definition.
    """
    seeds = np.asarray(seeds, dtype=float)
    return mean(seeds[~np.isnan(seeds)], least, most)


def alone(value: float, n: int) -> dict[str, float]:
    """One number of n runs, points or sizes, without an interval, as `Claim.estimate` wants it."""
    ends = {"low": math.nan, "high": math.nan}
    return {"value": float(value), **ends, "n": int(n), "exact": True}


def tabulated(claims: Iterable[Claim]) -> pd.DataFrame:
    """All claims, judged; then those that have them again for each seed alone."""
    claims = list(claims)
    further = dict.fromkeys(key for claim in claims for key in claim.keys)
    rows = tidy([dict.fromkeys(further, "") | claim.row() for claim in claims], [*KEYS, *further])
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
            "compared with": list(map(_compared_with, table.to_dict("records"))),
            "verdict": worded_all(table),
            "what it is": table["note"],
        }
    )


def _compared_with(row: Mapping[str, object]) -> str:
    """The published number; of a direction where it holds: `> 0`."""
    if not math.isnan(row["published"]) or math.isnan(row["reference"]):
        return number(row["published"], 3)
    return f"{'>' if row['effect'] > 0 else '<'} {row['reference']:g}"
