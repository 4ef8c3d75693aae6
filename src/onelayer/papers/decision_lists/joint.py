"""Training V alone under uniform attention, and W and V together (Theorem 2 and section II).

First the trainings, then runs of them as rows of tables.

Shapes: R runs, T steps, L tokens.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd
import torch
from scipy.sparse.linalg import LinearOperator, eigsh
from torch import Tensor

from onelayer.compute.execution import progress_bar
from onelayer.compute.seeds import generator
from onelayer.evidence.findings import ALL
from onelayer.papers.decision_lists import constants, data
from onelayer.papers.decision_lists.model import Columns, QueryRows, evaluate, loss, rows_of
from onelayer.settings.decision_lists import (
    ListedSize,
    NearStart,
    SmallStart,
    ValueSettings,
    size_of,
)

BETAS, ADAM_EPSILON = (0.9, 0.999), 1e-8
EIGENVALUE_TOLERANCE = 1e-8  # of lambda_max, relative
Progress = Callable[..., Iterable]


@dataclass(frozen=True, eq=False)
class JointRuns:
    """R runs that trained W and V together."""

    loss: np.ndarray  # float64 [T + 1, R], before each step and at the end
    accuracy: np.ndarray  # float64 [T + 1, R], strict, of the label over the sequences
    first_perfect: np.ndarray
    """First step with accuracy 1, on the held-out sequences too where there are some; NaN where
    there was none; float64 [R]."""
    W: np.ndarray  # float64 [R, L, L] at the end
    V: np.ndarray  # float64 [R, L, L] at the end


def _beside_permutation(V: np.ndarray, lists: data.DecisionLists) -> dict[str, float]:
    """How far V has the direction of P: the two numbers of `train_value`'s history."""
    places = lists.permutation, np.arange(len(V))
    others = V.copy()
    others[places] = -np.inf
    right = V[places] > others.max(axis=0)
    V, P = V - V.mean(), lists.matrix - lists.matrix.mean()
    norm = np.linalg.norm(V)
    cosine = float((V * P).sum() / (norm * np.linalg.norm(P))) if norm > 0 else 0.0
    return {"argmax_accuracy": float(right.mean()), "centred_cosine": cosine}


def train_value(
    lists: data.DecisionLists, rows: QueryRows, eta: float, steps: int, record_every: int = 10
) -> tuple[np.ndarray, pd.DataFrame]:
    """Gradient descent on V alone from V = 0, attention held uniform by W = 0.

    Returns:
        V at the end, float64 [L, L]; and `step`, `loss`, `argmax_accuracy` (share of tokens b whose
        largest V[., b] is at pi(b)), `centred_cosine` (of V and P, each minus its mean; 0 for a
        constant V) and `task_accuracy` on the way.
    """
    W = torch.zeros(lists.vocabulary, lists.vocabulary, dtype=torch.float64)
    V = torch.zeros_like(W)
    history = []
    for step in range(steps + 1):
        here = evaluate(W, V, rows)
        if step % record_every == 0 or step == steps:
            measured = _beside_permutation(V.numpy(), lists)
            loss, accuracy = float(here.loss), float(here.accuracy)
            history.append({"step": step, "loss": loss, **measured, "task_accuracy": accuracy})
        if step < steps:
            V = V - eta * here.V
    return V.numpy(), pd.DataFrame(history)


def perturbed_start(
    rng: np.random.Generator, lists: data.DecisionLists, c: float, epsilon: float, runs: int
) -> tuple[Tensor, Tensor]:
    """Theorem 2's start, float64 [runs, L, L]: W = 0, V = cP + uniform noise within epsilon / 2."""
    L = lists.vocabulary
    noise = rng.uniform(-epsilon / 2, epsilon / 2, (runs, L, L))
    return torch.zeros(runs, L, L, dtype=torch.float64), torch.from_numpy(c * lists.matrix + noise)


