"""The single-layer transformer of Li, Li & Risteski (2023) in count space, many runs at once.

f(Z) = W_pred (W_V Z) softmax((W_K Z)^T (W_Q Z) / sqrt(d_a)) + b_pred: no positions, residual,
feed-forward layer or normalisation. With S the D x D table of attention logits and U the D x D
table of what each key contributes to the output, a query of token q in a document with key counts
n gets U softmax(S[q] + log n) + b. Every tensor has a leading run dimension; d = d_a, which is D
but for `trained` embeddings of fewer dimensions.
Gradients are written out where autograd would read and write large tensors more often than needed.

Five embeddings. `one_hot`: Z is the identity and so is W_pred. `trained`: W_E, with
W_pred = W_E^T. `residual` and `tied_residual`: these two with what a transformer has beside
attention, a way from a word to the output of its own position: W_R Z, or as in BERT Z itself, is
added. `layer_norm`: what the authors' code does when asked for one-hot embeddings: a trainable
token-type vector is added and a trainable LayerNorm follows, queries and values have biases, W_pred
is the identity and b_pred is 0. (A bias of the keys moves no softmax and is left out.)
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import FunctionCtx

from onelayer.settings.topic_structure_synthetic import LossKind

Embedding = Literal["one_hot", "residual", "layer_norm", "trained", "tied_residual"]
Parameters = Mapping[str, Tensor]
LAYER_NORM_EPSILON = 1e-12  # BERT's


class Targets(NamedTuple):
    """What the rows of a batch are to predict, [groups, ...]: few ids of D, so only those.

    Attributes:
        cell: row * D + id of each target, int64 [groups, targets].
        count: how often that id is to be predicted there, [groups, targets]; zeros pad a group.
        weight: masked positions behind each row, [groups, rows, 1]: the row's sum of counts.
    """

    cell: Tensor
    count: Tensor
    weight: Tensor


@dataclass(frozen=True)
class DocumentBatch:
    """Rows of a few documents for each of several groups of runs.

    Attributes:
        log_keys: log n, -inf where n = 0, [groups, rows, D].
        query: query tokens, int64 [groups, rows]; unused under uniform attention.
        targets: what is to be predicted; rows without any pad a group.
        group: the group of each run, int64 [runs]; None where all runs share one group, or each has
            its own, in order.
    """

    log_keys: Tensor
    query: Tensor
    targets: Targets
    group: Tensor | None

    def of_runs(self) -> "DocumentBatch":
        """The same with a group for each run, [runs, ...], where groups are not in order."""
        if self.group is None:
            return self
        parts = (self.log_keys, self.query, *self.targets)
        log_keys, query, *targets = (part.index_select(0, self.group) for part in parts)
        return DocumentBatch(log_keys, query, Targets(*targets), None)


def shapes(embedding: Embedding, D: int, d: int | None = None) -> dict[str, tuple[int, ...]]:
    """Shape of every parameter of one run; `trained` embeddings may have d < D dimensions."""
    d = d or D
    square, vector = (d, d), (D,)
    of_kind: dict[str, tuple[int, ...]] = {
        "one_hot": {"b": vector},
        "residual": {"W_R": square, "b": vector},
        "trained": {"W_E": (d, D), "b": vector},
        "tied_residual": {"W_E": (d, D), "b": vector},
        "layer_norm": dict.fromkeys(["token_type", "gain", "shift", "b_Q", "b_V"], vector),
    }[embedding]
    return {"W_K": square, "W_Q": square, "W_V": square} | of_kind


def images(
    parameters: Parameters, embedding: Embedding
) -> tuple[Tensor | None, Tensor | None, Tensor, Tensor | None]:
    """Queries, keys, contributions U and what passes attention by, each [runs, d, D ids].

    Queries and keys are None without `W_K` and `W_Q` among the parameters: attention is uniform.
    Without `W_V` (embedding `trained`) W_V is the identity. Without a residual stream the last is
    None.
    """
    W_Q, W_K, W_V = (parameters.get(name) for name in ("W_Q", "W_K", "W_V"))
    if embedding in ("one_hot", "residual"):
        return W_Q, W_K, W_V, parameters.get("W_R")
    if embedding in ("trained", "tied_residual"):
        W_E = parameters["W_E"]
        U = W_E.mT @ (W_E if W_V is None else W_V @ W_E)
        R = W_E.mT @ W_E if embedding == "tied_residual" else None
        return (None, None, U, R) if W_Q is None else (W_Q @ W_E, W_K @ W_E, U, R)
    Z = _normalised(parameters)
    queries = _NormalisedImage.apply(W_Q, parameters["b_Q"], *Z)
    values = _NormalisedImage.apply(W_V, parameters["b_V"], *Z)
    return queries, _NormalisedImage.apply(W_K, None, *Z), values, None


def attention_logits(parameters: Parameters, embedding: Embedding) -> Tensor:
    """S, [runs, D queries, D keys]."""
    queries, keys, _, _ = images(parameters, embedding)
    return (queries.mT @ keys) * keys.shape[-2] ** -0.5


def _normalised(parameters: Parameters) -> tuple[Tensor, Tensor, Tensor]:
    """Z of embedding `layer_norm` as a, C, B with Z = diag(a) + C^T B.

    Column t is LayerNorm(e_t + u) = (e_t + u - mean) / sigma_t * gain + shift, where only e_t and
    sigma_t depend on t: a multiple of e_t, and two vectors common to all ids.

    Returns:
        a: [runs, D].
        C: the common vectors, [runs, 2, d]: (u - mean) * gain and shift.
        B: their weight in each id, [runs, 2, D]: 1 / sigma_t and 1.
    """
    u, gain, shift = (parameters[key] for key in ("token_type", "gain", "shift"))
    D = u.shape[-1]
    centred = u - (1 + u.sum(-1, keepdim=True)) / D
    # the sum over i of (u_i + [i = t] - mean)^2, divided by D
    variance = (centred.square().sum(-1, keepdim=True) + 2 * centred + 1) / D
    scale = (variance + LAYER_NORM_EPSILON).rsqrt()
    C = torch.stack([centred * gain, shift], -2)
    return scale * gain, C, torch.stack([scale, torch.ones_like(scale)], -2)


class _NormalisedImage(torch.autograd.Function):
    """W Z + b, [runs, d_out, D], for Z = diag(a) + C^T B whose second row of B is 1.

    Products with the two vectors have them as rows: with two columns BLAS takes six times as long.
    """

    @staticmethod
    def forward(
        ctx: FunctionCtx, W: Tensor, b: Tensor | None, a: Tensor, C: Tensor, B: Tensor
    ) -> Tensor:
        WC = C @ W.mT  # [runs, 2, d_out]
        if b is not None:
            WC[:, 1] += b
        ctx.save_for_backward(W, a, C, B, WC)
        return (W * a.unsqueeze(-2)).baddbmm_(WC.mT, B)

    @staticmethod
    def backward(ctx: FunctionCtx, above: Tensor) -> tuple[Tensor | None, ...]:
        W, a, C, B, WC = ctx.saved_tensors
        dWC = B @ above.mT
        dW = (above * a.unsqueeze(-2)).baddbmm_(dWC.mT, C)
        db = dWC[:, 1] if ctx.needs_input_grad[1] else None
        return dW, db, (above * W).sum(-2), dWC @ W, WC @ above


def gradients(
    parameters: Parameters,
    batch: DocumentBatch,
    embedding: Embedding,
    loss: LossKind,
    frozen: Parameters | None = None,
) -> tuple[Tensor, dict[str, Tensor]]:
    """Mean loss over the masked positions of the batch, one per run, and its gradients.

    `squared` sums over the vocabulary, `mean_squared` averages over it (PyTorch's `MSELoss`, which
    the authors' code uses): the same but for a factor D, which matters to SGD's learning rate and
    to Adam's epsilon. Without `W_K` and `W_Q` attention is uniform over the keys, and
    `batch.query` is not read. What is `frozen` is given and not trained.

    Returns:
        Losses, [runs], and a gradient for each of `parameters`, [runs, ...]; every run's is of its
        own loss.
    """
    trained = {name: value.detach().requires_grad_() for name, value in parameters.items()}
    given = trained | dict(frozen or {})
    with torch.enable_grad():
        made = images(given, embedding)
    with torch.no_grad():
        value, *of_images, db = _attention(*made, given.get("b"), batch.of_runs(), loss)
    moving = [
        (image, slope)
        for image, slope in zip(made, of_images, strict=True)
        if image is not None and image.requires_grad
    ]
    names = [name for name in trained if name != "b"]
    slopes = torch.autograd.grad(
        [image for image, _ in moving],
        [trained[name] for name in names],
        [slope for _, slope in moving],
    )
    return value, dict(zip(names, slopes, strict=True)) | ({"b": db} if "b" in trained else {})


def _attention(
    queries: Tensor | None,
    keys: Tensor | None,
    U: Tensor,
    R: Tensor | None,
    b: Tensor | None,
    batch: DocumentBatch,
    loss: LossKind,
) -> tuple[Tensor | None, ...]:
    """Loss of U softmax(S[q] + log n) + R[:, q] + b, and its gradients in queries, keys, U, R, b.

    Without queries every key has the same weight. Tensors of the size [runs, rows, D] are
    overwritten once they are no longer needed: they do not fit a processor's cache, and memory
    takes most of the time.
    """
    if queries is None:
        p = batch.log_keys.softmax(-1)
        value, slope, db = _output_loss(p @ U.mT, b, batch.targets, loss)
        return value, None, None, slope.mT @ p, None, db
    runs, d, D = queries.shape
    S = torch.bmm(queries.mT, keys).reshape(runs * D, D)  # times sqrt(d_a)
    first = D * torch.arange(runs, device=S.device).unsqueeze(-1)
    place = (batch.query + first).reshape(-1)
    scores = S.index_select(0, place).reshape(runs, -1, D)
    torch.add(batch.log_keys, scores, alpha=d**-0.5, out=scores)
    p = torch.softmax(scores, -1)
    f, dR = torch.bmm(p, U.mT, out=scores), None
    if R is not None:
        f += R.mT.reshape(runs * D, D).index_select(0, place).reshape(f.shape)
    value, slope, db = _output_loss(f, b, batch.targets, loss)
    if R is not None:
        dR = torch.zeros_like(S).index_add_(0, place, slope.reshape(-1, D)).reshape(runs, D, D).mT
    dU = torch.bmm(slope.mT, p) if U.requires_grad else None
    dp = torch.bmm(slope, U)
    ds = torch.mul(p, dp, out=slope)
    ds.addcmul_(p, ds.sum(-1, keepdim=True), value=-1)
    dS = S.zero_().index_add_(0, place, ds.reshape(-1, D), alpha=d**-0.5).reshape(runs, D, D)
    return value, torch.bmm(keys, dS.mT), torch.bmm(queries, dS), dU, dR, db


def _output_loss(
    f: Tensor, b: Tensor | None, targets: Targets, loss: LossKind
) -> tuple[Tensor, Tensor, Tensor | None]:
    """Mean loss [runs] of outputs f [runs, rows, D], its gradients in f and b; overwrites f."""
    runs, _, D = f.shape
    if b is not None:
        f += b.unsqueeze(-2)
    cell, count = (part.expand(runs, -1) for part in (targets.cell, targets.count))
    total = targets.weight.sum((-1, -2))  # masked positions
    share, weight = count / total.unsqueeze(-1), targets.weight / total.reshape(-1, 1, 1)
    if loss == "cross_entropy":
        slope = f.log_softmax(-1)
        value = -(slope.reshape(runs, -1).gather(1, cell) * share).sum(-1)
        slope.exp_().mul_(weight)
    else:
        hit = (f.reshape(runs, -1).gather(1, cell) * share).sum(-1)
        value = (weight * f.square().sum(-1, keepdim=True)).sum((-1, -2)) - 2 * hit + 1
        factor = 2.0
        if loss == "mean_squared":
            value, factor = value / D, 2 / D
        slope, share = f.mul_(weight * factor), share * factor
    slope.reshape(runs, -1).scatter_add_(1, cell, -share)
    return value, slope, None if b is None else slope.sum(-2)
