"""The gradient flow of the canonical model from many starts: maps, Gaussian starts, paths.

Shapes: C chains, N starts, F times; theta is [2, N] (e, w) or [3, N] (e, w, a).
"""

from collections.abc import Callable

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from onelayer.compute.execution import Execution
from onelayer.compute.seeds import generator
from onelayer.papers.local_to_global import canonical
from onelayer.papers.local_to_global.accuracy import SLOW_AT_REST
from onelayer.papers.local_to_global.basins import GLOBAL, LOCAL
from onelayer.papers.local_to_global.chain import Chain
from onelayer.papers.local_to_global.integrator import Ends, integrate
from onelayer.papers.local_to_global.theory import (
    MODELS,
    critical_points,
    grid,
    outcome,
    shown_chains,
)
from onelayer.settings.local_to_global import AttentionFlowSettings, FlowSettings

AROUND = 0.05  # radius of the starts around a critical point
NEIGHBOURS = 64  # starts around each
FIRST_FRAME = 0.01  # time of the first frame after the start


def ends_of(
    start: np.ndarray, chain: Chain, tolerance: float, at_rest: float, device: str = "cpu"
) -> Ends:
    """Follow starts [2, N] or [3, N] to their limits; accuracy as in `FlowSettings`."""
    theta = torch.from_numpy(start).to(device)
    return integrate(_field(len(start), chain), theta, tolerance=tolerance, stop_below=at_rest)


def _field(variables: int, chain: Chain) -> Callable[[Tensor], Tensor]:
    flow = canonical.flow if variables == 2 else canonical.flow_with_attention
    return lambda theta: flow(theta, chain)


def basin_maps(
    chains: list[Chain], settings: FlowSettings, execution: Execution = Execution()
) -> dict[str, np.ndarray]:
    """Where the flow from every point of the grid ends, chain by chain.

    Returns:
        `theta` float64 [C, 2, N], `time` float64 [C, N], `steps` int64 [C, N], `at_rest` uint8
        [C, N]; starts in the order of `theory.grid`.
    """
    start = grid(settings.extent, settings.points)
    accuracy = settings.tolerance, settings.at_rest
    under_way = execution.progress(chains, unit="map")
    found = [ends_of(start, chain, *accuracy, execution.device) for chain in under_way]
    arrays = {
        name: np.stack([getattr(ends, name).cpu().numpy() for ends in found])
        for name in ("theta", "time", "steps", "at_rest")
    }
    return arrays | {"at_rest": arrays["at_rest"].astype(np.uint8)}


def gaussian_starts(
    chains: list[Chain], settings: FlowSettings, execution: Execution = Execution()
) -> pd.DataFrame:
    """How often the flow from (e, w) ~ N(0, sigma^2) reaches the global minimum.

    Every sigma scales the same draws. Columns `p`, `q`, `sigma`, `draws`, and the counts
    `to_global` and `to_local`; what is missing did not come to rest.
    """
    unit = generator("gaussian starts", settings.seed).normal(size=(2, settings.draws))
    start = np.concatenate([sigma * unit for sigma in settings.sigmas], axis=1)
    accuracy = settings.tolerance, settings.at_rest
    rows = []
    for chain in chains:
        ends = ends_of(start, chain, *accuracy, execution.device)
        reached = outcome(ends.theta.cpu().numpy(), chain)
        for sigma, part in zip(
            settings.sigmas, np.split(reached, len(settings.sigmas)), strict=True
        ):
            counts = {
                "to_global": int((part == GLOBAL).sum()),
                "to_local": int((part == LOCAL).sum()),
            }
            key = {"p": chain.p, "q": chain.q, "sigma": sigma, "draws": settings.draws}
            rows.append(key | counts)
    return pd.DataFrame(rows)


def attention_starts(
    chains: list[Chain],
    settings: AttentionFlowSettings,
    tolerance: float,
    at_rest: float,
    seed: int = 0,
    execution: Execution = Execution(),
) -> pd.DataFrame:
    """Where the flow of (e, w, a) ends from N(0, sigma^2); for p + q = 1 that of (e, w) too.

    Every sigma scales the same draws; (e, w) has their first two variables.

    Args:
        chains: with p + q other than 1.
        settings: from where.
        tolerance, at_rest, seed: as in `FlowSettings`.
        execution: on which device.

    Returns:
        A row per start: `p`, `q`, `model` (`MODELS`), `sigma`, the start `e_0`, `w_0`, `a_0` and
        the end `e`, `w`, `a` (a = 0 without it), and `at_rest`.
    """
    unit = generator("attention starts", seed).normal(size=(3, settings.draws))
    plan = [(chain, 3, settings.sigmas, at_rest) for chain in chains]
    plan += [
        (Chain(p, 1 - p), variables, [max(settings.sigmas)], max(at_rest, SLOW_AT_REST))
        for p in settings.independent
        for variables in MODELS
    ]
    parts = []
    for chain, variables, sigmas, slow in plan:
        start = np.concatenate([sigma * unit[:variables] for sigma in sigmas], axis=1)
        ends = ends_of(start, chain, tolerance, slow, execution.device)
        part = {"p": chain.p, "q": chain.q, "model": MODELS[variables]}
        part["sigma"] = np.repeat(sigmas, settings.draws)
        for place, name in enumerate(("e", "w", "a")):
            inside = place < variables
            part[f"{name}_0"] = start[place] if inside else 0.0
            part[name] = ends.theta[place].cpu().numpy() if inside else 0.0
        parts.append(pd.DataFrame(part | {"at_rest": ends.at_rest.cpu().numpy()}))
    return pd.concat(parts, ignore_index=True)


