"""Theorem 1 on the whole L x L matrix W, from W = 0 with V = cP and c at delta = 1.

`full` is the population gradient flow over all sequences (Heun's method) and so checks the
reduction in `reduced`; `descent` is stochastic gradient descent on sequences drawn anew at every
step, whose time is learning rate x steps. With V = cP the permutation drops out of both.
"""

from collections.abc import Callable, Iterable

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from onelayer.decision_lists import data, model
from onelayer.decision_lists.reduced import STEP, Setting, solve
from onelayer.decision_lists.training import key_of, together, train
from onelayer.seeds import generator
from onelayer.settings.decision_lists import AttentionTraining, Run

RATE, BATCH = 0.02, 256  # of descent: learning rate, and sequences a step


def drawn_tokens(rng: torch.Generator, L: int, n: int, batch: int) -> Tensor:
    """Uniform sequences of distinct tokens, int64 [batch, n]."""
    if n**2 > L:
        return torch.rand(batch, L, generator=rng).topk(n, dim=1).indices
    # Uniform tokens, drawn again where one repeats: cheaper than a key for every token.
    tokens = torch.randint(L, (batch, n), generator=rng)
    while True:
        ascending = tokens.sort(dim=1).values
        repeats = (ascending[:, 1:] == ascending[:, :-1]).any(dim=1)
        if not (again := int(repeats.sum())):
            return tokens
        tokens[repeats] = torch.randint(L, (again, n), generator=rng)


class OnW:
    """W on its way from 0.

    Attributes:
        W: float64 [L, L], entry [key, query].
        crossing: float64 [L], times from which on each query token is always strictly right,
            interpolated linearly inside the step; NaN while it is not.
    """

    def __init__(self, run: Run, seed: int) -> None:
        self.lists, self.steps = data.lists_of_seed(run.L, run.m, seed, run.shortest), 0
        self.full, self.c = run.method == "full", data.theorem_1_scale(run.L, run.n)
        self.h = STEP * run.n / self.c if self.full else RATE
        self.columns = model.Columns(self.lists)
        self.draw = self._all(run) if self.full else self._fresh(run, seed)
        self.batch = self.draw()
        self.W = torch.zeros(run.L, run.L, dtype=torch.float64)
        self.margin = self.columns.margins(self.W).numpy()
        self.crossing = np.where(self.margin > 0, 0.0, np.nan)

    def _all(self, run: Run) -> Callable[[], model.Batch]:
        sequences = data.enumerate_sequences(run.L, run.n)
        rank, *tensors = map(
            torch.from_numpy, (self.lists.rank, sequences.tokens, sequences.probability)
        )
        batch = model.batch_of(rank, *tensors)
        return lambda: batch

    def _fresh(self, run: Run, seed: int) -> Callable[[], model.Batch]:
        key = "decision lists, drawn", run.L, run.n, run.m, 1.0, 0.0, run.method, seed
        rng = torch.Generator().manual_seed(int(generator(*key).integers(2**31)))
        rank, alike = torch.from_numpy(self.lists.rank), torch.full((BATCH,), 1 / BATCH).double()
        return lambda: model.batch_of(rank, drawn_tokens(rng, run.L, run.n, BATCH), alike)

    def gradient(self, W: Tensor) -> Tensor:
        """Of the loss over the step's sequences, [L, L]."""
        return model.gradient_w(W, self.c, self.batch)

    def advance(self) -> None:
        """Take W one step further, and note which columns became right inside it."""
        self.batch = self.draw()
        slope = self.gradient(self.W)
        if self.full:  # Heun's method; descent takes the slope at its beginning alone
            slope = 0.5 * (slope + self.gradient(self.W - self.h * slope))
        self.W = self.W - self.h * slope
        margin_before, self.margin = self.margin, self.columns.margins(self.W).numpy()
        rose = (margin_before <= 0) & (self.margin > 0)
        inside = -margin_before[rose] / (self.margin[rose] - margin_before[rose])
        self.crossing[rose] = self.h * (self.steps + inside)
        self.crossing[self.margin <= 0] = np.nan
        self.steps += 1

    def look(self) -> bool:
        """Whether every query is proven to be right in all sequences."""
        return bool((self.margin > 0).all())

    def measure(self) -> dict[str, float]:
        """Loss and strict accuracy over the step's sequences; list order and proofs of W."""
        return {
            "time": self.h * self.steps,
            "loss": float(model.loss_w(self.W, self.c, self.batch)),
            "accuracy": float(model.strict_accuracy(self.W, self.batch)),
            "order": self.columns.order(self.W),
            "certified": float((self.margin > 0).mean()),
        }


def attention_runs(
    settings: AttentionTraining, progress: Callable[..., Iterable] = iter
) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Train every run with each of its seeds, one after the other.

    Returns:
        Three tables, each beginning with `method`, `L`, `n`, `m`, `shortest` and `seed`: what each
        run reached (`summary`); its history (`step`, and what `OnW.measure` says); and W at the end
        in list order, `query`, `place` (0 for a_1, m and on for other tokens), `score`.
    """
    summaries, histories, scores = [], [], []
    runs = [(run, seed) for run in settings.runs for seed in run.seeds]
    for run, seed in progress(runs):
        key, problem = {"method": run.method} | key_of(run, seed), OnW(run, seed)
        history = train(problem, run.max_steps, run.record_every)
        histories.append(pd.DataFrame(key | dict(history)))
        summaries.append(key | summary(run, problem) | dict(history.iloc[-1]))
        order = problem.lists.rank.argsort(axis=0, kind="stable")  # [L, query]
        score = np.take_along_axis(problem.W.numpy(), order, axis=0)
        place, query = np.indices(score.shape)
        listed = {"query": query.ravel(), "place": place.ravel(), "score": score.ravel()}
        scores.append(pd.DataFrame(key | listed))
    return pd.DataFrame(summaries), together(histories), together(scores)


def summary(run: Run, problem: OnW) -> dict[str, float]:
    """When a run was perfect, beside the reduced flow and Theorem 1's bound.

    Of query tokens the last decides `t_star`; fresh sequences make it late by chance, so that the
    median over tokens, `median_column_time`, is what to compare with the flow's,
    `exact_median_time`.
    """
    settings = [Setting(run.L, run.n, m) for m in run.lengths]
    of_length = solve(settings, max_steps=run.max_steps).t_star
    exact = of_length[problem.lists.lengths - run.lengths[0]]  # [L]
    gamma = data.uniform_gamma(run.L, run.n, run.lengths)
    return {
        "t_star": float(problem.crossing.max()),
        "median_column_time": float(np.median(problem.crossing)),
        "exact_t_star": float(exact.max()),
        "exact_median_time": float(np.median(exact)),
        "gamma": gamma,
        "bound": data.theorem_1_bound(run.L, run.m, gamma),
    }
