"""V alone under uniform attention (section II), and W and V together (Theorem 2 and section II).

Gradient descent on the population loss, or on sequences drawn once.
"""

from collections.abc import Callable, Iterable

import numpy as np
import pandas as pd
import torch
from scipy.sparse.linalg import LinearOperator, eigsh
from torch import Tensor

from onelayer.decision_lists import data
from onelayer.decision_lists.model import Columns, Queries, evaluate, hessian, loss, queries_of
from onelayer.decision_lists.training import key_of, together, train
from onelayer.seeds import generator
from onelayer.settings.decision_lists import NearStart, SmallStart, ValueTraining

DEVIATION = 0.01  # standard deviation of the entries of small starts
Progress = Callable[..., Iterable]


class OnV:
    """V on its way from 0 by gradient descent, attention held uniform by W = 0; never stops."""

    def __init__(self, lists: data.DecisionLists, queries: Queries, eta: float) -> None:
        self.lists, self.queries, self.eta = lists, queries, eta
        self.W, self.V = torch.zeros(2, len(lists.lists), len(lists.lists), dtype=torch.float64)

    def look(self) -> bool:
        """Never stop."""
        self.here = evaluate(self.W, self.V, self.queries, of_w=False)
        return False

    def measure(self) -> dict[str, float]:
        """Loss, strict accuracy of the label, and how far V has the direction of P."""
        direction = beside_permutation(self.V.numpy(), self.lists)
        return {"loss": self.here.loss, "accuracy": self.here.accuracy} | direction

    def advance(self) -> None:
        """Take one step on V."""
        # Labels of tokens that all lists treat alike tie but for rounding, which optim.SGD changes.
        self.V -= self.eta * self.here.grad_V


class OnWAndV:
    """W and V, float64 [L, L], on their way, until they are perfect on all sequences given.

    Attributes:
        held_out: queries that are not trained on, or None; perfect means on these, too.
        perfect: whether every query is right.
        watched: where curvature is looked at, a vector [2 L^2] to begin Lanczos' method with; then
            the way ends, too, where eta exceeds the inverse of the curvature.
        curvature: the largest second derivative of the loss met so far, a lower bound of the
            largest eigenvalue of its Hessian on the way: of every step the mean along it, and after
            1, 2, 4, 8, ... steps and at the perfect step the largest eigenvalue there.
    """

    def __init__(
        self, W: Tensor, V: Tensor, queries: Queries, optimiser: type, eta: float, held_out=None
    ) -> None:
        self.W, self.V, self.queries, self.held_out = W, V, queries, held_out
        self.eta, self.optimiser = eta, optimiser([W, V], lr=eta)
        self.here = evaluate(W, V, queries)
        self.watched: np.ndarray | None = None
        self.curvature, self.steps = 0.0, 0

    def look(self) -> bool:
        """Whether every query is right, or eta was too large."""
        # Weights sum to 1 only up to rounding; one wrong row weighs far more than 1e-9.
        self.perfect = self.here.accuracy > 1 - 1e-9
        if self.perfect and self.held_out is not None:
            self.perfect = evaluate(self.W, self.V, self.held_out).accuracy > 1 - 1e-9
        power_of_2 = self.steps.bit_count() == 1
        if self.watched is not None and (power_of_2 or self.perfect) and not self._too_fast():
            point = self.W, self.V, self.queries
            value, self.watched = largest_eigenvalue(*point, self.watched, 1e-3)
            self.curvature = max(self.curvature, value)
        return self.perfect or self._too_fast()

    def _too_fast(self) -> bool:
        return self.eta * self.curvature > 1

    def measure(self) -> dict[str, float]:
        """Loss, and strict accuracy of the label."""
        return {"loss": self.here.loss, "accuracy": self.here.accuracy}

    def advance(self) -> None:
        """Take one step."""
        before = self.here
        self.W.grad, self.V.grad = before.grad_W, before.grad_V
        self.optimiser.step()
        self.here = evaluate(self.W, self.V, self.queries)
        self.steps += 1
        if self.watched is not None:
            squared = float(before.grad_W.square().sum() + before.grad_V.square().sum())
            # L(x - eta g) = L(x) - eta |g|^2 + (eta |g|)^2 / 2 times the mean along the step.
            excess = self.here.loss - before.loss + self.eta * squared
            self.curvature = max(self.curvature, 2 * excess / (self.eta**2 * squared))


