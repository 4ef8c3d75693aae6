"""Critical points of the loss, and at which of them the flow ends (theorems 1 to 3).

With the attention scalar a there are three sets of critical points, because
grad s = (2 e g (1 + 2 a e^2), 4 |w| e^2 (1 + a e^2), e^4 g) with g = 1 + 2 w|w|: s = s*; e = 0; and
g = 0 with a e^2 = -1, which the model without a does not have. On the last s = 0 is a product of
two factors that change sign there: saddles, at the loss of the unigram model.

Without a theory says where every flow ends. The energy E is constant along it and w keeps its sign,
so that a start decides its limit: the point of the same energy with s = s* or with e = 0.
"""

import functools
import itertools
import math
from collections.abc import Sequence

import numpy as np
from scipy.special import lambertw, wrightomega

from onelayer.local_to_global.canonical import E_SADDLE, W_SADDLE, energy, gap_gradient, logit_gap
from onelayer.settings.local_to_global import Chain

# The sets s = s*, e = 0, and a e^2 = -1; or none of them, yet.
GLOBAL, LOCAL, SADDLE, UNFINISHED = range(4)
REACHED = 1e-3  # limits differ by much more than this
_INNER, _OUTER = (-0.5, -0.25, 0.5, 1.0), (-2.0, -1.5, -1.2, -1.0)  # w on either side of the saddle


def critical_points(chain: Chain, attention: Sequence[float] = ()) -> dict[str, list[np.ndarray]]:
    """Representatives (e, w), or (e, w, a), of every kind of critical point (theorems 1 and 3).

    Near e = 0 log|e| grows at the rate -2 h(0) (1 + 2 w|w|) whatever a is: half-planes.
    """
    minima, maxima = (_OUTER, _INNER) if chain.below else (_INNER, _OUTER)
    saddle = "saddle, e = 0" if attention else "saddle"
    on_axis = {"local minimum": minima, "local maximum": maxima, saddle: [W_SADDLE]}
    ends = [[a] for a in attention] or [[]]  # of a point
    locus = []
    for w, end in itertools.product((*_INNER, *_OUTER), ends):  # every e > 0 with s = s*
        squares = np.roots([*end, 1, -chain.s_star / (1 + 2 * w * abs(w))])
        squares = np.sort(squares[np.isreal(squares)].real)
        locus += [np.array([e, w, *end]) for e in np.sqrt(squares[squares > 0])]
    kinds = {"global minimum": locus}
    for kind, places in on_axis.items():
        kinds[kind] = [np.array([0.0, w, *end]) for w in places for end in ends]
    if attention:
        kinds["saddle, a e^2 = -1"] = [np.array([a**-0.5, W_SADDLE, -a]) for a in (0.25, 0.5, 1.0)]
    return kinds


# The canonical model, and with the attention scalar.
POINTS = {"(e, w)": critical_points}
POINTS["(e, w, a)"] = functools.partial(critical_points, attention=(-0.5, 0.5))


def arrival(theta: np.ndarray, chain: Chain) -> np.ndarray:
    """At which set of critical points flows [2 or 3, N] have arrived, or `UNFINISHED`.

    s = s* is meant up to |s - s*| / |grad s|: far out s changes by thousands over theta's digits.
    """
    e, w, a = (*theta, 0.0)[:3]
    distance = abs(logit_gap(e, w, a) - chain.s_star)
    at_global = distance < REACHED * np.maximum(1, np.linalg.norm(gap_gradient(theta), axis=0))
    at_saddle = (abs(w - W_SADDLE) < REACHED) & (abs(1 + a * e * e) < REACHED)
    return np.select([at_global, abs(e) < REACHED, at_saddle], [GLOBAL, LOCAL, SADDLE], UNFINISHED)


def basin(e: np.ndarray, w: np.ndarray, chain: Chain) -> np.ndarray:
    """Whether the flow from (e, w) ends `GLOBAL` or `LOCAL` (theorem 2); neither e nor w is 0."""
    # On this side of the saddle's w its energy parts the two ends.
    parted = w < W_SADDLE if chain.below else (w > W_SADDLE) & (w < 0)
    local = parted & (energy(e, w) < E_SADDLE) | (w > 0) & (not chain.below)
    return np.where(local, LOCAL, GLOBAL)


def limit_points(e: np.ndarray, w: np.ndarray, chain: Chain) -> np.ndarray:
    """The limit of the flow from (e, w), float64 [2, ...], from basin and energy level alone.

    For |e|, |w| up to about 15: beyond, exp(2 E) leaves the floating-point range.
    """
    label = basin(e, w, chain)
    limit = np.stack([e, w])
    limit[0, label == LOCAL] = 0
    for sign in (1, -1):
        local = (label == LOCAL) & (np.sign(w) == sign)
        limit[1, local] = sign * _size_at_rest(energy(e[local], w[local]), sign, chain.below)
        reached = (label == GLOBAL) & (np.sign(w) == sign)
        E = energy(e[reached], w[reached])
        size = _size_at_global_minimum(E, sign, chain.s_star)
        limit[1, reached] = sign * size
        limit[0, reached] = np.sign(e[reached]) * np.sqrt(_square(E, size, sign))
    return limit


def _square(E, size, sign):  # e^2 at energy E and |w| = size
    return np.maximum(E + size * size + sign * np.log(size), 0)


def _size_at_rest(E: np.ndarray, sign: int, outer: bool) -> np.ndarray:
    """|w| at energy E on e = 0; for w < 0 the root beyond (outer) or within 1/sqrt 2."""
    if sign > 0:  # y + log y = log 2 - 2 E with y = 2 w^2
        return np.sqrt(wrightomega(math.log(2) - 2 * E) / 2)
    branch = -1 if outer else 0  # y - log y = -2 E - log 2
    inner = -2 * np.exp(np.minimum(2 * E, 2 * E_SADDLE))
    return np.sqrt(-lambertw(inner, k=branch).real / 2)


def _size_at_global_minimum(E: np.ndarray, sign: int, s_star: float) -> np.ndarray:
    """|w| at energy E with s = s*: a root between e^2 = 0 or g = 0 and |s| >= |s*|, monotone."""
    from scipy.optimize import elementwise  # no step but this needs it, and it takes long to load

    if not E.size:
        return E
    edge, closed = np.full_like(E, -W_SADDLE), E < E_SADDLE  # the energy level meets e = 0
    if sign < 0:
        edge[closed] = _size_at_rest(E[closed], sign, outer=s_star < 0)
    if sign > 0:  # a little wider: at large E the root is the end of the bracket to the last digit
        low = _size_at_rest(E, sign, outer=False)
        high = np.sqrt(wrightomega(math.log(2) - 2 * (E - s_star)) / 2) * 1.001
    elif s_star > 0:
        low, high = np.minimum(0.5, np.exp(E - 2 * s_star)), edge
    else:
        low, high = edge, np.maximum(1.0, np.sqrt(2 * np.maximum(-s_star - E, 0))) * 1.001

    def excess(log_size, E):
        size = np.exp(log_size)
        return _square(E, size, sign) * (1 + sign * 2 * size * size) - s_star

    exact = {"xatol": 1e-15, "xrtol": 1e-15, "fatol": 0.0, "frtol": 0.0}
    bracket = np.log(low), np.log(high)
    root = elementwise.find_root(excess, bracket, args=(E,), tolerances=exact, maxiter=200)
    return np.exp(root.x)
