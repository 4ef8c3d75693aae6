"""W and V together: near V = cP (section I.C.2, Theorem 2), and from small starts."""

from collections.abc import Callable, Iterable

import numpy as np
import pandas as pd
import torch
from scipy.optimize import brentq
from scipy.sparse.linalg import LinearOperator, eigsh
from torch import Tensor

from onelayer.decision_lists import data, model
from onelayer.decision_lists.model import evaluate, queries_of
from onelayer.decision_lists.value import likeness
from onelayer.seeds import generator
from onelayer.settings.decision_lists import NearStart, SmallStart

DEVIATION = 0.01  # standard deviation of the entries of small starts
OPTIMISERS = {"gd": (torch.optim.SGD, "GD"), "adam": (torch.optim.Adam, "Adam")}


def scale(n: int, epsilon: float, loss: Callable[[float], float]) -> float:
    """The scale of V = cP, c = 10 n^2 L_0 + 4 epsilon n of one start, at delta = 1.

    `loss` is L_0 = L(W_0, V_0) as a function of c: it falls, so that exactly one c solves this.
    """

    def excess(c: float) -> float:
        return c - 10 * n**2 * loss(c) - 4 * epsilon * n

    return float(brentq(excess, 0.0, 1 - excess(0.0)))


def constants(n: int, m: int, epsilon: float, loss: float, eta: float) -> dict[str, float]:
    """Theorem 2's constants of one start with loss L_0 = L(W_0, V_0), and whether it promises.

    A must be between `least_a` and `largest_a`; `holds` says whether some positive A is. T is in
    a window, widest with the largest A.
    """
    largest, least = loss - 6 * epsilon / n, float(np.sqrt(4 * m * loss / epsilon))
    first = 2 * m * loss / (largest**2 * eta) if largest > 0 else float("nan")
    found = {"starting_loss": loss, "largest_a": largest, "least_a": least}
    window = {"window_first_step": first, "window_last_step": epsilon / (2 * eta)}
    return found | {"holds": largest > least} | window


def near_runs(starts: Iterable[NearStart], progress: data.Progress = iter) -> pd.DataFrame:
    """W and V from W = 0 and V within epsilon / 2 of cP: one run per start, epsilon and seed.

    Theorem 2's c and hypotheses are those of each run's own start, and so is the learning rate 1 /
    lambda_max: the paper does not say where lambda_max is taken. Where the theorem promises a
    perfect step, the rate is halved until it is at most the inverse of all curvature on the way.

    `trained_on` is `all` or a number, `lambda_max` that of the start, `steps` where training stops,
    `eta_times_curvature` the largest on the way, where it was watched, `first_perfect` a step, NaN
    if none, and `accuracy` that at the end.
    """
    noises = [start.model_copy(update={"epsilon": [e]}) for start in starts for e in start.epsilon]
    return pd.DataFrame([near_run(*run) for run in data.each_seed(noises, progress)])


def near_run(start: NearStart, seed: int, key: dict) -> dict:
    """One row of `near_runs`."""
    L, n, m, epsilon = start.L, start.n, start.m, start.epsilon[0]
    lists, held_out = data.lists_of_seed(L, m, seed, start.shortest), None
    if start.sequences is None:
        queries = queries_of(lists, data.enumerate_sequences(L, n))
    else:
        drawn = []
        for purpose, count in (("trained on", start.sequences), ("fresh", start.fresh)):
            rng = generator("decision lists", purpose, L, n, m, seed)
            drawn.append(queries_of(lists, data.sample_sequences(rng, L, n, count)))
        queries, held_out = drawn
    rng = generator("decision lists, near", L, n, m, seed, "theorem_2", epsilon)
    noise = torch.from_numpy(rng.uniform(-epsilon / 2, epsilon / 2, (L, L)))
    W, P = torch.zeros_like(noise), torch.from_numpy(lists.matrix)
    c = scale(n, epsilon, lambda c: evaluate(W, c * P + noise, queries).loss)
    V = c * P + noise
    loss, begin = evaluate(W, V, queries).loss, rng.standard_normal(2 * L**2)
    lambda_max, vector = largest_eigenvalue(W, V, queries, begin)
    eta, steps = 1 / lambda_max, start.steps
    while True:
        theorem = constants(n, m, epsilon, loss, eta)
        watched = vector if theorem["holds"] else None
        start_of_run = W.clone(), V.clone(), queries, torch.optim.SGD, eta, steps
        history, perfect, curvature = train(*start_of_run, held_out, watched)
        if eta * curvature <= 1:
            break
        eta, steps = eta / 2, 2 * steps
    text = f"near cP, c of Theorem 2, epsilon {epsilon:g}"
    text += f", {start.sequences} sequences" if start.sequences else ""
    row = {"start": text, **key, "epsilon": epsilon, "trained_on": str(start.sequences or "all")}
    row |= {"c": c, "lambda_max": lambda_max, **theorem, "steps": steps, "first_perfect": perfect}
    row["eta_times_curvature"] = eta * curvature if theorem["holds"] else np.nan
    return row | {"accuracy": history["accuracy"].iloc[-1]}


