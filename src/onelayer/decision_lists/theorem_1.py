"""Theorem 1 (section I.C.1) at every size: the exact flow of W alone, and a counterexample.

The paper names no constants, and only says that delta and gamma "depend on the minimum probability
mass that the data distribution assigns to certain quantities". Ours: delta is 1 unless stated;
gamma = min over tokens a and places k of P(s_j = a and a_k determines its label), j uniform.

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
from itertools import product, starmap, zip_longest
from typing import NamedTuple

import numpy as np
import pandas as pd
import torch
from scipy.integrate import solve_ivp
from scipy.special import comb

from onelayer.decision_lists import data, model
from onelayer.errors import OnelayerError
from onelayer.settings.decision_lists import Grid, Size, Theorem1

# Of Heun's method, in units of n / c: a time of 0.0045 at L = 16. One of 0.01 would overshoot.
STEP = 0.05
HORIZON, POINTS = 1.5, 200  # of a path that is shown: its end, in t*; its times after the first


def scale(L: int, n: int, delta: float = 1.0) -> float:
    """The scale of V = cP, c = 4 n log(L) / delta."""
    return 4 * n * np.log(L) / delta


def uniform_gamma(L: int, n: int, lengths: Iterable[int]) -> float:
    """Our gamma for uniform sequences and lists of these lengths: min P(b* = a_k | a in s) / L.

    a_k determines the label when it is in s and a_1, ..., a_{k-1} are not; a_m = a always is.
    """
    least = []
    for m in lengths:
        others = comb(L - 1 - np.arange(1, m), n - 2)
        least.append(np.append(others, comb(L - m, n - 1)).min())
    return float(min(least) / comb(L - 1, n - 1) / L)


def time_and_bound(L: int, M: int, t_star: float, gamma: float) -> dict[str, float]:
    """A time to perfection beside Theorem 1's bound 4 M / (log(L) gamma)."""
    bound = 4 * M / (np.log(L) * gamma)
    times = {"t_star": t_star, "gamma": gamma, "bound": bound}
    times["t_star_to_bound_ratio"] = t_star / bound
    return times | {"t_star_gamma_log_l": t_star * gamma * np.log(L)}


def heun(rate: Callable, W, h):
    """W one step of length h later, with dW/dt = rate(W); arrays or tensors."""
    first = rate(W)
    return W + 0.5 * h * (first + rate(W + h * first))


def update_crossings(times, before, after, h, steps) -> None:
    """Set from when on each margin has been positive, after step number `steps` of length h.

    `before` and `after` that step are margins of the shape of `times`, between them the way is
    linear; NaN where a margin is not positive.
    """
    rose = (before <= 0) & (after > 0)
    inside = before[rose] / (before[rose] - after[rose])
    times[rose] = np.broadcast_to(h, rose.shape)[rose] * (steps + inside)
    times[after <= 0] = np.nan


class Setting(NamedTuple):
    """One problem: L tokens, sequences of n, lists of m, and the delta of c."""

    L: int
    n: int
    m: int
    delta: float = 1.0


