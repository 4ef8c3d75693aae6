"""Theorem 1's dynamics on the whole L x L matrix W: population gradient flow, sampled flow, SGD.

`heun` follows the gradient flow, `euler` is plain gradient descent. `AllSequences` give the
population gradient, and so check the reduction in `reduced`; a `Sampler` draws fresh sequences for
every step, for vocabularies too large to enumerate and for any distribution. With V = cP the
permutation drops out of all of it.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from onelayer.compute.device import on_gpu, to_device
from onelayer.compute.execution import Execution
from onelayer.compute.graphs import Graphed
from onelayer.papers.decision_lists import model
from onelayer.papers.decision_lists.data import DecisionLists, Sequences, inclusion_chances
from onelayer.settings.decision_lists import Run

HISTORY = ["time", "loss", "accuracy", "order", "certified"]
LOOK_EVERY = 20  # steps on a GPU after which the host asks whether every query is right
Scheme = Callable[[Tensor, float, Callable[[Tensor], Tensor]], Tensor]


@dataclass(frozen=True, eq=False)
class FullFlow:
    """One run on W."""

    t_star: float
    """First time at which every query is strictly right, interpolated linearly inside the step; NaN
    where the steps ran out."""
    column_times: np.ndarray  # float64 [L], the same for each query token alone
    W: np.ndarray  # float64 [L, L] at the end, entry [key, query]
    steps: int  # taken
    history: pd.DataFrame
    """`time`, `loss`, `accuracy` (strict, over the sequences at hand), `order` and `certified`
    (share of query tokens with a proof for all sequences)."""


class AllSequences:
    """The same sequences at every step: all of the distribution, on the CPU."""

    device = "cpu"
    generator = None

    def __init__(self, lists: DecisionLists, sequences: Sequences) -> None:
        self.lists, self.columns = lists, model.Columns(lists)
        self._batch = model.batch_of(lists, sequences)
        self._query = torch.from_numpy(sequences.tokens).reshape(-1)

    def draw(self) -> model.SequenceBatch:
        """All of them."""
        return self._batch

    def margins(self, W: Tensor) -> Tensor:
        """Smallest `model.margins` of each query token over the sequences, float64 [L]."""
        smallest = torch.full((self.lists.vocabulary,), torch.inf, dtype=W.dtype)
        every = model.margins(W, self._batch).reshape(-1)
        return smallest.scatter_reduce(0, self._query, every, "amin")


class Sampler:
    """Fresh sequences of n tokens for every step, drawn on the device that trains on them.

    Args:
        rng: seeds the device's own generator.
        weights: float64 [L] of the tokens, or None for uniform.
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
        self.lists, self.n, self.batch, self.device = lists, n, batch, device
        self.L = lists.vocabulary
        self.generator = torch.Generator(device).manual_seed(int(rng.integers(2**31)))
        self.rank = to_device(lists.rank, device)
        chance = None if weights is None else inclusion_chances(weights, n)
        self.chance = None if chance is None else to_device(chance, device)
        self.weight = torch.full((batch, 1, 1), 1 / (batch * n), dtype=torch.float64, device=device)
        self.columns = model.Columns(lists, device)

    def _drawn(self) -> dict[str, object]:
        return {"generator": self.generator, "device": self.device}

    def tokens(self) -> Tensor:
        """Sequences of distinct tokens, int64 [batch, n]."""
        if self.chance is not None:
            return self._weighted_draws(self.chance)
        if on_gpu(self.device):
            return self._unwatched_draws()
        if self.n**2 <= self.L:
            return self._distinct_draws()
        keys = torch.rand(self.batch, self.L, generator=self.generator)
        return keys.topk(self.n, dim=1).indices

    def _distinct_draws(self) -> Tensor:
        """Uniform tokens, drawn again where one repeats: cheaper than a key for every token."""
        tokens = torch.randint(self.L, (self.batch, self.n), **self._drawn())
        while True:
            ascending = tokens.sort(dim=1).values
            repeats = (ascending[:, 1:] == ascending[:, :-1]).any(dim=1)
            if not (again := int(repeats.sum())):
                return tokens
            tokens[repeats] = torch.randint(self.L, (again, self.n), **self._drawn())

    def _unwatched_draws(self) -> Tensor:
        """Uniform subsets, of which the host need not read anything, by Floyd's algorithm.

        Bentley & Floyd (1987), 'A sample of brilliance': token j is uniform among the first L - n +
        j + 1, or the last of these where it repeats one.
        """
        tokens = torch.empty(self.batch, self.n, dtype=torch.int64, device=self.device)
        for place, last in enumerate(range(self.L - self.n, self.L)):
            drawn = torch.randint(last + 1, (self.batch,), **self._drawn())
            repeats = (tokens[:, :place] == drawn[:, None]).any(dim=1)
            tokens[:, place] = torch.where(repeats, last, drawn)
        return tokens

    def _weighted_draws(self, chance: Tensor) -> Tensor:
        """Weighted subsets, of which the host reads nothing on a GPU."""
        coins = torch.rand(self.L, self.batch, dtype=torch.float64, **self._drawn())
        needed = torch.full((self.batch,), self.n, device=self.device)
        taken = torch.empty(self.L, self.batch, dtype=torch.bool, device=self.device)
        for token in range(self.L):
            torch.lt(coins[token], chance[token].index_select(0, needed), out=taken[token])
            needed -= taken[token].long()
        # Exactly n are taken, in ascending order.
        if on_gpu(self.device):
            return taken.T.long().argsort(dim=1, descending=True, stable=True)[:, : self.n]
        return taken.T.nonzero()[:, 1].reshape(self.batch, self.n)

    def draw(self) -> model.SequenceBatch:
        """A fresh batch."""
        tokens = self.tokens()
        key, query = tokens[:, None, :], tokens[:, :, None]
        target = self.rank[key, query].argmin(dim=2, keepdim=True)
        return model.SequenceBatch(key * self.L + query, target, self.weight, self.L)

    def margins(self, W: Tensor) -> Tensor:
        """Those of `model.Columns`: what holds for all sequences, float64 [L]."""
        return self.columns.margins(W)