def small_runs(
    starts: Iterable[SmallStart], progress: data.Progress = iter
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """W and V from entries drawn from N(0, DEVIATION^2), one run per start and seed.

    The authors leave this open. What each run reached: `first_perfect`, and at the end (the first
    perfect step, where there is one) `accuracy`, `order` of W, `argmax_accuracy` and
    `centred_cosine` of V; and its history.
    """
    runs, histories = [], []
    for start, seed, size in data.each_seed(starts, progress):
        lists = data.lists_of_seed(start.L, start.m, seed, start.shortest)
        queries = queries_of(lists, data.enumerate_sequences(start.L, start.n))
        purpose = "decision lists, small", start.L, start.n, start.m, seed, DEVIATION
        normal = generator(*purpose).normal(0.0, DEVIATION, (2, start.L, start.L))
        W, V = torch.from_numpy(normal)
        optimiser, name = OPTIMISERS[start.optimiser]
        history, perfect, _ = train(W, V, queries, optimiser, start.eta, start.steps)
        in_words = name.replace("GD", "gradient descent")
        text = f"entries N(0, {DEVIATION:g}^2), {in_words}, eta {start.eta:g}"
        key = {"start": text} | size | {"optimiser": name, "eta": start.eta}
        histories.append(history.assign(**key))
        reached = {"first_perfect": perfect, "accuracy": history["accuracy"].iloc[-1]}
        reached["order"] = model.list_order(lists, W.numpy())
        runs.append(key | reached | likeness(V.numpy(), lists))
    return pd.DataFrame(runs), pd.concat(histories)


def train(
    W: Tensor, V: Tensor, queries: model.Queries, optimiser: type, eta: float, steps: int,
    held_out: model.Queries | None = None, watched: np.ndarray | None = None,
) -> tuple[pd.DataFrame, float, float]:  # fmt: skip
    """Train W and V, float64 [L, L], in place until all queries, and those held out, are right.

    Where `watched` is given, a vector [2 L^2] to begin Lanczos' method with, it ends, too, where
    eta exceeds the inverse of the curvature.

    Returns:
        The history, a row per step: `step`, `loss` and strict `accuracy` of the label. The first
        perfect step, NaN if there is none. The curvature: the largest second derivative of the loss
        met on the way where that is watched, else 0. It bounds the Hessian's largest eigenvalue on
        the way from below: of every step the mean along it, after 1, 2, 4, 8, ... steps and at the
        perfect step the largest eigenvalue there.
    """
    history, curvature, descent = [], 0.0, optimiser([W, V], lr=eta)
    here = evaluate(W, V, queries)
    for step in range(steps + 1):
        history.append({"step": step, "loss": here.loss, "accuracy": here.accuracy})
        # Weights sum to 1 only up to rounding; one wrong row weighs far more than 1e-9.
        perfect = here.accuracy > 1 - 1e-9
        if perfect and held_out is not None:
            perfect = evaluate(W, V, held_out).accuracy > 1 - 1e-9
        due = perfect or step.bit_count() == 1
        if watched is not None and due and eta * curvature <= 1:
            value, watched = largest_eigenvalue(W, V, queries, watched, 1e-3)
            curvature = max(curvature, value)
        if perfect or eta * curvature > 1 or step == steps:
            break
        before, W.grad, V.grad = here, here.grad_W, here.grad_V
        descent.step()
        here = evaluate(W, V, queries)
        if watched is not None:
            squared = float(before.grad_W.square().sum() + before.grad_V.square().sum())
            # L(x - eta g) = L(x) - eta |g|^2 + (eta |g|)^2 / 2 times the mean along the step.
            excess = here.loss - before.loss + eta * squared
            curvature = max(curvature, 2 * excess / (eta**2 * squared))
    return pd.DataFrame(history), float(step) if perfect else np.nan, curvature


def largest_eigenvalue(
    W: Tensor, V: Tensor, queries: model.Queries, vector: np.ndarray, tolerance: float = 1e-5
) -> tuple[float, np.ndarray]:
    """Largest eigenvalue of the loss's Hessian in (W, V), and its vector, by Lanczos' method.

    `vector` [2 L^2] is where to begin; `tolerance` is the eigenvector's: the value's is its square.
    """
    product = LinearOperator((len(vector),) * 2, model.hessian(W, V, queries), dtype=np.float64)
    values, vectors = eigsh(product, k=1, which="LA", v0=vector, tol=tolerance)
    return float(values[0]), vectors[:, 0]