@dataclass(eq=False)
class Flow:
    """d scores/dt of a batch of settings, and which scores must exceed which."""

    count: np.ndarray  # float64 [K, R, B], tokens of a slot in the sequence: 0, 1 for list places
    probability: np.ndarray  # float64 [R, B], given that the query is in s; sums to 1
    y: np.ndarray  # float64 [K, R, B], 1 for the slot that determines the label, else 0
    members: np.ndarray  # float64 [K, B], tokens of the vocabulary in a slot: L - m in the group
    c: np.ndarray  # float64 [B]
    L: np.ndarray  # float64 [B]
    n: np.ndarray  # float64 [B]

    def __post_init__(self) -> None:
        present = self.count > 0
        self.present, self.rivals = present.astype(float), present & (self.y == 0)
        # c times the probability of query, pattern and one given token of the slot together
        self.weight = self.c * (self.probability / self.L) * self.count / self.members[:, None]
        competes = ((self.y[:, None] > 0) & self.rivals & (self.probability > 0)).any(axis=2)
        # inf where two slots never compete, so that a minimum ignores them
        self.ignored = np.where(competes, 0.0, np.inf)  # [K, K, B]

    def restricted(self, active: np.ndarray) -> "Flow":
        """The flow of some of the settings."""
        return Flow(*(getattr(self, field.name)[..., active].copy() for field in fields(self)))

    def forward(self, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Attention p of a slot's token and its output f, both [K, R, B], for scores [K, B]."""
        e = np.exp(scores)[:, None]
        p = self.present * e
        p /= (self.count * e).sum(axis=0)
        top = self.c * p.max(axis=0)
        f = np.exp(self.c * p - top)
        f /= (self.count * f).sum(axis=0) + (self.L - self.n) * np.exp(-top)  # absent: logit 0
        return p, f

    def rate(self, scores: np.ndarray) -> np.ndarray:
        """-d loss/d score of one token of every slot, [K, B].

        d loss/dW[b, a] = c p_b [(f_b - y_b) - sum_k p_k (f_k - y_k)] in every sequence.
        """
        p, f = self.forward(scores)
        centred = p * (f - self.y)
        centred -= p * (self.count * centred).sum(axis=0)
        return -(centred * self.weight).sum(axis=1)

    def margins(self, scores: np.ndarray) -> np.ndarray:
        """How far each slot exceeds all that it must exceed, [K, B]; inf for none."""
        return (scores[:, None] - scores[None] + self.ignored).min(axis=1)

    def loss_and_accuracy(self, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Population loss, and probability that a query is strictly right, both [B]."""
        _, f = self.forward(scores)
        of_label = (f * self.y).sum(axis=0)
        right = of_label > (f * self.rivals).max(axis=0)
        loss = -(self.probability * np.log(of_label)).sum(axis=0)
        return loss, (self.probability * right).sum(axis=0)


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
    y = np.zeros(count.shape)
    np.put_along_axis(y, (count > 0).argmax(axis=0)[None], 1.0, axis=0)
    members = np.ones((M + 1, B))
    members[M] = np.maximum(L - m, 1)
    c, probability = scale(L, n, delta), ways / comb(L - 1, n - 1)
    return Flow(count, probability, y, members, c, L.astype(float), n.astype(float))


def solve(
    settings: Sequence[Setting], step: float = STEP, max_steps: int = 1_000_000
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Follow every setting from W = 0 until it classifies every pattern strictly right.

    They are any mix of L, n, m and delta, each with its own time. `step` is in units of n / c.

    Returns:
        float64 [B], t*: the first time at which every pattern is strictly right, NaN where
        `max_steps` came first. Float64 [B, K], the staircase: the time from which on (up to t*) a
        slot exceeds all that it must, 0 where it has no rival. Float64 [B, K], W[., a] just after
        t*.
    """
    everything = reduced_flow(settings)
    scores = np.zeros_like(everything.members)
    learned = np.where(everything.margins(scores) > 0, 0.0, np.nan)  # slots that compete tie
    active, taken = np.flatnonzero(np.isnan(learned).any(axis=0)), 0
    while len(active) and taken < max_steps:
        flow, now, times = everything.restricted(active), scores[:, active], learned[:, active]
        h, margin, done = step * flow.n / flow.c, flow.margins(now), np.array(False)
        while not done.any() and taken < max_steps:
            now, before = heun(flow.rate, now, h), margin
            margin = flow.margins(now)
            update_crossings(times, before, margin, h, taken)
            done = (margin > 0).all(axis=0)
            taken += 1
        scores[:, active], learned[:, active] = now, times
        active = active[~done]
    return learned.max(axis=0), learned.T, scores.T


def solve_grids(
    settings: Theorem1, shown: Sequence[Size], progress: data.Progress = iter
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
        found = zip(*solve(each, grid.step, settings.max_steps), strict=True)
        solved = dict(zip(each, found, strict=True))
        for one, ms in zip(problems, lengths, strict=True):
            times, separations, scores = zip(*(solved[one._replace(m=m)] for m in ms), strict=True)
            dealt = data.dealt_lengths(one.L, ms[0], one.m)
            pairs = np.concatenate([np.diff(scores[m - ms[0]][:m]) < 0 for m in dealt])
            row = one._asdict() | {"shortest": ms[0]}
            row |= time_and_bound(one.L, one.m, np.max(times), uniform_gamma(one.L, one.n, ms))
            row["order"] = float(pairs.mean()) if len(pairs) else 1.0
            rows.append(row | {"separation": separations[-1][: one.m].tolist()})
    keys = ["L", "n", "m", "delta", "shortest"]
    return pd.DataFrame(rows).drop_duplicates(keys, ignore_index=True)


def follow(sizes: Sequence[Size], max_steps: int) -> pd.DataFrame:
    """The sizes shown, at 201 evenly spaced times from 0 to 1.5 t*.

    All take the same number of steps, each no longer than `STEP`.

    Returns:
        A row per setting and time: `L`, `n`, `m`, `time`, `loss` (population loss, eq. (2)),
        `accuracy` (probability of a strictly right query).

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
            states = zip(shown, taken * h, *flow.loss_and_accuracy(now), strict=True)
            rows += [(*setting[:3], *state) for setting, *state in states]
        now = heun(flow.rate, now, h)
    return pd.DataFrame(rows, columns=["L", "n", "m", "time", "loss", "accuracy"])


# Lists, and weights of the tokens, for which the bound with our gamma fails at delta = 1: the worst
# of 5,952 that a search tried, each sequence of 3 of 5 tokens as likely as the product of weights.
LISTS = [[0], [2, 1], [4, 3, 2], [3], [4]]
WEIGHTS = [20.72, 0.09656, 0.1764, 0.03704, 0.01176]
LENGTH = 3


def counterexample(delta: float = 1.0) -> dict[str, float]:
    """Time to perfect classification of `LISTS` under `WEIGHTS`, beside Theorem 1's bound.

    Gradient flow on all of W over all sequences, until all of `list_steps` are positive: here, with
    two tokens or more outside each list, every sequence is right no sooner. The integrator chooses
    its steps: far more than for uniform sequences. The row is `solve_grids`' without `order` and
    `separation`.
    """
    L, M, padded = len(LISTS), max(map(len, LISTS)), zip_longest(*LISTS, fillvalue=data.PADDING)
    lists = data.DecisionLists(np.array(list(padded)).T, np.arange(L))
    sequences = data.enumerate_sequences(L, LENGTH, np.array(WEIGHTS))
    queries, V = model.queries_of(lists, sequences), scale(L, LENGTH, delta) * torch.eye(L).double()

    def rate(_: float, W: np.ndarray) -> np.ndarray:
        return -model.evaluate(torch.from_numpy(W).view(L, L), V, queries).grad_W.numpy().ravel()

    def margin(_: float, W: np.ndarray) -> float:
        return model.list_steps(lists, W.reshape(L, L)).min()

    margin.terminal, margin.direction = True, 1
    start, how = np.zeros(L * L), {"method": "LSODA", "rtol": 1e-8, "atol": 1e-11}
    path = solve_ivp(rate, (0.0, 1e5), start, events=margin, **how)
    mass = np.zeros((L, L))  # P(s_j = a, b determines the label), [a, b]
    for tokens, probability in zip(sequences.tokens, sequences.probability, strict=True):
        labels = tokens[lists.determining_places(tokens[None])[0]]
        mass[tokens, labels] += probability / LENGTH
    size = {"L": L, "n": LENGTH, "m": M, "shortest": min(map(len, LISTS)), "delta": delta}
    return size | time_and_bound(L, M, path.t_events[0][0], mass[mass > 0].min())
