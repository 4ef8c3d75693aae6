"""Training V alone under uniform attention, and W and V together (Theorem 2 and section II).

The abstract states Theorem 2 near V = cP and reports, without numbers, that uniform attention
(W = 0) "is sufficient to push V in the direction of P". It leaves open training from small random
initialisation. Runs are batched along a leading dimension.

Shapes: R runs, T steps, L tokens.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from onelayer.papers.decision_lists.data import DecisionLists
from onelayer.papers.decision_lists.model import Rows, evaluate
from onelayer.settings.decision_list_sizes import check_positive

Optimiser = Literal["gd", "adam"]
BETAS, ADAM_EPSILON = (0.9, 0.999), 1e-8


@dataclass(frozen=True, eq=False)
class ValueRun:
    """V trained alone at W = 0 from V = 0.

    Attributes:
        V: float64 [L, L].
        history: columns `step`, `loss`, `argmax_accuracy` (share of tokens b whose largest V[., b]
            is at pi(b)), `centred_cosine` (of V and P, each minus its mean) and `task_accuracy`.
    """

    V: np.ndarray
    history: pd.DataFrame


@dataclass(frozen=True, eq=False)
class JointRuns:
    """R runs that trained W and V together.

    Attributes:
        loss: float64 [T + 1, R], before each step and at the end.
        accuracy: float64 [T + 1, R], strict accuracy of the label over the sequences.
        first_perfect: float64 [R], first step with accuracy 1, on the held-out sequences too where
            there are some; NaN where there was none.
        W, V: float64 [R, L, L] at the end.
    """

    loss: np.ndarray
    accuracy: np.ndarray
    first_perfect: np.ndarray
    W: np.ndarray
    V: np.ndarray


def centred_cosine(V: np.ndarray, P: np.ndarray) -> float:
    """Cosine of V and P after each loses its mean; 0 for a constant V."""
    V, P = V - V.mean(), P - P.mean()
    norm = np.linalg.norm(V)
    return float((V * P).sum() / (norm * np.linalg.norm(P))) if norm > 0 else 0.0


def argmax_accuracy(V: np.ndarray, permutation: np.ndarray) -> float:
    """Share of tokens b with V[pi(b), b] strictly above the rest of its column."""
    columns = np.arange(len(permutation))
    others = V.copy()
    others[permutation, columns] = -np.inf
    return float((V[permutation, columns] > others.max(axis=0)).mean())


def train_value(
    lists: DecisionLists, rows: Rows, eta: float, steps: int, record_every: int = 10
) -> ValueRun:
    """Gradient descent on V alone from V = 0, attention held uniform by W = 0.

    Raises:
        ValueError: eta or steps is not positive.
    """
    check_positive("eta", eta)
    check_positive("steps", steps)
    W = torch.zeros(lists.vocabulary, lists.vocabulary, dtype=torch.float64)
    V = torch.zeros_like(W)
    history = []
    for step in range(steps + 1):
        here = evaluate(W, V, rows)
        if step % record_every == 0 or step == steps:
            values = V.numpy()
            history.append(
                {
                    "step": step,
                    "loss": float(here.loss),
                    "argmax_accuracy": argmax_accuracy(values, lists.permutation),
                    "centred_cosine": centred_cosine(values, lists.matrix),
                    "task_accuracy": float(here.accuracy),
                }
            )
        if step < steps:
            V = V - eta * here.V
    return ValueRun(V.numpy(), pd.DataFrame(history))


def perturbed_start(
    rng: np.random.Generator, lists: DecisionLists, c: float, epsilon: float, runs: int
) -> tuple[Tensor, Tensor]:
    """Theorem 2's start: W = 0, V = cP + noise, uniform with sup norm at most epsilon / 2.

    Returns:
        W and V, float64 [runs, L, L].
    """
    L = lists.vocabulary
    noise = rng.uniform(-epsilon / 2, epsilon / 2, (runs, L, L))
    return torch.zeros(runs, L, L, dtype=torch.float64), torch.from_numpy(c * lists.matrix + noise)


def small_start(
    rng: np.random.Generator, L: int, runs: int, scale: float = 0.01
) -> tuple[Tensor, Tensor]:
    """The regime the authors leave open: every entry of W and V from N(0, scale^2).

    Returns:
        W and V, float64 [runs, L, L].
    """
    W, V = rng.normal(0.0, scale, (2, runs, L, L))
    return torch.from_numpy(W), torch.from_numpy(V)


def train_joint(
    W: Tensor,
    V: Tensor,
    rows: Rows,
    eta: float,
    steps: int,
    optimiser: Optimiser = "gd",
    held_out: Rows | None = None,
) -> JointRuns:
    """Train W and V on the population loss, all runs side by side, until each was perfect once.

    Args:
        W, V: float64 [R, L, L], the starts; left as they are.
        rows: the sequences, see `model.rows_of`.
        eta: learning rate. The abstract gives none but 1 / lambda_max near cP. From small random
            starts with n = 4, 10 (gd) and 0.1 (adam) are perfect in about 20-40 steps for L of 12
            and 16; eta = 1 (gd) takes 210-350: gradients carry P(s_j = a) = 1/L.
        steps: T, where to give up.
        optimiser: plain gradient descent, or Adam with its usual moments.
        held_out: sequences that are not trained on, for a population too large to list; perfect
            then means perfect on both.

    Raises:
        ValueError: eta or steps is not positive, or the optimiser is neither.
    """
    check_positive("eta", eta)
    check_positive("steps", steps)
    if optimiser not in ("gd", "adam"):
        raise ValueError(f"optimiser = {optimiser}: allowed are gd, adam")
    updates = [_Adam(eta), _Adam(eta)] if optimiser == "adam" else [lambda g: eta * g] * 2
    losses, accuracies = [], []
    first = torch.full((len(W),), torch.nan, dtype=torch.float64)
    for step in range(steps + 1):
        here = evaluate(W, V, rows)
        losses.append(here.loss.numpy())
        accuracies.append(here.accuracy.numpy())
        # weights sum to 1 only up to rounding; one wrong row weighs far more than 1e-9
        perfect = here.accuracy > 1 - 1e-9
        if held_out is not None and perfect.any():
            perfect &= evaluate(W, V, held_out).accuracy > 1 - 1e-9
        first[perfect & first.isnan()] = step
        if step == steps or not first.isnan().any():
            break
        W, V = W - updates[0](here.W), V - updates[1](here.V)
    return JointRuns(
        np.array(losses), np.array(accuracies), first.numpy(), W.numpy().copy(), V.numpy().copy()
    )


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