def small_start(
    rng: np.random.Generator, L: int, runs: int, scale: float = 0.01
) -> tuple[Tensor, Tensor]:
    """W and V, float64 [runs, L, L], of which every entry is from N(0, scale^2)."""
    W, V = torch.from_numpy(rng.normal(0.0, scale, (2, runs, L, L)))
    return W, V


def train_joint(
    W: Tensor,
    V: Tensor,
    rows: QueryRows,
    eta: float,
    steps: int,
    optimiser: Literal["gd", "adam"] = "gd",
    held_out: QueryRows | None = None,
) -> JointRuns:
    """Train W and V on the population loss, all runs side by side, until each was perfect once.

    Args:
        W, V: float64 [R, L, L], the starts; left as they are.
        eta: learning rate. The abstract gives none but 1 / lambda_max near cP. From small random
            starts with n = 4, 10 (gd) and 0.1 (adam) are perfect in about 20-40 steps for L of 12
            and 16; eta = 1 (gd) takes 210-350: gradients carry P(s_j = a) = 1/L.
        steps: T, where to give up.
        optimiser: plain gradient descent, or Adam with its usual moments.
        held_out: sequences that are not trained on, for a population too large to list; perfect
            then means perfect on both.
    """
    updates = [_Adam(eta), _Adam(eta)] if optimiser == "adam" else [lambda g: eta * g] * 2
    path = []
    first = torch.full((len(W),), torch.nan, dtype=torch.float64)
    for step in range(steps + 1):
        here = evaluate(W, V, rows)
        path.append((here.loss.numpy(), here.accuracy.numpy()))
        # weights sum to 1 only up to rounding; one wrong row weighs far more than 1e-9
        perfect = here.accuracy > 1 - 1e-9
        if held_out is not None and perfect.any():
            perfect &= evaluate(W, V, held_out).accuracy > 1 - 1e-9
        first[perfect & first.isnan()] = step
        if step == steps or not first.isnan().any():
            break
        W, V = W - updates[0](here.W), V - updates[1](here.V)
    loss, accuracy = map(np.array, zip(*path, strict=True))
    return JointRuns(loss, accuracy, first.numpy(), W.numpy().copy(), V.numpy().copy())


class _Adam:
    """Adam's update of one parameter."""

    def __init__(self, eta: float) -> None:
        self.eta, self.step, self.mean, self.square = eta, 0, 0.0, 0.0

    def __call__(self, gradient: Tensor) -> Tensor:
        self.step += 1
        self.mean = BETAS[0] * self.mean + (1 - BETAS[0]) * gradient
        self.square = BETAS[1] * self.square + (1 - BETAS[1]) * gradient**2
        mean = self.mean / (1 - BETAS[0] ** self.step)
        square = self.square / (1 - BETAS[1] ** self.step)
        return self.eta * mean / (square.sqrt() + ADAM_EPSILON)


def largest_eigenvalue(rng: np.random.Generator, W: Tensor, V: Tensor, rows: QueryRows) -> float:
    """Theorem 2's lambda_max of the Hessian of the loss at one (W, V), by Lanczos' method.

    The abstract does not say where lambda_max is taken; the start (W_0, V_0) is ours. `rng` draws
    the first vector.

    Raises:
        scipy.sparse.linalg.ArpackNoConvergence: the iteration did not settle.
    """
    product, size = _hessian_product(W, V, rows), 2 * W.numel()
    hessian = LinearOperator(
        (size, size),
        matvec=lambda vector: product(torch.from_numpy(vector.ravel())).numpy(),
        dtype=np.float64,
    )
    start = rng.standard_normal(size)
    how = {"which": "LA", "v0": start, "tol": EIGENVALUE_TOLERANCE}
    return float(eigsh(hessian, k=1, return_eigenvectors=False, **how)[0])


