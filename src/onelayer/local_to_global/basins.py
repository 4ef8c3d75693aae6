"""Where the gradient flow of (e, w) ends, from theory alone (theorems 1 and 2).

The energy E is constant along the flow and w keeps its sign, so that a start decides its limit: it
is the point of the same energy with s = s* (global minimum) or with e = 0 (local minimum). For
p + q = 1, which settings refuse, no theorem says where.
"""

import math

import numpy as np
from scipy.optimize import elementwise
from scipy.special import lambertw, wrightomega

from onelayer.local_to_global.canonical import E_SADDLE, W_SADDLE, energy
from onelayer.settings.local_to_global import Chain

GLOBAL, LOCAL, SADDLE, STAYS = range(4)


def basin(e: np.ndarray, w: np.ndarray, chain: Chain) -> np.ndarray:
    """Where the flow from (e, w) ends: `GLOBAL`, `LOCAL`, `SADDLE`, or `STAYS` for e = 0; int8.

    w = 0 stays 0 and has no energy: the flow reaches s* = e^2 for p + q < 1, else e = 0.
    """
    E = energy(e, w)
    # On this side of the saddle's w its energy parts the two ends.
    parted = w < W_SADDLE if chain.below else (w > W_SADDLE) & (w < 0)
    local = parted & (E < E_SADDLE) | (w >= 0) & (not chain.below)
    label = np.where(local, LOCAL, GLOBAL)
    label = np.where(parted & (E == E_SADDLE), SADDLE, label)
    return np.where(e == 0, STAYS, label).astype(np.int8)


def limit_points(e: np.ndarray, w: np.ndarray, chain: Chain) -> np.ndarray:
    """The limit of the flow from (e, w), float64 [2, ...], from basin and energy level alone.

    Accurate for |e|, |w| up to about 15 (beyond, exp(2 E) leaves the floating-point range).
    """
    label = basin(e, w, chain)
    limit = np.stack([e, w])
    limit[:, label == SADDLE] = [[0], [W_SADDLE]]
    limit[0, label == LOCAL] = 0
    on_axis = (label == GLOBAL) & (w == 0)
    limit[0, on_axis] = np.sign(e[on_axis]) * math.sqrt(max(chain.s_star, 0))
    for sign in (1, -1):
        local = (label == LOCAL) & (np.sign(w) == sign)
        outer = chain.below
        limit[1, local] = sign * _size_at_rest(energy(e[local], w[local]), sign, outer)
        reached = (label == GLOBAL) & (np.sign(w) == sign)
        E = energy(e[reached], w[reached])
        size = _size_at_global_minimum(E, sign, chain.s_star)
        limit[1, reached] = sign * size
        limit[0, reached] = np.sign(e[reached]) * np.sqrt(_square(E, size, sign))
    return limit


def _square(E: np.ndarray, size: np.ndarray, sign: int) -> np.ndarray:
    """e^2 at energy E and |w| = size."""
    return np.maximum(E + size * size + sign * np.log(size), 0)


def _size_at_rest(E: np.ndarray, sign: int, outer: bool) -> np.ndarray:
    """|w| at energy E on e = 0; for w < 0 the root beyond (outer) or within 1/sqrt 2."""
    if sign > 0:  # y + log y = log 2 - 2 E with y = 2 w^2
        return np.sqrt(wrightomega(math.log(2) - 2 * E) / 2)
    branch = -1 if outer else 0  # y - log y = -2 E - log 2
    inner = -2 * np.exp(np.minimum(2 * E, 2 * E_SADDLE))
    return np.sqrt(-lambertw(inner, k=branch).real / 2)


def _size_at_global_minimum(E: np.ndarray, sign: int, s_star: float) -> np.ndarray:
    """|w| at energy E with s = s*, by bracketing a function that is monotone in |w|."""
    if not E.size:
        return E
    low, high = _bracket(E, sign, s_star)

    def excess(log_size: np.ndarray, E: np.ndarray) -> np.ndarray:
        size = np.exp(log_size)
        g = 1 + sign * 2 * size * size
        return _square(E, size, sign) * g - s_star

    tolerances = {"xatol": 1e-15, "xrtol": 1e-15, "fatol": 0.0, "frtol": 0.0}
    root = elementwise.find_root(
        excess, (np.log(low), np.log(high)), args=(E,), tolerances=tolerances, maxiter=200
    )
    return np.exp(root.x)


def _bracket(E: np.ndarray, sign: int, s_star: float) -> tuple[np.ndarray, np.ndarray]:
    """Values of |w| below and above the root: e^2 = 0 or g = 0 on one side, |s| >= |s*| beyond."""
    edge = np.full_like(E, -W_SADDLE)
    if sign > 0:
        low = _size_at_rest(E, sign, outer=False)
        # A little wider: at large E the root is the end of the bracket to the last digit.
        return low, np.sqrt(wrightomega(math.log(2) - 2 * (E - s_star)) / 2) * 1.001
    closed = E < E_SADDLE  # the energy level meets e = 0
    if s_star > 0:
        edge[closed] = _size_at_rest(E[closed], sign, outer=False)
        return np.minimum(0.5, np.exp(E - 2 * s_star)), edge
    edge[closed] = _size_at_rest(E[closed], sign, outer=True)
    return edge, np.maximum(1.0, np.sqrt(2 * np.maximum(-s_star - E, 0))) * 1.001
