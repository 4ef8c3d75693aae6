"""Theorem 1's dynamics on the whole L x L matrix W: population gradient flow, sampled flow, SGD.

A `Training` holds W and what is known of it; `heun` follows the gradient flow, `euler` is plain
gradient descent. `AllSequences` give the population gradient, and so check the reduction in
`reduced`; a `Sampler` draws fresh sequences for every step, for vocabularies too large to enumerate
and for any distribution. With V = cP the permutation drops out of all of it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from onelayer.compute.device import to_device
from onelayer.compute.execution import Execution
from onelayer.compute.graphs import Graphed
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
from onelayer.papers.decision_lists.sampler import Sampler
from onelayer.settings.decision_list_sizes import check_sizes
from onelayer.settings.decision_lists import Run

HISTORY = ["time", "loss", "accuracy", "order", "certified"]
LOOK_EVERY = 20  # steps on a GPU after which the host asks whether every query is right
Scheme = Callable[[Tensor, float, Callable[[Tensor], Tensor]], Tensor]


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


class Source(Protocol):
    """Where the sequences of every step come from, and what calls W perfect.

    Attributes:
        lists: the task.
        device: where the sequences are.
        generator: draws them; None where nothing is drawn.
    """

    lists: DecisionLists
    device: str
    generator: torch.Generator | None

    def draw(self) -> Batch:
        """The sequences of one chunk of a step."""

    def column_margins(self, W: Tensor) -> np.ndarray:
        """Float64 [L], positive for every query token that is strictly right."""


class AllSequences:
    """The same sequences at every step: all of the distribution, on the CPU.

    Args:
        lists: the task.
        sequences: see `data.enumerate_sequences`.

    Raises:
        ValueError: a list never fits a sequence.
    """

    device = "cpu"
    generator = None

    def __init__(self, lists: DecisionLists, sequences: Sequences) -> None:
        check_sizes(lists.vocabulary, sequences.tokens.shape[1], lists.lists.shape[1])
        self.lists = lists
        self._batch = batch_of(lists, sequences)
        self._query = torch.from_numpy(sequences.tokens).reshape(-1)

    def draw(self) -> Batch:
        """All of them."""
        return self._batch

    def column_margins(self, W: Tensor) -> np.ndarray:
        """Smallest `model.margins` of each query token over the sequences, float64 [L]."""
        smallest = torch.full((self.lists.vocabulary,), torch.inf, dtype=W.dtype)
        every = margins(W, self._batch).reshape(-1)
        return smallest.scatter_reduce(0, self._query, every, "amin").numpy()


def heun(W: Tensor, h: float, gradient: Callable[[Tensor], Tensor]) -> Tensor:
    """W one step of length h further along the flow, by Heun's method."""
    slope = gradient(W)
    slope = 0.5 * (slope + gradient(W - h * slope))
    return W - h * slope


def euler(W: Tensor, h: float, gradient: Callable[[Tensor], Tensor]) -> Tensor:
    """W one step of gradient descent further; h is the learning rate."""
    return W - h * gradient(W)


