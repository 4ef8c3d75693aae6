"""Slow and obviously right: what the closed forms of Makkuva et al. (2024) are compared with."""

import numpy as np
from scipy.integrate import solve_ivp
from scipy.optimize import minimize_scalar

from onelayer.local_to_global import canonical
from onelayer.settings.local_to_global import Chain


def cross_entropy(s: float, b: float, p: float, q: float) -> float:
    """Expected loss of a model with logit b after 0 and b + s after 1, from the definition."""
    pi1 = p / (p + q)
    total = 0.0
    for x, probability in ((0, 1 - pi1), (1, pi1)):
        for y, chance in ((1, p if x == 0 else 1 - q), (0, 1 - p if x == 0 else q)):
            logit = b + s * x
            total += probability * chance * np.logaddexp(0, -logit if y == 1 else logit)
    return total


def best_loss(s: float, p: float, q: float) -> float:
    """The loss at the bias that numerical minimisation finds."""
    found = minimize_scalar(
        lambda b: cross_entropy(s, b, p, q), bracket=(-s / 2 - 1, -s / 2 + 1), tol=1e-12
    )
    return float(found.fun)


def loss_of(theta: np.ndarray, p: float, q: float) -> float:
    """The loss at (e, w) or (e, w, a)."""
    return best_loss(logit_gap(*theta), p, q)


def logit_gap(e: float, w: float, a: float = 0.0) -> float:
    """s of the canonical model, as the paper writes it."""
    return e**2 * (1 + 2 * w * abs(w)) * (1 + a * e**2)


def descent(theta: np.ndarray, p: float, q: float, h: float = 1e-4) -> np.ndarray:
    """-grad of the loss by central differences."""
    steps = np.eye(len(theta)) * h
    rise = [loss_of(theta + d, p, q) - loss_of(theta - d, p, q) for d in steps]
    return -np.array(rise) / (2 * h)


def hessian(theta: np.ndarray, chain: Chain, h: float = 1e-5) -> np.ndarray:
    """Of the loss at one point, by central differences of the flow."""
    steps = np.eye(len(theta)) * h
    ways = [canonical.flow(theta - d, chain) - canonical.flow(theta + d, chain) for d in steps]
    return (np.array(ways) + np.transpose(ways)) / (4 * h)


def follow(field, start: np.ndarray, until: float) -> np.ndarray:
    """One trajectory by SciPy's eighth-order method at a tight tolerance."""
    found = solve_ivp(
        lambda _, y: np.asarray(field(y)), (0, until), start, "DOP853", rtol=1e-12, atol=1e-14
    )
    return found.y[:, -1]


def markov_loop(u: list[float], p: float, q: float) -> list[int]:
    """One sequence, symbol by symbol: from state x, u decides between reset and keep or flip."""
    to_one, to_zero = (p, q) if p + q <= 1 else (1 - q, 1 - p)
    state = [int(u[0] < p / (p + q))]
    for number in u[1:]:
        if number < to_one:
            state.append(1)
        elif number < to_one + to_zero:
            state.append(0)
        else:
            state.append(state[-1] if p + q <= 1 else 1 - state[-1])
    return state


def transformer_logits(theta: dict[str, np.ndarray], x: list[int]) -> list[float]:
    """One sequence through the one-layer transformer, position by position; no LayerNorm."""
    e, p = theta["e"], theta["wpe"]
    d = len(e)
    z = [x_t * e + p_t for x_t, p_t in zip(x, p, strict=True)]
    found = []
    for t in range(len(x)):
        q = theta["W_Q"] @ z[t]
        score = np.array([q @ (theta["W_K"] @ z[u]) / np.sqrt(d) for u in range(t + 1)])
        weight = np.exp(score - score.max())
        weight /= weight.sum()
        value = sum(weight[u] * (theta["W_V"] @ z[u]) for u in range(t + 1))
        middle = z[t] + theta["W_O"] @ value
        hidden = np.maximum(theta["W_1"] @ middle, 0)
        found.append(float(e @ (middle + theta["W_2"] @ hidden) + theta["b"]))
    return found
