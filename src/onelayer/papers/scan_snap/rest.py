"""Whether it is the decoder that brings attention to rest: controls of 'snapping'.

Tian et al. (2023): after the phase transition attention is (almost) fixed because the decoder has
learned and the errors that drive attention die. Attention that slows down with a slower or frozen
decoder, too, does not show that.
"""

import numpy as np
import pandas as pd

from onelayer.evidence.claims import BEYOND, Claim, of_seeds, readable, tabulated
from onelayer.evidence.claims import NOTES as ON_CLAIMS
from onelayer.evidence.tables import table
from onelayer.evidence.verdicts import Direction
from onelayer.papers.scan_snap import measures
from onelayer.papers.scan_snap.claims import HOLDS, STILL
from onelayer.papers.scan_snap.measures import slowing_down

# What is measured of every decoder.
NOTES = {
    "slowing_down": "log10 of the top token's speed early / at the end",
    "entropy_slowing_down": "log10 of the entropy's change per iteration early / at the end",
    "gain_of_top_token": "c(end) / c(0) of the top token",
    "way_after": "way of c after {} iterations / way before (l1)",
}


def slowing_by_seed(runs: pd.DataFrame, iterations: int) -> pd.DataFrame:
    """How attention slows down in each run of one decoder.

    Args:
        runs: of `simulation.simulate`, one size and one pair of rates.
        iterations: where speed is late; until there attention was kept at every iteration.

    Returns:
        A row per seed: `slowing_down`, `measures.slowing_down` of the top token's attention;
        `entropy_slowing_down`, the same of the entropy; `way_after`, `measures.way_after`; and
        `gain_of_top_token`, c(iterations) / c(0). NaN for a run that diverged or whose attention
        has not left its start.
    """
    index = pd.Index(sorted(runs["seed"].unique()), name="seed")
    through = runs[runs["diverged_at"] < 0]
    if through.empty:
        return pd.DataFrame(np.nan, index, NOTES)
    _, c = measures.trajectories(through)  # [times, seeds, 20]
    gain = c[iterations] / c[0]
    slowing = pd.DataFrame(
        {
            "slowing_down": slowing_down(c[:, :, -1], iterations),
            "entropy_slowing_down": slowing_down(measures.distinct_entropy(c), iterations),
            "way_after": measures.way_after(c, iterations),
            "gain_of_top_token": gain[:, -1],
        },
        index=sorted(through["seed"].unique()),
    )
    slowing[(np.abs(gain - 1) < measures.UNMOVED).all(axis=1)] = np.nan
    return slowing.reindex(index)


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
    fastest, claims = max(of), []

    def add(
        rate: float, words: str, quantity: str, seeds: pd.Series, side: Direction | None, note: str
    ) -> None:
        decoder = f"lr_Y / lr_Z = {rate:.15g}" if rate else "decoder frozen"
        ends = (0,) if quantity in ("way_after", "gain_of_top_token") else ()
        estimate = of_seeds(seeds, *ends)
        missing = "" if estimate["n"] else STILL
        keys = {"lr_Y_multiplier": rate, "iterations": iterations}
        given = words, BEYOND, decoder, quantity, estimate, note, side
        claims.append(Claim(*given, kind="analogue", missing=missing, keys=keys))

    for rate, measured in of.items():
        for quantity, note in NOTES.items():
            note = note.format(iterations)
            if quantity == "gain_of_top_token":
                add(rate, "what the top token keeps", quantity, measured[quantity], None, note)
                continue
            side, words = HOLDS[quantity.removeprefix("entropy_")], "attention comes to rest"
            if rate != fastest:  # predicted not to come to rest: the other side
                still = side.reference + side.matters
                side, words = Direction(still, -side.side), "attention does not come to rest"
            add(rate, words, quantity, measured[quantity], side, note)
            if rate != fastest and quantity != "way_after":
                words = "attention comes to rest more than with this control"
                more = of[fastest][quantity] - measured[quantity]
                note += f": lr_Y / lr_Z = {fastest:.15g} minus this"
                add(rate, words, f"{quantity}_over_control", more, HOLDS["slowing_down"], note)
    return tabulated(claims)
