"""The paper's claims as checks: each with its number, its interval over seeds, and a verdict."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import pandas as pd

from onelayer.intervals import mean
from onelayer.papers.scan_snap import measures
from onelayer.papers.scan_snap.data import COMMON, TOKEN_CHANCES
from onelayer.papers.scan_snap.measures import spearman
from onelayer.tables import ALL, interval, number, tidy
from onelayer.verdicts import NOT_REACHED, Comparison, Direction, Measured, Number, judge, worded

KEYS = ["claim", "setting", "seed"]
CORRELATIONS = ("gain_spearman", "lr_Y_multiplier_spearman", "lr_Z_spearman")
UNMOVED = 0.01  # a change of every token's attention below this share of it: the run stood still
EARLY, WINDOW = 10, 5  # speed is taken around iteration 10 and at the end, over 5 iterations


def assemble(
    scan: pd.DataFrame,
    sweep: pd.DataFrame,
    published: pd.DataFrame,
    text: Mapping[str, pd.DataFrame],
    scan_iterations: int,
    sweep_iterations: int,
) -> pd.DataFrame:
    """All claims, tidy; then those on real text again for each seed alone, not judged.

    Args:
        scan: simulation of Fig. 4.
        sweep: simulation of Fig. 6.
        published: `entropy_sweep.read_published`.
        text: measures of each training of the language model, `text_training.tabulate_measures`.
        scan_iterations, sweep_iterations: iterations of the paper's two figures.
    """
    claims = _scan_claims(scan, scan_iterations)
    claims += _rate_claims(sweep, published, sweep_iterations)
    on_text = [claim for name, table in text.items() for claim in _text_claims(name, table)]
    claims += on_text
    rows = tidy([claim.row() for claim in claims], KEYS)
    judged = judge(rows, [claim.compared() for claim in claims])
    return pd.concat([judged, *(claim.by_seed() for claim in on_text)], ignore_index=True)


class Claim(NamedTuple):
    """One claim, with a number from every seed.

    Attributes:
        claim: in the paper's sense.
        setting: what was trained.
        quantity: the number's name.
        seeds: [seeds], NaN where a seed gives none; of real text under the seeds' numbers.
        reference, side: it holds where the interval lies above (1) or below (-1) the reference.
        note: what the number is.
        published: the same number from the published cells; NaN where there is none.
        tolerance: its rounding.
        still: whether a run has not left its start, so that nothing can be judged.
    """

    claim: str
    setting: str
    quantity: str
    seeds: np.ndarray | pd.Series
    reference: float
    side: int
    note: str
    published: float = np.nan
    tolerance: float = np.nan
    still: bool = False

    def row(self) -> dict:
        """The claim as a row of a tidy table."""
        seeds = self.seeds[~np.isnan(self.seeds)]
        most = 1.0 if self.quantity in CORRELATIONS else np.inf
        found = mean(seeds, -most, most)
        ours = Measured(*(found[name] for name in ("value", "low", "high")))
        missing = "a run stood still" if self.still else "" if len(seeds) else "no run went through"
        sign = ">" if self.side > 0 else "<"
        return found | {
            "claim": self.claim,
            "setting": self.setting,
            "seed": ALL,
            "quantity": self.quantity,
            "published": self.published,
            "tolerance": self.tolerance,
            "verdict": NOT_REACHED if missing else "",
            "note": f"{self.note}; holds where {sign} {self.reference:g}: "
            + (missing or self._holds(ours)),
        }

    def compared(self) -> Comparison:
        """With the published number where there is one, else with the sentence."""
        if np.isnan(self.published):
            return Direction(self.reference, self.side)
        return Number(self.reference)

    def by_seed(self) -> pd.DataFrame:
        """The number of each seed, tidy."""
        shared = {"claim": self.claim, "setting": self.setting, "quantity": self.quantity, "n": 1}
        found = pd.DataFrame({"seed": self.seeds.index.map(str), "value": self.seeds.to_numpy()})
        return tidy(found.assign(**shared, note="this seed alone"), KEYS)

    def _holds(self, ours: Measured) -> str:
        """Whether the claim itself holds, whatever was published."""
        verdict = Direction(self.reference, self.side).verdict(ours)
        return {"direction": "yes", "differs": "no"}.get(verdict, "open")


def _scan_claims(scan: pd.DataFrame, iterations: int) -> list[Claim]:
    times, c = measures.trajectories(scan[scan["diverged_at"] < 0])
    place = {int(iteration): index for index, iteration in enumerate(times)}
    start, end, last = c[0], c[place[iterations]], c[-1]
    gain = end / start
    chances = np.broadcast_to(TOKEN_CHANCES[COMMON:], gain[:, COMMON:].shape)
    lost = measures.common_mass(end) - measures.common_mass(start)
    setting, last_setting = (f"synthetic, {n} iterations" for n in (iterations, times[-1]))
    order = "distinct tokens gain in the order of co-occurrence"
    claims = [
        Claim("common tokens lose attention", setting, "common_mass_change", lost, 0, -1,
              f"from {measures.common_mass(start).mean():.3f}"),
        Claim(order, setting, "gain_spearman", spearman(gain[:, COMMON:], chances), 0, 1,
              "rank correlation of c(end) / c(0) with P(l) over the distinct tokens"),
        Claim(order, setting, "gain_of_most_frequent", gain[:, -1], 1, 1,
              "c(end) / c(0) of the most frequent distinct token"),
        Claim(order, setting, "gain_of_rarest", gain[:, COMMON], 1, -1,
              "c(end) / c(0) of the rarest distinct token"),
        Claim("not winner-take-all", setting, "largest_attention", end.max(axis=1), 0.5, -1,
              "the largest c of all tokens: none has most of the attention"),
        Claim("snapping: attention comes to rest", setting, "slowing_down",
              _slowing_down(c[:, :, -1], place, iterations), 0, 1,
              f"log10 of the top token's speed around iteration {EARLY} / at the end"),
    ]  # fmt: skip
    if times[-1] > iterations:
        before, after = np.abs(end - start).sum(axis=1), np.abs(last - end).sum(axis=1)
        way = np.divide(after, before, out=np.full_like(before, np.nan), where=before > 0)
        note = f"way of c from {iterations} to {times[-1]} iterations / way before (l1)"
        name = "stays snapped over more iterations"
        claims.append(Claim(name, last_setting, "way_after", way, 0.5, -1, note))
    still = bool((np.abs(gain - 1) < UNMOVED).all(axis=1).any())
    return [claim._replace(still=still) for claim in claims]


def _slowing_down(top: np.ndarray, place: Mapping[int, int], iterations: int) -> np.ndarray:
    """Log10 of the speed of the top token's c early over its speed at the end, [seeds].

    The speed at the end differs by orders of magnitude between seeds: a mean of logarithms is of
    all of them, a mean of ratios of the one that is most at rest. NaN where it has not moved.
    """
    speed = np.abs(np.diff(top, axis=0))
    early = slice(place[EARLY] - WINDOW // 2, place[EARLY] + WINDOW // 2 + 1)
    late = slice(place[iterations] - WINDOW, place[iterations])
    early, late = speed[early].mean(axis=0), speed[late].mean(axis=0)
    moving = (early > 0) & (late > 0)
    return np.log10(np.divide(early, late, out=np.full_like(early, np.nan), where=moving))


def _rate_claims(sweep: pd.DataFrame, published: pd.DataFrame, iterations: int) -> list[Claim]:
    """Larger lr_Y/lr_Z: higher entropy; larger lr_Z: lower entropy; per number of query tokens."""
    runs = measures.entropy_by_run(sweep)
    runs = runs[(runs["iteration"] == iterations) & (runs["diverged_at"] < 0)]
    claims = []
    for num_last, group in runs.groupby("num_last"):
        theirs = published[published["num_last"] == num_last]
        setting = f"synthetic, {measures.query_tokens(num_last)}"
        for claim, along, across, side in (
            ("larger lr_Y/lr_Z, higher entropy", "lr_Y_multiplier", "lr_Z", 1),
            ("larger lr_Z, sparser attention", "lr_Z", "lr_Y_multiplier", -1),
        ):
            if group[along].nunique() < 2:
                continue
            grids = [_grid(own, along, across, "entropy") for _, own in group.groupby("seed")]
            grids = np.stack([grid for grid in grids if grid is not None])
            paper = _grid(theirs, along, across, "published")
            for quantity, of_grid, what in (
                ("spearman", _trend, "rank correlation of entropy with the rate"),
                ("difference", _contrast, "entropy at the largest rate minus at the smallest"),
            ):
                value = np.nan if paper is None else float(of_grid(paper))
                note = f"{what}, mean over {across}"
                name = f"{along}_{quantity}"
                own = Claim(claim, setting, name, of_grid(grids), 0, side, note, value)
                if quantity == "difference":  # of two rounded numbers; ranks are not rounded
                    own = own._replace(tolerance=2 * theirs["tolerance"].max())
                claims.append(own)
    return claims


def _grid(table: pd.DataFrame, along: str, across: str, values: str) -> np.ndarray | None:
    """[across, along] values; None where some are missing."""
    grid = table.pivot_table(values, across, along)
    return None if grid.empty or grid.isna().any(axis=None) else grid.to_numpy()


def _trend(grids: np.ndarray) -> np.ndarray:
    """Mean over rows of the rank correlation between value and column, [...]."""
    columns = np.broadcast_to(np.arange(grids.shape[-1]), grids.shape)
    return spearman(grids, columns).mean(axis=-1)


def _contrast(grids: np.ndarray) -> np.ndarray:
    """Mean over rows of last column minus first, [...]."""
    return (grids[..., -1] - grids[..., 0]).mean(axis=-1)


def _text_claims(name: str, table: pd.DataFrame) -> list[Claim]:
    """What attention does on real text between the first and the last iteration."""
    change = _change(table)
    bins = [q for q in change if q.startswith("received[")]
    setting = f"real text, {name}"
    still = not (change["loss"] < 0).all()
    sparse, common = "attention becomes sparse", "common tokens lose attention"
    return [
        Claim(claim, setting, f"{quantity}_change", change[quantity], 0, side, note, still=still)
        for claim, quantity, side, note in (
            (sparse, "entropy", -1, "change of entropy (nats)"),
            (sparse, "top1", 1, "change of the largest weight"),
            (sparse, "sparse", 1, "change of the share of keys below a tenth of uniform"),
            (common, bins[0], -1, "change of attention on the most frequent tokens, uniform = 1"),
            (common, bins[-1], 1, "change of attention on the rarest tokens, uniform = 1"),
        )
    ]


def _change(table: pd.DataFrame) -> dict[str, pd.Series]:
    """Last minus first value of every quantity, one per seed that went through, under its seed."""
    last = table["iteration"].max()
    whole = table.groupby("seed")["iteration"].transform("max") == last
    grid = table[whole].pivot_table("value", ["quantity", "seed"], "iteration", sort=False)
    difference = (grid[last] - grid[0]).groupby("quantity", sort=False)
    return {name: own.droplevel("quantity") for name, own in difference}


def readable(table: pd.DataFrame) -> pd.DataFrame:
    """The claims for readers: over seeds."""
    table = table[table["seed"] == ALL]
    return pd.DataFrame(
        {
            "claim": table["claim"],
            "setting": table["setting"],
            "quantity": table["quantity"],
            "value [95%]": [interval(r.value, r.low, r.high, 3) for r in table.itertuples()],
            "seeds": [number(n, 0) for n in table["n"]],
            "paper": [number(value, 3) for value in table["published"]],
            "verdict": list(map(worded, table["verdict"], table["effect_share"])),
            "what it is": table["note"],
        }
    )


TITLE = "Scan and Snap: the paper's claims"
NOTES = [
    "Intervals: mean over seeds, Student's t. Entropy is of attention on a class's 10 distinct "
    "tokens (synthetic) or on all earlier tokens and the own one (real text).",
    "Verdicts: with a published number the one rule for all tables; without one 'direction' where "
    "the whole interval lies on the claim's side, 'differs' where none of it does and 'open' where "
    "a part does; 'not reached' where a run stood still or none went through. The last column says "
    "of every claim whether it holds here: 'yes', 'no', or 'open'.",
    "The published cells themselves do not rise all the way with lr_Y/lr_Z: from three query "
    "tokens on, entropy falls from 1 to 2 before it rises to 10; the Spearman rows show it.",
]
