"""What a simulation of the flow is compared with: grid, outcomes, critical points by kind."""

from collections.abc import Sequence

import numpy as np

from onelayer.papers.local_to_global import basins
from onelayer.papers.local_to_global.canonical import W_SADDLE, logit_gap
from onelayer.papers.local_to_global.chain import Chain

UNFINISHED = -1
REACHED = 1e-3  # a limit is told apart from the other by much more than this


def grid(extent: float, points: int) -> np.ndarray:
    """Starts of a basin map, float64 [2, points^2]: e runs fastest, then w."""
    axis = np.linspace(-extent, extent, points)
    e, w = np.meshgrid(axis, axis)
    return np.stack([e.ravel(), w.ravel()])


def shown_chains(chains: Sequence[Chain]) -> tuple[Chain, Chain]:
    """The first chain with p + q < 1, and the first with p + q > 1."""
    below = next(chain for chain in chains if chain.p + chain.q < 1)
    return below, next(chain for chain in chains if chain.p + chain.q > 1)


def outcome(theta: np.ndarray, chain: Chain) -> np.ndarray:
    """Which minimum a flow has reached: `basins.GLOBAL`, `basins.LOCAL` (e = 0), or `UNFINISHED`.

    Args:
        theta: ends [2, N] or [3, N].
        chain: its p and q.
    """
    on_global = abs(logit_gap(*theta) - chain.s_star) < REACHED
    on_local = abs(theta[0]) < REACHED
    return np.select([on_global, on_local], [basins.GLOBAL, basins.LOCAL], UNFINISHED)


def critical_points(chain: Chain) -> dict[str, list[np.ndarray]]:
    """Representatives (e, w) of every kind of critical point (theorem 1).

    Global minima are a curve, minima and maxima on e = 0 half-lines: four of each stand for all.
    """
    inner, outer = (-0.5, -0.25, 0.5, 1.0), (-2.0, -1.5, -1.2, -1.0)
    below = chain.p + chain.q < 1
    sizes = inner if below else outer
    return {
        "global minimum": [np.array([_e_on_locus(w, chain), w]) for w in sizes],
        "local minimum": [np.array([0.0, w]) for w in (outer if below else inner)],
        "local maximum": [np.array([0.0, w]) for w in (inner if below else outer)],
        "saddle": [np.array([0.0, W_SADDLE])],
    }


def _e_on_locus(w: float, chain: Chain) -> float:
    """The positive e with e^2 (1 + 2 w|w|) = s*."""
    return float(np.sqrt(chain.s_star / (1 + 2 * w * abs(w))))
