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
from onelayer.decision_lists.model import Columns, Queries, evaluate, loss, queries_of
from onelayer.decision_lists.training import train
from onelayer.seeds import generator
from onelayer.settings.decision_lists import ListedSize, NearStart, ValueTraining

EIGENVALUE_TOLERANCE = 1e-8  # of lambda_max, relative
Progress = Callable[..., Iterable]


class OnWAndV:
    """W and V, float64 [L, L], on their way.

    With `held_out`, sequences that are not trained on, perfect means on both.
    """

    def __init__(
        self,
        W: Tensor,
        V: Tensor,
        queries: Queries,
        optimiser: torch.optim.Optimizer | None = None,
        held_out: Queries | None = None,
    ) -> None:
        self.W, self.V, self.queries = W, V, queries
        self.optimiser, self.held_out = optimiser, held_out
        self.perfect = False

    def look(self) -> bool:
        """Whether every query is right."""
        self.here = evaluate(self.W, self.V, self.queries)
        # Weights sum to 1 only up to rounding; one wrong row weighs far more than 1e-9.
        self.perfect = self.here.accuracy > 1 - 1e-9
        if self.perfect and self.held_out is not None:
            self.perfect = evaluate(self.W, self.V, self.held_out).accuracy > 1 - 1e-9
        return self.perfect

    def measure(self) -> dict[str, float]:
        """Loss, and strict accuracy of the label."""
        return {"loss": self.here.loss, "accuracy": self.here.accuracy}

    def advance(self) -> None:
        """Take one step."""
        self.W.grad, self.V.grad = self.here.W, self.here.V
        self.optimiser.step()


class ValueAlone(OnWAndV):
    """V on its way from 0, attention held uniform by W = 0; trained to the end."""

    def __init__(self, lists: data.DecisionLists, queries: Queries, eta: float) -> None:
        W, V = torch.zeros(2, len(lists.lists), len(lists.lists), dtype=torch.float64)
        super().__init__(W, V, queries)
        self.lists, self.eta = lists, eta

    def look(self) -> bool:
        """Never stop."""
        super().look()
        return False

    def measure(self) -> dict[str, float]:
        """Loss, strict accuracy of the label, and how far V has the direction of P."""
        return super().measure() | beside_permutation(self.V.numpy(), self.lists)

    def advance(self) -> None:
        """Take one step on V."""
        # Labels of tokens that all lists treat alike tie but for rounding, which optim.SGD changes.
        self.V -= self.eta * self.here.V


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


def largest_eigenvalue(rng: np.random.Generator, W: Tensor, V: Tensor, queries: Queries) -> float:
    """Theorem 2's lambda_max of the Hessian of the loss at one (W, V), by Lanczos' method.

    The paper does not say where lambda_max is taken; the start (W_0, V_0) is ours.
    """
    point = [W.clone().requires_grad_(), V.clone().requires_grad_()]
    gradient = torch.autograd.grad(loss(*point, queries), point, create_graph=True)
    flat = torch.cat([part.reshape(-1) for part in gradient])

    def product(vector: np.ndarray) -> np.ndarray:
        along = torch.from_numpy(vector.ravel())
        parts = torch.autograd.grad(flat, point, along, retain_graph=True)
        return torch.cat([part.reshape(-1) for part in parts]).numpy()

    hessian = LinearOperator((len(flat),) * 2, matvec=product, dtype=np.float64)
    how = {"v0": rng.standard_normal(len(flat)), "tol": EIGENVALUE_TOLERANCE}
    return float(eigsh(hessian, k=1, which="LA", return_eigenvectors=False, **how)[0])


def key_of(size: ListedSize, seed: int) -> dict[str, int]:
    """What rows begin with."""
    return {"L": size.L, "n": size.n, "m": size.m, "seed": seed, "shortest": size.lengths[0]}


def value_runs(
    settings: ValueTraining, progress: Progress = iter
) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """V alone, from 0, under uniform attention, for every size and seed.

    Returns:
        Three tables, each beginning with `L`, `n`, `m`, `seed` and `shortest`: the history (`step`
        and `ValueAlone.measure`); `task_accuracy_ceiling`; and V at the end with its rows in the
        order of pi, so that P is the diagonal: `row`, `column`, `value`.
    """
    histories, ceilings, values = [], [], []
    for size, seed in progress(
        [(size, seed) for size in settings.sizes for seed in settings.seeds]
    ):
        key, lists = key_of(size, seed), data.lists_of_seed(size.L, size.m, seed, size.shortest)
        sequences = data.enumerate_sequences(size.L, size.n)
        problem = ValueAlone(lists, queries_of(lists, sequences), settings.eta)
        history = train(problem, settings.steps, settings.record_every)
        histories.append(pd.DataFrame(key | dict(history)))
        ceiling = uniform_attention_ceiling(lists, sequences)
        ceilings.append(key | {"task_accuracy_ceiling": ceiling})
        V = problem.V.numpy()[lists.permutation]
        row, column = np.indices(V.shape)
        places = {"row": row.ravel(), "column": column.ravel(), "value": V.ravel()}
        values.append(pd.DataFrame(key | places))
    history, value = (pd.concat(parts, ignore_index=True) for parts in (histories, values))
    return history, pd.DataFrame(ceilings), value


