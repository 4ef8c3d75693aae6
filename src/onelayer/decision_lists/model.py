"""f_{W,V}(X) = softmax(V X softmax(X^T W X)) on one-hot tokens, its loss and gradients (eq. 1, 2).

W[b, a] is the score that query a gives key b. Attention of query a is p_b proportional to
exp(W[b, a]) over the tokens present, the logits are V p. With V = cP the permutation drops out:
the present token b has the logit c p_b at its own image pi(b), every absent token has 0.

Shapes: S sequences of n tokens, Q = S n queries.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields

import numpy as np
import torch
from torch import Tensor

from onelayer.decision_lists.data import PADDING, DecisionLists, Sequences

ROWS = 8192  # queries that are evaluated at once


@dataclass(frozen=True, eq=False)
class Batch:
    """Sequences as the gradient for W with V = cP needs them."""

    pairs: Tensor  # int64 [S, n, n], flat index of W[key, query] for [s, query place, key place]
    target: Tensor  # int64 [S, n, 1], place of the label-determining token b*
    weight: Tensor  # float64 [S, 1, 1], probability of the sequence divided by n
    L: int


def batch_of(rank: Tensor, tokens: Tensor, probability: Tensor) -> Batch:
    """Index sequences, int64 [S, n], for `loss_w` and `gradient_w`; `rank` is that of the lists."""
    key, query = tokens[:, None, :], tokens[:, :, None]
    target = rank[key, query].argmin(dim=2, keepdim=True)
    weight = (probability / tokens.shape[1])[:, None, None]
    return Batch(key * len(rank) + query, target, weight, len(rank))


def attention(W: Tensor, batch: Batch) -> Tensor:
    """Attention p of every query, [S, query, key]."""
    return W.reshape(-1)[batch.pairs].softmax(dim=2)


def loss_w(W: Tensor, c: float, batch: Batch) -> Tensor:
    """Eq. (2) over the batch with V = cP, a scalar: -log softmax(c p)[b*] over all L outputs."""
    logits = c * attention(W, batch)
    _, total, top = _exponentials(logits, batch.L)
    return (batch.weight * (total.log() + top - logits.gather(2, batch.target))).sum()


def gradient_w(W: Tensor, c: float, batch: Batch) -> Tensor:
    """Gradient of `loss_w`, [L, L].

    d loss/dW[b, a] = c p_b [(f_b - y_b) - sum_k p_k (f_k - y_k)] for every query a and key b.
    """
    p = attention(W, batch)
    exponentials, total, _ = _exponentials(c * p, batch.L)
    residual = exponentials / total
    residual.scatter_add_(2, batch.target, -torch.ones_like(p[:, :, :1]))
    centred = residual - (p * residual).sum(dim=2, keepdim=True)
    gradient = torch.zeros(W.numel(), dtype=W.dtype)
    gradient.index_add_(0, batch.pairs.reshape(-1), (c * batch.weight * p * centred).reshape(-1))
    return gradient.view_as(W)


def _exponentials(logits: Tensor, L: int) -> tuple[Tensor, Tensor, Tensor]:
    """exp(logits - top), their sum with the L - n absent tokens' logit 0, and top."""
    top = logits.amax(dim=2, keepdim=True)
    exponentials = (logits - top).exp()
    absent = L - logits.shape[2]
    return exponentials, exponentials.sum(dim=2, keepdim=True) + absent * (-top).exp(), top


def strict_accuracy(W: Tensor, batch: Batch) -> Tensor:
    """Probability, over sequences and positions, that p_b* exceeds every other p; a scalar.

    Ties are wrong. With V = cP this is the accuracy of the label too: the logits are c p and 0.
    """
    scores = W.reshape(-1)[batch.pairs]
    others = scores.scatter(2, batch.target, -torch.inf).amax(dim=2, keepdim=True)
    return (batch.weight * (scores.gather(2, batch.target) > others)).sum()


class Columns:
    """What column a of W, float64 [L, L], must be for every query a: in the order of its list."""

    def __init__(self, lists: DecisionLists) -> None:
        tokens = np.arange(len(lists.lists))[:, None]
        # places of the list in the flattened W, its padding repeating the own token
        padded = np.where(lists.lists == PADDING, tokens, lists.lists)
        self._places = torch.from_numpy(padded * len(tokens) + tokens)
        self._pairs = torch.from_numpy(lists.lists[:, 1:] != PADDING)
        self._inside = torch.from_numpy(lists.rank < lists.lists.shape[1])

    def _steps(self, W: Tensor) -> Tensor:
        """W[a_k, a] - W[a_{k+1}, a], float64 [L, M - 1], inf beyond the list."""
        scores = W.reshape(-1)[self._places]
        return (scores[:, :-1] - scores[:, 1:]).masked_fill(~self._pairs, torch.inf)

    def margins(self, W: Tensor) -> Tensor:
        """Smallest step of W[a_1, a] > ... > W[a_m, a] > max over other tokens, float64 [L].

        Where it is positive, every sequence of distinct tokens is proven to be classified strictly
        right at query a (V = cP).
        """
        outside = W.masked_fill(self._inside, -torch.inf).amax(dim=0)
        last = (W.diagonal() - outside)[:, None]  # a_m = a
        return torch.cat([self._steps(W), last], dim=1).amin(dim=1)

    def order(self, W: Tensor) -> float:
        """Share of adjacent list pairs with W[a_k, a] > W[a_{k+1}, a]; 1 if no list has a pair."""
        right = (self._steps(W) > 0)[self._pairs]
        return float(right.double().mean()) if len(right) else 1.0


