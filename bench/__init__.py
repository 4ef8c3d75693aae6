"""Speed beside the authors' way, the obvious code and a floor: `python -m bench --help`.

Authors': one model after another in plain torch, as their released code goes. Obvious: what a user
would write or vectorise. Floor: the matrix products alone, counted by hand. Here is what cases are
made of; `cases` has them, `scale` measures time and memory by documents.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn


@dataclass(frozen=True, eq=False)
class Way:
    """One way to compute a case; `run` takes what `prepare`, which is not timed, returns."""

    name: str
    run: Callable  # returns numbers to compare with ours, or None
    share: float = 1.0  # how much of our work it does
    of: Callable = lambda ours: ours  # those of our numbers that it computes
    tolerance: float = 1e-4  # largest difference from ours, beside their largest
    prepare: Callable[[], tuple] = tuple


def floor(flops: float, dtype: torch.dtype = torch.float32) -> Way:
    """So many additions and multiplications, in products of large matrices."""
    a, each = torch.randn(512, 512, dtype=dtype), 2 * 512**3
    times = int(np.clip(flops / each, 1, 100))
    name = f"floor: {flops / 1e9:.3g} Gflop of matrix products"
    return Way(name, lambda: [a @ a for _ in range(times)] and None, times * each / flops)


def descend(optimizer, losses, rate=None, clip: float = np.inf) -> np.ndarray:
    """The plain training loop of one model; `losses` yields a tensor an update, kept as numbers."""
    seen, groups = [], optimizer.param_groups
    for step, loss in enumerate(losses):
        optimizer.zero_grad()
        loss.backward()
        if clip < np.inf:
            nn.utils.clip_grad_norm_([p for group in groups for p in group["params"]], clip)
        for group in groups if rate else ():
            group["lr"] = rate(step)
        optimizer.step()
        seen.append(loss.item())
    return np.array(seen)
