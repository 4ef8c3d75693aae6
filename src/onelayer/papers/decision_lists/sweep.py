"""Theorem 1 over many settings by the reduced flow, as tables; some settings followed over time."""

from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from onelayer.papers.decision_lists.reduced import (
    Setting,
    solve,
    theorem_1_table,
    trajectories,
)


def solve_grids(grids: Iterable[tuple[Sequence[Setting], float]], max_steps: int) -> pd.DataFrame:
    """t*, the bound and the staircase of every setting.

    Args:
        grids: settings with the Heun step that they are solved with (units of n / c); a setting
            that comes twice is solved once, as it comes first.
        max_steps: where a flow gives up.

    Returns:
        `reduced.theorem_1_table`, and `steps` and `separation` (list of m times, a_1 first).
    """
    parts, known = [], set()
    for settings, step in grids:
        new = [setting for setting in dict.fromkeys(settings) if setting not in known]
        known.update(new)
        if not new:
            continue
        flow = solve(new, step, max_steps)
        part = theorem_1_table(new, flow)
        part["steps"] = flow.steps
        part["separation"] = [
            times[: s.m].tolist() for s, times in zip(new, flow.separation, strict=True)
        ]
        parts.append(part)
    return pd.concat(parts, ignore_index=True)


def follow(settings: Sequence[Setting], max_steps: int) -> pd.DataFrame:
    """Settings from time 0 to 1.5 t*.

    Returns:
        A row per setting and time: `L`, `n`, `m`, `delta`, `time`, `loss`, `accuracy` and
        `scores` (list of m + 1: the list places, then an outside token).

    Raises:
        ValueError: a setting is not perfect within `max_steps`, or at once.
    """
    flow = solve(settings, max_steps=max_steps)
    for setting, t_star in zip(settings, flow.t_star, strict=True):
        if np.isnan(t_star):
            raise ValueError(f"{setting} is not perfect within {max_steps} steps")
        if t_star == 0:
            raise ValueError(f"{setting} is perfect from the first step on; show a larger L")
    path = trajectories(settings, flow.t_star)
    parts = []
    for index, setting in enumerate(settings):
        slots = [*range(setting.m), -1]
        parts.append(
            pd.DataFrame(
                {
                    "L": setting.L,
                    "n": setting.n,
                    "m": setting.m,
                    "delta": setting.delta,
                    "time": path.time[:, index],
                    "loss": path.loss[:, index],
                    "accuracy": path.accuracy[:, index],
                    "scores": path.scores[:, index][:, slots].tolist(),
                }
            )
        )
    return pd.concat(parts, ignore_index=True)
