"""The learning rate over a training, apart so that tables need no torch for it."""

import math
from collections.abc import Callable

FIRST, LAST = 0.01, 0.1  # the schedule's ends, as shares of the largest learning rate


def one_cycle(iterations: int, warm_up: float) -> Callable[[int], float]:
    """Cosine from 1% of the largest learning rate up to it, then cosine down to 10% of it.

    The rate rises in the share `warm_up` of the iterations.
    """
    turn = max(warm_up * iterations, 1.0)

    def factor(step: int) -> float:
        if step < turn:
            return FIRST + (1 - FIRST) * (1 - math.cos(math.pi * step / turn)) / 2
        done = min((step - turn) / max(iterations - 1 - turn, 1.0), 1.0)
        return LAST + (1 - LAST) * (1 + math.cos(math.pi * done)) / 2

    return factor
