"""Theorem 1 at every size: time to perfect classification, its bound, and a counterexample."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import product, starmap

import numpy as np
import pandas as pd
from scipy.integrate import solve_ivp

from onelayer.decision_lists import data
from onelayer.decision_lists.reduced import STEP, Flow, Setting, solve, trajectories
from onelayer.errors import OnelayerError
from onelayer.settings.decision_lists import Size, Theorem1


def solve_grids(
    settings: Theorem1, shown: Sequence[Size], progress: Callable[..., Iterable] = iter
) -> pd.DataFrame:
    """Every setting of the grids and every size shown, a row each, solved once.

    Returns:
        `L`, `n`, `m`, `delta`, `shortest` (m where all lists have m), what `beside_bound` says,
        `order` (share of adjacent list pairs in the right order; 1 if the list has no pair) and
        `separation` (list of m times, a_1 first).
    """
    grids = [
        (starmap(Setting, product(g.L, g.n, g.m, g.delta)), g.step, g.shortest)
        for g in settings.grids
    ]
    grids.append(([Setting(size.L, size.n, size.m) for size in shown], STEP, None))
    parts, solved = [], set()
    for grid, step, shortest in progress(grids):
        new = [one for one in dict.fromkeys(grid) if (one, shortest) not in solved]
        solved.update((one, shortest) for one in new)
        if shortest:
            parts += [_unequal(one, shortest, step, settings.max_steps) for one in new]
        elif new:
            parts.append(_table(new, step, settings.max_steps))
    return pd.concat(parts, ignore_index=True)


def _table(settings: Sequence[Setting], step: float, max_steps: int) -> pd.DataFrame:
    flow, rows = solve(settings, step, max_steps), []
    for place, setting in enumerate(settings):
        pairs = -np.diff(flow.scores[place, : setting.m]) > 0
        gamma = data.uniform_gamma(setting.L, setting.n, [setting.m])
        row = vars(setting) | {"shortest": setting.m}
        row |= beside_bound(setting.L, setting.m, flow.t_star[place], gamma)
        row["order"] = float(pairs.mean()) if len(pairs) else 1.0
        rows.append(row | {"separation": flow.separation[place, : setting.m].tolist()})
    return pd.DataFrame(rows)


def _unequal(setting: Setting, shortest: int, step: float, max_steps: int) -> pd.DataFrame:
    """The row of lists whose lengths are dealt from `shortest` to m.

    Columns of W do not know of each other, so that such lists take as long as the slowest of their
    lengths alone; `separation` is that of the longest list.
    """
    of_length = [replace(setting, m=m) for m in range(shortest, setting.m + 1)]
    each = _table(of_length, step, max_steps)
    tokens = np.bincount(data.dealt_lengths(setting.L, shortest, setting.m))[shortest:]
    t_star, gamma = each["t_star"].max(skipna=False), each["gamma"].min()
    order = np.average(each["order"], weights=tokens * (each["m"] - 1))
    bound_columns = beside_bound(setting.L, setting.m, t_star, gamma)
    return each.iloc[[-1]].assign(shortest=shortest, order=order, **bound_columns)


def beside_bound(L: int, M: int, t_star: float, gamma: float) -> dict[str, float]:
    """A time in units of Theorem 1's bound."""
    bound = data.theorem_1_bound(L, M, gamma)
    return {
        "t_star": t_star,
        "gamma": gamma,
        "bound": bound,
        "t_star_to_bound_ratio": t_star / bound,
        "t_star_gamma_log_l": t_star * gamma * np.log(L),
    }


def follow(sizes: Sequence[Size], max_steps: int) -> pd.DataFrame:
    """The sizes shown, from time 0 to 1.5 t*.

    Returns:
        A row per setting and time: `L`, `n`, `m`, `time`, `loss`, `accuracy` and `scores` (list of
        m + 1: the list places, then an outside token).

    Raises:
        OnelayerError: a setting is not perfect within `max_steps`, or at once.
    """
    shown = [Setting(size.L, size.n, size.m) for size in sizes]
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
        columns = {name: values[:, index] for name, values in path.items()}
        columns["scores"] = columns["scores"][:, [*range(setting.m), -1]].tolist()
        parts.append(pd.DataFrame({"L": setting.L, "n": setting.n, "m": setting.m} | columns))
    return pd.concat(parts, ignore_index=True)


# Lists, and weights of the tokens, for which the bound with our gamma fails at delta = 1: the worst
# of 5,952 that a search tried, each sequence of 3 of 5 tokens as likely as the product of weights.
LISTS = [[0], [2, 1], [4, 3, 2], [3], [4]]
WEIGHTS = [20.72, 0.09656, 0.1764, 0.03704, 0.01176]
LENGTH = 3


def counterexample(delta: float = 1.0) -> pd.DataFrame:
    """Time to perfect classification of `LISTS` under `WEIGHTS`, beside Theorem 1's bound.

    Every token is a slot of its own and every sequence a pattern; columns of W, one a query token,
    are the batch. The last digits of the time take far more steps than those of uniform sequences:
    the integrator chooses its own.

    Returns:
        One row, as `solve_grids` without `order`, `steps` and `separation`.
    """
    L, n, M = len(LISTS), LENGTH, max(map(len, LISTS))
    sequences = data.enumerate_sequences(L, n, np.array(WEIGHTS))
    asked = [[s for s, tokens in enumerate(sequences.tokens) if a in tokens] for a in range(L)]
    present = np.zeros((L, len(asked[0]), L))  # [token, sequence with the query, query]
    target = np.zeros(present.shape, dtype=bool)
    for a, r in np.ndindex(L, len(asked[0])):
        tokens = sequences.tokens[asked[a][r]]
        present[tokens, r, a] = 1
        target[next(b for b in LISTS[a] if b in tokens), r, a] = True
    mass = sequences.probability[np.array(asked)].T / n  # P(s, s_j = a), [R, L]
    same = [np.full(L, float(value)) for value in (data.theorem_1_scale(L, n, delta), L, n)]
    flow = Flow(present, mass * L, target, np.ones((L, L)), *same)

    def margin(_: float, scores: np.ndarray) -> float:
        return flow.margins(scores.reshape(L, L)).min()

    margin.terminal, margin.direction = True, 1
    path = solve_ivp(
        lambda _, scores: flow.rate(scores.reshape(L, L)).ravel(),
        (0.0, 1e5),
        np.zeros(L * L),
        method="LSODA",
        events=margin,
        rtol=1e-8,
        atol=1e-11,
    )
    shares = (target * mass).sum(axis=1)  # P(s_j = a, b determines the label), [b, a]
    gamma = min(shares[b, a] for a in range(L) for b in LISTS[a])
    size = {"L": L, "n": n, "m": M, "shortest": min(map(len, LISTS)), "delta": delta}
    return pd.DataFrame([size | beside_bound(L, M, path.t_events[0][0], gamma)])
