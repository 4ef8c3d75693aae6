"""Tens of thousands of trajectories of one autonomous flow at once, each with its own step.

Dormand and Prince's pair of order 5(4), with local extrapolation. A trajectory that has ended
leaves the batch, so that the slow ones do not hold up the rest. On a GPU, which is large enough, it
may stay for a while: there the host would wait to learn of it.

torchode 1.0.1 has no stop at rest, keeps ended trajectories in the batch, and took three times as
long for the same way of 40,000 trajectories on one thread.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from onelayer.compute.device import on_gpu, to_device
from onelayer.compute.graphs import Graphed
from onelayer.papers.local_to_global.theory import MAX_STEPS

# Dormand and Prince (1980): a_ij, and fifth-order minus embedded fourth-order weights.
_A = [
    [1 / 5],
    [3 / 40, 9 / 40],
    [44 / 45, -56 / 15, 32 / 9],
    [19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729],
    [9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656],
    [35 / 384, 0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84],
]
_ERROR = [71 / 57600, 0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40]
_SAFETY, _SHRINK, _GROW = 0.9, 0.2, 5.0
_FIRST = 0.01  # first step, as a share of the time in which the flow changes a point by itself
_SMALLEST = 1e-6  # a variable's error is relative down to this size of the variable
_KEPT = 0.8  # the batch is packed when less than this share of it is still under way
_KEPT_ON_GPU = 0.25
_LOOK_EVERY = 20  # steps on a GPU after which the host asks how many are under way

Field = Callable[[Tensor], Tensor]


class Trajectories(NamedTuple):
    """N trajectories of d variables, under way or where they ended.

    Attributes:
        theta: where they are, float64 [d, N].
        time: integration time so far, [N].
        rate: d theta/dt there, [d, N].
        step: the length of the next step, [N].
        at_rest: bool [N], stopped because its limit was reached, not for want of time or steps.
        steps: int64 [N], steps tried, rejected ones included.
        until: the time at which each ends, [N].
    """

    theta: Tensor
    time: Tensor
    rate: Tensor
    step: Tensor
    at_rest: Tensor
    steps: Tensor
    until: Tensor

    @property
    def ended(self) -> Tensor:
        """Which are at rest or at the end of their time; they move no more, even in the batch."""
        return self.at_rest | (self.time >= self.until)


def integrate(
    field: Field,
    start: Tensor,
    *,
    until: float | Tensor = math.inf,
    tolerance: float = 1e-8,
    stop_below: float = 1e-6,
    max_steps: int = MAX_STEPS,
) -> Trajectories:
    """Follow every trajectory until it is at rest or its time is up.

    A trajectory is at rest when its speed v = |d theta/dt| is falling and what is left of its way,
    estimated as v |change of theta| / |change of d theta/dt| over the last step, is below
    `stop_below`. A bound of the speed alone would stop it anywhere beside a line of critical points
    that it approaches slowly or is about to leave, and never where the flow is stiff: there, the
    errors of the steps alone keep the speed up.

    Args:
        field: d theta/dt, [d, N] to [d, N], for any N, trajectory by trajectory.
        start: float64 [d, N], finite; decides the device.
        until: time at which to end, for all trajectories or [N] of them.
        tolerance: positive bound of a step's error, relative to each variable (down to a size of
            1e-6).
        stop_below: bound of the way left at rest.
        max_steps: where to give up a trajectory (not at rest, time not up).
    """
    until = torch.as_tensor(until, dtype=start.dtype).to(start.device).expand(start.shape[1])
    rate, time = field(start), torch.zeros_like(start[0])
    first = _FIRST * _size(start).clamp_min(_SMALLEST) / _size(rate).clamp_min(1e-300)
    now = Trajectories(
        theta=start.clone(),
        time=time,
        rate=rate,
        step=torch.minimum(first, until).clamp_max(1e6),
        at_rest=(rate == 0).all(dim=0),
        steps=time.long(),
        until=until,
    )
    ends = Trajectories(*(part.clone() for part in now))
    place = torch.arange(len(time), device=start.device)  # of each trajectory under way
    advance = _stepper(field, start, tolerance, stop_below)
    every, kept = (_LOOK_EVERY, _KEPT_ON_GPU) if on_gpu(start.device) else (1, _KEPT)
    for taken in range(max_steps + 1):
        if taken % every == 0 or taken == max_steps:
            ended = now.ended if taken < max_steps else torch.ones_like(now.at_rest)
            if (under_way := int((~ended).sum())) < kept * len(place) or not under_way:
                gone, going = place[ended], torch.nonzero(~ended).squeeze(1)
                for end, part in zip(ends, now, strict=True):
                    end[..., gone] = part[..., ended]
                place, now = place[going], Trajectories(*(part[..., going] for part in now))
            if not under_way:
                break
        now = advance(now)
    return ends


def _stepper(
    field: Field, start: Tensor, tolerance: float, stop_below: float
) -> Callable[[Trajectories], Trajectories]:
    """What takes a batch one step further, with Dormand and Prince's numbers where start is."""
    tableau = [to_device(torch.tensor(row, dtype=start.dtype), start.device) for row in _A]
    weights = to_device(torch.tensor(_ERROR, dtype=start.dtype), start.device)

    def advance(now: Trajectories) -> Trajectories:
        theta, time, rate, step, at_rest, steps, until = now
        ended = now.ended
        length = torch.where(ended, 0.0, torch.minimum(step, until - time))
        k = theta.new_empty(7, *theta.shape)  # the rates at all stages; the last are those ahead
        k[0] = rate
        for stage, row in enumerate(tableau, start=1):
            ahead = theta + length * torch.tensordot(row, k[:stage], dims=1)
            k[stage] = field(ahead)
        deviation = length * torch.tensordot(weights, k, dims=1)
        scale = torch.maximum(theta.abs(), ahead.abs()).clamp_min(_SMALLEST)
        error = (deviation.abs() / (tolerance * scale)).amax(dim=0)
        # A trial that leaves the floating-point range is one whose step was much too long.
        error = torch.nan_to_num(error, nan=torch.inf, posinf=torch.inf)
        moved = (error <= 1) & ~ended
        before, speed = _size(rate), _size(k[6])
        near = speed * _size(ahead - theta) <= stop_below * _size(k[6] - rate)
        return Trajectories(
            theta=torch.where(moved, ahead, theta),
            time=torch.where(moved, time + length, time),
            rate=torch.where(moved, k[6], rate),
            step=step * (_SAFETY * error.clamp_min(1e-12) ** -0.2).clamp(_SHRINK, _GROW),
            at_rest=at_rest | (moved & (near & (speed < before) | (speed == 0))),
            steps=steps + ~ended,
            until=until,
        )

    return Graphed(advance, start.device)


def _size(vectors: Tensor) -> Tensor:
    # torch.linalg.norm over the first of two dimensions takes fifty times as long.
    return (vectors * vectors).sum(dim=0).sqrt()
