"""Theorem 1 at every size: the exact flow of W, its time to perfection, and a counterexample.

With uniform n-subsets, lists of equal length m and V = cP, every column of W moves alike, and so do
all tokens outside the list: of L x L unknowns the scores of the m list places and one common score
of the others are left. Of a sequence only matters which list tokens are present (the own token
always is): 2^(m-1) patterns with hypergeometric weights replace comb(L, n) sequences. Time is that
of the full problem: eq. (2) averages over positions, so a column's gradient carries P(s_j = a) =
1/L, and one outside token's derivative is its group's divided by L - m.

Shapes: B settings; K slots (list places 1..M of the longest list, then the outside group); R
presence patterns. Settings with shorter lists leave the slots between their own token and the group
empty, with count 0.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields
from itertools import islice, product, starmap, zip_longest
from typing import NamedTuple

import numpy as np
import pandas as pd
import torch
from scipy.integrate import solve_ivp
from scipy.special import comb

from onelayer.decision_lists import data, model
from onelayer.errors import OnelayerError
from onelayer.settings.decision_lists import Grid, Size, Theorem1

STEP = 0.05  # of Heun's method, in units of n / c; a fixed step of .01 overshoots
HORIZON, POINTS = 1.5, 200  # of a path that is shown: its end, in t*; its times after the first


class Setting(NamedTuple):
    """One problem: L tokens, sequences of n, lists of m, and the delta of c (ours)."""

    L: int
    n: int
    m: int
    delta: float = 1.0


@dataclass(eq=False)
class Flow:
    """d scores/dt of a batch of settings, and which scores must exceed which."""

    count: np.ndarray  # float64 [K, R, B], tokens of a slot in the sequence: 0, 1 for list places
    probability: np.ndarray  # float64 [R, B], given that the query is in s; sums to 1
    target: np.ndarray  # bool [K, R, B], the slot that determines the label
    members: np.ndarray  # float64 [K, B], tokens of the vocabulary in a slot: L - m in the group
    c: np.ndarray  # float64 [B]
    L: np.ndarray  # float64 [B]
    n: np.ndarray  # float64 [B]

    def __post_init__(self) -> None:
        self.present = (self.count > 0).astype(float)
        self.right = self.target.astype(float)
        self.gain = self.c * (self.probability / self.L) * self.count / self.members[:, None]
        rivals = (self.count > 0) & (self.probability > 0)
        beats = self.target[:, None] & rivals[None] & ~self.target[None]  # [K, K, R, B]
        # inf where two slots never compete, so that a minimum ignores them
        self.ignored = np.where(beats.any(axis=2), 0.0, np.inf)

    def restricted(self, active: np.ndarray) -> "Flow":
        """The flow of some of the settings."""
        return Flow(*(getattr(self, field.name)[..., active].copy() for field in fields(self)))

    def _attention(self, scores: np.ndarray) -> tuple[np.ndarray, ...]:
        """Attention p of a slot's token [K, R, B]; exp(c p - top), its sum over outputs; top."""
        e = np.exp(scores)[:, None]
        p = self.present * e
        p /= (self.count * e).sum(axis=0)
        top = self.c * p.max(axis=0)
        exponentials = np.exp(self.c * p - top)
        total = (self.count * exponentials).sum(axis=0) + (self.L - self.n) * np.exp(-top)
        return p, exponentials, total, top

    def rate(self, scores: np.ndarray) -> np.ndarray:
        """-d loss/d score of one token of every slot, [K, B]."""
        p, exponentials, total, _ = self._attention(scores)
        residual = exponentials / total - self.right
        pulls = p * residual
        pulls -= p * (self.count * pulls).sum(axis=0)
        return -(pulls * self.gain).sum(axis=1)

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
        of_target = self.c * (p * self.right).sum(axis=0)
        return (self.probability * (np.log(total) + top - of_target)).sum(axis=0)

    def accuracy(self, scores: np.ndarray) -> np.ndarray:
        """Probability that the label-determining slot exceeds every other present one, [B]."""
        w = scores[:, None]
        rival = np.where((self.count > 0) & ~self.target, w, -np.inf).max(axis=0)
        return (self.probability * ((w * self.right).sum(axis=0) > rival)).sum(axis=0)


