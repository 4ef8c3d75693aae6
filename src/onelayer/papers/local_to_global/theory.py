"""What a simulation of the flow is compared with, and how far from it the integration may lie.

With the attention scalar a there are three sets of critical points, because
grad s = (2 e g (1 + 2 a e^2), 4 |w| e^2 (1 + a e^2), e^4 g) with g = 1 + 2 w|w|: s = s*; e = 0; and
g = 0 with a e^2 = -1, which the model without a does not have. On the last s = 0 is a product of
two factors that change sign there: saddles, at the loss of the unigram model.

The bounds of the errors are known before a flow is integrated. They bound the sum of the errors of
all steps, as if each was as large as the tolerance allows and none undid another; actual errors are
far smaller.
"""

from collections.abc import Sequence

import numpy as np

from onelayer.papers.local_to_global import basins, canonical
from onelayer.papers.local_to_global.canonical import W_SADDLE, logit_gap
from onelayer.papers.local_to_global.chain import Chain
from onelayer.settings.local_to_global import ChainSettings

MODELS = {2: "(e, w)", 3: "(e, w, a)"}  # by the number of variables
UNFINISHED = -1
REACHED = 1e-3  # limits differ by much more than this
MAX_STEPS = 5_000  # after which a trajectory is given up
SLOW_AT_REST = 1e-5  # with p + q = 1 no flow comes to rest faster than by a power of time
STANDARD_DEVIATIONS = 4.0  # how far out a normal start lies: one in 16,000 is beyond
_INNER, _OUTER = (-0.5, -0.25, 0.5, 1.0), (-2.0, -1.5, -1.2, -1.0)  # w on either side of the saddle
_ATTENTION = (-0.5, 0.5)  # a


def grid(extent: float, points: int) -> np.ndarray:
    """Starts of a basin map, float64 [2, points^2]: e runs fastest, then w."""
    axis = np.linspace(-extent, extent, points)
    e, w = np.meshgrid(axis, axis)
    return np.stack([e.ravel(), w.ravel()])


def shown_chains(chains: Sequence[Chain | ChainSettings]) -> tuple[Chain, Chain]:
    """The first chain with p + q < 1, and the first with p + q > 1."""
    below = next(chain for chain in chains if chain.p + chain.q < 1)
    above = next(chain for chain in chains if chain.p + chain.q > 1)
    return Chain.of(below), Chain.of(above)


def outcome(theta: np.ndarray, chain: Chain) -> np.ndarray:
    """Which minimum flows [2 or 3, N] have reached: `basins.GLOBAL`, `LOCAL`, or `UNFINISHED`."""
    on_global = abs(logit_gap(*theta) - chain.s_star) < REACHED
    on_local = abs(theta[0]) < REACHED
    return np.select([on_global, on_local], [basins.GLOBAL, basins.LOCAL], UNFINISHED)


def critical_points(chain: Chain) -> dict[str, list[np.ndarray]]:
    """Representatives (e, w) of every kind of critical point (theorem 1).

    Global minima are a curve, minima and maxima on e = 0 half-lines: four of each stand for all.
    """
    minima, maxima = (_OUTER, _INNER) if chain.p + chain.q < 1 else (_INNER, _OUTER)
    locus = [np.array([np.sqrt(chain.s_star / (1 + 2 * w * abs(w))), w]) for w in maxima]
    return {
        "global minimum": locus,
        "local minimum": [np.array([0.0, w]) for w in minima],
        "local maximum": [np.array([0.0, w]) for w in maxima],
        "saddle": [np.array([0.0, W_SADDLE])],
    }


def critical_points_with_attention(chain: Chain) -> dict[str, list[np.ndarray]]:
    """Representatives (e, w, a) of every kind of critical point with the attention scalar.

    Near e = 0 the growth rate of log|e| is -2 h(0) (1 + 2 w|w|) whatever a is: the same half-lines,
    now half-planes, are minima and maxima.
    """
    with_attention = {
        kind: [np.append(point, a) for point in points for a in _ATTENTION]
        for kind, points in critical_points(chain).items()
    }
    with_attention["global minimum"] = [
        np.array([e, w, a])
        for w in (*_INNER, *_OUTER)
        for a in _ATTENTION
        for e in _e_on_locus(w, a, chain)
    ]
    with_attention["saddle, e = 0"] = with_attention.pop("saddle")
    of_attention = [np.array([a**-0.5, W_SADDLE, -a]) for a in (0.25, 0.5, 1.0)]
    return with_attention | {"saddle, a e^2 = -1": of_attention}


def _e_on_locus(w: float, a: float, chain: Chain) -> list[float]:
    """Every positive e with e^2 (1 + 2 w|w|)(1 + a e^2) = s*; a is not 0."""
    squares = np.roots([a, 1, -chain.s_star / (1 + 2 * w * abs(w))])
    real = squares[np.isreal(squares)].real
    return np.sqrt(np.sort(real[real > 0])).tolist()


def outcome_with_attention(theta: np.ndarray, chain: Chain) -> np.ndarray:
    """At which set of critical points flows of (e, w, a), [3, N], have arrived, or `UNFINISHED`.

    Far out s changes by thousands over the last digits of theta that the integrator resolves, so
    that s = s* is meant up to that: |s - s*| over |grad s|, a distance of points. The sets are
    `basins.GLOBAL` (s = s*), `basins.LOCAL` (e = 0), and `basins.SADDLE` (a e^2 = -1).
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


def energy_drift(tolerance: float, reach: float, attention: bool = False) -> float:
    """The largest |change of E| that the errors of the steps allow.

    A step errs by `tolerance` times each variable, and so the energy by that times the sum of
    |x dE/dx| = 2 e^2 + (2 w^2 + 1) + 4 a^2, where none of them is larger than `reach`.
    """
    slopes = 4 * reach**2 + 1 + 4 * reach**2 * attention
    return MAX_STEPS * tolerance * slopes


def limit_error(tolerance: float, at_rest: float, reach: float) -> float:
    """The largest distance of a flow's end from its limit: what is left of its way, and all steps.

    Errors across the line of limits die out, those along it add up. It bounds the error of the
    loss as well: where the gradient is 0, that is half the curvature times the distance squared.
    """
    return at_rest + MAX_STEPS * tolerance * reach


def slow_loss_error(chain: Chain, at_rest: float, reach: float, attention: bool = False) -> float:
    """The largest error of the loss where p + q = 1 and the flow is cut off a way before s = 0.

    There L - H = L''(0) s^2 / 2, and a way d along the steepest descent of s is left where
    s = d |grad s|. At an end one factor of s = e^2 g k is 0, with g = 1 + 2 w|w| and k = 1 + a e^2:
    with e = 0 so is grad s; with g = 0 it is 4 |w| e^2 k at |w| = 1/sqrt 2; with k = 0 it is
    (-2 e g, 0, e^4 g). Where grad s falls with s, by a power of time, less than d |grad s| is left.
    """
    square = reach**2
    steepest = 2 * np.sqrt(2) * square * (1 + attention * reach * square)
    if attention:
        steepest = max(steepest, (1 + 2 * square) * np.hypot(2 * reach, square**2))
    curvature = float(canonical.curvature(np.asarray(0.0), chain))
    return float(curvature * (at_rest * steepest) ** 2 / 2)
