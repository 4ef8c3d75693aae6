"""The one-layer transformer of Li, Li & Risteski (2023) in count space, many runs at once.

f(Z) = W_pred (W_V Z) softmax((W_K Z)^T (W_Q Z) / sqrt(d)) + b, without positions, residual stream
or feed-forward layer. With S the D x D table of attention logits and U the D x D table of what each
key adds to the output, a query of token q in a document with key counts n gets
U softmax(S[q] + log n) + b. Every tensor has a leading run dimension.

Three embeddings. `one_hot`: Z and W_pred are the identity. `trained`: Z = W_E, W_pred = W_E^T.
`layer_norm`: what the authors' code does when asked for one-hot embeddings: a trainable token-type
vector u is added and a trainable LayerNorm follows; queries and values have biases, W_pred is the
identity and b is 0. (A bias of the keys moves no softmax and is left out.)
"""

from collections.abc import Mapping
from typing import NamedTuple

import torch
from torch import Tensor

from onelayer.settings.topic_structure_synthetic import EmbeddingKind, LossKind

LAYER_NORM_EPSILON = 1e-12  # BERT's
# Parameters of an embedding: W... is [D, D], any other [D].
PARAMETERS = {
    "one_hot": ["W_K", "W_Q", "W_V"],  # the authors freeze b at 0
    "trained": ["W_K", "W_Q", "W_V", "W_E", "b"],
    "layer_norm": ["W_K", "W_Q", "W_V", "token_type", "gain", "shift", "b_Q", "b_V"],
}


class Batch(NamedTuple):
    """Rows of the documents of a step, for each run or the same for all; see `data.CountRows`."""

    log_keys: Tensor  # log n, -inf where n = 0, [runs or 1, rows, D]
    query: Tensor  # query tokens, int64 [runs or 1, rows]
    targets: Tensor  # how often each id is to be predicted, [runs or 1, rows, D]; 0s pad a run


def images(p: Mapping[str, Tensor], embedding: EmbeddingKind) -> tuple[Tensor | None, ...]:
    """Queries W_Q Z, keys W_K Z and contributions U = W_pred W_V Z, each [runs, D, D ids].

    Queries and keys are None without `W_Q` among the parameters: attention is uniform. Without
    `W_V` U is None; with embedding `trained` W_V is the identity then.
    """
    W_Q, W_K, W_V = (p.get(name) for name in ("W_Q", "W_K", "W_V"))
    if embedding == "one_hot":
        return W_Q, W_K, W_V
    if embedding == "trained":
        W_E = p["W_E"]
        U = W_E.mT @ (W_E if W_V is None else W_V @ W_E)
        return (None, None, U) if W_Q is None else (W_Q @ W_E, W_K @ W_E, U)
    # Column t of Z is LayerNorm(e_t + u) = (e_t + u - mean) / sigma_t * gain + shift, where only
    # e_t and sigma_t depend on t: W Z = W diag(gain / sigma) + (W c) / sigma^T + W shift.
    u, gain, shift = (p[name] for name in ("token_type", "gain", "shift"))
    D = u.shape[-1]
    centred = u - (1 + u.sum(-1, keepdim=True)) / D
    variance = (centred.square().sum(-1, keepdim=True) + 2 * centred + 1) / D
    scale = (variance + LAYER_NORM_EPSILON).rsqrt().unsqueeze(-2)  # 1 / sigma
    common = torch.stack([centred * gain, shift], -1)

    def image(W: Tensor, bias: Tensor | float = 0.0) -> Tensor:
        c, plain = (W @ common).split(1, -1)
        W = torch.addcmul(plain + bias, W, scale * gain.unsqueeze(-2))
        return torch.addcmul(W, c, scale)

    U = None if W_V is None else image(W_V, p["b_V"].unsqueeze(-1))
    return image(W_Q, p["b_Q"].unsqueeze(-1)), image(W_K), U


def attention_logits(p: Mapping[str, Tensor], embedding: EmbeddingKind) -> Tensor:
    """S, [runs, D queries, D keys]."""
    queries, keys, _ = images(p, embedding)
    return (queries.mT @ keys) * keys.shape[-2] ** -0.5


def losses(
    p: Mapping[str, Tensor], batch: Batch, embedding: EmbeddingKind, loss: LossKind
) -> Tensor:
    """Mean loss over the masked positions of the batch, [runs].

    `squared` sums over the vocabulary; `mean_squared` averages over it, as PyTorch's `MSELoss`,
    which the authors' code uses: the same but for a factor D, which matters to SGD's learning rate
    and to Adam's epsilon.
    """
    queries, keys, U = images(p, embedding)
    scores = batch.log_keys
    if queries is not None:
        runs, d, D = queries.shape
        S = (_Contiguous.apply(queries).mT @ keys * d**-0.5).reshape(runs * D, D)
        place = batch.query + D * torch.arange(runs, device=S.device).unsqueeze(-1)
        scores = scores + S.index_select(0, place.reshape(-1)).reshape(runs, -1, D)
    f = scores.softmax(-1) @ _Contiguous.apply(U).mT
    if "b" in p:
        f = f + p["b"].unsqueeze(-2)
    weight = batch.targets.sum(-1, keepdim=True)  # masked positions behind each row
    total = weight.sum((-1, -2))
    if loss == "cross_entropy":
        return -(f.log_softmax(-1) * batch.targets).sum((-1, -2)) / total
    # The sum of |f - e_w|^2 over masked words w is weight |f|^2 - 2 f . targets + weight.
    squares = (f * (weight * f - 2 * batch.targets)).sum((-1, -2)) / total + 1
    return squares / f.shape[-1] if loss == "mean_squared" else squares


class _Contiguous(torch.autograd.Function):
    """The same matrix, whose gradient is not the transpose of one: all that follows is faster."""

    @staticmethod
    def forward(ctx: object, matrix: Tensor) -> Tensor:
        return matrix.view_as(matrix)

    @staticmethod
    def backward(ctx: object, gradient: Tensor) -> Tensor:
        return gradient.contiguous()
