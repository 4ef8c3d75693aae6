"""Theorem 1's dynamics on the whole L x L matrix W: population gradient flow, sampled flow, SGD.

`full_flow` integrates the population gradient over sequences that are all at hand, and so checks
the reduction in `reduced`. `sampled_flow` draws fresh sequences for every step, in chunks, for
vocabularies too large to enumerate and for any distribution; `stochastic_descent` is plain gradient
descent on fresh sequences. With V = cP the permutation drops out of all three.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from onelayer.papers.decision_lists.checks import check_positive, check_sizes
from onelayer.papers.decision_lists.data import (
    DecisionLists,
    Sequences,
    inclusion_chances,
)
from onelayer.papers.decision_lists.model import (
    Batch,
    batch_of,
    certificate,
    gradient_w,
    loss_w,
    margins,
    order,
    strict_accuracy,
)
from onelayer.papers.decision_lists.reduced import STEP


@dataclass(frozen=True, eq=False)
class FullFlow:
    """One run on W.

    Attributes:
        t_star: first time at which every query is strictly right, interpolated linearly inside
            the step; NaN where the steps ran out.
        column_times: float64 [L], the same for each query token alone.
        W: float64 [L, L] at the end, entry [key, query].
        steps: steps taken.
        history: columns `time`, `loss`, `accuracy` (strict, over the sequences at hand), `order`
            and `certified` (share of query tokens with a proof for all sequences).
    """

    t_star: float
    column_times: np.ndarray
    W: np.ndarray
    steps: int
    history: pd.DataFrame


def full_flow(
    lists: DecisionLists,
    sequences: Sequences,
    c: float,
    step: float = STEP,
    max_steps: int = 100_000,
    record_every: int = 100,
    device: str = "cpu",
) -> FullFlow:
    """Gradient flow from W = 0 by Heun's method until every sequence given is strictly right.

    Args:
        lists: the task.
        sequences: all of the distribution (`enumerate_sequences`), or a sample taken for it.
        c: scale of V = cP.
        step: Heun step in units of n / c.
        max_steps: where to give up.
        record_every: steps between rows of the history.
        device: where PyTorch computes.

    Raises:
        ValueError: bad sizes, or c or step is not positive.
    """
    batch = batch_of(lists, sequences, device)
    n = sequences.tokens.shape[1]
    _check(lists, n, c, step)
    query = torch.from_numpy(sequences.tokens).to(device).reshape(-1)

    def column_margins(W: Tensor) -> np.ndarray:
        smallest = torch.full((lists.vocabulary,), torch.inf, dtype=W.dtype, device=W.device)
        return (
            smallest.scatter_reduce(0, query, margins(W, batch).reshape(-1), "amin").cpu().numpy()
        )

    return _integrate(
        lists, lambda: [batch], column_margins, c, step * n / c, max_steps, record_every, device
    )


def sampled_flow(
    rng: np.random.Generator,
    lists: DecisionLists,
    n: int,
    c: float,
    batch: int,
    chunks: int = 1,
    weights: np.ndarray | None = None,
    step: float = STEP,
    max_steps: int = 100_000,
    record_every: int = 100,
    device: str = "cpu",
) -> FullFlow:
    """`full_flow` with fresh sequences at every step, until the certificate holds for all tokens.

    Both stages of a step see the same sequences, so the drift is unbiased and its noise averages
    out over time. The last token to be learned is late by chance: compare the median of
    `column_times` with the exact t*, and take `t_star` for the time of this run.

    Args:
        rng: source of all randomness; its sequences are drawn on the device.
        lists: the task.
        n: tokens in a sequence.
        c: scale of V = cP.
        batch: sequences in a chunk.
        chunks: chunks per step, one after the other (memory is that of one).
        weights: float64 [L], positive; None is uniform.
        step: Heun step in units of n / c. The flow is smooth on the scale of L n / c: a large
            vocabulary allows larger steps, to be checked on the reduced flow.
        max_steps: where to give up.
        record_every: steps between rows of the history.
        device: where PyTorch computes, such as "cuda".

    Raises:
        ValueError: bad sizes, or c, step, batch or chunks is not positive.
    """
    _check(lists, n, c, step)
    check_positive("chunks", chunks)
    sampler = Sampler(rng, lists, n, batch, weights, device)

    def column_margins(W: Tensor) -> np.ndarray:
        return sampler.certificate_margins(W).cpu().numpy()

    return _integrate(
        lists,
        lambda: [sampler.draw() for _ in range(chunks)],
        column_margins,
        c,
        step * n / c,
        max_steps,
        record_every,
        device,
    )


def stochastic_descent(
    rng: np.random.Generator,
    lists: DecisionLists,
    n: int,
    c: float,
    eta: float,
    batch: int,
    max_steps: int,
    weights: np.ndarray | None = None,
    record_every: int = 100,
    device: str = "cpu",
) -> FullFlow:
    """Gradient descent on W from 0 with fresh sequences at every step; time is eta times steps.

    Stops when the certificate holds for every token. Arguments as in `sampled_flow`; eta is the
    learning rate.

    Raises:
        ValueError: bad sizes, or c, eta or batch is not positive.
    """
    _check(lists, n, c, eta)
    sampler = Sampler(rng, lists, n, batch, weights, device)

    def column_margins(W: Tensor) -> np.ndarray:
        return sampler.certificate_margins(W).cpu().numpy()

    return _integrate(
        lists,
        lambda: [sampler.draw()],
        column_margins,
        c,
        eta,
        max_steps,
        record_every,
        device,
        heun=False,
    )


class Sampler:
    """Draws batches of sequences on a device.

    Args:
        rng: seeds the device's own generator.
        lists: the task.
        n: tokens in a sequence.
        batch: sequences per draw.
        weights: float64 [L] of the tokens, or None for uniform.
        device: where the sequences are drawn and stay.

    Raises:
        ValueError: bad sizes or batch < 1.
    """

    def __init__(
        self,
        rng: np.random.Generator,
        lists: DecisionLists,
        n: int,
        batch: int,
        weights: np.ndarray | None = None,
        device: str = "cpu",
    ) -> None:
        check_sizes(lists.vocabulary, n, lists.lists.shape[1])
        check_positive("batch", batch)
        self.n, self.batch, self.device, self.L = n, batch, device, lists.vocabulary
        self.generator = torch.Generator(device).manual_seed(int(rng.integers(2**31)))
        self.rank = torch.from_numpy(lists.rank).to(device)
        self.chance = None
        if weights is not None:
            self.chance = torch.from_numpy(inclusion_chances(weights, n)).to(device)
        self.weight = torch.full((batch, 1, 1), 1 / (batch * n), dtype=torch.float64, device=device)
        # places of the list in the flattened W, its padding repeating the own token
        padded = np.where(lists.lists < 0, np.arange(self.L)[:, None], lists.lists)
        self.places = torch.from_numpy(padded * self.L + np.arange(self.L)[:, None]).to(device)
        self.padding = torch.from_numpy(lists.lists[:, 1:] < 0).to(device)
        self.outside = self.rank == lists.lists.shape[1]

    def tokens(self) -> Tensor:
        """Sequences of distinct tokens, int64 [batch, n]."""
        if self.chance is None:
            keys = torch.rand(self.batch, self.L, generator=self.generator, device=self.device)
            return keys.topk(self.n, dim=1).indices
        needed = torch.full((self.batch,), self.n, device=self.device)
        taken = torch.empty(self.L, self.batch, dtype=torch.bool, device=self.device)
        for token in range(self.L):
            coin = torch.rand(
                self.batch, generator=self.generator, device=self.device, dtype=torch.float64
            )
            torch.lt(coin, self.chance[token][needed], out=taken[token])
            needed -= taken[token].long()
        return taken.T.nonzero()[:, 1].reshape(self.batch, self.n)

    def draw(self) -> Batch:
        """A fresh batch."""
        tokens = self.tokens()
        key, query = tokens[:, None, :], tokens[:, :, None]
        target = self.rank[key, query].argmin(dim=2, keepdim=True)
        return Batch(key * self.L + query, target, self.weight, self.L)

    def certificate_margins(self, W: Tensor) -> Tensor:
        """`model.certificate_margins` on the device, [L]."""
        scores = W.reshape(-1)[self.places]
        steps = (scores[:, :-1] - scores[:, 1:]).masked_fill(self.padding, torch.inf)
        outside = W.masked_fill(~self.outside, -torch.inf).amax(dim=0)
        smallest = W.diagonal() - outside
        return torch.minimum(smallest, steps.amin(dim=1)) if steps.shape[1] else smallest


def _check(lists: DecisionLists, n: int, c: float, step: float) -> None:
    check_sizes(lists.vocabulary, n, lists.lists.shape[1])
    check_positive("c", c)
    check_positive("step", step)


def _integrate(
    lists: DecisionLists,
    draw: Callable[[], list[Batch]],
    column_margins: Callable[[Tensor], np.ndarray],
    c: float,
    h: float,
    max_steps: int,
    record_every: int,
    device: str,
    heun: bool = True,
) -> FullFlow:
    """Heun's (or Euler's) method from W = 0 until every column's margin is positive."""
    W = torch.zeros(lists.vocabulary, lists.vocabulary, dtype=torch.float64, device=device)
    above = column_margins(W)
    crossing = np.where(above > 0, 0.0, np.nan)
    history = [_record(0.0, W, c, draw(), lists)]
    taken = 0
    while taken < max_steps and not (above > 0).all():
        batches = draw()
        slope = _gradient(W, c, batches)
        if heun:
            slope = 0.5 * (slope + _gradient(W - h * slope, c, batches))
        W = W - h * slope
        below, above = above, column_margins(W)
        rose = (below <= 0) & (above > 0)
        crossing[rose] = h * (taken - below[rose] / (above[rose] - below[rose]))
        crossing[above <= 0] = np.nan
        taken += 1
        if taken % record_every == 0 or (above > 0).all():
            history.append(_record(h * taken, W, c, batches, lists))
    return FullFlow(
        t_star=float(crossing.max()),
        column_times=crossing,
        W=W.cpu().numpy(),
        steps=taken,
        history=pd.DataFrame(history),
    )


def _gradient(W: Tensor, c: float, batches: list[Batch]) -> Tensor:
    return sum(gradient_w(W, c, batch) for batch in batches) / len(batches)


def _record(
    time: float, W: Tensor, c: float, batches: list[Batch], lists: DecisionLists
) -> dict[str, float]:
    values = W.cpu().numpy()
    return {
        "time": time,
        "loss": float(np.mean([float(loss_w(W, c, batch)) for batch in batches])),
        "accuracy": float(np.mean([strict_accuracy(W, batch) for batch in batches])),
        "order": order(values, lists),
        "certified": float(certificate(values, lists).mean()),
    }