def neighbours(
    chains: list[Chain],
    tolerance: float,
    at_rest: float,
    execution: Execution = Execution(),
    points_of: Callable[[Chain], dict[str, list[np.ndarray]]] = critical_points,
) -> pd.DataFrame:
    """Whether the flow comes back to a critical point from starts close around it.

    Columns `p`, `q`, `point` (name), `starts`, `back`: starts from which the flow ends within five
    radii, with the loss of the point. The starts lie on a circle; with attention on a sphere.
    """
    rows = []
    for chain in chains:
        points = points_of(chain)
        starts = [
            point[:, None] + AROUND * _directions(len(point))
            for group in points.values()
            for point in group
        ]
        start = np.concatenate(starts, axis=1)
        theta = ends_of(start, chain, tolerance, at_rest, execution.device).theta
        ends = iter(np.split(theta.cpu().numpy(), len(starts), axis=1))
        for name, group in points.items():
            back = 0
            for point in group:
                end = next(ends)
                loss = canonical.loss(canonical.logit_gap(*end), chain)
                level = canonical.loss(canonical.logit_gap(*point), chain)
                near = np.linalg.norm(end - point[:, None], axis=0) < 5 * AROUND
                back += int((near & (abs(loss - level) < 1e-6)).sum())
            starts_of_group = NEIGHBOURS * len(group)
            rows.append(
                {
                    "p": chain.p,
                    "q": chain.q,
                    "point": name,
                    "starts": starts_of_group,
                    "back": back,
                }
            )
    return pd.DataFrame(rows)


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
    chains: list[Chain], settings: FlowSettings, execution: Execution = Execution()
) -> dict[str, np.ndarray]:
    """Trajectories for the figures, at the same times for all.

    Returns:
        `time` float64 [F]: 0, then evenly spaced in the logarithm; for the chains below and above
        p + q = 1 `plane_<side>` [F, 2, n], `wide_<side>` and `near_<side>` [F, 3, n].
    """
    random, n = generator("shown paths", settings.seed), settings.trajectories
    accuracy = settings.tolerance, settings.at_rest
    plane = random.uniform(-settings.extent, settings.extent, (2, n))
    wide = random.uniform(-settings.wide, settings.wide, (3, n))
    near = random.uniform(-settings.near, settings.near, (3, n))
    found = {}
    for side, chain in zip(("below", "above"), shown_chains(chains), strict=True):
        space = np.concatenate([wide, near], axis=1)
        last = max(
            float(ends_of(start, chain, *accuracy, execution.device).time.max())
            for start in (plane, space)
        )
        time = np.geomspace(FIRST_FRAME, last, settings.frames)
        found[f"time_{side}"] = np.concatenate([[0.0], time])
        found[f"plane_{side}"] = _path(plane, time, chain, settings, execution.device)
        both = _path(space, time, chain, settings, execution.device)
        found[f"wide_{side}"], found[f"near_{side}"] = (
            np.ascontiguousarray(part) for part in (both[..., :n], both[..., n:])
        )
    return found


def _path(
    start: np.ndarray, time: np.ndarray, chain: Chain, settings: FlowSettings, device: str
) -> np.ndarray:
    """Positions [F + 1, d, n] at time 0 and the given times; one trajectory for each of them."""
    variables, n = start.shape
    ends = integrate(
        _field(variables, chain),
        torch.from_numpy(np.tile(start, len(time))).to(device),
        until=torch.from_numpy(np.repeat(time, n)),
        tolerance=settings.tolerance,
        stop_below=settings.at_rest,
    )
    later = ends.theta.cpu().numpy().reshape(variables, len(time), n).transpose(1, 0, 2)
    # safetensors writes memory as it lies, whatever the strides.
    return np.ascontiguousarray(np.concatenate([start[None], later]))
