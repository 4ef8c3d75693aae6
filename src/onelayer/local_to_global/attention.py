"""Causal attention where every position holds one of two vectors, exact, for many runs at once.

Before attention a position t holds the vector of symbol 0 or that of symbol 1 there, whatever the
sequence: 2T queries and 2T keys for all of the B sequences. So the sum over s <= t of
exp(q_t k_s) v_s is E M, with E [2T, 2T] the exponentials of all logits (none where the key comes
later), and M [2T, B (d + 1)] the values, and a one beside them for the denominator, at the symbols
that a sequence has, 0 at the others. Fewer exponentials by a factor of B / 4, and products of
matrices large enough for BLAS; fused attention has neither with d = 8.
"""

from collections.abc import Iterator

import torch
from torch import Tensor
from torch.autograd.function import FunctionCtx

BLOCK = 128  # positions of queries at a time: their exponentials fit a processor's cache
FLOOR = 60.0  # a key this far below a query's largest logit counts as this far below it


def attention(q: Tensor, k: Tensor, v: Tensor, x: Tensor) -> Tensor:
    """softmax(q k^T / sqrt(d)) v over the positions up to each one's own, [R, B, T, d].

    Queries, keys and values are of symbol 0 and 1 at every position, [R, T, 2, d]; the symbols x
    are bool [R, B, T].
    """
    return _Attention.apply(q, k, v, x)


class _Attention(torch.autograd.Function):
    """Keeps sums; exponentials are computed again in the backward pass."""

    @staticmethod
    def forward(ctx: FunctionCtx, q: Tensor, k: Tensor, v: Tensor, x: Tensor) -> Tensor:
        d = q.shape[-1]
        holds = torch.stack([~x, x], -1).permute(0, 2, 3, 1).to(q.dtype)  # [R, T, 2, B]
        M = holds.unsqueeze(-1) * torch.cat([v, torch.ones_like(v[..., :1])], -1).unsqueeze(-2)
        sums = torch.empty_like(M[:, :, 0])  # [R, T, B, d + 1]
        for runs, queries, keys, E in _blocks(q, k):
            both = E @ M[runs, keys].flatten(1, 2).flatten(2)
            both = both.reshape(-1, queries.stop - queries.start, *M.shape[2:])
            here = x[runs, :, queries].mT.unsqueeze(-1)
            sums[runs, queries] = torch.where(here, both[:, :, 1], both[:, :, 0])
        mixed = sums[..., :d] / sums[..., d:]
        ctx.save_for_backward(q, k, holds, M, sums[..., d:], mixed)
        return mixed.transpose(1, 2)

    @staticmethod
    def backward(ctx: FunctionCtx, above: Tensor) -> tuple[Tensor | None, ...]:
        q, k, holds, M, denominator, mixed = ctx.saved_tensors
        d = q.shape[-1]
        slope = above.transpose(1, 2) / denominator
        slope = torch.cat([slope, -(slope * mixed).sum(-1, keepdim=True)], -1)
        G = holds.unsqueeze(-1) * slope.unsqueeze(2)  # as M
        Q, K = (part.flatten(1, 2).mT.contiguous() for part in (q, k))  # [R, d, 2T]
        dQ, dK, dM = torch.empty_like(Q), torch.zeros_like(K), torch.zeros_like(M)
        for runs, queries, keys, E in _blocks(q, k):
            slopes = G[runs, queries].flatten(1, 2).flatten(2)
            dM[runs, keys] += (E.mT @ slopes).reshape(dM[runs, keys].shape)
            dS = (slopes @ M[runs, keys].flatten(1, 2).flatten(2).mT).mul_(E).mul_(d**-0.5)
            rows, columns = (slice(2 * part.start, 2 * part.stop) for part in (queries, keys))
            # d rows, not d columns: BLAS is several times as fast.
            dQ[runs, :, rows] = K[runs, :, columns] @ dS.mT
            dK[runs, :, columns] += Q[runs, :, rows] @ dS
        dv = (dM[..., :d] * holds.unsqueeze(-1)).sum(-2)
        return dQ.mT.reshape(q.shape), dK.mT.reshape(k.shape), dv, None


def _blocks(q: Tensor, k: Tensor) -> Iterator[tuple[slice, slice, slice, Tensor]]:
    """Runs, their queries, the keys before these, and exponentials [runs, 2 queries, 2 keys].

    A row is divided by the exponential of its largest logit: the denominator is, too.
    """
    R, T, _, d = q.shape
    # A GPU wants few large products, a processor's cache holds some exponentials.
    at_once = R if q.is_cuda else max(1, 512 // T)
    place = torch.arange(2 * min(BLOCK, T), device=q.device) // 2
    allowed = (place <= place.unsqueeze(-1)).to(q.dtype)
    later = torch.zeros_like(allowed).masked_fill_(allowed == 0, -torch.inf)
    for first in range(0, R, at_once):
        runs = slice(first, min(first + at_once, R))
        for start in range(0, T, BLOCK):
            stop = min(start + BLOCK, T)
            queries, keys, n = slice(start, stop), slice(0, stop), 2 * (stop - start)
            S = (q[runs, queries].flatten(1, 2) * d**-0.5) @ k[runs, keys].flatten(1, 2).mT
            S[..., 2 * start :].add_(later[:n, :n])
            S.sub_(S.amax(-1, keepdim=True)).clamp_(min=-FLOOR).exp_()
            S[..., 2 * start :].mul_(allowed[:n, :n])
            yield runs, queries, keys, S
