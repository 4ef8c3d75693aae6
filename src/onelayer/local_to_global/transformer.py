"""The paper's one-layer transformer on binary sequences, every run of an ensemble at once.

One head, no biases in linear maps, a ReLU layer of 4 d hidden units, a residual stream. A symbol is
a scalar x in {0, 1} that multiplies one embedding vector: z_t = x_t e + p_t. The logit of the next
symbol being 1 is <e, z> + b, with the same e (tied). Variants for the ablation: two embedding rows
(z_t = row of x_t + p_t, logit <row_1 - row_0, z> + b), and the LayerNorms of a GPT block.

Shapes: R runs, B sequences, T inputs each, d dimensions. Parameters by name, float [R, ...]:
`e` [d] (two rows: `rows` [2, d]), `wpe` [T, d], `W_Q`, `W_K`, `W_V`, `W_O` [d, d], `W_1` [4d, d],
`W_2` [d, 4d], `b` []; with LayerNorm also its gains `ln_attention`, `ln_mlp`, `ln_final` [d].

Before attention a position holds one of two vectors, those of symbols 0 and 1 there, whatever the
sequence: 2T queries and 2T keys for all of the B sequences. So the sum over s <= t of
exp(q_t k_s) v_s is E M, with E [2T, 2T] the exponentials of all logits (none where the key comes
later), and M [2T, B (d + 1)] the values, and a one beside them for the denominator, at the symbols
that a sequence has, 0 at the others. Fewer exponentials by a factor of B / 4, and products of
matrices large enough for BLAS; fused attention has neither with d = 8.
"""

from collections.abc import Iterator, Mapping

import torch
from torch import Tensor
from torch.autograd.function import FunctionCtx
from torch.nn import functional

from onelayer.settings.local_to_global import Chain

Parameters = Mapping[str, Tensor]
BLOCK = 128  # positions of queries at a time: their exponentials fit a processor's cache
FLOOR = 60.0  # a key this far below a query's largest logit counts as this far below it


def losses(parameters: Parameters, x: Tensor) -> Tensor:
    """Mean cross-entropy of the next symbol, [R] (nats); x is bool [R, B, T + 1]."""
    scores = logits(parameters, x[..., :-1])
    target = x[..., 1:].to(scores.dtype)
    surprise = functional.binary_cross_entropy_with_logits(scores, target, reduction="none")
    return surprise.mean(dim=(1, 2))


def population_losses(parameters: Parameters, x: Tensor, chain: Chain) -> Tensor:
    """The expected loss of each run, [R] (nats), estimated on inputs x, bool [R, B, T].

    Next symbols are averaged out, the two current symbols weighted by the stationary law: unigram
    and bigram model have exactly their entropies, and what noise is left comes from the pasts.
    """
    scores = logits(parameters, x)
    chance = chain.p + (1 - chain.q - chain.p) * x.to(scores.dtype)
    surprise = functional.binary_cross_entropy_with_logits(scores, chance, reduction="none")
    ones = (surprise * x).sum(dim=(1, 2)) / x.sum(dim=(1, 2))
    zeros = (surprise * ~x).sum(dim=(1, 2)) / (~x).sum(dim=(1, 2))
    return chain.pi1 * ones + chain.pi0 * zeros


def logits(parameters: Parameters, x: Tensor) -> Tensor:
    """The logit of the next symbol being 1, [R, B, T], for inputs x, bool [R, B, T]."""
    e, p = parameters.get("e"), parameters["wpe"]  # z_t = x_t e + p_t
    if e is None:  # two rows: a vector and an offset
        zero, one = parameters["rows"].unbind(dim=1)
        e, p = one - zero, p + zero[:, None]
    z = x.to(p.dtype)[..., None] * e[:, None, None] + p[:, None]
    both = torch.stack([p, p + e[:, None]], dim=2)  # [R, T, 2, d], of symbols 0 and 1
    both = _normalise(both, parameters.get("ln_attention"))
    q, k, v = (_linear(both, parameters[name]) for name in ("W_Q", "W_K", "W_V"))
    z = z + _linear(attention(q, k, v, x), parameters["W_O"])
    normal = _normalise(z, parameters.get("ln_mlp"))
    z = z + _linear(functional.relu(_linear(normal, parameters["W_1"])), parameters["W_2"])
    z = _normalise(z, parameters.get("ln_final"))
    return _linear(z, e[:, None]).squeeze(-1) + parameters["b"][:, None, None]


def _linear(z: Tensor, W: Tensor) -> Tensor:  # W z, [R, k, d] [R, ..., d]; a product per run
    return (z.flatten(1, -2) @ W.mT).reshape(*z.shape[:-1], W.shape[1])


def _normalise(z: Tensor, gain: Tensor | None) -> Tensor:  # where the model has a LayerNorm
    return z if gain is None else functional.layer_norm(z, z.shape[-1:]) * gain[:, None, None]


def attention(q: Tensor, k: Tensor, v: Tensor, x: Tensor) -> Tensor:
    """softmax(q k^T / sqrt(d)) v over the positions up to each one's own, [R, B, T, d].

    q, k, v are of symbol 0 and 1 at every position, [R, T, 2, d]; x are bool [R, B, T].
    """
    return _Attention.apply(q, k, v, x)


class _Attention(torch.autograd.Function):  # keeps sums; the backward pass has its exponentials
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
