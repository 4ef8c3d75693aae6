"""Theorem 1 on the whole L x L matrix W, from W = 0 with V = cP.

`full` is the population gradient flow over all sequences (Heun's method) and so checks the
reduction in `reduced`; `descent` is stochastic gradient descent on sequences drawn anew at every
step, whose time is learning rate x steps. With V = cP the permutation drops out of both.
"""

from collections.abc import Callable, Iterable

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from onelayer.decision_lists import model
from onelayer.decision_lists.data import (
    DecisionLists,
    enumerate_sequences,
    lists_of_seed,
    theorem_1_bound,
    theorem_1_scale,
    uniform_gamma,
)
from onelayer.decision_lists.reduced import STEP, Setting, solve
from onelayer.decision_lists.training import train
from onelayer.seeds import generator
from onelayer.settings.decision_lists import AttentionTraining, DescentRun, FullRun


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

    def __init__(self, run: FullRun | DescentRun, seed: int) -> None:
        self.lists: DecisionLists = lists_of_seed(run.L, run.m, seed, run.shortest)
        self.c = theorem_1_scale(run.L, run.n, run.delta)
        self.columns = model.Columns(self.lists)
        rank = torch.from_numpy(self.lists.rank)
        if run.method == "full":
            self.h, self.move = run.step * run.n / self.c, self.heun
            sequences = enumerate_sequences(run.L, run.n)
            tokens, mass = map(torch.from_numpy, (sequences.tokens, sequences.probability))
            everything = model.batch_of(rank, tokens, mass)
            self.draw = lambda: everything
        else:
            self.h, self.move = run.eta, self.euler
            key = run.L, run.n, run.m, run.delta, 0.0, run.method, seed
            seed_of_draws = generator("decision lists, drawn", *key).integers(2**31)
            rng = torch.Generator().manual_seed(int(seed_of_draws))
            alike = torch.full((run.batch,), 1 / run.batch, dtype=torch.float64)
            self.draw = lambda: model.batch_of(
                rank, drawn_tokens(rng, run.L, run.n, run.batch), alike
            )
        self.batch = self.draw()
        self.W = torch.zeros(run.L, run.L, dtype=torch.float64)
        self.steps = 0
        self.above = self.columns.margins(self.W).numpy()
        self.crossing = np.where(self.above > 0, 0.0, np.nan)

    def gradient(self, W: Tensor) -> Tensor:
        """Of the loss over the step's sequences, [L, L]."""
        return model.gradient_w(W, self.c, self.batch)

    def heun(self) -> Tensor:
        """W one step further along the gradient flow."""
        slope = self.gradient(self.W)
        slope = 0.5 * (slope + self.gradient(self.W - self.h * slope))
        return self.W - self.h * slope

    def euler(self) -> Tensor:
        """W one step of gradient descent further; h is the learning rate."""
        return self.W - self.h * self.gradient(self.W)

    def advance(self) -> None:
        """Take W one step further, and note which columns became right inside it."""
        self.batch = self.draw()
        self.W = self.move()
        below, self.above = self.above, self.columns.margins(self.W).numpy()
        rose = (below <= 0) & (self.above > 0)
        inside = -below[rose] / (self.above[rose] - below[rose])
        self.crossing[rose] = self.h * (self.steps + inside)
        self.crossing[self.above <= 0] = np.nan
        self.steps += 1

    def look(self) -> bool:
        """Whether every query is proven to be right in all sequences."""
        return bool((self.above > 0).all())

    def measure(self) -> dict[str, float]:
        """Loss and strict accuracy over the step's sequences; list order and proofs of W."""
        return {
            "time": self.h * self.steps,
            "loss": float(model.loss_w(self.W, self.c, self.batch)),
            "accuracy": float(model.strict_accuracy(self.W, self.batch)),
            "order": self.columns.order(self.W),
            "certified": float((self.above > 0).mean()),
        }


def train_runs(
    settings: AttentionTraining, progress: Callable[..., Iterable] = iter
) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Train every run with each of its seeds, one after the other.

    Returns:
        Three tables, each beginning with `L`, `n`, `m`, `shortest`, `delta`, `method` and `seed`:
        what each run reached (`summary`); its history (`time`, `loss`, `accuracy`, `order`,
        `certified`); and W at the end in list order, `query`, `place` (0 for a_1, m and on for
        other tokens), `score`.
    """
    runs = [(run, seed) for run in settings.runs for seed in run.seeds]
    summaries, histories, scores = [], [], []
    for run, seed in progress(runs):
        key = {"L": run.L, "n": run.n, "m": run.m, "shortest": run.lengths[0]}
        key |= {"delta": run.delta, "method": run.method, "seed": seed}
        problem = OnW(run, seed)
        history = train(problem, run.max_steps, run.record_every)
        summaries.append(key | summary(run, problem, history))
        histories.append(pd.DataFrame(key | dict(history)))
        order = problem.lists.rank.argsort(axis=0, kind="stable")  # [L, query]
        score = np.take_along_axis(problem.W.numpy(), order, axis=0)
        place, query = np.indices(score.shape)
        listed = {"query": query.ravel(), "place": place.ravel(), "score": score.ravel()}
        scores.append(pd.DataFrame(key | listed))
    together = (pd.concat(parts, ignore_index=True) for parts in (histories, scores))
    return pd.DataFrame(summaries), *together


def summary(run: FullRun | DescentRun, problem: OnW, history: pd.DataFrame) -> dict[str, float]:
    """What a run reached, beside the reduced flow and Theorem 1's bound.

    Of query tokens the last decides `t_star`; fresh sequences make it late by chance, so that the
    median over tokens, `median_column_time`, is what to compare with the flow's,
    `exact_median_time`.
    """
    step = STEP if run.method == "descent" else run.step
    settings = [Setting(run.L, run.n, k, run.delta) for k in run.lengths]
    of_length = solve(settings, step, max_steps=run.max_steps).t_star
    exact = of_length[problem.lists.lengths - run.lengths[0]]  # [L]
    gamma = uniform_gamma(run.L, run.n, run.lengths)
    last = history.iloc[-1]
    return {
        "t_star": float(problem.crossing.max()),
        "median_column_time": float(np.median(problem.crossing)),
        "exact_t_star": float(exact.max()),
        "exact_median_time": float(np.median(exact)),
        "gamma": gamma,
        "bound": theorem_1_bound(run.L, run.m, gamma),
        "steps": problem.steps,
        **last[["accuracy", "order", "certified"]],
    }
