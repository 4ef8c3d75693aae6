"""Theorem 1's gradient flow, exactly, in m + 1 unknowns instead of L x L.

With uniform n-subsets, lists of equal length m and V = cP, every column of W moves alike, and so do
all tokens outside the list: what is left is the score of every list place and one common score of
the others. A sequence matters only by which list tokens are present (the own token always is), so
the 2^(m-1) presence patterns with hypergeometric weights replace comb(L, n) sequences. Time is that
of the full problem: eq. (2) averages over positions, so a column's gradient carries P(s_j = a)
= 1/L, and one outside token's derivative is its group's divided by L - m.

Shapes: B settings; K slots (list places 1..M of the longest list, then the outside group); R
presence patterns. Settings with shorter lists leave the slots between their own token and the group
empty, with count 0.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import starmap

import numpy as np
import pandas as pd
from scipy.special import comb
from tqdm import tqdm

from onelayer.errors import OnelayerError
from onelayer.papers.decision_lists import constants
from onelayer.papers.decision_lists.data import dealt_lengths
from onelayer.settings.decision_lists import Size, Theorem1Settings, size_of

STEP = 0.05  # of Heun's method, in units of n / c; a fixed step of .01 overshoots
HORIZON, POINTS = 1.5, 200  # of a path that is shown: its end, in t*; its times after the first


@dataclass(frozen=True)
class Setting:
    """One problem: L tokens, sequences of n, lists of m, and the delta of c (ours)."""

    L: int
    n: int
    m: int
    delta: float = 1.0

    @property
    def c(self) -> float:
        """Theorem 1's scale of V."""
        return constants.theorem_1_scale(self.L, self.n, self.delta)


@dataclass(frozen=True, eq=False)
class ReducedFlow:
    """Perfect classification of B settings."""

    t_star: np.ndarray
    """First time at which every pattern is strictly right, interpolated linearly inside the step;
    NaN where `max_steps` came first; float64 [B]."""
    separation: np.ndarray
    """Time from which on (up to t*) a list place's score exceeds all that it must: the staircase;
    NaN beyond a setting's list. Its largest is t*; float64 [B, M]."""
    scores: np.ndarray
    """W[., a] just after t*: list places, then the outside tokens; float64 [B, K]."""
    steps: np.ndarray
    """Heun steps taken, int64 [B]."""


@dataclass(frozen=True, eq=False)
class Patterns:
    """Presence patterns of a batch of settings."""

    count: np.ndarray  # float64 [K, R, B], tokens of a slot in the sequence: 0, 1 for list places
    probability: np.ndarray  # float64 [R, B], given that the query is in s; sums to 1
    target: np.ndarray  # bool [K, R, B], the slot that determines the label
    members: np.ndarray  # float64 [K, B], tokens of the vocabulary in a slot: L - m in the group
    c: np.ndarray  # float64 [B]
    L: np.ndarray  # float64 [B]
    n: np.ndarray  # float64 [B]


def presence_patterns(settings: Sequence[Setting]) -> Patterns:
    """Patterns of every setting; impossible ones have probability 0."""
    L, n, m = (np.array([getattr(s, name) for s in settings]) for name in ("L", "n", "m"))
    M = int(m.max())
    listed = (np.arange(2 ** (M - 1))[:, None] >> np.arange(M - 1)) & 1 == 1  # [R, M - 1]
    count = np.zeros((M + 1, len(listed), len(settings)))
    before_own = np.arange(M - 1)[:, None] < m - 1  # [M - 1, B]
    count[: M - 1] = listed.T[:, :, None] & before_own[:, None]
    possible = ~(listed.T[:, :, None] & ~before_own[:, None]).any(axis=0)  # [R, B]
    present = count.sum(axis=0)
    count[m - 1, :, np.arange(len(settings))] = 1.0
    group = n - 1 - present
    possible &= group >= 0
    # comb is 0 where more outside tokens are needed than there are.
    ways = np.where(possible, comb(L - m, np.maximum(group, 0)), 0.0)
    count[M] = np.where(ways > 0, group, 0.0)
    target = np.zeros(count.shape, dtype=bool)
    np.put_along_axis(target, (count > 0).argmax(axis=0)[None], True, axis=0)
    members = np.ones((M + 1, len(settings)))
    members[M] = np.maximum(L - m, 1)
    c, probability = np.array([s.c for s in settings]), ways / comb(L - 1, n - 1)
    return Patterns(count, probability, target, members, c, L.astype(float), n.astype(float))


