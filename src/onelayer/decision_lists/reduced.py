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

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
from scipy.special import comb

from onelayer.decision_lists.data import theorem_1_scale

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
        return theorem_1_scale(self.L, self.n, self.delta)


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
    L, n, m = (np.array([getattr(s, name) for s in settings]) for name in ("L", "n", "m"))
    M, B = int(m.max()), len(settings)
    listed = (np.arange(2 ** (M - 1))[:, None] >> np.arange(M - 1)) & 1 == 1  # [R, M - 1]
    count = np.zeros((M + 1, len(listed), B))
    before_own = np.arange(M - 1)[:, None] < m - 1  # [M - 1, B]
    count[: M - 1] = listed.T[:, :, None] & before_own[:, None]
    possible = ~(listed.T[:, :, None] & ~before_own[:, None]).any(axis=0)  # [R, B]
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
    c, probability = np.array([s.c for s in settings]), ways / comb(L - 1, n - 1)
    return Flow(count, probability, target, members, c, L.astype(float), n.astype(float))


@dataclass(frozen=True, eq=False)
class Solved:
    """Perfect classification of B settings."""

    t_star: np.ndarray
    """First time at which every pattern is strictly right, interpolated linearly inside the step;
    NaN where `max_steps` came first; float64 [B]."""
    separation: np.ndarray
    """Time from which on (up to t*) a slot exceeds all that it must: the staircase, of which t* is
    the largest; 0 where it has no rival; float64 [B, K]."""
    scores: np.ndarray  # W[., a] just after t*, float64 [B, K]


def solve(settings: Sequence[Setting], step: float = STEP, max_steps: int = 1_000_000) -> Solved:
    """Follow every setting from W = 0 until it classifies every pattern strictly right.

    They are any mix of L, n, m and delta, and advance together, each with its own time. `step` is
    Heun's, in units of n / c.
    """
    everything = reduced_flow(settings)
    K, B = everything.members.shape
    crossing, scores = np.full((K, B), np.nan), np.zeros((K, B))
    at_rest = everything.margins(scores)
    active = np.arange(B)[(at_rest <= 0).any(axis=0)]  # where nothing competes, all is right

    def restrict() -> tuple[Flow, np.ndarray, np.ndarray, np.ndarray]:
        flow, now = everything.restricted(active), scores[:, active]
        return flow, step * flow.n / flow.c, now, flow.margins(now)

    flow, h, now, margin = restrict()
    for taken in range(1, max_steps + 1):
        if not len(active):
            break
        now = flow.heun(now, h)
        margin_before, margin = margin, flow.margins(now)
        changed = (margin > 0) != (margin_before > 0)
        if not changed.any():
            continue
        slot, column = np.nonzero(changed & (margin > 0))
        old, new = margin_before[slot, column], margin[slot, column]
        crossing[slot, active[column]] = h[column] * (taken - 1 - old / (new - old))
        done = (margin > 0).all(axis=0)
        if done.any():
            scores[:, active] = now
            active = active[~done]
            flow, h, now, margin = restrict()
    scores[:, active], crossing[:, active] = now, np.nan
    crossing = np.where(np.isinf(at_rest), 0.0, crossing)
    return Solved(crossing.max(axis=0), crossing.T, scores.T)


def trajectories(settings: Sequence[Setting], t_star: np.ndarray) -> dict[str, np.ndarray]:
    """The settings at T evenly spaced times from 0 to 1.5 t*, float64 [B] of `solve`, positive.

    All settings take the same number of steps, each no longer than `STEP`.

    Returns:
        Float64 [T, B]: `time`, `loss` (population loss, eq. (2)), `accuracy` (probability of a
        strictly right query); and `scores` [T, B, K] of list places, then the outside tokens.
    """
    flow = reduced_flow(settings)
    end, longest = HORIZON * t_star, STEP * flow.n / flow.c
    stride = int(np.ceil((end / longest).max() / POINTS))
    h = end / (stride * POINTS)
    now = np.zeros_like(flow.members)
    record = []
    for taken in range(stride * POINTS + 1):
        if taken % stride == 0:
            record.append((flow.loss(now), flow.accuracy(now), now.T))
        now = flow.heun(now, h)
    loss, accuracy, scores = map(np.array, zip(*record, strict=True))
    time = np.arange(POINTS + 1)[:, None] * stride * h
    return {"time": time, "loss": loss, "accuracy": accuracy, "scores": scores}
