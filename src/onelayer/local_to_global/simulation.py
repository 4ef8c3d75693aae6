"""The gradient flow of the canonical model from many starts (theorems 2 and 3, Figs. 1, 2 and 5).

C chains, N starts, F times; theta is [2, N] (e, w) or [3, N] (e, w, a).
"""

import numpy as np
import pandas as pd

from onelayer.local_to_global import canonical
from onelayer.local_to_global.basins import POINTS
from onelayer.local_to_global.integrator import Trajectories, integrate
from onelayer.seeds import generator
from onelayer.settings.local_to_global import Chain, FlowSettings

EXTENT = 3.0  # basin maps cover [-EXTENT, EXTENT] in e and w, as Fig. 1
WIDE, NEAR = 1.0, 0.1  # starts of Figs. 2 and 5: uniform in cubes of these half sides
AROUND = 0.05  # radius of the starts around a critical point
NEIGHBOURS = 64  # starts around each


def shown_chains(settings: FlowSettings) -> dict[str, Chain]:
    """The first chain `below` p + q = 1, and the first `above`."""
    sides = {"below": True, "above": False}
    return {name: next(c for c in settings.chains if c.below == b) for name, b in sides.items()}


def grid(extent: float, points: int) -> np.ndarray:
    """Starts of a basin map, float64 [2, points^2]: e runs fastest, then w."""
    axis = np.linspace(-extent, extent, points)
    return np.stack(np.meshgrid(axis, axis)).reshape(2, -1)


def _follow(start: np.ndarray, chain: Chain, **until) -> Trajectories:
    return integrate(lambda theta: canonical.flow(theta, chain), start, **until)


def basin_maps(settings: FlowSettings, progress=iter) -> np.ndarray:
    """Where the flow from every point of `grid` ends, chain by chain, float64 [C, 2, N]."""
    start = grid(EXTENT, settings.points)
    return np.stack([_follow(start, chain).theta for chain in progress(settings.chains)])


def gaussian_starts(settings: FlowSettings) -> pd.DataFrame:
    """Where flows end from N(0, sigma^2): `model`, `p`, `q`, `sigma`, `e_0`, `w_0`, `e`, `w`.

    With attention `a_0` and `a`, too. The sigmas of a model scale the same draws.
    """
    plane = 2, "gaussian starts", settings.sigmas, settings.draws
    space = 3, "attention starts", settings.attention_sigmas, settings.attention_draws
    parts = []
    for model, (variables, use, sigmas, draws) in zip(POINTS, (plane, space), strict=True):
        unit = generator(use, settings.seed).normal(size=(variables, draws))
        start = np.concatenate([sigma * unit for sigma in sigmas], axis=1)
        for chain in settings.chains:
            part = {"model": model, "p": chain.p, "q": chain.q, "sigma": np.repeat(sigmas, draws)}
            for name, before, after in zip("ewa", start, _follow(start, chain).theta, strict=False):
                part |= {f"{name}_0": before, name: after}
            parts.append(pd.DataFrame(part))
    return pd.concat(parts, ignore_index=True)


def neighbours(settings: FlowSettings) -> pd.DataFrame:
    """From how many starts on a circle or sphere around a critical point the flow comes back.

    Columns `model`, `p`, `q`, `point` (name), `starts`, `back`: it ends within five radii, with the
    point's loss.
    """
    parts = []
    for model, points_of in POINTS.items():
        for chain in settings.chains:
            points = points_of(chain)
            names = [name for name, group in points.items() for _ in group]
            centres = np.concatenate(list(points.values()))[..., None]
            starts = np.concatenate(list(centres + AROUND * _directions(centres.shape[1])), axis=1)
            ends = np.stack(np.split(_follow(starts, chain).theta, len(names), axis=1))
            loss, level = (
                canonical.loss(canonical.logit_gap(*np.moveaxis(place, 1, 0)), chain)
                for place in (ends, centres)  # [points, 2 or 3, starts or 1]
            )
            near = np.linalg.norm(ends - centres, axis=1) < 5 * AROUND
            back = (near & (abs(loss - level) < 1e-6)).sum(axis=1)
            key = {"model": model, "p": chain.p, "q": chain.q, "point": names}
            parts.append(pd.DataFrame(key | {"starts": NEIGHBOURS, "back": back}))
    return pd.concat(parts).groupby(["model", "p", "q", "point"], sort=False, as_index=False).sum()


def _directions(variables: int) -> np.ndarray:
    """Evenly spread unit vectors, float64 [2 or 3, NEIGHBOURS]; a golden spiral on the sphere."""
    place = np.arange(NEIGHBOURS) + 0.5
    if variables == 2:
        angle = 2 * np.pi * place / NEIGHBOURS
        return np.stack([np.cos(angle), np.sin(angle)])
    height, angle = 1 - 2 * place / NEIGHBOURS, np.pi * (1 + np.sqrt(5)) * place
    radius = np.sqrt(1 - height * height)
    return np.stack([radius * np.cos(angle), radius * np.sin(angle), height])


def shown_paths(settings: FlowSettings) -> dict[str, np.ndarray]:
    """Trajectories for the figures at time 0, then evenly spaced in the logarithm from .01 on.

    By side of p + q = 1: `plane_<side>` [F + 1, 2, n], `wide_<side>`, `near_<side>` [F + 1, 3, n].
    """
    random, n = generator("shown paths", settings.seed), settings.trajectories
    starts = {"plane": random.uniform(-EXTENT, EXTENT, (2, n))}
    for view, half in (("wide", WIDE), ("near", NEAR)):
        starts[view] = random.uniform(-half, half, (3, n))
    paths = {}
    for side, chain in shown_chains(settings).items():
        last = max(_follow(start, chain).time.max() for start in starts.values())
        time = np.geomspace(0.01, last, settings.frames)
        for view, start in starts.items():
            # One trajectory for each of the times.
            many, until = np.tile(start, len(time)), np.repeat(time, n)
            later = _follow(many, chain, until=until).theta.reshape(len(start), len(time), n)
            path = np.concatenate([start[None], later.transpose(1, 0, 2)])
            # safetensors writes memory as it lies, whatever the strides.
            paths[f"{view}_{side}"] = np.ascontiguousarray(path)
    return paths