def _hessian_product(W: Tensor, V: Tensor, rows: QueryRows) -> Callable[[Tensor], Tensor]:
    """Maps a vector [2 L L] to the Hessian's product with it, by differentiating twice."""
    point = [W.detach().clone().requires_grad_(), V.detach().clone().requires_grad_()]
    gradient = torch.autograd.grad(loss(*point, rows), point, create_graph=True)
    flat = torch.cat([part.reshape(-1) for part in gradient])

    def product(vector: Tensor) -> Tensor:
        parts = torch.autograd.grad(flat, point, vector, retain_graph=True)
        return torch.cat([part.reshape(-1) for part in parts])

    return product


@dataclass(frozen=True)
class Problem:
    """Lists and permutation of one seed, and the sequences to train on."""

    size: ListedSize
    seed: int  # decides lists, permutation and, where sequences are drawn, those
    sequences: int | None = None  # how many are drawn; None lists all

    @property
    def key(self) -> dict[str, int]:
        """L, n, m and seed."""
        return {"L": self.size.L, "n": self.size.n, "m": self.size.m, "seed": self.seed}

    @property
    def columns(self) -> dict[str, int]:
        """What rows of tables begin with: the key, and `shortest`, m where all lists have m."""
        return self.key | {"shortest": self.size.shortest or self.size.m}

    @property
    def lists(self) -> data.DecisionLists:
        """The lists and the permutation."""
        return data.lists_of_seed(self.size.L, self.size.m, self.seed, self.size.shortest)

    def rows(self) -> QueryRows:
        """All sequences, or those that are drawn to train on."""
        if self.sequences is None:
            return rows_of(self.lists, data.enumerate_sequences(self.size.L, self.size.n))
        return self.drawn("trained on", self.sequences)

    def drawn(self, purpose: str, count: int) -> QueryRows:
        """Sequences that are drawn for a purpose, others for each."""
        rng = generator("decision lists", purpose, *self.key.values())
        return rows_of(self.lists, data.sample_sequences(rng, self.size.L, self.size.n, count))


def value_runs(
    settings: ValueSettings, progress: Progress = progress_bar
) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """V alone, from 0, under uniform attention, for every size and seed.

    Returns:
        Three tables, each beginning with L, n, m, seed and `shortest`: `train_value`'s
        history; `task_accuracy_ceiling`, see `uniform_attention_ceiling`; and V, see
        `value_in_label_order`.
    """
    problems = [Problem(size, seed) for size in settings.sizes for seed in settings.seeds]
    histories, ceilings, values = [], [], []
    for problem in progress(problems, unit="run"):
        how = settings.eta, settings.steps, settings.record_every
        V, history = train_value(problem.lists, problem.rows(), *how)
        histories.append(pd.DataFrame(problem.columns | dict(history)))
        ceiling = {"task_accuracy_ceiling": uniform_attention_ceiling(problem)}
        ceilings.append(problem.columns | ceiling)
        values.append(value_in_label_order(problem, V))
    history, value = (pd.concat(parts, ignore_index=True) for parts in (histories, values))
    return history, pd.DataFrame(ceilings), value


def uniform_attention_ceiling(problem: Problem) -> float:
    """The largest task accuracy that any V can have at W = 0, over all sequences.

    Uniform attention gives all queries of a sequence the same output, so at best it is the label
    that most of them have.
    """
    n = problem.size.n
    sequences = data.enumerate_sequences(problem.size.L, n)
    places = problem.lists.determining_places(sequences.tokens)  # [S, n]
    votes = (places[:, :, None] == np.arange(n)).sum(axis=1)
    return float((sequences.probability * votes.max(axis=1)).sum() / n)


def value_in_label_order(problem: Problem, V: np.ndarray) -> pd.DataFrame:
    """V with its rows in the order of pi, so that P is the diagonal: `row`, `column`, `value`."""
    values = V[problem.lists.permutation]
    row, column = np.indices(values.shape)
    columns = {"row": row.ravel(), "column": column.ravel(), "value": values.ravel()}
    return pd.DataFrame(problem.columns | columns)