def heun(W: Tensor, h: float, gradient: Callable[[Tensor], Tensor]) -> Tensor:
    """W one step of length h further along the flow, by Heun's method."""
    slope = gradient(W)
    slope = 0.5 * (slope + gradient(W - h * slope))
    return W - h * slope


def euler(W: Tensor, h: float, gradient: Callable[[Tensor], Tensor]) -> Tensor:
    """W one step of gradient descent further; h is the learning rate."""
    return W - h * gradient(W)


class TrainingOfW:
    """W on its way from 0.

    Args:
        source: draws the sequences of every step, and says of which query tokens W is strictly
            right: those with positive margins.
        c: scale of V = cP.
        h: length of a step, in the time of the flow. It is smooth on the scale of L n / c: a large
            vocabulary allows larger steps, to be checked on the reduced flow.
        chunks: draws per step, one after the other (memory is that of one). All stages of a step
            see the same ones, so the drift is unbiased and its noise averages out over time.
        W: float64 [L, L], where it does not start from 0.

    Attributes:
        above: float64 [L], the columns' margins at W.
        crossing: float64 [L], times at which they became positive; NaN while they are not.
        history: rows of `HISTORY`.
        settled: whether the host has all of this.
    """

    settled = True

    def __init__(
        self,
        source: AllSequences | Sampler,
        scheme: Scheme,
        c: float,
        h: float,
        chunks: int = 1,
        W: Tensor | None = None,
    ) -> None:
        self.source, self.scheme = source, scheme
        self.c, self.h, self.chunks = c, h, chunks
        L = source.lists.vocabulary
        self.W = torch.zeros(L, L, dtype=torch.float64, device=source.device) if W is None else W
        self.above = source.margins(self.W).cpu().numpy()
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
        return sum(model.gradient_w(W, self.c, batch) for batch in self._batches) / self.chunks

    def step(self, record_every: int) -> None:
        """Take one step, and record what is due."""
        self.advance()
        if self.steps % record_every == 0 or self.perfect:
            self.record()

    def advance(self) -> None:
        """Take one step on fresh sequences, and note which columns became right inside it."""
        self._draw()
        self.move()
        below, self.above = self.above, self.source.margins(self.W).cpu().numpy()
        rose = (below <= 0) & (self.above > 0)
        inside = -below[rose] / (self.above[rose] - below[rose])
        self.crossing[rose] = self.h * (self.steps + inside)
        self.crossing[self.above <= 0] = np.nan
        self.steps += 1

    def move(self) -> None:
        """Take W one step further."""
        self.W = self.scheme(self.W, self.h, self.gradient)

    def record(self) -> None:
        """Add a row to the history, measured on the step's sequences."""
        time = torch.tensor(self.h * self.steps, dtype=torch.float64, device=self.source.device)
        self.history.append(self.measured(self._batches, time).tolist())

    def measured(self, batches: Iterable[model.SequenceBatch], time: Tensor) -> Tensor:
        """A row of the history, float64 [columns]."""
        W, columns = self.W, self.source.columns
        losses = torch.stack([model.loss_w(W, self.c, batch) for batch in batches])
        accuracies = torch.stack([model.strict_accuracy(W, batch) for batch in batches])
        certified = (columns.margins(W) > 0).double().mean()
        return torch.stack([time, losses.mean(), accuracies.mean(), columns.order(W), certified])

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

    def settle(self, record_every: int) -> None:
        """Bring the host up to date."""

    def _draw(self) -> None:
        self._batches = [self.source.draw() for _ in range(self.chunks)]