@dataclass(frozen=True, eq=False)
class Queries:
    """Queries as the gradient for (W, V) needs them, one row per (sequence, query)."""

    query: Tensor  # int64 [Q], the token that asks
    absent: Tensor  # float64 [Q, L], 0 for a present token and -inf for an absent one
    label: Tensor  # int64 [Q, 1], pi(b*)
    weight: Tensor  # float64 [Q, 1], probability of the sequence divided by n; sums to 1

    def split(self) -> list["Queries"]:
        """Rows in groups that a processor's cache holds: twice as fast."""
        columns = (getattr(self, field.name).split(ROWS) for field in fields(self))
        return [Queries(*group) for group in zip(*columns, strict=True)]


def queries_of(lists: DecisionLists, sequences: Sequences) -> Queries:
    """Lay sequences out for `loss` and `evaluate`."""
    tokens = sequences.tokens
    count, n = tokens.shape
    target = np.take_along_axis(tokens, lists.determining_places(tokens), axis=1)  # [S, n]
    absent = np.full((count, len(lists.permutation)), -np.inf)
    np.put_along_axis(absent, tokens, 0.0, axis=1)
    return Queries(
        query=torch.from_numpy(tokens.reshape(-1)),
        absent=torch.from_numpy(absent.repeat(n, axis=0)),
        label=torch.from_numpy(lists.permutation[target].reshape(-1, 1)),
        weight=torch.from_numpy((sequences.probability / n).repeat(n)[:, None]),
    )


def forward(W: Tensor, V: Tensor, queries: Queries) -> tuple[Tensor, Tensor]:
    """Attention p [Q, L] (0 for absent tokens) and logits V p [Q, L] of every query."""
    p = (W.T.index_select(0, queries.query) + queries.absent).softmax(dim=1)
    return p, p @ V.T


def loss(W: Tensor, V: Tensor, queries: Queries) -> Tensor:
    """Eq. (2) for any V, a scalar; differentiable twice."""
    _, logits = forward(W, V, queries)
    surprise = logits.logsumexp(dim=1, keepdim=True) - logits.gather(1, queries.label)
    return (queries.weight * surprise).sum()


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Loss, accuracy and gradients at one (W, V)."""

    loss: float  # eq. (2)
    accuracy: float  # probability that the label's logit exceeds every other strictly
    grad_W: Tensor  # [L, L]
    grad_V: Tensor  # [L, L]


def evaluate(W: Tensor, V: Tensor, queries: Queries, of_w: bool = True) -> Evaluation:
    """Loss, label accuracy and closed-form gradients for (W, V), all in one pass.

    With r = f - y: d loss/dV = r p^T, d loss/dp = V^T r, and d loss/dW[b, a] =
    p_b (dp_b - sum_k p_k dp_k). Without `of_w` the gradient for W is left out.
    """
    parts = [_evaluate(W, V, rows, of_w) for rows in queries.split()]
    return Evaluation(*map(sum, zip(*parts, strict=True)))


def _evaluate(W: Tensor, V: Tensor, queries: Queries, of_w: bool) -> tuple:
    p, logits = forward(W, V, queries)
    of_label = logits.gather(1, queries.label)
    others = logits.scatter(1, queries.label, -torch.inf).amax(dim=1, keepdim=True)
    total = logits.logsumexp(dim=1, keepdim=True)
    residual = (logits - total).exp_()
    residual.scatter_add_(1, queries.label, -torch.ones_like(of_label))
    residual *= queries.weight
    gradient = torch.zeros_like(W)
    if of_w:
        of_p = residual @ V
        of_scores = p * (of_p - (p * of_p).sum(dim=1, keepdim=True))
        gradient = gradient.index_add_(0, queries.query, of_scores).T
    loss = float((queries.weight * (total - of_label)).sum())
    accuracy = float((queries.weight * (of_label > others)).sum())
    return loss, accuracy, gradient, residual.T @ p


def hessian(W: Tensor, V: Tensor, queries: Queries) -> Callable[[np.ndarray], np.ndarray]:
    """The Hessian of the loss in (W, V) at one point, as its product with a vector [2 L^2].

    It is the derivative of `evaluate`'s gradients along the vector, term by term.
    """
    products = [_hessian(W, V, rows) for rows in queries.split()]
    return lambda vector: sum(product(vector) for product in products)


def _hessian(W: Tensor, V: Tensor, queries: Queries) -> Callable[[np.ndarray], np.ndarray]:
    p, logits = forward(W, V, queries)
    f = logits.softmax(dim=1)
    r = f.scatter_add(1, queries.label, -torch.ones_like(queries.weight)) * queries.weight
    of_p = r @ V
    of_p -= (p * of_p).sum(dim=1, keepdim=True)

    def product(vector: np.ndarray) -> np.ndarray:
        along_w, along_v = torch.from_numpy(vector.reshape(2, *W.shape))
        dp = p * along_w.T.index_select(0, queries.query)
        dp -= p * dp.sum(dim=1, keepdim=True)
        dr = (dp @ V.T).addmm_(p, along_v.T).mul_(f)
        dr.sub_(f * dr.sum(dim=1, keepdim=True)).mul_(queries.weight)
        d_of_p = (dr @ V).addmm_(r, along_v)
        d_of_p -= (dp * of_p + p * d_of_p).sum(dim=1, keepdim=True)
        d_scores = (dp * of_p).addcmul_(p, d_of_p)
        d_w = torch.zeros_like(W).index_add_(0, queries.query, d_scores).T
        return torch.stack([d_w, dr.T @ p + r.T @ dp]).numpy().ravel()

    return product
