"""Theorem 1's dynamics on the whole L x L matrix W: population gradient flow, sampled flow, SGD.

`full_flow` integrates the population gradient over sequences that are all at hand, and so checks
the reduction in `reduced`. `sampled_flow` draws fresh sequences for every step, in chunks, for
vocabularies too large to enumerate and for any distribution; `stochastic_descent` is plain gradient
descent on fresh sequences. With V = cP the permutation drops out of all three.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from onelayer.papers.decision_lists.checks import check_positive, check_sizes
from onelayer.papers.decision_lists.data import DecisionLists, Sequences
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
from onelayer.papers.decision_lists.resume import Resume
from onelayer.papers.decision_lists.sampler import Sampler

HISTORY = ["time", "loss", "accuracy", "order", "certified"]
Progress = Callable[[Iterable[int]], Iterable[int]]


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
    progress: Progress = iter,
    resume: Resume | None = None,
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
        progress: wraps the steps, to show how many are done.
        resume: where the run keeps its state and what it goes on from.

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
        lists,
        lambda: [batch],
        column_margins,
        c,
        step * n / c,
        progress(range(max_steps)),
        record_every,
        device,
        resume,
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
    progress: Progress = iter,
    resume: Resume | None = None,
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
        progress: wraps the steps, to show how many are done.
        resume: where the run keeps its state and what it goes on from.

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
        progress(range(max_steps)),
        record_every,
        device,
        resume,
        sampler.generator,
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
    progress: Progress = iter,
    resume: Resume | None = None,
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
        progress(range(max_steps)),
        record_every,
        device,
        resume,
        sampler.generator,
        heun=False,
    )


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
    steps: Iterable[int],
    record_every: int,
    device: str,
    resume: Resume | None = None,
    generator: torch.Generator | None = None,
    heun: bool = True,
) -> FullFlow:
    """Heun's (or Euler's) method from W = 0 until every column's margin is positive."""
    kept = resume.load(generator) if resume else None
    if kept:
        state, begun = kept
        W, above, crossing, history = (
            state["W"].to(device),
            state["above"].numpy(),
            state["crossing"].numpy(),
            state["history"].tolist(),
        )
    else:
        W = torch.zeros(lists.vocabulary, lists.vocabulary, dtype=torch.float64, device=device)
        above = column_margins(W)
        crossing = np.where(above > 0, 0.0, np.nan)
        history = [_record(0.0, W, c, draw(), lists)]
        begun = 0
    taken = begun
    for step in steps:
        if (above > 0).all():
            break
        if step < begun:
            continue
        batches = draw()
        slope = _gradient(W, c, batches)
        if heun:
            slope = 0.5 * (slope + _gradient(W - h * slope, c, batches))
        W = W - h * slope
        below, above = above, column_margins(W)
        rose = (below <= 0) & (above > 0)
        crossing[rose] = h * (step - below[rose] / (above[rose] - below[rose]))
        crossing[above <= 0] = np.nan
        taken = step + 1
        if taken % record_every == 0 or (above > 0).all():
            history.append(_record(h * taken, W, c, batches, lists))
        if resume:
            resume.save_if_due(
                {"W": W, **_tensors(above=above, crossing=crossing, history=history)},
                taken,
                generator,
            )
    if resume:
        resume.done()
    return FullFlow(
        t_star=float(crossing.max()),
        column_times=crossing,
        W=W.cpu().numpy(),
        steps=taken,
        history=pd.DataFrame(history, columns=HISTORY),
    )


def _tensors(**arrays: object) -> dict[str, Tensor]:
    return {name: torch.as_tensor(values, dtype=torch.float64) for name, values in arrays.items()}


def _gradient(W: Tensor, c: float, batches: list[Batch]) -> Tensor:
    return sum(gradient_w(W, c, batch) for batch in batches) / len(batches)


def _record(
    time: float, W: Tensor, c: float, batches: list[Batch], lists: DecisionLists
) -> list[float]:
    """The columns of `HISTORY` at one time."""
    values = W.cpu().numpy()
    return [
        time,
        float(np.mean([float(loss_w(W, c, batch)) for batch in batches])),
        float(np.mean([strict_accuracy(W, batch) for batch in batches])),
        order(values, lists),
        float(certificate(values, lists).mean()),
    ]
