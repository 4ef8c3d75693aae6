"""What a simulation of the flow is compared with: grid, outcomes, critical points by kind.

With the attention scalar a there are three sets of critical points, because
grad s = (2 e g (1 + 2 a e^2), 4 |w| e^2 (1 + a e^2), e^4 g) with g = 1 + 2 w|w|: s = s*; e = 0; and
g = 0 with a e^2 = -1, which the model without a does not have. On the last s = 0 is a product of
two factors that change sign there: saddles, at the loss of the unigram model.
"""

from collections.abc import Sequence

import numpy as np

from onelayer.papers.local_to_global import basins
from onelayer.papers.local_to_global.canonical import W_SADDLE, logit_gap
from onelayer.papers.local_to_global.chain import Chain

MODELS = {2: "(e, w)", 3: "(e, w, a)"}  # by the number of variables
UNFINISHED = -1
REACHED = 1e-3  # a limit is told apart from the other by much more than this
_INNER, _OUTER = (-0.5, -0.25, 0.5, 1.0), (-2.0, -1.5, -1.2, -1.0)  # w on either side of the saddle
_ATTENTION = (-0.5, 0.5)  # a


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
    below = chain.p + chain.q < 1
    sizes = _INNER if below else _OUTER
    return {
        "global minimum": [np.array([_e_on_locus(w, chain), w]) for w in sizes],
        "local minimum": [np.array([0.0, w]) for w in (_OUTER if below else _INNER)],
        "local maximum": [np.array([0.0, w]) for w in (_INNER if below else _OUTER)],
        "saddle": [np.array([0.0, W_SADDLE])],
    }


def critical_points_with_attention(chain: Chain) -> dict[str, list[np.ndarray]]:
    """Representatives (e, w, a) of every kind of critical point with the attention scalar.

    Near e = 0 the growth rate of log|e| is -2 h(0) (1 + 2 w|w|) whatever a is: the same half-lines,
    now half-planes, are minima and maxima.
    """
    below = chain.p + chain.q < 1
    minima, maxima = (_OUTER, _INNER) if below else (_INNER, _OUTER)
    on_locus = [
        np.array([e, w, a])
        for w in (*_INNER, *_OUTER)
        for a in _ATTENTION
        for e in _e_on_locus_with_attention(w, a, chain)
    ]
    return {
        "global minimum": on_locus,
        "local minimum": [np.array([0.0, w, a]) for w in minima for a in _ATTENTION],
        "local maximum": [np.array([0.0, w, a]) for w in maxima for a in _ATTENTION],
        "saddle, e = 0": [np.array([0.0, W_SADDLE, a]) for a in _ATTENTION],
        "saddle, a e^2 = -1": [np.array([a**-0.5, W_SADDLE, -a]) for a in (0.25, 0.5, 1.0)],
    }


def _e_on_locus(w: float, chain: Chain) -> float:
    """The positive e with e^2 (1 + 2 w|w|) = s*."""
    return float(np.sqrt(chain.s_star / (1 + 2 * w * abs(w))))


def _e_on_locus_with_attention(w: float, a: float, chain: Chain) -> list[float]:
    """Every positive e with e^2 (1 + 2 w|w|)(1 + a e^2) = s*; a is not 0."""
    squares = np.roots([a, 1, -chain.s_star / (1 + 2 * w * abs(w))])
    real = squares[np.isreal(squares)].real
    return np.sqrt(np.sort(real[real > 0])).tolist()


def outcome_with_attention(theta: np.ndarray, chain: Chain) -> np.ndarray:
    """At which set of critical points a flow of (e, w, a) has arrived, or `UNFINISHED`.

    Far out s changes by thousands over the last digits of theta that the integrator resolves, so
    that s = s* is meant up to that: |s - s*| over |grad s|, a distance of points.

    Args:
        theta: ends [3, N].
        chain: its p and q.

    Returns:
        `basins.GLOBAL` (s = s*), `basins.LOCAL` (e = 0), `basins.SADDLE` (a e^2 = -1), [N].
    """
    e, w, a = theta
    square, g = e * e, 1 + 2 * w * abs(w)
    k = 1 + a * square
    ascent = [2 * e * g * (2 * k - 1), 4 * abs(w) * square * k, square * square * g]
    distance = abs(logit_gap(*theta) - chain.s_star) / np.maximum(1, np.linalg.norm(ascent, axis=0))
    at_saddle = (abs(w - W_SADDLE) < REACHED) & (abs(k) < REACHED)
    return np.select(
        [distance < REACHED, abs(e) < REACHED, at_saddle],
        [basins.GLOBAL, basins.LOCAL, basins.SADDLE],
        UNFINISHED,
    )