class Training:
    """W on its way from 0.

    Args:
        source: of the sequences.
        c: scale of V = cP.
        h: length of a step, in the time of the flow. It is smooth on the scale of L n / c: a large
            vocabulary allows larger steps, to be checked on the reduced flow.
        chunks: draws per step, one after the other (memory is that of one). All stages of a step
            see the same ones, so the drift is unbiased and its noise averages out over time.

    Attributes:
        W: float64 [L, L].
        above: float64 [L], the columns' margins at W.
        crossing: float64 [L], times at which they became positive; NaN while they are not.
        history: rows of `HISTORY`.
        steps: steps taken.
        settled: whether all of this is known to the host.
    """

    settled = True

    def __init__(self, source: Source, c: float, h: float, chunks: int = 1) -> None:
        self.source, self.c, self.h, self.chunks = source, c, h, chunks
        L = source.lists.vocabulary
        self.W = torch.zeros(L, L, dtype=torch.float64, device=source.device)
        self.above = source.column_margins(self.W)
        self.crossing = np.where(self.above > 0, 0.0, np.nan)
        self.history: list[list[float]] = []
        self.steps = 0
        self._draw()
        self.record()

    @property
    def perfect(self) -> bool:
        """Whether every query is strictly right."""
        return bool((self.above > 0).all())

    def gradient(self, W: Tensor) -> Tensor:
        """Gradient of the loss over the step's sequences, [L, L]."""
        return sum(gradient_w(W, self.c, batch) for batch in self._batches) / self.chunks

    def step(self, scheme: Scheme, record_every: int) -> None:
        """Take one step, and record what is due."""
        self.advance(scheme)
        if self.steps % record_every == 0 or self.perfect:
            self.record()

    def advance(self, scheme: Scheme) -> None:
        """Take one step on fresh sequences, and note which columns became right inside it."""
        self._draw()
        self.move(scheme)
        below, self.above = self.above, self.source.column_margins(self.W)
        rose = (below <= 0) & (self.above > 0)
        inside = -below[rose] / (self.above[rose] - below[rose])
        self.crossing[rose] = self.h * (self.steps + inside)
        self.crossing[self.above <= 0] = np.nan
        self.steps += 1

    def move(self, scheme: Scheme) -> None:
        """Take W one step further."""
        self.W = scheme(self.W, self.h, self.gradient)

    def record(self) -> None:
        """Add a row to the history, measured on the step's sequences."""
        W, lists = self.W.cpu().numpy(), self.source.lists
        losses = [float(loss_w(self.W, self.c, batch)) for batch in self._batches]
        accuracies = [float(strict_accuracy(self.W, batch)) for batch in self._batches]
        self.history.append(
            [
                self.h * self.steps,
                float(np.mean(losses)),
                float(np.mean(accuracies)),
                order(W, lists),
                float(certificate(W, lists).mean()),
            ]
        )

    def tensors(self) -> dict[str, Tensor]:
        """All that a killed run needs to go on to the same numbers."""
        kept = {
            "W": self.W,
            "above": torch.from_numpy(self.above),
            "crossing": torch.from_numpy(self.crossing),
            "history": torch.tensor(self.history, dtype=torch.float64),
        }
        if self.source.generator is not None:
            kept["generator"] = self.source.generator.get_state()
        return kept

    def restore(self, kept: Mapping[str, Tensor], steps: int) -> None:
        """Go back to where `tensors` were taken, after so many steps."""
        self.W = kept["W"].to(self.source.device)
        self.above, self.crossing = kept["above"].numpy(), kept["crossing"].numpy()
        self.history = kept["history"].tolist()
        if self.source.generator is not None:
            self.source.generator.set_state(kept["generator"])
        self.steps = steps

    def flow(self) -> FullFlow:
        """What came of it so far."""
        return FullFlow(
            t_star=float(self.crossing.max()),
            column_times=self.crossing,
            W=self.W.cpu().numpy(),
            steps=self.steps,
            history=pd.DataFrame(self.history, columns=HISTORY),
        )

    def settle(self, record_every: int) -> None:
        """Let the host know where the training is."""

    def _draw(self) -> None:
        self._batches = [self.source.draw() for _ in range(self.chunks)]


class GpuTraining(Training):
    """The same on a GPU, where no step waits for the host.

    Whether every query is right stays on the device: from then on steps change nothing, and the
    host asks every `LOOK_EVERY` steps. What is recorded stays there until then.

    Args:
        source, c, h, chunks: as `Training`.
    """

    settled = False

    def __init__(self, source: Sampler, c: float, h: float, chunks: int = 1) -> None:
        super().__init__(source, c, h, chunks)
        self._above, self._crossing, self._taken = (
            to_device(values, source.device).clone()
            for values in (self.above, self.crossing, np.zeros((), dtype=np.int64))
        )
        self._held = [
            replace(b, pairs=b.pairs.clone(), target=b.target.clone()) for b in self._batches
        ]
        self._rows: list[tuple[int, Tensor]] = []
        self._scheme: Scheme | None = None
        self._graphed = Graphed(self._advance, source.device)

    def step(self, scheme: Scheme, record_every: int) -> None:
        """Launch one step, and what is to be recorded."""
        self._draw()
        self._scheme = scheme
        self._graphed(self._batches)
        self.steps, self.settled = self.steps + 1, False
        if self.steps % record_every == 0:
            self._rows.append((self.steps, self._measured()))
        if self.steps % LOOK_EVERY == 0:
            self.settle(record_every)

    def _advance(self, drawn: list[Batch]) -> None:
        """One step on these sequences unless every query is right; changes tensors alone."""
        active = (self._above <= 0).any()
        for held, new in zip(self._held, drawn, strict=True):
            for old, fresh in ((held.pairs, new.pairs), (held.target, new.target)):
                old.copy_(torch.where(active, fresh, old))
        self._batches = self._held
        W = torch.where(active, self._scheme(self.W, self.h, self.gradient), self.W)
        below, above = self._above, self.source.margins(W)
        rose = (below <= 0) & (above > 0) & active
        time = self.h * (self._taken - below / (above - below))
        crossing = torch.where(rose, time, self._crossing).masked_fill(above <= 0, torch.nan)
        for own, new in ((self.W, W), (self._above, above), (self._crossing, crossing)):
            own.copy_(new)
        self._taken += active

    def _measured(self) -> Tensor:
        """A row of the history, float64 [columns]."""
        losses = [loss_w(self.W, self.c, batch) for batch in self._held]
        accuracies = [strict_accuracy(self.W, batch) for batch in self._held]
        certified = (self._above > 0).double().mean()
        means = torch.stack(losses).mean(), torch.stack(accuracies).mean()
        time = self.h * self._taken.double()
        return torch.stack([time, *means, self.source.order(self.W), certified])

    def settle(self, record_every: int) -> None:
        """Fetch where the training is, and what was recorded on the way."""
        if self.settled:
            return
        if self.perfect_at_last() and self.steps % record_every:
            self._rows.append((self.steps, self._measured()))
        kept = [row for step, row in self._rows if step <= self.steps]
        self.history += torch.stack(kept).tolist() if kept else []
        self._rows, self.settled = [], True

    def perfect_at_last(self) -> bool:
        """Fetch margins, times and steps; whether every query is right."""
        found = torch.stack([self._above, self._crossing, self._taken.expand_as(self._above)])
        above, crossing, taken = found.cpu().numpy()
        self.above, self.crossing, self.steps = above, crossing, int(taken[0])
        return self.perfect

    def restore(self, kept: Mapping[str, Tensor], steps: int) -> None:
        """Go back to where `tensors` were taken, after so many steps."""
        W = self.W
        super().restore(kept, steps)
        self.W = W.copy_(self.W)
        self._above.copy_(kept["above"])
        self._crossing.copy_(kept["crossing"])
        self._taken.fill_(steps)