class _Flow:
    """d scores/dt of a batch, and which scores must exceed which."""

    def __init__(self, patterns: Patterns) -> None:
        self.patterns = patterns
        self.present = (patterns.count > 0).astype(float)
        self.target = patterns.target.astype(float)
        share = patterns.probability / patterns.L  # [R, B]
        self.gain = patterns.c * share * patterns.count / patterns.members[:, None]
        happens = patterns.probability > 0
        beats = patterns.target[:, None] & ((patterns.count > 0) & happens)[None]  # [K, K, R, B]
        beats &= ~patterns.target[None]
        # inf where two slots never compete, so that a minimum ignores them
        self.ignored = np.where(beats.any(axis=2), 0.0, np.inf)

    def _attention(self, scores: np.ndarray) -> tuple[np.ndarray, ...]:
        """Attention p of a slot's token [K, R, B]; exp(c p - top), its sum over outputs; top."""
        patterns = self.patterns
        e = np.exp(scores)[:, None]
        p = self.present * e
        p /= (patterns.count * e).sum(axis=0)
        top = patterns.c * p.max(axis=0)
        exponentials = np.exp(patterns.c * p - top)
        total = (patterns.count * exponentials).sum(axis=0)
        total += (patterns.L - patterns.n) * np.exp(-top)
        return p, exponentials, total, top

    def rate(self, scores: np.ndarray) -> np.ndarray:
        """-d loss/d score of one token of every slot, [K, B]."""
        p, residual, total, _ = self._attention(scores)
        residual /= total
        residual -= self.target
        pulls = p * residual
        p *= (self.patterns.count * pulls).sum(axis=0)
        pulls -= p
        pulls *= self.gain
        return -pulls.sum(axis=1)

    def heun(self, scores: np.ndarray, step: np.ndarray) -> np.ndarray:
        """Scores one step later."""
        first = self.rate(scores)
        second = self.rate(scores + step * first)
        return scores + 0.5 * step * (first + second)

    def margins(self, scores: np.ndarray) -> np.ndarray:
        """How far each slot exceeds all that it must exceed, [K, B]; inf for none."""
        return (scores[:, None] - scores[None] + self.ignored).min(axis=1)

    def loss(self, scores: np.ndarray) -> np.ndarray:
        """Population loss, [B]."""
        p, _, total, top = self._attention(scores)
        of_target = self.patterns.c * (p * self.target).sum(axis=0)
        return (self.patterns.probability * (np.log(total) + top - of_target)).sum(axis=0)

    def accuracy(self, scores: np.ndarray) -> np.ndarray:
        """Probability that the label-determining slot exceeds every other present one, [B]."""
        w = scores[:, None]
        rival = np.where((self.present > 0) & (self.target == 0), w, -np.inf).max(axis=0)
        right = (w * self.target).sum(axis=0) > rival
        return (self.patterns.probability * right).sum(axis=0)


def solve(
    settings: Sequence[Setting], step: float = STEP, max_steps: int = 1_000_000
) -> ReducedFlow:
    """Follow every setting from W = 0 until it classifies every pattern strictly right.

    They are any mix of L, n, m and delta, and advance together, each with its own time. `step` is
    Heun's, in units of n / c.
    """
    times, scores, steps = solve_patterns(presence_patterns(settings), step, max_steps)
    in_list = np.arange(len(times) - 1)[:, None] < np.array([setting.m for setting in settings])
    separation = np.where(in_list, times[:-1], np.nan).T
    return ReducedFlow(times.max(axis=0), separation, scores.T, steps)