class GpuTraining(TrainingOfW):
    """The same on a GPU, where no step waits for the host.

    Whether every query is right stays on the device: from then on steps change nothing, and the
    host asks every `LOOK_EVERY` steps. What is recorded stays there until then.
    """

    settled = False

    def __init__(self, source: Sampler, *how: object) -> None:
        super().__init__(source, *how)
        self._above, self._crossing, self._taken = (
            to_device(values, source.device).clone()
            for values in (self.above, self.crossing, np.zeros((), dtype=np.int64))
        )
        self._held = [
            replace(b, pairs=b.pairs.clone(), target=b.target.clone()) for b in self._batches
        ]
        self._rows: list[tuple[int, Tensor]] = []
        self._graphed = Graphed(self._advance, source.device)

    def step(self, record_every: int) -> None:
        """Launch one step, and what is to be recorded."""
        self._draw()
        self._graphed(self._batches)
        self.steps, self.settled = self.steps + 1, False
        if self.steps % record_every == 0:
            self._rows.append((self.steps, self._measured()))
        if self.steps % LOOK_EVERY == 0:
            self.settle(record_every)

    def _advance(self, drawn: list[model.SequenceBatch]) -> None:
        """One step on these sequences unless every query is right; changes tensors alone."""
        active = (self._above <= 0).any()
        for held, new in zip(self._held, drawn, strict=True):
            for old, fresh in ((held.pairs, new.pairs), (held.target, new.target)):
                old.copy_(torch.where(active, fresh, old))
        self._batches = self._held
        W = torch.where(active, self.scheme(self.W, self.h, self.gradient), self.W)
        below, above = self._above, self.source.margins(W)
        rose = (below <= 0) & (above > 0) & active
        time = self.h * (self._taken - below / (above - below))
        crossing = torch.where(rose, time, self._crossing).masked_fill(above <= 0, torch.nan)
        for held, new in ((self.W, W), (self._above, above), (self._crossing, crossing)):
            held.copy_(new)
        self._taken += active

    def _measured(self) -> Tensor:
        return self.measured(self._held, self.h * self._taken.double())

    def settle(self, record_every: int) -> None:
        """Fetch where the training is, and what was recorded on the way."""
        if self.settled:
            return
        state = torch.stack([self._above, self._crossing, self._taken.expand_as(self._above)])
        self.above, self.crossing, taken = state.cpu().numpy()
        self.steps = int(taken[0])
        if self.perfect and self.steps % record_every:
            self._rows.append((self.steps, self._measured()))
        kept = [row for step, row in self._rows if step <= self.steps]
        self.history += torch.stack(kept).tolist() if kept else []
        self._rows, self.settled = [], True

    def restore(self, kept: Mapping[str, Tensor], steps: int) -> None:
        """Go back to where `tensors` were taken, after so many steps."""
        W = self.W
        super().restore(kept, steps)
        self.W = W.copy_(self.W)
        self._above.copy_(kept["above"])
        self._crossing.copy_(kept["crossing"])
        self._taken.fill_(steps)
        self.settled = True


class FactoredTraining(TrainingOfW):
    """W_K and W_Q on their way; `W` is W_K^T W_Q.

    The gradient of W_K is W_Q G^T and that of W_Q is W_K G, with G that of W: both are 0 at W_K =
    W_Q = 0, and W_K W_K^T - W_Q W_Q^T stays what it was along the flow.

    Args:
        factors: float64 [2, d, L], W_K and W_Q at the start.
    """

    def __init__(
        self, source: AllSequences, scheme: Scheme, c: float, h: float, factors: np.ndarray
    ) -> None:
        self.factors = torch.from_numpy(factors)
        super().__init__(source, scheme, c, h, W=self.factors[0].T @ self.factors[1])

    def gradient_of_factors(self, factors: Tensor) -> Tensor:
        """Gradient of the loss over the step's sequences, [2, d, L]."""
        W_K, W_Q = factors
        G = self.gradient(W_K.T @ W_Q)
        return torch.stack([W_Q @ G.T, W_K @ G])

    def move(self) -> None:
        """Take W_K and W_Q one step further, and W with them."""
        self._hold(self.scheme(self.factors, self.h, self.gradient_of_factors))

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


def follow(training: TrainingOfW, run: Run, execution: Execution) -> FullFlow:
    """Take steps until every query is strictly right, or `run.max_steps` of them.

    Goes on from the state of a killed or finished run, if there is one. Where sequences are drawn
    the last token to be learned is late by chance: compare the median of `column_times` with the
    exact t*, and take `t_star` for the time of this run.
    """
    checkpoint = execution.checkpoint
    if kept := checkpoint.read():
        training.restore(*kept)
    for _ in execution.progress(range(training.steps, run.max_steps), unit="step"):
        if training.perfect:
            break
        training.step(run.record_every)
        if training.steps == run.max_steps:
            training.settle(run.record_every)
            if not training.perfect and training.steps % run.record_every:
                training.record()
        if training.settled:
            checkpoint.write_if_due(training.tensors, training.steps)
    training.settle(run.record_every)
    checkpoint.write(training.tensors, training.steps)
    return FullFlow(
        t_star=float(training.crossing.max()),
        column_times=training.crossing,
        W=training.W.cpu().numpy(),
        steps=training.steps,
        history=pd.DataFrame(training.history, columns=HISTORY),
    )
