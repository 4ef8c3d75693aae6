"""How far an integrated flow may lie from what the theorems say, from how it was integrated.

All are known before a flow is integrated. They bound the sum of the errors of all steps, as if
each was as large as the tolerance allows and none undid another; found are far smaller ones.
"""

import numpy as np

from onelayer.papers.local_to_global import canonical
from onelayer.papers.local_to_global.chain import Chain

MAX_STEPS = 5_000  # after which a trajectory is given up
SLOW_AT_REST = 1e-5  # with p + q = 1 no flow comes to rest faster than by a power of time
STANDARD_DEVIATIONS = 4.0  # how far out a normal start lies: one in 16,000 is beyond


def energy_drift(tolerance: float, reach: float, attention: bool = False) -> float:
    """The largest |change of E| that the errors of the steps allow.

    A step errs by `tolerance` times each variable, and so the energy by that times the sum of
    |x dE/dx| = 2 e^2 + (2 w^2 + 1) + 4 a^2.

    Args:
        tolerance: of a step, relative to each variable.
        reach: the largest |e|, |w| and |a|.
        attention: with the attention scalar.
    """
    slopes = 4 * reach**2 + 1 + 4 * reach**2 * attention
    return MAX_STEPS * tolerance * slopes


def limit_error(tolerance: float, at_rest: float, reach: float) -> float:
    """The largest distance of a flow's end from its limit: what is left of its way, and all steps.

    Errors across the line of limits die out, those along it add up. It bounds the error of the
    loss as well: where the gradient is 0, that is half the curvature times the distance squared.

    Args:
        tolerance, reach: as in `energy_drift`.
        at_rest: the way left at which a trajectory ends.
    """
    return at_rest + MAX_STEPS * tolerance * reach


def slow_loss_error(chain: Chain, at_rest: float, reach: float, attention: bool = False) -> float:
    """The largest error of the loss where p + q = 1 and the flow is cut off a way before s = 0.

    There L - H = L''(0) s^2 / 2, and a way d along the steepest descent of s is left where
    s = d |grad s|. At an end one factor of s = e^2 g k is 0, with g = 1 + 2 w|w| and k = 1 + a e^2:
    with e = 0 so is grad s; with g = 0 it is 4 |w| e^2 k at |w| = 1/sqrt 2; with k = 0 it is
    (-2 e g, 0, e^4 g). Where grad s falls with s, by a power of time, less than d |grad s| is left.

    Args:
        chain: with p + q = 1.
        at_rest, reach, attention: as above.
    """
    square = reach**2
    steepest = 2 * np.sqrt(2) * square * (1 + attention * reach * square)
    if attention:
        steepest = max(steepest, (1 + 2 * square) * np.hypot(2 * reach, square**2))
    curvature = float(canonical.curvature(np.asarray(0.0), chain))
    return float(curvature * (at_rest * steepest) ** 2 / 2)
