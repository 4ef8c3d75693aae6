"""Sequences of the binary Markov chain, drawn exactly and without a loop over time."""

import torch
from torch import Tensor

from onelayer.papers.local_to_global.chain import Chain


def sequences(u: Tensor, chain: Chain) -> Tensor:
    """Turn uniform numbers into stationary sequences of the chain, one number per symbol.

    A step of the chain resets to a fixed symbol, or else keeps the symbol (p + q <= 1) or flips it
    (p + q >= 1). So a symbol is the last reset before it and the parity of the steps since.

    Args:
        u: uniform in [0, 1), [..., T].
        chain: its p and q.

    Returns:
        bool [..., T], True for the symbol 1.
    """
    p, q = chain.p, chain.q
    keeps = p + q <= 1
    to_one, to_zero = (p, q) if keeps else (1 - q, 1 - p)
    reset, symbol = u < to_one + to_zero, u < to_one
    # The first symbol follows the stationary law.
    reset[..., 0] = True
    symbol[..., 0] = u[..., 0] < chain.pi1
    place = torch.arange(u.shape[-1], device=u.device)
    last = torch.where(reset, place, 0).cummax(dim=-1).values
    state = symbol.gather(-1, last)
    return state if keeps else state ^ ((place - last) % 2 == 1)
