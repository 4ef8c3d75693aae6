"""The gradient flow of the canonical model from many starts: maps, Gaussian starts, paths.

Shapes: C chains, N starts, F times; theta is [2, N] (e, w) or [3, N] (e, w, a).
"""

from collections.abc import Callable

import numpy as np
import pandas as pd
import torch

from onelayer.compute.execution import Execution
from onelayer.compute.seeds import generator
from onelayer.papers.local_to_global import canonical, theory
from onelayer.papers.local_to_global.basins import GLOBAL, LOCAL
from onelayer.papers.local_to_global.chain import Chain
from onelayer.papers.local_to_global.integrator import Trajectories, integrate
from onelayer.settings.local_to_global import (
    AttentionFlowSettings,
    FlowSettings,
    IntegrationSettings,
)

AROUND = 0.05  # radius of the starts around a critical point
NEIGHBOURS = 64  # starts around each
FIRST_FRAME = 0.01  # time of the first frame after the start


def _follow(
    start: np.ndarray, chain: Chain, settings: IntegrationSettings, device: str, **other: object
) -> Trajectories:
    """Follow starts [2 or 3, N]; `other` options of `integrate` go before those of the settings."""
    accuracy = {"tolerance": settings.tolerance, "stop_below": settings.at_rest} | other
    theta = torch.from_numpy(start).to(device)
    ends = integrate(lambda theta: canonical.flow(theta, chain), theta, **accuracy)
    return Trajectories(*(part.cpu() for part in ends))


def basin_maps(settings: FlowSettings, execution: Execution) -> dict[str, np.ndarray]:
    """Where the flow from every point of the grid ends, chain by chain.

    Returns:
        `theta` float64 [C, 2, N], `time` float64 [C, N], `steps` int64 [C, N], `at_rest` uint8
        [C, N]; starts in the order of `theory.grid`.
    """
    start = theory.grid(settings.extent, settings.points)
    under_way = execution.progress(list(map(Chain.of, settings.chains)), unit="map")
    ends = [_follow(start, chain, settings, execution.device) for chain in under_way]
    arrays = {
        name: np.stack([getattr(of_chain, name).numpy() for of_chain in ends])
        for name in ("theta", "time", "steps", "at_rest")
    }
    return arrays | {"at_rest": arrays["at_rest"].astype(np.uint8)}


def gaussian_starts(settings: FlowSettings, execution: Execution) -> pd.DataFrame:
    """How often the flow from (e, w) ~ N(0, sigma^2) reaches the global minimum.

    Every sigma scales the same draws. Columns `p`, `q`, `sigma`, `draws`, and the counts
    `to_global` and `to_local`; what is missing did not come to rest.
    """
    sigmas, draws = settings.sigmas, settings.draws
    unit = generator("gaussian starts", settings.seed).normal(size=(2, draws))
    start = np.concatenate([sigma * unit for sigma in sigmas], axis=1)
    rows = []
    for chain in map(Chain.of, settings.chains):
        ends = _follow(start, chain, settings, execution.device)
        reached = theory.outcome(ends.theta.numpy(), chain).reshape(len(sigmas), draws)
        key = {"p": chain.p, "q": chain.q, "sigma": sigmas, "draws": draws}
        for name, end in (("to_global", GLOBAL), ("to_local", LOCAL)):
            key[name] = (reached == end).sum(axis=1)
        rows.append(pd.DataFrame(key))
    return pd.concat(rows, ignore_index=True)


def attention_starts(
    settings: AttentionFlowSettings, flow: IntegrationSettings, execution: Execution = Execution()
) -> pd.DataFrame:
    """Where the flow of (e, w, a) ends from N(0, sigma^2); for p + q = 1 that of (e, w) too.

    Every sigma scales the same draws; (e, w) has their first two variables.

    Returns:
        A row per start: `p`, `q`, `model` (`theory.MODELS`), `sigma`, the start `e_0`, `w_0`, `a_0`
        and the end `e`, `w`, `a` (a = 0 without it), and `at_rest`.
    """
    unit = generator("attention starts", flow.seed).normal(size=(3, settings.draws))
    plan = [(Chain.of(chain), 3, settings.sigmas, flow.at_rest) for chain in flow.chains]
    slowest = max(flow.at_rest, theory.SLOW_AT_REST)
    plan += [
        (Chain(p, 1 - p), variables, [max(settings.sigmas)], slowest)
        for p in settings.independent
        for variables in theory.MODELS
    ]
    parts = []
    for chain, variables, sigmas, slow in plan:
        start = np.concatenate([sigma * unit[:variables] for sigma in sigmas], axis=1)
        ends = _follow(start, chain, flow, execution.device, stop_below=slow)
        part = {"p": chain.p, "q": chain.q, "model": theory.MODELS[variables]}
        part["sigma"] = np.repeat(sigmas, settings.draws)
        for place, name in enumerate(("e", "w", "a")):
            inside = place < variables
            part[f"{name}_0"] = start[place] if inside else 0.0
            part[name] = ends.theta[place].numpy() if inside else 0.0
        parts.append(pd.DataFrame(part | {"at_rest": ends.at_rest.numpy()}))
    return pd.concat(parts, ignore_index=True)


