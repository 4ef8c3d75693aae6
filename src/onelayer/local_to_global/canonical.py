"""The canonical model (e, w) and (e, w, a) in closed form: loss, gradient, energy (section 3).

The next symbol's logit is e^2 (1 + 2 w|w|)(1 + a e^2) x + const, a = 0 without attention. With the
bias at its optimum the loss depends only on s = f1 - f0, the logits after 1 and after 0.
"""

import math

import numpy as np

from onelayer.settings.local_to_global import Chain

W_SADDLE = -1 / math.sqrt(2)  # the saddle is (e, w) = (0, -1/sqrt 2)
E_SADDLE = -(1 + math.log(2)) / 2  # its energy
_LARGEST = 700.0  # exp(s) is finite up to here, and all that is made of it at its limit


def logit_gap(e: np.ndarray, w: np.ndarray, a: np.ndarray | float = 0.0) -> np.ndarray:
    """The logit difference s = e^2 (1 + 2 w|w|)(1 + a e^2)."""
    square = e * e
    return square * (1 + 2 * w * abs(w)) * (1 + a * square)


def gap_gradient(theta: np.ndarray, h: np.ndarray | float = 1.0) -> np.ndarray:
    """The gradient of s by theta, [2 or 3, ...], times h; with h = dL/ds that of the loss."""
    e, w, a = (*theta, 0.0)[:3]
    square, size = e * e, abs(w)
    g, gain = 1 + 2 * w * size, a * square
    parts = [2 * h * e * g * (1 + 2 * gain), 4 * h * size * square * (1 + gain)]
    return np.stack(parts if len(theta) == 2 else [*parts, h * square * square * g])


def _numerator(s: np.ndarray, chain: Chain) -> np.ndarray:
    """(p - q) + D, 2q times the odds exp(f1) of a 1 after a 1 at the optimal bias."""
    p, q = chain.p, chain.q
    growth = np.exp(np.clip(s, -_LARGEST, _LARGEST))
    D = np.sqrt((p - q) ** 2 + 4 * p * q * growth)
    # Where p < q the sum cancels; its conjugate does not.
    return D + (p - q) if p >= q else 4 * p * q * growth / (D + (q - p))


def loss(s: np.ndarray, chain: Chain) -> np.ndarray:
    """L(s), the cross-entropy of the next symbol at the optimal bias (nats)."""
    p, q = chain.p, chain.q
    f1 = np.log(_numerator(s, chain) / (2 * q))
    f0 = f1 - s
    after_1 = q * np.logaddexp(f1, 0) + (1 - q) * np.logaddexp(-f1, 0)
    after_0 = p * np.logaddexp(-f0, 0) + (1 - p) * np.logaddexp(f0, 0)
    return chain.pi1 * after_1 + chain.pi0 * after_0


def slope(s: np.ndarray, chain: Chain) -> np.ndarray:
    """h(s) = dL/ds = pi1 (sigmoid(f1) - (1 - q)); 0 at s = s*."""
    numerator = _numerator(s, chain)
    return chain.pi1 * (numerator / (numerator + 2 * chain.q) - (1 - chain.q))


def flow(theta: np.ndarray, chain: Chain) -> np.ndarray:
    """The gradient flow -grad L of (e, w) or (e, w, a); theta is [2 or 3, ...]."""
    return -gap_gradient(theta, slope(logit_gap(*theta), chain))


def energy(e: np.ndarray, w: np.ndarray, a: np.ndarray | float = 0.0) -> np.ndarray:
    """E = e^2 - w^2 - sign(w) log|w| - 2 a^2, constant along the flow (lemma 1); w = 0 has none.

    With a: d(2 a^2) = -4 a h e^4 g dt is what the other terms leave over.
    """
    return e * e - w * w - np.sign(w) * np.log(abs(w)) - 2 * a * a