def beside_permutation(V: np.ndarray, lists: data.DecisionLists) -> dict[str, float]:
    """How far V has the direction of P.

    Returns:
        `argmax_accuracy`, the share of tokens b whose largest V[., b] is at pi(b), and
        `centred_cosine` of V and P, each minus its mean; 0 for a constant V.
    """
    places = lists.permutation, np.arange(len(V))
    others = V.copy()
    others[places] = -np.inf
    right = V[places] > others.max(axis=0)
    V, P = V - V.mean(), lists.matrix - lists.matrix.mean()
    norm = np.linalg.norm(V)
    cosine = float((V * P).sum() / (norm * np.linalg.norm(P))) if norm > 0 else 0.0
    return {"argmax_accuracy": float(right.mean()), "centred_cosine": cosine}


def uniform_attention_ceiling(lists: data.DecisionLists, sequences: data.Sequences) -> float:
    """The largest task accuracy that any V can have at W = 0.

    Uniform attention gives all queries of a sequence the same output, so at best it is the label
    that most of them have.
    """
    n = sequences.tokens.shape[1]
    places = lists.determining_places(sequences.tokens)  # [S, n]
    votes = (places[:, :, None] == np.arange(n)).sum(axis=1)
    return float((sequences.probability * votes.max(axis=1)).sum() / n)


def largest_eigenvalue(
    W: Tensor, V: Tensor, queries: Queries, vector: np.ndarray, tolerance: float = 1e-5
) -> tuple[float, np.ndarray]:
    """Largest eigenvalue of the loss's Hessian in (W, V), and its vector, by Lanczos' method.

    `vector` [2 L^2] is where to begin; `tolerance` is the eigenvector's: the value's is its square.
    """
    product = LinearOperator((len(vector),) * 2, hessian(W, V, queries), dtype=np.float64)
    values, vectors = eigsh(product, k=1, which="LA", v0=vector, tol=tolerance)
    return float(values[0]), vectors[:, 0]


def value_runs(
    settings: ValueTraining, progress: Progress = iter
) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """V alone, from 0, under uniform attention, for every size and seed.

    Returns:
        Three tables, each beginning with `L`, `n`, `m`, `shortest` and `seed`: the history (`step`
        and `OnV.measure`); `task_accuracy_ceiling`; and V at the end with its rows in the order of
        pi, so that P is the diagonal: `row`, `column`, `value`.
    """
    histories, ceilings, values = [], [], []
    runs = [(size, seed) for size in settings.sizes for seed in settings.seeds]
    for size, seed in progress(runs):
        key, lists = key_of(size, seed), data.lists_of_seed(size.L, size.m, seed, size.shortest)
        sequences = data.enumerate_sequences(size.L, size.n)
        problem = OnV(lists, queries_of(lists, sequences), settings.eta)
        history = train(problem, settings.steps, settings.record_every)
        histories.append(pd.DataFrame(key | dict(history)))
        ceiling = uniform_attention_ceiling(lists, sequences)
        ceilings.append(key | {"task_accuracy_ceiling": ceiling})
        V = problem.V.numpy()[lists.permutation]
        row, column = np.indices(V.shape)
        places = {"row": row.ravel(), "column": column.ravel(), "value": V.ravel()}
        values.append(pd.DataFrame(key | places))
    return together(histories), pd.DataFrame(ceilings), together(values)


def near_runs(starts: Iterable[NearStart], progress: Progress = iter) -> pd.DataFrame:
    """W and V from W = 0 and V within epsilon / 2 of cP: one run per start, epsilon and seed.

    Theorem 2's c and hypotheses are those of each run's own start, and so is the learning rate 1 /
    lambda_max: the paper does not say where lambda_max is taken. Where the theorem promises a
    perfect step, the rate is halved until it is at most the inverse of all curvature on the way.

    Returns:
        `start` (in words), `L`, `n`, `m`, `shortest`, `seed`, `epsilon`, `trained_on` (`all` or a
        number), `c`, `lambda_max` (at the start), what `data.theorem_2` says, `steps` (at most),
        `eta_times_curvature` (largest on the way, where it was watched), `first_perfect` (step, NaN
        if none) and `accuracy` at the end.
    """
    runs = [(start, e, seed) for start in starts for e in start.epsilon for seed in start.seeds]
    return pd.DataFrame([near_run(*run) for run in progress(runs)])