def near_runs(starts: Iterable[NearStart], progress: Progress = progress_bar) -> pd.DataFrame:
    """W and V from W = 0 and V within epsilon / 2 of cP: one run per start, epsilon and seed.

    Theorem 2's c and hypotheses are those of each run's own start. The learning rate is 1 /
    lambda_max with lambda_max taken there; that is ours.

    Returns:
        L, n, m, seed, `shortest`, `scale`, `epsilon`, `delta`, `trained_on` (`all` or a number),
        `steps` (at most), `c`, all of `constants.theorem_2` where it is Theorem 2's,
        `lambda_max`, `first_perfect` and `accuracy` at the end.
    """
    return pd.DataFrame(
        [
            _near_run(start, epsilon, Problem(start, seed, start.sequences))
            for start in progress(starts, unit="start")
            for epsilon in start.epsilon
            for seed in start.seeds
        ]
    )


def _near_run(start: NearStart, epsilon: float, problem: Problem) -> dict[str, object]:
    L, n, m = size_of(start)
    rows = problem.rows()
    rng = generator("decision lists, near", *problem.key.values(), start.scale, epsilon)
    W, noise = perturbed_start(rng, problem.lists, 0.0, epsilon, runs=1)
    P = torch.from_numpy(problem.lists.matrix)

    def loss_with(c: float) -> float:
        return float(loss(W, c * P + noise, rows))

    c = constants.theorem_1_scale(L, n, start.delta)
    if start.scale == "theorem_2":
        c = constants.theorem_2_scale(n, epsilon, loss_with, start.delta)
    V = c * P + noise
    lambda_max = largest_eigenvalue(rng, W[0], V[0], rows)
    held_out = None if start.sequences is None else problem.drawn("fresh", start.fresh)
    run = train_joint(W, V, rows, 1 / lambda_max, start.steps, held_out=held_out)
    theorem = {}
    if start.scale == "theorem_2":
        theorem = constants.theorem_2(n, m, epsilon, loss_with(c), lambda_max)
    return {
        **problem.columns,
        "scale": start.scale,
        "epsilon": epsilon,
        "delta": start.delta,
        "trained_on": ALL if start.sequences is None else str(start.sequences),
        "steps": start.steps,
        "c": c,
        **theorem,
        "lambda_max": lambda_max,
        "first_perfect": run.first_perfect[0],
        "accuracy": run.accuracy[-1, 0],
    }


def small_runs(
    starts: Iterable[SmallStart], progress: Progress = progress_bar
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """W and V from entries drawn from N(0, deviation^2), one run per start and seed.

    Returns:
        Runs: L, n, m, seed, `shortest`, `optimiser`, `eta`, `deviation`, `first_perfect`, and at
        the end (the first perfect step, where there is one) `accuracy`, `order` of W,
        `argmax_accuracy` and `centred_cosine` of V; and their histories with `step`, `loss`,
        `accuracy`.
    """
    runs, histories = [], []
    for start in progress(starts, unit="start"):
        for problem in (Problem(start, seed) for seed in start.seeds):
            lists = problem.lists
            rng = generator("decision lists, small", *problem.key.values(), start.deviation)
            W, V = small_start(rng, start.L, runs=1, scale=start.deviation)
            run = train_joint(W, V, problem.rows(), start.eta, start.steps, start.optimiser)
            how = start.model_dump(include={"optimiser", "eta", "deviation"})
            steps = {"step": np.arange(len(run.loss))}
            history = steps | {"loss": run.loss[:, 0], "accuracy": run.accuracy[:, 0]}
            histories.append(pd.DataFrame(problem.columns | how | history))
            end = {
                "first_perfect": run.first_perfect[0],
                "accuracy": run.accuracy[-1, 0],
                "order": float(Columns(lists).order(torch.from_numpy(run.W[0]))),
                **_beside_permutation(run.V[0], lists),
            }
            runs.append(problem.columns | how | end)
    return pd.DataFrame(runs), pd.concat(histories, ignore_index=True)
