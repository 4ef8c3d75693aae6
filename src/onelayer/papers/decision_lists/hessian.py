"""Largest eigenvalue of the Hessian of the loss in (W, V): Theorem 2's lambda_max."""

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from onelayer.papers.decision_lists.model import Rows, loss


def largest_eigenvalue(
    rng: np.random.Generator,
    W: Tensor,
    V: Tensor,
    rows: Rows,
    tolerance: float = 1e-6,
    max_products: int = 2000,
) -> float:
    """lambda_max at one (W, V), by power iteration with Hessian-vector products.

    The abstract does not say where lambda_max is taken; the start (W_0, V_0) is ours. Power
    iteration finds the eigenvalue of largest magnitude. Where that one is negative, a second
    iteration on the Hessian shifted by it finds the largest.

    Args:
        rng: draws the first vector.
        W, V: float64 [L, L].
        rows: the sequences.
        tolerance: relative change of the eigenvalue at which to stop.
        max_products: where to give up, per iteration.

    Raises:
        ArithmeticError: the iteration did not settle.
    """
    product = _hessian_product(W, V, rows)
    start = torch.from_numpy(rng.standard_normal(2 * W.numel()))
    dominant = _power(product, start, tolerance, max_products)
    if dominant >= 0:
        return dominant
    return _power(lambda x: product(x) - dominant * x, start, tolerance, max_products) + dominant


def _hessian_product(W: Tensor, V: Tensor, rows: Rows) -> Callable[[Tensor], Tensor]:
    """Maps a vector [2 L L] to the Hessian's product with it, by differentiating twice."""
    point = [W.detach().clone().requires_grad_(), V.detach().clone().requires_grad_()]
    gradient = torch.autograd.grad(loss(*point, rows), point, create_graph=True)
    flat = torch.cat([part.reshape(-1) for part in gradient])

    def product(vector: Tensor) -> Tensor:
        parts = torch.autograd.grad(flat, point, vector, retain_graph=True)
        return torch.cat([part.reshape(-1) for part in parts])

    return product


def _power(
    product: Callable[[Tensor], Tensor], start: Tensor, tolerance: float, max_products: int
) -> float:
    vector, before = start / start.norm(), np.inf
    for _ in range(max_products):
        image = product(vector)
        value = float(vector @ image)
        if abs(value - before) <= tolerance * abs(value):
            return value
        before, vector = value, image / image.norm()
    raise ArithmeticError(f"lambda_max did not settle in {max_products} Hessian-vector products")