def neighbours(
    settings: IntegrationSettings,
    execution: Execution,
    points_of: Callable[[Chain], dict[str, list[np.ndarray]]] = theory.critical_points,
) -> pd.DataFrame:
    """Whether the flow comes back to a critical point from starts close around it.

    Columns `p`, `q`, `point` (name), `starts`, `back`: starts from which the flow ends within five
    radii, with the loss of the point. The starts lie on a circle; with attention on a sphere.
    """
    parts = []
    for chain in map(Chain.of, settings.chains):
        points = points_of(chain)
        names = [name for name, group in points.items() for _ in group]
        centres = np.concatenate(list(points.values()))[..., None]
        starts = np.concatenate(list(centres + AROUND * _directions(centres.shape[1])), axis=1)
        theta = _follow(starts, chain, settings, execution.device).theta.numpy()
        ends = np.stack(np.split(theta, len(names), axis=1))  # [points, 2 or 3, N]
        loss, level = (
            canonical.loss(canonical.logit_gap(*np.moveaxis(place, 1, 0)), chain)
            for place in (ends, centres)
        )
        near = np.linalg.norm(ends - centres, axis=1) < 5 * AROUND
        back = (near & (abs(loss - level) < 1e-6)).sum(axis=1)
        key = {"p": chain.p, "q": chain.q, "point": names, "starts": NEIGHBOURS}
        parts.append(pd.DataFrame(key | {"back": back}))
    return pd.concat(parts).groupby(["p", "q", "point"], sort=False, as_index=False).sum()


def _directions(variables: int) -> np.ndarray:
    """Evenly spread unit vectors, float64 [2 or 3, NEIGHBOURS]; a golden spiral on the sphere."""
    place = np.arange(NEIGHBOURS) + 0.5
    if variables == 2:
        angle = 2 * np.pi * place / NEIGHBOURS
        return np.stack([np.cos(angle), np.sin(angle)])
    height, angle = 1 - 2 * place / NEIGHBOURS, np.pi * (1 + np.sqrt(5)) * place
    radius = np.sqrt(1 - height * height)
    return np.stack([radius * np.cos(angle), radius * np.sin(angle), height])


def shown_paths(
    settings: FlowSettings, execution: Execution = Execution()
) -> dict[str, np.ndarray]:
    """Trajectories for the figures, at the same times for all.

    Returns:
        For the chains below and above p + q = 1 `time_<side>` float64 [F]: 0, then evenly spaced in
        the logarithm; `plane_<side>` [F, 2, n], `wide_<side>` and `near_<side>` [F, 3, n].
    """
    random, n = generator("shown paths", settings.seed), settings.trajectories
    plane = random.uniform(-settings.extent, settings.extent, (2, n))
    wide = random.uniform(-settings.wide, settings.wide, (3, n))
    near = random.uniform(-settings.near, settings.near, (3, n))
    space = np.concatenate([wide, near], axis=1)
    paths = {}
    shown = theory.shown_chains(settings.chains)
    for side, chain in zip(("below", "above"), shown, strict=True):
        how = chain, settings, execution.device
        last = max(float(_follow(start, *how).time.max()) for start in (plane, space))
        time = np.geomspace(FIRST_FRAME, last, settings.frames)
        paths[f"time_{side}"] = np.concatenate([[0.0], time])
        paths[f"plane_{side}"] = _path(plane, time, *how)
        paths[f"wide_{side}"], paths[f"near_{side}"] = np.split(_path(space, time, *how), 2, -1)
    # safetensors writes memory as it lies, whatever the strides.
    return {name: np.ascontiguousarray(path) for name, path in paths.items()}


def _path(start: np.ndarray, time: np.ndarray, *how: object) -> np.ndarray:
    """Positions [F + 1, d, n] at time 0 and the given times; one trajectory for each of them."""
    variables, n = start.shape
    until = torch.from_numpy(np.repeat(time, n))
    ends = _follow(np.tile(start, len(time)), *how, until=until)
    later = ends.theta.numpy().reshape(variables, len(time), n).transpose(1, 0, 2)
    return np.concatenate([start[None], later])