def near_runs(starts: Iterable[NearStart], progress: Progress = iter) -> pd.DataFrame:
    """W and V from W = 0 and V within epsilon / 2 of cP: one run per start, epsilon and seed.

    Theorem 2's c and hypotheses are those of each run's own start. The learning rate is 1 /
    lambda_max with lambda_max taken there; that is ours.

    Returns:
        `start` (in words), `L`, `n`, `m`, `seed`, `shortest`, `scale`, `epsilon`, `delta`,
        `trained_on` (`all` or a number), `steps` (at most), `c`, `lambda_max`, what
        `data.theorem_2` returns, `first_perfect` (step; NaN where none was) and `accuracy` at the
        end.
    """
    runs = [(s, epsilon, seed) for s in starts for epsilon in s.epsilon for seed in s.seeds]
    return pd.DataFrame([near_run(*run) for run in progress(runs)])


def near_run(start: NearStart, epsilon: float, seed: int) -> dict[str, object]:
    """One row of `near_runs`."""
    L, n, m = start.L, start.n, start.m
    lists = data.lists_of_seed(L, m, seed, start.shortest)

    def drawn(purpose: str, count: int) -> Queries:
        rng = generator("decision lists", purpose, L, n, m, seed)
        return queries_of(lists, data.sample_sequences(rng, L, n, count))

    held_out = None
    if start.sequences is None:
        queries = queries_of(lists, data.enumerate_sequences(L, n))
    else:
        queries, held_out = drawn("trained on", start.sequences), drawn("fresh", start.fresh)
    rng = generator("decision lists, near", L, n, m, seed, start.scale, epsilon)
    noise = torch.from_numpy(rng.uniform(-epsilon / 2, epsilon / 2, (L, L)))
    W, P = torch.zeros_like(noise), torch.from_numpy(lists.matrix)

    def loss_with(c: float) -> float:
        return float(loss(W, c * P + noise, queries))

    c = data.theorem_1_scale(L, n, start.delta)
    if start.scale == "theorem_2":
        c = data.theorem_2_scale(n, epsilon, loss_with, start.delta)
    V = c * P + noise
    lambda_max = largest_eigenvalue(rng, W, V, queries)
    theorem = data.theorem_2(n, m, epsilon, loss_with(c), lambda_max)
    optimiser = torch.optim.SGD([W, V], lr=1 / lambda_max)
    problem = OnWAndV(W, V, queries, optimiser, held_out)
    last = train(problem, start.steps).iloc[-1]
    text = f"near cP, c of {start.scale.replace('theorem_', 'Theorem ')}, epsilon {epsilon:g}"
    text += f", delta {start.delta:g}" if start.delta != 1 else ""
    text += f", {start.sequences} sequences" if start.sequences else ""
    return {
        "start": text,
        **key_of(start, seed),
        "scale": start.scale,
        "epsilon": epsilon,
        "delta": start.delta,
        "trained_on": str(start.sequences or "all"),
        "steps": start.steps,
        "c": c,
        "lambda_max": lambda_max,
        **theorem,
        "first_perfect": last["step"] if problem.perfect else np.nan,
        "accuracy": last["accuracy"],
    }


def small_runs(starts: Iterable, progress: Progress = iter) -> tuple[pd.DataFrame, pd.DataFrame]:
    """W and V from entries drawn from N(0, deviation^2), one run per `SmallStart` and seed.

    Returns:
        Runs: `start` (in words), `L`, `n`, `m`, `seed`, `shortest`, `optimiser`, `eta`,
        `deviation`, `first_perfect`, and at the end (the first perfect step, where there is one)
        `accuracy`, `order` of W, `argmax_accuracy` and `centred_cosine` of V; and their histories
        with `step`, `loss`, `accuracy`.
    """
    runs, histories = [], []
    for start, seed in progress([(s, seed) for s in starts for seed in s.seeds]):
        lists = data.lists_of_seed(start.L, start.m, seed, start.shortest)
        queries = queries_of(lists, data.enumerate_sequences(start.L, start.n))
        purpose = "decision lists, small", start.L, start.n, start.m, seed, start.deviation
        W, V = torch.from_numpy(
            generator(*purpose).normal(0.0, start.deviation, (2, start.L, start.L))
        )
        optimiser = {"gd": torch.optim.SGD, "adam": torch.optim.Adam}[start.optimiser]
        problem = OnWAndV(W, V, queries, optimiser([W, V], lr=start.eta))
        history = train(problem, start.steps)
        name = {"gd": "gradient descent", "adam": "Adam"}[start.optimiser]
        text = f"entries N(0, {start.deviation:g}^2), {name}, eta {start.eta:g}"
        key = {"start": text} | key_of(start, seed)
        key |= start.model_dump(include={"optimiser", "eta", "deviation"})
        histories.append(pd.DataFrame(key | dict(history)))
        last = history.iloc[-1]
        runs.append(
            key
            | {"first_perfect": last["step"] if problem.perfect else np.nan}
            | {"accuracy": last["accuracy"], "order": Columns(lists).order(W)}
            | beside_permutation(V.numpy(), lists)
        )
    return pd.DataFrame(runs), pd.concat(histories, ignore_index=True)
