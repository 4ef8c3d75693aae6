"""Tens of thousands of trajectories of one autonomous flow at once, each with its own step.

Dormand and Prince's pair of order 5(4), with local extrapolation. A trajectory that has ended
leaves the batch, so that the slow ones do not hold up the rest. On a GPU, which is large enough, it
may stay for a while: there the host would wait to learn of it.

torchode 1.0.1 also has a step per trajectory, but no stop at rest; it keeps ended trajectories in
the batch, and took three times as long for the same way of 40,000 trajectories on one thread.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from onelayer.compute.device import on_gpu, to_device
from onelayer.compute.graphs import Graphed
from onelayer.papers.local_to_global.accuracy import MAX_STEPS

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


@dataclass(frozen=True, eq=False)
class Ends:
    """Where N trajectories of d variables ended.

    Attributes:
        theta: float64 [d, N].
        time: float64 [N], integration time.
        steps: int64 [N], steps tried, rejected ones included.
        at_rest: bool [N], stopped because its limit was reached, not for want of time or steps.
    """

    theta: Tensor
    time: Tensor
    steps: Tensor
    at_rest: Tensor


def integrate(
    field: Field,
    start: Tensor,
    *,
    until: float | Tensor = math.inf,
    tolerance: float = 1e-8,
    stop_below: float = 1e-6,
    max_steps: int = MAX_STEPS,
) -> Ends:
    """Follow every trajectory until it is at rest or its time is up.

    A trajectory is at rest when its speed v = |d theta/dt| is falling and what is left of its way,
    estimated as v |change of theta| / |change of d theta/dt| over the last step, is below
    `stop_below`. A bound of the speed alone would stop it anywhere beside a line of critical points
    that it approaches slowly or is about to leave, and never where the flow is stiff: there, the
    errors of the steps alone keep the speed up.

    Args:
        field: d theta/dt, [d, N] to [d, N], for any N, trajectory by trajectory.
        start: float64 [d, N]; decides the device.
        until: time at which to end, for all trajectories or [N] of them.
        tolerance: bound of a step's error, relative to each variable (down to a size of 1e-6).
        stop_below: bound of the way left at rest.
        max_steps: where to give up a trajectory (not at rest, time not up).

    Raises:
        ValueError: the tolerance is not positive, or a start is not finite.
    """
    if not tolerance > 0:
        raise ValueError(f"tolerance = {tolerance:g}: must be positive")
    if not bool(torch.isfinite(start).all()):
        raise ValueError("a trajectory starts at a point that is not finite")
    count = start.shape[1]
    ends = Ends(
        theta=start.clone(),
        time=start.new_zeros(count),
        steps=torch.zeros(count, dtype=torch.int64, device=start.device),
        at_rest=torch.zeros(count, dtype=torch.bool, device=start.device),
    )
    until = torch.as_tensor(until, dtype=start.dtype).to(start.device).expand(count)
    place = torch.arange(count, device=start.device)  # of each trajectory under way
    rate = field(start)
    now = _Batch(
        theta=start.clone(),
        time=start.new_zeros(count),
        rate=rate,
        step=_first_step(start, rate, until),
        at_rest=(rate == 0).all(dim=0),
        steps=torch.zeros_like(ends.steps),
        until=until,
    )
    advance = _stepper(field, start, tolerance, stop_below)
    every, kept = (_LOOK_EVERY, _KEPT_ON_GPU) if on_gpu(start.device) else (1, _KEPT)
    for taken in range(max_steps + 1):
        if taken % every == 0 or taken == max_steps:
            ended = now.ended if taken < max_steps else torch.ones_like(now.at_rest)
            if (under_way := int((~ended).sum())) < kept * len(place) or not under_way:
                gone, going = place[ended], torch.nonzero(~ended).squeeze(1)
                ends.theta[:, gone], ends.time[gone] = now.theta[:, ended], now.time[ended]
                ends.at_rest[gone], ends.steps[gone] = now.at_rest[ended], now.steps[ended]
                place, now = place[going], _Batch(*(part[..., going] for part in now))
            if not under_way:
                break
        now = advance(now)
    return ends


class _Batch(NamedTuple):
    """Trajectories under way: theta and its rate [d, N], all else [N]."""

    theta: Tensor
    time: Tensor
    rate: Tensor
    step: Tensor
    at_rest: Tensor
    steps: Tensor
    until: Tensor

    @property
    def ended(self) -> Tensor:
        """Which are at rest or at the end of their time; where they stay in the batch they stay."""
        return self.at_rest | (self.time >= self.until)


def _stepper(
    field: Field, start: Tensor, tolerance: float, stop_below: float
) -> Callable[[_Batch], _Batch]:
    """What takes a batch one step further, with Dormand and Prince's numbers where start is."""
    tableau = [to_device(torch.tensor(row, dtype=start.dtype), start.device) for row in _A]
    weights = to_device(torch.tensor(_ERROR, dtype=start.dtype), start.device)

    def advance(now: _Batch) -> _Batch:
        theta, time, rate, step, at_rest, steps, until = now
        ended = now.ended
        length = torch.where(ended, 0.0, torch.minimum(step, until - time))
        new_theta, k = _try(field, theta, rate, length, tableau)
        error = _error(theta, new_theta, length * torch.tensordot(weights, k, dims=1), tolerance)
        moved = (error <= 1) & ~ended
        at_rest = at_rest | (moved & _arrived(new_theta - theta, rate, k[6], stop_below))
        return _Batch(
            theta=torch.where(moved, new_theta, theta),
            time=torch.where(moved, time + length, time),
            rate=torch.where(moved, k[6], rate),
            step=step * (_SAFETY * error.clamp_min(1e-12) ** -0.2).clamp(_SHRINK, _GROW),
            at_rest=at_rest,
            steps=steps + ~ended,
            until=until,
        )

    return Graphed(advance, start.device)


def _arrived(way: Tensor, before: Tensor, now: Tensor, bound: float) -> Tensor:
    """Whether a step of these ways, with these speeds before and after it, ends at rest."""
    speed = _size(now)
    left = speed * _size(way) <= bound * _size(now - before)
    return left & (speed < _size(before)) | (speed == 0)


def _size(vectors: Tensor) -> Tensor:
    # torch.linalg.norm over the first of two dimensions takes fifty times as long.
    return (vectors * vectors).sum(dim=0).sqrt()


def _first_step(theta: Tensor, rate: Tensor, until: Tensor) -> Tensor:
    speed = _size(rate).clamp_min(1e-300)
    step = _FIRST * _size(theta).clamp_min(_SMALLEST) / speed
    return torch.minimum(step, until).clamp_max(1e6)


def _try(
    field: Field, theta: Tensor, rate: Tensor, length: Tensor, tableau: list[Tensor]
) -> tuple[Tensor, Tensor]:
    """Theta one step later, and the rates at all stages, [7, d, N]; the last are those there."""
    k = theta.new_empty(7, *theta.shape)
    k[0] = rate
    for stage, row in enumerate(tableau, start=1):
        ahead = theta + length * torch.tensordot(row, k[:stage], dims=1)
        k[stage] = field(ahead)
    return ahead, k


def _error(theta: Tensor, ahead: Tensor, deviation: Tensor, tolerance: float) -> Tensor:
    """The error of a step as a multiple of what is tolerated, [N]."""
    scale = torch.maximum(theta.abs(), ahead.abs()).clamp_min(_SMALLEST)
    error = (deviation.abs() / (tolerance * scale)).amax(dim=0)
    # A trial that leaves the floating-point range is one whose step was much too long.
    return torch.nan_to_num(error, nan=torch.inf, posinf=torch.inf)
