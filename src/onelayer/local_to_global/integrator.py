"""Tens of thousands of trajectories of one autonomous flow at once, each with its own step.

Dormand and Prince's pair of order 5(4), with local extrapolation; what has ended leaves the batch.
SciPy's `solve_ivp` takes one trajectory at a time, and sixteen times as long.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

# Dormand and Prince (1980): a_ij, and fifth-order minus embedded fourth-order weights.
_A = [
    np.array([1 / 5]),
    np.array([3 / 40, 9 / 40]),
    np.array([44 / 45, -56 / 15, 32 / 9]),
    np.array([19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729]),
    np.array([9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656]),
    np.array([35 / 384, 0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84]),
]
_ERROR = np.array([71 / 57600, 0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40])
_TOLERANCE = 1e-8  # by which a step may err, relative to each variable
_SAFETY, _SHRINK, _GROW = 0.9, 0.2, 5.0  # of the next step's length
_FIRST = 0.01  # first step, as a share of the time in which the flow changes a point by itself
# A variable's error is relative down to this size of the variable. From large e the flow takes w
# to 1e-35: an absolute error of any size would lose the energy there, or carry w through 0.
_SMALLEST = 1e-100
_KEPT = 0.8  # the batch is packed when less than this share of it is still under way

Field = Callable[[np.ndarray], np.ndarray]


class Trajectories(NamedTuple):
    """N trajectories of d variables, under way or where they ended."""

    theta: np.ndarray  # where they are, float64 [d, N]
    time: np.ndarray  # integration time so far, [N]
    rate: np.ndarray  # d theta/dt there, [d, N]
    step: np.ndarray  # the length of the next step, [N]
    at_rest: np.ndarray  # bool [N], the limit was reached, not the end of time or steps
    steps: np.ndarray  # int [N], steps tried, rejected ones included
    until: np.ndarray  # the time at which each ends, [N]


def integrate(
    field: Field, start: np.ndarray, *, until=math.inf, stop_below=1e-7, max_steps=5_000
) -> Trajectories:
    """Follow every trajectory until it is at rest or its time is up.

    At rest: its speed v is falling, and what is left of its way, v |change of theta| / |change of
    d theta/dt| over the last step, is below `stop_below`. A bound of v alone would stop it beside
    critical points that it approaches slowly or will leave, and never where the flow is stiff.

    The field is d theta/dt, [d, N] to [d, N], starts are float64 [d, N], `until` of all or each;
    `max_steps` end it, not at rest.
    """
    until = np.broadcast_to(np.asarray(until, dtype=np.float64), start.shape[1:]).copy()
    rate, time = field(start), np.zeros(start.shape[1])
    first = _FIRST * np.maximum(_size(start), _SMALLEST) / np.maximum(_size(rate), 1e-300)
    step, at_rest = np.minimum(np.minimum(first, until), 1e6), (rate == 0).all(axis=0)
    now = Trajectories(start.copy(), time, rate, step, at_rest, time.astype(np.int64), until)
    ends = Trajectories(*(part.copy() for part in now))
    place = np.arange(len(time))  # of each trajectory under way
    for taken in range(max_steps + 1):
        ended = now.at_rest | (now.time >= now.until) | (taken == max_steps)
        under_way = int((~ended).sum())
        if under_way < _KEPT * len(place) or not under_way:
            for end, part in zip(ends, now, strict=True):
                end[..., place[ended]] = part[..., ended]
            place, now = place[~ended], Trajectories(*(part[..., ~ended] for part in now))
        if not under_way:
            break
        # A trial that leaves the floating-point range is one whose step was much too long.
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            now = _advance(field, now, stop_below)
    return ends


def _advance(field: Field, now: Trajectories, stop_below: float) -> Trajectories:
    """Try one step with every trajectory; it moves where the error is within the tolerance."""
    theta, time, rate, step, at_rest, steps, until = now
    ended = at_rest | (time >= until)  # moves no more, even in the batch
    length = np.where(ended, 0.0, np.minimum(step, until - time))
    k = np.empty((7, *theta.shape))  # the rates at all stages; the last are those ahead
    k[0] = rate
    for stage, row in enumerate(_A, start=1):
        ahead = theta + length * np.tensordot(row, k[:stage], axes=1)
        k[stage] = field(ahead)
    deviation = length * np.tensordot(_ERROR, k, axes=1)
    scale = np.maximum(np.maximum(abs(theta), abs(ahead)), _SMALLEST)
    error = (abs(deviation) / (_TOLERANCE * scale)).max(axis=0)
    error = np.where(np.isfinite(error), error, np.inf)
    moved = (error <= 1) & ~ended
    before, speed = _size(rate), _size(k[6])
    near = speed * _size(ahead - theta) <= stop_below * _size(k[6] - rate)
    step = step * np.clip(_SAFETY * np.maximum(error, 1e-12) ** -0.2, _SHRINK, _GROW)
    at_rest = at_rest | (moved & (near & (speed < before) | (speed == 0)))
    theta, rate = np.where(moved, ahead, theta), np.where(moved, k[6], rate)
    time = np.where(moved, time + length, time)
    return Trajectories(theta, time, rate, step, at_rest, steps + ~ended, until)


def _size(vectors: np.ndarray) -> np.ndarray:
    return np.sqrt((vectors * vectors).sum(axis=0))
