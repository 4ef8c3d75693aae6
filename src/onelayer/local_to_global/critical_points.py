"""Every kind of critical point (theorems 1 and 3), and which of them a flow has reached.

With the attention scalar a there are three sets of critical points, because
grad s = (2 e g (1 + 2 a e^2), 4 |w| e^2 (1 + a e^2), e^4 g) with g = 1 + 2 w|w|: s = s*; e = 0; and
g = 0 with a e^2 = -1, which the model without a does not have. On the last s = 0 is a product of
two factors that change sign there: saddles, at the loss of the unigram model.
"""

import itertools

import numpy as np

from onelayer.local_to_global.basins import GLOBAL, LOCAL, SADDLE
from onelayer.local_to_global.canonical import W_SADDLE, logit_gap
from onelayer.settings.local_to_global import Chain

UNFINISHED = -1
REACHED = 1e-3  # limits differ by much more than this
_INNER, _OUTER = (-0.5, -0.25, 0.5, 1.0), (-2.0, -1.5, -1.2, -1.0)  # w on either side of the saddle
_ATTENTION = (-0.5, 0.5)  # a


def critical_points(chain: Chain) -> dict[str, list[np.ndarray]]:
    """Representatives (e, w) of every kind of critical point (theorem 1).

    Global minima are a curve, minima and maxima on e = 0 half-lines: four of each stand for all.
    """
    minima, maxima = (_OUTER, _INNER) if chain.below else (_INNER, _OUTER)
    on_axis = {"local minimum": minima, "local maximum": maxima, "saddle": [W_SADDLE]}
    locus = [np.array([np.sqrt(chain.s_star / (1 + 2 * w * abs(w))), w]) for w in maxima]
    flat = {name: [np.array([0.0, w]) for w in places] for name, places in on_axis.items()}
    return {"global minimum": locus} | flat


def critical_points_with_attention(chain: Chain) -> dict[str, list[np.ndarray]]:
    """Representatives (e, w, a) of every kind of critical point with the attention scalar.

    Near e = 0 the growth rate of log|e| is -2 h(0) (1 + 2 w|w|) whatever a is: the same half-lines,
    now half-planes, are minima and maxima.
    """
    with_attention = {
        kind: [np.append(point, a) for point in points for a in _ATTENTION]
        for kind, points in critical_points(chain).items()
    }
    beside = itertools.product((*_INNER, *_OUTER), _ATTENTION)
    with_attention["global minimum"] = [
        np.array([e, w, a]) for w, a in beside for e in _e_on_locus(w, a, chain)
    ]
    with_attention["saddle, e = 0"] = with_attention.pop("saddle")
    of_attention = [np.array([a**-0.5, W_SADDLE, -a]) for a in (0.25, 0.5, 1.0)]
    return with_attention | {"saddle, a e^2 = -1": of_attention}


def _e_on_locus(w: float, a: float, chain: Chain) -> list[float]:
    """Every positive e with e^2 (1 + 2 w|w|)(1 + a e^2) = s*; a is not 0."""
    squares = np.roots([a, 1, -chain.s_star / (1 + 2 * w * abs(w))])
    real = squares[np.isreal(squares)].real
    return np.sqrt(np.sort(real[real > 0])).tolist()


POINTS = {"(e, w)": critical_points, "(e, w, a)": critical_points_with_attention}


def outcome(theta: np.ndarray, chain: Chain) -> np.ndarray:
    """At which set of critical points flows [2 or 3, N] have arrived, or `UNFINISHED`.

    The sets are `GLOBAL` (s = s*), `LOCAL` (e = 0), and `SADDLE` (a e^2 = -1). Far out s changes by
    thousands over the last digits of theta that the integrator resolves, so that s = s* is meant up
    to that: |s - s*| over |grad s|, a distance of points.
    """
    e, w, a = (*theta, np.zeros_like(theta[0]))[:3]
    square, g = e * e, 1 + 2 * w * abs(w)
    k = 1 + a * square
    ascent = [2 * e * g * (2 * k - 1), 4 * abs(w) * square * k, square * square * g]
    per_way = np.maximum(1, np.linalg.norm(ascent, axis=0))
    at_global = abs(logit_gap(e, w, a) - chain.s_star) / per_way < REACHED
    at_saddle = (abs(w - W_SADDLE) < REACHED) & (abs(k) < REACHED)
    sets = [at_global, abs(e) < REACHED, at_saddle]
    return np.select(sets, [GLOBAL, LOCAL, SADDLE], UNFINISHED)