class FactoredTraining(Training):
    """W_K and W_Q on their way; `W` is W_K^T W_Q.

    The gradient of W_K is W_Q G^T and that of W_Q is W_K G, with G that of W: both are 0 at W_K =
    W_Q = 0, and W_K W_K^T - W_Q W_Q^T stays what it was along the flow.

    Args:
        source, c, h: as of `Training`.
        factors: float64 [2, d, L], W_K and W_Q at the start.
    """

    def __init__(self, source: Source, c: float, h: float, factors: np.ndarray) -> None:
        super().__init__(source, c, h)
        self._hold(torch.from_numpy(factors))
        self.above = source.column_margins(self.W)
        self.crossing = np.where(self.above > 0, 0.0, np.nan)
        self.history.clear()
        self.record()

    def gradient_of_factors(self, factors: Tensor) -> Tensor:
        """Gradient of the loss over the step's sequences, [2, d, L]."""
        W_K, W_Q = factors
        G = self.gradient(W_K.T @ W_Q)
        return torch.stack([W_Q @ G.T, W_K @ G])

    def move(self, scheme: Scheme) -> None:
        """Take W_K and W_Q one step further, and W with them."""
        self._hold(scheme(self.factors, self.h, self.gradient_of_factors))

    def tensors(self) -> dict[str, Tensor]:
        """All that a killed run needs to go on to the same numbers."""
        return super().tensors() | {"factors": self.factors}

    def restore(self, kept: Mapping[str, Tensor], steps: int) -> None:
        """Go back to where `tensors` were taken, after so many steps."""
        super().restore(kept, steps)
        self._hold(kept["factors"])

    def _hold(self, factors: Tensor) -> None:
        self.factors = factors
        self.W = factors[0].T @ factors[1]


def follow(training: Training, scheme: Scheme, run: Run, execution: Execution) -> FullFlow:
    """Take steps until every query is strictly right, or `run.max_steps` of them.

    Where sequences are drawn the last token to be learned is late by chance: compare the median of
    `column_times` with the exact t*, and take `t_star` for the time of this run.

    Args:
        training: at W = 0; goes on from the state of a killed run, if there is one.
        scheme: `heun` or `euler`.
        run: says where to give up and how often to record.
        execution: progress, and where the state is kept.
    """
    checkpoint = execution.checkpoint
    if kept := checkpoint.read():
        training.restore(*kept)
    for _ in execution.progress(range(training.steps, run.max_steps), unit="step"):
        if training.perfect:
            break
        training.step(scheme, run.record_every)
        if training.settled:
            checkpoint.write_if_due(training.tensors, training.steps)
    training.settle(run.record_every)
    checkpoint.remove()
    return training.flow()
