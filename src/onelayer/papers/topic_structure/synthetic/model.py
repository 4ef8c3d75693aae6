"""The single-layer transformer of Li, Li & Risteski (2023) in count space, many runs at once.

f(Z) = W_pred (W_V Z) softmax((W_K Z)^T (W_Q Z) / sqrt(d_a)) + b_pred: no positions, residual,
feed-forward layer or normalisation. With S the D x D table of attention logits and U the D x D
table of what each key contributes to the output, a query of token q in a document with key counts
n gets softmax(S[q] + log n) U + b. Every tensor has a leading run dimension; d = d_a = D.

Three embeddings. `one_hot`: Z is the identity and so is W_pred. `trained`: W_E, with
W_pred = W_E^T. `layer_norm`: what the authors' code does when asked for one-hot embeddings: a
trainable token-type vector is added and a trainable LayerNorm follows, queries and values have
biases, W_pred is the identity and b_pred is 0. (A bias of the keys moves no softmax and is left
out.)
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor

Embedding = Literal["one_hot", "layer_norm", "trained"]
Loss = Literal["squared", "mean_squared", "cross_entropy"]
Parameters = Mapping[str, Tensor]
LAYER_NORM_EPSILON = 1e-12  # BERT's


@dataclass(frozen=True)
class Batch:
    """Rows of a few documents for each of several groups of runs.

    Attributes:
        log_keys: log n, -inf where n = 0, [groups, rows, D].
        query: query tokens, int64 [groups, rows]; unused under uniform attention.
        targets: how often each id is to be predicted, [groups, rows, D]; zeros pad a group.
        group: the group of each run, int64 [runs]; None where all runs share one group, or each has
            its own, in order.
    """

    log_keys: Tensor
    query: Tensor
    targets: Tensor
    group: Tensor | None


def shapes(embedding: Embedding, D: int) -> dict[str, tuple[int, ...]]:
    """Shape of every parameter of one run."""
    square, vector = (D, D), (D,)
    own: dict[str, tuple[int, ...]] = {
        "one_hot": {"b": vector},
        "trained": {"W_E": square, "b": vector},
        "layer_norm": dict.fromkeys(["token_type", "gain", "shift", "b_Q", "b_V"], vector),
    }[embedding]
    return {"W_K": square, "W_Q": square, "W_V": square} | own


def project(parameters: Parameters, name: str, embedding: Embedding) -> Tensor:
    """W z of every id, [runs, D, d]: row t is `name` applied to the embedding of id t."""
    W = parameters[name].mT  # [runs, d_in, d_out]
    if embedding == "one_hot":
        return W
    if embedding == "trained":
        return parameters["W_E"].mT @ W
    # LayerNorm(e_t + u) = (e_t + u - mean) / sigma_t * gain + shift, where only e_t and sigma_t
    # depend on t: row t of the product is a row of W, scaled, and two vectors common to all rows.
    u, gain, shift = (parameters[key] for key in ("token_type", "gain", "shift"))
    D = u.shape[-1]
    centred = u - (1 + u.sum(-1, keepdim=True)) / D
    # the sum over i of (u_i + [i = t] - mean)^2, divided by D
    variance = (centred.square().sum(-1, keepdim=True) + 2 * centred + 1) / D
    scale = (variance + LAYER_NORM_EPSILON).rsqrt()
    common = torch.stack([centred * gain, shift], -2) @ W  # [runs, 2, d]
    weights = torch.stack([scale, torch.ones_like(scale)], -1)  # [runs, D, 2]
    return torch.addcmul(weights @ common, (scale * gain).unsqueeze(-1), W)


def tables(parameters: Parameters, embedding: Embedding) -> tuple[Tensor, Tensor]:
    """Attention logits S, [runs, D queries, D keys], and contributions U, [runs, D keys, D]."""
    queries, keys = (project(parameters, name, embedding) for name in ("W_Q", "W_K"))
    values = project(parameters, "W_V", embedding)
    if embedding == "layer_norm":
        queries = queries + parameters["b_Q"].unsqueeze(-2)
        values = values + parameters["b_V"].unsqueeze(-2)
    if embedding == "trained":
        values = values @ parameters["W_E"]
    return (queries * keys.shape[-1] ** -0.5) @ keys.mT, values


def contributions(parameters: Parameters, embedding: Embedding) -> Tensor:
    """U alone, [runs, D keys, D]: all that uniform attention needs of the parameters."""
    values = project(parameters, "W_V", embedding) if "W_V" in parameters else None
    if embedding == "trained":
        W_E = parameters["W_E"]
        return (W_E.mT if values is None else values) @ W_E
    return values


def losses(
    parameters: Parameters, batch: Batch, embedding: Embedding, loss: Loss, uniform: bool = False
) -> Tensor:
    """Mean loss over the masked positions of the batch, one per run, [runs].

    `squared` sums over the vocabulary, `mean_squared` averages over it (PyTorch's `MSELoss`, which
    the authors' code uses): the same but for a factor D, which matters to SGD's learning rate and
    to Adam's epsilon. Without `W_V` among the parameters (embedding
    `trained`, uniform attention) W_V is the identity.

    Args:
        parameters: tensors by name, each [runs, ...].
        batch: rows; `batch.query` is not read under uniform attention.
        embedding: which of the three.
        loss: `squared`, `mean_squared` or `cross_entropy`.
        uniform: attention is uniform over the keys: W_K = W_Q = 0 and frozen.
    """
    log_keys, query, targets = batch.log_keys, batch.query, batch.targets
    if batch.group is not None:
        log_keys, query, targets = (rows[batch.group] for rows in (log_keys, query, targets))
    b = parameters.get("b")
    if uniform:
        U = contributions(parameters, embedding)
        return _UniformLoss.apply(U, b, log_keys.softmax(-1), targets, loss)
    S, U = tables(parameters, embedding)
    return _AttentionLoss.apply(S, U, b, log_keys, query.expand(len(S), -1), targets, loss)


class _AttentionLoss(torch.autograd.Function):
    """Loss of softmax(S[q] + log n) U + b, with its gradient found on the way.

    Everything of the size [runs, rows, D] lives inside one call and is overwritten in place:
    about twice as fast as autograd on the same formula.
    """

    @staticmethod
    def forward(
        ctx: Any,
        S: Tensor,
        U: Tensor,
        b: Tensor | None,
        log_keys: Tensor,
        query: Tensor,
        targets: Tensor,
        loss: Loss,
    ) -> Tensor:
        runs, D = S.shape[0], S.shape[-1]
        place = (query + D * torch.arange(runs, device=S.device).unsqueeze(-1)).reshape(-1)
        scores = S.reshape(runs * D, D)[place].reshape(runs, -1, D).add_(log_keys)
        p = torch.softmax(scores, -1)
        value, slope, db = _output_loss(p @ U, b, targets, loss)
        dU = p.mT @ slope if ctx.needs_input_grad[1] else None
        torch.bmm(slope, U.mT, out=scores)  # d loss / d p
        ds = scores.sub_((p * scores).sum(-1, keepdim=True)).mul_(p)
        dS = torch.zeros_like(S).reshape(runs * D, D).index_add_(0, place, ds.reshape(-1, D))
        ctx.save_for_backward(dS.reshape(S.shape), dU, db)
        return value

    @staticmethod
    def backward(ctx: Any, above: Tensor) -> tuple[Tensor | None, ...]:
        dS, dU, db = ctx.saved_tensors
        column = above[:, None, None]
        db = None if db is None else db * above[:, None]
        dU = None if dU is None else dU * column
        return dS * column, dU, db, None, None, None, None


class _UniformLoss(torch.autograd.Function):
    """The same where attention p is given: only U and b have gradients."""

    @staticmethod
    def forward(
        ctx: Any, U: Tensor, b: Tensor | None, p: Tensor, targets: Tensor, loss: Loss
    ) -> Tensor:
        value, slope, db = _output_loss(p @ U, b, targets, loss)
        ctx.save_for_backward(p.mT @ slope, db)
        return value

    @staticmethod
    def backward(ctx: Any, above: Tensor) -> tuple[Tensor | None, ...]:
        dU, db = ctx.saved_tensors
        db = None if db is None else db * above[:, None]
        return dU * above[:, None, None], db, None, None, None


def _output_loss(
    f: Tensor, b: Tensor | None, targets: Tensor, loss: Loss
) -> tuple[Tensor, Tensor, Tensor | None]:
    """Mean loss [runs] of outputs f [runs, rows, D], its gradients in f and b; overwrites f."""
    if b is not None:
        f += b.unsqueeze(-2)
    weight = targets.sum(-1, keepdim=True)  # masked positions behind each row
    total = weight.sum((-1, -2))
    hit = (targets * f).sum((-1, -2))
    if loss == "cross_entropy":
        log_sum = f.logsumexp(-1, keepdim=True)
        value = (weight * log_sum).sum((-1, -2)) - hit
        slope = f.sub_(log_sum).exp_().mul_(weight).sub_(targets)
    else:
        value = (weight * f.square().sum(-1, keepdim=True)).sum((-1, -2)) - 2 * hit + total
        slope = f.mul_(weight).sub_(targets).mul_(2)
        if loss == "mean_squared":
            total = total * f.shape[-1]
    slope /= total.reshape(-1, 1, 1)
    return value / total, slope, None if b is None else slope.sum(-2)
