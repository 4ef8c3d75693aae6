"""Whether it is the decoder that brings attention to rest: controls of 'snapping'.

Tian et al. (2023): after the phase transition attention is (almost) fixed because the decoder has
learned and the errors that drive attention die. The controls have the same data, start and
attention's rate, and a decoder that is slower, or frozen at its random start. No control is the
paper's: what slows down with them, too, says nothing of snapping.
"""

import numpy as np
import pandas as pd

from onelayer.evidence.claims import NOTES as ON_CLAIMS
from onelayer.evidence.claims import Claim, of_seeds, readable, tabulated
from onelayer.evidence.findings import BEYOND
from onelayer.evidence.tables import table
from onelayer.evidence.verdicts import Direction
from onelayer.papers.scan_snap import measures
from onelayer.papers.scan_snap.claims import HOLDS, STILL, slowing_down

OVER = "_over_control"
QUANTITIES = ["slowing_down", "entropy_slowing_down", "way_after", "gain_of_top_token"]


def slowing_by_seed(runs: pd.DataFrame, iterations: int) -> pd.DataFrame:
    """How attention slows down in each run of one decoder.

    Args:
        runs: of `simulation.simulate`, one size and one pair of rates.
        iterations: where speed is late.

    Returns:
        A row per seed: `slowing_down`, log10 of the early over the late speed of the top token's
        attention; `entropy_slowing_down`, the same of the entropy's change per iteration; and
        `way_after`, the way of c from `iterations` to the end over the way before (l1);
        `gain_of_top_token`, c(iterations) / c(0). NaN for a run that diverged or whose attention
        has not left its start.
    """
    index = pd.Index(sorted(runs["seed"].unique()), name="seed")
    through = runs[runs["diverged_at"] < 0]
    if through.empty:
        return pd.DataFrame(np.nan, index, QUANTITIES)
    times, c = measures.trajectories(through)  # [times, seeds, 20]
    place = {int(iteration): where for where, iteration in enumerate(times)}
    start, end = c[0], c[place[iterations]]
    before, after = np.abs(end - start).sum(axis=1), np.abs(c[-1] - end).sum(axis=1)
    found = pd.DataFrame(
        {
            "slowing_down": slowing_down(c[:, :, -1], place, iterations),
            "entropy_slowing_down": slowing_down(measures.distinct_entropy(c), place, iterations),
            "way_after": np.divide(
                after, before, out=np.full_like(before, np.nan), where=before > 0
            ),
            "gain_of_top_token": end[:, -1] / start[:, -1],
        },
        index=sorted(through["seed"].unique()),
    )
    found[(np.abs(end / start - 1) < measures.UNMOVED).all(axis=1)] = np.nan
    return found.reindex(index)


@table(
    "scan_snap/rest",
    "Claims",
    "table: coming to rest, with controls",
    target="table_rest",
    title="Scan and Snap: does attention come to rest because the decoder learns?",
    notes=[
        "Intervals: mean over seeds, Student's t. Every decoder has the same data and start for a "
        "seed; what is said of a control is a difference seed by seed.",
        *ON_CLAIMS,
        "Start: uniform, because a decoder frozen at 0 moves nothing. Half of a speed matters. "
        "The speed of the top token's c falls also where that token loses its attention "
        "(gain_of_top_token below 1), which is no rest: entropy's rows are then the sounder. "
        "Controls were predicted not to come to rest: to keep more than half of their speed, and "
        "more than a tenth of their way for later; 'opposite' is that they come to rest, too. All "
        "rows are analogues: the paper has no such control.",
    ],
    readable=readable,
    reads={"runs": "rest_simulation"},
    settings={"iterations": "scan_snap.rest.iterations"},
)
def rest(runs: pd.DataFrame, iterations: int) -> pd.DataFrame:
    """How far attention slows down with each decoder, and by how much more than with a slower."""
    of = {rate: slowing_by_seed(part, iterations) for rate, part in runs.groupby("lr_Y_multiplier")}
    own, claims = max(of), []
    notes = {
        "slowing_down": "log10 of the top token's speed early / at the end",
        "entropy_slowing_down": "log10 of the entropy's change per iteration early / at the end",
        "gain_of_top_token": "c(end) / c(0) of the top token",
        "way_after": f"way of c after {iterations} iterations / way before (l1)",
    }
    for rate, measured in of.items():
        decoder = f"lr_Y / lr_Z = {rate:.15g}" if rate else "decoder frozen"
        for quantity, note in notes.items():
            if quantity == "gain_of_top_token":
                asked = [("what the top token keeps", quantity, measured[quantity], None, note)]
                claims += _claims(asked, decoder, rate, iterations)
                continue
            side, claim = HOLDS[quantity.removeprefix("entropy_")], "attention comes to rest"
            if rate != own:  # predicted not to: the side on which that is so
                still = side.reference + side.matters
                side, claim = Direction(still, -side.side), "attention does not come to rest"
            asked = [(claim, quantity, measured[quantity], side, note)]
            if rate != own and quantity != "way_after":
                more = of[own][quantity] - measured[quantity]
                asked += [
                    ("attention comes to rest more than with this control", quantity + OVER, more,
                     HOLDS["slowing_down"], f"{note}: lr_Y / lr_Z = {own:.15g} minus this")
                ]  # fmt: skip
            claims += _claims(asked, decoder, rate, iterations)
    return tabulated(claims)


def _claims(asked: list[tuple], decoder: str, rate: float, iterations: int) -> list[Claim]:
    """What is asked of one decoder: claim, quantity, numbers by seed, side, note."""
    keys, claims = {"lr_Y_multiplier": rate, "iterations": iterations}, []
    for claim, name, seeds, side, note in asked:
        found = of_seeds(seeds, *((0,) if name in ("way_after", "gain_of_top_token") else ()))
        missing = "" if found["n"] else STILL
        texts = claim, BEYOND, decoder, name
        claims.append(Claim(*texts, found, note, side, kind="analogue", missing=missing, keys=keys))
    return claims