def reduced_flow(settings: Sequence[Setting]) -> Flow:
    """The flow over the presence patterns of every setting; impossible ones have probability 0."""
    L, n, m, delta = map(np.array, zip(*settings, strict=True))
    M, B = int(m.max()), len(settings)
    listed = ((np.arange(2 ** (M - 1))[:, None] >> np.arange(M - 1)) & 1 == 1).T[..., None]
    before_own = (np.arange(M - 1)[:, None] < m - 1)[:, None]  # [M - 1, 1, B]
    count = np.zeros((M + 1, 2 ** (M - 1), B))
    count[: M - 1] = listed & before_own
    possible = ~(listed & ~before_own).any(axis=0)  # [R, B]
    group = n - 1 - count.sum(axis=0)
    count[m - 1, :, np.arange(B)] = 1.0
    possible &= group >= 0
    # comb is 0 where more outside tokens are needed than there are.
    ways = np.where(possible, comb(L - m, np.maximum(group, 0)), 0.0)
    count[M] = np.where(ways > 0, group, 0.0)
    target = np.zeros(count.shape, dtype=bool)
    np.put_along_axis(target, (count > 0).argmax(axis=0)[None], True, axis=0)
    members = np.ones((M + 1, B))
    members[M] = np.maximum(L - m, 1)
    c, probability = data.theorem_1_scale(L, n, delta), ways / comb(L - 1, n - 1)
    return Flow(count, probability, target, members, c, L.astype(float), n.astype(float))