def solve_patterns(
    everything: Patterns, step: float, max_steps: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Follow every column of a batch until all its patterns are strictly right.

    Returns:
        When each slot came to exceed all that it must, float64 [K, B], 0 where it has no rival, NaN
        where `max_steps` came first; the scores at the end [K, B]; and the steps taken, int64 [B].
    """
    K, _, B = everything.count.shape
    crossing, scores = np.full((K, B), np.nan), np.zeros((K, B))
    steps = np.zeros(B, dtype=np.int64)
    # A setting where nothing competes (n = 1) is right from the start.
    active = np.arange(B)[(_Flow(everything).margins(scores) <= 0).any(axis=0)]
    flow, h, now, above = _restrict(everything, active, scores, step)
    for taken in range(1, max_steps + 1):
        if not len(active):
            break
        now = flow.heun(now, h)
        above_before, above = above, flow.margins(now)
        changed = (above > 0) != (above_before > 0)
        if not changed.any():
            continue
        slot, column = np.nonzero(changed & (above > 0))
        old, new = above_before[slot, column], above[slot, column]
        crossing[slot, active[column]] = h[column] * (taken - 1 - old / (new - old))
        done = (above > 0).all(axis=0)
        if done.any():
            scores[:, active[done]], steps[active[done]] = now[:, done], taken
            scores[:, active[~done]] = now[:, ~done]
            active = active[~done]
            flow, h, now, above = _restrict(everything, active, scores, step)
    scores[:, active], steps[active], crossing[:, active] = now, max_steps, np.nan
    free = np.isinf(_Flow(everything).margins(np.zeros_like(scores)))  # exceeds by having no rival
    return np.where(free, 0.0, crossing), scores, steps


def _restrict(
    everything: Patterns, active: np.ndarray, scores: np.ndarray, step: float
) -> tuple[_Flow, np.ndarray, np.ndarray, np.ndarray]:
    """The flow, step lengths, scores and margins of the settings still under way."""
    flow = _Flow(Patterns(*(value[..., active].copy() for value in vars(everything).values())))
    now = scores[:, active]
    return flow, step * flow.patterns.n / flow.patterns.c, now, flow.margins(now)


def trajectories(settings: Sequence[Setting], t_star: np.ndarray) -> dict[str, np.ndarray]:
    """The settings at T evenly spaced times from 0 to 1.5 t*, float64 [B] of `solve`, positive.

    All settings take the same number of steps, each no longer than `STEP`.

    Returns:
        Float64 [T, B]: `time`, `loss` (population loss, eq. (2)), `accuracy` (probability of a
        strictly right query); and `scores` [T, B, K] of list places, then the outside tokens.
    """
    flow = _Flow(presence_patterns(settings))
    end, longest = HORIZON * t_star, STEP * flow.patterns.n / flow.patterns.c
    stride = int(np.ceil((end / longest).max() / POINTS))
    h = end / (stride * POINTS)
    now = np.zeros_like(flow.patterns.members)
    record = []
    for taken in range(stride * POINTS + 1):
        if taken % stride == 0:
            record.append((flow.loss(now), flow.accuracy(now), now.T))
        now = flow.heun(now, h)
    loss, accuracy, scores = map(np.array, zip(*record, strict=True))
    time = np.arange(POINTS + 1)[:, None] * stride * h
    return {"time": time, "loss": loss, "accuracy": accuracy, "scores": scores}


def theorem_1_table(settings: Sequence[Setting], flow: ReducedFlow) -> pd.DataFrame:
    """What `solve` found beside Theorem 1, one row per setting.

    Returns:
        Columns `L`, `n`, `m`, `delta`, `c`, `t_star`, `gamma`, `bound`, `t_star_to_bound_ratio`,
        `t_star_gamma_log_l`, `order` (share of adjacent list pairs in the right order; 1 if the
        list has no pair), `steps` and `separation` (list of m times, a_1 first).
    """
    rows = []
    for place, setting in enumerate(settings):
        gamma = constants.uniform_gamma(setting.L, setting.n, setting.m)
        pairs = -np.diff(flow.scores[place, : setting.m]) > 0
        reached = {
            "order": float(pairs.mean()) if len(pairs) else 1.0,
            "steps": flow.steps[place],
            "separation": flow.separation[place, : setting.m].tolist(),
        }
        time = _beside_bound(setting, flow.t_star[place], gamma)
        rows.append(vars(setting) | {"c": setting.c} | time | reached)
    return pd.DataFrame(rows)


def _beside_bound(setting: Setting, t_star: float, gamma: float) -> dict[str, float]:
    bound = constants.theorem_1_bound(setting.L, setting.m, gamma)
    return {
        "t_star": t_star,
        "gamma": gamma,
        "bound": bound,
        "t_star_to_bound_ratio": t_star / bound,
        "t_star_gamma_log_l": t_star * gamma * np.log(setting.L),
    }


def solve_grids(
    settings: Theorem1Settings, shown: Sequence[Size], progress: Callable[..., Iterable] = tqdm
) -> pd.DataFrame:
    """`theorem_1_table` of every setting in a grid, and of the sizes shown.

    A setting that comes twice is solved once, with the step of the grid that names it first.
    Columns of W do not know of each other, so that lists of unequal length take as long as the
    slowest of their lengths alone; their `separation` is that of the longest list. `shortest` is m
    where all lists have m.
    """
    grids = [(starmap(Setting, g.settings()), g.step, g.shortest) for g in settings.grids]
    grids.append((starmap(Setting, map(size_of, shown)), STEP, None))
    parts, solved = [], set()
    for grid, step, shortest in progress(grids, unit="grid"):
        new = [one for one in dict.fromkeys(grid) if (one, shortest) not in solved]
        solved.update((one, shortest) for one in new)
        if new and shortest is None:
            table = theorem_1_table(new, solve(new, step, settings.max_steps))
            parts.append(table.assign(shortest=table["m"]))
        parts += [_unequal(one, shortest, step, settings.max_steps) for one in new if shortest]
    return pd.concat(parts, ignore_index=True)


def _unequal(setting: Setting, shortest: int, step: float, max_steps: int) -> pd.DataFrame:
    """The row of lists whose lengths are dealt from `shortest` to m."""
    of_length = [replace(setting, m=m) for m in range(shortest, setting.m + 1)]
    each = theorem_1_table(of_length, solve(of_length, step, max_steps))
    tokens = np.bincount(dealt_lengths(setting.L, shortest, setting.m))[shortest:]
    return each.iloc[[-1]].assign(
        shortest=shortest,
        **_beside_bound(setting, each["t_star"].max(skipna=False), each["gamma"].min()),
        order=np.average(each["order"], weights=tokens * (each["m"] - 1)),
        steps=each["steps"].max(),
    )


def follow(sizes: Sequence[Size], max_steps: int) -> pd.DataFrame:
    """The sizes shown, from time 0 to 1.5 t*.

    Returns:
        A row per setting and time: `L`, `n`, `m`, `delta`, `shortest` (m), `time`, `loss`,
        `accuracy` and `scores` (list of m + 1: the list places, then an outside token).

    Raises:
        OnelayerError: a setting is not perfect within `max_steps`, or at once.
    """
    shown = [Setting(*size_of(size)) for size in sizes]
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
        parts.append(pd.DataFrame(vars(setting) | {"shortest": setting.m} | columns))
    return pd.concat(parts, ignore_index=True)