def near_run(start: NearStart, epsilon: float, seed: int) -> dict:
    """One row of `near_runs`."""
    L, n, m = start.L, start.n, start.m
    lists = data.lists_of_seed(L, m, seed, start.shortest)
    queries, held_out = near_queries(start, lists, seed)
    rng = generator("decision lists, near", L, n, m, seed, "theorem_2", epsilon)
    noise = torch.from_numpy(rng.uniform(-epsilon / 2, epsilon / 2, (L, L)))
    zero, P = torch.zeros_like(noise), torch.from_numpy(lists.matrix)

    def loss_with(c: float) -> float:
        return float(loss(zero, c * P + noise, queries))

    c = data.theorem_2_scale(n, epsilon, loss_with)
    V = c * P + noise
    lambda_max, vector = largest_eigenvalue(zero, V, queries, rng.standard_normal(2 * L**2))
    eta, steps = 1 / lambda_max, start.steps
    while True:
        theorem = data.theorem_2(n, m, epsilon, loss_with(c), eta)
        problem = OnWAndV(zero.clone(), V.clone(), queries, torch.optim.SGD, eta, held_out)
        problem.watched = vector if theorem["holds"] else None
        last = train(problem, steps).iloc[-1]
        if not eta * problem.curvature > 1:
            break
        eta, steps = eta / 2, 2 * steps
    text = f"near cP, c of Theorem 2, epsilon {epsilon:g}"
    return {
        "start": text + (f", {start.sequences} sequences" if start.sequences else ""),
        **key_of(start, seed),
        "epsilon": epsilon,
        "trained_on": str(start.sequences or "all"),
        "c": c,
        "lambda_max": lambda_max,
        **theorem,
        "steps": steps,
        "eta_times_curvature": eta * problem.curvature if theorem["holds"] else np.nan,
        "first_perfect": last["step"] if problem.perfect else np.nan,
        "accuracy": last["accuracy"],
    }


def near_queries(
    start: NearStart, lists: data.DecisionLists, seed: int
) -> tuple[Queries, Queries | None]:
    """What a run is trained on, all sequences or some; and in that case fresh ones."""
    if start.sequences is None:
        return queries_of(lists, data.enumerate_sequences(start.L, start.n)), None
    drawn = []
    for purpose, count in (("trained on", start.sequences), ("fresh", start.fresh)):
        rng = generator("decision lists", purpose, start.L, start.n, start.m, seed)
        drawn.append(queries_of(lists, data.sample_sequences(rng, start.L, start.n, count)))
    return drawn[0], drawn[1]


def small_runs(
    starts: Iterable[SmallStart], progress: Progress = iter
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """W and V from entries drawn from N(0, DEVIATION^2), one run per start and seed.

    Returns:
        Runs: `start` (in words), `L`, `n`, `m`, `shortest`, `seed`, `optimiser`, `eta`,
        `first_perfect`, and at the end (the first perfect step, where there is one) `accuracy`,
        `order` of W, `argmax_accuracy` and `centred_cosine` of V; and their histories with `step`,
        `loss`, `accuracy`.
    """
    runs, histories = [], []
    for start, seed in progress([(s, seed) for s in starts for seed in s.seeds]):
        lists = data.lists_of_seed(start.L, start.m, seed, start.shortest)
        queries = queries_of(lists, data.enumerate_sequences(start.L, start.n))
        purpose = "decision lists, small", start.L, start.n, start.m, seed, DEVIATION
        normal = generator(*purpose).normal(0.0, DEVIATION, (2, start.L, start.L))
        W, V = torch.from_numpy(normal)
        optimiser = {"gd": torch.optim.SGD, "adam": torch.optim.Adam}[start.optimiser]
        problem = OnWAndV(W, V, queries, optimiser, start.eta)
        history = train(problem, start.steps)
        name = {"gd": "gradient descent", "adam": "Adam"}[start.optimiser]
        text = f"entries N(0, {DEVIATION:g}^2), {name}, eta {start.eta:g}"
        key = {
            "start": text,
            **key_of(start, seed),
            "optimiser": {"gd": "GD", "adam": "Adam"}[start.optimiser],
            "eta": start.eta,
        }
        histories.append(pd.DataFrame(key | dict(history)))
        last = history.iloc[-1]
        runs.append(
            key
            | {"first_perfect": last["step"] if problem.perfect else np.nan}
            | {"accuracy": last["accuracy"], "order": Columns(lists).order(W)}
            | beside_permutation(V.numpy(), lists)
        )
    return pd.DataFrame(runs), together(histories)
