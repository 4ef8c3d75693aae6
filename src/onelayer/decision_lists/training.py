"""The one training loop, and what it trains: W alone, or W and V."""

import numpy as np
import pandas as pd
import torch
from scipy.sparse.linalg import LinearOperator, eigsh
from torch import Tensor

from onelayer.decision_lists import data, model
from onelayer.decision_lists.theorem_1 import STEP
from onelayer.seeds import generator
from onelayer.settings.decision_lists import Run

RATE, BATCH = 0.02, 256  # of descent on W: learning rate, and sequences a step


def train(problem, steps: int, record_every: int = 1) -> pd.DataFrame:
    """Take steps until every query is right, or so many of them.

    Of `problem`, `look()` says once a step whether to stop, `measure()` what to record, and
    `advance()` takes a step. Returns `step` and the measures, every `record_every` steps and at the
    last.
    """
    history = []
    for step in range(steps + 1):
        last = problem.look() or step == steps
        if last or step % record_every == 0:
            history.append({"step": step} | problem.measure())
        if last:
            break
        problem.advance()
    return pd.DataFrame(history)


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
    """W on its way from 0 with V = cP, c of Theorem 1 at delta = 1, until all is proven right.

    `full` is the population gradient flow over all sequences by Heun's method, and so checks the
    reduction in `theorem_1`; `descent` is stochastic gradient descent on sequences drawn anew at
    every step, whose time is learning rate x steps. `crossing`, float64 [L], holds the times from
    which on each query token is always strictly right, interpolated linearly inside the step; NaN
    while it is not.
    """

    def __init__(self, run: Run, seed: int) -> None:
        self.run, self.full, self.steps = run, run.method == "full", 0
        self.lists = data.lists_of_seed(run.L, run.m, seed, run.shortest)
        self.c = data.theorem_1_scale(run.L, run.n)
        self.h = STEP * run.n / self.c if self.full else RATE
        key = "decision lists, drawn", run.L, run.n, run.m, 1.0, 0.0, run.method, seed
        self.rng = torch.Generator().manual_seed(int(generator(*key).integers(2**31)))
        self._draw()
        self.W = torch.zeros(run.L, run.L, dtype=torch.float64)
        self.margin = self._margins()
        self.crossing = np.where(self.margin > 0, 0.0, np.nan)

    def _draw(self) -> None:
        L, n = self.run.L, self.run.n
        if self.full:
            self.sequences = data.enumerate_sequences(L, n)
        else:
            tokens = drawn_tokens(self.rng, L, n, BATCH).numpy()
            self.sequences = data.Sequences(tokens, np.full(BATCH, 1 / BATCH))
        self.present = model.tokens_present(self.lists, self.sequences)

    def _margins(self) -> np.ndarray:
        return model.list_steps(self.lists, self.W.numpy()).min(axis=1)  # [L]

    def advance(self) -> None:
        """Take W one step further, and note which columns became right inside it."""
        if not self.full:
            self._draw()
        slope = model.gradient_w(self.W, self.c, *self.present)
        if self.full:  # Heun's method; descent takes the slope at its beginning alone
            end = self.W - self.h * slope
            slope = 0.5 * (slope + model.gradient_w(end, self.c, *self.present))
        self.W = self.W - self.h * slope
        before, self.margin = self.margin, self._margins()
        rose = (before <= 0) & (self.margin > 0)
        inside = -before[rose] / (self.margin[rose] - before[rose])
        self.crossing[rose] = self.h * (self.steps + inside)
        self.crossing[self.margin <= 0] = np.nan
        self.steps += 1

    def look(self) -> bool:
        """Whether every query is proven right in all sequences."""
        return bool((self.margin > 0).all())

    def measure(self) -> dict[str, float]:
        """Loss and strict accuracy over the step's sequences; list order and proofs of W."""
        V, queries = self.c * self.lists.matrix, model.queries_of(self.lists, self.sequences)
        here = model.evaluate(self.W, torch.from_numpy(V), queries, of_w=False)
        found = {"time": self.h * self.steps, "loss": here.loss, "accuracy": here.accuracy}
        found["order"] = model.list_order(self.lists, self.W.numpy())
        return found | {"certified": float((self.margin > 0).mean())}


class OnWAndV:
    """W and V, float64 [L, L], on their way, until they are perfect on all sequences given.

    `held_out` are queries that are not trained on: `perfect` means that these are right, too. Where
    `watched` is given, a vector [2 L^2] to begin Lanczos' method with, `curvature` is the largest
    second derivative of the loss met so far, and the way ends, too, where eta exceeds its inverse.
    It bounds the Hessian's largest eigenvalue on the way from below: of every step the mean along
    it, after 1, 2, 4, 8, ... steps and at the perfect step the largest eigenvalue there.
    """

    def __init__(
        self, W: Tensor, V: Tensor, queries: model.Queries, optimiser: type, eta: float,
        held_out: model.Queries | None = None, watched: np.ndarray | None = None,
    ) -> None:  # fmt: skip
        self.W, self.V, self.queries, self.held_out = W, V, queries, held_out
        self.eta, self.optimiser, self.watched = eta, optimiser([W, V], lr=eta), watched
        self.here, self.curvature, self.steps = model.evaluate(W, V, queries), 0.0, 0

    def look(self) -> bool:
        """Whether every query is right, or eta was too large."""
        # Weights sum to 1 only up to rounding; one wrong row weighs far more than 1e-9.
        self.perfect = self.here.accuracy > 1 - 1e-9
        if self.perfect and self.held_out is not None:
            self.perfect = model.evaluate(self.W, self.V, self.held_out).accuracy > 1 - 1e-9
        due = self.perfect or self.steps.bit_count() == 1
        if self.watched is not None and due and not self.too_fast:
            point = self.W, self.V, self.queries
            value, self.watched = largest_eigenvalue(*point, self.watched, 1e-3)
            self.curvature = max(self.curvature, value)
        return self.perfect or self.too_fast

    @property
    def too_fast(self) -> bool:
        """Whether eta exceeds the inverse of the curvature met so far."""
        return self.eta * self.curvature > 1

    def measure(self) -> dict[str, float]:
        """Loss, and strict accuracy of the label."""
        return {"loss": self.here.loss, "accuracy": self.here.accuracy}

    def advance(self) -> None:
        """Take one step."""
        before = self.here
        self.W.grad, self.V.grad = before.grad_W, before.grad_V
        self.optimiser.step()
        self.here = model.evaluate(self.W, self.V, self.queries)
        self.steps += 1
        if self.watched is not None:
            squared = float(before.grad_W.square().sum() + before.grad_V.square().sum())
            # L(x - eta g) = L(x) - eta |g|^2 + (eta |g|)^2 / 2 times the mean along the step.
            excess = self.here.loss - before.loss + self.eta * squared
            self.curvature = max(self.curvature, 2 * excess / (self.eta**2 * squared))


def largest_eigenvalue(
    W: Tensor, V: Tensor, queries: model.Queries, vector: np.ndarray, tolerance: float = 1e-5
) -> tuple[float, np.ndarray]:
    """Largest eigenvalue of the loss's Hessian in (W, V), and its vector, by Lanczos' method.

    `vector` [2 L^2] is where to begin; `tolerance` is the eigenvector's: the value's is its square.
    """
    product = LinearOperator((len(vector),) * 2, model.hessian(W, V, queries), dtype=np.float64)
    values, vectors = eigsh(product, k=1, which="LA", v0=vector, tol=tolerance)
    return float(values[0]), vectors[:, 0]