def solve(
    settings: Sequence[Setting], step: float = STEP, max_steps: int = 1_000_000
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Follow every setting from W = 0 until it classifies every pattern strictly right.

    They are any mix of L, n, m and delta, each with its own time. `step` is in units of n / c.

    Returns:
        float64 [B], t*: the first time at which every pattern is strictly right, interpolated
        linearly inside the step; NaN where `max_steps` came first. Float64 [B, K], the staircase:
        the time from which on (up to t*) a slot exceeds all that it must, 0 where it has no rival.
        Float64 [B, K], W[., a] just after t*.
    """
    everything = reduced_flow(settings)
    scores = np.zeros_like(everything.members)
    crossing, at_rest, taken = np.full(scores.shape, np.nan), everything.margins(scores), 0
    active = np.flatnonzero((at_rest <= 0).any(axis=0))  # where nothing competes, all is right
    while len(active) and taken < max_steps:
        flow, now = everything.restricted(active), scores[:, active]
        h, margin = step * flow.n / flow.c, flow.margins(now)
        done = np.zeros(len(active), dtype=bool)
        while not done.any() and taken < max_steps:
            now, before = flow.heun(now, h), margin
            margin = flow.margins(now)
            slot, column = np.nonzero((before <= 0) & (margin > 0))
            old, new = before[slot, column], margin[slot, column]
            crossing[slot, active[column]] = h[column] * (taken - old / (new - old))
            done = (margin > 0).all(axis=0)
            taken += 1
        scores[:, active] = now
        active = active[~done]
    crossing[:, active] = np.nan
    crossing = np.where(np.isinf(at_rest), 0.0, crossing)
    return crossing.max(axis=0), crossing.T, scores.T


def time_and_bound(L: int, M: int, t_star: float, gamma: float) -> dict[str, float]:
    """A time in units of Theorem 1's bound."""
    bound = data.theorem_1_bound(L, M, gamma)
    times = {"t_star": t_star, "gamma": gamma, "bound": bound}
    times["t_star_to_bound_ratio"] = t_star / bound
    return times | {"t_star_gamma_log_l": t_star * gamma * np.log(L)}


def solve_grids(
    settings: Theorem1, shown: Sequence[Size], progress: Callable[..., Iterable] = iter
) -> pd.DataFrame:
    """Every setting of the grids and every size shown, a row each.

    Columns of W do not know of each other, so that lists of unequal length, dealt from `shortest`
    to m, take as long as the slowest of their lengths alone.

    Returns:
        `L`, `n`, `m`, `delta`, `shortest` (m where all lists have m), what `time_and_bound` says,
        `order` (share of adjacent list pairs in the right order; 1 if no list has a pair) and
        `separation` (of the longest list: m times, a_1 first).
    """
    rows = []
    of_shown = [Grid(L=[size.L], n=[size.n], m=[size.m]) for size in shown]
    for grid in progress([*settings.grids, *of_shown]):
        problems = list(starmap(Setting, product(grid.L, grid.n, grid.m, grid.delta)))
        lengths = [range(grid.shortest or one.m, one.m + 1) for one in problems]
        each = [one._replace(m=m) for one, ms in zip(problems, lengths, strict=True) for m in ms]
        solved = zip(*solve(each, grid.step, settings.max_steps), strict=True)
        for one, ms in zip(problems, lengths, strict=True):
            times, separations, scores = zip(*islice(solved, len(ms)), strict=True)
            dealt = data.dealt_lengths(one.L, ms[0], one.m)
            pairs = np.concatenate([-np.diff(scores[m - ms[0]][:m]) > 0 for m in dealt])
            row = one._asdict() | {"shortest": ms[0]}
            row |= time_and_bound(one.L, one.m, np.max(times), data.uniform_gamma(one.L, one.n, ms))
            row["order"] = float(pairs.mean()) if len(pairs) else 1.0
            rows.append(row | {"separation": separations[-1][: one.m].tolist()})
    keys = ["L", "n", "m", "delta", "shortest"]
    return pd.DataFrame(rows).drop_duplicates(keys, ignore_index=True)


def follow(sizes: Sequence[Size], max_steps: int) -> pd.DataFrame:
    """The sizes shown, at 201 evenly spaced times from 0 to 1.5 t*.

    All take the same number of steps, each no longer than `STEP`.

    Returns:
        A row per setting and time: `L`, `n`, `m`, `time`, `loss` (population loss, eq. (2)),
        `accuracy` (probability of a strictly right query) and `scores` (list of m + 1: the list
        places, then an outside token).

    Raises:
        OnelayerError: a setting is not perfect within `max_steps`, or at once.
    """
    shown = [Setting(size.L, size.n, size.m) for size in sizes]
    t_star = solve(shown, max_steps=max_steps)[0]
    for setting, time in zip(shown, t_star, strict=True):
        if not time > 0:
            when = "from the first step on" if time == 0 else f"only after {max_steps} steps"
            raise OnelayerError(f"decision_lists.shown: {setting} is perfect {when}")
    flow = reduced_flow(shown)
    end, longest = HORIZON * t_star, STEP * flow.n / flow.c
    stride = int(np.ceil((end / longest).max() / POINTS))
    h, now, rows = end / (stride * POINTS), np.zeros_like(flow.members), []
    for taken in range(stride * POINTS + 1):
        if taken % stride == 0:
            states = zip(shown, taken * h, flow.loss(now), flow.accuracy(now), now.T, strict=True)
            for (L, n, m, _), time, loss, accuracy, scores in states:
                listed = scores[[*range(m), -1]].tolist()
                rows.append((L, n, m, time, loss, accuracy, listed))
        now = flow.heun(now, h)
    columns = ["L", "n", "m", "time", "loss", "accuracy", "scores"]
    return pd.DataFrame(rows, columns=columns)


# Lists, and weights of the tokens, for which the bound with our gamma fails at delta = 1: the worst
# of 5,952 that a search tried, each sequence of 3 of 5 tokens as likely as the product of weights.
LISTS = [[0], [2, 1], [4, 3, 2], [3], [4]]
WEIGHTS = [20.72, 0.09656, 0.1764, 0.03704, 0.01176]
LENGTH = 3


def counterexample(delta: float = 1.0) -> dict[str, float]:
    """Time to perfect classification of `LISTS` under `WEIGHTS`, beside Theorem 1's bound.

    Gradient flow on all of W over all sequences. The integrator chooses its steps: far more than
    for uniform sequences. The row is `solve_grids`' without `order` and `separation`.
    """
    L, M, padded = len(LISTS), max(map(len, LISTS)), zip_longest(*LISTS, fillvalue=data.PADDING)
    lists = data.DecisionLists(np.array(list(padded)).T, np.arange(L))
    sequences = data.enumerate_sequences(L, LENGTH, np.array(WEIGHTS))
    pairs, target, weight = present = model.tokens_present(lists, sequences)
    c = data.theorem_1_scale(L, LENGTH, delta)

    def rate(_: float, W: np.ndarray) -> np.ndarray:
        return -model.gradient_w(torch.from_numpy(W).view(L, L), c, *present).numpy().ravel()

    def margin(_: float, W: np.ndarray) -> float:
        scores = torch.from_numpy(W)[pairs]
        others = scores.scatter(2, target, -torch.inf).amax(dim=2, keepdim=True)
        return float((scores.gather(2, target) - others).min())

    margin.terminal, margin.direction = True, 1
    start, how = np.zeros(L * L), {"method": "LSODA", "rtol": 1e-8, "atol": 1e-11}
    path = solve_ivp(rate, (0.0, 1e5), start, events=margin, **how)
    determining = pairs.gather(2, target)  # place in W, [S, n, 1]
    mass = weight.expand_as(determining).ravel()
    shares = np.bincount(determining.ravel(), mass, L * L)  # P(s_j = a, b determines the label)
    gamma = min(shares[b * L + a] for a in range(L) for b in LISTS[a])
    size = {"L": L, "n": LENGTH, "m": M, "shortest": min(map(len, LISTS)), "delta": delta}
    return size | time_and_bound(L, M, path.t_events[0][0], gamma)
