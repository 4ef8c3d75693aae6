"""Theorem 1 over many settings by the reduced flow, as tables; some settings followed over time."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import starmap

import numpy as np
import pandas as pd
from tqdm import tqdm

from onelayer.errors import OnelayerError
from onelayer.papers.decision_lists.constants import theorem_1_bound
from onelayer.papers.decision_lists.data import dealt_lengths
from onelayer.papers.decision_lists.reduced import (
    STEP,
    Setting,
    solve,
    theorem_1_table,
    trajectories,
)
from onelayer.settings.decision_lists import Size, Theorem1Settings, size_of


def solve_grids(
    settings: Theorem1Settings, shown: Sequence[Size], progress: Callable[..., Iterable] = tqdm
) -> pd.DataFrame:
    """t*, the bound and the staircase of every setting in a grid, and of the sizes shown.

    A setting that comes twice is solved once, with the step of the grid that names it first.
    Columns of W do not know of each other, so that lists of unequal length take as long as the
    slowest of their lengths alone.

    Returns:
        `reduced.theorem_1_table`, `shortest` (m where all lists have m), and `steps` and
        `separation` (list of m times, a_1 first) of the longest list.
    """
    grids = [(starmap(Setting, g.settings()), g.step, g.shortest) for g in settings.grids]
    grids.append((_settings(shown), STEP, None))
    parts, known = [], set()
    for grid, step, shortest in progress(grids, unit="grid"):
        new = [one for one in dict.fromkeys(grid) if (one, shortest) not in known]
        known.update((one, shortest) for one in new)
        if new and shortest is None:
            table = _solved(new, step, settings.max_steps)
            parts.append(table.assign(shortest=table["m"]))
        parts += [_unequal(one, shortest, step, settings.max_steps) for one in new if shortest]
    return pd.concat(parts, ignore_index=True)


def _solved(settings: Sequence[Setting], step: float, max_steps: int) -> pd.DataFrame:
    """Rows of `solve_grids`."""
    flow = solve(settings, step, max_steps)
    table = theorem_1_table(settings, flow)
    table["steps"] = flow.steps
    table["separation"] = [
        times[: setting.m].tolist()
        for setting, times in zip(settings, flow.separation, strict=True)
    ]
    return table


def _unequal(setting: Setting, shortest: int, step: float, max_steps: int) -> pd.DataFrame:
    """The row of lists whose lengths are dealt from `shortest` to m."""
    lengths = range(shortest, setting.m + 1)
    each = _solved([replace(setting, m=m) for m in lengths], step, max_steps)
    tokens = np.bincount(dealt_lengths(setting.L, shortest, setting.m))[shortest:]
    row = each.iloc[[-1]].assign(shortest=shortest)
    t_star, gamma = each["t_star"].max(skipna=False), each["gamma"].min()
    bound = theorem_1_bound(setting.L, setting.m, gamma)
    return row.assign(
        t_star=t_star,
        gamma=gamma,
        bound=bound,
        t_star_to_bound_ratio=t_star / bound,
        t_star_gamma_log_l=t_star * gamma * np.log(setting.L),
        order=np.average(each["order"], weights=tokens * (each["m"] - 1)),
        steps=each["steps"].max(),
    )


def _settings(sizes: Iterable[Size]) -> list[Setting]:
    return [Setting(*size_of(size)) for size in sizes]


def follow(sizes: Sequence[Size], max_steps: int) -> pd.DataFrame:
    """The sizes shown, from time 0 to 1.5 t*.

    Returns:
        A row per setting and time: `L`, `n`, `m`, `delta`, `shortest` (m), `time`, `loss`,
        `accuracy` and `scores` (list of m + 1: the list places, then an outside token).

    Raises:
        OnelayerError: a setting is not perfect within `max_steps`, or at once.
    """
    shown = _settings(sizes)
    flow = solve(shown, max_steps=max_steps)
    for setting, t_star in zip(shown, flow.t_star, strict=True):
        where = f"decision_lists.shown: {setting}"
        if np.isnan(t_star):
            raise OnelayerError(f"{where} is not perfect within {max_steps} steps")
        if t_star == 0:
            raise OnelayerError(f"{where} is perfect from the first step on; show a larger L")
    path = trajectories(shown, flow.t_star)
    parts = []
    for index, setting in enumerate(shown):
        slots = [*range(setting.m), -1]
        columns = {
            "time": path.time[:, index],
            "loss": path.loss[:, index],
            "accuracy": path.accuracy[:, index],
            "scores": path.scores[:, index][:, slots].tolist(),
        }
        parts.append(pd.DataFrame(vars(setting) | {"shortest": setting.m} | columns))
    return pd.concat(parts, ignore_index=True)
